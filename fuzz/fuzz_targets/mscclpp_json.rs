#![no_main]
use linkwright::collectives::check;
use linkwright::collectives::export::{read_mscclpp_json, to_mscclpp_json};

// A plan that is read can be checked. A plan that can be written again is read back as the same.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(plan) = read_mscclpp_json("fuzz", text) else { return };
    let _ = check(&plan.schedule);
    if let Ok(export) = to_mscclpp_json(&plan.schedule, &Default::default()) {
        let again = read_mscclpp_json("again", &export.text).map(|again| again.schedule);
        let steps = again.map(|again| (again.collective, again.step_count()));
        assert_eq!(steps.ok(), Some((plan.schedule.collective, plan.schedule.step_count())));
    }
});
