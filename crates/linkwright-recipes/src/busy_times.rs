//! Reads traces that have a line for each rank: the microseconds that it computed.

use linkwright::diagnostic::{Diagnosis, Registered};
use linkwright::program::otf2::ArchiveFiles;
use linkwright::program::trace::{TraceFault, TraceOptions, TraceProgram, TraceReader};
use linkwright::program::{Operation, Program, RankBuilder};
use linkwright::units::Picoseconds;

/// Reads files that end in `.busy`.
#[derive(Debug)]
pub struct BusyTimes;

impl Registered for BusyTimes {
    fn name(&self) -> &'static str {
        "busy"
    }
}

impl TraceReader for BusyTimes {
    fn reads(&self, file: &str) -> bool {
        file.ends_with(".busy")
    }

    fn program(
        &self,
        file: &str,
        files: &dyn ArchiveFiles,
        options: &TraceOptions,
    ) -> Result<TraceProgram, TraceFault> {
        let fault = |told: &str| TraceFault::Program(Diagnosis::of(told));
        let bytes = files.read(file).map_err(TraceFault::Program)?.unwrap_or_default();
        let text = std::str::from_utf8(&bytes).map_err(|_| fault("the trace is no text"))?;
        let rank = |line: &str| {
            let time: u32 = line.parse().map_err(|_| fault("a line is no number"))?;
            let mut rank = RankBuilder::default();
            rank.run(Operation::Compute { duration: Picoseconds(u64::from(time) * 1_000_000) });
            Ok(rank.finish())
        };
        let ranks = text.lines().map(rank).collect::<Result<Vec<_>, TraceFault>>()?;
        let communicators = vec![(0..ranks.len() as u32).collect()];
        let (name, regions) = (options.name.clone(), Vec::new());
        let program = Program { name, communicators, regions, ranks };
        Ok(TraceProgram { program, notes: Vec::new() })
    }
}
