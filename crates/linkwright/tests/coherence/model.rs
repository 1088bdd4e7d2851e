//! Puts the machine under `stateright`: every order of messages, and the properties that must hold
//! in all of them.

use linkwright::memory::litmus::LitmusStep;
use linkwright::memory::protocol::{CoherenceProtocol, Span};
use stateright::semantics::{ConsistencyTester, SequentialConsistencyTester, SequentialSpec};
use stateright::{Checker, Model, Property};

use super::state::{Event, Machine, State};

/// Nothing that a sequential order of all accesses does not give.
pub const SEQUENTIAL: &str = "reads return the last write";
/// In logical time a line has one writer or many readers; in a directory, in time itself.
pub const ONE_WRITER: &str = "one writer or many readers";
/// Something can go on until all is done.
pub const NO_DEADLOCK: &str = "no deadlock";
/// From everywhere, if all go on in turn, all ends: who spins sees the write.
pub const SPINS_END: &str = "who spins sees the write";

/// How many turns all get until they are done.
const TURNS: usize = 200;

/// The memory that programs should see, and how often a wavefront has come to a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Words {
    words: [u8; 2],
    came: u8,
}

/// Names the parts of a sequential order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Act {
    Step(LitmusStep),
    /// A wavefront comes to a barrier.
    Come,
    /// It leaves, and says how many have come.
    Leave,
}

impl SequentialSpec for Words {
    type Op = Act;
    type Ret = Option<u8>;

    fn invoke(&mut self, act: &Act) -> Option<u8> {
        match *act {
            Act::Step(LitmusStep::Read(address) | LitmusStep::Spin(address, _)) => {
                Some(self.words[usize::from(address)])
            }
            Act::Step(LitmusStep::Write(address, value)) => {
                self.words[usize::from(address)] = value;
                None
            }
            Act::Step(LitmusStep::Add(address, value)) => {
                let word = &mut self.words[usize::from(address)];
                let before = *word;
                *word += value;
                Some(before)
            }
            Act::Step(LitmusStep::Fence | LitmusStep::Barrier) => None,
            Act::Come => {
                self.came += 1;
                None
            }
            Act::Leave => Some(self.came),
        }
    }
}

/// Whether a sequential order gives these reads.
pub fn is_sequential(programs: &[Vec<LitmusStep>], reads: &[Vec<u8>]) -> bool {
    let mut tester = SequentialConsistencyTester::new(Words::default());
    for (wave, (program, reads)) in programs.iter().zip(reads).enumerate() {
        let mut values = reads.iter();
        let mut all_came = 0;
        for step in program {
            let acts = match step {
                LitmusStep::Read(_) | LitmusStep::Add(..) => {
                    vec![(Act::Step(*step), values.next().copied())]
                }
                LitmusStep::Spin(_, until) => vec![(Act::Step(*step), Some(*until))],
                LitmusStep::Write(..) => vec![(Act::Step(*step), None)],
                LitmusStep::Fence => vec![],
                LitmusStep::Barrier => {
                    all_came += programs.len() as u8;
                    vec![(Act::Come, None), (Act::Leave, Some(all_came))]
                }
            };
            for (act, result) in acts {
                tester.on_invret(wave, act, result).expect("each step follows the last");
            }
        }
    }
    tester.is_consistent()
}

impl<P: CoherenceProtocol> Machine<P> {
    /// Says whether an event goes on by itself: no copy is dropped without need.
    fn needful(event: Event) -> bool {
        matches!(event, Event::Go { .. } | Event::Probe { .. } | Event::WriteBack { .. })
    }

    fn can_go_on(&self, state: &State<P>) -> bool {
        let mut events = Vec::new();
        self.events(state, &mut events);
        let mut needful = events.into_iter().filter(|event| Self::needful(*event));
        needful.any(|event| self.after(state, event).is_some())
    }

    /// Whether all ends when everything goes on in turn.
    fn ends(&self, state: &State<P>) -> bool {
        let mut state = state.clone();
        let mut events = Vec::new();
        for _ in 0..TURNS {
            if state.done() {
                return true;
            }
            events.clear();
            self.events(&state, &mut events);
            for event in events.iter().copied().filter(|event| Self::needful(*event)) {
                if let Some(after) = self.after(&state, event) {
                    state = after;
                }
            }
        }
        false
    }

    fn one_writer(&self, state: &State<P>) -> bool {
        (0..usize::from(self.lines())).all(|line| {
            let copies = |caches: &[super::state::Cache<P>]| -> Vec<_> {
                let copies = caches.iter().filter_map(|cache| cache.copies[line]);
                copies.map(|copy| (copy.data.version, self.protocol.span(&copy.line))).collect()
            };
            let (l1, l2) = (copies(&state.l1), copies(&state.l2));
            let all = [l1, l2.clone()].concat();
            all.iter().all(|one| all.iter().all(|other| compatible(*one, *other)))
                && (l2.len() < 2
                    || l2.iter().all(|(_, span)| *span != Span::Present { writable: true }))
        })
    }

    fn spins(&self) -> bool {
        self.programs.iter().flatten().any(|step| matches!(step, LitmusStep::Spin(..)))
    }
}

/// Whether two copies may be there at once: no time in which both hold, unless they are the same.
fn compatible(one: (u8, Span), other: (u8, Span)) -> bool {
    match (one.1, other.1) {
        (Span::Logical { to, .. }, Span::Logical { from, .. }) => one.0 >= other.0 || to < from,
        _ => true,
    }
}

impl<P: CoherenceProtocol> Model for Machine<P> {
    type State = State<P>;
    type Action = Event;

    fn init_states(&self) -> Vec<State<P>> {
        vec![self.start()]
    }

    fn actions(&self, state: &State<P>, events: &mut Vec<Event>) {
        self.events(state, events);
    }

    fn next_state(&self, state: &State<P>, event: Event) -> Option<State<P>> {
        self.after(state, event)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(SEQUENTIAL, |machine: &Self, state: &State<P>| {
                !state.done() || is_sequential(&machine.programs, &state.reads(machine))
            }),
            Property::always(ONE_WRITER, |machine: &Self, state: &State<P>| {
                machine.one_writer(state)
            }),
            Property::always(NO_DEADLOCK, |machine: &Self, state: &State<P>| {
                state.done() || machine.can_go_on(state)
            }),
        ];
        if self.spins() {
            properties.push(Property::always(SPINS_END, |machine: &Self, state: &State<P>| {
                machine.ends(state)
            }));
        }
        properties
    }
}

/// Holds the checker's findings.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// How many states there are; all of them, unless a property fails.
    pub states: usize,
    /// Lists the properties that fail, with the shortest way there.
    pub failures: Vec<(&'static str, Vec<Event>)>,
}

impl Verdict {
    pub fn fails(&self, property: &str) -> Option<&[Event]> {
        self.failures.iter().find(|(name, _)| *name == property).map(|(_, events)| &events[..])
    }
}

/// Looks at every state that can be reached, on one thread, so that ways are the shortest.
pub fn check<P: CoherenceProtocol>(machine: &Machine<P>) -> Verdict {
    let checker = machine.clone().checker().threads(1).spawn_bfs().join();
    let mut failures: Vec<_> =
        checker.discoveries().into_iter().map(|(name, path)| (name, path.into_actions())).collect();
    failures.sort_by_key(|(name, _)| *name);
    Verdict { states: checker.unique_state_count(), failures }
}
