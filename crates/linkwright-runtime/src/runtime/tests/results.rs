//! Tests the results of a replay, and the records that an observer sees.

use crate::runtime::{MessageRecord, Observer, RankId};

use super::network::LATENCY;
use super::*;

/// Writes down everything.
#[derive(Default)]
struct Log {
    computed: Vec<(u32, u64, u64)>,
    sent: Vec<MessageRecord>,
    delivered: Vec<(MessageRecord, u64)>,
    regions: Vec<(bool, u32, u64)>,
}

impl Observer for Log {
    fn computed(&mut self, rank: RankId, start: Picoseconds, end: Picoseconds) {
        self.computed.push((rank.rank, start.0, end.0));
    }

    fn sent(&mut self, message: &MessageRecord) {
        self.sent.push(*message);
    }

    fn delivered(&mut self, message: &MessageRecord, time: Picoseconds) {
        self.delivered.push((*message, time.0));
    }

    fn entered(&mut self, _: RankId, region: u32, time: Picoseconds) {
        self.regions.push((true, region, time.0));
    }

    fn left(&mut self, _: RankId, region: u32, time: Picoseconds) {
        self.regions.push((false, region, time.0));
    }
}

fn exchange() -> Arc<Program> {
    let sender = rank(|rank| {
        rank.run(Operation::Enter { region: 0 });
        rank.run(compute(100));
        rank.run(send(1, 3, 40));
        rank.run(send(1, 4, 100_000));
        rank.run(Operation::Leave { region: 0 });
    });
    let receiver = rank(|rank| {
        let early = rank.start(receive(0, 3, 40));
        rank.run(receive(0, 4, 100_000));
        rank.wait(&[early]);
    });
    program(vec![sender, receiver])
}

#[test]
fn an_observer_sees_everything_and_changes_nothing() {
    let program = exchange();
    let jobs = [ProgramJob::new(&program, vec![0, 1])];
    let (mut network, mut log) = (TestNetwork::new(), Log::default());
    let runtime =
        Runtime::observed(&mut network, 2, &jobs, FREE, &no_collectives, &mut log).unwrap();
    let watched = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(Ok(watched), play(&program, FREE));
    assert_eq!(log.computed, [(0, 0, 100)]);
    assert_eq!(log.sent.iter().map(|message| message.tag).collect::<Vec<_>>(), [3, 4]);
    let arrivals: Vec<_> =
        log.delivered.iter().map(|(message, time)| (message.tag, *time)).collect();
    let data = 100 + 40 + 16 + LATENCY + 16 + LATENCY;
    assert_eq!(arrivals, [(3, 100 + 40 + LATENCY), (4, data + 100_000 + LATENCY)]);
    assert_eq!(log.delivered[0].0.sent, Picoseconds(100));
    assert_eq!(log.regions, [(true, 0, 0), (false, 0, data + 100_000)]);
}

#[test]
fn jobs_start_when_they_should_at_their_own_speed() {
    let alone = program(vec![rank(|rank| _ = rank.run(compute(1000)))]);
    let mut late = ProgramJob::new(&alone, vec![3]);
    late.start = Picoseconds(5_000);
    late.computation_scale = 0.25;
    late.name = "late".to_owned();
    let jobs = [ProgramJob::new(&alone, vec![1]), late];
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, 4, &jobs, FREE, &no_collectives).unwrap();
    let outcome = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
    let times: Vec<_> =
        outcome.jobs.iter().map(|job| (job.name.as_str(), job.end.0, job.time().0)).collect();
    assert_eq!(times, [("test", 1000, 1000), ("late", 5250, 250)]);
}

#[test]
fn messages_go_between_the_gpus_of_the_mapping_with_the_jobs_priority() {
    let program = exchange();
    let mut job = ProgramJob::new(&program, vec![7, 2]);
    job.priority = 9;
    let jobs = [job];
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, 8, &jobs, FREE, &no_collectives).unwrap();
    runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
    let ways: Vec<_> = network.messages.iter().map(|(_, m)| (m.source, m.destination)).collect();
    assert_eq!(ways, [(7, 2), (7, 2), (2, 7), (7, 2)]);
    assert!(network.messages.iter().all(|(_, message)| message.class.priority == 9));
}

#[test]
fn a_processor_computes_one_thing_at_a_time() {
    let alone = rank(|rank| {
        for duration in [10, 20, 30] {
            rank.push(compute(duration), &[]);
        }
    });
    let outcome = play(&program(vec![alone]), FREE).unwrap();
    assert_eq!(ends(&outcome), [60]);
    assert_eq!(outcome.jobs[0].ranks[0].computing, Picoseconds(60));
}
