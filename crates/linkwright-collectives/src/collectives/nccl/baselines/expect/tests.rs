use super::*;
use crate::collectives::nccl::baselines::plans::plan_choice;
use crate::collectives::nccl::baselines::{ExpectedAlgorithm, NcclBaseline};
use crate::collectives::planners::plan::{Question, plan};
use crate::collectives::schedule::Protocol;
use crate::collectives::schedule::time::{choose_chunk, protocol_launched, protocol_of, resources};
use crate::system::test_support::{alone, on_one_switch};
use crate::system::{LinkKind, presets};

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

/// As long as the choice stays: the library chooses by what it believes of the links, and may
/// change its mind too early or too late. Data that is cut once more, into equal pieces, may fill links
/// better; a chain, which passes on whole chunks, far better, so that those from and to a root are left out.
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

/// NVIDIA/nccl-tests#212: on 8 H100 a bus bandwidth of about 480 GB/s with NVLS, and 370 for
/// what does not reduce in the switches.
#[test]
fn an_h100_server_reaches_what_nvidia_says() {
    let machine = alone("hgx-h100");
    let last = *all_of(&machine, Collective::AllReduce).last().unwrap();
    assert_eq!(last.choice.algorithm, ExpectedAlgorithm::Nvls);
    assert!((last.bus_bandwidth - 480.0).abs() < 30.0, "{}", last.bus_bandwidth);
    let last = *all_of(&machine, Collective::AllGather).last().unwrap();
    assert_eq!(last.choice.algorithm, ExpectedAlgorithm::Ring);
    assert!((last.bus_bandwidth - 370.0).abs() < 25.0, "{}", last.bus_bandwidth);
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
                assert!((0.96..1.04).contains(&ratio), "{name} {size} {processes:?}: {ratio}");
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

/// Rings are told by an outline, and what behaves alike is played once: what is expected is the time
/// of what is planned, written down and played block by block.
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
