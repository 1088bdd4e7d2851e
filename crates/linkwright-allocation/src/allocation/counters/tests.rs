//! Tests published counters, refusals with their place, and random programs derived back.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::allocation::PatternShape;
use crate::system::{DeviceId, LinkKind, ServerBuilder};

/// Holds the counters of MAPA, SC'21, Fig. 9b, as printed: `Link 1` stands twice, and a digit is
/// missing in GPU 5's Tx0.
const FIGURE_9B: &str = "\
$ nvidia-smi nvlink -g 0 -i 5
GPU 5: Tesla P100-SXM2-16GB (UUID: GPU-e00421d4-7649-f32e-c405-335c546b3e2c)
Link 0: Rx0: 5242973340 KBytes, Tx0: 647636280 KBytes
Link 1: Rx0: 0 KBytes, Tx0: 0 KBytes
Link 2: Rx0: 0 KBytes, Tx0: 0 KBytes
Link 3: Rx0: 0 KBytes, Tx0: 0 KBytes
$ nvidia-smi nvlink -g 0 -i 6
GPU 6: Tesla P100-SXM2-16GB (UUID: GPU-8d3669a-dbf3-9df8-dafb-edc9861dc344)
Link 0: Rx0: 0 KBytes, Tx0: 0 KBytes
Link 1: Rx0: 0 KBytes, Tx0: 0 KBytes
Link 1: Rx0: 0 KBytes, Tx0: 0 KBytes
Link 2: Rx0: 6417636280 KBytes, Tx0: 5242973340 KBytes
Link 3: Rx0: 0 KBytes, Tx0: 0 KBytes
";

/// Ends of links: GPU, KiB sent, KiB received.
type Ends = Vec<(usize, u64, u64)>;

fn machine(gpus: usize, links: &[(usize, usize, u32)]) -> Server {
    let mut builder = ServerBuilder::new("test", "");
    let ids: Vec<DeviceId> = (0..gpus)
        .map(|gpu| builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap())
        .collect();
    for (a, b, count) in links.iter().filter(|(_, _, count)| *count > 0) {
        builder.data_sheet_link(ids[*a], ids[*b], LinkKind::Nvlink2, *count).unwrap();
    }
    builder.build().unwrap()
}

/// Lists the links of the two quads of a DGX-1 and between them. With `double` they are the V100's,
/// else the P100's.
fn dgx1(double: u32) -> Vec<(usize, usize, u32)> {
    let wide = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)];
    let narrow = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)];
    let wide = wide.into_iter().map(|(a, b)| (a, b, double));
    wide.chain(narrow.into_iter().map(|(a, b)| (a, b, 1))).collect()
}

/// A snapshot in today's format: each GPU's ends in order, KiB sent and received.
fn snapshot(gpus: usize, ends: &Ends, scale: u64) -> String {
    let mut text = String::new();
    for gpu in 0..gpus {
        let _ = writeln!(text, "GPU {gpu}: Tesla V100-SXM2-16GB (UUID: GPU-{gpu})");
        let of_gpu = ends.iter().filter(|(at, ..)| *at == gpu);
        for (link, (_, sent, received)) in of_gpu.enumerate() {
            let _ = writeln!(text, "\t Link {link}: Data Tx: {} KiB", 77 + sent * scale);
            let _ = writeln!(text, "\t Link {link}: Data Rx: {} KiB", 88 + received * scale);
        }
    }
    text
}

fn derived(machine: &Server, ends: &Ends) -> Result<DerivedPattern, AllocationError> {
    let gpus = machine.gpus().len();
    let (before, after) = (snapshot(gpus, ends, 0), snapshot(gpus, ends, 1));
    pattern_from_counters(("before", &before), ("after", &after), machine)
}

/// Returns the edges by GPU id.
fn edges(derived: &DerivedPattern) -> BTreeSet<(usize, usize)> {
    let named = derived.pattern.edges().iter();
    named.map(|(a, b)| (derived.gpus[*a], derived.gpus[*b])).collect()
}

fn zeroed(text: &str) -> String {
    let digits = ["5242973340", "6417636280", "647636280"];
    digits.iter().fold(text.to_owned(), |text, digits| text.replace(digits, "0"))
}

