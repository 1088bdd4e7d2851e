//! Measures the packet model under load: how many times a second a packet crosses a channel.
//!
//! Every node of the study's fat-tree and dragonfly of 2,048 sends messages of 64 KiB to nodes
//! chosen by chance. It sends eight at a time, so that about half of the capacity is used.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use linkwright::engine::Random;
use linkwright::network::Traffic;
use linkwright::network::packet::{NicPolicy, PacketNetwork, PacketSettings, TurnByTurn};
use linkwright::network::routing::{
    ADAPTIVE, AnyRouting, MINIMAL, PROGRESSIVE, RoutingKind, STATIC,
};
use linkwright::network::transport::{Message, Occurrence, Transport};
use linkwright::scenario::read_network;
use linkwright::system::fabric::{
    Dragonfly, DragonflyRates, FatTree, FatTreeRates, LinkRate, dragonfly, fat_tree,
};
use linkwright::system::{AbstractNode, Fabric, System};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};

const RATE: LinkRate =
    LinkRate { bandwidth: Bandwidth(11_900_000_000), latency: Picoseconds(30_000) };

/// Returns a scenario's defaults.
fn settings() -> PacketSettings {
    let network = read_network("<bench>", "preset = \"fat-tree\"\nseed = 1\n");
    network.expect("the settings are right").packets
}

/// Sends a given number of messages from every node, eight under way at a time, and returns the
/// hops.
fn play(
    fabric: &Fabric,
    settings: PacketSettings,
    routing: &'static dyn RoutingKind,
    messages: u64,
) -> u64 {
    let routing = AnyRouting::new(routing, fabric, 1).expect("the shape is right");
    let node = AbstractNode { gpus: 1, nics: 1, bandwidth: RATE.bandwidth, latency: RATE.latency };
    let nodes = System::of_nodes(fabric.clone(), node).expect("few nodes");
    let mut network =
        PacketNetwork::new(&nodes, settings, routing, NicPolicy::ROUND_ROBIN, &TurnByTurn)
            .expect("the settings are in range");
    let mut random = Random::new(7);
    let nodes = fabric.nodes();
    let mut left = vec![messages; nodes as usize];
    let mut traffic = Traffic::new(&mut network);
    let mut send = |traffic: &mut Traffic<'_, PacketNetwork<'_, AnyRouting>>, source: u32| {
        if left[source as usize] > 0 {
            left[source as usize] -= 1;
            let destination = random.below(u64::from(nodes).try_into().expect("nodes")) as u32;
            let (size, token) = (Bytes(65_536), u64::from(source));
            let [from, to] = [source, destination].map(|gpu| traffic.network().gpu_device(gpu));
            traffic.send(Message::new(from, to, size, token));
        }
    };
    for source in 0..nodes {
        for _ in 0..8 {
            send(&mut traffic, source);
        }
    }
    while let Some(occurrence) = traffic.next_occurrence().expect("no deadlock") {
        if let Occurrence::Delivered { token } = occurrence {
            send(&mut traffic, token as u32);
        }
    }
    network.packet_hops()
}

fn benchmark(criterion: &mut Criterion) {
    let tree = FatTree::three_levels(32, 8, 1).expect("the study's tree");
    let rates = FatTreeRates { node: RATE, leaf: RATE, core: RATE };
    let tree = fat_tree(&tree, &rates).expect("the study's tree");
    let groups = Dragonfly {
        nodes_per_switch: 8,
        switches_per_group: 16,
        global_links_per_switch: 8,
        groups: 16,
        intra_group_detours: true,
        hop_weights: true,
    };
    let rates = DragonflyRates { node: RATE, local: RATE, global: RATE };
    let groups = dragonfly(&groups, &rates).expect("the study's dragonfly");
    let settings = settings();
    let mut group = criterion.benchmark_group("packet-network");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    for (name, fabric, routing) in [
        ("fat-tree static", &tree, STATIC),
        ("fat-tree adaptive", &tree, ADAPTIVE),
        ("dragonfly minimal", &groups, MINIMAL),
        ("dragonfly progressive", &groups, PROGRESSIVE),
    ] {
        let hops = play(fabric, settings, routing, 16);
        group.throughput(Throughput::Elements(hops));
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(play(fabric, settings, routing, 16)));
        });
    }
    group.finish();
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
