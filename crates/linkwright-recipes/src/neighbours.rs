//! Adds an application: a ring of ranks in which each sends to the next.

use linkwright::diagnostic::Registered;
use linkwright::network::RouteClass;
use linkwright::program::skeletons::{Application, SkeletonError};
use linkwright::program::{Operation, Program, RankBuilder, WORLD};
use linkwright::units::{Bytes, Picoseconds};

const MESSAGE: Bytes = Bytes(4096);

/// Computes, and swaps a message with its neighbours in a ring.
#[derive(Debug)]
pub struct Neighbours;

impl Registered for Neighbours {
    fn name(&self) -> &'static str {
        "neighbours"
    }
}

impl Application for Neighbours {
    fn summary(&self) -> &'static str {
        "a ring of ranks in which each sends to the next"
    }

    fn gpu_speedup(&self) -> f64 {
        10.0
    }

    fn generate(&self, ranks: u32, options: &toml::Table) -> Result<Program, SkeletonError> {
        let application = self.name();
        if let Some(key) = options.keys().next() {
            let problem = format!("it has no `{key}`; remove it");
            return Err(SkeletonError::Options { application, problem });
        }
        if ranks < 2 {
            let reason = "a ring has neighbours; take at least 2";
            return Err(SkeletonError::Ranks { application, ranks, reason });
        }
        let (tag, communicator, size) = (0, WORLD, MESSAGE);
        let part = |me: u32| {
            let (to, from) = ((me + 1) % ranks, Some((me + ranks - 1) % ranks));
            let mut rank = RankBuilder::default();
            rank.begin_body();
            rank.run(Operation::Compute { duration: Picoseconds(1_000_000) });
            let received =
                rank.start(Operation::Receive { from, tag: Some(tag), communicator, size });
            let route = RouteClass::Any;
            rank.run(Operation::Send { to, tag, communicator, size, route });
            rank.wait(&[received]);
            rank.end_body();
            rank.finish()
        };
        Ok(Program {
            name: application.to_owned(),
            communicators: vec![(0..ranks).collect()],
            regions: Vec::new(),
            ranks: (0..ranks).map(part).collect(),
        })
    }
}
