//! Observes packages of scenarios, and refuses others.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::*;
use crate::scenario::comparison::{ComparedOutcome, Comparison, ComparisonOptions};
use crate::simulation::heat::PackageHeat;
use crate::simulation::power::{GpuPower, Held, held_by_day, powers};
use crate::thermal::Floorplan;
use crate::units::Picoseconds;

const PACKAGE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mgpu-tsm-package.toml"));

/// Describes four chips, each joined to the three others within the package.
const CHIPS: &str = "name = \"chips\"\n[[device]]\nkind = \"gpu\"\n\
    names = [\"GPU0\", \"GPU1\", \"GPU2\", \"GPU3\"]\n\
    [[link]]\nkind = \"direct\"\nbandwidth = \"100 GB/s\"\nlatency = \"100 ns\"\n\
    between = [[\"GPU0\", \"GPU1\"], [\"GPU0\", \"GPU2\"], [\"GPU0\", \"GPU3\"], \
    [\"GPU1\", \"GPU2\"], [\"GPU1\", \"GPU3\"], [\"GPU2\", \"GPU3\"]]\n";

const DAY: &str = "system.server = \"chips.toml\"\n\
    jobs.generate = { count = 6, max_gpus = 4, mean_interarrival = \"100 s\" }\n\
    allocation.policies = [\"preserve\"]\n\
    [thermal]\npackage = \"p.toml\"\ncells = 12\nbusy = 180\nrest = 30\n";

fn files(package: &str) -> Files {
    let texts = [("p.toml", package), ("chips.toml", CHIPS)];
    texts.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).into()
}

/// Gives the heat of GPUs that jobs hold on the system of a scenario.
fn heat(text: &str, held: impl Fn(&Scenario, &Built) -> Vec<Held>) -> PackageHeat {
    let scenario = read(text).unwrap();
    let built = scenario.build(&files(PACKAGE)).unwrap();
    let package = built.package.as_ref().unwrap();
    let powers = powers(&built.cluster.system, &BTreeMap::new(), &package.powers);
    package.observe(&powers, &held(&scenario, &built)).unwrap()
}

fn of_day(scenario: &Scenario, built: &Built) -> Vec<Held> {
    let played = play(scenario, built, Run::default(), &mut |_| ControlFlow::Continue(()));
    let PlayedScenario::Day(day) = played.unwrap() else { panic!("jobs of GPUs") };
    held_by_day(&built.cluster.system, &day.records)
}

fn seconds(seconds: u64) -> Picoseconds {
    Picoseconds(seconds * Picoseconds::SECOND.0)
}

#[test]
fn energy_in_is_heat_out_over_a_day() {
    let found = heat(DAY, of_day);
    assert!(found.energy() > 0.0);
    assert!((found.energy() - found.heat()).abs() <= 1e-9 * found.energy());
    for gpu in &found.gpus {
        assert!(gpu.busy_share > 0.0 && gpu.busy_share <= 1.0, "{gpu:?}");
        let by_hand = 30.0 + 150.0 * gpu.busy_share;
        assert!((gpu.mean_power - by_hand).abs() < 1e-9);
        assert!(gpu.temperatures.maximum > 45.0);
    }
}

/// A comparison keeps of each run what a day by itself shows.
#[test]
fn a_run_of_a_comparison_has_the_heat_of_its_day() {
    let given = Given { text: DAY.to_owned(), file: "s.toml".to_owned(), ..Given::default() };
    let options = ComparisonOptions { seeds: Some(2), ..Default::default() };
    let comparison = Comparison::new(given, options).unwrap();
    let mut played = comparison.runs().map(|run| {
        let found = comparison.play(run, &files(PACKAGE), &mut |_| ControlFlow::Continue(()));
        let ComparedOutcome::Day(day) = found.unwrap() else { panic!("jobs of GPUs") };
        day.heat.expect("a package is observed")
    });
    let [first, second] = [played.next().unwrap(), played.next().unwrap()];
    let built = read(DAY).unwrap().build(&files(PACKAGE)).unwrap();
    assert_eq!(first, heat(DAY, of_day).summary(&built.cluster.system));
    assert!(first != second && (second.energy - second.heat).abs() <= 1e-9 * second.energy);
    assert_eq!(first.others, ["CPU", "HBM0", "HBM1", "HBM2", "HBM3"]);
}

#[test]
fn a_gpu_that_is_always_busy_has_the_temperatures_of_its_package() {
    let always = |_: &Scenario, _: &Built| {
        vec![Held { gpus: vec![1], start: Picoseconds(0), end: seconds(77_777) }]
    };
    let found = heat(DAY, always);
    let mut plan = Floorplan::read("p.toml", PACKAGE).unwrap();
    for (name, power) in [("GPU0", 30.0), ("GPU1", 180.0), ("GPU2", 30.0), ("GPU3", 30.0)] {
        plan.blocks.iter_mut().find(|block| block.name == name).unwrap().power = power;
    }
    let alone = plan.solve(12).unwrap();
    assert_eq!(found.map.maximum(), alone.maximum());
    assert_eq!(found.map.blocks(), alone.blocks());
    assert_eq!((found.gpus[1].busy_share, found.gpus[1].mean_power), (1.0, 180.0));
}

#[test]
fn single_gpus_have_powers_and_blocks_of_their_own() {
    let text = format!("{DAY}gpu = [{{ gpu = \"GPU2\", block = \"CPU\", busy = 90, rest = 0 }}]");
    let found =
        heat(&text, |_, _| vec![Held { gpus: vec![2], start: seconds(0), end: seconds(9) }]);
    assert_eq!(found.gpus[2].power, GpuPower { busy: Some(90.0), rest: Some(0.0) });
    let block = &found.map.floorplan().blocks[found.gpus[2].block];
    assert_eq!((block.name.as_str(), block.power), ("CPU", 90.0));
    assert_eq!(found.gpus[0].power, GpuPower { busy: Some(180.0), rest: Some(30.0) });
}

