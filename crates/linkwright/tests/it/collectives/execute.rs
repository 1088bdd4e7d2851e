//! Execution gives what a plain reference gives, in every type, size and placement.

use linkwright::collectives::execute::{Element, ExecuteError, ExecuteOptions};
use linkwright::collectives::{
    Collective, Placement, Reduction, Schedule, ScheduleFault, execute, reference,
};
use linkwright::engine::Random;

use super::schedules;

/// Makes one input for each rank: `length` elements a shard, for gathering a different number each.
fn inputs<T>(schedule: &Schedule, length: usize, mut make: impl FnMut() -> T) -> Vec<Vec<T>> {
    let ranks = schedule.ranks();
    let gathers = matches!(schedule.collective, Collective::Gather { .. } | Collective::AllGather);
    let of_rank = |rank| {
        let shard = if gathers { length + rank % 2 } else { length };
        let count = schedule.collective.input_shards(ranks, rank) * shard;
        (0..count).map(|_| make()).collect()
    };
    (0..ranks).map(of_rank).collect()
}

/// Runs every schedule, placement, reduction and some lengths and piece sizes.
fn everywhere<T: Element>(
    mut make: impl FnMut() -> T,
    mut compare: impl FnMut(&[Vec<T>], Reduction, &[Vec<T>], &[Vec<T>]),
) {
    for ranks in [2, 3, 5] {
        for schedule in schedules::all(ranks) {
            // Even lengths go in pieces of 16 bytes, and the ranks' threads wait for each piece.
            for length in [0, 1, 7, 24, 72, 1001] {
                for reduction in Reduction::ALL {
                    let inputs = inputs(&schedule, length, &mut make);
                    let expected = reference(schedule.collective, &inputs, reduction).unwrap();
                    for placement in Placement::declared(&schedule) {
                        let piece = [16, 1 << 17][length % 2];
                        let options = ExecuteOptions {
                            placement: Some(placement),
                            piece,
                            ..ExecuteOptions::default()
                        };
                        let found = execute(&schedule, inputs.clone(), reduction, &options);
                        compare(&inputs, reduction, &expected, &found.unwrap());
                    }
                }
            }
        }
    }
}

#[test]
fn integers_equal_the_reference() {
    let mut random = Random::new(1);
    everywhere(
        || (random.uniform() * 2e9) as i32 - 1_000_000_000,
        |_, _, expected, found| assert_eq!(expected, found),
    );
    everywhere(
        || (random.uniform() * 8e18) as i64 - 4_000_000_000_000_000_000,
        |_, _, expected, found| assert_eq!(expected, found),
    );
}

macro_rules! floats {
    ($name:ident, $type:ty) => {
        #[test]
        fn $name() {
            let mut random = Random::new(2);
            let make = || (random.uniform() * 4.0 - 2.0) as $type;
            everywhere(make, |inputs, reduction, expected, found| {
                let ranks = inputs.len() as $type;
                for (expected, found) in expected.iter().zip(found) {
                    assert_eq!(expected.len(), found.len());
                    for (expected, found) in expected.iter().zip(found) {
                        let scale = match reduction {
                            // No input is larger than 2.
                            Reduction::Sum => 2.0 * ranks,
                            Reduction::Product => expected.abs(),
                            _ => 0.0,
                        };
                        let bound = ranks * <$type>::EPSILON * scale;
                        assert!((expected - found).abs() <= bound, "{expected} {found}");
                    }
                }
            });
        }
    };
}

floats!(floats_of_32_bits_stay_within_the_bound, f32);
floats!(floats_of_64_bits_stay_within_the_bound, f64);

