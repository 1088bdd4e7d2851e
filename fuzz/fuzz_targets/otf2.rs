#![no_main]
use std::collections::BTreeMap;

use linkwright::program::otf2::Archive;

macro_rules! file {
    ($name:literal) => {
        ($name, include_bytes!(concat!("../../validation/otf2/four-ranks/", $name)).as_slice())
    };
}

/// A sound archive, so that damage reaches every reader and not the anchor file's alone.
const FILES: [(&str, &[u8]); 12] = [
    file!("traces.otf2"),
    file!("traces.def"),
    file!("traces/0.def"),
    file!("traces/0.evt"),
    file!("traces/1.def"),
    file!("traces/1.evt"),
    file!("traces/2.def"),
    file!("traces/2.evt"),
    file!("traces/3.def"),
    file!("traces/3.evt"),
    file!("traces/4294967297.def"),
    file!("traces/4294967297.evt"),
];

// Pieces of the sound files are written over: which file, from where on, with what.
libfuzzer_sys::fuzz_target!(|pieces: Vec<(u8, u16, Vec<u8>)>| {
    let mut files: BTreeMap<String, Vec<u8>> =
        FILES.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
    for (file, from, piece) in pieces {
        let bytes = files.get_mut(FILES[usize::from(file) % FILES.len()].0).expect("a file");
        let from = usize::from(from) % (bytes.len() + 1);
        // An empty piece cuts the file.
        let to = if piece.is_empty() { bytes.len() } else { bytes.len().min(from + piece.len()) };
        bytes.splice(from..to, piece);
    }
    drop(Archive::read("traces.otf2", &files));
});
