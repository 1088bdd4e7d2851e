//! Tests scenarios of jobs of GPUs: their meaning and their errors.

use super::{Asked, Files, Given, JobSource, Mix, ReadyJobs, Scenario, read};
use crate::allocation::{BandwidthModel, Ties};
use crate::diagnostic::{InputError, Position};
use crate::simulation::cluster::Fidelity;
use crate::simulation::played::PlannerChoice;
use crate::simulation::{Job, PlannedBy, QueueDiscipline, RunTime};
use crate::system::BandwidthProfile;

fn mix_of(scenario: &Scenario) -> &Mix {
    match &scenario.asked {
        Asked::Mix(mix) => mix,
        Asked::Programs(_) => panic!("jobs of programs"),
    }
}

/// Returns the jobs of a scenario.
fn jobs_of(text: &str) -> Result<Vec<Job>, InputError> {
    match read(text)?.build(&Files::default())?.work {
        ReadyJobs::Mix(jobs) => Ok(jobs),
        ReadyJobs::Programs(_) => panic!("jobs of programs"),
    }
}

const SMALL: &str = "[machine]\npreset = \"dgx1-v100\"\n[jobs]\n\
        generate = { seed = 7, count = 20, max_gpus = 4, workloads = [\"gmm\"] }\n\
        [allocation]\npolicies = [\"greedy\"]\n";

#[test]
fn a_scenario_reads_with_its_defaults() {
    let scenario = read(SMALL).unwrap();
    assert_eq!(mix_of(&scenario).policies, ["greedy"]);
    assert_eq!(mix_of(&scenario).choices.bandwidth_model, BandwidthModel::Sound);
    assert_eq!(mix_of(&scenario).choices.discipline, QueueDiscipline::Fifo);
    assert_eq!(
        (mix_of(&scenario).choices.bandwidth_profile, mix_of(&scenario).choices.ties),
        (None, Ties::Nearest)
    );
    let Some(JobSource::Generate(options, _)) = &mix_of(&scenario).jobs else {
        panic!("generated")
    };
    assert_eq!((options.seed, options.count, options.max_gpus), (7, 20, 4));
}

