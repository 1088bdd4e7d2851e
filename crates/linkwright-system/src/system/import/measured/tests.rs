use proptest::prelude::*;

use super::*;
use crate::system::kinds::LinkKind;
use crate::system::presets::{NAMES, preset};
use crate::system::server::Server;
use crate::system::test_support::{PairRates, assert_is_helpful, is_of_amd};
use crate::system::toml_format;

/// Gives what each program prints of a machine, as far as it runs on its GPUs.
fn texts(server: &Server, rates: &PairRates) -> Vec<(Tool, String)> {
    if is_of_amd(server) {
        return vec![(Tool::RocmBandwidthTest, rates.rocm_bandwidth_test())];
    }
    vec![
        (Tool::P2pBandwidthLatencyTest, rates.p2p_bandwidth_latency_test()),
        (Tool::Nvbandwidth, rates.nvbandwidth()),
        (Tool::Nvbandwidth, rates.nvbandwidth_json()),
    ]
}

/// Presets with several GPUs that are one server, without addresses of their own.
fn servers() -> impl Iterator<Item = Server> {
    let all = NAMES.into_iter().map(|name| preset(name).unwrap());
    all.filter(|server| (2..=16).contains(&server.gpus().len()))
}

fn value_of(matrix: &Matrix, from: usize, to: usize) -> Option<f64> {
    let is = |cell: &&Cell| (cell.from, cell.to) == (MeasuredEnd::Gpu(from), MeasuredEnd::Gpu(to));
    matrix.cells.iter().find(is).map(|cell| cell.value)
}

#[test]
fn every_program_gives_back_what_was_measured() {
    let mut machines = 0;
    for server in servers() {
        machines += 1;
        let rates = PairRates::of(&server).slowed(0, 1, 0.5);
        for (tool, text) in texts(&server, &rates) {
            assert!(looks_measured(&text));
            let found = read("pairs.txt", &text).unwrap();
            assert_eq!((found.tool, found.gpus), (tool, server.gpus().len()));
            assert!(found.notes.is_empty(), "{:?}", found.notes);
            assert_eq!(found.places[&1].bus, 15);
            let is_plain =
                |it: &&Matrix| it.what.quantity == Quantity::OneWay && it.what.peer_access;
            let mut compared = 0;
            for matrix in found.matrices.iter().filter(is_plain) {
                for (a, row) in rates.pairs.iter().enumerate() {
                    for (b, rate) in row.iter().enumerate().filter(|(b, _)| *b != a) {
                        let Some(value) = value_of(matrix, a, b) else { continue };
                        assert!((value - rate).abs() < 0.0051, "{tool:?} {a} {b} {value} {rate}");
                        compared += 1;
                    }
                }
            }
            let pairs = rates.pairs.len() * (rates.pairs.len() - 1);
            let matrices = if tool == Tool::Nvbandwidth { 2 } else { 1 };
            assert_eq!(compared, matrices * pairs, "{tool:?}");
        }
    }
    assert!(machines > 5);
}

#[test]
fn a_slow_pair_is_named_with_its_line() {
    for server in servers() {
        let sound = PairRates::of(&server);
        for (tool, text) in texts(&server, &sound) {
            let found = read("pairs.txt", &text).unwrap();
            assert_eq!(far_below(&server, &found).unwrap(), [], "{} {tool:?}", server.name());
        }
        for (tool, text) in texts(&server, &sound.clone().slowed(0, 1, 0.5)) {
            let found = read("pairs.txt", &text).unwrap();
            let slow = far_below(&server, &found).unwrap();
            // Of a way through the host that has no like, nobody knows what it should reach.
            if slow.is_empty() {
                assert!(
                    sound.pairs.len() == 2
                        || !server.links().iter().any(|it| it.kind.is_gpu_fabric())
                );
                continue;
            }
            let first = &slow[0];
            assert_eq!(
                (first.a, first.b),
                (MeasuredEnd::Gpu(0), MeasuredEnd::Gpu(1)),
                "{} {slow:?}",
                server.name()
            );
            assert_eq!(slow.len(), 1, "{tool:?} {slow:?}");
            let line = text.lines().nth(first.position.line - 1).unwrap();
            let printed = [format!("{:.2}", first.measured), format!("{:.3}", first.measured)];
            let is_there = printed.iter().any(|it| line.contains(it)) || line.contains('"');
            assert!(is_there, "{tool:?} {line} {}", first.measured);
            assert!((first.measured / first.like - 0.5).abs() < 0.1, "{first}");
        }
    }
}

