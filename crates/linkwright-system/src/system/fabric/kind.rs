//! Says what a kind of fabric has to tell, and lists the kinds by name.

use std::fmt;

use super::kinds::KINDS;
use super::{
    Fabric, FabricError, FabricKey, FabricParameters, FabricSpecification, FabricValue, LINK_KEYS,
};
use crate::diagnostic::{Registered, Registry};

/// Makes fabrics that a few parameters describe.
///
/// Its name is that of `system.network.kind` in a scenario. Its own keys are read there, beside
/// those of links ([`LINK_KEYS`]), and in files.
pub trait FabricKind: Registered + fmt::Debug {
    /// Lists the keys of this kind besides those of links, in the order of the reference.
    fn keys(&self) -> &'static [FabricKey];

    /// Gives values for the keys that nobody gives; `given` are those that somebody does. A
    /// `bandwidth` and a `latency` are among them.
    fn preset(&self, given: &FabricSpecification) -> Vec<(&'static str, FabricValue)>;

    /// Lists the keys that say how many ports it has. They may be left out.
    fn sizes(&self) -> &'static [&'static str];

    /// Completes what is given by the sizes of the smallest fabric that has the ports.
    ///
    /// # Errors
    /// The most ports that what is given can have; 0 where that makes no fabric at all.
    fn sized(&self, given: &FabricSpecification, ports: u64) -> Result<FabricSpecification, u64>;

    /// Names the key that is to blame where no size is given and the ports are too few, and the
    /// remedy.
    fn limit(&self, given: &FabricSpecification) -> (&'static str, &'static str) {
        let _ = given;
        ("kind", "take another kind of network")
    }

    /// Makes the fabric of these parameters.
    ///
    /// # Errors
    /// Refuses parameters that make no fabric, each by its name.
    fn build(&self, parameters: &FabricParameters<'_>) -> Result<Fabric, FabricError>;

    /// Names the routing that fits it, where its shape does not say that.
    fn routing(&self) -> Option<&'static str> {
        None
    }
}

/// Lists Linkwright's own kinds of fabrics by name.
#[must_use]
pub fn fabrics() -> Registry<dyn FabricKind> {
    Registry::new("kind of network", KINDS)
}

/// Lists every key of these kinds once, with all whose it is. A key that several kinds have is told as
/// the first has it.
#[must_use]
pub fn fabric_keys(kinds: &Registry<dyn FabricKind>) -> Vec<(FabricKey, Vec<&'static str>)> {
    let mut all: Vec<(FabricKey, Vec<&'static str>)> = Vec::new();
    for key in kinds.iter().flat_map(FabricKind::keys).chain(&LINK_KEYS) {
        match all.iter_mut().find(|(known, _)| known.key == key.key) {
            Some((_, of)) if of.contains(&key.of) => {}
            Some((_, of)) => of.push(key.of),
            None => all.push((*key, vec![key.of])),
        }
    }
    all
}

/// Finds the key of a name among those of these kinds.
pub(super) fn fabric_key(kinds: &Registry<dyn FabricKind>, name: &str) -> Option<FabricKey> {
    let keys = kinds.iter().flat_map(FabricKind::keys).chain(&LINK_KEYS);
    keys.copied().find(|key| key.key == name)
}
