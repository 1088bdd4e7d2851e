//! Chooses a format of files of servers, a preset of a server, and a GPU model.

use std::ops::ControlFlow;

use linkwright::diagnostic::{InputError, Registered as _};
use linkwright::scenario::{Files, Given, PlayedScenario, Registries, Run, Scenario, play};
use linkwright::system::presets::Preset;
use linkwright_recipes::bench_server::BENCH_SERVER;
use linkwright_recipes::fast_gpu::FAST_GPU;
use linkwright_recipes::registries;

use crate::stands_in_one_file_and_one_line;

const LIST: &str = "GPU list\nGPU0 MODEL pcie3\nGPU1 MODEL pcie3\n";

/// Tells when two GPUs of a server have trained a network, in picoseconds.
fn trained(server: &str, list: &str, registries: Registries) -> Result<u64, InputError> {
    let text = format!(
        "fidelity = \"flow\"\n[system]\nserver = \"{server}\"\n\
         [[job]]\ntrain = \"alexnet\"\nranks = 2\niterations = 2\n"
    );
    let scenario = Scenario::read(&Given { text, registries, ..Given::default() })?;
    let files = Files::from([("two.txt".to_owned(), list.as_bytes().to_vec())]);
    let built = scenario.build(&files)?;
    let played = play(&scenario, &built, Run::default(), &mut |_| ControlFlow::Continue(()));
    let PlayedScenario::Programs(played) = played.unwrap() else { panic!("no programs") };
    Ok(played.outcome.jobs.jobs[0].end.0)
}

#[test]
fn a_format_is_told_by_the_look_of_its_text() {
    let list = LIST.replace("MODEL", "V100-SXM2-16GB");
    let of_list = trained("two.txt", &list, registries()).unwrap();
    // The preset says the same of its GPUs.
    assert_eq!(of_list, trained("bench-server", "", registries()).unwrap());
    let wide = list.replace("pcie3", "pcie4");
    assert!(trained("two.txt", &wide, registries()).unwrap() < of_list);
    let wrong = list.replace("GPU1 V100-SXM2-16GB pcie3", "GPU1 V100-SXM2-16GB pcie33");
    let error = trained("two.txt", &wrong, registries()).unwrap_err().to_string();
    assert!(error.contains("two.txt:3:1: no bus") && error.contains("`pcie3`"), "{error}");
    let error = trained("two.txt", &list, Registries::default()).unwrap_err().to_string();
    assert!(error.contains("paste the whole output of `nvidia-smi topo -m`"), "{error}");
    stands_in_one_file_and_one_line("gpu_list");
}

#[test]
fn a_preset_is_chosen_by_name() {
    assert!(trained("bench-server", "", registries()).unwrap() > 0);
    let error = trained("bench-server", "", Registries::default()).unwrap_err().to_string();
    assert!(error.contains("there is no server of this name: `bench-server`"), "{error}");
    let error = trained("bench-servr", "", registries()).unwrap_err().to_string();
    assert!(error.contains("did you mean `bench-server`?"), "{error}");
    stands_in_one_file_and_one_line("bench_server");
}

#[test]
fn a_gpu_model_is_that_of_the_gpus_that_name_it() {
    let of = |model: &str| LIST.replace("MODEL", model);
    let slow = trained("two.txt", &of("V100-SXM2-16GB"), registries()).unwrap();
    let fast = trained("two.txt", &of("fast-gpu"), registries()).unwrap();
    assert!(fast < slow, "{fast} {slow}");
    let mut without = registries();
    without.gpus = Registries::default().gpus;
    let error = trained("two.txt", &of("fast-gpu"), without).unwrap_err().to_string();
    assert!(error.contains("GPU0"), "{error}");
    stands_in_one_file_and_one_line("fast_gpu");
}

#[test]
fn what_they_hold_is_sound() {
    assert_eq!(FAST_GPU.model().unwrap().name, FAST_GPU.name());
    let server = Preset::server(&BENCH_SERVER).unwrap();
    assert_eq!((server.name(), server.gpus().len()), (BENCH_SERVER.name, 2));
}
