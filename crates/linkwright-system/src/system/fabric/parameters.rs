//! Parameters from which a kind builds its fabric.

use super::links::refuse;
use super::{FabricError, FabricSpecification, LinkRate};

/// Holds all parameters of a fabric, and which of them somebody gave.
#[derive(Debug, Clone)]
pub struct FabricParameters<'a> {
    /// Has the kind's preset where nothing was given.
    pub whole: FabricSpecification,
    /// Has what was given.
    pub given: &'a FabricSpecification,
}

/// Refuses a value that neither somebody gave nor the preset has.
fn need<T>(value: Option<T>, key: &'static str) -> Result<T, FabricError> {
    match value {
        Some(value) => Ok(value),
        None => refuse(key, "absent", "give it a value"),
    }
}

impl<'a> FabricParameters<'a> {
    /// Completes what is given.
    pub(super) fn of(given: &'a FabricSpecification) -> Self {
        Self { whole: given.whole(), given }
    }

    /// Gives the whole number of a key.
    ///
    /// # Errors
    /// A key that neither somebody gave nor the preset has.
    pub fn count(&self, key: &'static str) -> Result<u32, FabricError> {
        need(self.whole.count(key), key)
    }

    /// Gives the whole numbers of a key.
    ///
    /// # Errors
    /// Fails as [`FabricParameters::count`] does.
    pub fn counts(&self, key: &'static str) -> Result<Vec<u32>, FabricError> {
        need(self.whole.counts(key).map(<[u32]>::to_vec), key)
    }

    /// Tells whether a key is true.
    ///
    /// # Errors
    /// Fails as [`FabricParameters::count`] does.
    pub fn truth(&self, key: &'static str) -> Result<bool, FabricError> {
        need(self.whole.truth(key), key)
    }

    /// Gives the rate of a link between two switches.
    ///
    /// # Errors
    /// Fails as [`FabricParameters::count`] does.
    pub fn switch_rate(&self) -> Result<LinkRate, FabricError> {
        Ok(LinkRate {
            bandwidth: need(self.whole.bandwidth("bandwidth"), "bandwidth")?,
            latency: need(self.whole.latency("latency"), "latency")?,
        })
    }

    /// Gives the rate of a node's link. A latency or bandwidth that was given counts for nodes as well,
    /// before the preset's for nodes.
    ///
    /// # Errors
    /// Fails as [`FabricParameters::count`] does.
    pub fn node_rate(&self) -> Result<LinkRate, FabricError> {
        let between = self.switch_rate()?;
        let given = self.given.latency("node-latency").or(self.given.latency("latency"));
        let latency = given.or(self.whole.latency("node-latency"));
        Ok(LinkRate {
            bandwidth: self.whole.bandwidth("node-bandwidth").unwrap_or(between.bandwidth),
            latency: latency.unwrap_or(between.latency),
        })
    }
}
