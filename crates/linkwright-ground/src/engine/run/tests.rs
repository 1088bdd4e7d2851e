use std::ops::ControlFlow;

use proptest::prelude::*;

use super::*;
use crate::engine::Within;

/// Names an action of a [`Recorder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Happening {
    /// Has two more scheduled a span later, and counts down.
    Branch(u32),
    Leaf(u32),
}

/// Writes down what happens, and when it settles.
#[derive(Debug, Default)]
struct Recorder {
    log: Vec<(u64, Happening)>,
    settled: Vec<u64>,
    /// Lists its own times, the earliest last.
    own: Vec<u64>,
    own_log: Vec<u64>,
    unfinished: bool,
}

impl Model for Recorder {
    type Event = Happening;
    type Error = EngineError;
    const SETTLES: bool = true;

    fn handle(
        &mut self,
        event: Happening,
        scheduler: &mut impl Scheduler<Happening>,
    ) -> Result<(), EngineError> {
        let now = scheduler.now();
        self.log.push((now.0, event));
        if let Happening::Branch(left) = event {
            scheduler.schedule_in(Picoseconds(u64::from(left % 3)), Happening::Leaf(left));
            if left > 0 {
                scheduler.schedule_in(Picoseconds(1), Happening::Branch(left - 1));
            }
        }
        Ok(())
    }

    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Happening>,
    ) -> Result<Option<Picoseconds>, EngineError> {
        let now = scheduler.now().0;
        self.settled.push(now);
        if self.own.last() == Some(&now) {
            self.own.pop();
            self.own_log.push(now);
            // The events that it brings happen before the model settles again.
            scheduler.schedule(Picoseconds(now), Happening::Leaf(100));
            return Ok(Some(Picoseconds(now)));
        }
        Ok(self.own.last().copied().map(Picoseconds))
    }

    fn at_rest(&self, now: Picoseconds) -> Result<(), EngineError> {
        if self.unfinished { Err(EngineError::TooLong { now }) } else { Ok(()) }
    }
}

#[test]
fn a_model_settles_once_nothing_is_left_at_a_time() {
    let mut engine = Engine::unwatched();
    let mut model = Recorder { own: vec![9, 9, 5], ..Recorder::default() };
    for event in [1, 2] {
        engine.schedule(Picoseconds(5), Happening::Leaf(event));
    }
    engine.schedule(Picoseconds(7), Happening::Branch(0));
    engine.run(&mut model).unwrap();
    let leaf = |time, number| (time, Happening::Leaf(number));
    let branch = (7, Happening::Branch(0));
    assert_eq!(
        model.log,
        [leaf(5, 1), leaf(5, 2), leaf(5, 100), branch, leaf(7, 0), leaf(9, 100), leaf(9, 100)]
    );
    assert_eq!(model.own_log, [5, 9, 9]);
    assert_eq!(model.settled, [0, 5, 5, 7, 9, 9, 9]);
    assert_eq!((engine.now(), engine.events()), (Picoseconds(9), 7));
}

#[test]
fn what_cannot_be_scheduled_ends_the_run_and_stays_an_error() {
    let mut engine = Engine::unwatched();
    let mut model = Recorder::default();
    engine.schedule(Picoseconds(5), Happening::Leaf(0));
    assert_eq!(engine.step(&mut model), Ok(true));
    engine.schedule(Picoseconds(4), Happening::Leaf(1));
    engine.schedule(Picoseconds(u64::MAX), Happening::Leaf(2));
    let past = PastEvent { time: Picoseconds(4), now: Picoseconds(5) };
    for _ in 0..2 {
        assert_eq!(engine.step(&mut model), Err(EngineError::Past(past)), "the first is told");
    }
    let mut engine = Engine::unwatched();
    engine.schedule(Picoseconds(u64::MAX - 1), Happening::Branch(1));
    let now = Picoseconds(u64::MAX - 1);
    assert_eq!(engine.run(&mut model), Err(EngineError::TooLong { now }));
}

