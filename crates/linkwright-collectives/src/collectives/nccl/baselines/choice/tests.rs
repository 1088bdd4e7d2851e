use super::rules::Thresholds;
use super::*;
use crate::collectives::nccl::baselines::chosen_plan;
use crate::collectives::nccl::baselines::rings::rings_of_rccl;
use crate::collectives::schedule::check::check;
use crate::system::test_support::{alone, on_one_switch};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn whole(machine: &System) -> Vec<usize> {
    (0..machine.gpus() as usize).collect()
}

fn of(version: &str) -> Settings {
    Settings { version: Some(version.parse().unwrap()), ..Settings::default() }
}

fn chosen(machine: &str, collective: Collective, size: u64, settings: &Settings) -> Choice {
    let machine = alone(machine);
    choose(&machine, &whole(&machine), collective, Bytes(size), settings).unwrap()
}

fn name(choice: &Choice) -> (&'static str, &'static str) {
    (choice.algorithm.name(), choice.protocol.name())
}

/// NCCL 2.30 runs an all-reduce on 8 A100s. 12 links of 20 GB/s are 240 GB/s. 6 channels at 40 are
/// split into 12 at 20 and built twice.
///
/// LL has 6.6 + 14 x 0.6 = 15.0 us. Its bandwidth is min(240 / 2, 87.7) x 8 / 14 = 50.11 GB/s.
/// LL128 has 14 + 14 x 1.9 = 40.6 us. Its bandwidth is min(240 x 0.92, 12 x 20) = 220.8 x 8 / 14 =
/// 126.17 GB/s. Simple has 8.4 + 14 x 3.4 = 56.0 us and 240 x 8 / 14 = 137.14 GB/s. Trees have
/// 15.2 us (6.8 + 2 x 7 x 0.6). They have no more than 240 x 0.92 / 3.8 / 2 = 29.05 GB/s of LL.
#[test]
fn an_a100s_model_is_that_of_the_tables() {
    let expected = [
        ("LL", 8, 15.0),
        ("LL", 256 * KIB, 15.0 + 262_144.0 / 50_114.3),
        ("LL128", 8, 40.6),
        ("LL128", 16 * MIB, 40.6 + 16_777_216.0 / 126_171.4),
        ("Simple", 8, 56.0),
        ("Simple", GIB, 56.0 + 1_073_741_824.0 / 137_142.9),
    ];
    let machine = alone("dgx-a100");
    for (protocol, size, time) in expected {
        let all = choices(
            &machine,
            &whole(&machine),
            Collective::AllReduce,
            Bytes(size),
            &Settings::default(),
        );
        let all = all.unwrap();
        let ring = all.iter().find(|it| name(it) == ("ring", protocol)).unwrap();
        let found = ring.model_time.unwrap().as_seconds() * 1e6;
        assert!((found / time - 1.0).abs() < 1e-3, "{protocol} {size} {found} {time}");
        assert!(all.windows(2).all(|pair| pair[0].model_time <= pair[1].model_time));
    }
    // LL and LL128 meet where 15 + s / 50114 = 40.6 + s / 126171, at 2.13 MB. LL128 and Simple meet
    // where 40.6 + s / 126171 = 56 + s / 137143, at 24.3 MB.
    let at = |size| name(&chosen("dgx-a100", Collective::AllReduce, size, &Settings::default()));
    assert_eq!(at(2 * MIB), ("ring", "LL"));
    assert_eq!(at(4 * MIB), ("ring", "LL128"));
    assert_eq!(at(16 * MIB), ("ring", "LL128"));
    assert_eq!(at(32 * MIB), ("ring", "Simple"));
}

