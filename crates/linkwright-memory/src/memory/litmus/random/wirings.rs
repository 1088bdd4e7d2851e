//! Draws links of machines between GPUs whose memories are their own.

use std::sync::{Arc, LazyLock};

use super::{MemorySystem, below};
use crate::engine::Random;
use crate::memory::address::Pages;
use crate::network::wires::{self, Wires};
use crate::system::System;
use crate::system::presets::preset;

/// Joins some GPUs of a machine.
#[derive(Debug)]
pub(super) struct Wiring {
    /// Names the machine.
    pub machine: &'static str,
    gpus: &'static [u32],
    wires: Wires,
}

/// Lists machines and their GPUs. No NVLink joins 0 and 5, 3 and 5, or 0 and 6 of a DGX-1V, so that
/// these pairs meet at the host. NVSwitches join all GPUs of an HGX H100.
const JOINED: &[(&str, &[u32])] = &[
    ("dgx1-v100", &[3]),
    ("dgx1-v100", &[0, 3]),
    ("dgx1-v100", &[0, 5]),
    ("dgx1-v100", &[0, 1, 2, 3]),
    ("dgx1-v100", &[0, 3, 5, 6]),
    ("hgx-h100", &[2]),
    ("hgx-h100", &[0, 7]),
    ("hgx-h100", &[0, 2, 5, 7]),
];

static WIRINGS: LazyLock<Vec<Wiring>> = LazyLock::new(|| {
    let of = |(machine, gpus): &(&'static str, &'static [u32])| {
        let system = System::of_server(Arc::new(preset(machine).expect("it is a preset")));
        let wires = wires::between(&system, gpus).expect("links join them").wires;
        Wiring { machine, gpus, wires }
    };
    JOINED.iter().map(of).collect()
});

impl Wiring {
    /// Gives its links.
    pub(super) fn wires(&self) -> &Wires {
        &self.wires
    }
}

/// Draws the links of a machine with that number of GPUs, or none in a third of the draws. A memory that all
/// GPUs share has none.
pub(super) fn draw(
    random: &mut Random,
    gpus: u32,
    memory: &dyn MemorySystem,
) -> Option<&'static Wiring> {
    if memory.pages() == Pages::Shared || below(random, 3) == 0 {
        return None;
    }
    let fits: Vec<&Wiring> = WIRINGS.iter().filter(|it| it.gpus.len() == gpus as usize).collect();
    random.choose(&fits).copied()
}
