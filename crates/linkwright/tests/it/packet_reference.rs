//! The packet network against a slow reference, which is written from the documentation alone
//! (docs/concepts/network.md) and looks through everything at every step.

mod adaptive;

use std::collections::VecDeque;

use adaptive::{Adaptive, Progress, irregular};
use linkwright::network::packet::{
    Arbitration, NicPolicy, PacketSettings, Switching, TurnByTurn, arbiters, nic_rules,
};
use linkwright::network::routing::{AnyRouting, PROGRESSIVE, RoutingKind, SHORTEST_PATH, UGAL};
use linkwright::network::transport::{Message, Occurrence, Transport};
use linkwright::network::{PacketNetwork, Traffic};
use linkwright::system::fabric::{
    Dragonfly, End, FabricChannel, FabricShape, NodeLink, SwitchId, SwitchLink,
};
use linkwright::system::{AbstractNode, Fabric, System};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};
use proptest::prelude::*;

/// When a message is handed over, from which GPU to which, and how large it is.
type Handed = (u64, u32, u32, u64);

/// When each message had left and had arrived.
type Times = (Vec<u64>, Vec<u64>);

#[derive(Clone)]
struct Packet {
    message: usize,
    size: u64,
    /// The channels that it has still to cross.
    way: VecDeque<usize>,
    /// Says where it goes, and how far along it is. Adaptive routing asks for both.
    goal: SwitchId,
    progress: Progress,
    /// The channel and virtual channel whose buffer it fills.
    came: (usize, usize),
    created: u64,
    /// When its last byte is ready to leave.
    complete: u64,
}

struct Line {
    channel: FabricChannel,
    /// Until when it carries a packet.
    busy: Option<u64>,
    /// Counts them by virtual channel.
    credits: Vec<u16>,
    /// Says when a credit comes back, and for which virtual channel.
    coming: Vec<(u64, usize)>,
    /// Each with the virtual channel in which it will cross, in the order of arrival.
    waiting: Vec<(usize, Packet)>,
    /// Gives the turn behind that of the packet that went last: virtual channel, then input port.
    turn: (usize, usize),
}

struct Reference<'a> {
    fabric: &'a Fabric,
    /// Says how packets find their way; by the only one of a tree where absent.
    adaptive: Option<Adaptive<'a>>,
    settings: PacketSettings,
    node: AbstractNode,
    turns: usize,
    oldest_first: bool,
    /// Whether what happens at one moment happens one after another, and not all at once.
    in_turn: bool,
    messages: Vec<Handed>,
    lines: Vec<Line>,
    /// Of each node: the messages that wait, and how much of each is unsent.
    interfaces: Vec<Vec<(usize, u64)>>,
    under_way: Vec<(u64, Packet)>,
    missing: Vec<u64>,
    times: Times,
}

fn duration(size: u64, bandwidth: Bandwidth) -> u64 {
    (u128::from(size) * 1_000_000_000_000).div_ceil(u128::from(bandwidth.0)) as u64
}

