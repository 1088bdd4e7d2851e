#![no_main]
use linkwright::scenario::{
    Asked, Files, Given, JobEntry, JobSource, ProgramSource, Scenario, read_network,
};

// A scenario is built or refused with its place, whatever its programs take for parameters, and
// whatever is put over it. Large programs and mixes are sound, too, and only take long.
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
            let is_listed_small = match &mix.jobs {
                None => true,
                Some(JobSource::Generate(options, _)) => options.count < 1000,
                Some(JobSource::File(_)) => false,
            };
            let written = mix.written.iter().flat_map(|it| &it.jobs);
            is_listed_small && written.clone().count() < 4 && written.clone().all(is_small)
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
