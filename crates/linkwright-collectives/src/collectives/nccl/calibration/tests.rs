use std::fmt::Write as _;
use std::sync::Arc;

use super::*;
use crate::collectives::nccl::baselines::expect;
use crate::collectives::nccl::nccl_tests::read;
use crate::collectives::schedule::time::Processes;
use crate::system::test_support::alone;
use crate::system::{Calibration, LinkKind, MeasuredLaunch, PeakShare};
use crate::units::Picoseconds;

/// A machine that reaches other shares, and whose host launches more slowly, than its preset.
fn own(name: &str, shares: &[(LinkKind, f64)], in_switch: Option<f64>, each: u64) -> System {
    let share = |value: f64| PeakShare::of(value).unwrap();
    let calibration = Calibration {
        reached: shares.iter().map(|(kind, value)| (*kind, share(*value))).collect(),
        in_switch: in_switch.map(|value| (LinkKind::Nvlink4, share(value))).into_iter().collect(),
        launch: MeasuredLaunch {
            each: Some(Picoseconds(each * 1_000)),
            ..MeasuredLaunch::default()
        },
        ..Calibration::default()
    };
    alone(name).calibrated(0, calibration)
}

/// Returns the output that nccl-tests would print on a machine, of sizes by their powers of two.
fn log_of(machine: &System, gpus: &[usize], powers: std::ops::RangeInclusive<u32>) -> NcclTestsLog {
    let sizes: Vec<Bytes> = powers.map(|power| Bytes(1 << power)).collect();
    let settings = Settings::default();
    let found = expect(machine, gpus, Collective::AllReduce, &sizes, &settings).unwrap();
    let mut text = "# size time algbw busbw #wrong\n".to_owned();
    for row in found.rows {
        let time = row.time.as_seconds() * 1e6;
        let (algorithm, bus) = (row.algorithm_bandwidth, row.bus_bandwidth);
        let _ = writeln!(text, "{} {time:.2} {algorithm:.2} {bus:.2} 0", row.size.0);
    }
    text.push_str("# Avg bus bandwidth : 1\n");
    read("run.log", &text).unwrap()
}

fn calibrated(machine: &System, gpus: &[usize], log: &NcclTestsLog) -> Calibrated {
    calibrate(machine, gpus, Collective::AllReduce, log, &Settings::default()).unwrap()
}

fn found(calibrated: &Calibrated, term: Term) -> Option<f64> {
    calibrated.terms.iter().find(|it| it.term == term).and_then(|it| it.after)
}

#[track_caller]
fn near(found: Option<f64>, wanted: f64) {
    assert!(found.is_some_and(|it| (it / wanted - 1.0).abs() < 0.01), "{found:?}, not {wanted}");
}

#[test]
fn shares_and_launches_are_found_in_the_times_that_they_give() {
    use LinkKind::{Nvlink2, Nvlink3, Pcie4};
    let all: Vec<usize> = (0..8).collect();
    for (name, gpus, kind, share, each) in [
        ("dgx1-v100", &all[..], Nvlink2, 0.8, 9_000),
        ("dgx1-v100", &[0, 3][..], Nvlink2, 0.97, 2_500),
        ("dgx-a100", &all[..], Nvlink3, 0.71, 7_500),
        ("4x-l40s-pcie", &all[..4], Pcie4, 0.55, 12_000),
    ] {
        let log = log_of(&own(name, &[(kind, share)], None, each), gpus, 3..=30);
        let fitted = calibrated(&alone(name), gpus, &log);
        near(found(&fitted, Term::Reached(kind)), share);
        near(found(&fitted, Term::LaunchEach), each as f64 * 1e-9);
        let furthest = |of: fn(&CalibratedRow) -> f64| {
            let off = fitted.rows.iter().map(|row| (of(row) / row.measured - 1.0).abs());
            off.fold(0.0_f64, f64::max)
        };
        let (before, after) = (furthest(|row| row.before), furthest(|row| row.after));
        assert!(after < 0.01 && before > 0.05, "{name}: {before} {after}");
    }
}

