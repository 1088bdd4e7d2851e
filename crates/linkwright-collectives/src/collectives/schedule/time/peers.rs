//! Tells which GPUs of a job write to each other's memory over PCIe, and which through that of the host.
//!
//! It represents NCCL's rule (`ncclTopoCheckP2p`, `src/graph/paths.cc:298` of v2.30.7-1). GPUs
//! write to each other below one host bridge (`p2pLevel` is `PATH_PXB`). Across host bridges they do
//! where the processors are AMD's and a job has two GPUs of the server at most. The rule is that of all
//! releases from 2.23 on; older ones allowed more on AMD's processors. Whatever the rule, GPUs whose
//! model has no peer access do not. NCCL then takes its transport `SHM`: the sender writes to the memory
//! of the receiver's host, and the receiver reads from there (`src/transport/shm.cc`).
//!
//! It leaves out `NCCL_P2P_LEVEL`, and interfaces that NCCL prefers to a slower host.

use crate::system::{DeviceKind, Proximity, Server, Wiring, proximity};

/// How close the GPUs of a server are to each other.
type Near = Vec<Vec<Option<Proximity>>>;

/// Knows how a job's GPUs reach each other over the host.
pub(in crate::collectives) struct Peers<'a> {
    wiring: &'a Wiring,
    gpus: &'a [usize],
    /// Holds the answer for each kind of server.
    known: Vec<(&'a Server, Near)>,
}

impl<'a> Peers<'a> {
    /// Nothing is found yet.
    pub(in crate::collectives) const fn new(wiring: &'a Wiring, gpus: &'a [usize]) -> Self {
        Self { wiring, gpus, known: Vec::new() }
    }

    /// Whether two GPUs copy through the memory of their host, where no link of their own joins them.
    pub(in crate::collectives) fn copy_through_memory(&mut self, from: usize, to: usize) -> bool {
        let wiring = self.wiring;
        let server = wiring.server_of(from);
        if from == to || server != wiring.server_of(to) {
            return false;
        }
        if !wiring.has_peer_access(wiring.gpu(from), wiring.gpu(to)) {
            return true;
        }
        let (template, at) = wiring.in_template(from);
        if template.nics_meet_gpus() {
            return false;
        }
        let near = self.near(template)[at][wiring.in_template(to).1];
        let is_below_bridge = near.is_some_and(|near| near <= Proximity::Pxb);
        let own = self.gpus.iter().filter(|gpu| wiring.server_of(**gpu) == server);
        let may_cross = own.count() <= 2 && has_amd_processors(template);
        !(is_below_bridge || may_cross)
    }

    fn near(&mut self, template: &'a Server) -> &Near {
        let is_it = |(known, _): &(&Server, Near)| std::ptr::eq(*known, template);
        let at = self.known.iter().position(is_it).unwrap_or_else(|| {
            self.known.push((template, proximity(template)));
            self.known.len() - 1
        });
        &self.known[at].1
    }
}

/// Whether some of a server's processors are AMD's, by what they call themselves or by their model.
fn has_amd_processors(server: &Server) -> bool {
    let mut processors = server.devices().iter().filter(|it| it.kind == DeviceKind::Cpu);
    processors.any(|it| {
        let model = it.model.as_deref().unwrap_or_default();
        let is_named = ["AMD", "EPYC", "Ryzen"].iter().any(|name| model.contains(name));
        is_named || it.identity.vendor_id.as_deref() == Some("AuthenticAMD")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::test_support::alone;

    /// Which pairs of a job's GPUs copy through the host's memory, by their places in the job.
    fn pairs(machine: &str, gpus: &[usize]) -> Vec<(usize, usize)> {
        let wiring = Wiring::of_gpus(&alone(machine), gpus);
        let mut peers = Peers::new(&wiring, gpus);
        let all = gpus.iter().flat_map(|from| gpus.iter().map(move |to| (*from, *to)));
        all.filter(|(from, to)| from < to && peers.copy_through_memory(*from, *to)).collect()
    }

    #[test]
    fn gpus_of_one_switch_write_to_each_other_and_others_through_memory() {
        assert_eq!(pairs("8x-rtx-pro-6000", &[0, 1]), []);
        assert_eq!(pairs("8x-rtx-pro-6000", &[0, 2]), [(0, 2)]);
        assert_eq!(pairs("8x-rtx-pro-6000", &[0, 1, 2]), [(0, 2), (1, 2)]);
        assert_eq!(pairs("4x-l40s-pcie", &[0, 1]), [(0, 1)]);
    }

    #[test]
    fn two_gpus_on_processors_of_amd_write_to_each_other() {
        assert_eq!(pairs("8x-l40s", &[3, 6]), []);
        assert_eq!(pairs("8x-l40s", &[3, 4, 6]), [(3, 4), (3, 6), (4, 6)]);
    }

    #[test]
    fn gpus_without_peer_access_never_do() {
        assert_eq!(pairs("8x-rtx-4090", &[0, 1]), [(0, 1)]);
    }
}
