use super::*;
use crate::collectives::nccl::baselines::plans::plan_choice;
use crate::collectives::nccl::baselines::{ExpectedAlgorithm, NcclBaseline};
use crate::collectives::planners::plan::{Question, plan};
use crate::collectives::schedule::Protocol;
use crate::collectives::schedule::time::{choose_chunk, protocol_launched, protocol_of, resources};
use crate::system::import::{ImportOptions, import};
use crate::system::test_support::{alone, on_one_switch};
use crate::system::{LinkKind, presets};
use std::sync::Arc;

fn sizes() -> Vec<Bytes> {
    (3..=33).map(|power| Bytes(1 << power)).collect()
}

fn expected(
    machine: &System,
    gpus: &[usize],
    collective: Collective,
    sizes: &[Bytes],
) -> Vec<Expectation> {
    expect(machine, gpus, collective, sizes, &Settings::default()).unwrap().rows
}

fn all_of(machine: &System, collective: Collective) -> Vec<Expectation> {
    let gpus: Vec<usize> = (0..machine.gpus() as usize).collect();
    expected(machine, &gpus, collective, &sizes())
}

fn collectives() -> Vec<Collective> {
    let known = Collective::NAMES.iter().map(|name| Collective::named(name, 0).unwrap());
    // NCCL has no barrier and no scan.
    known.filter(|it| !matches!(it, Collective::Barrier | Collective::Scan)).collect()
}

/// This holds as long as the choice stays. The library chooses by its beliefs about the links, and
/// may change its mind too early or too late. Data that is cut once more, into equal pieces, may
/// fill links better. A chain passes on whole chunks and may fill them far better, so collectives
/// from and to a root are left out.
#[test]
fn more_data_never_takes_less_time() {
    let run = |it: &Expectation| (it.choice.algorithm, it.choice.protocol, it.choice.channels);
    let changed = |pair: &[Expectation]| run(&pair[0]) != run(&pair[1]);
    for name in presets::NAMES {
        let machine = alone(name);
        for collective in collectives().into_iter().filter(|it| it.root().is_none()) {
            let gpus: Vec<usize> = (0..machine.gpus() as usize).collect();
            let fine: Vec<Bytes> =
                (0..200).map(|at| Bytes((8.0 * 1.1_f64.powi(at)) as u64)).collect();
            let times = expected(&machine, &gpus, collective, &fine);
            assert!(
                times.windows(2).all(|pair| {
                    let least = pair[0].time.as_seconds() / 1.25;
                    least <= pair[1].time.as_seconds() || changed(pair)
                }),
                "{name} {collective}"
            );
        }
    }
}

#[test]
fn long_all_reduces_approach_what_links_reach() {
    let limits = [("dgx1-v100", 6.0 * 22.9), ("dgx-a100", 12.0 * 19.6), ("dgx2", 6.0 * 22.9)];
    for (name, limit) in limits {
        let last = *all_of(&alone(name), Collective::AllReduce).last().unwrap();
        assert_eq!(
            (last.choice.algorithm, last.choice.protocol),
            (ExpectedAlgorithm::Ring, Protocol::Simple)
        );
        assert!((last.bus_bandwidth / limit - 1.0).abs() < 0.06, "{name} {}", last.bus_bandwidth);
    }
}

/// NVIDIA/nccl-tests#212 tells of a bus bandwidth of about 480 GB/s with NVLS on 8 H100. It tells
/// of 370 for collectives that do not reduce in the switches. Out of place an all-gather writes its
/// own part, too: threads on 8 H100 reach 336.
#[test]
fn an_h100_server_reaches_what_nvidia_says() {
    let machine = alone("hgx-h100");
    let last = *all_of(&machine, Collective::AllReduce).last().unwrap();
    assert_eq!(last.choice.algorithm, ExpectedAlgorithm::Nvls);
    assert!((last.bus_bandwidth - 480.0).abs() < 30.0, "{}", last.bus_bandwidth);
    let last = *all_of(&machine, Collective::AllGather).last().unwrap();
    assert_eq!(last.choice.algorithm, ExpectedAlgorithm::Ring);
    assert!((last.bus_bandwidth - 370.0).abs() < 30.0, "{}", last.bus_bandwidth);
}

#[test]
fn small_data_goes_by_ll_and_costs_a_latency() {
    let machine = alone("hgx-h100");
    let first = all_of(&machine, Collective::AllReduce)[0];
    assert_eq!(
        (first.choice.algorithm, first.choice.protocol),
        (ExpectedAlgorithm::Ring, Protocol::LL)
    );
    // Eight launches by one thread, and fourteen hops.
    let each = Settings { processes: Some(Processes::Each), ..Settings::default() };
    let gpus: Vec<usize> = (0..8).collect();
    let alone = expect(&machine, &gpus, Collective::AllReduce, &sizes(), &each).unwrap();
    assert!(alone.rows[0].time < first.time);
    assert!((20e-6..60e-6).contains(&first.time.as_seconds()), "{}", first.time);
}

