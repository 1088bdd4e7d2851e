use proptest::prelude::*;

use super::{ChoiceRange, choice_ranges};
use crate::collectives::baselines::{Settings, choices};
use crate::collectives::schedule::collective::Collective;
use crate::system::test_support::{alone, on_one_switch};
use crate::units::Bytes;

fn ranges_of(name: &str, collective: Collective) -> Vec<ChoiceRange> {
    let gpus: Vec<usize> = (0..8).collect();
    choice_ranges(&alone(name), &gpus, collective, &Settings::default()).unwrap()
}

#[test]
fn ranges_leave_no_size_out() {
    for collective in [Collective::AllReduce, Collective::Broadcast { root: 0 }] {
        let ranges = ranges_of("hgx-h100", collective);
        assert_eq!((ranges[0].first, ranges[ranges.len() - 1].last), (0, u64::MAX));
        assert!(ranges.windows(2).all(|pair| pair[0].last + 1 == pair[1].first));
        assert!(ranges.len() > 10, "{}", ranges.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_size_is_chosen_for_as_its_range(power in 0_u32..40, part in 0.0_f64..1.0) {
        let size = ((1_u64 << power) as f64 * (1.0 + part)) as u64;
        let gpus: Vec<usize> = (0..16).collect();
        let system = on_one_switch("hgx-h100", 2, 400);
        let (settings, collective) = (Settings::default(), Collective::AllReduce);
        let ranges = choice_ranges(&system, &gpus, collective, &settings).unwrap();
        let range = ranges.iter().find(|it| (it.first..=it.last).contains(&size)).unwrap();
        let own = choices(&system, &gpus, collective, Bytes(size), &settings).unwrap();
        prop_assert_eq!(super::common(&own), super::common(&range.choices));
    }
}
