//! The rings and trees of a job's servers, as NCCL takes them from a file.
//!
//! It has the orders and interfaces that a job's channels have here, with the numbers and speeds that
//! NCCL's search finds. NCCL doubles channels itself once it has read them.
//!
//! It leaves out NCCL's own numbers of interfaces, which stand in the order of its list. Here they are
//! counted as the machine lists them.

use super::choice::found::Found;
use super::choice::graph::Graph;
use super::choice::{ChoiceError, Library, Settings, rings_in, rules_on};
use super::fabric::by_server;
use crate::collectives::nccl::graph_file::{ChannelGraph, GraphChannel, GraphFile, GraphGpu};
use crate::collectives::planners::link_graph::check_gpus;
use crate::system::{System, Wiring};

/// The rings and trees that a job's servers would all take from one file, for GPUs by their ids.
///
/// # Errors
/// [`ChoiceError`] where the GPUs do not fit the system, RCCL runs there, or the servers' channels differ.
pub fn channel_graphs(
    system: &System,
    gpus: &[usize],
    settings: &Settings,
) -> Result<GraphFile, ChoiceError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let (rules, _) = rules_on(wiring, settings);
    let refused = |why: String, remedy: &str| {
        let what = "a file of rings and trees".to_owned();
        Err(ChoiceError::Unavailable { what, why, remedy: remedy.to_owned() })
    };
    if rules.library == Library::Rccl {
        let why = "RCCL runs on AMD's GPUs, and takes rings from its own tables".to_owned();
        return refused(why, "name a machine with NVIDIA's GPUs");
    }
    let graph = Graph::new(rules, wiring, gpus, settings);
    let servers = by_server(wiring, gpus);
    let own = |server: usize| servers[server].iter().map(|rank| gpus[*rank]).collect::<Vec<_>>();
    let of_server = |server: usize| -> Vec<ChannelGraph> {
        let own = own(server);
        let orders: Vec<(Vec<usize>, Option<[u64; 2]>)> = match &graph.deal {
            Some(deal) => deal.on_server(server),
            None => {
                let rings = rings_in(rules, wiring, &own, settings).rings;
                rings.into_iter().map(|ring| (ring.order, None)).collect()
            }
        };
        let device = |place: &usize| wiring.in_template(own[*place]).1 as u64;
        let channel = |(order, nets): &(Vec<usize>, Option<[u64; 2]>)| GraphChannel {
            nets: *nets,
            gpus: order.iter().map(|at| GraphGpu { device: device(at), rank: None }).collect(),
        };
        let known: Vec<GraphChannel> = orders.iter().map(channel).collect();
        // A tree's channel comes back by the interface by which it went.
        let back = |channel: &GraphChannel| GraphChannel {
            nets: channel.nets.map(|[enters, _]| [enters; 2]),
            ..channel.clone()
        };
        let trees: Vec<GraphChannel> = known.iter().map(back).collect();
        vec![of_shape(0, &graph.rings, &known), of_shape(1, &graph.trees, &trees)]
    };
    let first = of_server(0);
    if let Some(other) = (1..servers.len()).find(|server| of_server(*server) != first) {
        let why =
            format!("the channels of the first server and of server {other} of the job differ");
        return refused(why, "name the same GPUs of each server by --on");
    }
    Ok(GraphFile { graphs: first })
}

/// As many channels as were found, of these and then of the same again.
fn of_shape(id: u32, found: &Found, known: &[GraphChannel]) -> ChannelGraph {
    let channels: Vec<GraphChannel> =
        known.iter().cycle().take(found.channels as usize).cloned().collect();
    let crosses = channels.iter().filter_map(|it| it.nets).any(|[enters, leaves]| enters != leaves);
    let is_same = channels.windows(2).all(|pair| pair[0] == pair[1]);
    ChannelGraph {
        id,
        pattern: found.pattern as u32,
        cross_nic: u32::from(crosses),
        speed_intra: found.intra as f32,
        speed_inter: found.inter as f32,
        latency_inter: 0.0,
        type_intra: found.reach_intra.name(),
        type_inter: found.reach_inter.name(),
        same_channels: found.same_channels && is_same,
        channels,
    }
}
