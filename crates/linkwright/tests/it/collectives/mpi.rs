//! Writes MPI's rules down again, in random interleavings: a second opinion beside the checker.

use linkwright::collectives::check::DEFAULT_SLOTS;
use linkwright::collectives::mpi::{MpiAlgorithm, Source};
use linkwright::collectives::source::{ScheduleSource, materialise};
use linkwright::collectives::{Channel, Placement};
use linkwright::engine::Random;
use linkwright::program::CollectiveKind;

use super::interpreter::play;

#[test]
fn every_interleaving_gives_what_is_promised() {
    let mut random = Random::new(7);
    for kind in CollectiveKind::ALL {
        for algorithm in MpiAlgorithm::of(kind) {
            for ranks in [1, 2, 3, 4, 5, 7, 8, 11] {
                let source = Source::new(kind, *algorithm, ranks, ranks / 2).expect("it fits");
                let gpus: Vec<usize> = (0..source.ranks()).collect();
                let schedule =
                    materialise(&source, "mpi", &gpus, Channel::default()).expect("few ranks");
                for placement in Placement::declared(&schedule) {
                    for _ in 0..6 {
                        let played = play(&schedule, placement, DEFAULT_SLOTS, &mut random);
                        assert_eq!(played, Ok(()), "{source:?} {placement}");
                    }
                }
            }
        }
    }
}
