//! Finds public models by name, in our table of their published numbers.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{LanguageModel, configuration};
use crate::training::error::TrainingError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    model: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    source: String,
    configuration: Map<String, Value>,
}

/// The table as compiled in; the tests read it, so that it cannot fail for a user.
static TABLE: LazyLock<Vec<LanguageModel>> = LazyLock::new(|| {
    let table: Result<Table, _> = toml::from_str(include_str!("models.toml"));
    let rows = table.expect("the compiled-in models are valid").model.into_iter();
    let read = |row: Row| {
        configuration::from_fields("models.toml", "", &row.configuration, &row.name, &row.source)
    };
    rows.map(|row| read(row).expect("a compiled-in model is valid")).collect()
});

pub(super) fn all() -> &'static [LanguageModel] {
    &TABLE
}

/// Gives a name without what people leave out.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '_', '.', ' '], "")
}

/// Gives the model of a name.
///
/// # Errors
/// A name that none has.
pub(super) fn find(name: &str) -> Result<&'static LanguageModel, TrainingError> {
    let wanted = plain(name);
    all().iter().find(|model| plain(&model.name) == wanted).ok_or_else(|| {
        let known = all().iter().map(|model| model.name.clone()).collect();
        TrainingError::Unknown { what: "model", name: name.to_owned(), known }
    })
}
