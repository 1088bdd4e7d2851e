//! Jobs that could not run are refused with what would work.

use super::*;

fn refusal(jobs: &[ProgramJob], gpus: u32) -> String {
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, gpus, jobs, FREE, &no_collectives);
    runtime.map(|_| ()).unwrap_err().to_string()
}

fn refusal_of(operation: Operation) -> String {
    let first = rank(|rank| _ = rank.run(operation));
    let mut program = program(vec![first, RankProgram::default()]);
    Arc::make_mut(&mut program).communicators.push(vec![1]);
    refusal(&[ProgramJob::new(&program, vec![0, 1])], 2)
}

#[test]
fn mappings_have_to_fit() {
    let program = program(vec![RankProgram::default(); 2]);
    let job = |mapping: &[u32]| ProgramJob::new(&program, mapping.to_vec());
    let texts = [
        (
            refusal(&[job(&[0])], 8),
            "job `test` has 2 ranks, but its mapping lists 1 GPUs; list one GPU for each rank",
        ),
        (
            refusal(&[job(&[0, 8])], 8),
            "job `test` puts rank 1 on GPU 8, but there are 8 GPUs, counted \
             from 0",
        ),
        (
            refusal(&[job(&[0, 1]), job(&[1, 1])], 8),
            "job `test` gives GPU 1 to rank 0 and to rank 1; give each rank a GPU of its own",
        ),
    ];
    for (text, expected) in texts {
        assert_eq!(text, expected);
    }
}

#[test]
fn scales_and_iterations_have_to_make_sense() {
    let program = program(vec![rank(|rank| _ = rank.run(compute(1)))]);
    for scale in [-1.0, f64::NAN, f64::INFINITY] {
        let mut job = ProgramJob::new(&program, vec![0]);
        job.computation_scale = scale;
        assert!(refusal(&[job], 1).contains("scales computation by"), "{scale}");
    }
    let mut job = ProgramJob::new(&program, vec![0]);
    job.iterations = 2.try_into().unwrap();
    assert!(refusal(&[job], 1).contains("but the program of rank 0"));
}

#[test]
fn operations_have_to_name_what_there_is() {
    let unknown =
        Operation::Send { to: 0, tag: 0, communicator: 5, size: Bytes(0), route: RouteClass::Any };
    let foreign = Operation::Receive { from: None, tag: None, communicator: 1, size: Bytes(0) };
    let cases = [
        (send(2, 0, 0), "names communicator 0, which does not hold rank 2"),
        (receive(9, 0, 0), "names communicator 0, which does not hold rank 9"),
        (unknown, "names communicator 5 of 2, from 0"),
        (foreign, "names communicator 1, which does not hold rank 0"),
        (Operation::Leave { region: 2 }, "names region 2 of 2, from 0"),
    ];
    for (operation, problem) in cases {
        assert_eq!(refusal_of(operation), format!("call 0 of rank 0 of job `test` {problem}"));
    }
}

#[test]
fn communicators_have_to_be_sets_of_ranks() {
    let refused = |communicators: Vec<Vec<u32>>| {
        let ranks = vec![RankProgram::default(); 2];
        let program = Arc::new(Program { communicators, ..Arc::unwrap_or_clone(program(ranks)) });
        refusal(&[ProgramJob::new(&program, vec![0, 1])], 2)
    };
    assert!(refused(vec![]).contains("is missing"));
    assert!(refused(vec![vec![0]]).contains("holds 1 of 2 ranks"));
    assert!(
        refused(vec![vec![0, 1], vec![1, 1]])
            .contains("communicator 1 of job `test` names rank 1 twice")
    );
    assert!(refused(vec![vec![0, 1], vec![2]]).contains("names rank 2; there are 2"));
}

#[test]
fn times_beyond_what_is_counted_are_an_error() {
    let long = rank(|rank| {
        rank.run(compute(u64::MAX - 5));
        rank.run(compute(6));
    });
    let error = play(&program(vec![long]), FREE).unwrap_err().to_string();
    assert!(
        error.contains("call 1 of rank 0 of job `test` would end more than 213 days"),
        "{error}"
    );
    let huge = rank(|rank| _ = rank.run(send(0, 0, u64::MAX)));
    let error = play(&program(vec![huge]), MpiProtocol::default()).unwrap_err().to_string();
    assert!(error.contains("more than 213 days"), "{error}");
}
