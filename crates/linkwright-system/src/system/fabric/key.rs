//! Describes the keys of fabrics: their names and their values.

use serde::de::{DeserializeSeed, Deserializer};
use serde::{Deserialize, Serialize};

use crate::system::NetworkKind;
use crate::units::{Bandwidth, Picoseconds};

/// Says what the value of a fabric's key may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FabricValueType {
    /// Takes a whole number from one.
    Count,
    /// Takes a list of whole numbers.
    Counts,
    /// Takes true or false.
    Truth,
    /// Takes bytes per second and direction, written with a unit.
    Bandwidth,
    /// Takes the time of one way, written with a unit.
    Latency,
    /// Names what links are.
    Links,
}

/// Holds the value of a fabric's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "each is of the type of its name")]
pub enum FabricValue {
    Count(u32),
    Counts(Vec<u32>),
    Truth(bool),
    Bandwidth(Bandwidth),
    Latency(Picoseconds),
    Links(NetworkKind),
}

macro_rules! values {
    ($($variant:ident: $type:ty,)*) => {
        $(impl From<$type> for FabricValue {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        })*

        impl FabricValue {
            /// Writes the value as errors show it.
            pub(super) fn shown(&self) -> String {
                match self {
                    $(Self::$variant(value) => format!("{value:?}"),)*
                }
            }
        }

        impl<'de> DeserializeSeed<'de> for FabricValueType {
            type Value = FabricValue;

            fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<FabricValue, D::Error> {
                match self {
                    $(Self::$variant => <$type>::deserialize(from).map(FabricValue::$variant),)*
                }
            }
        }
    };
}

values! {
    Count: u32,
    Counts: Vec<u32>,
    Truth: bool,
    Bandwidth: Bandwidth,
    Latency: Picoseconds,
    Links: NetworkKind,
}

/// Describes a key of a fabric. One that several kinds have is of one type in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FabricKey {
    /// Files spell it so, with hyphens; scenarios have underscores.
    pub key: &'static str,
    /// Says what it may be.
    pub takes: FabricValueType,
    /// Says whose it is, behind "of": `a torus`.
    pub of: &'static str,
    /// Says what it is, in a phrase; is empty where its name says that.
    pub help: &'static str,
    /// Says what stands for it where it is absent and the kind's preset lacks it.
    pub absent: &'static str,
    /// Tells whether the simulation of packets alone heeds it.
    pub of_packets: bool,
}

impl FabricKey {
    /// Makes a key of a kind; `of` says whose it is.
    #[must_use]
    pub const fn new(
        key: &'static str,
        takes: FabricValueType,
        of: &'static str,
        help: &'static str,
    ) -> Self {
        Self { key, takes, of, help, absent: "", of_packets: false }
    }

    /// Makes a key whose value is a whole number, at least one.
    #[must_use]
    pub const fn count(key: &'static str, of: &'static str, help: &'static str) -> Self {
        Self::new(key, FabricValueType::Count, of, help)
    }

    /// Gives the same key, with a phrase on what stands for it where it is absent.
    #[must_use]
    pub const fn or(self, absent: &'static str) -> Self {
        Self { absent, ..self }
    }

    /// Marks the key as one that packets alone heed.
    #[must_use]
    pub const fn of_packets(self) -> Self {
        Self { of_packets: true, ..self }
    }
}

/// Lists the keys of links, which every kind has.
pub const LINK_KEYS: [FabricKey; 5] = [
    FabricKey::new(
        "bandwidth",
        FabricValueType::Bandwidth,
        "every link that nothing else gives one; absent, that of the servers' interfaces",
        "",
    ),
    FabricKey::new(
        "latency",
        FabricValueType::Latency,
        "every link that nothing else gives one",
        "",
    ),
    FabricKey::new("node-bandwidth", FabricValueType::Bandwidth, "the links of nodes", ""),
    FabricKey::new("node-latency", FabricValueType::Latency, "the links of nodes", ""),
    FabricKey::new("links", FabricValueType::Links, "", "what the links are"),
];