#[test]
fn launchers_colours_and_quotation_change_nothing() {
    let server = preset("dgx1-v100").unwrap();
    let rates = PairRates::of(&server);
    for (_, text) in texts(&server, &rates) {
        let plain = read("a", &text).unwrap();
        let dressed = |before: &str, after: &str| -> String {
            text.lines().map(|line| format!("{before}{line}{after}\n")).collect()
        };
        let values = |found: &Measurements| -> Vec<(MeasuredEnd, MeasuredEnd, f64)> {
            let all = found.matrices.iter().flat_map(|matrix| &matrix.cells);
            all.map(|cell| (cell.from, cell.to, cell.value)).collect()
        };
        for (before, after) in [
            ("0: ", ""),
            ("[1,0]<stdout>:", ""),
            ("\u{1b}[32m", "\u{1b}[0m"),
            ("", "\r"),
            ("[0] ", ""),
        ] {
            if text.starts_with('{') && before.contains('\u{1b}') {
                continue;
            }
            let other = read("a", &dressed(before, after)).unwrap();
            assert_eq!(values(&other), values(&plain), "{before:?}");
            assert_eq!(other.places, plain.places, "{before:?}");
        }
        if text.starts_with('{') {
            continue;
        }
        // Another rank's lines between.
        let both: String = text.lines().map(|line| format!("0: {line}\n1: {line}\n")).collect();
        let mixed = read("a", &both).unwrap();
        assert_eq!(values(&mixed), values(&plain));
        assert_eq!(mixed.notes, ["The matrices of 1 other rank are left out."]);
    }
}

#[test]
fn links_take_what_their_pairs_reach() {
    let server = preset("dgx1-v100").unwrap();
    let rates = PairRates::of(&server).slowed(0, 3, 0.5);
    let text = rates.p2p_bandwidth_latency_test();
    let found = read("pairs.txt", &text).unwrap();
    let MeasuredServer { server: measured, taken, notes } = with_measured(&server, &found).unwrap();
    assert!(notes.is_empty(), "{notes:?}");
    let of = |a: &str, b: &str| {
        let [a, b] = [a, b].map(|name| measured.device(name).unwrap());
        let links = measured.links().iter();
        links.clone().find(|link| link.joins(a) && link.joins(b)).unwrap().clone()
    };
    let slow = of("GPU0", "GPU3");
    assert_eq!((slow.kind, slow.count), (LinkKind::Nvlink2, 2));
    assert_eq!(slow.measured.unwrap().to_string(), "23.75 GB/s");
    // As much as a sound link would need to reach that.
    assert_eq!(slow.total_bandwidth().0, (23.75e9_f64 / 0.916).round() as u64);
    let sound = of("GPU0", "GPU4");
    assert_eq!(sound.measured.unwrap().to_string(), "47.5 GB/s");
    assert_eq!(sound.total_bandwidth(), sound.nominal_bandwidth());
    let fabric = taken.iter().filter(|it| it.nominal.0 >= 20_000_000_000);
    assert_eq!(fabric.count(), 16, "{taken:?}");
    // The file of the machine keeps it, and measuring again replaces it.
    let toml = toml_format::write(&measured);
    assert!(toml.contains("measured = \"23.75 GB/s\""));
    assert_eq!(toml_format::read("m.toml", &toml).unwrap(), measured);
    let again = with_measured(
        &measured,
        &read("b", &PairRates::of(&server).p2p_bandwidth_latency_test()).unwrap(),
    );
    assert_eq!(far_below(&measured, &found).unwrap().len(), 1);
    assert!(
        again
            .unwrap()
            .server
            .links()
            .iter()
            .all(|it| it.total_bandwidth() == it.nominal_bandwidth())
    );
    assert!(!toml_format::write(&server).contains("measured"));
}

