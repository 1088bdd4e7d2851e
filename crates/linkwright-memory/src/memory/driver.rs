//! Plays the driver's part around kernels: copies, launches, and caches emptied between them.

use super::address::{AddressMap, LINE};
use super::error::GpuRunError;
use super::kernel::KernelWorkload;
use super::protocol::{CoherenceProtocol, Flush, Level};
use super::requests::{Request, Stage};
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::units::Picoseconds;

/// Names a step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverStep {
    /// A buffer is copied to the GPUs.
    CopyIn(usize),
    /// A kernel runs.
    Kernel(usize),
    /// Lines that memory lacks are written back, before copies out.
    WriteBack,
    /// A buffer is copied to the host.
    CopyOut(usize),
}

/// Lists the steps of a run, one after another.
#[derive(Debug)]
pub(super) struct Phases {
    steps: Vec<DriverStep>,
    /// The step that runs, and whether its work has begun.
    at: usize,
    began: Option<Picoseconds>,
    ended: bool,
    /// Says how long each step took.
    times: Vec<Picoseconds>,
    /// The launch that runs, or ran last.
    launch: usize,
    /// Lines on their way from second levels to memory that nobody waits for.
    write_backs: u64,
    /// Says whether the step waits for them.
    waits_for_write_backs: bool,
    /// Counts the parts of a copy under way.
    copies: u64,
}

impl Phases {
    /// The steps of a workload, with copies where the GPUs have memories of their own.
    pub(super) fn of(workload: &KernelWorkload, copies: bool) -> Self {
        let buffers = || workload.buffers.iter().enumerate().filter(move |_| copies);
        let ins = buffers().filter(|(_, buffer)| buffer.initial.is_some());
        let outs = buffers().filter(|(_, buffer)| buffer.copied_out);
        let flush = buffers().any(|(_, buffer)| buffer.copied_out).then_some(DriverStep::WriteBack);
        let steps = (ins.map(|(buffer, _)| DriverStep::CopyIn(buffer)))
            .chain((0..workload.launches.len()).map(DriverStep::Kernel))
            .chain(flush)
            .chain(outs.map(|(buffer, _)| DriverStep::CopyOut(buffer)))
            .collect();
        Self {
            steps,
            at: 0,
            began: None,
            ended: false,
            times: Vec::new(),
            launch: 0,
            write_backs: 0,
            waits_for_write_backs: false,
            copies: 0,
        }
    }

    /// Whether all steps are done.
    pub(super) fn are_over(&self) -> bool {
        self.at == self.steps.len()
    }

    /// Gives the launch that runs, or ran last.
    #[inline]
    pub(super) fn launch(&self) -> usize {
        self.launch
    }

    /// A launch begins.
    pub(super) fn begin_launch(&mut self, launch: usize) {
        self.launch = launch;
    }

    /// A line leaves a second level for memory.
    #[inline]
    pub(super) fn write_back_left(&mut self) {
        self.write_backs += 1;
    }

    /// Such a line is in memory. Whether the step has waited for it, as for the last.
    #[inline]
    pub(super) fn write_back_came(&mut self) -> bool {
        self.write_backs -= 1;
        let ends = self.write_backs == 0 && self.waits_for_write_backs;
        self.waits_for_write_backs &= !ends;
        ends
    }

