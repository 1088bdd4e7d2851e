//! Tests the errors of a scenario, and where they point.

use super::*;

#[test]
fn errors_name_line_and_column() {
    let cases = [
        ("pods", "pod", "s.toml:8:1: unknown key: `pod`; did you mean `pods`?"),
        ("[protocol]", "[protocoll]", "s.toml:13:2: unknown key: `protocoll`; did you mean `proto"),
        ("eager_limit", "eager", "s.toml:14:1: unknown key: `eager`; did you mean `eager_limit`?"),
        (
            "eager_limit = \"16 KiB\"",
            "rendezvous = \"recever\"",
            "s.toml:14:14: unknown rendezvous: `\"recever\"`; did you mean `receiver`? use one of \
             sender, receiver",
        ),
        ("iterations", "iteration", "s.toml:20:1: unknown key: `iteration`; did you mean `itera"),
        ("pods = 4", "pods = 99", "s.toml:8:8: `pods` cannot be 99: `99`; a core switch of"),
        ("pods = 4", "groups = 4", "s.toml:8:10: `groups` cannot be 4: `4`; this kind has no su"),
        ("pods = 4", "pods = -4", "s.toml:8:8: out of range: `-4`; write a whole number from"),
        (
            "\"fat-tree\"",
            "\"fattree\"",
            "s.toml:6:8: unknown kind of network: `\"fattree\"`; did y",
        ),
        ("\"2x\"", "\"fast\"", "s.toml:9:19: no factor of bandwidths: `\"fast\"`; write a factor"),
        ("per_node = 4", "per_node = 0", "s.toml:10:17: a node cannot have 0 GPUs: `0`; "),
        ("rr-4", "rr4", "s.toml:11:7: there is no NIC policy `rr4`; did you mean `rr-"),
        ("nic = \"rr-4\"", "routing = \"ugal\"", "s.toml:11:11: routing `ugal` needs dragonfli"),
        ("nic = \"rr-4\"", "fidelity = \"flw\"", "s.toml:11:12: unknown fidelity: `\"flw\"`; did"),
        (
            "nic = \"rr-4\"",
            "fidelity = \"fluid\"",
            "s.toml:18:11: a program that is played from end",
        ),
        ("nic = \"rr-4\"", "seed = 4", "s.toml:11:1: unknown key: `seed`; the keys of network"),
        ("nic = \"rr-4\"", "file = \"g\"", "s.toml:6:8: a network from a file and from keys: "),
        ("16 KiB\"\n", "16 Kib\"\n", "s.toml:14:15: `16 Kib` is not a size: `\"16 Kib\"`; write a"),
        ("stencil4d", "stencil5d", "s.toml:18:11: there is no application `stencil5d`; did"),
        ("ranks = 16", "ranks = 17", "s.toml:19:9: stencil4d cannot run on 17 ranks: each side "),
        ("ranks = 16\n", "", "s.toml:18:11: a program without `ranks`: `\"stencil4d\"`; write how"),
        ("iterations = 2", "iterations = 0", "s.toml:20:14: this cannot be zero: `0`; write at l"),
        ("message", "mesage", "s.toml:22:25: stencil4d does not take these options: unknown key "),
        ("\"5 us\"", "\"5 us\", blocking_sends = 3", "s.toml:22:71: stencil4d does not take these"),
        ("gpu = true", "gpu = true\ncomputation_scale = 0.5", "s.toml:21:7: a scale and `gpu`: "),
        ("gpu = true", "computation_scale = -0.5", "s.toml:21:21: no scale of computation: `-0."),
        (
            "program = \"kripke\"\nranks = 8\n",
            "",
            "s.toml:24:1: a job without a program: `[[job]]`",
        ),
        ("program = \"kr", "goal = \"g\"\nprogram = \"kr", "s.toml:26:11: `program` beside a fil"),
        ("\"1 ms\"", "\"1 week\"", "s.toml:27:9: `1 week` is not a time: `\"1 week\"`; write a "),
        ("\"random\"", "\"map.txt\"", "s.toml:28:11: a file that was not given: `map.txt`; hand "),
        (
            "\"random\"",
            "7",
            "s.toml:28:11: no mapping: `7`; write a rule such as \"linear\", a file's",
        ),
        ("\"random\"", "[1, 2]", "s.toml:28:11: job `kripke` has 8 ranks, but its mapping lists 2"),
        ("ranks = 8\n", "ranks = 50\n", "s.toml:26:9: the jobs have 66 ranks in all, but the cl"),
        ("start", "name = \"a\"\nstart", "s.toml:27:8: a second job of this name: `a`; give each"),
        ("\"linear\"", "[0, 1]", "s.toml:3:11: a list of GPUs for all jobs: `[0, 1]`; write a r"),
        ("\"linear\"", "\"all.map\"", "s.toml:28:11: a mapping beside that of all jobs; the scena"),
        ("seed = 3", "seed = -3", "s.toml:2:8: out of range: `-3`; write a whole number from"),
        ("gpu = true", "gpu = true\ngpu-s = 1", "s.toml:22:1: unknown key: `gpu-s`"),
        ("name = \"small\"", "name = ", "s.toml:1:8: "),
    ];
    for (from, to, start) in cases {
        assert!(SMALL.contains(from), "{from}");
        let message = refused(&SMALL.replacen(from, to, 1), &Files::new());
        assert!(message.starts_with(start), "{message}\nwanted {start}");
    }
}

