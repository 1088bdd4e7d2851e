//! The injected faults, each in a system or in its settings, with what NCCL says of them.

use std::collections::BTreeMap;

use linkwright_collectives::collectives::baselines::ExpectedAlgorithm;
use linkwright_collectives::collectives::{Collective, Protocol};
use linkwright_doctor::doctor::judge::SlowCause;
use linkwright_ground::units::Bandwidth;
use linkwright_system::system::{DeviceKind, LinkKind, Server};

use super::run::{Run, Slow};

/// A fault, and the run that has it.
pub struct Fault {
    pub name: String,
    pub cause: SlowCause,
    pub run: Run,
}

/// Gives all of them.
pub fn all() -> Vec<Fault> {
    let mut found = of_interfaces();
    found.extend(of_gpudirect());
    found.extend(of_peers());
    found.extend(of_choices());
    found.extend(of_pcie());
    found.extend(of_speed());
    for (seed, fault) in (1_000..).zip(&mut found) {
        fault.run.seed = seed;
    }
    found
}

type Place<'a> = (&'a str, u32, &'a str);

fn fault(what: &str, cause: SlowCause, at: Place<'_>, inject: impl FnOnce(&mut Run)) -> Fault {
    let (preset, servers, release) = at;
    let mut run = Run::of(preset, servers, release, 0);
    if servers >= 4 {
        run.sizes[0] = 1 << 18;
    }
    inject(&mut run);
    Fault { name: format!("{what}, {servers} x {preset}, {release}"), cause, run }
}

fn set(run: &mut Run, name: &'static str, value: &str) {
    run.variables.push((name, value.to_owned()));
}

fn lose(run: &mut Run, names: &[&str]) {
    run.system = run.system.without(names).unwrap();
}

fn of_interfaces() -> Vec<Fault> {
    let gone = |names: &'static [&'static str]| move |run: &mut Run| lose(run, names);
    let only = |value: &'static str, names: &'static [&'static str]| {
        move |run: &mut Run| {
            set(run, "NCCL_IB_HCA", value);
            lose(run, names);
        }
    };
    let tcp = |name, share: f64| {
        move |run: &mut Run| {
            run.tcp = Some(name);
            run.settings.gpudirect = false;
            run.slow = Some((Slow::Uplinks, share));
        }
    };
    let far = |value: &'static str, names: &'static [&'static str]| {
        move |run: &mut Run| {
            run.gpus.retain(|gpu| gpu % 8 < 4);
            set(run, "NCCL_IB_HCA", value);
            lose(run, names);
        }
    };
    let unused = |what, at, inject| fault(what, SlowCause::InterfaceUnused, at, inject);
    let half = &["mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"];
    let first_half = &["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"];
    let wide = "=mlx5_4,mlx5_5,mlx5_6,mlx5_7";
    vec![
        unused("an interface gone", ("dgx1-v100", 2, "2.18.5"), gone(&["mlx5_0"])),
        unused("two interfaces gone", ("dgx-a100", 2, "2.23.4"), gone(&["mlx5_2", "mlx5_3"])),
        unused("two interfaces of one server gone", ("hgx-h100", 4, "2.27.7"), {
            gone(&["node1/mlx5_2", "node1/mlx5_3"])
        }),
        unused("four interfaces of one server gone", ("dgx-a100", 4, "2.18.5"), {
            gone(&["node2/mlx5_4", "node2/mlx5_5", "node2/mlx5_6", "node2/mlx5_7"])
        }),
        fault(
            "one interface listed",
            SlowCause::InterfaceUnused,
            ("hgx-h100", 2, "2.30.7"),
            only("mlx5_0", &["mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"]),
        ),
        fault(
            "half of the interfaces listed",
            SlowCause::InterfaceUnused,
            ("hgx-b200", 2, "2.27.7"),
            only("=mlx5_0,mlx5_1,mlx5_2,mlx5_3", half),
        ),
        fault(
            "far interfaces",
            SlowCause::WrongInterface,
            ("hgx-h100", 2, "2.23.4"),
            far(wide, first_half),
        ),
        fault(
            "far interfaces",
            SlowCause::WrongInterface,
            ("dgx-a100", 4, "2.18.5"),
            far(wide, first_half),
        ),
        fault(
            "TCP at 10 Gb/s",
            SlowCause::Tcp,
            ("dgx-a100", 2, "2.23.4"),
            tcp("eth0", 1.0 / 160.0),
        ),
        fault(
            "TCP at 100 Gb/s",
            SlowCause::Tcp,
            ("hgx-h100", 2, "2.30.7"),
            tcp("ens3", 1.0 / 32.0),
        ),
        fault(
            "TCP at 25 Gb/s",
            SlowCause::Tcp,
            ("dgx1-v100", 4, "2.18.5"),
            tcp("eth0", 1.0 / 16.0),
        ),
    ]
}