#[test]
fn a_switch_keeps_a_slow_pair_and_loses_a_slow_gpu() {
    let server = preset("dgx-a100").unwrap();
    let slowed = |server: &Server| -> Vec<String> {
        let slow = server.links().iter().filter(|it| it.total_bandwidth() < it.nominal_bandwidth());
        let mut gpus: Vec<String> = slow.map(|it| server.devices()[it.a].name.clone()).collect();
        gpus.dedup();
        gpus
    };
    let sound = PairRates::of(&server);
    let pair = read("a", &sound.clone().slowed(2, 5, 0.5).nvbandwidth()).unwrap();
    assert_eq!(slowed(&with_measured(&server, &pair).unwrap().server), Vec::<String>::new());
    assert_eq!(far_below(&server, &pair).unwrap().len(), 1);
    let gpu =
        (0..8).filter(|peer| *peer != 3).fold(sound, |rates, peer| rates.slowed(3, peer, 0.5));
    let gpu = read("a", &gpu.nvbandwidth_json()).unwrap();
    assert_eq!(slowed(&with_measured(&server, &gpu).unwrap().server), ["GPU3"]);
    assert_eq!(far_below(&server, &gpu).unwrap().len(), 7);
}

#[test]
fn a_slow_link_to_the_host_is_the_gpus_own() {
    let server = preset("dgx-a100").unwrap();
    let mut rates = PairRates::of(&server);
    rates.host[6] /= 2.0;
    let found = read("a", &rates.nvbandwidth()).unwrap();
    let slow = far_below(&server, &found).unwrap();
    assert_eq!(slow.len(), 1);
    assert_eq!((slow[0].a, slow[0].b), (MeasuredEnd::Gpu(6), MeasuredEnd::Host(0)));
    let measured = with_measured(&server, &found).unwrap().server;
    let narrow = measured.links().iter().filter(|it| it.total_bandwidth() < it.nominal_bandwidth());
    let narrow: Vec<&str> = narrow.map(|it| measured.devices()[it.a].name.as_str()).collect();
    assert_eq!(narrow, ["GPU6"]);
}

#[test]
fn gpus_are_found_by_their_addresses() {
    let text = toml_format::write(&preset("dgx1-v100").unwrap());
    let addresses: Vec<String> =
        (0..8).rev().map(|gpu| format!("\"0000:{:02x}:00.0\"", 7 + 8 * gpu)).collect();
    let list = format!("\npci_addresses = [{}]\n[[device]]", addresses.join(", "));
    let mut parts = text.splitn(3, "\n[[device]]");
    let (head, gpus, rest) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let turned =
        toml_format::read("m.toml", &format!("{head}\n[[device]]{gpus}{list}{rest}")).unwrap();
    let mut rates = PairRates::of(&turned);
    rates.pairs.iter_mut().for_each(|row| row.reverse());
    rates.pairs.reverse();
    let text = rates.slowed(0, 3, 0.5).p2p_bandwidth_latency_test();
    let found = read("a", &text).unwrap();
    // The file's GPU 0 is the last of the machine.
    let slow = far_below(&turned, &found).unwrap();
    assert!(
        slow.iter().any(|it| (it.a, it.b) == (MeasuredEnd::Gpu(4), MeasuredEnd::Gpu(7))),
        "{slow:?}"
    );
    let mut moved = found;
    moved.places.get_mut(&2).unwrap().bus = 0xee;
    let error = with_measured(&turned, &moved).unwrap_err();
    assert!(error.to_string().contains("GPU at 0000:ee:00"), "{error}");
}

