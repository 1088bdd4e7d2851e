//! The files that a scenario names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::fields::{Fields, FileName};
use crate::diagnostic::{Diagnosis, InputError, Position};
use crate::program::otf2::ArchiveFiles;

/// The content of files, by the names that the scenario gives them.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The files that a text holds itself, in the table of their names.
///
/// # Errors
/// A file that is no text.
pub(super) fn held(table: &Fields<'_>) -> Result<Files, InputError> {
    let content = |name: &str| match table.value(name) {
        Some(toml::Value::String(text)) => Ok((name.to_owned(), text.into_bytes())),
        _ => Err(table.refuse(name, "no text of a file", "write the whole file between `'''`")),
    };
    table.keys().map(content).collect()
}

/// The bytes of a file; `scenario` names the text that wants it.
pub(super) fn bytes_of<'a>(
    scenario: &str,
    file: &FileName,
    files: &'a Files,
) -> Result<&'a [u8], InputError> {
    files.get(&file.name).map(Vec::as_slice).ok_or_else(|| {
        let remedy = "hand it over with the others that the scenario names";
        file.place.refuse(scenario, "a file that was not given", &file.name, remedy)
    })
}

/// Returns the text of a file.
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

/// Holds the files in the folder of an archive's anchor.
pub(super) struct Beside<'a> {
    files: &'a Files,
    /// The folder with the separator behind it; empty where the anchor has none.
    folder: &'a str,
}

impl<'a> Beside<'a> {
    /// Returns the files beside an anchor, and the anchor's name there.
    pub fn of(anchor: &'a FileName, files: &'a Files) -> (Self, &'a str) {
        let start = anchor.name.rfind(['/', '\\']).map_or(0, |at| at + 1);
        let (folder, name) = anchor.name.split_at(start);
        (Self { files, folder }, name)
    }

    /// The folder as the scenario names it, with the separator behind it.
    pub const fn folder(&self) -> &str {
        self.folder
    }
}

impl ArchiveFiles for Beside<'_> {
    fn read(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>, Diagnosis> {
        let found = self.files.get(&format!("{}{name}", self.folder));
        Ok(found.map(|bytes| Cow::Borrowed(bytes.as_slice())))
    }
}
