//! Checks paths, gangs and order on the wirings of servers.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::system::presets::preset;
use crate::system::{Server, System, toml_format};

fn machine(name: &str) -> System {
    System::of_server(std::sync::Arc::new(preset(name).expect("it is a preset")))
}

fn wired(system: &System, gpus: &[u32]) -> WiredEnds {
    between(system, gpus).expect("links join them")
}

/// Names the links of each channel from one end to another.
fn path(ends: &WiredEnds, from: u32, to: u32) -> Vec<String> {
    let count = ends.gpus.len() as u32 + 1;
    let hops = ends.wires.hops(pair_path(count, from, to)).iter();
    hops.map(|channel| ends.wires.links_of(*channel).collect::<Vec<_>>().join(" + ")).collect()
}

/// Carries one message alone, and gives when it is there.
fn alone(ends: &WiredEnds, from: u32, to: u32, bytes: u64) -> u64 {
    let mut wires = ends.wires.clone();
    let (mut now, mut crossed) = (0, 0);
    loop {
        let count = ends.gpus.len() as u32 + 1;
        let (at, is_last) = wires.cross(now, pair_path(count, from, to), crossed, bytes);
        if is_last {
            return at;
        }
        (now, crossed) = (at, crossed + 1);
    }
}

#[test]
fn gpus_of_a_dgx1_reach_each_other_by_their_nvlinks_or_over_the_host() {
    let ends = wired(&machine("dgx1-v100"), &[0, 3, 5]);
    assert_eq!(ends.gpus, ["GPU0", "GPU3", "GPU5"]);
    assert_eq!(ends.hosts, ["CPU0", "CPU0", "CPU0"]);
    assert_eq!(path(&ends, 0, 1), ["GPU0 to GPU3"]);
    // No NVLink joins GPUs 0 and 5.
    assert_eq!(
        path(&ends, 0, 2),
        ["GPU0 to PCIE0", "PCIE0 to CPU0", "CPU0 to CPU1", "CPU1 to PCIE2", "PCIE2 to GPU5"]
    );
    assert_eq!(path(&ends, 3, 0), ["memory of CPU0", "CPU0 to PCIE0", "PCIE0 to GPU0"]);
    assert_eq!(path(&ends, 1, 3), ["GPU3 to PCIE1", "PCIE1 to CPU0", "memory of CPU0"]);
    // 68 bytes and a header of 16 make six flits of 16 bytes. Full packets of 272 on two links carry 91.6 % of 50
    // bytes a nanosecond.
    let nvlink = Bandwidth(50_000_000 * 916 / 256 * 272);
    assert_eq!(alone(&ends, 0, 1, 68), serialisation(96, nvlink) + 500_000);
    // On PCIe 3 they make 92 bytes, on each of four links, whose copies reach 81 %. On two links of QPI they stay 68.
    let pcie = serialisation(92, Bandwidth(15_754_000 * 810 / 256 * 280)) + 250_000;
    assert_eq!(alone(&ends, 0, 2, 68), 4 * pcie + (68_u64 * 1_000_000).div_ceil(38_400) + 100_000);
}

#[test]
fn nvswitches_in_parallel_are_one_channel_of_their_joint_bandwidth() {
    let ends = wired(&machine("hgx-h100"), &[0, 1, 6, 7]);
    let planes = ["NVSW0", "NVSW3", "NVSW1", "NVSW2"];
    let up = planes.map(|plane| format!("GPU0 to {plane}")).join(" + ");
    let to = |gpu: u32| planes.map(|plane| format!("{plane} to GPU{gpu}")).join(" + ");
    assert_eq!(path(&ends, 0, 2), [up.clone(), to(6)]);
    assert_eq!(path(&ends, 0, 3), [up, to(7)]);
    // 18 links of 25 bytes a nanosecond, twice. Full packets carry 82.4 % of that.
    let once = serialisation(256, Bandwidth(450_000_000 * 824)) + 500_000;
    assert_eq!(alone(&ends, 0, 2, 256), 2 * once);
}