#[test]
fn networks_are_played_layer_by_layer() {
    let text = |generate: &str| {
        format!("[system]\nserver = \"dgx1-v100\"\n[jobs]\ngenerate = {{ {generate} }}\n")
    };
    let drawn = |generate: &str| -> Vec<(String, Option<u32>, u64)> {
        let jobs = jobs_of(&text(generate)).unwrap();
        jobs.into_iter().map(|it| (it.workload, it.samples_per_gpu, it.iterations)).collect()
    };
    let nets =
        "count = 40, train = [\"resnet50\", \"VGG-16\"], samples_per_gpu = 16, iterations = 3";
    assert_eq!(mix_of(&read(&text(nets)).unwrap()).choices.run_time, RunTime::Played);
    let found = drawn(nets);
    assert!(["resnet-50:paper", "vgg-16"].iter().all(|name| found.contains(&(
        (*name).to_owned(),
        Some(16),
        3
    ))));
    assert!(found.iter().all(|(_, samples, _)| samples.is_some()));
    let own = drawn(
        "count = 40, train = [\"vgg-16\", \"alexnet\"], samples_per_gpu = 8, samples = { vgg-16 = 2 }",
    );
    let samples_of = |job: &(String, Option<u32>, u64)| if job.0.contains("vgg") { 2 } else { 8 };
    assert!(own.iter().all(|job| job.1 == Some(samples_of(job))), "{own:?}");
    let both = drawn("count = 40, train = [\"lenet\"], workloads = [\"gmm\"]");
    assert!(both.contains(&("lenet:lenet-5".to_owned(), Some(32), 10_000)), "{both:?}");
    assert!(both.contains(&("gmm".to_owned(), None, 3_000)), "{both:?}");
    let notes =
        |generate: &str| read(&text(generate)).unwrap().build(&Files::default()).unwrap().notes;
    let told = notes(nets);
    assert!(told[0].starts_with("40 jobs train a network layer by layer in fp32,"), "{told:?}");
    assert!(told[0].contains("data-parallel"), "{told:?}");
    assert_eq!(notes("count = 4, workloads = [\"gmm\"]"), Vec::<String>::new());
    for (generate, start) in [
        (
            "train = [\"resnet5\"]",
            "s.toml:4:23: unknown network: `\"resnet5\"`; did you mean `resnet-50`?",
        ),
        (
            "train = [\"vgg-16\"], samples = { vgg16 = 2 }",
            "s.toml:4:54: `train` does not name this network: `2`; did you mean `vgg-16`?",
        ),
        ("train = []", "s.toml:4:22: no network is named: `[]`; name some"),
        ("samples_per_gpu = 0", "s.toml:4:32: this cannot be zero"),
        ("samples_per_gpu = 16777217", "s.toml:4:32: more samples than a step has"),
        (
            "count = 40, train = [\"vgg-16\"], samples_per_gpu = 4096",
            "s.toml:4:12: job `job-001`, which trains `vgg-16`: 4096 samples at once take ",
        ),
        (
            "count = 4, train = [\"llama3-8b\"], samples_per_gpu = 1",
            "s.toml:4:12: job `job-001`, which trains `llama3-8b`: 1 sample at once takes ",
        ),
    ] {
        let error = jobs_of(&text(generate)).unwrap_err().to_string();
        assert!(error.starts_with(start), "{error}");
        // Jobs of a mix choose neither their numbers nor their way.
        assert!(!error.contains("fsdp") && !error.contains("bf16"), "{error}");
    }
    let formula = format!("{}run_time = \"formula\"\n", text(nets));
    let error = read(&formula).unwrap_err().to_string();
    assert!(error.contains("beside a formula, which knows no layers"), "{error}");
}

#[test]
fn keys_may_be_written_with_hyphens() {
    let underscored = format!(
        "{}bandwidth_model = \"published\"\nbandwidth_profile = \"data-sheet\"\n",
        SMALL.replace("count = 20", "mean_interarrival = \"9 s\"")
    );
    let scenario = read(&underscored).unwrap();
    assert_eq!(mix_of(&scenario).choices.bandwidth_model, BandwidthModel::Published);
    assert_eq!(mix_of(&scenario).choices.bandwidth_profile, Some(BandwidthProfile::DataSheet));
    let keys = ["bandwidth_model", "bandwidth_profile", "max_gpus", "mean_interarrival"];
    let hyphens = keys
        .iter()
        .fold(underscored.clone(), |text, key| text.replace(key, &key.replace('_', "-")));
    assert_ne!(hyphens, underscored);
    assert_eq!(read(&hyphens).unwrap(), scenario);
    let both = underscored.replace("max_gpus = 4", "max_gpus = 4, max-gpus = 4");
    let error = read(&both).unwrap_err().to_string();
    assert!(error.contains("`max_gpus` is given twice"), "{error}");
}

#[test]
fn every_key_that_is_listed_reads() {
    let text = "[machine]\nfile = \"m.toml\"\nunhealthy = [1]\n[jobs]\n\
            generate = { seed = 1, count = 2, max_gpus = 3, workloads = [\"gmm\"], \
            mean_interarrival = \"1 s\" }\n[allocation]\npolicies = [\"greedy\"]\n\
            bandwidth_model = \"sound\"\nbandwidth_profile = \"mapa\"\nties = \"published\"\n\
            [queue]\ndiscipline = \"fifo\"\n";
    let scenario = read(text).unwrap();
    let at = |line, column| Position { line, column };
    assert_eq!(scenario.network.servers[0].kind.place.position, at(2, 8));
    let mix = mix_of(&scenario);
    let Some(JobSource::Generate(_, place)) = &mix.jobs else { panic!("generated") };
    assert_eq!(place.position, at(5, 12));
    assert_eq!(mix.choices.unhealthy, [1]);
    assert_eq!(mix.places.unhealthy[0].position, at(3, 14));
}

