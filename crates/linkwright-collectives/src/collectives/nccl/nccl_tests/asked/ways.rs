//! Compares the transports in a log with those that the model takes.

use super::{Asked, Finding, Means, finding};
use crate::collectives::nccl::nccl_tests::stated::StatedTransport;

impl Asked<'_> {
    pub(super) fn ways(&self) -> Vec<Finding> {
        let (stated, settings) = (&self.log.stated, self.settings);
        let line_of = |way| stated.transports.get(&way).copied();
        let (peer, shared) =
            (line_of(StatedTransport::Peer), line_of(StatedTransport::SharedMemory));
        let mut found = Vec::new();
        if let Some(line) = peer.filter(|_| !settings.p2p) {
            let text = "The log's GPUs reach each other directly (P2P), and the host's memory is asked about";
            let option = "--env NCCL_P2P_DISABLE=0".to_owned();
            found.push(finding(line, Means::Otherwise, text.to_owned(), Some(option)));
        }
        if let Some(line) = shared.filter(|_| settings.p2p) {
            let text =
                "GPUs of the log reach each other through the host's memory (SHM)".to_owned();
            if peer.is_none() {
                found.push(finding(
                    line,
                    Means::Otherwise,
                    text,
                    Some("--env NCCL_P2P_DISABLE=1".to_owned()),
                ));
            } else if self.has_gpu_fabric() {
                found.push(finding(line, Means::Way, text, None));
            }
        }
        let is_between = self.servers > 1 || self.log.hosts() > 1;
        let sockets = line_of(StatedTransport::Sockets);
        if let Some(line) = if is_between { stated.tcp() } else { sockets } {
            let text =
                "The log's data goes over TCP (NET/Socket), and the model has RDMA".to_owned();
            let option = settings
                .network_bandwidth
                .is_none()
                .then(|| "TCP's own bandwidth (--set network_bandwidth=GB/S)".to_owned());
            found.push(finding(line, Means::Way, text, option.filter(|_| is_between)));
        } else if let Some(line) = line_of(StatedTransport::Network)
            && line_of(StatedTransport::GpuDirect).is_none()
        {
            let text =
                "The log's network does not reach GPUs' memory by itself (NET without GDRDMA), \
                        and the model's does"
                    .to_owned();
            found.push(finding(line, Means::Way, text, None));
        }
        found
    }
}