#[test]
fn switches_that_reduce_are_told_from_links_by_the_sizes_that_they_take() {
    let all: Vec<usize> = (0..8).collect();
    let machine = own("hgx-h100", &[], Some(0.4), 3_000);
    let fitted = calibrated(&alone("hgx-h100"), &all, &log_of(&machine, &all, 3..=30));
    near(found(&fitted, Term::InSwitch(LinkKind::Nvlink4)), 0.4);
    near(found(&fitted, Term::LaunchEach), 3e-6);
    let links = fitted.terms.iter().find(|it| it.term == Term::Reached(LinkKind::Nvlink4)).unwrap();
    // Small data alone takes links that nobody reduces on, and tells that they stay as they were.
    let off = links.after.map_or(0.0, |after| after / links.before - 1.0);
    assert!(off.abs() < 0.02, "{off}");
}

#[test]
fn what_a_log_does_not_tell_stays_and_is_said() {
    let gpus: Vec<usize> = (0..8).collect();
    let machine = own("dgx-a100", &[(LinkKind::Nvlink3, 0.6)], None, 30_000);
    let large = calibrated(&alone("dgx-a100"), &gpus, &log_of(&machine, &gpus, 28..=32));
    let links = found(&large, Term::Reached(LinkKind::Nvlink3)).unwrap();
    assert!((links / 0.6 - 1.0).abs() < 0.05, "{links}: the launch is in it");
    let launch = large.terms.iter().find(|it| it.term == Term::LaunchEach).unwrap();
    assert_eq!(launch.after, None);
    assert!(launch.reason.contains("smaller sizes"), "{}", launch.reason);
    let small = calibrated(&large.system, &gpus, &log_of(&machine, &gpus, 3..=10));
    near(found(&small, Term::LaunchEach), 30e-6);
    let both = small.system.kinds()[0].server().calibration().unwrap();
    assert!(both.reached.contains_key(&LinkKind::Nvlink3), "the other log's stays");
    let decades: Vec<Bytes> = both.residuals.iter().map(|it| it.from).collect();
    assert_eq!(decades, [DECADES[0], DECADES[4]], "those of both logs");
}

#[test]
fn what_a_machine_was_calibrated_to_is_what_its_file_says() {
    let log = log_of(&own("dgx1-v100", &[(LinkKind::Nvlink2, 0.8)], None, 9_000), &[0, 3], 3..=28);
    let fitted = calibrated(&alone("dgx1-v100"), &[0, 3], &log);
    let text = crate::system::toml_format::write(fitted.system.kinds()[0].server());
    let read =
        System::of_server(Arc::new(crate::system::toml_format::read("own.toml", &text).unwrap()));
    let sizes: Vec<Bytes> = fitted.rows.iter().map(|row| row.size).collect();
    let again =
        expect(&read, &[0, 3], Collective::AllReduce, &sizes, &Settings::default()).unwrap();
    let times: Vec<f64> = again.rows.iter().map(|row| row.time.as_seconds()).collect();
    assert_eq!(times, fitted.rows.iter().map(|row| row.after).collect::<Vec<_>>());
}

#[test]
fn a_launch_shorter_than_that_of_one_rank_shortens_that_too() {
    let mut launch = MeasuredLaunch::default();
    let set: Vec<_> =
        launch_terms(&mut launch, (Processes::Shared, 8, 50e-6), 5e-6, 8.4e-6).collect();
    assert_eq!(
        set.iter().map(|it| (it.0, it.2)).collect::<Vec<_>>(),
        [(Term::LaunchEach, 0.0), (Term::LaunchAlone, 5e-6)]
    );
    assert_eq!((launch.alone, launch.each), (Some(Picoseconds(5_000_000)), Some(Picoseconds(0))));
}