#[test]
fn errors_name_line_and_column() {
    for (text, start) in [
        (SMALL.replace("greedy", "gready"), "s.toml:6:13: unknown policy"),
        (SMALL.replace("gmm", "gm"), "s.toml:4:63: unknown workload"),
        (SMALL.replace("preset", "presett"), "s.toml:2:1: unknown key: `presett`; did you me"),
        (SMALL.replace("v100", "v10"), "s.toml:2:10: unknown preset: `\"dgx1-v10\"`; did you m"),
        (SMALL.replace("max_g", "max_G"), "s.toml:4:36: unknown key: `max_Gpus`; did you mean"),
        (SMALL.replace("[allo", "[alo"), "s.toml:5:2: unknown key: `alocation`; did you mean `"),
        (SMALL.replace("[\"greedy\"]", "[]"), "s.toml:6:12: no policy is named: `[]`; name so"),
        (SMALL.replace("[\"gmm\"]", "[]"), "s.toml:4:62: no workload is named: `[]`; name"),
        (SMALL.replace("gpus = 4", "gpus = 0"), "s.toml:4:47: this cannot be zero: `0`; "),
        (SMALL.replace("count = 20", "count = 0"), "s.toml:4:32: this cannot be zero: `0`; "),
        (SMALL.replace("\n[allo", "\nx = 1\n[allo"), "s.toml:5:1: unknown key: `x`; the keys of"),
        (SMALL.replace("preset = \"dgx1-v100\"", ""), "s.toml:1:1: jobs without a server"),
        (
            SMALL.replace("count = 20", "count = 1000000000"),
            "s.toml:4:32: this is more jobs than a mix may have: `1000000000`; write a whole number from 1 to 1000000",
        ),
        (
            SMALL.replace("count = 20", "count = -2"),
            "s.toml:4:32: this cannot be below zero: `-2`; write a whole number from 1 to 1000000",
        ),
        (
            SMALL.replace("count = 20", "count = \"many\""),
            "s.toml:4:32: no whole number: `\"many\"`; write a whole number from 1 to 1000000",
        ),
        (format!("{SMALL}bandwidth_model = \"nice\"\n"), "s.toml:7:19: "),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.starts_with(start), "{error}");
    }
}

#[test]
fn a_rule_of_mpi_has_no_fluid() {
    let text = |planner: &str| format!("{SMALL}\n[collectives]\nplanner = \"{planner}\"\n");
    let fluid = |planner| format!("fidelity = \"fluid\"\n{}", text(planner));
    assert_eq!(mix_of(&read(&fluid("packing")).unwrap()).choices.fidelity, Fidelity::Fluid);
    let error = read(&fluid("mpi")).unwrap_err().to_string();
    assert!(error.contains("a planner whose collectives have no fluid: `\"mpi\"`"), "{error}");
}

#[test]
fn what_does_not_fit_the_system_is_refused_where_it_is_said() {
    let large = SMALL.replace("gpus = 4", "gpus = 9");
    let error = read(&large).unwrap().build(&Files::new()).unwrap_err().to_string();
    assert!(error.starts_with("s.toml:4:47: the mix has a job of 9 GPUs, and 8 of"), "{error}");
    assert!(error.contains(": `9`; set max_gpus to 8 or less"), "{error}");
    let given = Given {
        file: "s.toml".to_owned(),
        text: SMALL.to_owned(),
        settings: "[jobs.generate]\nmax_gpus = 9\n".to_owned(),
        ..Given::default()
    };
    let error = Scenario::read(&given).unwrap().build(&Files::new()).unwrap_err().to_string();
    assert!(error.starts_with("<settings>:2:12: the mix has a job of 9 GPUs"), "{error}");
    // A GPU of no known model has no speed of its own.
    let own = SMALL
        .replace("dgx1-v100", "pcie-tree-4")
        .replace("[jobs]\n", "[jobs]\ngpu_speed = \"own\"\n");
    let error = read(&own).unwrap().build(&Files::new()).unwrap_err().to_string();
    assert!(
        error.starts_with("s.toml:4:13: the speed of `GPU0` of `pcie-tree-4` is not known"),
        "{error}"
    );
    assert!(error.contains(": `\"own\"`; name a known GPU model"), "{error}");
}