#[test]
fn every_run_gives_the_same_bits_whatever_the_pieces() {
    let schedule = schedules::ring_all_reduce(5, 2);
    let mut random = Random::new(3);
    let inputs = inputs(&schedule, 997, || random.uniform() as f32);
    let run = |piece| {
        let options = ExecuteOptions { piece, ..ExecuteOptions::default() };
        let outputs = execute(&schedule, inputs.clone(), Reduction::Sum, &options).unwrap();
        outputs.concat().into_iter().map(f32::to_bits).collect::<Vec<_>>()
    };
    let first = run(1 << 17);
    for turn in 0..20 {
        assert_eq!(run(64 << (turn % 4)), first);
    }
    assert!(run(1) == first, "a piece of less than an element is one element");
}

#[test]
fn data_in_place_stays_where_it_is_whether_or_not_it_divides_into_chunks() {
    let schedule = schedules::ring_all_reduce(3, 2);
    for length in [6, 1000, 1003] {
        let inputs = vec![vec![1_i64; length]; 3];
        let before: Vec<_> = inputs.iter().map(|input| input.as_ptr()).collect();
        let options =
            ExecuteOptions { placement: Some(Placement::InPlace), ..ExecuteOptions::default() };
        let outputs = execute(&schedule, inputs, Reduction::Sum, &options).unwrap();
        let after: Vec<_> = outputs.iter().map(|output| output.as_ptr()).collect();
        assert_eq!((before, &outputs), (after, &vec![vec![3; length]; 3]), "{length}");
    }
}

#[test]
fn sixteen_ranks_on_few_cores_end() {
    let schedule = schedules::one_hop_all_to_all(16, 2);
    let inputs: Vec<_> = (0..16).map(|rank| vec![rank; 16 * 300]).collect();
    let options = ExecuteOptions { piece: 256, ..ExecuteOptions::default() };
    let expected = reference(schedule.collective, &inputs, Reduction::Sum).unwrap();
    assert_eq!(execute(&schedule, inputs, Reduction::Sum, &options).unwrap(), expected);
}

#[test]
fn what_cannot_run_is_refused() {
    let options = ExecuteOptions::default();
    let run = |schedule: &Schedule, inputs: Vec<Vec<i32>>, options: &ExecuteOptions| {
        execute(schedule, inputs, Reduction::Sum, options).unwrap_err()
    };
    let star = schedules::star_reduce(3, 2);
    let right = vec![vec![1; 4]; 3];
    assert_eq!(
        run(&star, vec![vec![1; 4]; 2], &options),
        ExecuteError::Inputs { ranks: 3, inputs: 2 }
    );
    assert_eq!(
        run(&star, vec![vec![1; 4], vec![1; 5], vec![1; 4]], &options),
        ExecuteError::InputLength { rank: 1, found: 5, expected: 4 }
    );
    assert_eq!(
        run(&schedules::chain_broadcast(3, 2), right.clone(), &options),
        ExecuteError::InputLength { rank: 1, found: 4, expected: 0 }
    );
    assert_eq!(
        run(&schedules::one_hop_all_to_all(3, 2), right.clone(), &options),
        ExecuteError::Indivisible { rank: 0, found: 4, shards: 3 }
    );
    let in_place = ExecuteOptions { placement: Some(Placement::InPlace), ..options };
    let all_to_all = schedules::one_hop_all_to_all(2, 2);
    let text = run(&all_to_all, vec![vec![1; 4]; 2], &in_place).to_string();
    assert_eq!(text, "schedule `one-hop` does not run in place");
    let small = ExecuteOptions { memory: 100, ..options };
    assert!(matches!(run(&star, right.clone(), &small), ExecuteError::Memory { .. }));
    let none = ExecuteOptions { slots: 0, ..options };
    assert_eq!(run(&star, right.clone(), &none), ExecuteError::Zero { what: "slots" });
    let one = ExecuteOptions { slots: 1, ..options };
    let ring = schedules::ring_all_reduce(3, 1);
    assert!(matches!(run(&ring, right, &one), ExecuteError::Schedule(ScheduleFault::Deadlock(_))));
    let wrong_root = Collective::Broadcast { root: 5 };
    assert_eq!(
        reference(wrong_root, &[vec![1], vec![]], Reduction::Sum),
        Err(ExecuteError::Root { root: 5, ranks: 2 })
    );
}
