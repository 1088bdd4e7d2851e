//! The files that a scenario names.

use std::collections::BTreeMap;

use super::fields::FileName;
use crate::diagnostic::{InputError, Position};

/// The content of files, by the names that the scenario gives them.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The bytes of a file; `scenario` names the text that wants it.
pub(super) fn bytes_of<'a>(
    scenario: &str,
    file: &FileName,
    files: &'a Files,
) -> Result<&'a [u8], InputError> {
    files.get(&file.name).map(Vec::as_slice).ok_or_else(|| {
        let remedy = "hand it over with the others that the scenario names";
        InputError::at(scenario, file.position, "a file that was not given", &file.name, remedy)
    })
}

/// The text of a file.
pub(super) fn text_of<'a>(
    scenario: &str,
    file: &FileName,
    files: &'a Files,
) -> Result<&'a str, InputError> {
    let bytes = bytes_of(scenario, file, files)?;
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        let position = Position::of_offset(valid, valid.len());
        let remedy = "save the file as UTF-8";
        InputError::at(&file.name, position, "these bytes are no text", "", remedy)
    })
}