impl Reference<'_> {
    /// Returns the one way between two nodes of a tree.
    fn way(&self, source: u32, destination: u32) -> VecDeque<usize> {
        let goal = self.fabric.switch_of(destination);
        let start = self.fabric.switch_of(source);
        let mut open: Vec<(SwitchId, Vec<usize>)> = vec![(start, Vec::new())];
        let mut at = 0;
        loop {
            let (switch, way) = open[at].clone();
            if switch == goal {
                let injection = Fabric::injection(source) as usize;
                let ejection = Fabric::ejection(destination) as usize;
                return std::iter::once(injection).chain(way).chain([ejection]).collect();
            }
            at += 1;
            for channel in self.fabric.outgoing(switch) {
                if let End::Switch(to) = self.lines[*channel as usize].channel.to
                    && !open.iter().any(|(seen, _)| *seen == to)
                {
                    let mut longer = way.clone();
                    longer.push(*channel as usize);
                    open.push((to, longer));
                }
            }
        }
    }

    /// The place of a channel's input buffer among those of the switch that it leads to.
    fn port(&self, channel: usize) -> usize {
        let End::Switch(to) = self.lines[channel].channel.to else { return 0 };
        let back = Fabric::reverse(channel as u32);
        self.fabric.outgoing(to).iter().position(|port| *port == back).unwrap()
    }

    /// Which of the packets that wait for a channel goes now.
    fn chosen(&self, channel: usize) -> Option<usize> {
        let line = &self.lines[channel];
        let queue = |(virtual_channel, packet): &(usize, Packet)| {
            (*virtual_channel, self.port(packet.came.0))
        };
        let to_node = matches!(line.channel.to, End::Node(_));
        let heads = line.waiting.iter().enumerate().filter(|(place, waiting)| {
            let first = line.waiting.iter().position(|other| queue(other) == queue(waiting));
            first == Some(*place) && (to_node || line.credits[waiting.0] > 0)
        });
        let key = |waiting: &(usize, Packet)| {
            let queue = queue(waiting);
            let age = if self.oldest_first { waiting.1.created } else { 0 };
            (age, !self.oldest_first && queue < line.turn, queue)
        };
        heads.min_by_key(|(_, waiting)| key(waiting)).map(|(place, _)| place)
    }

    /// Puts a packet on a channel.
    fn cross(&mut self, now: u64, channel: usize, virtual_channel: usize, mut packet: Packet) {
        let line = &mut self.lines[channel];
        let end = (now + duration(packet.size, line.channel.bandwidth)).max(packet.complete);
        line.busy = Some(end);
        let latency = line.channel.latency.0;
        let ready = latency + self.settings.router_delay.0;
        let arrival = if matches!(line.channel.to, End::Node(_)) {
            end + latency
        } else {
            line.credits[virtual_channel] -= 1;
            packet.complete = end + ready;
            match self.settings.switching {
                Switching::StoreAndForward => end + ready,
                Switching::CutThrough => now + ready,
            }
        };
        packet.came = (channel, virtual_channel);
        self.under_way.push((arrival, packet));
    }

    /// Sends the next packet of a node's messages.
    fn inject(&mut self, now: u64, node: usize) -> bool {
        let channel = Fabric::injection(node as u32) as usize;
        let line = &self.lines[channel];
        if line.busy > Some(now) || line.credits[0] == 0 || self.interfaces[node].is_empty() {
            return false;
        }
        let (message, unsent) = self.interfaces[node].remove(0);
        let size = unsent.min(self.settings.packet_size.0);
        let (_, from, to, _) = self.messages[message];
        let gpus = self.node.gpus;
        let way = if self.adaptive.is_some() {
            VecDeque::from([Fabric::ejection(to / gpus) as usize])
        } else {
            let mut way = self.way(from / gpus, to / gpus);
            way.pop_front();
            way
        };
        let packet = Packet {
            message,
            size,
            way,
            goal: self.fabric.switch_of(to / gpus),
            progress: Progress::default(),
            came: (channel, 0),
            created: now,
            complete: now,
        };
        self.cross(now, channel, 0, packet);
        if unsent > size {
            // Behind the others of the first few that take turns.
            let place = (self.turns - 1).min(self.interfaces[node].len());
            self.interfaces[node].insert(place, (message, unsent - size));
        } else {
            self.times.0[message] = self.lines[channel].busy.unwrap();
        }
        true
    }

    fn forward(&mut self, now: u64, channel: usize) -> bool {
        if self.lines[channel].busy > Some(now) {
            return false;
        }
        let Some(place) = self.chosen(channel) else { return false };
        let (virtual_channel, packet) = self.lines[channel].waiting.remove(place);
        let (came, of) = packet.came;
        self.lines[channel].turn = (virtual_channel, self.port(came) + 1);
        self.cross(now, channel, virtual_channel, packet);
        let back = self.lines[channel].busy.unwrap() + self.lines[came].channel.latency.0;
        self.lines[came].coming.push((back, of));
        true
    }

    /// Counts the packets that wait for a channel, cross it, or wait behind it.
    fn queued(&self, channel: usize) -> u64 {
        let waiting = self.lines.iter().flat_map(|line| line.waiting.iter().map(|one| &one.1));
        let packets = waiting.chain(self.under_way.iter().map(|(_, packet)| packet));
        let behind = packets.filter(|packet| packet.came.0 == channel).count();
        (self.lines[channel].waiting.len() + behind) as u64
    }

    /// The virtual channel of a packet's next channel; an adaptive routing may choose another
    /// way before.
    fn route(&self, packet: &mut Packet) -> usize {
        let came = &self.lines[packet.came.0].channel;
        let from_node = matches!(came.from, End::Node(_));
        let Some(adaptive) = &self.adaptive else {
            // Shortest paths enter one virtual channel more at every link between switches.
            let to_node = packet.way.len() == 1;
            return if from_node || to_node { 0 } else { packet.came.1 + 1 };
        };
        let End::Switch(at) = came.to else { return 0 };
        let queued = |channel| self.queued(channel);
        let way = adaptive.decide(at, packet.goal, from_node, &mut packet.progress, queued);
        if let Some(way) = way {
            let ejection = packet.way.pop_back();
            packet.way = way.into_iter().chain(ejection).collect();
        }
        adaptive.virtual_channel(packet.way[0], &mut packet.progress)
    }

    fn arrive(&mut self, now: u64, mut packet: Packet) {
        let virtual_channel = if packet.way.is_empty() { 0 } else { self.route(&mut packet) };
        let Some(next) = packet.way.pop_front() else {
            self.missing[packet.message] -= packet.size;
            if self.missing[packet.message] == 0 {
                self.times.1[packet.message] = now;
            }
            return;
        };
        self.lines[next].waiting.push((virtual_channel, packet));
    }

    fn run(mut self) -> Times {
        let gpus = self.node.gpus;
        let mut free = std::collections::BTreeMap::new();
        let mut queued: Vec<(u64, usize)> = Vec::new();
        let mut order: Vec<usize> = (0..self.messages.len()).collect();
        order.sort_by_key(|message| self.messages[*message].0);
        for message in order {
            let (time, from, to, size) = self.messages[message];
            if from / gpus != to / gpus {
                queued.push((time + self.settings.nic_delay.0, message));
                continue;
            }
            let node = self.node;
            let free = free.entry((from, to)).or_insert(0);
            let took = if from == to { 0 } else { duration(size, node.bandwidth) };
            let latency = if from == to { 0 } else { node.latency.0 };
            *free = time.max(if from == to { 0 } else { *free }) + took;
            (self.times.0[message], self.times.1[message]) = (*free, *free + latency);
        }
        loop {
            let now = (self.under_way.iter().map(|(time, _)| *time))
                .chain(queued.iter().map(|(time, _)| *time))
                .chain(self.lines.iter().flat_map(|line| line.coming.iter().map(|one| one.0)))
                .chain(self.lines.iter().filter_map(|line| line.busy))
                .min();
            let Some(now) = now else { return self.times };
            for line in &mut self.lines {
                line.busy = line.busy.filter(|end| *end > now);
                let (back, coming) = line.coming.iter().partition(|(time, _)| *time <= now);
                line.coming = coming;
                let back: Vec<(u64, usize)> = back;
                back.into_iter().for_each(|(_, of)| line.credits[of] += 1);
            }
            self.one_by_one(now);
            let (arrived, still) = self.under_way.drain(..).partition(|(time, _)| *time <= now);
            self.under_way = still;
            let arrived: Vec<(u64, Packet)> = arrived;
            for (_, packet) in arrived {
                self.arrive(now, packet);
                self.one_by_one(now);
            }
            for (_, message) in queued.extract_if(.., |(time, _)| *time <= now) {
                let (_, from, _, size) = self.messages[message];
                self.interfaces[(from / gpus) as usize].push((message, size));
                self.one_by_one(now);
            }
            self.go_on(now);
        }
    }

    /// Plays the events of one moment one after another.
    fn one_by_one(&mut self, now: u64) {
        if self.in_turn {
            self.go_on(now);
        }
    }

    /// All channels that are free take what they may.
    fn go_on(&mut self, now: u64) {
        for channel in 0..self.lines.len() {
            match self.lines[channel].channel.from {
                End::Node(node) => while self.inject(now, node as usize) {},
                End::Switch(_) => while self.forward(now, channel) {},
            }
        }
    }
}