#[test]
fn the_papers_figure_is_one_edge_once_its_digit_is_restored() {
    let dgx1 = machine(8, &dgx1(1));
    let before = zeroed(FIGURE_9B);
    let printed = pattern_from_counters(("before", &before), ("after", FIGURE_9B), &dgx1);
    let error = printed.unwrap_err().to_string();
    assert!(error.starts_with("after:3:1: GPU 5 link 0 sent "), "{error}");

    let restored = FIGURE_9B.replace("Tx0: 647636280", "Tx0: 6417636280");
    let found = pattern_from_counters(("before", &before), ("after", &restored), &dgx1).unwrap();
    assert_eq!((found.pattern.shape(), found.pattern.size()), (PatternShape::Ring, 2));
    assert_eq!(found.gpus, [5, 6]);
    let (up, down) = (Bytes(6_417_636_280 * 1024), Bytes(5_242_973_340 * 1024));
    assert_eq!(found.traffic, [EdgeTraffic { a: 0, b: 1, bytes_a_to_b: up, bytes_b_to_a: down }]);
}

#[test]
fn refusals_name_the_place() {
    let gpu = "GPU 0: V100 (UUID: GPU-a)\n";
    let good = "GPU 0: V100 (UUID: GPU-a)\nLink 0: Rx0: 9000 KBytes, Tx0: 9000 KBytes\n";
    let with = |line: &str| format!("{gpu}{line}\n");
    let cases = [
        (String::new(), "after:1:1: no link counters"),
        ("Link 0: Rx0: 1 KBytes".to_owned(), "after:1:1: a link before any GPU"),
        (with("nonsense"), "after:2:1: neither a GPU nor"),
        ("GPU 128: a".to_owned(), "after:1:1: no GPU number below 128"),
        (with("Link 256: Rx0: 1 KBytes"), "after:2:1: no link number up to 255"),
        (with("\t Link 0: Raw Tx: 1 KiB"), "after:2:11: not a data counter"),
        (with("Link 0: Rx0: N/A, Tx0: N/A"), "after:2:9: not a data counter"),
        (with("Link 0: Rx0: 1 MiB"), "after:2:9: not a data counter"),
        (with("Link 0: Rx0: 99999999999999999999 KBytes"), "after:2:9: not a data counter"),
        (with("Link 0: Rx0: 18446744073709551615 KBytes"), "after:2:9: not a data counter"),
        (with("Link 0: Data Tx: 1 KiB"), "after:2:1: a link with one direction"),
        (
            with("Link 0: Rx0: 1 KBytes, Tx0: 1 KBytes\nLink 0: Rx0: 1 KBytes, Tx0: 2 KBytes"),
            "after:3:24: GPU 0 link 0 has another value in line 2",
        ),
        (good.replace("Tx0: 9000", "Tx0: 8999"), "after:2:1: less sent than in before, line 2"),
        (good.replace("Link 0", "Link 1"), "before:2:1: GPU 0 link 0 is missing in after"),
        (format!("{good}Link 1: Rx0: 1 KBytes, Tx0: 1 KBytes"), "after:3:1: GPU 0 link 1 is"),
        (good.replace("GPU-a", "GPU-b"), "before:1:1: GPU 0 is another GPU in after"),
        (good.to_owned(), "after:2:1: no link moved data"),
        (good.replace("9000 K", "90000 K"), "after:2:1: GPU 0 link 0 sent 81000 KiB"),
    ];
    let pair = machine(2, &[(0, 1, 1)]);
    for (after, expected) in cases {
        let result = pattern_from_counters(("before", good), ("after", &after), &pair);
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{after:?}: {error}");
    }
    let elsewhere = good.replace("GPU 0", "GPU 2");
    let error = pattern_from_counters(("before", &elsewhere), ("after", &elsewhere), &pair);
    assert!(error.unwrap_err().to_string().starts_with("after:2:1: the machine has no GPU 2"));
}