#[test]
fn what_is_no_package_of_the_server_is_refused_in_a_line() {
    let board = "remove `[thermal]`, or take a server whose GPUs links of kind `direct` or";
    let with = |from: &str, to: &str| DAY.replace(from, to);
    let entries = |text: &str| format!("{DAY}gpu = [{text}]");
    let chips = ("chips.toml", "dgx1-v100");
    let cases = [
        (
            with(chips.0, chips.1),
            "s.toml:5:11: GPU0 and GPU1 of `dgx1-v100` are boards of their own",
        ),
        (with(chips.0, chips.1), board),
        (
            with(chips.0, chips.1).replace("package = \"p.toml\"\n", ""),
            "s.toml:4:1: GPU0 and GPU1 of `dgx1-v100` are boards of their own",
        ),
        (
            with("package = \"p.toml\"\n", ""),
            "s.toml:4:1: no package of `chips` is described: `thermal`; name its floorplan as `pac",
        ),
        (with("busy = 180", "busy = -1"), "s.toml:7:8: a power below zero: `-1`; write watts from"),
        (with("rest = 30", "rest = \"30\""), "s.toml:8:8: no power: `\"30\"`; write watts from 0"),
        (with("busy = 180\n", ""), "nobody says what GPU0 of `chips` draws: `thermal`; write `bus"),
        (
            with("cells = 12", "cells = 0"),
            "s.toml:6:9: this cannot be zero: `0`; write a whole num",
        ),
        (with("busy =", "bussy ="), "s.toml:7:1: unknown key: `bussy`; did you mean `busy`?"),
        (
            with("p.toml", "q.toml"),
            "s.toml:5:11: a file that was not given: `q.toml`; hand it over",
        ),
        (
            entries("{ gpu = \"GPU0\", block = \"GPU9\" }"),
            "s.toml:9:32: the package has no block of this name: `GPU9`; did you mean `GPU",
        ),
        (
            entries("{ gpu = \"GPU4\" }"),
            "s.toml:9:16: `chips` has no GPU of this name: `GPU4`; did you mean `GPU",
        ),
        (
            entries("{ gpu = \"GPU1\" }, { gpu = \"GPU1\", busy = 3 }"),
            "s.toml:9:34: a GPU is named twice: `GPU1`; write one `[[thermal.gpu]]` for each GPU",
        ),
        (
            entries("{ gpu = \"GPU1\", block = \"GPU0\" }"),
            "s.toml:9:32: GPU0 is this block, too: `GPU0`; give each GPU a block of its own",
        ),
        (entries("{ busy = 3 }"), "s.toml:9:8: an entry of no GPU: `{ busy = 3 }`; name a GPU of"),
        (
            with("[thermal]", "[thermal]\nserver = 1"),
            "s.toml:5:10: `chips` has no such server: `1`; its servers are 0 to 0",
        ),
    ];
    let mut faults = Vec::new();
    for (text, expected) in cases {
        let told = refused(&text, &files(PACKAGE));
        if !told.contains(expected) || told.lines().count() > 1 {
            faults.push(format!("{expected}\n{told}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let strangers = refused(DAY, &files(&PACKAGE.replace("name = \"GPU", "name = \"chip")));
    assert!(
        strangers.starts_with("s.toml:5:11: no block of the package is a GPU of `chips`: `p.toml`"),
        "{strangers}"
    );
    let broken = refused(DAY, &files(&PACKAGE.replacen("power = 180", "power = -180", 1)));
    assert!(broken.starts_with("p.toml:82:9: `power` is out of range: `-180`"), "{broken}");
}

#[test]
fn one_chip_of_a_server_of_boards_is_a_package() {
    let one = "name = \"one\"\nwidth = 30\nheight = 30\nsink = { resistance = 0.1 }\n\
        [[layer]]\nname = \"chip\"\nthickness = 0.5\nconductivity = 100\n\
        [[block]]\nname = \"GPU3\"\nlayer = \"chip\"\nx = 1\ny = 1\nwidth = 28\nheight = 28\npower = 1\n";
    let text = DAY.replace("chips.toml", "dgx1-v100").replace("busy = 180\n", "");
    let built = read(&text).unwrap().build(&files(one)).unwrap();
    let note = "`thermal` observes GPU3 alone: of `dgx1-v100` GPU0, GPU1, GPU2, GPU4, GPU5, GPU6, \
        GPU7 are no blocks of the package.";
    assert!(built.notes.contains(&note.to_owned()), "{:?}", built.notes);
    let package = built.package.unwrap();
    assert_eq!(package.gpus, [(3, 0)]);
    assert_eq!(package.powers[&3], GpuPower { busy: None, rest: Some(30.0) });
    let drawn = powers(&built.cluster.system, &BTreeMap::new(), &package.powers);
    assert_eq!(drawn[3].busy, Some(300.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn energy_in_is_heat_out_whatever_jobs_hold(
        jobs in prop::collection::vec((0..4_u32, 0..9_u64, 1..9_u64), 1..6),
        busy in 1.0..900.0_f64,
    ) {
        let text = DAY.replace("busy = 180", &format!("busy = {busy}"));
        let held = |_: &Scenario, _: &Built| {
            let of = |(gpu, start, time): &(u32, u64, u64)| Held {
                gpus: vec![*gpu], start: seconds(*start), end: seconds(start + time),
            };
            jobs.iter().map(of).collect::<Vec<Held>>()
        };
        let found = heat(&text, held);
        prop_assert!((found.energy() - found.heat()).abs() <= 1e-9 * found.energy());
    }
}