/// NCCL 2.7 on 8 V100s of a hybrid mesh: 6 links of 21 GB/s are 126 GB/s.
///
/// LL has 3.6 + 14 x 0.47 = 10.18 us and 126 / 4 x 8 / 14 = 18.0 GB/s. LL128 has 10 + 14 x 1.9 =
/// 36.6 us. Its bandwidth is min(126 x 0.92, 6 x 16.7) = 100.2 x 8 / 14 = 57.26 GB/s. Simple has
/// 8.4 + 14 x 3.4 = 56.0 us and 126 x 8 / 14 = 72.0 GB/s. The first two meet at (36.6 - 10.18) / (1
/// / 18.0 - 1 / 57.26) = 694 kB. The last two meet at (56.0 - 36.6) / (1 / 57.26 - 1 / 72.0) = 5.43
/// MB.
#[test]
fn releases_switch_where_their_own_tables_say() {
    let at = |size| name(&chosen("dgx1-v100", Collective::AllReduce, size, &of("2.7.8")));
    assert_eq!(at(512 * KIB), ("ring", "LL"));
    assert_eq!(at(MIB), ("ring", "LL128"));
    assert_eq!(at(4 * MIB), ("ring", "LL128"));
    assert_eq!(at(8 * MIB), ("ring", "Simple"));
}

/// NCCL 2.4 within a server has rings alone, and LL while channels x threads x ranks x 64 B hold
/// the data. 12 channels (6 rings, built twice) of 256 threads and 8 ranks hold 1.5 MiB.
#[test]
fn before_the_model_there_were_thresholds() {
    let at = |size| chosen("dgx1-v100", Collective::AllReduce, size, &of("2.4.8"));
    let (small, large) = (at(3 * MIB / 2), at(2 * MIB));
    assert_eq!((name(&small), small.channels, small.threads), (("ring", "LL"), 12, 256));
    assert_eq!((name(&large), large.channels), (("ring", "Simple"), 12));
    assert_eq!(large.model_time, None);
    // 8 KiB are 8 B for each of 64 threads and 8 ranks, twice: two channels of 64 threads are
    // one of 128.
    let tiny = at(8 * KIB);
    assert_eq!((tiny.channels, tiny.threads), (1, 128));
    let rules: Thresholds =
        versions::of(Library::Nccl, Version::new(2, 4, 8)).0.thresholds.unwrap();
    assert_eq!(rules.thread_bytes, 64);
    // Between servers trees come first: two servers' trees are faster than their rings.
    let two = on_one_switch("dgx1-v100", 2, 25);
    let small = choose(&two, &whole(&two), Collective::AllReduce, Bytes(MIB), &of("2.4.8"));
    assert_eq!(small.unwrap().algorithm, ExpectedAlgorithm::Tree);
}

#[test]
fn channels_are_those_that_nccl_prints() {
    let all = |machine: &str| {
        let ring = Settings { algorithm: Some(ExpectedAlgorithm::Ring), ..Settings::default() };
        chosen(machine, Collective::AllReduce, GIB, &ring).channels
    };
    // `Channel 00/12` on a DGX-1V and a DGX-2, `00/24` on 8 A100s or H100s, `00/02` over PCIe.
    assert_eq!(
        ["dgx1-v100", "dgx2", "dgx-a100", "hgx-h100", "4x-l40s-pcie"].map(all),
        [12, 12, 24, 24, 2]
    );
    let nvls = chosen("hgx-h100", Collective::AllReduce, GIB, &Settings::default());
    assert_eq!((name(&nvls), nvls.channels), (("nvls", "Simple"), 16));
}

#[test]
fn little_data_takes_fewer_channels_then_fewer_threads() {
    let ll = Settings {
        algorithm: Some(ExpectedAlgorithm::Ring),
        protocol: Some(Protocol::LL),
        ..of("2.10.3")
    };
    let at = |size| chosen("dgx-a100", Collective::AllReduce, size, &ll);
    // 512 threads with 8 B for each of 8 ranks are 32 KiB a channel.
    let shape = |size| (at(size).channels, at(size).threads);
    assert_eq!(shape(768 * KIB), (24, 512));
    assert_eq!(shape(256 * KIB), (8, 512));
    assert_eq!(shape(32 * KIB), (1, 512));
    assert_eq!(shape(16 * KIB), (1, 256));
    // Halves go on while 128 divides them, and three warps are the fewest.
    assert_eq!(shape(8), (1, 96));
}

