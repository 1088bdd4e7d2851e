//! Reads Hugging Face configurations. Each family has its own fields, and every field is read, known
//! to change nothing here, or refused by its name.

mod experts;
mod families;
mod fields;
mod mpt;

use serde_json::{Map, Value};

use self::fields::Fields;
use super::{LanguageModel, MOST_PARAMETERS};
use crate::diagnostic::{InputError, Position, instead_of};

/// The most bytes of a configuration: published ones have a few thousand.
const MOST_TEXT: usize = 1 << 20;

/// Says what `model_type` may be.
pub const FAMILIES: &[&str] = &[
    "llama",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "mistral",
    "mixtral",
    "gpt_oss",
    "deepseek_v2",
    "deepseek_v3",
    "mpt",
];

/// Gives a model from the text of its configuration.
///
/// # Errors
/// Fails as [`LanguageModel::read`] does.
pub(super) fn read(file: &str, text: &str) -> Result<LanguageModel, InputError> {
    let start = Position::of_offset(text, 0);
    if text.len() > MOST_TEXT {
        let remedy = "give the `config.json` of a model";
        return Err(InputError::at(file, start, "more than a configuration", "", remedy));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let position = Position { line: error.line().max(1), column: error.column().max(1) };
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        let remedy = "give the `config.json` of a model, as Hugging Face has it";
        InputError::at(file, position, format!("this is no JSON: {said}"), "", remedy)
    })?;
    let Value::Object(map) = value else {
        let remedy = "give the `config.json` of a model: { \"model_type\": \"llama\", ... }";
        return Err(InputError::at(file, start, "a configuration is an object", "", remedy));
    };
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    from_fields(file, text, &map, name, "")
}

/// A model from fields that are read already.
pub(super) fn from_fields(
    file: &str,
    text: &str,
    map: &Map<String, Value>,
    name: &str,
    source: &str,
) -> Result<LanguageModel, InputError> {
    let fields = Fields::new(file, text, map);
    let kind = fields.text("model_type")?.ok_or_else(|| {
        let remedy = format!("add it: one of {}", FAMILIES.join(", "));
        fields.refuse_missing("model_type", remedy)
    })?;
    let mut model = match kind {
        "llama" => families::llama(&fields)?,
        "mistral" => families::mistral(&fields)?,
        "mixtral" => experts::mixtral(&fields)?,
        "qwen2" | "qwen2_moe" | "qwen3" | "qwen3_moe" => experts::qwen(&fields, kind)?,
        "gpt_oss" => experts::gpt_oss(&fields)?,
        "deepseek_v2" | "deepseek_v3" => experts::deepseek(&fields)?,
        "mpt" => mpt::read(&fields)?,
        other => {
            let remedy = format!("take one that is read; {}", instead_of(other, FAMILIES));
            return Err(fields.refuse("model_type", "another family", remedy));
        }
    };
    if parameters(&model) > u128::from(MOST_PARAMETERS) {
        let remedy = format!("keep to {MOST_PARAMETERS} parameters");
        return Err(fields.refuse("model_type", "more parameters than any model has", remedy));
    }
    name.clone_into(&mut model.name);
    source.clone_into(&mut model.source);
    Ok(model)
}

/// Bounds a model's parameters from above, in numbers that cannot overflow.
fn parameters(model: &LanguageModel) -> u128 {
    let wide = u128::from;
    let hidden = wide(model.hidden);
    let heads =
        wide(model.attention.heads) * wide(model.attention.head + model.attention.value_head);
    let attention = 4 * (hidden + 2 * wide(1 << 20)) * heads;
    let blocks = model.blocks.iter().map(|blocks| {
        let inner = match blocks.mlp {
            super::Mlp::Dense { inner, .. } => wide(inner),
            super::Mlp::Experts(it) => wide(it.count) * (wide(it.inner) + 1) + wide(it.shared),
        };
        wide(blocks.count) * (attention.min(wide(1 << 60)) + 6 * hidden * inner)
    });
    blocks.sum::<u128>() + 2 * wide(model.vocabulary + model.positions) * hidden
}
