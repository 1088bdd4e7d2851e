//! A text, kept so that a value can be read from it again.

use linkwright::scenario::Given;
use serde::{Deserialize, Serialize};

use crate::plug_in::registries;

/// A text that a value is read from again.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Source {
    /// Is what errors call the text.
    pub file: String,
    /// The value is read from it.
    pub text: String,
    /// Settings that are put over it.
    pub settings: String,
    /// The variant that is meant.
    pub variant: Option<String>,
}

impl Source {
    /// A text as it is.
    pub fn new(file: String, text: String) -> Self {
        Self { file, text, ..Self::default() }
    }

    /// Gives it to the core's reader.
    pub fn given(&self) -> Given {
        let Self { file, text, settings, variant } = self.clone();
        Given { file, text, settings, variant, registries: registries() }
    }
}
