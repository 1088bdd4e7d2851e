//! Who has which GPU: one job at a time.
//!
//! Each GPU has a queue of the jobs that want it, in the order of their arrival. A job runs when it
//! is the first at all of its GPUs. So it takes them at once and never waits for one with another
//! in its hands. None passes an earlier one at a GPU that both want.

use std::collections::VecDeque;

use crate::network::GpuIndex;

/// Holds the GPUs that a job wants, up to its end.
#[derive(Debug, Clone)]
struct Wants {
    gpus: Vec<GpuIndex>,
    /// At how many of them it is the first.
    first_at: u32,
}

impl Wants {
    fn has_all(&self) -> bool {
        self.first_at as usize == self.gpus.len()
    }
}

/// Keeps the jobs that hold GPUs, and those that wait for some.
#[derive(Debug, Clone)]
pub(super) struct Occupancy {
    /// For each GPU, the jobs that want it; the first has it, or will.
    queues: Vec<VecDeque<u32>>,
    /// Holds the wants of each job.
    wants: Vec<Wants>,
}

impl Occupancy {
    pub(super) fn new(gpus: u32) -> Self {
        Self { queues: vec![VecDeque::new(); gpus as usize], wants: Vec::new() }
    }

    /// One job more, which will want these GPUs.
    pub(super) fn add(&mut self, gpus: &[GpuIndex]) {
        self.wants.push(Wants { gpus: gpus.to_vec(), first_at: 0 });
    }

    /// A job arrives; whether it has its GPUs, so that it starts.
    pub(super) fn arrive(&mut self, job: u32) -> bool {
        let wants = &mut self.wants[job as usize];
        for gpu in &wants.gpus {
            let queue = &mut self.queues[*gpu as usize];
            queue.push_back(job);
            wants.first_at += u32::from(queue.len() == 1);
        }
        wants.has_all()
    }

    /// Lists the jobs that have arrived and do not have their GPUs. Each comes with the first of
    /// its GPUs that an earlier job has or wants, and with the first of the jobs that do.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u32, GpuIndex, u32)> {
        (0..).zip(&self.wants).filter_map(|(job, wants)| {
            wants.gpus.iter().find_map(|gpu| {
                let queue = &self.queues[*gpu as usize];
                let first = *queue.front()?;
                (first != job && queue.contains(&job)).then_some((job, *gpu, first))
            })
        })
    }

    /// A job gives its GPUs back; which others have theirs now, in the order of its ranks.
    pub(super) fn leave(&mut self, job: u32) -> Vec<u32> {
        let mut starting = Vec::new();
        for gpu in std::mem::take(&mut self.wants[job as usize].gpus) {
            let queue = &mut self.queues[gpu as usize];
            queue.pop_front();
            let Some(next) = queue.front().copied() else { continue };
            let wants = &mut self.wants[next as usize];
            wants.first_at += 1;
            if wants.has_all() {
                starting.push(next);
            }
        }
        starting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_take_turns_in_the_order_of_their_arrival() {
        let mut occupancy = Occupancy::new(4);
        for gpus in [&[0, 1][..], &[1, 2], &[2], &[3], &[0, 3]] {
            occupancy.add(gpus);
        }
        let started: Vec<u32> = (0..5).filter(|job| occupancy.arrive(*job)).collect();
        assert_eq!(started, [0, 3], "job 2 would pass job 1, which wants GPU 2 too");
        let waiting: Vec<_> = occupancy.waiting().collect();
        assert_eq!(waiting, [(1, 1, 0), (2, 2, 1), (4, 0, 0)]);
        let mut leave = |job| occupancy.leave(job);
        assert_eq!(leave(3), Vec::<u32>::new(), "job 4 wants GPU 0 as well");
        assert_eq!(leave(0), [4, 1]);
        assert_eq!(leave(4), Vec::<u32>::new());
        assert_eq!(leave(1), [2]);
        assert_eq!(occupancy.waiting().count(), 0);
    }
}
