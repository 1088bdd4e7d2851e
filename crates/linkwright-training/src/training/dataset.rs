//! Datasets: how many samples an epoch has, and how large one is.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::error::TrainingError;
use super::shape::Shape;

/// Describes the data that networks are trained on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Names the dataset in files.
    pub name: String,
    /// Says where its numbers come from.
    pub source: String,
    /// Lists the points that the source leaves open.
    #[serde(default)]
    pub assumptions: Vec<String>,
    /// Samples that an epoch trains on.
    pub samples: u64,
    /// The shape of one sample, as it is given to a network that takes no other.
    pub shape: Shape,
    /// Bytes of one element, as it is copied to a GPU.
    pub bytes_per_element: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    dataset: Vec<Dataset>,
}

/// The table as compiled in; the tests read it, so that it cannot fail for a user.
static TABLE: LazyLock<Vec<Dataset>> = LazyLock::new(|| {
    let table: Result<Table, _> = toml::from_str(include_str!("datasets.toml"));
    table.expect("the compiled-in datasets are valid").dataset
});

impl Dataset {
    /// Lists every dataset.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &TABLE
    }

    /// Finds the dataset of a name.
    ///
    /// # Errors
    /// A name that none has.
    pub fn find(name: &str) -> Result<&'static Self, TrainingError> {
        Self::all().iter().find(|dataset| dataset.name == name).ok_or_else(|| {
            let known = Self::all().iter().map(|dataset| dataset.name.clone()).collect();
            TrainingError::Unknown { what: "dataset", name: name.to_owned(), known }
        })
    }

    /// Bytes of one sample of a shape, as it is copied to a GPU.
    #[must_use]
    pub fn bytes(&self, shape: Shape) -> u64 {
        shape.elements() * self.bytes_per_element
    }
}
