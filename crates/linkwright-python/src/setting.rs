//! Gives Python `linkwright.Setting`.

use linkwright::scenario::{self, Kind, Registries};
use pyo3::prelude::*;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Describes a setting of a scenario: its possible values, and the value where it is absent.
#[pyclass(frozen, module = "linkwright.scenario")]
pub struct Setting(scenario::Setting);

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.path().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = String::deserialize(deserializer)?;
        let all = scenario::settings(&Registries::default());
        let found = all.into_iter().find(|setting| setting.path() == path);
        found.map(Self).ok_or_else(|| D::Error::custom(format!("no setting `{path}`")))
    }
}

#[pymethods]
impl Setting {
    /// Returns its table and key, as `system.network.nic`.
    #[getter]
    fn path(&self) -> String {
        self.0.path()
    }

    /// Returns its key alone.
    #[getter]
    fn key(&self) -> &str {
        &self.0.key
    }

    /// Names the kind of its values. Plain kinds are `text`, `file`, `truth`, `whole`, `number`,
    /// `factor`, `time`, `size` and `bandwidth`. Lists are `wholes` and `texts`. A `table`,
    /// `tables` or `free` holds keys; those of `free` are not settings. A `name` is one of `names`,
    /// and `names` are some of them; `name-or-other` allows others.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind {
            Kind::Table => "table",
            Kind::Tables => "tables",
            Kind::Free => "free",
            Kind::Text => "text",
            Kind::File => "file",
            Kind::Truth => "truth",
            Kind::Whole { .. } => "whole",
            Kind::Number => "number",
            Kind::Factor => "factor",
            Kind::Time => "time",
            Kind::Size => "size",
            Kind::Bandwidth => "bandwidth",
            Kind::Name(_) => "name",
            Kind::Names(_) => "names",
            Kind::Wholes => "wholes",
            Kind::Texts => "texts",
            Kind::NameOr(_) => "name-or-other",
        }
    }

    /// The unit that its values end in, as people mean them; empty of what has none.
    #[getter]
    fn unit(&self) -> &'static str {
        match self.0.kind {
            Kind::Time => "s",
            Kind::Size => "B",
            Kind::Bandwidth => "B/s",
            _ => "",
        }
    }

    /// The names that it may have; empty of what takes no names.
    #[getter]
    fn names(&self) -> Vec<&'static str> {
        self.0.names()
    }

    /// The least and the most that it may be; None of what is no whole number.
    #[getter]
    fn range(&self) -> Option<(u64, u64)> {
        self.0.range()
    }

    /// Returns the value that holds where it is absent, as it is written, or a phrase.
    #[getter]
    fn absent(&self) -> &'static str {
        self.0.absent
    }

    /// Describes it in a phrase.
    #[getter]
    fn help(&self) -> &str {
        &self.0.help
    }

    fn __repr__(&self) -> String {
        format!("<Setting {}: {}>", self.0.path(), self.0.help)
    }
}

/// Lists every setting of a scenario, in the order of the reference.
#[pyfunction]
pub fn settings() -> Vec<Setting> {
    scenario::settings(&Registries::default()).into_iter().map(Setting).collect()
}
