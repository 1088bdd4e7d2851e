//! The recipes of CONTRIBUTING, each followed as a crate of somebody else would.
//!
//! An example is one file here, its module, and one line of [`registries`]. Nothing of Linkwright
//! itself knows it. The tests beside it choose each by its name, and count its places.

pub mod last_gpus;

use linkwright::scenario::Registries;

/// What Linkwright has, and an example of each recipe.
#[must_use]
pub fn registries() -> Registries {
    let mut all = Registries::default();
    all.policies.add(&last_gpus::LastGpus);
    all
}
