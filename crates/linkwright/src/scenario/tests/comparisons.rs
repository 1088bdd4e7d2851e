//! Tests the comparison of scenarios, the settings put over them, and the one format.

use super::{Asked, Files, Given, ReadyJobs, SMALL, Scenario, read, refused};
use crate::collectives::plan::planners;
use crate::diagnostic::InputError;
use crate::simulation::RunTime;
use crate::simulation::cluster::Fidelity;
use crate::simulation::played::PlannerChoice;

const SHARED: &str = "seed = 7\nfidelity = \"flow\"\n[system]\nserver = \"dgx1-v100\"\nservers = 4\n\
    network = { kind = \"fat-tree\", nic = \"rr-4\", routing = \"adaptive\" }\n[jobs]\n\
    generate = { count = 30, mean_interarrival = \"90 s\", max_gpus = 8 }\n[allocation]\n\
    policies = [\"preserve\"]\n[collectives]\nplanner = \"packing\"\n[queue]\n\
    discipline = \"fifo\"\n[compare.default]\nallocation.policies = [\"baseline\"]\n\
    collectives.planner = \"nccl-classic\"\n";

fn with(text: &str, settings: &str, variant: Option<&str>) -> Result<Scenario, InputError> {
    Scenario::read(&Given {
        file: "s.toml".to_owned(),
        text: text.to_owned(),
        settings: settings.to_owned(),
        variant: variant.map(str::to_owned),
        ..Given::default()
    })
}

fn names(scenario: &Scenario) -> Vec<&str> {
    scenario.variants.iter().map(|variant| variant.name.as_str()).collect()
}

#[test]
fn one_format_says_servers_network_jobs_and_what_differs() {
    let scenario = read(SHARED).unwrap();
    assert_eq!((names(&scenario), scenario.reference), (vec!["as-written", "default"], 0));
    let Asked::Mix(mix) = &scenario.asked else { panic!("jobs of GPUs") };
    assert_eq!((mix.choices.run_time, mix.choices.fidelity), (RunTime::Played, Fidelity::Flow));
    assert_eq!(mix.choices.planner.name(), "packing");
    let built = scenario.build(&Files::new()).unwrap();
    assert_eq!((built.cluster.system.servers(), built.cluster.system.gpus()), (4, 32));
    assert_eq!(built.cluster.routing.name(), "adaptive");
    assert!(matches!(&built.work, ReadyJobs::Mix(jobs) if jobs.len() == 30));
    let other = with(SHARED, "", Some("default")).unwrap();
    let Asked::Mix(of_other) = &other.asked else { panic!("jobs of GPUs") };
    assert_eq!(of_other.policies, ["baseline"]);
    assert_eq!(
        of_other.choices.planner,
        PlannerChoice::named("nccl-classic", &planners()).unwrap()
    );
    // The same jobs: a seed is one for all variants.
    assert_eq!((&of_other.jobs, other.seed), (&mix.jobs, 7));
}

#[test]
fn a_machine_beside_a_network_is_that_server_in_it() {
    let earlier = "[machine]\npreset = \"dgx1-v100\"\n[network]\nservers = 4\nnic = \"rr-4\"\n\
        fidelity = \"flow\"\n[[job]]\nprogram = \"laghos\"\nranks = 32\n";
    let today = "fidelity = \"flow\"\n[system]\nserver = { preset = \"dgx1-v100\" }\nservers = 4\n\
        network = { nic = \"rr-4\" }\n[[job]]\nprogram = \"laghos\"\nranks = 32\n";
    let read = |text| Scenario { settings: toml::Table::new(), ..read(text).unwrap() };
    assert_eq!(read(earlier), read(today));
    let built = read(earlier).build(&Files::new()).unwrap();
    assert_eq!(built.cluster.system.servers(), 4);
}

#[test]
fn servers_and_networks_are_named_or_described() {
    let job = "[[job]]\nprogram = \"laghos\"\nranks = 8\n";
    let system = |text: &str| {
        let built = read(&format!("[system]\n{text}\n{job}")).unwrap().build(&Files::new());
        built.unwrap().cluster.system
    };
    let nodes = system("server = { gpus = 4, bandwidth_scale = \"x/2\" }\nnetwork = \"torus\"");
    let fabric = nodes.fabric().unwrap().channels()[0].bandwidth;
    let joined = nodes.kinds()[0].server().links()[0].bandwidth;
    assert_eq!((nodes.gpus() / nodes.servers(), joined.0), (4, fabric.0 / 2));
    let switch = system("server = \"dgx1-v100\"\nservers = 2\nnetwork = \"100 Gb/s\"");
    assert_eq!(switch.fabric().unwrap().channels()[0].bandwidth.0, 12_500_000_000);
    for (text, says) in [
        ("network = \"tree\"", "s.toml:2:11: unknown kind of network"),
        ("server = \"dgx3\"", "s.toml:2:10: there is no server of this name: `dgx3`"),
        ("server = { preset = \"dgx2\", gpus = 2 }", "s.toml:2:36: the servers say what"),
        (
            "server = { gpus = 2, bandwidth = \"1 GB/s\", bandwidth_scale = 2 }",
            "s.toml:2:62: a band",
        ),
        ("server = { kind = \"dgx2\", count = 2 }", "s.toml:2:35: the count of a single server"),
        ("server = \"dgx2\"\n[machine]\npreset = \"dgx2\"", "s.toml:4:10: servers in two places"),
    ] {
        let message = refused(&format!("[system]\n{text}\n{job}"), &Files::new());
        assert!(message.starts_with(says), "{message}");
    }
}

