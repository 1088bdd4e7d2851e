//! Reads the files of an OTF2 archive from disk.

use std::borrow::Cow;
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;

use linkwright::diagnostic::Diagnosis;
use linkwright::program::otf2::ArchiveFiles;

/// One file has no more bytes, which is twenty times the largest real one.
const LARGEST_FILE: u64 = 64 << 20;
/// All files have no more bytes: 64 KiB are left for each of 16,384 ranks.
const LARGEST_ARCHIVE: u64 = 1 << 30;

/// A folder that holds the anchor of an archive.
pub struct ArchiveFolder {
    path: PathBuf,
    /// Counts the bytes of the files that were read.
    read: Cell<u64>,
}

impl ArchiveFolder {
    pub const fn new(path: PathBuf) -> Self {
        Self { path, read: Cell::new(0) }
    }

    /// Counts a file of `size` bytes, or refuses it.
    fn count(&self, size: u64) -> Result<(), Diagnosis> {
        let remedy = "record fewer iterations or fewer calls";
        let whole = self.read.get().saturating_add(size);
        let problem = match (size > LARGEST_FILE, whole > LARGEST_ARCHIVE) {
            (true, _) => "the file has more than 64 MiB",
            (_, true) => "the archive's files have more than 1 GiB up to this one",
            (false, false) => {
                self.read.set(whole);
                return Ok(());
            }
        };
        Err(Diagnosis::of(problem).remedy(remedy))
    }
}

impl ArchiveFiles for ArchiveFolder {
    fn read(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>, Diagnosis> {
        let path = self.path.join(name);
        // Looked at before it is opened: a pipe would wait for its writer, and a device has no end.
        let about = match fs::metadata(&path) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(&error)),
        };
        if !about.is_file() {
            let problem = "this is no plain file";
            return Err(Diagnosis::of(problem).remedy("copy the archive's own file there"));
        }
        self.count(about.len())?;
        let mut bytes = Vec::with_capacity(about.len() as usize);
        // It may grow meanwhile.
        let file = File::open(&path).map_err(|error| unreadable(&error))?;
        file.take(about.len()).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
        Ok(Some(Cow::Owned(bytes)))
    }
}

fn unreadable(error: &io::Error) -> Diagnosis {
    Diagnosis::of(format!("the file cannot be read: {error}")).remedy("see that it may be read")
}
