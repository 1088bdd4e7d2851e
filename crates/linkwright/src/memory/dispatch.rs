//! Work-groups to compute units, and wavefronts from operation to operation.

use std::cell::RefCell;
use std::rc::Rc;

use super::compute_unit::{Group, Load, Running, Waits};
use super::consistency::Consistency;
use super::error::GpuError;
use super::kernel::{Launch, Loaded, Operation, Place, Scope, Values, Wavefront, WavefrontState};
use super::protocol::{Flush, Level, Protocol};
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::system::gpus::Compute;
use crate::units::Picoseconds;

/// Which work-groups wait, and where there is room.
#[derive(Debug)]
pub(super) struct Dispatcher {
    /// The next work-group of each GPU, and the first that is not its own.
    next: Vec<(u32, u32)>,
    /// When each GPU may start another wavefront.
    free: Vec<u64>,
    /// The compute unit of each GPU that is asked first.
    turn: Vec<u32>,
    /// Room for wavefronts on each vector unit.
    room: Vec<u32>,
    /// Memory for work-groups on each compute unit.
    local: Vec<u64>,
    /// Wavefronts of the launch that have not ended.
    left: u32,
    /// Wavefronts of the launch at its barrier.
    at_barrier: u32,
    /// Wavefronts that have ended, of all launches so far and to come.
    pub ended: u64,
    /// How many there are.
    pub total: u64,
}

impl Dispatcher {
    /// All units empty.
    pub(super) fn new(compute: &Compute, gpus: u32) -> Self {
        let units = compute.units * gpus;
        Self {
            next: vec![(0, 0); gpus as usize],
            free: vec![0; gpus as usize],
            turn: vec![0; gpus as usize],
            room: vec![compute.wavefronts; (units * compute.simds) as usize],
            local: vec![compute.lds.0; units as usize],
            left: 0,
            at_barrier: 0,
            ended: 0,
            total: 0,
        }
    }
}