/// Ring and Simple have 8 steps of 512 KiB. A chunk of an all-reduce is four of them, and its
/// slices two each. 1 GiB on 24 channels and 8 ranks is 1 GiB / (24 x 8 x 2 MiB) = 2.67 loops.
#[test]
fn chunks_are_nccls_and_the_last_ones_shrink() {
    let simple = Settings {
        algorithm: Some(ExpectedAlgorithm::Ring),
        protocol: Some(Protocol::Simple),
        ..of("2.18.5")
    };
    let cut = |size, collective| chosen("dgx-a100", collective, size, &simple).chunking;
    let large = cut(GIB, Collective::AllReduce);
    assert_eq!((large.chunk, large.slices, large.loops), (Bytes(2 * MIB), 2, 3));
    // The rest is 256 MiB, 1,398,102 B of each of 192, rounded up to whole 512 x 8 B.
    assert_eq!(large.last, Bytes(1_400_832));
    let broadcast = cut(GIB, Collective::Broadcast { root: 0 });
    assert_eq!((broadcast.chunk, broadcast.slices), (Bytes(512 * KIB), 1));
    // 2.30 cuts to 16 B.
    let today = Settings { version: None, ..simple };
    let last = chosen("dgx-a100", Collective::AllReduce, GIB, &today).chunking.last;
    assert_eq!(last, Bytes(1_398_112));
    let ll = Settings { protocol: Some(Protocol::LL), ..simple };
    assert_eq!(chosen("dgx-a100", Collective::AllReduce, GIB, &ll).chunking.chunk, Bytes(32 * KIB));
    let ll128 = Settings { protocol: Some(Protocol::LL128), ..simple };
    let chunk = chosen("dgx-a100", Collective::AllReduce, GIB, &ll128).chunking.chunk;
    // 120 words of 640 threads, 15 of 16 of them data.
    assert_eq!(chunk, Bytes(576_000));
}

#[test]
fn there_is_a_choice_for_every_size_and_the_best_comes_first() {
    let machines = ["dgx1-p100", "dgx1-v100", "dgx-a100", "hgx-h100", "hgx-b200", "mi300x-8"];
    let collectives = [
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::Broadcast { root: 0 },
        Collective::Reduce { root: 1 },
        Collective::AllToAll,
    ];
    for name in machines.into_iter().chain(["4x-l40s-pcie", "summit-node"]) {
        let machine = alone(name);
        let gpus = whole(&machine);
        for rules in versions::all() {
            let settings = Settings { version: Some(rules.version), ..Settings::default() };
            for collective in collectives {
                for power in 3..=33 {
                    let size = Bytes(1 << power);
                    let all = choices(&machine, &gpus, collective, size, &settings).unwrap();
                    let timed: Vec<_> = all.iter().filter_map(|it| it.model_time).collect();
                    assert!(timed.windows(2).all(|pair| pair[0] <= pair[1]), "{name} {size:?}");
                    for choice in all {
                        let Chunking { chunk, last, loops, slices } = choice.chunking;
                        assert!(choice.channels > 0 && choice.threads >= 64 && loops > 0);
                        assert!(last <= chunk && chunk.0 > 0 && slices > 0);
                    }
                }
            }
        }
    }
}

#[test]
fn a_choice_has_a_schedule_with_its_channels() {
    for (name, version) in [("dgx1-v100", "2.7.8"), ("dgx-a100", "2.10.3"), ("hgx-h100", "2.18.5")]
    {
        let machine = alone(name);
        let gpus = whole(&machine);
        for (algorithm, protocol) in [
            (ExpectedAlgorithm::Ring, Protocol::Simple),
            (ExpectedAlgorithm::Ring, Protocol::LL),
            (ExpectedAlgorithm::Tree, Protocol::Simple),
        ] {
            for size in [8, 64 * KIB, 64 * MIB] {
                let settings = Settings {
                    algorithm: Some(algorithm),
                    protocol: Some(protocol),
                    ..of(version)
                };
                let found =
                    chosen_plan(&machine, &gpus, Collective::AllReduce, Bytes(size), &settings);
                let (choice, plan) = found.unwrap();
                assert_eq!(plan.schedule.channels.len(), choice.channels as usize, "{name} {size}");
                assert_eq!(plan.schedule.protocol, protocol);
                check(&plan.schedule).unwrap();
            }
        }
    }
    // A double binary tree: the first on the channels that were found, the second on the others.
    let four = on_one_switch("hgx-h100", 4, 50);
    let tree = Settings { algorithm: Some(ExpectedAlgorithm::Tree), ..Settings::default() };
    let found = chosen_plan(&four, &whole(&four), Collective::AllReduce, Bytes(GIB), &tree);
    let (choice, plan) = found.unwrap();
    assert_eq!((choice.channels, plan.trees.len()), (16, 16));
    assert_ne!(plan.trees[0].parent, plan.trees[8].parent);
    check(&plan.schedule).unwrap();
}

