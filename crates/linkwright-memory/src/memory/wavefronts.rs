//! Brings wavefronts from operation to operation.

use super::compute_unit::Waits;
use super::kernel::{Loaded, Scope, Values, WavefrontOperation};
use super::protocol::{CoherenceProtocol, Flush, Level};
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::units::Picoseconds;

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// A wavefront runs up to what takes time.
    pub(super) fn resume(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        loop {
            let Some(running) = self.wavefronts.get_mut(index) else { return };
            running.waits = Waits::ForItself;
            let rest = running.reading.take_rest();
            let Some(operation) = rest.or_else(|| running.state.resume(&mut running.program))
            else {
                running.waits = Waits::ToEnd;
                if running.under_way == 0 {
                    self.end(index, scheduler);
                }
                return;
            };
            let Some(operation) = self.with_code(index, operation, scheduler) else { return };
            let Some(running) = self.wavefronts.get_mut(index) else { return };
            let now = scheduler.now();
            match operation {
                WavefrontOperation::Nothing => {}
                WavefrontOperation::Compute(count) | WavefrontOperation::Lds(count) => {
                    let at = self.units.compute(now.0, running.simd, count);
                    scheduler.schedule(Picoseconds(at), Event::Resume(index));
                    return;
                }
                WavefrontOperation::Load
                | WavefrontOperation::LoadScalar
                | WavefrontOperation::Store
                | WavefrontOperation::Atomic(_) => {
                    running.waits = Waits::ToAccess(operation);
                    if !self.options.memory.consistency().waits(running.under_way) {
                        self.start_access(index, scheduler);
                    }
                    return;
                }
                WavefrontOperation::Arrived(Loaded(load)) => {
                    if !self.loads.is_done(load) {
                        running.waits = Waits::ForLoad(load);
                        return;
                    }
                    self.take_load(index, load);
                }
                WavefrontOperation::Fence => {
                    self.units.count_one();
                    if running.under_way > 0 {
                        running.waits = Waits::AtFence;
                        return;
                    }
                    self.fence(index);
                }
                WavefrontOperation::Barrier(scope) => {
                    running.waits = Waits::ToBarrier(scope);
                    if !self.options.memory.consistency().waits(running.under_way) {
                        self.come_to_barrier(index, scheduler);
                    }
                    return;
                }
            }
        }
    }

    /// A wavefront is at the barrier that it was on its way to.
    fn come_to_barrier(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let Some(running) = self.wavefronts.get_mut(index) else { return };
        let Waits::ToBarrier(scope) = running.waits else { return };
        match scope {
            Scope::Group => {
                self.units.count_one();
                running.waits = Waits::AtBarrier;
                let group = running.group;
                self.come_to_group_barrier(group, scheduler);
            }
            Scope::Launch => {
                running.waits = Waits::AtLaunchBarrier;
                self.come_to_launch_barrier(scheduler);
            }
        }
    }

    /// Applies a fence to the first level, once all before it is done.
    fn fence(&mut self, index: u32) {
        let Some(running) = self.wavefronts.get(index) else { return };
        if self.protocol.on_fence(Level::L1) != Flush::Nothing {
            let unit = running.unit;
            self.first.empty(unit, self.counts.scalar_cache(unit));
        }
    }

    /// A wavefront starts the access that it has asked for.
    fn start_access(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let Some(running) = self.wavefronts.get_mut(index) else { return };
        let Waits::ToAccess(operation) = running.waits else { return };
        self.units.count_one();
        running.under_way += 1;
        running.accessed = operation;
        let posted = running.state.posted();
        let words =
            (posted.values.is_there() && operation != WavefrontOperation::Store).then(|| {
                // An atomic's words are what it does, until they are what was there.
                let words = match operation {
                    WavefrontOperation::Atomic(_) => posted.values.clone(),
                    _ => Values::zeros(),
                };
                Box::new((posted.lanes.clone(), words))
            });
        let lines = posted.lanes.lines().len() as u64;
        drop(posted);
        let slot = self.loads.begin((index, scheduler.now().0), operation, words);
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
        let wavefront = self.loads.finish(load);
        let Some(running) = self.wavefronts.get_mut(wavefront) else { return };
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
            Waits::ToBarrier(_) if is_last => self.come_to_barrier(wavefront, scheduler),
            Waits::ToEnd if is_last => self.end(wavefront, scheduler),
            _ => {}
        }
    }

    /// A wavefront takes the words of a load that is done.
    fn take_load(&mut self, wavefront: u32, load: u32) {
        let (words, span) = self.loads.take(load);
        if let Some(running) = self.wavefronts.get(wavefront) {
            let posted = &mut *running.state.posted();
            posted.span = span;
            if let Some(words) = words {
                posted.loaded = words;
            }
        }
    }

    /// Goes on with a wavefront whose wait has ended.
    fn go_on(&mut self, wavefront: u32, scheduler: &mut impl Scheduler<Event>) {
        let Some(running) = self.wavefronts.get_mut(wavefront) else { return };
        if let Waits::ForLoad(load) = std::mem::replace(&mut running.waits, Waits::ForItself) {
            self.take_load(wavefront, load);
        }
        scheduler.schedule_in(Picoseconds(0), Event::Resume(wavefront));
    }
}
