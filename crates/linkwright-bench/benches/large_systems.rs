//! Measures 131,072 GPUs at rest: the cost of 16,384 servers of eight H100s on a fabric before
//! anything is sent.
//!
//! `cargo bench --bench large_systems` runs it. It measures processor time of the user and the most
//! memory, median of 5. The first figure is for reading and building the system with its routing.
//! The second is for the packet model, whose channels in servers are made on their first use.

use std::hint::black_box;

use allocation_counter::measure;
use linkwright::network::packet::PacketNetwork;
use linkwright::network::routing::AnyRouting;
use linkwright::scenario::{Files, read_network};
use linkwright::simulation::cluster::Cluster;
use linkwright_bench::user_seconds;

const REPEATS: usize = 5;
const SERVERS: u32 = 16_384;

/// Holds the cost of one thing: seconds, and the most bytes at one time.
type Cost = (f64, u64);

fn cluster(kind: &str) -> Cluster {
    let text = format!("kind = \"{kind}\"\nmachine = \"hgx-h100\"\nservers = {SERVERS}\n");
    let network = read_network("<bench>", &text).expect("the settings are right");
    network.build("<bench>", &Files::default()).expect("the fabric can be built")
}

fn routing(cluster: &Cluster) -> AnyRouting {
    let fabric = cluster.system.fabric().expect("servers are on a fabric");
    AnyRouting::new(cluster.routing, fabric, cluster.settings.seed)
        .expect("the fabric's own routing")
}

/// Measures a system with its routing, and the packet model of it at rest.
fn at_rest(kind: &str) -> (Cost, Cost) {
    let start = user_seconds();
    let mut built = None;
    let of_system = measure(|| {
        let cluster = cluster(kind);
        let routing = routing(&cluster);
        built = Some((cluster, routing));
    });
    let (cluster, routing) = built.expect("it was built");
    let built = user_seconds();
    let Cluster { ref system, settings, nic, arbitration, .. } = cluster;
    let of_packets = measure(|| {
        let network = PacketNetwork::new(system, settings, routing, nic, arbitration);
        black_box(network.expect("the settings are right"));
    });
    let end = user_seconds();
    ((built - start, of_system.bytes_max), (end - built, of_packets.bytes_max))
}

fn median(mut costs: Vec<Cost>) -> Cost {
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    costs[costs.len() / 2]
}

fn main() {
    let gpus = 8 * u64::from(SERVERS);
    println!("{gpus} GPUs at rest: the system with its routing, and the packet model of it");
    for kind in ["fat-tree", "dragonfly"] {
        let (systems, packets): (Vec<Cost>, Vec<Cost>) =
            (0..REPEATS).map(|_| at_rest(kind)).unzip();
        let ((system, bytes), (packet, more)) = (median(systems), median(packets));
        println!(
            "{kind:15} {system:5.2} s {:5} MB; {packet:5.2} s {:5} MB, {} B a GPU",
            bytes / 1_000_000,
            more / 1_000_000,
            more / gpus,
        );
    }
}
