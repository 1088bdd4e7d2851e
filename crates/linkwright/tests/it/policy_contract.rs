//! The contract that every allocation policy keeps.

use std::sync::atomic::{AtomicUsize, Ordering};

use linkwright::allocation::{
    BandwidthModel, Effort, GpuSet, Objective, POLICIES, Pattern, PatternShape, Policy,
    PreparedMachine, Request, Selection, Ties, contract, policy,
};
use linkwright::diagnostic::Registered;
use linkwright::system::BandwidthProfile;
use linkwright::system::presets::{NAMES, preset};

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
fn every_policy_keeps_its_contract_on_every_machine() {
    let machines: Vec<PreparedMachine> = NAMES.iter().map(|name| prepared(name)).collect();
    for policy in POLICIES {
        assert_eq!(contract::broken(policy, &machines), [] as [String; 0]);
    }
}

#[test]
fn the_contract_s_own_machines_are_there() {
    let machines = contract::machines();
    assert_eq!(machines.iter().map(PreparedMachine::gpu_count).collect::<Vec<_>>(), [8, 6, 8, 16]);
}

/// Breaks one promise, that its name says.
struct Wrong(&'static str, AtomicUsize);

impl Registered for Wrong {
    fn name(&self) -> &'static str {
        self.0
    }
}

impl Policy for Wrong {
    fn rule(&self, _: &Request<'_>, _: Ties) -> String {
        String::new()
    }

    fn objective(&self, _: &Request<'_>) -> Option<Objective> {
        None
    }

    fn choose(
        &self,
        machine: &PreparedMachine,
        request: &Request<'_>,
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Option<Selection> {
        let asked = self.1.fetch_add(1, Ordering::Relaxed);
        let size = request.pattern.size();
        let spare = free.len().checked_sub(size)?;
        let first = match self.0 {
            "none" if size == 2 => return None,
            "answers" => asked % (spare + 1),
            _ => 0,
        };
        let mut gpus: GpuSet = free.iter().skip(first).take(size).collect();
        if self.0 == "busy" {
            gpus = GpuSet::first(size);
        }
        let mut selection = machine.place(request.pattern, gpus, free, effort);
        match self.0 {
            "few" => drop(selection.chosen.placement.pop()),
            "scores" => selection.chosen.preserved_bandwidth.0 += 1,
            _ => {}
        }
        Some(selection)
    }
}

#[test]
fn each_broken_promise_is_told() {
    for (name, said) in [
        ("none", "a job that fits gets GPUs"),
        ("busy", "a job gets free GPUs"),
        ("few", "a job gets free GPUs"),
        ("answers", "the same question has the same answer"),
        ("scores", "a match has the scores"),
    ] {
        let wrong = Wrong(name, AtomicUsize::new(0));
        let broken = contract::broken(&wrong, &contract::machines());
        assert!(broken.iter().any(|told| told.contains(said)), "{name}: {broken:?}");
    }
    let right = Wrong("right", AtomicUsize::new(0));
    assert_eq!(contract::broken(&right, &contract::machines()), [] as [String; 0]);
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
