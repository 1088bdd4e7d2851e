//! Measures the switch of shared memory: the links that GPUs use, beside the packet network on the
//! same star.
//!
//! `cargo bench --bench crossbar` runs it. Every bank of the second level of four GPUs reads lines
//! of its controller. It reads one line after another, at nine tenths of its link's bandwidth. The
//! figure is the processor time of the user for a message over a link, median of 5.

use std::hint::black_box;

use linkwright::engine::{Engine, EngineError, Model, Scheduler};
use linkwright::memory::wiring::shared;
use linkwright::network::Traffic;
use linkwright::network::packet::{
    NicPolicy, PacketNetwork, PacketSettings, Switching, TurnByTurn,
};
use linkwright::network::routing::TableRouting;
use linkwright::network::transport::{Message, Occurrence, Transport};
use linkwright::network::wires::Wires;
use linkwright::system::fabric::{Fabric, FabricShape, NodeLink};
use linkwright::system::gpus::{self, Hierarchy};
use linkwright::system::{AbstractNode, System};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};
use linkwright_bench::user_seconds;

const REPEATS: usize = 5;
const GPUS: u32 = 4;
/// Counts the messages of each bank.
const MESSAGES: u64 = 20_000;
/// Gives the bytes of a response with a line.
const SIZE: u64 = 68;

/// Returns the picoseconds between two messages of a bank.
fn gap(hierarchy: &Hierarchy) -> u64 {
    let of_bank = bandwidth().0 / u64::from(hierarchy.second.banks);
    SIZE * 1_000_000_000_000 / of_bank * 10 / 9
}

fn bandwidth() -> Bandwidth {
    Bandwidth::gigabytes_per_second(32)
}

/// Messages over the links; an event is a message at the next link of its path.
struct Lean {
    links: Wires,
    gap: u64,
    left: Vec<u64>,
    delivered: u64,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Send(u32),
    Cross(u32),
}

impl Model for Lean {
    type Event = Step;
    type Error = EngineError;
    const SETTLES: bool = false;

    fn handle(
        &mut self,
        step: Step,
        scheduler: &mut impl Scheduler<Step>,
    ) -> Result<(), EngineError> {
        let now = scheduler.now().0;
        match step {
            Step::Send(bank) => {
                let (at, _) = self.links.cross(now, bank, 0, SIZE);
                scheduler.schedule(Picoseconds(at), Step::Cross(bank));
                self.left[bank as usize] -= 1;
                if self.left[bank as usize] > 0 {
                    scheduler.schedule_in(Picoseconds(self.gap), Step::Send(bank));
                }
            }
            Step::Cross(bank) => {
                black_box(self.links.cross(now, bank, 1, SIZE));
                self.delivered += 1;
            }
        }
        Ok(())
    }
}

fn lean(hierarchy: &Hierarchy) -> u64 {
    let banks = GPUS * hierarchy.second.banks;
    let links = shared(hierarchy, GPUS, bandwidth());
    let left = vec![MESSAGES; banks as usize];
    let mut model = Lean { links, gap: gap(hierarchy), left, delivered: 0 };
    let mut engine = Engine::unwatched();
    for bank in 0..banks {
        engine.schedule(Picoseconds(0), Step::Send(bank));
    }
    engine.run(&mut model).expect("nothing is in the past");
    model.delivered
}

/// The same by the packet network: banks are the first nodes, controllers the last.
fn packets(hierarchy: &Hierarchy) -> u64 {
    let each = hierarchy.second.banks;
    let banks = GPUS * each;
    let of_bank = bandwidth().0 / u64::from(each);
    let link = |node: u32| NodeLink {
        switch: 0,
        bandwidth: Bandwidth(if node < banks { of_bank } else { of_bank * u64::from(GPUS) }),
        latency: Picoseconds(1_000),
    };
    let ports: Vec<_> = (0..banks + each).map(link).collect();
    let fabric = Fabric::new("switch", FabricShape::Graph, 1, &ports, &[]).expect("a star");
    let node =
        AbstractNode { gpus: 1, nics: 1, bandwidth: bandwidth(), latency: Picoseconds(1_000) };
    let system = System::of_nodes(fabric, node).expect("few nodes");
    let settings = PacketSettings {
        packet_size: Bytes(128),
        buffer_packets: Some(64),
        router_delay: Picoseconds(u64::from(hierarchy.pcie.switch) * hierarchy.cycle.0),
        nic_delay: Picoseconds(0),
        switching: Switching::StoreAndForward,
        seed: 1,
        pcie: None,
    };
    let routing = TableRouting::shortest(system.fabric().expect("it has one")).expect("a star");
    let (nic, arbitration) = (NicPolicy::FCFS, &TurnByTurn);
    let mut network =
        PacketNetwork::new(&system, settings, routing, nic, arbitration).expect("in range");
    let mut traffic = Traffic::new(&mut network);
    let gap = gap(hierarchy);
    let send = |traffic: &mut Traffic<'_, PacketNetwork<'_, TableRouting>>, bank: u32, at: u64| {
        let [from, to] = [bank, banks + bank % each].map(|port| traffic.network().gpu_device(port));
        let message = Message::new(from, to, Bytes(SIZE), u64::from(bank));
        traffic.send_at(Picoseconds(at), message);
    };
    // A message is handed over when the one before it has left: none waits in a list of its own.
    let mut next = vec![(MESSAGES, 0); banks as usize];
    for bank in 0..banks {
        next[bank as usize] = (MESSAGES - 1, gap);
        send(&mut traffic, bank, 0);
    }
    let mut delivered = 0;
    while let Some(occurrence) = traffic.next_occurrence().expect("no deadlock") {
        match occurrence {
            Occurrence::Sent { token } => {
                let (left, at) = &mut next[token as usize];
                if *left > 0 {
                    let time = traffic.now().0.max(*at);
                    (*left, *at) = (*left - 1, *at + gap);
                    send(&mut traffic, token as u32, time);
                }
            }
            Occurrence::Delivered { .. } => delivered += 1,
        }
    }
    delivered
}

fn main() {
    let hierarchy = gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("a preset");
    let all = u64::from(GPUS * hierarchy.second.banks) * MESSAGES;
    for (name, play) in [("links", lean as fn(&Hierarchy) -> u64), ("packet network", packets)] {
        let mut times: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let begun = user_seconds();
                assert_eq!(play(hierarchy), all, "{name}");
                user_seconds() - begun
            })
            .collect();
        times.sort_by(f64::total_cmp);
        // Each message crosses two links.
        let hop = times[REPEATS / 2] / (2 * all) as f64;
        println!("{name}: {:.0} ns for a message over a link", hop * 1e9);
    }
}
