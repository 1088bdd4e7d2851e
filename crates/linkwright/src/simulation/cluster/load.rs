//! Synthetic traffic on a cluster, over loads: how long messages take, and how much arrives.

use thiserror::Error;

use super::Cluster;
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::engine::Hook;
use crate::network::packet::SettingsError;
use crate::network::routing::{AnyRouting, RoutingError};
use crate::network::synthetic::{
    Destinations, Injection, LoadOutcome, SyntheticLoad, TrafficPattern, latency_without_load, play,
};
use crate::network::{PacketNetwork, TransportError};
use crate::table::Table;

/// The most messages that a load may be expected to send: each is remembered.
const MOST_MESSAGES: f64 = 2e8;

/// Traffic that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum TrafficError {
    /// Settings of the network that are out of range.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A routing that the fabric cannot have.
    #[error(transparent)]
    Routing(#[from] RoutingError),
    /// A network that is stuck, or a run that was ended.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Does not fit the network.
    #[error("{0}")]
    Unfit(Diagnosis),
}

impl Diagnose for TrafficError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Settings(error) => error.diagnosis(),
            Self::Routing(error) => error.diagnosis(),
            Self::Transport(error) => error.diagnosis(),
            Self::Unfit(diagnosis) => diagnosis.clone(),
        }
    }
}

/// Holds what was measured under each load.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficOutcome {
    /// Tells the mean latency of the pattern's messages alone on the network, in picoseconds.
    pub latency_alone: f64,
    /// Holds each load with its outcome, and the longest queue of a channel.
    pub loads: Vec<(Injection, LoadOutcome, u64)>,
}

impl Cluster {
    /// Plays a pattern of traffic between the ports of the fabric, packet by packet, under each load.
    ///
    /// `hot` is the part of messages that goes to the hot spot; the injection of `load` is left aside.
    ///
    /// # Errors
    /// A system of other than one GPU at each port, or a pattern or a load that does not fit. Also settings
    /// out of range, and a run that the hook ended.
    pub fn traffic(
        &self,
        pattern: TrafficPattern,
        hot: f64,
        injections: &[Injection],
        load: &SyntheticLoad,
        hook: Hook<'_>,
    ) -> Result<TrafficOutcome, TrafficError> {
        let Some(fabric) = self.system.fabric().filter(|it| it.nodes() == self.gpus()) else {
            let problem = "synthetic traffic goes from port to port of a network";
            let remedy = "give a network whose nodes have one GPU each";
            return Err(TrafficError::Unfit(Diagnosis::of(problem).remedy(remedy)));
        };
        let destinations = Destinations::new(pattern, fabric, hot, load.seed);
        let destinations = destinations.map_err(TrafficError::Unfit)?;
        let slots = f64::from(load.warm_up) + f64::from(load.window);
        if 2.0 * slots * f64::from(fabric.nodes()) > MOST_MESSAGES {
            let problem = format!("{slots} slots on {} nodes are too many", fabric.nodes());
            let remedy = "give a shorter warm-up and window, or a smaller network";
            return Err(TrafficError::Unfit(Diagnosis::of(problem).remedy(remedy)));
        }
        let mut alone = self.idle()?;
        let latency_alone = latency_without_load(&mut alone, fabric, &destinations, load)?;
        let mut loads = Vec::with_capacity(injections.len());
        for injection in injections {
            let mut network = self.idle()?;
            let load = SyntheticLoad { injection: *injection, ..*load };
            let outcome = play(&mut network, fabric, &destinations, &load, hook)?;
            let queues = network.statistics().into_iter().map(|channel| channel.longest_queue);
            let longest = queues.map(u64::from).max().unwrap_or(0);
            loads.push((*injection, outcome, longest));
        }
        Ok(TrafficOutcome { latency_alone, loads })
    }

    /// Returns the network with nothing on it.
    fn idle(&self) -> Result<PacketNetwork<'_, AnyRouting>, TrafficError> {
        let routing = self.routing()?;
        let (nic, arbitration) = (self.nic, self.arbitration);
        Ok(PacketNetwork::new(&self.system, self.settings, routing, nic, arbitration)?)
    }
}

impl TrafficOutcome {
    /// Gives one row for each load.
    ///
    /// `load` is the share of a node's link that it offers; none in a closed loop. `in_flight` counts the
    /// messages that a node has under way; none under a rate. `offered` and `accepted` are in the window, as
    /// shares of what the nodes' links carry. `latency`, `p50`, `p99` and `longest` are of messages sent in
    /// the window; none where none arrived. `latency_alone` is without load. `messages` counts those that
    /// arrived of them, and `unfinished` those that did not. `longest_queue` counts packets that waited for
    /// one channel.
    #[must_use]
    pub fn table(&self) -> Table {
        let outcomes = || self.loads.iter().map(|(_, outcome, _)| outcome);
        let rate = |injection: &Injection| match injection {
            Injection::Rate(rate) => Some(*rate),
            Injection::Window(_) => None,
        };
        let window = |injection: &Injection| match injection {
            Injection::Rate(_) => None,
            Injection::Window(window) => Some(u64::from(*window)),
        };
        let of = |thousandths| -> Vec<Option<f64>> {
            let latency = |outcome: &LoadOutcome| outcome.latency_of(thousandths);
            outcomes().map(|outcome| latency(outcome).map(|it| it as f64 / 1e12)).collect()
        };
        let injections = || self.loads.iter().map(|(injection, ..)| injection);
        let alone = self.latency_alone / 1e12;
        Table::new()
            .with("load", "", injections().map(rate).collect::<Vec<_>>())
            .with("in_flight", "", injections().map(window).collect::<Vec<_>>())
            .with("offered", "", outcomes().map(|it| it.offered).collect::<Vec<_>>())
            .with("accepted", "", outcomes().map(|it| it.accepted).collect::<Vec<_>>())
            .with(
                "latency",
                "s",
                outcomes().map(|it| it.mean_latency().map(|it| it / 1e12)).collect::<Vec<_>>(),
            )
            .with("p50", "s", of(500))
            .with("p99", "s", of(990))
            .with("longest", "s", of(1000))
            .with("latency_alone", "s", vec![alone; self.loads.len()])
            .with(
                "messages",
                "",
                outcomes().map(|it| it.latencies.len() as u64).collect::<Vec<u64>>(),
            )
            .with("unfinished", "", outcomes().map(|it| it.unfinished).collect::<Vec<u64>>())
            .with(
                "longest_queue",
                "",
                self.loads.iter().map(|(.., longest)| *longest).collect::<Vec<u64>>(),
            )
    }
}