#[test]
fn equal_traffic_is_accepted_only_where_it_forces_the_pattern() {
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let quad = machine(4, &pairs.map(|(a, b)| (a, b, 1)));
    let even = |links: usize| -> Ends {
        (0..4).flat_map(|gpu| (0..links).map(move |_| (gpu, 50_000, 50_000))).collect()
    };
    assert_eq!(derived(&quad, &even(3)).unwrap().pattern.shape(), PatternShape::AllToAll);
    // Three different rings of four send the same everywhere.
    let error = derived(&quad, &even(2)).unwrap_err().to_string();
    assert!(error.contains("several patterns fit; open is where GPU 0 link 0, GPU 0 link 1, "));
    assert!(error.contains("`nvidia-smi nvlink -R`"), "{error}");
    // Four GPUs joined in a circle leave one ring only.
    let circle = machine(4, &[(0, 1, 2), (1, 3, 2), (2, 3, 2), (0, 2, 2)]);
    let ring = derived(&circle, &even(4)).unwrap();
    assert_eq!(ring.pattern.shape(), PatternShape::Ring);
    assert_eq!(ring.traffic[0].bytes_a_to_b, Bytes(100_000 * 1024), "two links add up");
    // Three ends each, but one is left over.
    let three = machine(3, &[(0, 1, 3), (1, 2, 3), (0, 2, 3)]);
    let odd: Ends = (0..3).flat_map(|gpu| [(gpu, 5_000, 5_000); 3]).collect();
    let error = derived(&three, &odd).unwrap_err().to_string();
    assert!(error.contains("cannot be paired on this machine"), "{error}");
}

#[test]
fn a_search_without_end_is_given_up() {
    // Two times fifteen GPUs, one end each: pairing fails only after all else was tried.
    let all = (0..30).flat_map(|b| (0..b).map(move |a| (a, b, 1)));
    let halves: Vec<_> = all.filter(|(a, b, _)| a / 15 == b / 15).collect();
    let ends: Ends = (0..30).map(|gpu| (gpu, 5_000, 5_000)).collect();
    let error = derived(&machine(30, &halves), &ends).unwrap_err().to_string();
    assert!(error.contains("too many ways to try"), "{error}");
}

#[test]
fn links_to_a_cpu_need_no_partner_and_nvswitches_hide_theirs() {
    let build = |kind: DeviceKind| {
        let mut builder = ServerBuilder::new("test", "");
        let [a, b, hub] = [("a", DeviceKind::Gpu), ("b", DeviceKind::Gpu), ("hub", kind)]
            .map(|(name, kind)| builder.device(name, kind, None).unwrap());
        builder.data_sheet_link(a, b, LinkKind::Nvlink2, 1).unwrap();
        builder.data_sheet_link(a, hub, LinkKind::Nvlink2, 1).unwrap();
        builder.build().unwrap()
    };
    let ends = vec![(0, 70_000, 30_000), (0, 90_000, 10_000), (1, 30_000, 70_000)];
    let found = derived(&build(DeviceKind::Cpu), &ends).unwrap();
    assert_eq!(edges(&found), BTreeSet::from([(0, 1)]));
    let error = derived(&build(DeviceKind::NvSwitch), &ends).unwrap_err().to_string();
    assert!(error.contains("NVSwitches hide the other end"), "{error}");
}

#[test]
fn one_link_to_a_cpu_excuses_one_end_only() {
    let with_host_links = |count: u32| {
        let mut builder = ServerBuilder::new("test", "");
        let [a, b, cpu] =
            [("a", DeviceKind::Gpu), ("b", DeviceKind::Gpu), ("cpu", DeviceKind::Cpu)]
                .map(|(name, kind)| builder.device(name, kind, None).unwrap());
        builder.data_sheet_link(a, b, LinkKind::Nvlink2, 1).unwrap();
        builder.data_sheet_link(a, cpu, LinkKind::Nvlink2, count).unwrap();
        builder.build().unwrap()
    };
    let pair = [(0, 70_000, 30_000), (1, 30_000, 70_000)];
    let unpaired = [(0, 90_000, 10_000), (0, 80_000, 20_000)];
    let ends: Ends = pair.into_iter().chain(unpaired).collect();
    let error = derived(&with_host_links(1), &ends).unwrap_err().to_string();
    assert!(error.contains("GPU 0 link 2 sent 78.125 MiB"), "{error}");
    assert_eq!(edges(&derived(&with_host_links(2), &ends).unwrap()), BTreeSet::from([(0, 1)]));
}

