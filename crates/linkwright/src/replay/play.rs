//! What drives a replay: one occurrence of the network after another.

use crate::engine::{Hook, Progress, Ticker};
use crate::network::{Occurrence, Transport};
use crate::units::Picoseconds;

use super::diagnosis::diagnose;
use super::envelope::Leg;
use super::error::ReplayError;
use super::lowering::Lowering;
use super::observer::Observer;
use super::outcome::{JobOutcome, Outcome};
use super::rank::{LIBRARY, PROCESSOR};
use super::runtime::Replay;
use super::works::Alarm;

impl<T: Transport, L: Lowering, O: Observer> Replay<'_, T, L, O> {
    /// Plays all jobs to their ends. The hook learns how many operations of the programs are
    /// complete, of how many, and how many events the network's model has handled.
    ///
    /// # Errors
    /// A message larger than its receive, ranks that call different collectives, a lowering
    /// that is no program, a time beyond 213 days, a network that is stuck, ranks that wait for
    /// ever and messages that nobody receives, a run that the hook ended.
    pub fn run(mut self, hook: Hook<'_>) -> Result<Outcome, ReplayError> {
        self.play(hook)?;
        Ok(self.outcome())
    }

    pub(super) fn play(&mut self, hook: Hook<'_>) -> Result<(), ReplayError> {
        let mut ticker = Ticker::new();
        for (index, job) in (0..).zip(self.jobs) {
            self.transport.wake_at(job.start, Alarm::Start.token(index));
        }
        while let Some(occurrence) = self.transport.next()? {
            self.now = self.transport.now().0;
            self.happen(occurrence)?;
            self.tick(&mut ticker, hook)?;
            while let Some(operation) = self.ready.pop_front() {
                self.execute(operation)?;
                self.tick(&mut ticker, hook)?;
            }
        }
        match diagnose(self, self.unfinished) {
            Some(stalled) => Err(Box::new(stalled).into()),
            None => Ok(()),
        }
    }

    fn tick(&self, ticker: &mut Ticker, hook: Hook<'_>) -> Result<(), ReplayError> {
        let (time, done, total) = (Picoseconds(self.now), self.done, self.total);
        let events = self.transport.events();
        let progress = || Progress { done, total, time, events };
        if ticker.reach(events + self.played, hook, progress).is_break() {
            return Err(ReplayError::Interrupted { time, done, total });
        }
        Ok(())
    }

    fn happen(&mut self, occurrence: Occurrence) -> Result<(), ReplayError> {
        match occurrence {
            Occurrence::Sent { token } => {
                let (leg, envelope) = Leg::of_token(token);
                self.sent(leg, envelope);
                Ok(())
            }
            Occurrence::Delivered { token } => {
                let (leg, envelope) = Leg::of_token(token);
                self.delivered(leg, envelope)
            }
            Occurrence::Working => Ok(()),
            Occurrence::Woken { token } => {
                let index = (token >> 2) as u32;
                match token & 3 {
                    0 => self.end_work(index, PROCESSOR),
                    1 => self.end_work(index, LIBRARY),
                    2 => {
                        self.send_leg(Leg::Data, index);
                        Ok(())
                    }
                    _ => {
                        self.start_job(index);
                        Ok(())
                    }
                }
            }
        }
    }

    /// Makes everything ready that waits for nothing.
    fn start_job(&mut self, job: u32) {
        let first = self.first[job as usize].0;
        for frame in first..first + self.jobs[job as usize].mapping.len() as u32 {
            if self.frames[frame as usize].left == 0 {
                self.finish_rank(frame);
            }
            self.start_frame(frame);
        }
    }

    pub(super) fn outcome(self) -> Outcome {
        let mut ranks = self.ranks.into_iter().map(|rank| rank.outcome);
        let jobs = self.jobs.iter().map(|job| {
            let ranks: Vec<_> = ranks.by_ref().take(job.mapping.len()).collect();
            let end = ranks.iter().map(|rank| rank.end).max().unwrap_or(job.start);
            JobOutcome { name: job.name.clone(), start: job.start, end, ranks }
        });
        let jobs = jobs.collect();
        let comparisons = self.matcher.comparisons() + self.pairs.comparisons();
        Outcome { jobs, operations: self.played, comparisons }
    }
}