#[test]
fn a_bus_beside_a_formula_is_refused() {
    let bus = format!("{SMALL}[pcie]\narbitration = \"qos\"\n");
    assert_eq!(mix_of(&read(&bus).unwrap()).choices.run_time, RunTime::Played);
    let formula = bus.replace("[jobs]\n", "[jobs]\nrun_time = \"formula\"\n");
    let error = read(&formula).unwrap_err().to_string();
    assert!(error.contains("`pcie` beside a formula, in which no message is sent"), "{error}");
}

/// Returns the notes on a scenario's choices.
fn notes(text: &str) -> Vec<String> {
    read(text).unwrap().build(&Files::new()).unwrap().notes
}

#[test]
fn what_counts_for_nothing_is_told() {
    let with = |keys: &str| {
        let keys = format!("server = \"dgx1-v100\"\n{keys}");
        SMALL.replace("[machine]\npreset = \"dgx1-v100\"\n", &format!("[system]\n{keys}"))
    };
    let network =
        with("network = { kind = \"fat-tree\", nic = \"rr-4\", routing = \"adaptive\" }\n");
    let flow = format!("fidelity = \"flow\"\n{network}");
    let said = "`system.network.routing` and `system.network.nic` count for nothing: of `[jobs]` \
                packets alone heed that (`fidelity = \"packet\"`).";
    assert_eq!(notes(&flow), [said]);
    let formula = "`system.network.kind` counts for nothing: run times follow a formula, in which no message is sent.";
    assert_eq!(notes(&network), [said, formula]);
    assert_eq!(notes(&flow.replace("flow", "packet")), [""; 0]);
    // Through which interface a GPU sends is a choice of messages: connections take all that are as near.
    for fidelity in ["flow", "fluid"] {
        let interfaces = with("interfaces = \"first\"\nservers = 2\n");
        let told = notes(&format!("fidelity = \"{fidelity}\"\n{interfaces}"));
        let start = "`system.interfaces` counts for nothing: of `[jobs]` packets alone heed that";
        assert!(told.len() == 1 && told[0].starts_with(start), "{told:?}");
        assert_eq!(notes(&format!("fidelity = \"packet\"\n{interfaces}")), [""; 0]);
    }
    let qos = "`pcie.arbitration = \"qos\"` alone heeds deadlines.";
    let bus = |keys: &str| format!("fidelity = \"flow\"\n{SMALL}[pcie]\n{keys}");
    assert_eq!(
        notes(&bus("first = \"large\"\ndeadline = 2\n")),
        [
            "`pcie.first` counts for nothing: `pcie.arbitration = \"round-robin\"` takes all in turn.",
            format!("`pcie.deadline` counts for nothing: {qos}").as_str(),
        ]
    );
    assert_eq!(notes(&bus("arbitration = \"throughput\"\nfirst = \"large\"\n")), [""; 0]);
    let of_packets =
        |keys| format!("{keys} for nothing: packets alone heed that (`fidelity = \"packet\"`).");
    let deep = bus(
        "arbitration = \"throughput\"\nbound = \"2 us\"\nbuffer = \"64 KiB\"\npayload = \"128 B\"\n",
    );
    assert_eq!(notes(&deep), [of_packets("`pcie.bound` and `pcie.buffer` count")]);
    assert_eq!(notes(&deep.replace("flow", "fluid")), notes(&deep));
    assert_eq!(notes(&deep.replace("flow", "packet")), [""; 0]);
    assert_eq!(
        notes(&bus("read_request = \"256 B\"\nbound = \"2 us\"\n")),
        [
            of_packets("`pcie.read_request` counts").as_str(),
            "`pcie.bound` counts for nothing: `pcie.arbitration = \"round-robin\"` takes all in turn.",
        ]
    );
    let deadline = bus("arbitration = \"qos\"\ndeadline = 2\n");
    let none_copied = notes(&deadline).concat();
    assert!(
        none_copied.starts_with("`pcie.deadline` counts for nothing: nothing is copied"),
        "{none_copied}"
    );
    let copied = deadline.replace("[jobs]\n", "[jobs]\nhost_copies = true\n");
    assert_eq!(notes(&copied), [""; 0]);
    let programs = "[system]\nserver = \"pcie-tree-4\"\n[[job]]\nname = \"a\"\nprogram = \"copy-execute\"\n\
                    ranks = 2\ndeadline = 2\n";
    assert_eq!(notes(programs), [format!("`deadline` of job `a` counts for nothing: {qos}")]);
    let heeded = format!("{programs}[pcie]\narbitration = \"qos\"\n");
    assert_eq!(notes(&heeded), [""; 0]);
    // The bound gives a guarantee. It tells how early a copy whose deadline would pass is raised.
    let bound = format!("fidelity = \"flow\"\n{heeded}bound = \"2 us\"\n");
    assert_eq!(notes(&bound), [""; 0]);
    let kernels = format!("{bound}[collectives]\nprotocol = \"nccl\"\n");
    assert_eq!(notes(&kernels), [of_packets("`pcie.bound` counts")]);
    let with_network = |text: &str| {
        let keys =
            "network = { kind = \"fat-tree\", nic = \"rr\", arbitration = \"age\" }\n[[job]]";
        text.replacen("[[job]]", keys, 1)
    };
    assert_eq!(notes(&with_network(&bound)), [of_packets("`system.network.arbitration` counts")]);
    let of_kernels = notes(&with_network(&kernels)).concat();
    assert!(
        of_kernels.starts_with(
            "`system.network.nic` and `system.network.arbitration` count for nothing: connections"
        ),
        "{of_kernels}"
    );
    assert_eq!(
        notes(&format!("{heeded}deadline = 3\n")),
        ["`pcie.deadline` counts for nothing: there are jobs with a deadline of their own."]
    );
}