/// Builds a tree of switches with nodes. Every link has a bandwidth and a latency of its own, so
/// that no two things happen at once by the regularity of the network.
fn tree(parents: &[u32], homes: &[u32], rates: &[(u64, u64)]) -> Fabric {
    let switches = parents.len() as u32 + 1;
    let mut rates = rates.iter().cycle().enumerate().map(|(index, (bandwidth, latency))| {
        let bandwidth = Bandwidth(bandwidth + 7_919 * index as u64);
        (bandwidth, Picoseconds(latency + 104_729 * index as u64))
    });
    let nodes: Vec<_> = (homes.iter().zip(&mut rates))
        .map(|(home, (bandwidth, latency))| NodeLink {
            switch: home % switches,
            bandwidth,
            latency,
        })
        .collect();
    let links: Vec<_> = (1..switches)
        .zip(parents)
        .zip(&mut rates)
        .map(|((a, parent), (bandwidth, latency))| SwitchLink {
            a,
            b: parent % a,
            bandwidth,
            latency,
        })
        .collect();
    Fabric::new("tree", FabricShape::Graph, switches, &nodes, &links).unwrap()
}

fn reference(
    fabric: &Fabric,
    (settings, node): (PacketSettings, AbstractNode),
    kind: &'static dyn RoutingKind,
    nic: NicPolicy,
    arbitration: &'static dyn Arbitration,
    messages: &[Handed],
    in_turn: bool,
) -> Times {
    let routing = AnyRouting::new(kind, fabric, 1).unwrap();
    let virtual_channels = usize::from(linkwright::network::Routing::virtual_channels(&routing));
    let line = |channel: &FabricChannel| Line {
        channel: *channel,
        busy: None,
        credits: vec![settings.least_buffer(); virtual_channels],
        coming: Vec::new(),
        waiting: Vec::new(),
        turn: (0, 0),
    };
    let nothing = vec![0; messages.len()];
    let adaptive = match *fabric.shape() {
        FabricShape::Dragonfly(shape) => {
            let progressive = kind == PROGRESSIVE;
            Some(Adaptive { fabric, shape, progressive })
        }
        _ => None,
    };
    Reference {
        fabric,
        adaptive,
        settings,
        node,
        turns: match nic.name().as_str() {
            "fcfs" => 1,
            "rr" => usize::MAX,
            numbered => numbered.strip_prefix("rr-").unwrap().parse().unwrap(),
        },
        oldest_first: arbitration.name() == "age",
        in_turn,
        messages: messages.to_vec(),
        lines: fabric.channels().iter().map(line).collect(),
        interfaces: vec![Vec::new(); fabric.nodes() as usize],
        under_way: Vec::new(),
        missing: messages.iter().map(|message| message.3).collect(),
        times: (nothing.clone(), nothing),
    }
    .run()
}

