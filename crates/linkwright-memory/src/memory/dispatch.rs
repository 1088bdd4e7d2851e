//! Brings work-groups to compute units, and wavefronts from operation to operation.

use std::cell::RefCell;
use std::rc::Rc;

use super::address::Distribution;
use super::code::Reading;
use super::compute_unit::{Running, Waits};
use super::error::GpuRunError;
use super::kernel::{Launch, Wavefront, WavefrontOperation, WavefrontPlace, WavefrontState};
use super::protocol::CoherenceProtocol;
use super::run::GpuOptions;
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::system::gpus::Compute;
use crate::units::Picoseconds;

/// A work-group that runs on a compute unit.
#[derive(Debug, Clone, Default)]
struct Group {
    /// Tells it from others of the launch.
    number: u32,
    unit: u32,
    /// Says when the compute unit took it in.
    start: Picoseconds,
    /// Its wavefronts that have not ended.
    left: u32,
    /// Those of them that are at the barrier.
    at_barrier: u32,
    /// Lists its wavefronts that run.
    wavefronts: Vec<u32>,
}

/// Which work-groups wait, and where there is room.
#[derive(Debug)]
pub(super) struct Dispatcher {
    /// Counts the GPUs that run work-groups, from the first on.
    gpus: u32,
    /// The next work-group of each GPU, and the first that is not its own.
    next: Vec<(u32, u32)>,
    /// When each GPU may start another wavefront.
    free: Vec<u64>,
    /// The compute unit of each GPU that is asked first.
    turn: Vec<u32>,
    /// Counts the room for wavefronts on each vector unit.
    room: Vec<u32>,
    /// Counts the memory for work-groups on each compute unit.
    local: Vec<u64>,
    /// Wavefronts of the launch that have not ended.
    left: u32,
    /// Counts the wavefronts of the launch at its barrier.
    at_barrier: u32,
    /// Wavefronts that have ended, of all launches up to now.
    ended: u64,
    /// Work-groups that run, whose numbers are given again.
    groups: Vec<Group>,
    free_groups: Vec<u32>,
}

impl Dispatcher {
    /// Starts with all units empty.
    pub(super) fn new(compute: &Compute, gpus: u32, distribution: Distribution) -> Self {
        let units = compute.units * gpus;
        Self {
            gpus: distribution.computing(gpus),
            next: vec![(0, 0); gpus as usize],
            free: vec![0; gpus as usize],
            turn: vec![0; gpus as usize],
            room: vec![compute.wavefronts; (units * compute.simds) as usize],
            local: vec![compute.lds.0; units as usize],
            left: 0,
            at_barrier: 0,
            ended: 0,
            groups: Vec::new(),
            free_groups: Vec::new(),
        }
    }

