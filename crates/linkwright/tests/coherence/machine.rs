//! Plays a protocol, with the simulator's work around it, without time.

use linkwright::memory::litmus::LitmusStep;
use linkwright::memory::protocol::{
    Access, Answered, Ask, CoherenceProtocol, Copied, Eviction, Flush, Level, Lookup, Meanwhile,
};

use super::state::{
    Busy, Cache, Consistency, Copy, Data, Event, Machine, Operation, Place, Stage, State, WORDS,
};

/// An access under way: its wavefront, the number of its step, what it does, and where.
#[derive(Clone, Copy)]
struct Under {
    wave: usize,
    step: usize,
    access: Access,
    place: Place,
    value: u8,
}

impl Under {
    fn write(self, words: &mut [u8; WORDS]) {
        let word = &mut words[usize::from(self.place.word)];
        *word = if self.access == Access::Atomic { *word + self.value } else { self.value };
    }
}

impl<P: CoherenceProtocol> Machine<P> {
    fn under(&self, wave: u8, step: u8) -> Option<Under> {
        let (wave, step) = (usize::from(wave), usize::from(step));
        let doing = self.programs[wave][step];
        let place = self.placement.place(doing.address()?);
        let (access, value) = match doing {
            LitmusStep::Write(_, value) => (Access::Write, value),
            LitmusStep::Add(_, value) => (Access::Atomic, value),
            _ => (Access::Read, 0),
        };
        Some(Under { wave, step, access, place, value })
    }

    /// Everything that could happen next; some of it may have to wait.
    pub fn events(&self, state: &State<P>, events: &mut Vec<Event>) {
        for (wave, operations) in state.operations.iter().enumerate() {
            for (step, operation) in operations.iter().enumerate() {
                if operation.stage != Stage::Done {
                    events.push(Event::Go { wave: wave as u8, step: step as u8 });
                }
            }
        }
        for (line, home) in (0_u8..).zip(&state.lines) {
            for gpu in 0..self.gpus {
                if home.busy.is_some_and(|busy| busy.pending >> gpu & 1 == 1) {
                    events.push(Event::Probe { line, gpu });
                }
                let l2 = &state.l2[self.l2_index(gpu, line)];
                if l2.leaving[usize::from(line)].is_some() {
                    events.push(Event::WriteBack { gpu, line });
                }
                if self.evictions && l2.copies[usize::from(line)].is_some() {
                    events.push(Event::EvictL2 { gpu, line });
                }
            }
            if self.evictions {
                for (cu, l1) in (0_u8..).zip(&state.l1) {
                    if l1.copies[usize::from(line)].is_some() {
                        events.push(Event::EvictL1 { cu, line });
                    }
                }
                if P::CONFIRMS && home.busy.is_none() && home.entry.is_some() {
                    events.push(Event::Forget { line });
                }
            }
        }
    }

    /// The state after something happened; none where it has to wait.
    pub fn after(&self, state: &State<P>, event: Event) -> Option<State<P>> {
        let mut state = state.clone();
        let went = match event {
            Event::Go { wave, step } => self.go(&mut state, wave, step),
            Event::Probe { line, gpu } => self.probe(&mut state, line, gpu),
            Event::EvictL1 { cu, line } => {
                // A held copy stays; a miss has no copy to speak of.
                if self.under_way(&state, cu, line) {
                    return None;
                }
                let copy = &mut state.l1[usize::from(cu)].copies[usize::from(line)];
                copy.take().map(|_| ())
            }
            Event::EvictL2 { gpu, line } => {
                let (_, _, held) = self.under_way_l2(&state, gpu, line);
                if held {
                    return None;
                }
                let index = self.l2_index(gpu, line);
                self.leave(&mut state.l2[index], line, true)
            }
            Event::WriteBack { gpu, line } => self.write_back(&mut state, gpu, line),
            Event::Forget { line } => self.start_to_forget(&mut state, line),
        };
        went.map(|()| state)
    }

    fn go(&self, state: &mut State<P>, wave: u8, step: u8) -> Option<()> {
        self.advance(state, wave, step)?;
        if !self.atomic {
            return Some(());
        }
        loop {
            let stage = state.operations[usize::from(wave)][usize::from(step)].stage;
            match stage {
                Stage::Done | Stage::Waiting => return Some(()),
                Stage::AtHome(..) => self.answer_probes(state, wave, step),
                _ => self.advance(state, wave, step)?,
            }
        }
    }

