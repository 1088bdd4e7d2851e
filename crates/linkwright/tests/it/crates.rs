//! The folders of the core's crates, for tests that read its source.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates that no layer of the core stands in.
const OUTSIDE: [&str; 3] = ["linkwright-bench", "linkwright-python", "linkwright-recipes"];

/// The folders of the core's crates, in the order of their names.
pub fn core() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = fs::read_dir(all).expect("the folder of the crates is readable");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the folder of the crates is readable").path())
        .filter(|path| path.join("src/lib.rs").exists() && !OUTSIDE.contains(&name(path)))
        .collect();
    found.sort();
    found
}

/// A crate's name, which its folder has.
pub fn name(folder: &Path) -> &str {
    folder.file_name().and_then(|name| name.to_str()).expect("a crate has a plain name")
}