#[test]
fn the_watchdog_asks_at_the_end() {
    let mut model = Recorder { unfinished: true, ..Recorder::default() };
    let mut engine = Engine::unwatched();
    engine.schedule(Picoseconds(3), Happening::Leaf(0));
    assert_eq!(engine.run(&mut model), Err(EngineError::TooLong { now: Picoseconds(3) }));
}

/// Has itself scheduled again for ever.
struct Endless;

impl Model for Endless {
    type Event = ();
    type Error = EngineError;
    const SETTLES: bool = false;

    fn handle(&mut self, (): (), scheduler: &mut impl Scheduler<()>) -> Result<(), EngineError> {
        scheduler.schedule_in(Picoseconds(2), ());
        Ok(())
    }

    fn done(&self) -> (u64, u64) {
        (3, 4)
    }
}

#[test]
fn the_hook_is_asked_at_each_interval_and_ends_the_run() {
    let mut asked = Vec::new();
    let mut hook = |progress: Progress| {
        asked.push(progress);
        if asked.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut engine = Engine::new(&mut hook);
    engine.schedule(Picoseconds(2), ());
    let ended = engine.run(&mut Endless);
    let at = |events| Progress { done: 3, total: 4, time: Picoseconds(2 * events), events };
    assert_eq!(ended, Err(EngineError::Interrupted(at(3 * INTERVAL))));
    assert_eq!(asked, [1, 2, 3].map(|times| at(times * INTERVAL)));
}

/// Holds a model of two parts, each with its own events.
#[derive(Debug, Default)]
struct Pair {
    parts: [Recorder; 2],
    order: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct OfSecond(Happening);

#[derive(Debug, Clone, Copy)]
enum OfPair {
    First(Happening),
    Second(OfSecond),
}

impl From<Happening> for OfPair {
    fn from(event: Happening) -> Self {
        Self::First(event)
    }
}

impl From<OfSecond> for OfPair {
    fn from(event: OfSecond) -> Self {
        Self::Second(event)
    }
}

impl From<Happening> for OfSecond {
    fn from(event: Happening) -> Self {
        Self(event)
    }
}

impl Model for Pair {
    type Event = OfPair;
    type Error = EngineError;
    const SETTLES: bool = false;

    fn handle(
        &mut self,
        event: OfPair,
        scheduler: &mut impl Scheduler<OfPair>,
    ) -> Result<(), EngineError> {
        match event {
            OfPair::First(event) => {
                self.order.push(0);
                self.parts[0].handle(event, &mut Within::<_, OfPair>::new(scheduler))
            }
            OfPair::Second(OfSecond(event)) => {
                self.order.push(1);
                let mut second = Within::<_, OfPair>::new(scheduler);
                self.parts[1].handle(event, &mut Within::<_, OfSecond>::new(&mut second))
            }
        }
    }
}

proptest! {
    /// A part within a whole sees its events as it would alone, and those of both parts come in
    /// the order of their times.
    #[test]
    fn parts_share_one_clock(starts in prop::collection::vec((0_u64..20, 0_u32..8, any::<bool>()), 1..8)) {
        let mut pair = Pair::default();
        let mut together = Engine::unwatched();
        let mut alone = [Recorder::default(), Recorder::default()];
        for (time, left, second) in &starts {
            let (time, event) = (Picoseconds(*time), Happening::Branch(*left));
            together.schedule(
                time,
                if *second { OfPair::Second(OfSecond(event)) } else { OfPair::First(event) },
            );
        }
        together.run(&mut pair).unwrap();
        let mut events = 0;
        for (part, model) in alone.iter_mut().enumerate() {
            let mut engine = Engine::unwatched();
            for (time, left, second) in &starts {
                if usize::from(*second) == part {
                    engine.schedule(Picoseconds(*time), Happening::Branch(*left));
                }
            }
            engine.run(model).unwrap();
            events += engine.events();
            prop_assert_eq!(&model.log, &pair.parts[part].log);
            prop_assert!(model.log.is_sorted_by_key(|(time, _)| *time));
        }
        prop_assert_eq!(together.events(), events);
        prop_assert_eq!(pair.order.len() as u64, events);
    }
}
