//! Reads the version, variables that were set and plug-ins. It reads what runs that the model
//! lacks.

use super::{DebugReader, Heard, One};
use crate::collectives::nccl::nccl_tests::Unmodelled;

/// How many variables are kept, and how long a value may be.
const MOST_VARIABLES: usize = 256;
const LONGEST: usize = 256;

impl DebugReader {
    /// Reads `NCCL version 2.27.7+cuda12.9` and `RCCL version : 2.22.3-...`.
    pub(super) fn version(&mut self, one: &mut One<'_, '_>) -> Heard {
        let Some((_, version)) = one.line.message.split_once("CCL version") else {
            return Heard::Nothing;
        };
        let version = version.trim_start_matches([' ', ':']);
        let end = version.find(|it: char| !(it.is_ascii_digit() || it == '.'));
        let version = version[..end.unwrap_or(version.len())].trim_end_matches('.');
        if version.is_empty() || !version.contains('.') || version.len() > 32 {
            return Heard::Nothing;
        }
        let line = self.proof(one);
        self.log.version.get_or_insert((version.to_owned(), line));
        Heard::Fact
    }

    /// Reads `NCCL_ALGO set by environment to Ring`, and `NCCL_IB_HCA set to mlx5_0`.
    pub(super) fn setting(&mut self, one: &mut One<'_, '_>) -> Heard {
        const OWN: [&str; 2] = [" set by environment to ", " set to "];
        let message = one.line.message;
        let found = OWN.iter().find_map(|own| message.split_once(own));
        let Some((name, value)) = found else { return Heard::Nothing };
        let name = name.rsplit(' ').next().unwrap_or_default();
        let is_name = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
        let is_of_nccl = name.starts_with("NCCL_") || name.starts_with("RCCL_");
        if !is_of_nccl || name.len() > 64 || !name.chars().all(is_name) {
            return Heard::Nothing;
        }
        if self.log.variables.len() >= MOST_VARIABLES {
            self.log.skipped += 1;
            return Heard::Fact;
        }
        let value: String = value.trim().trim_end_matches('.').chars().take(LONGEST).collect();
        self.keep(one, |log| &mut log.variables, name.to_owned(), |line| (value, line))
    }

    /// Reads `NET/Plugin: Loaded net plugin AWS Libfabric (v8)`, `TUNER/Plugin: Using tuner plugin ...` and
    /// `Successfully loaded external network plugin ...`. NCCL's own are none.
    pub(super) fn plugin(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        let found = message.split_once("plugin ").filter(|(before, _)| {
            ["Loaded ", "Using ", "loaded external ", "Initialized "]
                .iter()
                .any(|own| before.contains(own))
        });
        // Releases from 2.28 on leave out the word: `TUNER/Plugin: Using Special (v5)`.
        let found = found.or_else(|| {
            let (kind, name) = message.split_once("/Plugin: Using ")?;
            let is_versioned = name.ends_with(')') && name.contains(" (v");
            is_versioned.then(|| (&message[..kind.len() + "/Plugin: Using ".len()], name))
        });
        let Some((before, name)) = found else {
            let is_of_plugin = message.contains("/Plugin");
            return if is_of_plugin { Heard::Fact } else { Heard::Nothing };
        };
        let kind = match before.split_whitespace().next_back() {
            Some("collnet" | "coll") => "COLLNET",
            Some("tuner") => "TUNER",
            Some("profiler") => "PROFILER",
            Some("env") => "ENV",
            _ => before.split_once("/Plugin").map_or("NET", |(kind, _)| kind),
        };
        let name = name.split(" (").next().unwrap_or_default().trim();
        let is_own = before.contains("internal")
            || ["IB", "Socket"].contains(&name)
            || name.starts_with("internal");
        if is_own || name.is_empty() || kind.len() > 16 {
            return Heard::Fact;
        }
        let name: String = name.chars().take(LONGEST).collect();
        self.keep(one, |log| &mut log.plugins, kind.to_owned(), |line| (name, line))
    }

    /// Reads `NVLS multicast support is not available on dev 3`. One GPU without it stops all.
    pub(super) fn nvls(&mut self, one: &mut One<'_, '_>) -> Heard {
        let Some(rest) = one.line.message.strip_prefix("NVLS multicast support is ") else {
            return Heard::Nothing;
        };
        let can = !rest.starts_with("not ");
        if self.log.nvls.as_ref().is_none_or(|(known, _)| *known && !can) {
            self.log.nvls = Some((can, self.proof(one)));
        }
        Heard::Fact
    }

    /// Reads kernels on windows and copy engines.
    pub(super) fn unmodelled(&mut self, one: &mut One<'_, '_>) -> Heard {
        match Unmodelled::in_line(one.line.message) {
            Some(found) => self.keep(one, |log| &mut log.unmodelled, found, |line| line),
            None => Heard::Nothing,
        }
    }
}