fn simulated(
    fabric: &Fabric,
    (settings, node): (PacketSettings, AbstractNode),
    kind: &'static dyn RoutingKind,
    nic: NicPolicy,
    arbitration: &'static dyn Arbitration,
    messages: &[Handed],
) -> Times {
    let routing = AnyRouting::new(kind, fabric, 1).unwrap();
    let nodes = System::of_nodes(fabric.clone(), node).unwrap();
    let mut network = PacketNetwork::new(&nodes, settings, routing, nic, arbitration).unwrap();
    let mut traffic = Traffic::new(&mut network);
    for (token, (time, source, destination, size)) in (0..).zip(messages.iter().copied()) {
        let [from, to] = [source, destination].map(|gpu| traffic.network().gpu_device(gpu));
        traffic.send_at(Picoseconds(time), Message::new(from, to, Bytes(size), token));
    }
    let mut times = (vec![0; messages.len()], vec![0; messages.len()]);
    while let Some(occurrence) = traffic.next_occurrence().unwrap() {
        let now = traffic.now().0;
        match occurrence {
            Occurrence::Sent { token } => times.0[token as usize] = now,
            Occurrence::Delivered { token } => times.1[token as usize] = now,
        }
    }
    times
}

/// Makes settings of such packets and buffers, and delays that meet no others by chance.
fn settings(
    packet_size: u64,
    buffer_packets: u16,
    switching: Switching,
    gpus: u32,
) -> (PacketSettings, AbstractNode) {
    let node = AbstractNode {
        gpus,
        nics: 1,
        bandwidth: Bandwidth(23_999_999_983),
        latency: Picoseconds(5_003),
    };
    let settings = PacketSettings {
        packet_size: Bytes(packet_size),
        buffer_packets: Some(buffer_packets),
        router_delay: Picoseconds(61_001),
        nic_delay: Picoseconds(400_009),
        switching,
        pcie: None,
        seed: 1,
    };
    (settings, node)
}

