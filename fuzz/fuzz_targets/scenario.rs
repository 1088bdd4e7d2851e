#![no_main]
use linkwright::scenario::{
    Asked, Files, Given, JobEntry, JobSource, ProgramSource, Scenario, read_network,
};

// A scenario is built or refused with its place, whatever its programs take for parameters, and
// whatever is put over it; large programs and mixes are sound, too, and only take long.
libfuzzer_sys::fuzz_target!(|texts: (&str, &str)| {
    let (text, settings) = texts;
    let _ = read_network("fuzz", text);
    let [file, text, settings] = ["fuzz", text, settings].map(str::to_owned);
    let given = Given { file, text, settings, ..Given::default() };
    let Ok(scenario) = Scenario::read(&given) else { return };
    let is_small =
        |job: &JobEntry| matches!(job.program, ProgramSource::Skeleton { ranks: 0..=64, .. });
    let builds = match &scenario.asked {
        Asked::Programs(it) => it.jobs.len() < 4 && it.jobs.iter().all(is_small),
        Asked::Mix(mix) => {
            matches!(&mix.jobs, JobSource::Generate(options, _) if options.count < 1000)
        }
    };
    if builds {
        let _ = scenario.build(&Files::new());
    }
    for variant in &scenario.variants {
        let given = Given { variant: Some(variant.name.clone()), ..given.clone() };
        Scenario::read(&given).expect("a variant was read before");
    }
});