#[test]
fn variants_are_policies_then_names_and_one_is_the_reference() {
    let text = SHARED.replace("[\"preserve\"]", "[\"greedy\", \"baseline\"]");
    let scenario = read(&text.replace("[\"baseline\"]\ncoll", "[\"preserve\"]\ncoll")).unwrap();
    assert_eq!((names(&scenario), scenario.reference), (vec!["greedy", "baseline", "default"], 1));
    let named = format!("{text}[compare]\nreference = \"default\"\n");
    assert_eq!(read(&named).unwrap().reference, 2);
    let ordered = SMALL.replace(
        "[[job]]\nname",
        "[compare.z]\nnetwork.nic = \"rr\"\n\
        [compare.b]\nfidelity = \"flow\"\n[[job]]\nname",
    );
    let scenario = read(&ordered).unwrap();
    assert_eq!((names(&scenario), scenario.reference), (vec!["as-written", "z", "b"], 0));
    let flow = with(&ordered, "", Some("b")).unwrap();
    assert_eq!(flow.network.fidelity, Fidelity::Flow);
}

#[test]
fn what_differs_of_jobs_and_networks_takes_the_place_of_what_is_there() {
    let text = format!(
        "{SMALL}[compare.small]\njob.a.iterations = 1\njob.a.parameters.message = \"8 KiB\"\n\
         [compare.torus]\nnetwork = {{ kind = \"torus\", dimensions = [4, 4, 4] }}\n"
    );
    let iterations = |scenario: &Scenario| match &scenario.asked {
        Asked::Programs(programs) => programs.jobs[0].iterations.get(),
        Asked::Mix(_) => 0,
    };
    assert_eq!(iterations(&read(&text).unwrap()), 2);
    assert_eq!(iterations(&with(&text, "", Some("small")).unwrap()), 1);
    let torus = with(&text, "", Some("torus")).unwrap().build(&Files::new()).unwrap();
    // The keys of the fat-tree's shape go with it; the keys of its interfaces stay.
    assert_eq!((torus.cluster.nic.name().as_str(), torus.cluster.system.gpus()), ("rr-4", 256));
}

#[test]
fn what_cannot_be_compared_is_refused_at_its_line() {
    let lines = SHARED.lines().count();
    for (more, says) in [
        ("[compare.x]\n", "1:10: this changes nothing of the scenario"),
        ("[compare.x]\nseed = 7\n", "1:10: this changes nothing of the scenario"),
        ("[compare.x]\nsystem.network.nic = \"rr5\"\n", "2:22: there is no NIC policy `rr5`"),
        ("[compare.x]\nsystm.servers = 2\n", "2:1: unknown key: `systm`; did you mean `system`?"),
        ("[compare.x]\nname = \"y\"\n", "2:1: unknown key: `name`"),
        (
            "[compare.x]\nallocation.policies = [\"greedy\", \"baseline\"]\n",
            "2:23: a variant is pl",
        ),
        ("[compare.preserve]\nseed = 8\n", "1:10: a second variant of this name"),
        ("[compare.as-written]\nseed = 8\n", "1:10: a second variant of this name"),
        (
            "[compare]\nreference = \"defalt\"\n",
            "2:13: no variant has this name: `\"defalt\"`; did",
        ),
        ("[compare]\nx = 3\n", "2:1: this is no table of what differs"),
    ] {
        let message = refused(&format!("{SHARED}{more}"), &Files::new());
        let (line, rest) = says.split_once(':').unwrap();
        let line = lines + line.parse::<usize>().unwrap();
        assert!(message.starts_with(&format!("s.toml:{line}:{rest}")), "{message}");
    }
    let formula = SHARED.replace("[jobs]", "[jobs]\nrun_time = \"formula\"");
    let message = refused(&formula, &Files::new());
    assert!(message.starts_with("s.toml:2:12: `fidelity` beside a formula"), "{message}");
    let bare = formula
        .replace("fidelity = \"flow\"\n", "")
        .replace("[collectives]\nplanner = \"packing\"\n", "");
    let message = refused(&bare.replace("run_time = \"formula\"\n", ""), &Files::new());
    assert!(
        message.contains("lets jobs be played whose run times follow the formula"),
        "{message}"
    );
    let job = format!("{SMALL}[compare.x]\njob.sten.iterations = 3\n");
    assert!(refused(&job, &Files::new()).contains("no job has this name: `sten`"));
}