#[test]
fn mappings_with_two_ranks_on_one_gpu_are_refused_with_their_place() {
    let text = SMALL.replace("\"random\"", "[0, 1, 2, 3, 4, 5, 6, 6]");
    assert_eq!(
        refused(&text, &Files::new()),
        "s.toml:28:11: job `kripke` puts ranks 6 and 7 on GPU 6; give each rank a GPU of its own"
    );
    let text = SMALL.replace("\"random\"", "\"b.map\"");
    let files = Files::from([("b.map".to_owned(), b"0\n1\n2\n3\n4\n5\n6\n64\n".to_vec())]);
    assert_eq!(
        refused(&text, &files),
        "b.map:8:1: no such GPU: `64`; the system's GPUs are 0 to 63"
    );
    let files = Files::from([("b.map".to_owned(), b"0\n\xff".to_vec())]);
    assert_eq!(
        refused(&text, &files),
        "b.map:2:1: these bytes are no text; save the file as UTF-8"
    );
}

#[test]
fn a_text_without_jobs_is_refused_at_its_end() {
    let message = refused("[network]\npods = 2\n", &Files::new());
    assert_eq!(
        message,
        "s.toml:3:1: the scenario has no jobs; write a `[[job]]` with `program` and `ranks`, \
         or `[jobs]`"
    );
}

#[test]
fn iterations_need_a_loop() {
    let goal = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";
    let files = Files::from([("p.goal".to_owned(), goal.as_bytes().to_vec())]);
    let text = "[[job]]\ngoal = \"p.goal\"\niterations = 2\n";
    assert_eq!(
        refused(text, &files),
        "s.toml:3:14: the program marks no main loop that could run so often: `2`; remove \
         `iterations`, or take a program with a loop"
    );
    let text = "[[job]]\ngoal = \"p.goal\"\ngpu = true\n";
    let message = refused(text, &files);
    assert!(message.starts_with("s.toml:3:7: nobody knows how fast GPUs"), "{message}");
}

#[test]
fn a_broken_archive_is_refused_with_its_files_name() {
    let text = "[[job]]\ntrace = \"runs/traces.otf2\"\n";
    let files = Files::from([("runs/traces.otf2".to_owned(), b"no anchor".to_vec())]);
    let message = refused(text, &files);
    assert!(message.starts_with("runs/traces.otf2:1:"), "{message}");
    let message = refused(&format!("{text}goal = \"p.goal\"\n"), &files);
    assert!(message.starts_with("s.toml:3:8: `goal` beside a file that holds"), "{message}");
    let message = refused(&text.replace("trace = ", "main_loop = \"x\"\n#"), &files);
    assert!(message.starts_with("s.toml:2:13: a main loop without a trace"), "{message}");
}

#[test]
fn settings_on_their_own_are_refused_the_same_way() {
    let message = read_network("<settings>", "pod = 2\n").unwrap_err().to_string();
    assert_eq!(message, "<settings>:1:1: unknown key: `pod`; did you mean `pods`?");
    let message = read_network("<settings>", "routing_table = \"r\"\nrouting = \"static\"\n");
    let message = message.unwrap_err().to_string();
    assert!(message.starts_with("<settings>:2:11: a routing beside a routing table"), "{message}");
}