/// Parts of a message are whole numbers, and sum to what was sent.
#[test]
fn links_of_a_gang_share_what_it_carries_by_their_widths() {
    let mut ends = wired(&machine("hgx-h100"), &[0, 1]).wires;
    for at in 0..1000 {
        ends.cross(at, pair_path(3, 0, 1), 0, 68);
    }
    let sent: BTreeMap<&str, Carried> =
        ends.carried().filter(|(_, carried)| carried.messages > 0).collect();
    let of = |name: &str| sent[name];
    let names = ["GPU0 to NVSW0", "GPU0 to NVSW1", "GPU0 to NVSW2", "GPU0 to NVSW3"];
    assert_eq!(sent.keys().copied().collect::<Vec<_>>(), names);
    assert_eq!(names.map(of).iter().map(|it| it.bytes).sum::<u64>(), 68_000);
    assert_eq!(names.map(of).iter().map(|it| it.messages).sum::<u64>(), 1000);
    // Five links of 18, and four.
    assert!(of(names[0]).bytes.abs_diff(68_000 * 5 / 18) <= 1);
    assert!(of(names[1]).bytes.abs_diff(68_000 * 4 / 18) <= 1);
    assert!(names.map(of).iter().all(|it| it.busy == of(names[0]).busy));
}

/// Makes a server of GPUs and NVSwitches, without some links.
fn star(gpus: u32, switches: u32, absent: &[(u32, u32)]) -> Server {
    use std::fmt::Write as _;
    let names = |of: &str, count: u32| {
        (0..count).map(|at| format!("\"{of}{at}\"")).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "name = \"star\"\n[[device]]\nkind = \"gpu\"\nnames = [{}]\n[[device]]\nkind = \"nvswitch\"\n\
         names = [{}]\n[[device]]\nkind = \"cpu\"\nnames = [\"CPU0\"]\n",
        names("G", gpus),
        names("S", switches)
    );
    for gpu in 0..gpus {
        writeln!(text, "[[link]]\nkind = \"pcie4\"\nbetween = [[\"G{gpu}\", \"CPU0\"]]").unwrap();
        for switch in (0..switches).filter(|switch| !absent.contains(&(gpu, *switch))) {
            writeln!(
                text,
                "[[link]]\nkind = \"nvlink3\"\ncount = 2\nbetween = [[\"G{gpu}\", \"S{switch}\"]]"
            )
            .unwrap();
        }
    }
    toml_format::read("star.toml", &text).expect("it is a server")
}

#[test]
fn without_a_link_to_a_switch_pairs_take_the_gang_that_is_left() {
    let system = System::of_server(std::sync::Arc::new(star(4, 4, &[(0, 1)])));
    let ends = wired(&system, &[0, 1, 2, 3]);
    // GPU 1 reaches GPU 0 by three switches. To GPU 2 it keeps to these: messages have one way.
    for (from, to) in [(0, 1), (1, 0), (1, 2), (3, 2)] {
        let of = |a: &str, b: &str| [0, 2, 3].map(|s| format!("{a}{s}{b}")).join(" + ");
        let hops = [of(&format!("G{from} to S"), ""), of("S", &format!(" to G{to}"))];
        assert_eq!(path(&ends, from, to), hops, "{from} {to}");
    }
}

/// A rack is one server to NVLink, and each tray has CPUs of its own.
#[test]
fn a_gpu_of_another_tray_has_the_host_of_its_own() {
    let ends = wired(&machine("gb200-nvl72"), &[0, 1, 4, 71]);
    assert_eq!(ends.hosts, ["CPU0", "CPU0", "CPU2", "CPU35"]);
    assert_eq!(path(&ends, 4, 0), ["memory of CPU0", "CPU0 to GPU0"]);
    let far = path(&ends, 0, 3);
    assert_eq!((far.len(), far[0].split(" + ").count()), (2, 18));
}

#[test]
fn gpus_of_two_servers_read_no_memory_of_each_other() {
    let server = std::sync::Arc::new(preset("dgx-a100").unwrap());
    let fabric = crate::system::fabric::single_switch(
        16,
        crate::system::fabric::LinkRate {
            bandwidth: Bandwidth::gigabytes_per_second(25),
            latency: Picoseconds(600_000),
        },
    );
    let order = crate::system::PortOrder::Plain;
    let system = System::new(&[(server, 2)], fabric.unwrap(), order);
    let system = system.unwrap();
    let refused = between(&system, &[0, 9]).unwrap_err().to_string();
    assert_eq!(
        refused,
        "`node0/GPU0` cannot read single lines of the memory of `node1/GPU1`: they are in two \
         servers; use GPUs of one server"
    );
    assert_eq!(wired(&system, &[8, 9]).gpus, ["node1/GPU0", "node1/GPU1"]);
}