    /// Lists the steps, each with how long it took.
    pub(super) fn timed(&self) -> impl Iterator<Item = (DriverStep, Picoseconds)> {
        self.steps.iter().copied().zip(self.times.iter().copied())
    }
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// The driver goes on: the step is over, and the next begins.
    pub(super) fn next_phase(
        &mut self,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<(), GpuRunError> {
        let now = scheduler.now();
        if let Some(began) = self.phases.began {
            // A kernel's end empties caches, and the step ends when memory has everything.
            if !self.phases.ended && self.empty_caches(scheduler) {
                self.phases.ended = true;
                self.phases.waits_for_write_backs = true;
                return Ok(());
            }
            self.phases.times.push(Picoseconds(now.0 - began.0));
            self.phases.at += 1;
        }
        (self.phases.began, self.phases.ended) = (Some(now), false);
        let cycles = |count: u32| Picoseconds(u64::from(count) * self.counts.cycle);
        let driver = self.hierarchy.driver;
        match self.phases.steps.get(self.phases.at) {
            None => {}
            Some(DriverStep::Kernel(launch)) => self.start_launch(*launch, scheduler),
            Some(DriverStep::CopyIn(buffer)) => {
                let at = Picoseconds(now.0 + cycles(driver.copy_in).0);
                self.copy(*buffer, true, at, scheduler);
            }
            Some(DriverStep::CopyOut(buffer)) => {
                let at = Picoseconds(now.0 + cycles(driver.copy_out).0);
                self.copy(*buffer, false, at, scheduler);
            }
            Some(DriverStep::WriteBack) => {
                scheduler.schedule(now, Event::Phase);
            }
        }
        Ok(())
    }

    /// The last wavefront of a launch has ended: the host hears of it, and launches again.
    pub(super) fn launch_done(&mut self, scheduler: &mut impl Scheduler<Event>) {
        let driver = self.hierarchy.driver;
        let another = self.phases.launch + 1 < self.workload.launches.len();
        let cycles = driver.launch + if another { driver.relaunch } else { 0 };
        let span = Picoseconds(u64::from(cycles) * self.counts.cycle);
        scheduler.schedule_in(span, Event::Phase);
    }

    /// Empties caches as a step's end demands. Says whether anything is on its way to memory for
    /// it.
    fn empty_caches(&mut self, scheduler: &mut impl Scheduler<Event>) -> bool {
        let step = self.phases.steps[self.phases.at];
        let flush = match step {
            DriverStep::Kernel(_) => {
                self.meet();
                if self.protocol.on_boundary(Level::L1) == Flush::Invalidate {
                    self.first.forget_all();
                }
                // Each line has one second level where that is its own GPU's: it may stay there.
                match self.protocol.on_boundary(Level::L2) {
                    Flush::WriteBack => Flush::Nothing,
                    other => other,
                }
            }
            DriverStep::WriteBack => Flush::Invalidate,
            DriverStep::CopyIn(_) | DriverStep::CopyOut(_) => Flush::Nothing,
        };
        if flush == Flush::Nothing {
            return false;
        }
        self.flush_second(flush, scheduler);
        self.phases.write_backs > 0
    }

    /// All wavefronts have met, by the host or by the dispatcher, and hear of each other.
    pub(super) fn meet(&mut self) {
        self.first.meet(&self.protocol);
    }

    /// Copies a buffer, page by page from or to the host.
    fn copy(
        &mut self,
        buffer: usize,
        is_in: bool,
        at: Picoseconds,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let buffer = &self.workload.buffers[buffer];
        let (first, end) = (buffer.address / LINE, (buffer.address + buffer.size.0).div_ceil(LINE));
        let page = self.hierarchy.page.0 / LINE;
        let mut line = first;
        while line < end {
            let lines = page.min(end - line);
            let physical = self.map.physical(line);
            let gpu = AddressMap::memory(physical);
            for of_page in line..line + lines {
                let place = self.map.physical(of_page);
                let channel = gpu * self.counts.banks + self.map.bank(place);
                self.memory.copy(channel, is_in);
            }
            let host = self.counts.gpus;
            let (from, to) = if is_in { (host, gpu) } else { (gpu, host) };
            let request = self.requests.add(Request {
                stage: Stage::Copied,
                path: self.links.between(from, to),
                bytes: (lines * LINE) as u32,
                ..Request::new(line, physical, at.0, gpu)
            });
            self.phases.copies += 1;
            scheduler.schedule(at, Event::Cross(request));
            line += lines;
        }
    }

    /// A part of a copy is at its end.
    pub(super) fn copied(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        self.requests.remove(index);
        self.phases.copies -= 1;
        if self.phases.copies == 0 {
            scheduler.schedule_in(Picoseconds(0), Event::Phase);
        }
    }
}
