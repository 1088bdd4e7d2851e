//! Tests the reader of OTF2 archives: against another reader, and on damaged files.

mod damage;
mod listing;
mod recorded;
mod replayed;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Holds the files of an archive beside its anchor `traces.otf2`, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// Names the recorded archive.
const STENCIL: &str = "examples/traces/stencil4d-32";
/// The archive that was written for tests.
const FOUR_RANKS: &str = "validation/otf2/four-ranks";
/// Names the same in the other byte order.
const FOUR_RANKS_BIG_ENDIAN: &str = "validation/otf2/four-ranks-big-endian";

fn repository() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(archive: &str) -> Files {
    let folder = repository().join(archive);
    let mut files = Files::new();
    for (inside, prefix) in [("", ""), ("traces", "traces/")] {
        for entry in fs::read_dir(folder.join(inside)).expect("the archive is in the repository") {
            let path = entry.expect("the folder is readable").path();
            let name = path.file_name().expect("a file has a name").to_string_lossy();
            let parts = [".otf2", ".def", ".evt"];
            if parts.iter().any(|part| name.ends_with(part)) {
                files.insert(format!("{prefix}{name}"), fs::read(&path).expect("a file"));
            }
        }
    }
    files
}