#[test]
fn what_settings_make_the_same_is_refused_where_it_is_played() {
    let text = format!("{SHARED}[compare.closer]\nfidelity = \"packet\"\n");
    let packet = "fidelity = \"packet\"\n";
    assert_eq!(names(&with(&text, packet, None).unwrap()), ["as-written", "default", "closer"]);
    assert!(with(&text, packet, Some("default")).is_ok());
    let error = with(&text, packet, Some("closer")).unwrap_err().to_string();
    assert!(
        error.contains("this changes nothing of the scenario: `closer`; leave out the"),
        "{error}"
    );
}

#[test]
fn settings_are_put_over_the_file_and_named_in_errors() {
    let scenario = with(SHARED, "[allocation]\npolicies = [\"greedy\"]\n", None).unwrap();
    assert_eq!(names(&scenario), ["as-written", "default"]);
    let error = with(SHARED, "[system.network]\nnic = \"rr5\"\n", None).unwrap_err().to_string();
    assert!(error.starts_with("<settings>:2:7: there is no NIC policy `rr5`"), "{error}");
    let error = with(SHARED, "sytem = 3\n", None).unwrap_err().to_string();
    assert!(error.starts_with("<settings>:1:1: unknown key: `sytem`; did you mean"), "{error}");
    let error = with(SHARED, "", Some("defualt")).unwrap_err().to_string();
    assert!(
        error.contains("no variant of this name: `defualt`; did you mean `default`?"),
        "{error}"
    );
}

#[test]
fn what_neither_kind_of_jobs_heeds_is_refused() {
    for (text, says) in [
        (
            format!("{SMALL}[queue]\ndiscipline = \"fifo\"\n"),
            "`[queue]` where mappings give all jobs",
        ),
        (format!("{SMALL}[system]\nunhealthy = [1]\n"), "`unhealthy` where mappings give all jobs"),
        (format!("mapping = \"random\"\n{SHARED}"), "`mapping` beside `[jobs]`"),
        (
            "jobs.run_time = \"formula\"\njobs.generate = {}\nsystem.server = \"dgx2\"\n\
             [[job]]\nprogram = \"laghos\"\nranks = 8\n"
                .to_owned(),
            "a formula beside `[[job]]`s, which are played",
        ),
        (SHARED.replace("planner = \"packing\"", "all_reduce = \"ring\""), "an algorithm for a"),
        (
            SHARED.replace("planner = \"packing\"", "protocol = \"nccl\""),
            "a protocol beside `[jobs]`",
        ),
        (format!("{SMALL}[collectives]\nprotocol = \"nccl\"\n"), "kernels in a network of packets"),
        (
            format!(
                "fidelity = \"flow\"\n{SMALL}[collectives]\nprotocol = \"nccl\"\nplanner = \"mpi\"\n"
            ),
            "no planner of kernels",
        ),
        (
            "[system]\nserver = \"dgx1-v100\"\nservers = 2\n[jobs]\n\
             generate = { count = 30, max_gpus = 9 }\n"
                .to_owned(),
            "the mix has a job of 9 GPUs, and 8 of a server at most are healthy: `9`; set max_gpus to 8 \
             or less, or let jobs run on several servers by `run_time = \"played\"`",
        ),
        (SHARED.replace("max_gpus = 8", "max_gpus = 33"), "and 32 of the system are healthy"),
    ] {
        let message = refused(&text, &Files::new());
        assert!(message.starts_with("s.toml:") && message.contains(says), "{message}");
    }
}

#[test]
fn seeds_are_counted_and_differences_told() {
    let text = "[system]\nserver = \"dgx1-v100\"\n[jobs]\ngenerate = {}\n[compare]\nseeds = 20\n\
        [compare.default]\nallocation.policies = [\"baseline\"]\nqueue.discipline = \"backfill\"\n";
    let scenario = read(text).unwrap();
    assert_eq!(scenario.seeds, Some(20));
    let [(name, table)] = &scenario.differences[..] else { panic!("{:?}", scenario.differences) };
    assert_eq!((name.as_str(), table.len()), ("default", 2));
    for wrong in ["0", "1001", "-1", "\"many\"", "1.5"] {
        let error = read(&text.replace("20", wrong)).unwrap_err().to_string();
        let expected =
            format!("s.toml:6:9: no number of seeds: `{wrong}`; write a whole number from 1 to");
        assert!(error.starts_with(&expected), "{error}");
    }
    let programs = "[compare]\nseeds = 2\n[compare.a]\nseed = 2\n[[job]]\nprogram = \"stencil4d\"\nranks = 16\n";
    let error = read(programs).unwrap_err().to_string();
    assert!(error.starts_with("s.toml:2:9: seeds of programs: `2`; remove it"), "{error}");
}