    /// Gives how many wavefronts have ended.
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }

    /// Gives a running work-group's number in its launch, its compute unit, and when it came there.
    pub(super) fn group(&self, group: u32) -> (u32, u32, Picoseconds) {
        let group = &self.groups[group as usize];
        (group.number, group.unit, group.start)
    }
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// Starts a launch: its work-groups go to the GPUs in equal runs.
    pub(super) fn start_launch(&mut self, launch: usize, scheduler: &mut impl Scheduler<Event>) {
        let Launch { groups, wavefronts, .. } = self.workload.launches[launch];
        self.phases.begin_launch(launch);
        let gpus = self.dispatcher.gpus;
        let each = groups.div_ceil(gpus);
        self.dispatcher.left = groups * wavefronts;
        self.dispatcher.at_barrier = 0;
        for gpu in 0..gpus {
            let runs = (each * gpu).min(groups)..(each * (gpu + 1)).min(groups);
            self.dispatcher.next[gpu as usize] = (runs.start, runs.end);
            self.dispatcher.free[gpu as usize] = scheduler.now().0;
            self.dispatch(gpu, scheduler);
        }
    }

    /// Starts work-groups of a GPU as long as there is room.
    fn dispatch(&mut self, gpu: u32, scheduler: &mut impl Scheduler<Event>) {
        let launch = &self.workload.launches[self.phases.launch()];
        loop {
            let (number, end) = self.dispatcher.next[gpu as usize];
            if number == end {
                return;
            }
            let units = self.counts.units;
            let turn = self.dispatcher.turn[gpu as usize];
            let room = (0..units)
                .map(|step| gpu * units + (turn + step) % units)
                .find(|unit| self.has_room(*unit, launch));
            let Some(unit) = room else { return };
            self.dispatcher.turn[gpu as usize] = (unit % units + 1) % units;
            self.dispatcher.next[gpu as usize].0 += 1;
            self.start_group(number, unit, launch, scheduler);
        }
    }

    fn has_room(&self, unit: u32, launch: &Launch) -> bool {
        let simds = self.counts.simds as usize;
        let first = unit as usize * simds;
        let room: u32 = self.dispatcher.room[first..first + simds].iter().sum();
        room >= launch.wavefronts && self.dispatcher.local[unit as usize] >= launch.lds.0
    }

    fn start_group(
        &mut self,
        number: u32,
        unit: u32,
        launch: &Launch,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        self.dispatcher.local[unit as usize] -= launch.lds.0;
        let gpu = unit / self.counts.units;
        let local = Rc::new(RefCell::new(Vec::new()));
        let index = self.dispatcher.free_groups.pop().unwrap_or_else(|| {
            self.dispatcher.groups.push(Group::default());
            (self.dispatcher.groups.len() - 1) as u32
        });
        let wavefronts = launch.wavefronts;
        let simds = self.counts.simds;
        for wavefront in 0..wavefronts {
            let first = unit * simds;
            let most = (first..first + simds)
                .max_by_key(|simd| (self.dispatcher.room[*simd as usize], u32::MAX - simd));
            let simd = most.unwrap_or(first);
            self.dispatcher.room[simd as usize] -= 1;
            let place = WavefrontPlace {
                group: number,
                wavefront,
                wavefronts,
                gpu,
                gpus: self.dispatcher.gpus,
            };
            let state = WavefrontState::new(place, self.memory.has_data(), Rc::clone(&local));
            let running = Running {
                program: launch.program(Wavefront::of(&state)),
                state,
                unit,
                simd,
                group: index,
                under_way: 0,
                waits: Waits::ForItself,
                accessed: WavefrontOperation::Nothing,
                issuing: (0, 0),
                reading: Reading::default(),
            };
            let slot = self.wavefronts.start(running);
            self.dispatcher.groups[index as usize].wavefronts.push(slot);
            let free = &mut self.dispatcher.free[gpu as usize];
            *free = scheduler.now().0.max(*free) + self.counts.cycle;
            scheduler.schedule(Picoseconds(*free), Event::Resume(slot));
        }
        let group = &mut self.dispatcher.groups[index as usize];
        (group.number, group.unit, group.start) = (number, unit, scheduler.now());
        (group.left, group.at_barrier) = (wavefronts, 0);
    }

    /// One wavefront more of a work-group is at its barrier.
    pub(super) fn come_to_group_barrier(
        &mut self,
        group: u32,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        self.dispatcher.groups[group as usize].at_barrier += 1;
        self.open_barrier(group, scheduler);
    }

    /// Lets a work-group pass its barrier once all are there.
    fn open_barrier(&mut self, group: u32, scheduler: &mut impl Scheduler<Event>) {
        let state = &mut self.dispatcher.groups[group as usize];
        if state.left == 0 || state.at_barrier < state.left {
            return;
        }
        state.at_barrier = 0;
        for wavefront in &self.dispatcher.groups[group as usize].wavefronts {
            if let Some(running) = self.wavefronts.get_mut(*wavefront)
                && running.group == group
                && running.waits == Waits::AtBarrier
            {
                running.waits = Waits::ForItself;
                let next = Picoseconds(self.counts.cycle);
                scheduler.schedule_in(next, Event::Resume(*wavefront));
            }
        }
    }

    /// One wavefront more is at the barrier of its launch.
    pub(super) fn come_to_launch_barrier(&mut self, scheduler: &mut impl Scheduler<Event>) {
        self.dispatcher.at_barrier += 1;
        self.open_launch_barrier(scheduler);
    }

    /// Lets a launch pass its barrier once all are there.
    fn open_launch_barrier(&mut self, scheduler: &mut impl Scheduler<Event>) {
        if self.dispatcher.at_barrier < self.dispatcher.left {
            return;
        }
        self.dispatcher.at_barrier = 0;
        self.meet();
        for index in self.wavefronts.numbers() {
            if let Some(running) = self.wavefronts.get_mut(index)
                && running.waits == Waits::AtLaunchBarrier
            {
                running.waits = Waits::ForItself;
                scheduler.schedule_in(Picoseconds(self.counts.cycle), Event::Resume(index));
            }
        }
    }

    /// A wavefront has ended, and all that it asked of memory is done.
    pub(super) fn end(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let Some(running) = self.wavefronts.end(index) else { return };
        self.code.forget(&running.reading);
        self.dispatcher.room[running.simd as usize] += 1;
        self.dispatcher.ended += 1;
        self.dispatcher.left -= 1;
        let group = &mut self.dispatcher.groups[running.group as usize];
        group.left -= 1;
        if group.left == 0 {
            group.wavefronts.clear();
            self.end_group(running.group, scheduler.now());
            self.dispatcher.free_groups.push(running.group);
            let lds = self.workload.launches[self.phases.launch()].lds.0;
            self.dispatcher.local[running.unit as usize] += lds;
            self.dispatch(running.unit / self.counts.units, scheduler);
        } else {
            self.open_barrier(running.group, scheduler);
        }
        if self.dispatcher.left == 0 {
            self.launch_done(scheduler);
        } else {
            self.open_launch_barrier(scheduler);
        }
    }

    /// The last access of a wavefront, as a part of a sentence; nothing where it had none.
    fn accessed(&self, running: &Running) -> String {
        let what = match running.accessed {
            WavefrontOperation::Load | WavefrontOperation::LoadScalar => "a load from",
            WavefrontOperation::Store => "a store to",
            WavefrontOperation::Atomic(_) => "an atomic at",
            _ => return String::new(),
        };
        let Some(address) = running.state.posted().lanes.first() else { return String::new() };
        let mut buffers = self.workload.buffers.iter();
        let holds = buffers.find(|it| (it.address..it.address + it.size.0).contains(&address));
        let place = holds.map_or_else(
            || format!("address {address:#x}"),
            |buffer| format!("byte {} of {}", address - buffer.address, buffer.name),
        );
        let line = running.state.line().map_or(String::new(), |line| format!(" (line {line})"));
        format!(", its last access {what} {place}{line}")
    }

    /// The kernel that runs, and the first of the wavefronts that have not ended, each with what
    /// it waits for.
    fn unfinished(&self) -> (String, String) {
        let mut shown = Vec::new();
        for running in self.wavefronts.iter().take(4) {
            let WavefrontPlace { group, wavefront, .. } = Wavefront::of(&running.state).place();
            let (gpu, unit) = (running.unit / self.counts.units, running.unit % self.counts.units);
            shown.push(format!(
                "wavefront {wavefront} of group {group} (compute unit {unit} of GPU {gpu}) {}{}",
                running.waits.told(),
                self.accessed(running)
            ));
        }
        let kernel = self.workload.launches.get(self.phases.launch());
        (kernel.map_or("", |launch| &*launch.name).to_owned(), shown.join("; "))
    }

    /// Returns the error of a kernel that waits for ever.
    pub(super) fn stuck(&self) -> GpuRunError {
        let (kernel, shown) = self.unfinished();
        GpuRunError::Stuck { kernel, wavefronts: self.wavefronts.iter().count(), shown }
    }

    /// Returns the error of a kernel that runs for longer than was allowed.
    pub(super) fn too_long(&self) -> GpuRunError {
        let (kernel, shown) = self.unfinished();
        let GpuOptions { limit, memory, .. } = *self.options;
        GpuRunError::TooLong { kernel, limit, shown, is_coherent: memory.is_coherent() }
    }
}
