//! Where the bytes of an archive's files come from.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// The files of an archive, by name.
///
/// The names are relative to the folder of the anchor file, with `/` between their parts: for the
/// anchor `traces.otf2` they are `traces.otf2`, `traces.def`, `traces/0.def`, `traces/0.evt` and
/// so on. Files are asked for one at a time, so that a large archive need not be held whole.
pub trait ArchiveFiles {
    /// The content of a file, or `None` where there is no such file.
    ///
    /// # Errors
    /// Why a file that is there cannot be read, as a sentence for the user.
    fn read(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>, String>;
}

/// Files in memory.
impl ArchiveFiles for BTreeMap<String, Vec<u8>> {
    fn read(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>, String> {
        Ok(self.get(name).map(|bytes| Cow::Borrowed(bytes.as_slice())))
    }
}