    fn advance(&self, state: &mut State<P>, wave: u8, step: u8) -> Option<()> {
        let operation = state.operations[usize::from(wave)][usize::from(step)];
        let Some(under) = self.under(wave, step) else {
            let (wave, step) = (usize::from(wave), usize::from(step));
            return match self.programs[wave][step] {
                LitmusStep::Barrier => self.barrier(state, wave, step),
                _ => self.fence(state, wave, step),
            };
        };
        match operation.stage {
            Stage::Waiting => self.look_up_l1(state, under),
            Stage::ToL2(stamp) => self.look_up_l2(state, under, stamp),
            Stage::ToHome(ask, stamp) => self.arrive(state, under, ask, stamp),
            Stage::BackAtL2(stamp, data) => self.back_at_l2(state, under, stamp, data),
            Stage::BackAtL1(stamp, data) => self.back_at_l1(state, under, stamp, data),
            Stage::AtHome(..) | Stage::Done => None,
        }
    }

    fn answer_probes(&self, state: &mut State<P>, wave: u8, step: u8) {
        let line = self.under(wave, step).expect("a fence asks for nothing").place.line;
        for gpu in 0..self.gpus {
            let busy = state.lines[usize::from(line)].busy;
            if busy.is_some_and(|busy| busy.pending >> gpu & 1 == 1) {
                self.probe(state, line, gpu);
            }
        }
    }

    fn fence(&self, state: &mut State<P>, wave: usize, step: usize) -> Option<()> {
        let before = &state.operations[wave][..step];
        if before.iter().any(|operation| operation.stage != Stage::Done) {
            return None;
        }
        self.flush(state, wave);
        state.operations[wave][step].stage = Stage::Done;
        Some(())
    }

    /// Lets all wavefronts pass a barrier, and tells their L1s of each other.
    fn barrier(&self, state: &mut State<P>, wave: usize, step: usize) -> Option<()> {
        let is_barrier = |step: &LitmusStep| *step == LitmusStep::Barrier;
        let number = self.programs[wave][..step].iter().filter(|step| is_barrier(step)).count();
        let own = |program: &Vec<LitmusStep>| {
            let barriers = program.iter().enumerate().filter(|(_, step)| is_barrier(step));
            barriers.map(|(at, _)| at).nth(number).expect("every wavefront comes to every barrier")
        };
        let at: Vec<usize> = self.programs.iter().map(own).collect();
        let is_open = |operation: &Operation<P::Stamp>| operation.stage != Stage::Done;
        if state.operations.iter().zip(&at).any(|(of, at)| of[..*at].iter().any(is_open)) {
            return None;
        }
        for (wave, at) in at.into_iter().enumerate() {
            state.operations[wave][at].stage = Stage::Done;
        }
        let mut all = P::Cache::default();
        for l1 in &state.l1 {
            self.protocol.on_meeting(&mut all, &l1.own);
        }
        for l1 in &mut state.l1 {
            self.protocol.on_meeting(&mut l1.own, &all);
        }
        Some(())
    }

    /// Applies a fence to a wavefront's L1.
    fn flush(&self, state: &mut State<P>, wave: usize) {
        if self.protocol.on_fence(Level::L1) != Flush::Invalidate {
            return;
        }
        let cu = self.cus[wave];
        state.l1[usize::from(cu)].copies.fill(None);
        let waves = (0..self.cus.len()).filter(|wave| self.cus[*wave] == cu);
        for wave in waves {
            for operation in &mut state.operations[wave] {
                operation.stale = !matches!(operation.stage, Stage::Waiting | Stage::Done);
            }
        }
    }

    /// Whether the consistency model lets a step start.
    fn may_start(&self, state: &State<P>, under: Under) -> bool {
        let steps = &self.programs[under.wave];
        let mut before = steps.iter().zip(&state.operations[under.wave]).take(under.step);
        before.all(|(step, operation)| {
            operation.stage == Stage::Done
                || self.consistency == Consistency::Relaxed
                    && !matches!(
                        step,
                        LitmusStep::Fence | LitmusStep::Barrier | LitmusStep::Spin(..)
                    )
                    && step.address().map(|it| self.placement.place(it).line)
                        != Some(under.place.line)
        })
    }

    /// Whether an access of a CU to a line is neither waiting nor done.
    fn under_way(&self, state: &State<P>, cu: u8, line: u8) -> bool {
        let waves =
            (0_u8..).zip(state.operations.iter()).zip(&self.cus).filter(|(_, its)| **its == cu);
        waves.map(|(wave, _)| wave).any(|(wave, operations)| {
            (0_u8..).zip(operations).any(|(step, operation)| {
                !matches!(operation.stage, Stage::Waiting | Stage::Done)
                    && self.under(wave, step).is_some_and(|it| it.place.line == line)
            })
        })
    }