/// Between these sizes the release takes more channels than the plan has rings.
#[test]
fn with_the_same_launches_the_classic_plan_takes_as_long_as_nccl_2_4() {
    let (collective, version) = (Collective::AllReduce, Some("2.4".parse().unwrap()));
    for (name, gpus) in [("dgx2", 16), ("dgx1-v100", 8)] {
        let (machine, gpus) = (alone(name), (0..gpus).collect::<Vec<usize>>());
        let planned = plan(&NcclBaseline::Classic, &Question::new(&machine, &gpus, collective));
        let schedule = planned.unwrap().schedule;
        for processes in [Processes::Each, Processes::Group] {
            let processes = Some(processes);
            let settings = Settings { version, processes, ..Settings::default() };
            for (size, protocol) in [(1 << 10, Protocol::LL), (64 << 20, Protocol::Simple)] {
                let found = expect(&machine, &gpus, collective, &[Bytes(size)], &settings).unwrap();
                let expected = found.rows[0];
                assert_eq!(expected.choice.protocol, protocol);
                let costs = protocol_launched(&schedule, protocol, processes, &machine).unwrap();
                let (timing, _) = choose_chunk(&schedule, &machine, Bytes(size), &costs).unwrap();
                let ratio = timing.time.as_seconds() / expected.time.as_seconds();
                assert!((0.95..1.05).contains(&ratio), "{name} {size} {processes:?}: {ratio}");
            }
        }
    }
}

#[test]
fn between_servers_the_network_is_the_limit_and_trees_win_the_middle() {
    let machine = on_one_switch("dgx-a100", 4, 100);
    let results = all_of(&machine, Collective::AllReduce);
    let last = results.last().unwrap();
    let reached = 100.0 * LinkKind::Infiniband.reached_share();
    assert!((last.bus_bandwidth / reached - 1.0).abs() < 0.05, "{}", last.bus_bandwidth);
    assert!(results.iter().any(|at| at.choice.algorithm == ExpectedAlgorithm::Tree));
}

#[test]
fn what_nccl_does_not_run_on_is_refused() {
    let machine = alone("dgx1-v100");
    let refused = |gpus: &[usize]| {
        expect(&machine, gpus, Collective::AllReduce, &sizes(), &Settings::default()).is_err()
    };
    assert!(refused(&[0]) && refused(&[0, 8]));
}

/// Rings are described by an outline, and blocks that behave alike are played once. The expected
/// time equals the time of the whole plan, written down and played block by block.
#[test]
fn what_is_expected_is_what_all_blocks_take() {
    let systems = [
        alone("dgx1-v100"),
        alone("4x-l40s-pcie"),
        on_one_switch("dgx-a100", 2, 200),
        on_one_switch("hgx-h100", 8, 400),
    ];
    let sizes = [8, 70_000, 3 << 20, 1 << 30].map(Bytes);
    for system in &systems {
        let gpus: Vec<usize> = (0..system.gpus() as usize).collect();
        let wiring = Wiring::of_gpus(system, &gpus);
        let routes = resources(&wiring);
        for collective in [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter]
        {
            let rows = expected(system, &gpus, collective, &sizes);
            let settings = Settings::default();
            let chooser = Chooser::new(&wiring, &gpus, collective, &settings).unwrap();
            for row in rows {
                let plan = plan_choice(&wiring, &gpus, collective, &chooser, &row.choice).unwrap();
                let costs = protocol_of(&plan.schedule, system).unwrap();
                let whole = Player::on(&plan.schedule, &routes, &costs).unwrap().in_whole();
                let timing = whole.time(row.size, row.choice.longest_run(collective)).unwrap();
                assert_eq!(
                    row.time,
                    timing.time,
                    "{collective} of {} on {}",
                    row.size,
                    system.name()
                );
            }
        }
    }
}