#[test]
fn rccl_chooses_on_the_mesh_of_an_mi300x_box() {
    let machine = alone("mi300x-8");
    let gpus = whole(&machine);
    let wiring = Wiring::of_gpus(&machine, &gpus);
    // Its 14 rings cross every link twice in each direction.
    let rings = rings_of_rccl(&wiring, &gpus);
    let mut crossed = [0; 64];
    for ring in &rings.rings {
        (0..8).for_each(|at| crossed[ring.order[at] * 8 + ring.order[(at + 1) % 8]] += 1);
    }
    let pairs = || (0..64).filter(|at| at / 8 != at % 8);
    assert!(pairs().all(|at| crossed[at] == 2) && rings.rings.len() == 14);
    // 7 links of 48 GB/s are 336. LL has 12 + 14 x 0.8 = 23.2 us and 336 x 0.08 x 8 / 14 = 15.36
    // GB/s. Simple has 17 + 14 x 2.1 = 46.4 us and 192 GB/s. They meet at 387 kB.
    let at = |size| chosen("mi300x-8", Collective::AllReduce, size, &Settings::default());
    assert_eq!(name(&at(256 * KIB)), ("ring", "LL"));
    assert_eq!(name(&at(512 * KIB)), ("ring", "Simple"));
    assert_eq!(at(GIB).channels, 56);
    let found =
        chosen_plan(&machine, &gpus, Collective::AllReduce, Bytes(GIB), &Settings::default());
    check(&found.unwrap().1.schedule).unwrap();
    // Four of them have all six rings, built four times; two have 32 channels.
    let on = |gpus: &[usize]| {
        choose(&machine, gpus, Collective::AllReduce, Bytes(GIB), &Settings::default())
            .unwrap()
            .channels
    };
    assert_eq!((on(&[0, 1, 2, 3]), on(&[4, 7])), (24, 32));
}

#[test]
fn settings_that_a_machine_cannot_have_say_what_would_work() {
    let refused = |machine: &str, settings: &Settings| {
        let machine = alone(machine);
        let found =
            choices(&machine, &whole(&machine), Collective::AllReduce, Bytes(MIB), settings);
        found.unwrap_err().to_string()
    };
    let nvls = Settings { algorithm: Some(ExpectedAlgorithm::Nvls), ..Settings::default() };
    let ll128 = Settings { protocol: Some(Protocol::LL128), ..Settings::default() };
    assert_eq!(
        refused("dgx1-v100", &nvls),
        "the algorithm nvls is not available here: NVLS takes two or more GPUs of one server \
         behind \
         NVSwitches, and these of `dgx1-v100` are not; use one of ring, tree"
    );
    assert!(refused("dgx-a100", &nvls).contains("only NVSwitches from the H100's on reduce"));
    let off = Settings { nvls: false, ..nvls };
    assert!(refused("hgx-h100", &off).contains("NVLS is switched off"));
    let old = Settings { version: Some(Version::new(2, 12, 0)), ..nvls };
    assert!(refused("hgx-h100", &old).contains("NCCL 2.10 does not reduce in NVSwitches"));
    let pat = Settings { algorithm: Some(ExpectedAlgorithm::Pat), ..Settings::default() };
    assert!(refused("hgx-h100", &pat).contains("servers of one GPU each"));
    assert_eq!(
        refused("4x-l40s-pcie", &ll128),
        "the protocol LL128 is not available here: LL128 takes NVLink between all neighbours, and \
         these GPUs talk over the host; use one of LL, Simple"
    );
    let host = Settings { p2p: false, ..ll128 };
    assert!(refused("hgx-h100", &host).contains("talk over the host"));
    let both = Settings { protocol: Some(Protocol::LL), ..nvls };
    assert!(refused("hgx-h100", &both).contains("switches reduce with Simple alone"));
    let none = Settings { link_bandwidth: Some(0.0), ..Settings::default() };
    assert!(refused("hgx-h100", &none).contains("0 GB/s"));
}

