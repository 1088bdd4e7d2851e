//! Reads and writes specifications by the keys that their kinds declare.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::kind::fabric_key;
use super::{FabricKey, FabricKind, FabricSpecification, FabricValue, fabric_keys, fabrics};
use crate::diagnostic::Registry;

impl Serialize for FabricSpecification {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.given().len() + 1))?;
        map.serialize_entry("kind", self.kind().name())?;
        for (key, value) in self.given() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for FabricSpecification {
    /// Reads one of Linkwright's own kinds.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SpecificationSeed(&fabrics()).deserialize(deserializer)
    }
}

/// Reads a specification of one of these kinds.
pub(super) struct SpecificationSeed<'a>(pub &'a Registry<dyn FabricKind>);

impl<'de> DeserializeSeed<'de> for SpecificationSeed<'_> {
    type Value = FabricSpecification;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<FabricSpecification, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for SpecificationSeed<'_> {
    type Value = FabricSpecification;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FabricSpecification, A::Error> {
        let mut kind = None;
        let mut given: Vec<(&'static str, FabricValue)> = Vec::new();
        while let Some(key) = map.next_key_seed(KeySeed(self.0))? {
            match key {
                None => kind = Some(map.next_value_seed(KindSeed(self.0))?),
                Some(FabricKey { key, takes, .. }) => {
                    given.push((key, map.next_value_seed(takes)?));
                }
            }
        }
        let kind = kind.ok_or_else(|| A::Error::missing_field("kind"))?;
        let place = |key: &str| fabric_keys(self.0).iter().position(|(it, _)| it.key == key);
        given.sort_by_key(|(key, _)| place(key));
        let new = FabricSpecification::new(kind);
        Ok(given.into_iter().fold(new, |read, (key, value)| read.with(key, value)))
    }
}

/// Refuses a name that is none of some, as serde tells it.
fn unknown<E: Error>(what: &str, name: &str, known: &[&str]) -> E {
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    E::custom(format_args!("unknown {what} `{name}`, expected one of {}", known.join(", ")))
}

/// Reads a key: None of the kind.
struct KeySeed<'a>(&'a Registry<dyn FabricKind>);

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Option<FabricKey>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<FabricKey>, D::Error> {
        let name = String::deserialize(from)?;
        if name == "kind" {
            return Ok(None);
        }
        fabric_key(self.0, &name).map(Some).ok_or_else(|| {
            let own = fabric_keys(self.0);
            let known: Vec<&str> =
                ["kind"].into_iter().chain(own.iter().map(|(key, _)| key.key)).collect();
            unknown("field", &name, &known)
        })
    }
}

/// Reads the name of a kind.
struct KindSeed<'a>(&'a Registry<dyn FabricKind>);

impl<'de> DeserializeSeed<'de> for KindSeed<'_> {
    type Value = &'static dyn FabricKind;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        let name = String::deserialize(from)?;
        self.0.get(&name).map_err(|_| unknown("variant", &name, &self.0.names()))
    }
}
