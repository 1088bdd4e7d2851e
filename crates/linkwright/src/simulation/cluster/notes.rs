//! What is to be said of a cluster, whatever is played on it.

use super::{Cluster, Fidelity};
use crate::network::packet::{MOST_BUFFER_PACKETS, NarrowBuffer};

impl Cluster {
    /// What its settings make of its network that nobody may expect, each a sentence.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let narrow = match (self.fidelity, self.system.fabric()) {
            (Fidelity::Packet, Some(fabric)) => NarrowBuffer::find(fabric, &self.settings),
            _ => None,
        };
        narrow.map(|narrow| self.told(narrow)).into_iter().collect()
    }

    fn told(&self, narrow: NarrowBuffer) -> String {
        let NarrowBuffer { packets, needed, bandwidth, carried, round_trip } = narrow;
        let [bandwidth, carried] = [bandwidth, carried].map(|rate| rate.as_gigabytes_per_second());
        let remedy = match self.settings.buffer_packets {
            // What no buffer of the default's range holds are small packets on a long link.
            None => "give larger packets (`packet_size`)".to_owned(),
            Some(_) if needed > u64::from(MOST_BUFFER_PACKETS) => {
                "leave out `buffer_packets`".to_owned()
            }
            Some(_) => format!("leave out `buffer_packets`, or give {needed}"),
        };
        format!(
            "Buffers of {packets} packets let a link of {bandwidth:.1} GB/s carry {carried:.1} GB/s at \
             most: a place is free again after {:.2} us; {remedy}.",
            round_trip.as_seconds() * 1e6
        )
    }
}