    fn look_up_l1(&self, state: &mut State<P>, under: Under) -> Option<()> {
        if !self.may_start(state, under) {
            return None;
        }
        let cu = self.cus[under.wave];
        // Every access that is under way keeps others of its CU from its line.
        if self.under_way(state, cu, under.place.line) {
            return None;
        }
        let stamp = P::Stamp::default();
        let (stage, _) = self.look_up(&mut state.l1[usize::from(cu)], Level::L1, under, stamp);
        let l2 = self.l2_of(under.wave, under.place.line);
        let stage = match stage {
            Stage::ToHome(_, stamp) if l2.is_some() => Stage::ToL2(stamp),
            stage => stage,
        };
        if let Stage::BackAtL1(_, Some(data)) = stage {
            return self.finish(state, under, data);
        }
        state.operations[under.wave][under.step].stage = stage;
        Some(())
    }

    /// Looks at the accesses to a line that have passed a GPU's L2 and not come back. It says
    /// whether one reads, whether there is one, and whether one holds the line there.
    fn under_way_l2(&self, state: &State<P>, gpu: u8, line: u8) -> (bool, bool, bool) {
        let (mut reads, mut any, mut held) = (false, false, false);
        for (wave, operations) in state.operations.iter().enumerate() {
            for (step, operation) in operations.iter().enumerate() {
                let Some(other) = self.under(wave as u8, step as u8) else { continue };
                let here = other.place.line == line && self.l2_of(wave, line) == Some(gpu);
                let below = matches!(
                    operation.stage,
                    Stage::ToHome(..) | Stage::AtHome(..) | Stage::BackAtL2(..)
                );
                any |= here && below;
                reads |= here && below && other.access == Access::Read;
                held |= here && below && operation.holds_l2;
            }
        }
        (reads, any, held)
    }

    fn look_up_l2(&self, state: &mut State<P>, under: Under, stamp: P::Stamp) -> Option<()> {
        let gpu = self.l2_of(under.wave, under.place.line)?;
        let line = under.place.line;
        let (reads, any, held) = self.under_way_l2(state, gpu, line);
        let index = self.l2_index(gpu, line);
        let leaves = state.l2[index].leaving[usize::from(line)].is_some();
        if held || leaves || (reads && under.access == Access::Read) {
            return None;
        }
        let (stage, hold) = self.look_up(&mut state.l2[index], Level::L2, under, stamp);
        if hold && any {
            return None;
        }
        let operation = &mut state.operations[under.wave][under.step];
        operation.stage = stage;
        operation.holds_l2 = hold;
        Some(())
    }

    /// Looks a line up; a hit is an answer at once. Also whether the line is held from now on.
    fn look_up(
        &self,
        cache: &mut Cache<P>,
        level: Level,
        under: Under,
        stamp: P::Stamp,
    ) -> (Stage<P::Stamp>, bool) {
        let at = usize::from(under.place.line);
        let line = cache.copies[at].as_mut().map(|copy| &mut copy.line);
        match self.protocol.on_access(level, &mut cache.own, line, under.access, stamp) {
            Lookup::Hit(stamp) => {
                let copy = cache.copies[at].as_mut().expect("what is hit is there");
                let data = copy.data;
                self.merge(copy, under);
                (Stage::BackAtL1(stamp, Some(data)), false)
            }
            Lookup::Allocate(..) => unreachable!("no access writes a whole line"),
            Lookup::Forward(forward) => {
                match forward.copy {
                    Meanwhile::Stays => {}
                    Meanwhile::Merges => {
                        if let Some(copy) = &mut cache.copies[at] {
                            under.write(&mut copy.data.words);
                        }
                    }
                    Meanwhile::Goes => {
                        self.leave(cache, under.place.line, level == Level::L2);
                    }
                }
                (Stage::ToHome(forward.ask, forward.stamp), forward.hold)
            }
        }
    }

    /// A write or an atomic changes a copy; where it stays there, its word is newer than below.
    fn merge(&self, copy: &mut Copy<P::Line>, under: Under) {
        if under.access != Access::Read {
            under.write(&mut copy.data.words);
            copy.dirty[usize::from(under.place.word)] =
                self.protocol.on_evict(&copy.line) == Eviction::WriteBack;
        }
    }

