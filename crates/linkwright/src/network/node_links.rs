//! The links between the GPUs of one node.

use super::packet::{NodeSettings, serialisation};
use super::transport::GpuIndex;

/// When each GPU's link to each other GPU of its node is free again.
#[derive(Debug, Clone)]
pub(in crate::network) struct NodeLinks {
    settings: NodeSettings,
    free: Vec<u64>,
}

impl NodeLinks {
    pub(in crate::network) fn new(settings: NodeSettings, nodes: u32) -> Self {
        let gpus = settings.gpus as usize;
        let pairs = if gpus > 1 { nodes as usize * gpus * gpus } else { 0 };
        Self { settings, free: vec![0; pairs] }
    }

    /// The node of a GPU.
    pub(in crate::network) fn node_of(&self, gpu: GpuIndex) -> u32 {
        gpu / self.settings.gpus
    }

    /// Sends between two GPUs of one node, behind what their link carries already; a GPU reaches
    /// itself at once. Returns when the last byte leaves, and when it arrives.
    pub(in crate::network) fn send(
        &mut self,
        from: GpuIndex,
        to: GpuIndex,
        size: u64,
        now: u64,
    ) -> (u64, u64) {
        if from == to {
            return (now, now);
        }
        let link = from * self.settings.gpus + to % self.settings.gpus;
        let free = &mut self.free[link as usize];
        let sent = (*free).max(now).saturating_add(serialisation(size, self.settings.bandwidth));
        *free = sent;
        (sent, sent.saturating_add(self.settings.latency.0))
    }
}
