use proptest::prelude::*;

use super::*;

/// Rows are expected to take 10 us and to reach 100 GB/s, and are measured by other figures.
fn measured(latency: impl Fn(u64) -> f64, bandwidth: impl Fn(u64) -> f64) -> Vec<Compared> {
    (3..33)
        .map(|power| {
            let size = 1_u64 << power;
            let time =
                |latency: f64, bandwidth: f64| latency * 1e-6 + size as f64 / (bandwidth * 1e9);
            let (expected, measured) = (time(10.0, 100.0), time(latency(size), bandwidth(size)));
            Compared { size: Bytes(size), measured, expected, error: 0.0 }
        })
        .collect()
}

#[test]
fn each_cause_has_its_shape() {
    assert_eq!(difference(&measured(|_| 10.0, |_| 100.0)), Difference::None);
    let Difference::Link { reached } = difference(&measured(|_| 10.0, |_| 50.0)) else { panic!() };
    assert!((reached - 0.5).abs() < 0.01, "{reached}");
    let launch = difference(&measured(|_| 30.0, |_| 100.0));
    let Difference::Launch { extra } = launch else { panic!("{launch:?}") };
    assert!((extra - 20e-6).abs() < 1e-7, "{extra}");
    let range = |size| if (1 << 20..1 << 24).contains(&size) { 40.0 } else { 100.0 };
    let protocol = difference(&measured(|_| 10.0, range));
    let Difference::Protocol { from, to, furthest } = protocol else { panic!("{protocol:?}") };
    assert_eq!((from, to), (Bytes(1 << 20), Bytes(1 << 23)));
    assert!(furthest > 2.0);
    let one = difference(&measured(|_| 10.0, |size| if size == 1 << 22 { 40.0 } else { 100.0 }));
    assert!(one.to_string().starts_with("At 4 MiB the time is 2."), "{one}");
    let everywhere = difference(&measured(|_| 30.0, |_| 100.0 / 3.0));
    let Difference::Everywhere { factor } = everywhere else { panic!("{everywhere:?}") };
    assert!((factor - 3.0).abs() < 1e-9);
    let mixed = difference(&measured(|_| 20.0, |_| 300.0));
    assert!(matches!(mixed, Difference::Mixed { .. }), "{mixed:?}");
    assert_eq!(difference(&[]), Difference::Unknown);
    let middle = [Compared { size: Bytes(1 << 20), measured: 2.0, expected: 1.0, error: 0.0 }];
    assert_eq!(difference(&middle), Difference::Unknown);
}

#[test]
fn what_lies_within_its_own_error_fits() {
    let mut rows = measured(|_| 12.0, |_| 25.0);
    assert!(matches!(difference(&rows), Difference::Mixed { .. }));
    for row in &mut rows {
        row.error = if row.size <= SMALL { 0.49 } else { 0.08 };
    }
    let Difference::Link { reached } = difference(&rows) else { panic!() };
    assert!((reached - 0.25).abs() < 0.005, "{reached}");
    for row in &mut rows {
        row.error = 3.1;
    }
    assert_eq!(difference(&rows), Difference::None);
    // A part of either time is within it.
    let by_half = |ratio| Compared { size: Bytes(8), measured: ratio, expected: 1.0, error: 0.49 };
    assert!(by_half(0.52).fits() && by_half(1.95).fits());
    assert!(!by_half(0.5).fits() && !by_half(1.97).fits());
    // However wide the ±, it is as wide for what is faster.
    let at = |ratio| Compared { size: Bytes(8), measured: ratio, expected: 1.0, error: 1.5 };
    assert!(at(2.4).fits() && at(0.41).fits() && !at(2.6).fits() && !at(0.39).fits());
}

proptest! {
    /// One sentence for whatever was measured, the same in any order.
    #[test]
    fn any_rows_have_one_sentence(rows in prop::collection::vec((0_u32..40, 0.01_f64..100.0), 0..20)) {
        let mut rows: Vec<Compared> = rows
            .into_iter()
            .map(|(power, ratio)| Compared { size: Bytes(1 << power), measured: ratio, expected: 1.0, error: 0.1 })
            .collect();
        rows.sort_by_key(|row| (row.size, row.measured.to_bits()));
        rows.dedup_by_key(|row| row.size);
        let said = difference(&rows);
        let text = said.to_string();
        prop_assert!(text.ends_with('.') && text.chars().next().is_some_and(char::is_uppercase));
        rows.reverse();
        prop_assert_eq!(difference(&rows), said);
    }
}
