//! Lets parts of scenarios be absent or fail, and refuses others.

use std::ops::ControlFlow;

use super::*;
use crate::simulation::DayOutcome;
use crate::simulation::cluster::MOST_FAILURES;

const DAY: &str = "fidelity = \"flow\"\nsystem.server = \"dgx1-v100\"\nsystem.servers = 2\n\
    jobs.generate = { count = 3, max_gpus = 4, workloads = [\"gmm\"], iterations = 20 }\n\
    collectives.planner = \"nccl-ring\"\nallocation.policies = [\"preserve\"]\n";

const PROGRAM: &str = "system.server = \"dgx1-v100\"\n\
    [[job]]\nprogram = \"subcomm3d\"\nranks = 8\n";

fn failing(day: &str, failures: &str) -> String {
    format!("{day}{failures}")
}

fn day(text: &str) -> DayOutcome {
    let scenario = read(text).unwrap();
    let built = scenario.build(&Files::new()).unwrap();
    let played = play(&scenario, &built, Run::default(), &mut |_| ControlFlow::Continue(()));
    let PlayedScenario::Day(day) = played.unwrap() else { panic!("jobs of GPUs") };
    day
}

#[test]
fn what_cannot_fail_is_refused_at_its_place() {
    let none = Files::new();
    for (failures, start) in [
        ("[[failure]]\npart = \"node9\"\n", "s.toml:8:8: there is no part `node9`; "),
        ("[[failure]]\npart = \"GPU9\"\n", "s.toml:8:8: there is no part `GPU9`; did you"),
        ("[[failure]]\nfrom = \"1 s\"\n", "s.toml:7:1: a failure of no part"),
        (
            "[[failure]]\npart = \"GPU0\"\nfrom = \"2 s\"\nto = \"1 s\"\n",
            "s.toml:10:6: a failure that ends before it begins",
        ),
        (
            "[[failure]]\npart = \"GPU0\"\nto = \"2 s\"\n[[failure]]\npart = \"node1/GPU0\"\n\
             from = \"1 s\"\nto = \"3 s\"\n",
            "s.toml:11:8: a part that fails while it is lost: `node1/GPU0`",
        ),
        (
            "[[failure]]\npart = \"GPU0\"\n[[failure]]\npart = \"GPU0\"\nfrom = \"1 s\"\n",
            "s.toml:10:8: a part that fails while it is lost",
        ),
        ("[[failure]]\npart = \"GPU0\"\nwhen = \"1 s\"\n", "s.toml:9:1: unknown key: `when`"),
        ("[failure]\npart = \"GPU0\"\n", "s.toml:7:1: no list of tables"),
        ("system.without = [\"GPU0-GPU5\"]\n", "s.toml:7:19: no link joins `GPU0` and `GPU5`"),
        ("system.without = \"GPU0\"\n", "s.toml:7:18: "),
    ] {
        let error = refused(&failing(DAY, failures), &none);
        assert!(error.starts_with(start), "{failures}: {error}");
    }
    let many = "[[failure]]\npart = \"GPU0\"\n".repeat(MOST_FAILURES + 1);
    let error = refused(&failing(DAY, &many), &none);
    assert!(error.contains("1001 failures") && error.ends_with("write 1000 at most"), "{error}");
    let timed = "[[failure]]\npart = \"GPU0\"\nfrom = \"1 s\"\n";
    let error = refused(&failing(PROGRAM, timed), &none);
    assert!(error.contains("with jobs whose GPUs a mapping names"), "{error}");
    let nodes =
        failing("[[job]]\nprogram = \"subcomm3d\"\nranks = 8\n", "system.without = [\"x\"]\n");
    let nodes = nodes.replace("[[job]]", "system.without = [\"node0\"]\n[[job]]");
    let error = refused(nodes.split("system.without = [\"x\"]").next().unwrap(), &none);
    assert!(error.contains("which has no parts to take away"), "{error}");
}

/// A part that is absent all day is out of reach of every job.
#[test]
fn nobody_gets_what_is_absent() {
    for fidelity in ["flow", "fluid", "packet"] {
        let text = failing(DAY, "system.without = [\"node0\"]\n");
        let text = text.replace("\"flow\"", &format!("\"{fidelity}\""));
        let day = day(&text);
        assert!(day.records.iter().all(|it| it.servers().eq([1])), "{fidelity}");
        assert!(day.endured.is_empty());
    }
    for part in ["leaf0", "aggregate0", "core0"] {
        let text = failing(DAY, &format!("system.without = [\"{part}\"]\n"));
        let text = text.replace("max_gpus = 4", "max_gpus = 16").replace("\"flow\"", "\"packet\"");
        assert!(read(&text).unwrap().build(&Files::new()).is_ok(), "{part}");
        day(&text);
    }
    let notes = |part: &str| {
        let scenario = read(&failing(DAY, &format!("system.without = [\"{part}\"]\n"))).unwrap();
        scenario.build(&Files::new()).unwrap().notes.join(" ")
    };
    assert!(
        notes("node0/PCIE1")
            .contains("Without `node0/PCIE1`, 2 GPUs are lost: node0/GPU2, node0/GPU3.")
    );
    assert!(notes("node1").contains("and node1 reaches no other server."), "{}", notes("node1"));
    assert!(!notes("node1/GPU2").contains("Without"));
}

/// Nothing changes by a failure of no length, or one behind the last job.
#[test]
fn what_comes_too_late_changes_nothing() {
    let plain = day(DAY);
    let none = day(&failing(DAY, "[[failure]]\npart = \"GPU0\"\nfrom = \"1 s\"\nto = \"1 s\"\n"));
    assert_eq!(none, plain);
    let late = day(&failing(DAY, "[[failure]]\npart = \"node0\"\nfrom = \"5000 h\"\n"));
    assert_eq!(late.records, plain.records);
}

/// Programs that a mapping places keep away from what is absent, or are told.
#[test]
fn a_program_on_an_absent_gpu_is_refused() {
    let text = failing(PROGRAM, "").replace("[[job]]", "system.without = [\"GPU3\"]\n[[job]]");
    let scenario = read(&text).unwrap();
    let built = scenario.build(&Files::new()).unwrap();
    let refused = play(&scenario, &built, Run::default(), &mut |_| ControlFlow::Continue(()));
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("asks for GPU 3, which is not healthy"), "{error}");
}
