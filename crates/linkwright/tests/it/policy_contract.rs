//! The contract that every allocation policy keeps.

use linkwright::allocation::{
    BandwidthModel, Effort, GpuSet, Objective, POLICIES, Pattern, PatternShape, PreparedMachine,
    Request, Ties, policy,
};
use linkwright::system::BandwidthProfile;
use linkwright::system::presets::{NAMES, preset};
use proptest::prelude::*;

fn prepared(name: &str) -> PreparedMachine {
    let machine = preset(name).unwrap();
    PreparedMachine::new(&machine, BandwidthProfile::Mapa, BandwidthModel::Sound).unwrap()
}

#[test]
fn each_policy_is_found_by_its_name() {
    for known in POLICIES {
        assert_eq!(policy(known.name()).unwrap().name(), known.name());
    }
    let error = policy("gready").err().unwrap().to_string();
    assert!(error.contains("topology-aware"), "{error}");
}

#[test]
fn every_policy_fills_every_machine_to_the_last_gpu() {
    for name in NAMES {
        let machine = prepared(name);
        for policy in POLICIES {
            let mut free = GpuSet::first(machine.gpu_count());
            while !free.is_empty() {
                let pattern = Pattern::new(PatternShape::Ring, free.len().min(3)).unwrap();
                let request =
                    Request { pattern: &pattern, sensitive: free.len().is_multiple_of(2) };
                let selection =
                    policy.choose(&machine, &request, free, &mut Effort::new()).unwrap();
                free = free.without(selection.chosen.gpus());
            }
        }
    }
}

#[test]
fn a_sensitive_job_of_one_gpu_preserves() {
    let machine = prepared("dgx1-v100");
    let (pattern, preserve) =
        (Pattern::new(PatternShape::Ring, 1).unwrap(), policy("preserve").unwrap());
    let [sensitive, other] =
        [true, false].map(|sensitive| Request { pattern: &pattern, sensitive });
    let rule = preserve.rule(&sensitive, Ties::default());
    assert_eq!(rule, preserve.rule(&other, Ties::default()));
    assert_eq!(preserve.objective(&sensitive), Some(Objective::Preserved));
    let mut beyond_the_lowest = 0;
    for free in (1..256).map(GpuSet) {
        let choose = |request| {
            let selection = preserve.choose(&machine, request, free, &mut Effort::new()).unwrap();
            selection.chosen.placement
        };
        assert_eq!(choose(&sensitive), choose(&other), "{free}");
        beyond_the_lowest += usize::from(choose(&sensitive)[0] != free.iter().next().unwrap());
    }
    assert!(beyond_the_lowest > 60, "else the lowest ids would do: {beyond_the_lowest}");
}

proptest! {
    #[test]
    fn a_choice_is_free_complete_scored_and_repeatable(
        preset in 0..NAMES.len(),
        shape in 0..6_usize,
        size in 1..6_usize,
        free: u128,
        sensitive: bool,
    ) {
        let machine = prepared(NAMES[preset]);
        let free = GpuSet(free).intersection(GpuSet::first(machine.gpu_count()));
        let pattern = Pattern::new(PatternShape::ALL[shape], size).unwrap();
        let request = Request { pattern: &pattern, sensitive };
        for policy in POLICIES {
            let choose = || policy.choose(&machine, &request, free, &mut Effort::new());
            let choice = choose();
            prop_assert_eq!(choice.is_some(), free.len() >= size, "{}", policy.name());
            prop_assert_eq!(&choice, &choose());
            let Some(selection) = choice else { continue };
            let chosen = selection.chosen;
            prop_assert_eq!(chosen.placement.len(), size);
            prop_assert_eq!(chosen.gpus().len(), size, "no GPU twice");
            prop_assert!(chosen.gpus().is_subset_of(free));
            prop_assert_eq!(chosen.links.total(), pattern.edges().len());
            prop_assert_eq!(chosen.effective_bandwidth.is_some(), size > 1);
            let scored = machine.score(&pattern, chosen.placement.clone(), free);
            prop_assert_eq!(scored, chosen);
        }
    }
}