    fn leave(&self, cache: &mut Cache<P>, line: u8, keep_dirty: bool) -> Option<()> {
        let line = usize::from(line);
        if cache.leaving[line].is_some() {
            return None;
        }
        let copy = cache.copies[line].take()?;
        if keep_dirty && self.protocol.on_evict(&copy.line) == Eviction::WriteBack {
            cache.leaving[line] = Some(copy);
        }
        Some(())
    }

    /// The home's entry of a line, made if need be.
    fn remember(&self, state: &mut State<P>, line: u8) {
        let bank = self.placement.bank(line);
        if state.lines[usize::from(line)].entry.is_some() {
            return;
        }
        let controller = &mut state.controllers[bank];
        if !P::CONFIRMS {
            let of_bank = |other: &usize| self.placement.bank(*other as u8) == bank;
            let known: Vec<_> = (0..state.lines.len())
                .filter(of_bank)
                .filter_map(|other| Some((self.protocol.rank(&state.lines[other].entry?), other)))
                .collect();
            if known.len() >= self.entries
                && let Some((_, lowest)) = known.iter().min()
            {
                let entry = state.lines[*lowest].entry.take().expect("it is known");
                self.protocol.forget(controller, &entry);
            }
        }
        state.lines[usize::from(line)].entry = Some(self.protocol.remember(controller));
    }

    fn arrive(&self, state: &mut State<P>, under: Under, ask: Ask, stamp: P::Stamp) -> Option<()> {
        let line = under.place.line;
        if state.lines[usize::from(line)].busy.is_some() {
            return None;
        }
        self.remember(state, line);
        let home = &mut state.lines[usize::from(line)];
        let from = self.l2_of(under.wave, line);
        let entry = home.entry.as_ref().expect("it is remembered");
        let probes = self.protocol.before_request(entry, from, ask);
        if P::CONFIRMS {
            let operation = Some((under.wave as u8, under.step as u8));
            home.busy = Some(Busy { operation, pending: probes.gpus, probe: probes.probe });
        }
        if probes.gpus == 0 {
            self.serve(state, under, ask, stamp);
        } else {
            state.operations[under.wave][under.step].stage = Stage::AtHome(ask, stamp);
        }
        Some(())
    }

    /// The home serves a request.
    fn serve(&self, state: &mut State<P>, under: Under, ask: Ask, stamp: P::Stamp) {
        let line = under.place.line;
        let from = self.l2_of(under.wave, line);
        let controller = &mut state.controllers[self.placement.bank(line)];
        let home = &mut state.lines[usize::from(line)];
        let entry = home.entry.as_mut().expect("it is remembered");
        let response = self.protocol.on_request(controller, entry, from, ask, stamp);
        let before = home.data;
        if matches!(ask, Ask::Write | Ask::Atomic) {
            under.write(&mut home.data.words);
            home.data.version += 1;
        }
        let data = if ask == Ask::Atomic { before } else { home.data };
        // The answer to a write may have data (as printed), and says which writing it was.
        let has = ask == Ask::Write || self.protocol.has_data(ask, stamp, response);
        let data = has.then_some(data);
        let stage = match from {
            Some(_) => Stage::BackAtL2(response, data),
            None => Stage::BackAtL1(response, data),
        };
        state.operations[under.wave][under.step].stage = stage;
        if from.is_none() {
            // Nobody's copy is on its way.
            home.busy = None;
        }
    }

    /// The home takes a dirty copy's words.
    fn take(data: &mut Data, copy: &Copy<P::Line>) {
        for word in 0..WORDS {
            if copy.dirty[word] {
                data.words[word] = copy.data.words[word];
            }
        }
        data.version += 1;
    }

    fn probe(&self, state: &mut State<P>, line: u8, gpu: u8) -> Option<()> {
        let index = self.l2_index(gpu, line);
        let at = usize::from(line);
        let busy = state.lines[at].busy.as_mut()?;
        busy.pending &= !(1 << gpu);
        let (probe, operation, pending) = (busy.probe, busy.operation, busy.pending);
        let l2 = &mut state.l2[index];
        if let Some(copy) = &l2.leaving[at] {
            Self::take(&mut state.lines[at].data, copy);
        }
        if let Some(mut copy) = l2.copies[at].take() {
            if self.protocol.on_evict(&copy.line) == Eviction::WriteBack {
                Self::take(&mut state.lines[at].data, &copy);
            }
            l2.copies[at] = self.protocol.on_probe(copy.line, probe).map(|line| {
                copy.line = line;
                copy.dirty = [false; WORDS];
                copy
            });
        }
        if pending == 0 {
            match operation {
                Some((wave, step)) => {
                    let under = self.under(wave, step).expect("a fence asks for nothing");
                    let stage = state.operations[under.wave][under.step].stage;
                    if let Stage::AtHome(ask, stamp) = stage {
                        self.serve(state, under, ask, stamp);
                    }
                }
                None => self.forgotten(state, line),
            }
        }
        Some(())
    }