/// No release asks for P2P before it lets the switches reduce (`ncclNvlsInit`).
#[test]
fn without_peers_switches_reduce_and_all_else_goes_through_the_host_s_memory() {
    let settings = Settings { p2p: false, ..Settings::default() };
    let reduced = chosen("hgx-h100", Collective::AllReduce, GIB, &settings);
    assert_eq!(reduced.algorithm, ExpectedAlgorithm::Nvls);
    let settings = Settings { nvls: false, ..settings };
    let choice = chosen("hgx-h100", Collective::AllReduce, GIB, &settings);
    // Of UPI's 22 GB/s two channels of 11 take all, which is more than one of 20, and each is built twice.
    assert_eq!((name(&choice), choice.channels), (("ring", "Simple"), 4));
    let machine = alone("hgx-h100");
    let found =
        chosen_plan(&machine, &whole(&machine), Collective::AllReduce, Bytes(GIB), &settings);
    let transport = found.unwrap().1.schedule.channels[0].transport;
    assert_eq!(transport, crate::collectives::schedule::ChannelTransport::Memory);
}

#[test]
fn an_unknown_version_takes_another_one_and_says_so() {
    let of = |library, minor, patch| versions::of(library, Version::new(2, minor, patch));
    assert_eq!(versions::newest(Library::Nccl).version, Version::NEWEST);
    assert!((18..=30).all(|minor| of(Library::Nccl, minor, 0).1.is_none()));
    assert!(of(Library::Nccl, 7, 0).1.is_none());
    let (rules, note) = of(Library::Nccl, 15, 5);
    assert_eq!(rules.version, Version::new(2, 10, 0));
    assert!(note.unwrap().contains("nearest older release"));
    for minor in [31, 40] {
        let (rules, note) = of(Library::Nccl, minor, 0);
        assert_eq!(rules.version, Version::new(2, 30, 0));
        assert!(note.unwrap().contains("the newest release that is known"));
    }
    assert!(of(Library::Rccl, 27, 7).1.unwrap().contains("the newest release that is known"));
    let (rules, note) = of(Library::Nccl, 3, 0);
    assert_eq!(rules.version, Version::new(2, 4, 0));
    assert!(note.unwrap().contains("older than all"));
    let (rules, note) = of(Library::Rccl, 18, 0);
    assert_eq!((rules.library, rules.version.minor), (Library::Rccl, 22));
    assert!(note.is_some());
    // Of a series whose patches differ it is the nearest, and the last where none is named.
    let patch = |minor, patch| of(Library::Nccl, minor, patch).0.version.patch;
    assert_eq!(
        [patch(28, 0), patch(28, 3), patch(28, 8), patch(28, 12), patch(28, 1)],
        [9, 3, 7, 9, 3]
    );
    // In order, and each says where it is from.
    let all: Vec<_> = versions::all().filter(|it| it.library == Library::Nccl).collect();
    assert!(all.windows(2).all(|pair| pair[0].version < pair[1].version));
    assert!(versions::all().all(|rules| rules.source.contains("src/")));
    let tags = all.iter().map(|rules| rules.source.split([' ', ':']).nth(1).unwrap());
    assert!(tags.clone().all(|tag| tag.starts_with("v2.") && tag.ends_with("-1")));
    let named = |(rules, tag): (&&Rules, &str)| {
        let Version { major, minor, .. } = rules.version;
        tag.starts_with(&format!("v{major}.{minor}."))
    };
    assert!(all.iter().zip(tags).all(named));
}

#[test]
fn reduction_in_the_switches_has_a_schedule_of_its_own() {
    let machine = alone("hgx-h100");
    let found = chosen_plan(
        &machine,
        &whole(&machine),
        Collective::AllReduce,
        Bytes(GIB),
        &Settings::default(),
    );
    let (choice, plan) = found.unwrap();
    assert_eq!(choice.algorithm, ExpectedAlgorithm::Nvls);
    assert_eq!(plan.schedule.name, "nvls-all-reduce");
}