/// Four GPUs of a model in pairs, each pair on a PCIe switch of one socket, and joined by bridges where there are some.
fn in_pairs(model: &str, bridges: u32) -> System {
    let bridged = format!(
        "[[link]]\nkind = 'nvlink3'\ncount = {bridges}\nbetween = [['GPU0', 'GPU1'], ['GPU2', 'GPU3']]\n"
    );
    let text = format!(
        "name = 'pairs'\n[[device]]\nkind = 'gpu'\nmodel = '{model}'\n\
         names = ['GPU0', 'GPU1', 'GPU2', 'GPU3']\n[[device]]\nkind = 'cpu'\nnames = ['CPU0']\n\
         [[device]]\nkind = 'pcie-switch'\nnames = ['PCIE0', 'PCIE1']\n[[link]]\nkind = 'pcie4'\n\
         between = [['GPU0', 'PCIE0'], ['GPU1', 'PCIE0'], ['GPU2', 'PCIE1'], ['GPU3', 'PCIE1'],\n\
         ['PCIE0', 'CPU0'], ['PCIE1', 'CPU0']]\n{}",
        if bridges > 0 { &bridged } else { "" }
    );
    let server = import("pairs.toml", &text, None, &ImportOptions::default()).unwrap();
    System::of_server(Arc::new(server))
}

/// Gives the GB/s on the bus of 512 MiB.
fn bus(machine: &System, gpus: &[usize], collective: Collective, p2p: bool) -> f64 {
    let settings = Settings { p2p, ..Settings::default() };
    expect(machine, gpus, collective, &[Bytes(512 << 20)], &settings).unwrap().rows[0].bus_bandwidth
}

/// PCIe 4 reaches 22.4 GB/s.
#[test]
fn gpus_of_one_switch_share_its_way_to_the_host_where_they_do_not_reach_each_other() {
    let (geforce, professional) = (in_pairs("RTX 4090", 0), in_pairs("RTX 6000 Ada", 0));
    let all_reduce = |machine, gpus: &[usize], p2p| bus(machine, gpus, Collective::AllReduce, p2p);
    for (machine, p2p) in [(&geforce, true), (&geforce, false), (&professional, false)] {
        assert!((10.0..12.0).contains(&all_reduce(machine, &[0, 1], p2p)));
        assert!((20.0..23.0).contains(&all_reduce(machine, &[0, 2], p2p)));
    }
    assert!((20.0..23.0).contains(&all_reduce(&professional, &[0, 1], true)));
    let notes = |machine, gpus| {
        let sizes = [Bytes(1 << 20)];
        let settings = Settings::default();
        expect(machine, gpus, Collective::AllReduce, &sizes, &settings).unwrap().notes
    };
    assert!(notes(&geforce, &[0, 1])[0].starts_with("RTX 4090 has no peer access over PCIe"));
    assert!(notes(&professional, &[0, 2])[0].contains("that a host bridge parts"));
    assert_eq!(notes(&professional, &[0, 1]), Vec::<String>::new());
}

/// Two bridged pairs have a ring that crosses both bridges, and the host twice. Without P2P it crosses the host
/// four times.
#[test]
fn bridges_carry_their_pairs_and_the_host_what_is_between_them() {
    let machine = in_pairs("A100 80GB PCIe", 12);
    let gpus = [0, 2, 1, 3];
    let crossed = |p2p: bool| {
        let settings = Settings { p2p, ..Settings::default() };
        let sizes = [Bytes(512 << 20)];
        let timings = expected_timings(&machine, &gpus, Collective::AllReduce, &sizes, &settings);
        let links = &timings.unwrap()[0].links;
        let of_kind = |is_nvlink: bool| -> f64 {
            let of_it = links.iter().filter(|it| {
                let kind = machine.channel(it.channel).kind;
                kind.is_nvlink() == is_nvlink
            });
            of_it.map(|it| it.bytes / f64::from(512 << 20)).sum()
        };
        [of_kind(true), of_kind(false)]
    };
    // Each hop carries 2 * 3 / 4 of the data, over a bridge, or over two links up and two down.
    let close = |found: [f64; 2], wanted: [f64; 2]| {
        found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 0.01)
    };
    assert!(close(crossed(true), [2.0 * 1.5, 2.0 * 4.0 * 1.5]), "{:?}", crossed(true));
    assert!(close(crossed(false), [0.0, 4.0 * 4.0 * 1.5]), "{:?}", crossed(false));
    let rates = [true, false].map(|p2p| bus(&machine, &gpus, Collective::AllReduce, p2p));
    assert!(rates[0] > 1.9 * rates[1], "{rates:?}");
}

/// L40S in one host, in NVIDIA's own rows: 20.1, 5.2 and 1.45 GB/s on 2, 4 and 8 GPUs. One wiring explains two of them.
#[test]
fn eight_l40s_write_to_each_other_in_pairs_and_else_share_one_way_to_the_host() {
    let machine = alone("8x-l40s");
    let of = |count| bus(&machine, &(0..count).collect::<Vec<_>>(), Collective::AllReduce, true);
    assert!((18.0..23.0).contains(&of(2)), "{}", of(2));
    assert!((4.5..6.0).contains(&of(4)), "{}", of(4));
    assert!((2.0..3.0).contains(&of(8)), "{}", of(8));
}