#[test]
fn what_is_no_measurement_is_refused_with_its_place() {
    let server = preset("dgx1-v100").unwrap();
    let text = PairRates::of(&server).p2p_bandwidth_latency_test();
    let bad = [
        (text.replacen("47.50", "-47.5", 1), "this is no bandwidth"),
        (text.replacen("47.50", "1e9", 1), "this is no bandwidth"),
        (String::new(), "no matrix"),
        ("hello".to_owned(), "no matrix"),
        ("Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n".to_owned(), "no matrix"),
        ("{\"nvbandwidth\": {\"testcases\": [".to_owned(), "cut"),
        ("{\"nvbandwidth\": 3}".to_owned(), "no JSON of nvbandwidth"),
    ];
    for (text, problem) in bad {
        let error = read("pairs.txt", &text).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
        assert_is_helpful(&error.into());
    }
    let rocm = PairRates::of(&preset("dgx1-v100").unwrap()).rocm_bandwidth_test();
    let unlisted: String =
        rocm.lines().filter(|it| !it.contains("Device: ")).map(|it| format!("{it}\n")).collect();
    assert!(
        read("a", &unlisted).unwrap_err().to_string().contains("which of its devices are GPUs")
    );
    let many = read("a", &text).unwrap();
    let error = with_measured(&preset("dgx-a100").unwrap(), &many).map(|_| ());
    assert!(error.is_ok());
    let four = NAMES.into_iter().map(|name| preset(name).unwrap()).find(|it| it.gpus().len() == 4);
    let error = far_below(&four.unwrap(), &many).unwrap_err().to_string();
    assert!(error.contains("is of 8 GPUs"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A text cut anywhere has whole rows of what was measured, or an error that helps.
    #[test]
    fn cuts_keep_whole_rows(cut in 0.0..1.0_f64, which in 0..4_usize) {
        let server = preset("dgx1-v100").unwrap();
        let rates = PairRates::of(&server);
        let text = match which {
            0 => rates.p2p_bandwidth_latency_test(),
            1 => rates.nvbandwidth(),
            2 => rates.nvbandwidth_json(),
            _ => rates.rocm_bandwidth_test(),
        };
        let end = (cut * text.len() as f64) as usize;
        let Ok(found) = read("a", &text[..end]) else { return Ok(()) };
        let whole = read("a", &text).unwrap();
        let values = |found: &Measurements| -> Vec<(MeasuredEnd, MeasuredEnd, String)> {
            let all = found.matrices.iter().flat_map(|matrix| &matrix.cells);
            all.map(|cell| (cell.from, cell.to, cell.value.to_string())).collect()
        };
        let (some, all) = (values(&found), values(&whole));
        prop_assert_eq!(&some[..], &all[..some.len()]);
        prop_assert!(far_below(&server, &found).is_ok());
    }

    #[test]
    fn arbitrary_texts_never_panic(text in "\\PC{0,400}", lines in prop::collection::vec(0..12_usize, 0..30)) {
        let _ = read("a", &text);
        let pieces = [
            "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)", "   D\\D     0      1", "     0 1.00 2.00",
            "     1 3.00 N/A", "Device: 1, x, 07:0.0", "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
            "0 1 2", "0: 0 1 2", "Device=0 CANNOT Access Peer Device=1", "Running all_to_host_memcpy_ce.",
            "Unidirectional copy peak bandwidth GB/s", "{\"nvbandwidth\":",
        ];
        let text: Vec<&str> = lines.into_iter().map(|at| pieces[at]).collect();
        if let Ok(found) = read("a", &text.join("\n")) {
            let server = preset("dgx1-v100").unwrap();
            let _ = with_measured(&server, &found);
            let _ = far_below(&server, &found);
        }
    }
}
