//! Changes a system and its settings, and times a collective then.

use super::mended::narrowed;
use crate::collectives::Collective;
use crate::collectives::baselines::expect::worn::expect_worn;
use crate::collectives::baselines::{ExpectError, Expectation, Settings};
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::system::{PartError, System, Wire, Wiring};
use crate::units::Bytes;

/// The wires that carry less than they should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WornPart {
    /// Names all wires of a GPU, by its id.
    Gpu(usize),
    /// Names the wires of network interfaces.
    Network,
    /// Names the wires between GPUs: NVLink or xGMI, else PCIe.
    BetweenGpus,
}

/// Wires that carry a part of what they should.
#[derive(Debug, Clone, PartialEq)]
pub struct Worn {
    /// On this server; on each where there is none.
    pub server: Option<usize>,
    /// These wires do.
    pub part: WornPart,
    /// Is the part that they carry, above 0 and at most 1.
    pub share: f64,
}

/// Says what a cause changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// NCCL runs under these settings.
    pub settings: Settings,
    /// These parts are absent, by the names of [`System::without`].
    pub without: Vec<String>,
    /// Lists wires that carry less.
    pub worn: Vec<Worn>,
    /// Lists GPUs and interfaces, by their names on every server, whose PCIe link carries a part of
    /// what it should. The library knows it.
    pub narrow: Vec<(String, f64)>,
    /// The system is as its own description has it.
    pub as_described: bool,
}

impl Change {
    /// Changes the settings alone.
    #[must_use]
    pub fn of_settings(settings: Settings) -> Self {
        let (without, worn, narrow) = (Vec::new(), Vec::new(), Vec::new());
        Self { settings, without, worn, narrow, as_described: false }
    }
}

/// Why a changed system cannot be played.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ChangeError {
    /// A part is not there.
    #[error(transparent)]
    Part(#[from] PartError),
    /// Nothing can be expected.
    #[error(transparent)]
    Expect(#[from] ExpectError),
}

impl Diagnose for ChangeError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Part(error) => error.diagnosis(),
            Self::Expect(error) => error.diagnosis(),
        }
    }
}

/// The job that a change is played on.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Is the system.
    pub system: &'a System,
    /// The system as its own description has it.
    pub described: &'a System,
    /// Lists the job's GPUs.
    pub gpus: &'a [usize],
    /// Names what is run.
    pub collective: Collective,
}

impl Job<'_> {
    /// Plays a change at some sizes.
    ///
    /// # Errors
    /// A part that is not there, or GPUs that nothing joins any more.
    pub fn play(&self, change: &Change, sizes: &[Bytes]) -> Result<Vec<Expectation>, ChangeError> {
        let base = if change.as_described { self.described } else { self.system };
        let (left, narrow);
        let base = if change.narrow.is_empty() {
            base
        } else {
            narrow = narrowed(base, &change.narrow);
            &narrow
        };
        let system = if change.without.is_empty() {
            base
        } else {
            left = base.without(&change.without)?;
            &left
        };
        let part = |wiring: &Wiring, wire: &Wire| {
            let of = change.worn.iter().filter(|worn| worn.has(wiring, wire));
            of.map(|worn| worn.share).product()
        };
        let found = expect_worn(system, self.gpus, self.collective, sizes, &change.settings, part)?;
        Ok(found.rows)
    }
}

impl Worn {
    /// Whether a wire is one of these.
    fn has(&self, wiring: &Wiring, wire: &Wire) -> bool {
        let devices = [wire.a, wire.b].map(|end| wiring.devices()[end]);
        let is_here = |at: usize| self.server.is_none() || devices[at].server == self.server;
        if !(is_here(0) || is_here(1)) {
            return false;
        }
        match &self.part {
            WornPart::Gpu(gpu) => [wire.a, wire.b].contains(&wiring.gpu(*gpu)),
            WornPart::Network => wire.is_network(),
            WornPart::BetweenGpus => {
                let has_fabric = wiring.wires().iter().any(Wire::is_gpu_fabric);
                if has_fabric { wire.is_gpu_fabric() } else { wire.is_pcie() }
            }
        }
    }
}