#[test]
fn nccl_chooses_in_days_and_in_programs() {
    let day = format!("{SMALL}[collectives]\nplanner = \"nccl\"\nnccl = \"2.12\"\n");
    let choices = mix_of(&read(&day).unwrap()).choices.clone();
    let release = Some("2.12".parse().unwrap());
    assert_eq!(choices.planner, PlannerChoice::Plan(PlannedBy::Library(release)));
    assert_eq!(notes(&day), [""; 0]);
    let unheeded =
        "`collectives.nccl` counts for nothing: `collectives.planner = \"nccl\"` alone asks NCCL.";
    assert_eq!(notes(&day.replace("planner = \"nccl\"", "planner = \"auto\"")), [unheeded]);
    let unknown = read(&day.replace("2.12", "two")).unwrap_err().to_string();
    assert!(unknown.contains("`two` is not a version of NCCL 2"), "{unknown}");
    // NCCL's choice is a kernel, without a word of that.
    let programs = "[system]\nserver = \"dgx1-v100\"\n[[job]]\nname = \"a\"\nprogram = \"copy-execute\"\n\
                    ranks = 2\n[collectives]\nplanner = \"nccl\"\n";
    let flow = format!("fidelity = \"flow\"\n{programs}");
    assert!(read(&flow).unwrap().network.collectives.are_kernels());
    let packets = read(&format!("fidelity = \"packet\"\n{programs}")).unwrap_err().to_string();
    assert!(packets.contains("kernels in a network of packets"), "{packets}");
    let messages = read(&format!("{flow}protocol = \"mpi\"\n")).unwrap_err().to_string();
    assert!(messages.contains("a planner of kernels, not of messages"), "{messages}");
}
