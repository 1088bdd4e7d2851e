//! The fields of a configuration, asked for one by one, so that each error names its field and place.

use serde_json::{Map, Value};

use crate::diagnostic::{InputError, Position, instead_of};

/// Keeps counts to what models may have.
pub(super) const MOST_LAYERS: u64 = 4096;
pub(super) const MOST_HEADS: u64 = 4096;
pub(super) const MOST_EXPERTS: u64 = 65_536;
pub(super) const MOST_WIDTH: u64 = 1 << 20;
pub(super) const MOST_TOKENS: u64 = 1 << 28;

/// Fields that every family may have, and that change neither memory nor time as told here.
const IGNORED: &[&str] = &[
    "_attn_implementation",
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "auto_map",
    "bos_token_id",
    "dtype",
    "eos_token_id",
    "head_dim_original",
    "initializer_range",
    "model_type",
    "norm_eps",
    "pad_token_id",
    "pretraining_tp",
    "quantization_config",
    "rms_norm_eps",
    "rope_interleave",
    "rope_parameters",
    "rope_theta",
    "tokenizer_class",
    "torch_dtype",
    "transformers_version",
    "unsloth_fixed",
    "use_cache",
];

/// Holds the object of a configuration, with the text that errors point into.
pub(super) struct Fields<'a> {
    file: &'a str,
    text: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(file: &'a str, text: &'a str, map: &'a Map<String, Value>) -> Self {
        Self { file, text, map }
    }

    /// Refuses a field's value.
    pub(super) fn refuse(
        &self,
        field: &str,
        problem: impl std::fmt::Display,
        remedy: impl Into<String>,
    ) -> InputError {
        let at = self.text.find(&format!("\"{field}\"")).unwrap_or(0);
        let position = Position::of_offset(self.text, at);
        let value = self.map.get(field).map(ToString::to_string).unwrap_or_default();
        InputError::at(self.file, position, format!("`{field}`: {problem}"), &value, remedy)
    }

    /// Refuses that a field is not there.
    pub(super) fn refuse_missing(&self, field: &str, remedy: impl Into<String>) -> InputError {
        let position = Position::of_offset(self.text, 0);
        InputError::at(self.file, position, format!("there is no `{field}`"), "", remedy)
    }

    /// Refuses a field that is neither read nor known to have no effect.
    pub(super) fn check(&self, read: &[&str], unread: &[&str]) -> Result<(), InputError> {
        for field in self.map.keys() {
            let name = field.as_str();
            if !read.contains(&name) && !unread.contains(&name) && !IGNORED.contains(&name) {
                let remedy =
                    format!("leave it out, or take one that is read; {}", instead_of(name, read));
                return Err(self.refuse(name, "unknown field", remedy));
            }
        }
        Ok(())
    }

    /// The value of a field; one that is null is as absent.
    pub(super) fn get(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, field: &str) -> Result<Option<&'a str>, InputError> {
        let of = |value: &'a Value| {
            value.as_str().ok_or_else(|| self.refuse(field, "no text", "write a text"))
        };
        self.get(field).map(of).transpose()
    }

    pub(super) fn flag(&self, field: &str, absent: bool) -> Result<bool, InputError> {
        let of = |value: &Value| {
            value.as_bool().ok_or_else(|| self.refuse(field, "no truth", "write true or false"))
        };
        self.get(field).map_or(Ok(absent), of)
    }

    /// The whole number of a field that may be absent.
    pub(super) fn number(
        &self,
        field: &str,
        (least, most): (u64, u64),
    ) -> Result<Option<u64>, InputError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let whole = value.as_u64().filter(|number| (least..=most).contains(number));
        whole.map(Some).ok_or_else(|| {
            let remedy = format!("write a whole number from {least} to {most}");
            self.refuse(field, "impossible value", remedy)
        })
    }

    /// The whole number of a field that must be there, one at least.
    pub(super) fn need(&self, field: &str, most: u64) -> Result<u64, InputError> {
        self.number(field, (1, most))?.ok_or_else(|| {
            self.refuse_missing(field, format!("add it, a whole number from 1 to {most}"))
        })
    }

    /// Gives the whole numbers of a list.
    pub(super) fn numbers(&self, field: &str, most: u64) -> Result<Vec<u64>, InputError> {
        let refuse = || self.refuse(field, "impossible value", format!("list numbers to {most}"));
        let Some(value) = self.get(field) else { return Ok(Vec::new()) };
        let list = value.as_array().ok_or_else(refuse)?;
        let number = |it: &Value| it.as_u64().filter(|it| *it <= most).ok_or_else(refuse);
        list.iter().map(number).collect()
    }

    /// The fields of a table within; none where it is absent.
    pub(super) fn table(&self, field: &str) -> Result<Option<Fields<'a>>, InputError> {
        let of = |value: &'a Value| match value.as_object() {
            Some(map) => Ok(Fields { map, ..*self }),
            None => Err(self.refuse(field, "no object", "write { \"key\": value }")),
        };
        self.get(field).map(of).transpose()
    }
}
