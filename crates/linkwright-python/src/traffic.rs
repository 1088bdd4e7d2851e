//! Synthetic traffic, as `System.traffic` takes and plays it.

use linkwright::diagnostic::{Diagnosis, Named as _};
use linkwright::engine::Progress;
use linkwright::network::PacketSettings;
use linkwright::network::packet::MOST_PACKET_SIZE;
use linkwright::network::synthetic::{Injection, SyntheticLoad, TrafficPattern};
use linkwright::simulation::cluster::Cluster;
use linkwright::units::Bytes;
use pyo3::prelude::*;

use crate::errors;
use crate::number;
use crate::table::Table;
use crate::worker;

/// Limits the slots of a warm-up or a window.
const MOST_SLOTS: u32 = 10_000_000;
/// Limits the messages of a node under way.
const MOST_IN_FLIGHT: u32 = 65_536;

/// Says what is to be sent and measured.
pub struct Asked {
    injections: Vec<Injection>,
    message: Option<u64>,
    warm_up: u32,
    window: u32,
    hot: f64,
    seed: u64,
}

impl Asked {
    /// Checks every number.
    pub fn new(
        loads: &[f64],
        in_flight: &[i128],
        message: Option<i128>,
        [warm_up, window]: [i128; 2],
        hot: f64,
        seed: i128,
    ) -> PyResult<Self> {
        let refuse = |what: String, remedy: &str| errors::range(Diagnosis::of(what).remedy(remedy));
        let mut injections = Vec::new();
        for load in loads {
            if !(*load > 0.0 && *load <= 1.0) {
                return Err(refuse(format!("a load of {load}"), "give shares above 0, up to 1"));
            }
            injections.push(Injection::Rate(*load));
        }
        for count in in_flight {
            let count = number::whole("in_flight", *count, MOST_IN_FLIGHT)?;
            if count == 0 {
                return Err(refuse("0 messages in flight".to_owned(), "give one or more"));
            }
            injections.push(Injection::Window(count));
        }
        if injections.is_empty() {
            let problem = "there is no load".to_owned();
            return Err(refuse(problem, "give `loads`, such as [0.1, 0.5], or `in_flight`"));
        }
        if !(0.0..=1.0).contains(&hot) {
            return Err(refuse(format!("a hot part of {hot}"), "give a share from 0 to 1"));
        }
        let message =
            message.map(|size| number::whole("message", size, MOST_PACKET_SIZE)).transpose()?;
        let window: u32 = number::whole("window", window, MOST_SLOTS)?;
        if window == 0 || message == Some(0) {
            let problem = "a window or a message of 0".to_owned();
            return Err(refuse(problem, "give one or more"));
        }
        let warm_up = number::whole("warm_up", warm_up, MOST_SLOTS)?;
        let seed = number::whole("the seed", seed, u64::MAX)?;
        Ok(Self { injections, message, warm_up, window, hot, seed })
    }
}

/// Plays it on a cluster.
pub fn play(
    py: Python<'_>,
    cluster: &Cluster,
    pattern: &str,
    asked: &Asked,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Table> {
    let pattern = TrafficPattern::from_name(pattern).map_err(errors::range)?;
    let settings = PacketSettings { seed: asked.seed, ..cluster.settings };
    let cluster = Cluster { settings, ..cluster.clone() };
    let load = SyntheticLoad {
        injection: asked.injections[0],
        message: asked.message.map_or(settings.packet_size, Bytes),
        warm_up: asked.warm_up,
        window: asked.window,
        seed: asked.seed,
    };
    let report = |py: Python<'_>, at: Progress| match progress {
        Some(call) => {
            call.call1(py, (at.done, at.total, at.time.as_seconds(), at.events)).map(|_| ())
        }
        None => Ok(()),
    };
    let outcome = worker::watched(py, report, |hook| {
        cluster.traffic(pattern, asked.hot, &asked.injections, &load, hook)
    })?;
    Table::new(outcome.map_err(errors::range)?.table())
}