/// Draws messages: from which end to which, when after the last, and how many bytes.
fn traffic() -> impl Strategy<Value = Vec<(u32, u32, u64, u64)>> {
    let message = (0..5_u32, 1..5_u32, 0..3_000_u64, 1..5_000_u64);
    prop::collection::vec(message, 1..300).prop_map(|all| {
        all.into_iter()
            .map(|(from, by, later, size)| (from, (from + by) % 5, later, size))
            .collect()
    })
}

/// Plays messages and gives the order of arrival at each ordered pair of ends.
fn arrivals(ends: &WiredEnds, sent: &[(u32, u32, u64, u64)]) -> BTreeMap<(u32, u32), Vec<usize>> {
    use std::cmp::Reverse;
    let mut wires = ends.wires.clone();
    let mut waiting = std::collections::BinaryHeap::new();
    let (mut at, mut order) = (0, 0_u64);
    for (message, (.., later, _)) in sent.iter().enumerate() {
        at += later;
        waiting.push(Reverse((at, order, message, 0_u8)));
        order += 1;
    }
    let mut arrived: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    let mut there = Vec::new();
    while let Some(Reverse((now, _, message, crossed))) = waiting.pop() {
        let (from, to, _, size) = sent[message];
        let count = ends.gpus.len() as u32 + 1;
        let (time, is_last) = wires.cross(now, pair_path(count, from, to), crossed, size);
        if is_last {
            there.push((time, order, message));
        } else {
            waiting.push(Reverse((time, order, message, crossed + 1)));
        }
        order += 1;
    }
    there.sort_unstable();
    for (.., message) in there {
        let (from, to, ..) = sent[message];
        arrived.entry((from, to)).or_default().push(message);
    }
    let sum =
        |of: fn(&Carried) -> u64, ends: &Wires| ends.carried().map(|(_, it)| of(&it)).sum::<u64>();
    let hops = |(from, to, ..): &(u32, u32, u64, u64)| {
        ends.wires.hops(pair_path(ends.gpus.len() as u32 + 1, *from, *to)).len() as u64
    };
    // Each link carries its part of each message that crosses it, and no byte more.
    assert_eq!(sum(|it| it.messages, &wires), sent.iter().map(hops).sum::<u64>());
    assert_eq!(sum(|it| it.bytes, &wires), sent.iter().map(|it| hops(it) * it.3).sum::<u64>());
    arrived
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Homes of lines count on it. No message of a pair passes another by NVLinks, over NVSwitches and
    /// PCIe, and between GPUs that only the host joins.
    #[test]
    fn messages_between_two_ends_keep_their_order(sent in traffic()) {
        for (name, gpus) in [("dgx1-v100", [0, 1, 5, 7]), ("dgx2", [0, 3, 8, 15]), ("hgx-h100", [0, 1, 2, 3]), ("8x-rtx-4090", [0, 1, 4, 7])] {
            let ends = wired(&machine(name), &gpus);
            for (pair, order) in arrivals(&ends, &sent) {
                prop_assert!(order.is_sorted(), "{name} {pair:?}: {order:?}");
            }
        }
    }

    /// Gangs are apart, hold no link twice, and their paths lead from device to device.
    #[test]
    fn paths_of_gangs_lead_from_end_to_end(
        gpus in 2..6_u32,
        switches in 1..5_u32,
        absent in prop::collection::vec((0..6_u32, 0..5_u32), 0..6),
    ) {
        let system = System::of_server(std::sync::Arc::new(star(gpus, switches, &absent)));
        let ends = wired(&system, &(0..gpus).collect::<Vec<_>>());
        let mut names: Vec<&str> = ends.wires.carried().map(|(name, _)| name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), count);
        for from in 0..gpus {
            for to in (0..gpus).filter(|to| *to != from) {
                let hops = path(&ends, from, to);
                let devices = |hop: &String, at: usize| {
                    let links = hop.split(" + ").map(|link| link.split(" to ").nth(at).unwrap().to_owned());
                    let mut all: Vec<String> = links.collect();
                    all.sort_unstable();
                    all.dedup();
                    all
                };
                prop_assert_eq!(devices(&hops[0], 0), [format!("G{from}")]);
                prop_assert_eq!(devices(&hops[hops.len() - 1], 1), [format!("G{to}")]);
                for pair in hops.windows(2) {
                    prop_assert_eq!(devices(&pair[0], 1), devices(&pair[1], 0));
                }
            }
        }
    }
}
