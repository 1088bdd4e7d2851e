//! Times what a GPU reads and writes of the memory that all GPUs of a package share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Gives the seconds for which a byte keeps the link to the memory that all GPUs share, and the link from it. Requests,
/// responses and what coherence adds to them count with the bytes that they carry.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SharedMemory {
    /// A byte that is read.
    pub read: [f64; 2],
    /// A byte that is written, or added by the memory's controller.
    pub written: [f64; 2],
}

/// Holds the links of every model of GPU that shares memory, by the model's name.
pub type SharedMemories = BTreeMap<String, SharedMemory>;

impl SharedMemory {
    /// Gives the seconds of the bytes that a kernel reads and writes, each as long as it keeps the busier link. Wavefronts
    /// start together: a kernel first reads and then writes. Caches write back at its end.
    #[must_use]
    pub fn seconds(&self, read: f64, written: f64) -> f64 {
        let busier = |[to, from]: [f64; 2]| to.max(from);
        read * busier(self.read) + written * busier(self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_follows_what_is_read() {
        // 68 bytes for a line that is read, after 12; 76 for one that is written, and 4 back; 1 GB/s each way.
        let of = |bytes: f64| bytes / 64.0 * 1e-9;
        let memory = SharedMemory { read: [of(12.0), of(68.0)], written: [of(76.0), of(4.0)] };
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
        close(memory.seconds(64.0, 0.0), 68e-9);
        close(memory.seconds(0.0, 64.0), 76e-9);
        close(memory.seconds(64.0, 64.0), 144e-9);
    }
}