proptest! {
    #![proptest_config(ProptestConfig {
        // Hardly any case may be left out.
        max_global_rejects: 64,
        ..ProptestConfig::with_cases(1024)
    })]
    #[test]
    fn packets_take_as_long_as_the_documentation_says(
        parents in prop::collection::vec(any::<u32>(), 0..4),
        homes in prop::collection::vec(any::<u32>(), 2..6),
        rates in prop::collection::vec((500_000_000_u64..20_000_000_000, 1_u64..2_000_000), 8),
        gpus in 1_u32..4,
        packet_size in 900_u64..2_000,
        buffer_packets in 1_u16..4,
        cut_through in any::<bool>(),
        nic in prop::sample::select(vec!["fcfs", "rr", "rr-1", "rr-2", "rr-3"]),
        arbitration in prop::sample::select(vec!["round-robin", "age"]),
        messages in prop::collection::vec(
            (0_u64..20_000_000, any::<u32>(), any::<u32>(), prop_oneof![
                Just(0_u64), 1_u64..500, 500_u64..20_000,
            ]),
            1..14,
        ),
    ) {
        let fabric = tree(&parents, &homes, &rates);
        let all = fabric.nodes() * gpus;
        let messages: Vec<Handed> = (messages.iter().zip(0_u64..))
            .map(|((time, from, to, size), index)| (time + index * 31, from % all, to % all, *size))
            .collect();
        let switching =
            if cut_through { Switching::CutThrough } else { Switching::StoreAndForward };
        let settings = settings(packet_size, buffer_packets, switching, gpus);
        let nic = NicPolicy::named(&nic_rules(), nic).unwrap();
        let arbitration = arbiters().get(arbitration).unwrap();
        let kind = SHORTEST_PATH;
        let [at_once, in_turn] = [false, true].map(|turn| {
            reference(&fabric, settings, kind, nic, arbitration, &messages, turn)
        });
        // Where two things happen at one moment, their order is left open. An empty packet comes
        // together with the one before it. In cut-through a packet comes just as the one before has
        // passed.
        prop_assume!(at_once == in_turn);
        let simulated = simulated(&fabric, settings, kind, nic, arbitration, &messages);
        prop_assert_eq!(simulated, at_once);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_global_rejects: 64,
        ..ProptestConfig::with_cases(512)
    })]
    #[test]
    fn adaptive_packets_go_where_the_documentation_says(
        // This covers a switch with one link to each other group, and a group with one. No choice
        // between equals is left to chance, since there are three groups, and three switches in a
        // group or two.
        own_links in any::<bool>(),
        nodes_per_switch in 1_u32..4,
        intra_group_detours in any::<bool>(),
        hop_weights in any::<bool>(),
        progressive in any::<bool>(),
        rates in prop::collection::vec((500_000_000_u64..20_000_000_000, 1_u64..2_000_000), 8),
        packet_size in 900_u64..2_000,
        buffer_packets in 1_u16..6,
        nic in prop::sample::select(vec!["fcfs", "rr"]),
        messages in prop::collection::vec(
            (0_u64..3_000_000, any::<u32>(), any::<u32>(), 1_u64..20_000),
            1..24,
        ),
    ) {
        let (switches_per_group, global_links_per_switch) = if own_links { (3, 2) } else { (2, 1) };
        let shape = Dragonfly {
            nodes_per_switch,
            switches_per_group,
            global_links_per_switch,
            groups: 3,
            intra_group_detours,
            hop_weights,
        };
        let fabric = irregular(shape, &rates);
        let kind = if progressive { PROGRESSIVE } else { UGAL };
        let nodes = fabric.nodes();
        let messages: Vec<Handed> = (messages.iter().zip(0_u64..))
            .map(|((time, from, to, size), index)| {
                (time + index * 31, from % nodes, to % nodes, *size)
            })
            .collect();
        let settings = settings(packet_size, buffer_packets, Switching::StoreAndForward, 1);
        let nic = NicPolicy::named(&nic_rules(), nic).unwrap();
        let arbitration = &TurnByTurn;
        let [at_once, in_turn] = [false, true].map(|turn| {
            reference(&fabric, settings, kind, nic, arbitration, &messages, turn)
        });
        prop_assume!(at_once == in_turn);
        let simulated = simulated(&fabric, settings, kind, nic, arbitration, &messages);
        prop_assert_eq!(simulated, at_once);
    }
}