/// The patterns of all pairings of all ends, end by end.
fn all_patterns(
    ends: &[(usize, u64, u64)],
    links: &mut Vec<(usize, usize, u32)>,
    pattern: &BTreeSet<(usize, usize)>,
    found: &mut BTreeSet<BTreeSet<(usize, usize)>>,
) {
    let Some(((gpu, sent, received), rest)) = ends.split_first() else {
        found.insert(pattern.clone());
        return;
    };
    for (index, (other, back, forth)) in rest.iter().enumerate() {
        let pair = (*gpu.min(other), *gpu.max(other));
        let free = links.iter().position(|(a, b, count)| (*a, *b) == pair && *count > 0);
        let Some(link) = free.filter(|_| (sent, received) == (forth, back)) else { continue };
        links[link].2 -= 1;
        let mut left = rest.to_vec();
        left.remove(index);
        let mut with = pattern.clone();
        with.insert(pair);
        all_patterns(&left, links, &with, found);
        links[link].2 += 1;
    }
}

proptest! {
    #[test]
    fn the_answer_is_the_only_pattern_that_fits(
        counts in proptest::collection::vec(0_u32..3, 10),
        uses in proptest::collection::vec((0_usize..10, 0_u64..2, 0_u64..2), 1..7),
    ) {
        let pairs = (0..5_usize).flat_map(|b| (0..b).map(move |a| (a, b)));
        let mut links: Vec<_> = pairs.zip(&counts).map(|((a, b), n)| (a, b, *n)).collect();
        let machine = machine(5, &links);
        let mut free = links.clone();
        let mut ends: Ends = Vec::new();
        for (pair, up, down) in uses {
            let (a, b, count) = &mut free[pair];
            if *count > 0 {
                *count -= 1;
                let (up, down) = (5_000 + up * 3_000, 5_000 + down * 3_000);
                ends.extend([(*a, up, down), (*b, down, up)]);
            }
        }
        prop_assume!(!ends.is_empty());
        let mut patterns = BTreeSet::new();
        all_patterns(&ends, &mut links, &BTreeSet::new(), &mut patterns);
        match derived(&machine, &ends) {
            Ok(found) => prop_assert_eq!(BTreeSet::from([edges(&found)]), patterns),
            Err(error) => {
                prop_assert!(patterns.len() > 1, "{error}");
                prop_assert!(error.to_string().contains("several patterns fit"), "{error}");
            }
        }
    }

    #[test]
    fn programs_on_a_dgx1_are_derived_back(
        used in proptest::collection::vec((any::<bool>(), 0_u64..3, 0_u64..500), 16),
    ) {
        let links = dgx1(2);
        let mut ends: Ends = Vec::new();
        let mut expected: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut bytes = 0;
        for (at, ((a, b, count), (is_used, tilt, jitter))) in links.iter().zip(&used).enumerate() {
            if *is_used {
                expected.insert((*a, *b));
            }
            for _ in 0..*count {
                // Pairs differ by 2.8 % at least, and the two ends of one by 0.5 % at most.
                let volume = 100_000 + 5_000 * at as u64;
                let (up, down) = if *is_used { (volume, volume * (1 + tilt)) } else { (90, 90) };
                ends.push((*a, up, down));
                ends.push((*b, down + if *is_used { *jitter } else { 0 }, up));
                bytes += if *is_used { up } else { 0 };
            }
        }
        prop_assume!(!expected.is_empty());
        let found = derived(&machine(8, &links), &ends).unwrap();
        prop_assert_eq!(edges(&found), expected);
        let sent: u64 = found.traffic.iter().map(|edge| edge.bytes_a_to_b.0).sum();
        prop_assert_eq!(sent, bytes * 1024);
    }

    #[test]
    fn any_text_is_derived_or_refused(
        lines in proptest::collection::vec(
            prop_oneof![
                "\\PC{0,20}",
                "(GPU|Link) [0-9]{0,11}:.{0,9}",
                "Link [0-9]: (Rx0|Data Tx|Data Rx): [0-9]{1,20} (KiB|KBytes)"
            ],
            0..6,
        ),
    ) {
        let text = lines.join("\n");
        let pair = machine(2, &[(0, 1, 1)]);
        let _ = pattern_from_counters(("a", &text), ("b", FIGURE_9B), &pair);
        let _ = pattern_from_counters(("a", &text), ("b", &text), &pair);
    }
}