impl<P: Protocol, C: Consistency> Gpus<'_, P, C> {
    /// Starts a launch: its work-groups go to the GPUs in equal runs.
    pub(super) fn start_launch(&mut self, launch: usize, scheduler: &mut impl Scheduler<Event>) {
        let Launch { groups, wavefronts, .. } = self.workload.launches[launch];
        self.phases.launch = launch;
        let gpus = self.counts.gpus;
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
        let launch = &self.workload.launches[self.phases.launch];
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
        let index = self.free_groups.pop().unwrap_or_else(|| {
            self.groups.push(Group::default());
            (self.groups.len() - 1) as u32
        });
        let wavefronts = launch.wavefronts;
        let simds = self.counts.simds;
        for wavefront in 0..wavefronts {
            let first = unit * simds;
            let most = (first..first + simds)
                .max_by_key(|simd| (self.dispatcher.room[*simd as usize], u32::MAX - simd));
            let simd = most.unwrap_or(first);
            self.dispatcher.room[simd as usize] -= 1;
            let place = Place { group: number, wavefront, wavefronts, gpu, gpus: self.counts.gpus };
            let state = WavefrontState::new(place, self.image.is_some(), Rc::clone(&local));
            let running = Running {
                program: launch.program(Wavefront::of(&state)),
                state,
                unit,
                simd,
                group: index,
                under_way: 0,
                waits: Waits::ForItself,
                issuing: (0, 0),
            };
            let slot = self.free_running.pop().unwrap_or_else(|| {
                self.running.push(None);
                (self.running.len() - 1) as u32
            });
            self.running[slot as usize] = Some(running);
            self.groups[index as usize].wavefronts.push(slot);
            let free = &mut self.dispatcher.free[gpu as usize];
            *free = scheduler.now().0.max(*free) + self.counts.cycle;
            scheduler.schedule(Picoseconds(*free), Event::Resume(slot));
        }
        let group = &mut self.groups[index as usize];
        (group.number, group.unit, group.left, group.at_barrier) = (number, unit, wavefronts, 0);
    }

    /// A wavefront runs up to what takes time.
    pub(super) fn resume(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        loop {
            let Some(running) = &mut self.running[index as usize] else { return };
            running.waits = Waits::ForItself;
            let Some(operation) = running.state.resume(&mut running.program) else {
                running.waits = Waits::ToEnd;
                if running.under_way == 0 {
                    self.end(index, scheduler);
                }
                return;
            };
            let now = scheduler.now();
            match operation {
                Operation::Nothing => {}
                Operation::Compute(count) | Operation::Lds(count) => {
                    self.done.instructions += u64::from(count);
                    let at = self.units.compute(now.0, running.simd, count);
                    scheduler.schedule(Picoseconds(at), Event::Resume(index));
                    return;
                }
                Operation::Load
                | Operation::LoadScalar
                | Operation::Store
                | Operation::Atomic(_) => {
                    running.waits = Waits::ToAccess(operation);
                    if !C::waits(running.under_way) {
                        self.start_access(index, scheduler);
                    }
                    return;
                }
                Operation::Arrived(Loaded(load)) => {
                    if !self.loads[load as usize].done {
                        running.waits = Waits::ForLoad(load);
                        return;
                    }
                    if let Some(words) = self.loads[load as usize].words.take() {
                        running.state.posted().loaded = words.1;
                    }
                    self.free_loads.push(load);
                }
                Operation::Fence => {
                    self.done.instructions += 1;
                    if running.under_way > 0 {
                        running.waits = Waits::AtFence;
                        return;
                    }
                    self.fence(index);
                }
                Operation::Barrier(Scope::Group) => {
                    self.done.instructions += 1;
                    running.waits = Waits::AtBarrier;
                    let group = running.group;
                    self.groups[group as usize].at_barrier += 1;
                    self.open_barrier(group, scheduler);
                    return;
                }
                Operation::Barrier(Scope::Launch) => {
                    running.waits = Waits::AtLaunchBarrier;
                    self.dispatcher.at_barrier += 1;
                    self.open_launch_barrier(scheduler);
                    return;
                }
            }
        }
    }

    /// What a fence does to the first level, once all before it is done.
    fn fence(&mut self, index: u32) {
        let Some(running) = &self.running[index as usize] else { return };
        if self.protocol.on_fence(Level::L1) != Flush::Nothing {
            self.vector.lines.forget_all(running.unit);
        }
    }

    /// A wavefront starts the access that it has asked for.
    fn start_access(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let Some(running) = &mut self.running[index as usize] else { return };
        let Waits::ToAccess(operation) = running.waits else { return };
        self.done.instructions += 1;
        self.done.memory += 1;
        running.under_way += 1;
        let posted = running.state.posted();
        let words = (posted.values.is_there() && operation != Operation::Store)
            .then(|| Box::new((posted.lanes.clone(), Values::zeros())));
        let lines = posted.lanes.lines().len() as u64;
        drop(posted);
        let load = Load { wavefront: index, pending: 1, ready: 0, done: false, operation, words };
        let slot = self.free_loads.pop().unwrap_or_else(|| {
            self.loads.push(Load::default());
            (self.loads.len() - 1) as u32
        });
        self.loads[slot as usize] = load;
        running.state.answer(Loaded(slot));
        running.issuing = (slot, 0);
        if lines == 0 {
            let next = Picoseconds(self.counts.cycle);
            running.waits = Waits::ForItself;
            scheduler.schedule_in(next, Event::Resume(index));
            scheduler.schedule_in(Picoseconds(0), Event::Done(slot));
            return;
        }
        let at = self.units.issue(scheduler.now().0, running.unit, lines);
        scheduler.schedule(Picoseconds(at), Event::Issue(index));
    }

    /// A load or store is done.
    pub(super) fn load_done(&mut self, load: u32, scheduler: &mut impl Scheduler<Event>) {
        let state = &mut self.loads[load as usize];
        state.done = true;
        let wavefront = state.wavefront;
        if state.operation == Operation::Store {
            self.free_loads.push(load);
        }
        let Some(running) = &mut self.running[wavefront as usize] else { return };
        running.under_way -= 1;
        let is_last = running.under_way == 0;
        match running.waits {
            Waits::ForLoad(other) if other == load => self.go_on(wavefront, scheduler),
            // An access that is being issued is itself under way.
            Waits::ToAccess(_) if is_last => self.start_access(wavefront, scheduler),
            Waits::AtFence if is_last => {
                self.fence(wavefront);
                self.go_on(wavefront, scheduler);
            }
            Waits::ToEnd if is_last => self.end(wavefront, scheduler),
            _ => {}
        }
    }

    fn go_on(&mut self, wavefront: u32, scheduler: &mut impl Scheduler<Event>) {
        if let Some(running) = &mut self.running[wavefront as usize] {
            // What it waited for is done: it asks for the same again, or for nothing.
            let load = match running.waits {
                Waits::ForLoad(load) => Some(load),
                _ => None,
            };
            running.waits = Waits::ForItself;
            if let Some(load) = load {
                if let Some(words) = self.loads[load as usize].words.take() {
                    running.state.posted().loaded = words.1;
                }
                self.free_loads.push(load);
            }
        }
        scheduler.schedule_in(Picoseconds(0), Event::Resume(wavefront));
    }

    fn open_barrier(&mut self, group: u32, scheduler: &mut impl Scheduler<Event>) {
        let state = &mut self.groups[group as usize];
        if state.left == 0 || state.at_barrier < state.left {
            return;
        }
        state.at_barrier = 0;
        for wavefront in &self.groups[group as usize].wavefronts {
            if let Some(running) = &mut self.running[*wavefront as usize]
                && running.group == group
                && running.waits == Waits::AtBarrier
            {
                running.waits = Waits::ForItself;
                let next = Picoseconds(self.counts.cycle);
                scheduler.schedule_in(next, Event::Resume(*wavefront));
            }
        }
    }

    fn open_launch_barrier(&mut self, scheduler: &mut impl Scheduler<Event>) {
        if self.dispatcher.at_barrier < self.dispatcher.left {
            return;
        }
        self.dispatcher.at_barrier = 0;
        for index in 0..self.running.len() as u32 {
            if let Some(running) = &mut self.running[index as usize]
                && running.waits == Waits::AtLaunchBarrier
            {
                running.waits = Waits::ForItself;
                scheduler.schedule_in(Picoseconds(self.counts.cycle), Event::Resume(index));
            }
        }
    }

    /// A wavefront has ended, and all that it asked of memory is done.
    fn end(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let Some(running) = self.running[index as usize].take() else { return };
        self.free_running.push(index);
        self.dispatcher.room[running.simd as usize] += 1;
        self.dispatcher.ended += 1;
        self.dispatcher.left -= 1;
        let group = &mut self.groups[running.group as usize];
        group.left -= 1;
        if group.left == 0 {
            group.wavefronts.clear();
            self.free_groups.push(running.group);
            let lds = self.workload.launches[self.phases.launch].lds.0;
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

    /// The kernel that runs, and the first of the wavefronts that have not ended, each with what
    /// it waits for.
    fn unfinished(&self) -> (String, String) {
        let mut shown = Vec::new();
        for running in self.running.iter().flatten().take(4) {
            let Place { group, wavefront, .. } = Wavefront::of(&running.state).place();
            shown.push(format!("wavefront {wavefront} of group {group} {}", running.waits.told()));
        }
        let kernel = self.workload.launches.get(self.phases.launch);
        (kernel.map_or("", |launch| launch.name).to_owned(), shown.join("; "))
    }

    /// What waits for ever.
    pub(super) fn stuck(&self) -> GpuError {
        let (kernel, shown) = self.unfinished();
        GpuError::Stuck { kernel, wavefronts: self.running.iter().flatten().count(), shown }
    }

    /// What runs for longer than was allowed.
    pub(super) fn too_long(&self) -> GpuError {
        let (kernel, shown) = self.unfinished();
        GpuError::TooLong { kernel, limit: self.limit, shown }
    }
}
