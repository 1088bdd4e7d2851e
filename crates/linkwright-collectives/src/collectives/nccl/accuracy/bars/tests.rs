use super::*;
use crate::system::test_support::{alone, on_one_switch};

const OF_ANY: Measurable<'static> = Measurable { collective: None, p2p: true, without: None };
const OF_ALL_REDUCE: Measurable<'static> =
    Measurable { collective: Some("all-reduce"), p2p: true, without: None };

fn of_sizes(algorithm: Option<&str>) -> Vec<TimeAsked<'_>> {
    DECADES.iter().map(|from| TimeAsked { size: Bytes(from.0 + 8), algorithm }).collect()
}

fn bases(bars: &[ErrorBar]) -> Vec<ErrorBasis> {
    bars.iter().map(|bar| bar.basis).collect()
}

#[test]
fn measured_is_said_of_the_same_gpus_as_many_and_the_same_collective_alone() {
    use ErrorBasis::{Alike, Measured};
    let all: Vec<usize> = (0..8).collect();
    let told = |name, gpus: &[usize], of, algorithm| {
        bases(&error_bars(&alone(name), gpus, of, &of_sizes(algorithm)).unwrap())
    };
    let ring = |name, gpus| told(name, gpus, OF_ALL_REDUCE, Some("ring"));
    assert_eq!(ring("hgx-b200", &all)[0], Measured);
    assert_eq!(ring("hgx-b200", &all[..5])[0], Alike, "five were never measured");
    assert_eq!(ring("hgx-b300", &all)[0], Alike, "B300s were never measured");
    assert_eq!(told("hgx-b200", &all, OF_ANY, Some("ring"))[0], Alike);
    assert_eq!(told("hgx-b200", &all, OF_ALL_REDUCE, Some("blink"))[0], Alike);
    assert_eq!(ring("dgx2", &all), [ErrorBasis::NeverMeasured; 5]);
}

#[test]
fn servers_and_copies_through_host_memory_have_bars_of_their_own() {
    let servers = on_one_switch("hgx-b200", 2, 100);
    let between = error_bars(&servers, &[0, 8], OF_ALL_REDUCE, &of_sizes(Some("ring"))).unwrap();
    assert!(between.iter().all(|bar| bar.ninetieth > 0.1));
    assert!(error_bars(&servers, &[99], OF_ANY, &of_sizes(None)).is_err());
    let system = alone("hgx-h100");
    let without = Measurable { p2p: false, ..OF_ALL_REDUCE };
    let told = |of| error_bars(&system, &[0, 1], of, &of_sizes(Some("ring"))).unwrap();
    assert!(told(without).iter().all(|bar| bar.basis != ErrorBasis::Measured));
    assert_ne!(told(without), told(OF_ALL_REDUCE));
}

#[test]
fn a_system_can_be_left_out_of_its_own_bars() {
    let system = alone("hgx-b200");
    let all: Vec<usize> = (0..8).collect();
    let without = Measurable { without: Some("8 B200"), ..OF_ALL_REDUCE };
    let bars = error_bars(&system, &all, without, &of_sizes(Some("ring"))).unwrap();
    assert!(bars.iter().all(|bar| bar.basis != ErrorBasis::Measured));
}

#[test]
fn half_is_never_more_than_nine_of_ten_and_more_rows_are_never_fewer() {
    for name in ["dgx1-v100", "dgx-a100", "hgx-h100", "hgx-b200", "mi300x-8", "8x-l40s", "dgx2"] {
        let system = alone(name);
        for algorithm in [None, Some("ring"), Some("nvls"), Some("pairs")] {
            for of in [OF_ANY, OF_ALL_REDUCE] {
                let bars = error_bars(&system, &[0, 1], of, &of_sizes(algorithm)).unwrap();
                assert!(bars.iter().all(|bar| bar.median <= bar.ninetieth && bar.rows > 0));
            }
        }
    }
}

#[test]
fn every_system_weighs_the_same_however_many_rows_it_has() {
    let rows = |system: &str, errors: &[f64]| Rows {
        system: system.to_owned(),
        errors: errors.to_vec(),
        ..ROWS[0].clone()
    };
    let (many, few) = (rows("a", &[0.1; 99]), rows("b", &[0.5]));
    let found = Weighted::of(&[&many, &few], &["a", "b"]);
    assert_eq!([0.5, 0.51, 0.9].map(|part| found.quantile(part)), [0.1, 0.5, 0.5]);
    assert_eq!(Weighted::of(&[&many], &["a"]).quantile(0.9), 0.1);
}
