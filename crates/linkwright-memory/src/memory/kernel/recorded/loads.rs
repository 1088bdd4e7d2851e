//! Follows what loads of a kernel of one's own bring: stores hand it on, and verdicts judge it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Action, RecordedError, RecordedKernel, Words, as_many, within};
use super::{MOST_PARTS, RecordedLaunch};
use crate::memory::kernel::WavefrontPlace;
use crate::units::Picoseconds;

/// Holds the words that a load has brought, which a kernel keeps under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedWords {
    /// Numbers the launch, from 0.
    pub launch: usize,
    /// Says where the wavefront is.
    pub place: WavefrontPlace,
    /// Names the load.
    pub name: String,
    /// Says when the wavefront gave the instruction.
    pub issued: Picoseconds,
    /// Says when its last word was there.
    pub arrived: Picoseconds,
    /// Lists the work-item, which of its words, and the word that was read. Empty in a run without data.
    pub words: Vec<(u32, u32, u32)>,
}

/// Says what a verdict on a run judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// It judges the words that loads brought, or memory that holds these.
    Answer,
    /// It judges memory at the end, and nothing that was loaded.
    Memory,
}

/// A load that brought another word than it must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongLoad {
    /// Names the load.
    pub name: String,
    /// Says where its wavefront is.
    pub place: WavefrontPlace,
    /// Numbers the work-item.
    pub lane: u32,
    /// Numbers the word of the work-item.
    pub word: u32,
    /// Holds the word that it must bring.
    pub expected: u32,
    /// Holds the word that it brought.
    pub got: u32,
}

impl fmt::Display for WrongLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, place, lane, word, expected, got } = self;
        let WavefrontPlace { group, wavefront, gpu, .. } = place;
        write!(f, "`{name}` of wavefront {group}.{wavefront} on GPU {gpu} read {got}, ")?;
        write!(f, "not {expected}, in word {word} of work-item {lane}")
    }
}

/// Numbers a wavefront's work-group, and the wavefront there.
type Number = (u32, u32);

/// Knows the names under which loads keep words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Loads {
    /// The least and the most words that a load of a name keeps.
    of_name: BTreeMap<String, (u64, u64)>,
    /// Counts the words of each wavefront's last load of a name, in the last launch.
    last: BTreeMap<(Number, String), u64>,
    /// Holds the words that loads must bring, by their names.
    expected: BTreeMap<String, Words>,
    /// Whether any store has what a load brought.
    stored: bool,
}

impl Loads {
    /// Another launch begins.
    pub(super) fn forget(&mut self) {
        self.last.clear();
    }

    /// Refuses a store of a load that was not made, and a load that is expected already.
    pub(super) fn check(&self, at: Number, action: &Action) -> Result<(), RecordedError> {
        if let Action::StoreLoaded(touched, name) = action {
            let Some(words) = self.last.get(&(at, name.clone())) else {
                let known = self.last.range((at, String::new())..);
                let known = known.take_while(|((of, _), _)| *of == at).map(|((_, known), _)| known);
                return Err(RecordedError::NoLoad {
                    name: name.clone(),
                    known: known.cloned().collect(),
                });
            };
            let wanted = touched.offsets.count() * u64::from(touched.width / 4);
            if ![1, wanted].contains(words) {
                return Err(RecordedError::Count { listed: *words, wanted });
            }
        }
        match action.kept() {
            Some((name, _)) if self.expected.contains_key(name) => {
                Err(RecordedError::ExpectedAlready { name: name.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// A wavefront does something more.
    pub(super) fn add(&mut self, at: Number, action: &Action) {
        self.stored |= matches!(action, Action::StoreLoaded(..));
        let Some((name, words)) = action.kept() else { return };
        let known = self.of_name.entry(name.to_owned()).or_insert((words, words));
        *known = (known.0.min(words), known.1.max(words));
        self.last.insert((at, name.to_owned()), words);
    }

    /// Gives the words that loads must bring, by their names.
    pub(super) const fn expected(&self) -> &BTreeMap<String, Words> {
        &self.expected
    }
}

impl RecordedLaunch {
    /// The loads of a wavefront that it stores again.
    pub(super) fn stored(&self, number: Number) -> BTreeSet<&str> {
        let actions = self.wavefronts.get(&number).into_iter().flatten();
        let stored = actions.filter_map(|action| match action {
            Action::StoreLoaded(_, name) => Some(name.as_str()),
            _ => None,
        });
        stored.collect()
    }
}

impl RecordedKernel {
    /// Says what a verdict on a run of it judges; None where nothing says what must be.
    #[must_use]
    pub fn checked(&self) -> Option<Checked> {
        match (self.expected.is_empty(), self.loads.expected.is_empty()) {
            (true, true) => None,
            (_, false) => Some(Checked::Answer),
            (false, true) if self.loads.stored => Some(Checked::Answer),
            (false, true) => Some(Checked::Memory),
        }
    }

    /// Adds what all loads of a name must bring: one word, or as many as each keeps.
    ///
    /// # Errors
    /// A name that no load before has, one that is expected already, and words that are not as many.
    pub fn expect_loaded(&mut self, name: &str, words: Words) -> Result<(), RecordedError> {
        let count = (self.expected.len() + self.loads.expected.len()) as u64;
        within("what is expected", count + 1, 0, MOST_PARTS as u64)?;
        let Some((least, most)) = self.loads.of_name.get(name).copied() else {
            let known = self.loads.of_name.keys().cloned().collect();
            return Err(RecordedError::NoLoad { name: name.to_owned(), known });
        };
        if self.loads.expected.contains_key(name) {
            return Err(RecordedError::ExpectedAlready { name: name.to_owned() });
        }
        as_many(&words, least)?;
        as_many(&words, most)?;
        self.loads.expected.insert(name.to_owned(), words);
        Ok(())
    }

    /// Compares the words that loads brought with the expected words.
    ///
    /// # Errors
    /// Returns the first word that differs.
    pub fn check_loads(&self, loads: &[LoadedWords]) -> Result<(), WrongLoad> {
        for load in loads {
            let Some(words) = self.loads.expected.get(&load.name) else { continue };
            for (element, (lane, word, got)) in (0..).zip(&load.words) {
                let expected = words.at(element);
                if *got != expected {
                    let (name, place, lane) = (load.name.clone(), load.place, *lane);
                    return Err(WrongLoad { name, place, lane, word: *word, expected, got: *got });
                }
            }
        }
        Ok(())
    }
}