fn of_gpudirect() -> Vec<Fault> {
    let off = |what, at, more: fn(&mut Run)| {
        fault(what, SlowCause::GpudirectOff, at, |run| {
            run.settings.gpudirect = false;
            more(run);
        })
    };
    let level = |run: &mut Run| set(run, "NCCL_NET_GDR_LEVEL", "LOC");
    let no_module = |run: &mut Run| run.has_peermem = false;
    let far = |run: &mut Run| run.is_far = true;
    vec![
        off("GPUDirect switched off", ("dgx-a100", 2, "2.23.4"), level),
        off("GPUDirect switched off", ("hgx-h100", 2, "2.30.7"), level),
        off("no peermem", ("dgx-a100", 4, "2.18.5"), no_module),
        off("no peermem", ("hgx-b200", 2, "2.27.7"), no_module),
        off("GPUDirect refused", ("hgx-h100", 4, "2.27.7"), far),
        off("GPUDirect refused", ("dgx1-v100", 2, "2.18.5"), far),
    ]
}

fn of_peers() -> Vec<Fault> {
    let off = |what, at, more: fn(&mut Run)| {
        fault(what, SlowCause::PeerOff, at, |run| {
            run.settings.p2p = false;
            more(run);
        })
    };
    let disable = |run: &mut Run| set(run, "NCCL_P2P_DISABLE", "1");
    let level = |run: &mut Run| set(run, "NCCL_P2P_LEVEL", "LOC");
    let refuse = |run: &mut Run| run.refuses_peers = true;
    let no_nvls = |what, at, more: fn(&mut Run)| {
        fault(what, SlowCause::NvlsOff, at, |run| {
            run.settings.nvls = false;
            more(run);
        })
    };
    vec![
        off("P2P switched off", ("dgx1-v100", 1, "2.18.5"), disable),
        off("P2P switched off", ("dgx-a100", 1, "2.23.4"), disable),
        off("P2P by level", ("dgx-a100", 1, "2.30.7"), level),
        off("P2P refused", ("8x-rtx-pro-6000", 1, "2.30.7"), refuse),
        off("P2P refused", ("dgx-a100", 2, "2.27.7"), refuse),
        no_nvls("NVLS switched off", ("hgx-h100", 1, "2.23.4"), |run| {
            set(run, "NCCL_NVLS_ENABLE", "0");
        }),
        no_nvls("NVLS switched off", ("hgx-b200", 2, "2.30.7"), |run| {
            set(run, "NCCL_NVLS_ENABLE", "0");
        }),
        no_nvls("no multicast", ("hgx-h100", 2, "2.27.7"), |run| run.lacks_multicast = true),
    ]
}

fn of_choices() -> Vec<Fault> {
    let protocol = |name: &'static str, protocol, at| {
        fault(&format!("{name} forced"), SlowCause::ProtocolForced, at, |run| {
            run.settings.protocol = Some(protocol);
            set(run, "NCCL_PROTO", name);
        })
    };
    let algorithm = |name: &'static str, algorithm, at| {
        fault(&format!("{name} forced"), SlowCause::AlgorithmForced, at, |run| {
            run.settings.algorithm = Some(algorithm);
            set(run, "NCCL_ALGO", name);
        })
    };
    let (ring, tree) = (ExpectedAlgorithm::Ring, ExpectedAlgorithm::Tree);
    vec![
        protocol("LL", Protocol::LL, ("hgx-h100", 1, "2.18.5")),
        protocol("LL", Protocol::LL, ("dgx-a100", 2, "2.23.4")),
        protocol("LL", Protocol::LL, ("dgx1-v100", 1, "2.30.7")),
        protocol("LL", Protocol::LL, ("8x-l40s", 1, "2.27.7")),
        protocol("LL128", Protocol::LL128, ("hgx-h100", 1, "2.27.7")),
        protocol("LL128", Protocol::LL128, ("hgx-b200", 2, "2.30.7")),
        algorithm("Tree", tree, ("dgx-a100", 1, "2.18.5")),
        algorithm("Tree", tree, ("hgx-h100", 1, "2.27.7")),
        algorithm("Tree", tree, ("4x-l40s-pcie", 1, "2.23.4")),
        algorithm("Ring", ring, ("hgx-h100", 1, "2.30.7")),
        algorithm("Ring", ring, ("dgx1-v100", 2, "2.18.5")),
        fault("PXN switched off", SlowCause::PxnOff, ("hgx-h100", 2, "2.23.4"), |run| {
            run.settings.pxn = false;
            run.collective = Collective::AllGather;
            run.sizes = [1 << 16, 1 << 30];
            set(run, "NCCL_PXN_DISABLE", "1");
        }),
        fault("PXN switched off", SlowCause::PxnOff, ("hgx-h100", 4, "2.30.7"), |run| {
            run.settings.pxn = false;
            set(run, "NCCL_PXN_DISABLE", "1");
        }),
        fault("an old release", SlowCause::OldVersion, ("hgx-b200", 1, "2.18.5"), |_| {}),
        fault("an old release", SlowCause::OldVersion, ("hgx-b200", 2, "2.23.4"), |_| {}),
    ]
}

