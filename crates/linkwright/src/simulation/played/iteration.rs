//! A workload as a program of one iteration.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::program::{Collective, Operation, Program, RankBuilder, RankProgram, WORLD};
use crate::simulation::error::SimulationError;
use crate::simulation::workload::Workload;

/// What every rank of a workload does on so many GPUs, iteration by iteration: it computes, and then
/// all reduce the gradients. One GPU only computes.
pub fn program_of(workload: &Workload, gpus: u32) -> Program {
    Program {
        name: workload.name.clone(),
        communicators: vec![(0..gpus).collect()],
        regions: Vec::new(),
        ranks: vec![rank_of(workload, gpus); gpus as usize],
    }
}

fn rank_of(workload: &Workload, gpus: u32) -> RankProgram {
    let mut rank = RankBuilder::default();
    rank.begin_body();
    rank.run(Operation::Compute { duration: workload.compute_per_iteration() });
    if gpus > 1 {
        let (kind, size) = (Collective::AllReduce, workload.bytes_per_iteration());
        rank.run(Operation::Collective { kind, root: 0, communicator: WORLD, size });
    }
    rank.end_body();
    rank.finish()
}

/// The programs of workloads, each made once.
#[derive(Debug, Default)]
pub(super) struct Programs {
    known: BTreeMap<(&'static str, u32), Arc<Program>>,
}

impl Programs {
    pub(super) fn of(&mut self, name: &str, gpus: u32) -> Result<Arc<Program>, SimulationError> {
        let workload = Workload::find(name)?;
        let known = self.known.entry((&workload.name, gpus));
        Ok(Arc::clone(known.or_insert_with(|| Arc::new(program_of(workload, gpus)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_computes_and_reduces_the_gradients() {
        let vgg = Workload::find("vgg-16").unwrap();
        let program = program_of(vgg, 3);
        assert_eq!(program.ranks.len(), 3);
        for rank in &program.ranks {
            assert_eq!(rank.body(), Some((0, 2)));
            let [Operation::Compute { duration }, Operation::Collective { kind, size, .. }] =
                *rank.operations()
            else {
                panic!("{:?}", rank.operations());
            };
            assert_eq!(duration, vgg.compute_per_iteration());
            assert_eq!((kind, size), (Collective::AllReduce, vgg.bytes_per_iteration()));
        }
        assert_eq!(program_of(vgg, 1).ranks[0].operations().len(), 1);
    }
}
