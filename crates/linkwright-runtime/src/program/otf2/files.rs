//! Says where the bytes of an archive's files come from.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::diagnostic::Diagnosis;

/// Gives the files of an archive by name.
///
/// The names are relative to the folder of the anchor file, with `/` between their parts. For the
/// anchor `traces.otf2` they are `traces.otf2`, `traces.def`, `traces/0.def`, `traces/0.evt` and so
/// on. Files are asked for one at a time, so that a large archive need not be held whole.
pub trait ArchiveFiles {
    /// The content of a file, or `None` where there is no such file.
    ///
    /// # Errors
    /// The problem with a file that is there, and a remedy.
    fn read(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>, Diagnosis>;
}

/// Gives files that lie in memory.
impl ArchiveFiles for BTreeMap<String, Vec<u8>> {
    fn read(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>, Diagnosis> {
        Ok(self.get(name).map(|bytes| Cow::Borrowed(bytes.as_slice())))
    }
}
