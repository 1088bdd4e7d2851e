//! Notes that a cluster gets, whatever is played on it.

use super::{Cluster, Fidelity};
use crate::diagnostic::shown;
use crate::network::packet::{MOST_BUFFER_PACKETS, NarrowBuffer};
use crate::network::routing::SHORTEST_PATH;
use crate::system::fabric::Fabric;

impl Cluster {
    /// Tells, in a sentence each, where its settings make less of its network than there is.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let of_graph = self.system.fabric().filter(|_| self.leaves_ways_unused());
        let of_graph = of_graph.map(|fabric| {
            format!(
                "Of several shortest ways to a node all packets take one (`shortest-path`, the default on \
                 {}); `routing = \"adaptive\"` and `\"ecmp\"` take all.",
                shown(fabric.name())
            )
        });
        let narrow = match (self.fidelity, self.system.fabric()) {
            (Fidelity::Packet, Some(fabric)) => NarrowBuffer::find(fabric, &self.settings),
            _ => None,
        };
        of_graph.into_iter().chain(narrow.map(|narrow| self.told(narrow))).collect()
    }

    /// Whether packets keep to one way because nobody said how they go, where there may be several.
    fn leaves_ways_unused(&self) -> bool {
        let has_rings = |fabric: &Fabric| {
            let links = fabric.channels().len() as u32 / 2 - fabric.nodes();
            links >= fabric.switches()
        };
        self.routing_is_default
            && self.routing == SHORTEST_PATH
            && !self.collectives.are_kernels()
            && self.fidelity != Fidelity::Fluid
            && self.system.fabric().is_some_and(has_rings)
    }

    fn told(&self, narrow: NarrowBuffer) -> String {
        let NarrowBuffer { packets, needed, bandwidth, carried, round_trip } = narrow;
        let [bandwidth, carried] = [bandwidth, carried].map(|rate| rate.as_gigabytes_per_second());
        let remedy = match self.settings.buffer_packets {
            // The default's range ends before small packets fill a long link.
            None => "give larger packets (`packet_size`)".to_owned(),
            Some(_) if needed > u64::from(MOST_BUFFER_PACKETS) => {
                "leave out `buffer_packets`".to_owned()
            }
            Some(_) => format!("leave out `buffer_packets`, or give {needed}"),
        };
        format!(
            "Buffers of {packets} packets let a link of {bandwidth:.1} GB/s carry {carried:.1} GB/s. A \
             place is free again after {:.2} us; {remedy}.",
            round_trip.as_seconds() * 1e6
        )
    }
}
