//! Who has which GPU: one job at a time.
//!
//! Each GPU has a queue of the jobs that want it, in the order of their arrival; a job runs when it
//! is the first at all of its GPUs. So it takes them at once and never waits for one with another
//! in its hands, and none passes an earlier one at a GPU that both want.

use std::collections::VecDeque;

use super::job::Job;

/// The jobs that hold GPUs, and those that wait for some.
#[derive(Debug, Clone)]
pub(super) struct Occupancy {
    /// For each GPU, the jobs that want it; the first has it, or will.
    queues: Vec<VecDeque<u32>>,
    /// At how many of its GPUs each job is the first.
    first_at: Vec<u32>,
}

impl Occupancy {
    pub(super) fn new(gpus: u32, jobs: usize) -> Self {
        Self { queues: vec![VecDeque::new(); gpus as usize], first_at: vec![0; jobs] }
    }

    /// A job arrives; whether it has its GPUs, so that it starts.
    pub(super) fn arrive(&mut self, job: u32, jobs: &[Job<'_>]) -> bool {
        let mapping = &jobs[job as usize].mapping;
        for gpu in mapping {
            let queue = &mut self.queues[*gpu as usize];
            queue.push_back(job);
            self.first_at[job as usize] += u32::from(queue.len() == 1);
        }
        self.first_at[job as usize] as usize == mapping.len()
    }

    /// A job gives its GPUs back; which others have theirs now, in the order of its ranks.
    pub(super) fn leave(&mut self, job: u32, jobs: &[Job<'_>]) -> Vec<u32> {
        let mut starting = Vec::new();
        for gpu in &jobs[job as usize].mapping {
            let queue = &mut self.queues[*gpu as usize];
            queue.pop_front();
            let Some(next) = queue.front().copied() else { continue };
            self.first_at[next as usize] += 1;
            if self.first_at[next as usize] as usize == jobs[next as usize].mapping.len() {
                starting.push(next);
            }
        }
        starting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;

    #[test]
    fn jobs_take_turns_in_the_order_of_their_arrival() {
        let program = Program {
            name: "test".to_owned(),
            communicators: Vec::new(),
            regions: Vec::new(),
            ranks: Vec::new(),
        };
        let mappings = [vec![0, 1], vec![1, 2], vec![2], vec![3], vec![0, 3]];
        let jobs = mappings.map(|mapping| Job::new(&program, mapping));
        let mut occupancy = Occupancy::new(4, jobs.len());
        let started: Vec<u32> = (0..5).filter(|job| occupancy.arrive(*job, &jobs)).collect();
        assert_eq!(started, [0, 3], "job 2 would pass job 1, which wants GPU 2 too");
        let mut leave = |job| occupancy.leave(job, &jobs);
        assert_eq!(leave(3), Vec::<u32>::new(), "job 4 wants GPU 0 as well");
        assert_eq!(leave(0), [4, 1]);
        assert_eq!(leave(4), Vec::<u32>::new());
        assert_eq!(leave(1), [2]);
    }
}