/// The PCIe links of some devices, by their names, as another kind and at a part of its bandwidth.
fn narrowed(server: &Server, names: &[&str], kind: Option<LinkKind>, part: f64) -> Server {
    let is_it = |at: usize| {
        let device = &server.devices()[at];
        matches!(device.kind, DeviceKind::Gpu | DeviceKind::Nic) && names.contains(&&*device.name)
    };
    let links = server.links().iter().enumerate();
    let own = links.filter(|(_, link)| link.kind.is_pcie() && (is_it(link.a) || is_it(link.b)));
    let rates: BTreeMap<usize, (LinkKind, Bandwidth)> = own
        .map(|(at, link)| {
            let bandwidth = Bandwidth((link.bandwidth.0 as f64 * part) as u64);
            (at, (kind.unwrap_or(link.kind), bandwidth))
        })
        .collect();
    assert!(!rates.is_empty(), "{names:?} have links");
    server.with_link_rates(&rates)
}

fn of_pcie() -> Vec<Fault> {
    let slower = |what, at, names: &'static [&'static str], kind, is_dump: bool| {
        fault(what, SlowCause::PcieNarrow, at, |run| {
            run.system = run.system.with_kind(0, |server| narrowed(server, names, kind, 0.5));
            (run.has_dump, run.shows_graph) = (is_dump, !is_dump);
        })
    };
    let (third, fourth) = (Some(LinkKind::Pcie3), Some(LinkKind::Pcie4));
    vec![
        slower("a GPU at x8, dump", ("4x-l40s-pcie", 1, "2.23.4"), &["GPU3"], None, true),
        slower("a GPU at x8, dump", ("4x-l40s-pcie", 2, "2.30.7"), &["GPU1"], None, true),
        slower("a GPU at Gen3, dump", ("4x-l40s-pcie", 1, "2.18.5"), &["GPU2"], third, true),
        slower("an interface at x8, dump", ("hgx-h100", 2, "2.27.7"), &["mlx5_2"], None, true),
        slower("an interface at Gen4, dump", ("hgx-b200", 2, "2.30.7"), &["mlx5_6"], fourth, true),
        slower("a GPU at x8, GRAPH", ("4x-l40s-pcie", 2, "2.18.5"), &["GPU0"], None, false),
        slower("a GPU at Gen4, GRAPH", ("8x-rtx-pro-6000", 1, "2.27.7"), &["GPU6"], fourth, false),
        slower("an interface at x8, GRAPH", ("hgx-h100", 2, "2.23.4"), &["mlx5_1"], None, false),
    ]
}

fn of_speed() -> Vec<Fault> {
    let slow =
        |what, cause, at, slow, part| fault(what, cause, at, |run| run.slow = Some((slow, part)));
    let gpu =
        |at, number, part| slow("a slow GPU", SlowCause::SlowGpu, at, Slow::Gpu(number), part);
    let server = |at, number, part| {
        slow("slow uplinks of a server", SlowCause::SlowServer, at, Slow::UplinksOf(number), part)
    };
    let network = |at, part| slow("slow uplinks", SlowCause::SlowNetwork, at, Slow::Uplinks, part);
    vec![
        gpu(("hgx-h100", 1, "2.23.4"), 5, 0.5),
        gpu(("dgx-a100", 1, "2.27.7"), 3, 0.6),
        gpu(("hgx-b200", 1, "2.30.7"), 0, 0.4),
        gpu(("dgx1-v100", 1, "2.18.5"), 6, 0.5),
        server(("hgx-h100", 2, "2.27.7"), 1, 0.5),
        server(("dgx-a100", 4, "2.18.5"), 2, 0.5),
        server(("hgx-b200", 8, "2.30.7"), 5, 0.5),
        network(("dgx-a100", 2, "2.23.4"), 0.5),
        network(("hgx-b200", 4, "2.27.7"), 0.5),
        fault(
            "half of a GPU's NVLinks down",
            SlowCause::SlowGpu,
            ("dgx-a100", 1, "2.18.5"),
            |run| {
                run.system = run.system.with_kind(0, |server| {
                    let gpu = server.device("GPU3").unwrap();
                    let links = server.links().iter().enumerate();
                    let own = links.filter(|(_, link)| link.joins(gpu) && !link.kind.is_pcie());
                    let rates =
                        own.map(|(at, link)| (at, (link.kind, Bandwidth(link.bandwidth.0 / 2))));
                    server.with_link_rates(&rates.collect())
                });
            },
        ),
    ]
}