    fn write_back(&self, state: &mut State<P>, gpu: u8, line: u8) -> Option<()> {
        let index = self.l2_index(gpu, line);
        let copy = state.l2[index].leaving[usize::from(line)].take()?;
        self.remember(state, line);
        let home = &mut state.lines[usize::from(line)];
        let entry = home.entry.as_mut().expect("it is remembered");
        if self.protocol.on_write_back(entry, gpu) {
            Self::take(&mut home.data, &copy);
        }
        Some(())
    }

    fn start_to_forget(&self, state: &mut State<P>, line: u8) -> Option<()> {
        let bank = self.placement.bank(line);
        let home = &mut state.lines[usize::from(line)];
        let entry = home.entry?;
        let probes = self.protocol.forget(&mut state.controllers[bank], &entry);
        home.busy = Some(Busy { operation: None, pending: probes.gpus, probe: probes.probe });
        if probes.gpus == 0 {
            self.forgotten(state, line);
        }
        Some(())
    }

    fn forgotten(&self, state: &mut State<P>, line: u8) {
        let home = &mut state.lines[usize::from(line)];
        home.entry = None;
        home.busy = None;
    }

    /// Does to a cache's copy what its protocol says, and gives what goes up.
    fn respond(
        &self,
        cache: &mut Cache<P>,
        level: Level,
        under: Under,
        stamp: P::Stamp,
        data: Option<Data>,
    ) -> (P::Stamp, Data) {
        let at = usize::from(under.place.line);
        let held = cache.copies[at].map(|copy| copy.line);
        // An answer without data is about the copy that is held.
        let here = || cache.copies[at].expect("what is renewed is there").data;
        let data = data.unwrap_or_else(here);
        let Answered { copy, stamp } =
            self.protocol.on_response(level, &mut cache.own, held.as_ref(), under.access, stamp);
        match copy {
            Copied::Install(line) => {
                let mut copy = Copy { line, data, dirty: [false; WORDS] };
                self.merge(&mut copy, under);
                cache.copies[at] = Some(copy);
            }
            Copied::Merge(line) => {
                let copy = cache.copies[at].as_mut().expect("the copy to merge into is there");
                copy.line = line;
                copy.data.version = data.version;
                self.merge(copy, under);
            }
            Copied::Leave => {}
            Copied::Drop => cache.copies[at] = None,
        }
        (stamp, data)
    }

    fn back_at_l2(
        &self,
        state: &mut State<P>,
        under: Under,
        stamp: P::Stamp,
        data: Option<Data>,
    ) -> Option<()> {
        let gpu = self.l2_of(under.wave, under.place.line)?;
        let index = self.l2_index(gpu, under.place.line);
        if P::CONFIRMS {
            state.lines[usize::from(under.place.line)].busy = None;
        }
        let (stamp, data) = self.respond(&mut state.l2[index], Level::L2, under, stamp, data);
        let operation = &mut state.operations[under.wave][under.step];
        operation.stage = Stage::BackAtL1(stamp, Some(data));
        operation.holds_l2 = false;
        Some(())
    }

    fn back_at_l1(
        &self,
        state: &mut State<P>,
        under: Under,
        stamp: P::Stamp,
        data: Option<Data>,
    ) -> Option<()> {
        let l1 = &mut state.l1[usize::from(self.cus[under.wave])];
        let (_, data) = self.respond(l1, Level::L1, under, stamp, data);
        let operation = &mut state.operations[under.wave][under.step];
        if std::mem::take(&mut operation.stale) {
            l1.copies[usize::from(under.place.line)] = None;
        }
        self.finish(state, under, data)
    }

    fn finish(&self, state: &mut State<P>, under: Under, data: Data) -> Option<()> {
        let value = data.words[usize::from(under.place.word)];
        let spun = match self.programs[under.wave][under.step] {
            LitmusStep::Spin(_, until) => value != until,
            _ => false,
        };
        let operation: &mut Operation<P::Stamp> = &mut state.operations[under.wave][under.step];
        operation.stage = if spun { Stage::Waiting } else { Stage::Done };
        operation.value = if spun { 0 } else { value };
        if spun && self.consistency == Consistency::Relaxed {
            self.flush(state, under.wave);
        }
        Some(())
    }
}
