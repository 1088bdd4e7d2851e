//! Reads one event of a trace, and keeps of it what is asked for, whatever else it holds.
//!
//! Profilers of several releases write identifiers as numbers or as texts, and leave out what they do not know. So no value
//! is refused for its kind: one that is not what is looked for counts as left out.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Microseconds since 1970 that no trace reaches; as nanoseconds they still fit.
const LATEST: f64 = 4e15;
/// The most lengths that are kept of a tensor's shape.
const MOST_LENGTHS: usize = 4;
/// The most tensors of an operator whose shapes are kept.
const MOST_TENSORS: usize = 3;

/// A value that is a number or a text; anything else is nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Loose {
    #[default]
    Nothing,
    Integer(u64),
    Real(f64),
    Text(String),
}

impl Loose {
    pub(super) fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    pub(super) fn integer(&self) -> Option<u64> {
        match self {
            Self::Integer(value) => Some(*value),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Gives microseconds as nanoseconds.
    pub(super) fn nanoseconds(&self) -> Option<i64> {
        let microseconds = match self {
            Self::Integer(value) => *value as f64,
            Self::Real(value) => *value,
            Self::Text(text) => text.trim().parse().ok()?,
            Self::Nothing => return None,
        };
        // Profilers count from the start of the machine or of the year 1970.
        let is_time = microseconds.is_finite() && (0.0..LATEST).contains(&microseconds);
        is_time.then(|| (microseconds * 1e3).round() as i64)
    }
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfLoose)
    }
}

struct OfLoose;

impl<'de> Visitor<'de> for OfLoose {
    type Value = Loose;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Loose, E> {
        Ok(Loose::Integer(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Loose, E> {
        Ok(u64::try_from(value).map_or(Loose::Nothing, Loose::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Loose, E> {
        Ok(Loose::Real(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Loose, E> {
        Ok(Loose::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Loose, E> {
        Ok(Loose::Text(value))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Loose, E> {
        Ok(Loose::Nothing)
    }

    fn visit_unit<E>(self) -> Result<Loose, E> {
        Ok(Loose::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Loose, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Loose::Nothing)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Loose, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Loose::Nothing)
    }
}

/// Keeps a list's first entries; any other value has none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct First<T, const MOST: usize>(pub Vec<T>);

impl<T, const MOST: usize> Default for First<T, MOST> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for First<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfFirst(std::marker::PhantomData))
    }
}

struct OfFirst<T, const MOST: usize>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for OfFirst<T, MOST> {
    type Value = First<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(First::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(First::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(First::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(First::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(First::default())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(First::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < MOST {
            let Some(entry) = sequence.next_element()? else { return Ok(First(kept)) };
            kept.push(entry);
        }
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(First(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(First::default())
    }
}

/// Holds shapes of an operator's tensors.
pub(super) type Shapes = First<First<Loose, MOST_LENGTHS>, MOST_TENSORS>;

/// Holds facts that the profiler tells of an event.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub external: Option<u64>,
    pub correlation: Option<u64>,
    pub stream: Option<u64>,
    pub shapes: Shapes,
    pub collective: String,
    pub elements: Option<u64>,
    pub number: String,
    pub group_size: Option<u64>,
    pub group: String,
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfArguments)
    }
}

struct OfArguments;

impl<'de> Visitor<'de> for OfArguments {
    type Value = Arguments;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("facts of an event")
    }

    fn visit_str<E>(self, _: &str) -> Result<Arguments, E> {
        Ok(Arguments::default())
    }

    fn visit_unit<E>(self) -> Result<Arguments, E> {
        Ok(Arguments::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Arguments, A::Error> {
        let mut own = Arguments::default();
        while let Some(key) = map.next_key::<String>()? {
            let mut loose = || map.next_value::<Loose>();
            match key.as_str() {
                "External id" | "external id" => own.external = loose()?.integer(),
                "correlation" => own.correlation = loose()?.integer(),
                "stream" => own.stream = loose()?.integer(),
                "Collective name" => own.collective = loose()?.text().to_owned(),
                "In msg nelems" | "In msg size" => own.elements = loose()?.integer(),
                "dtype" => own.number = loose()?.text().to_owned(),
                "Group size" => own.group_size = loose()?.integer(),
                "Process Group Name" => own.group = loose()?.text().to_owned(),
                "Input Dims" | "Input dims" => own.shapes = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(own)
    }
}

/// Holds an event of a trace.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Event {
    pub ph: Loose,
    pub cat: Loose,
    pub name: Loose,
    pub ts: Loose,
    pub dur: Loose,
    pub tid: Loose,
    pub args: Arguments,
}
