//! Finds the routes of a day, as parts of its system fail and come back.
//!
//! All states of a system have the same resources, so that a flow goes on from one state to the next. No route uses
//! a lost part.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::collectives::time::resources;
use crate::network::{ResourceId, Routes};
use crate::simulation::cluster::Cluster;
use crate::simulation::error::SimulationError;
use crate::simulation::failures::{State, States};
use crate::system::Wiring;
use crate::system::fabric::{ChannelId, FabricShape};

/// Holds the wiring of a day's system in each of its states.
pub(super) struct Wirings<'a> {
    whole: Wiring,
    /// Holds that of each state but the whole, once somebody has asked.
    of_state: Vec<OnceCell<Wiring>>,
    states: Option<&'a States>,
}

/// Holds the routes over it.
pub(super) struct Ways<'w> {
    wirings: &'w Wirings<'w>,
    whole: Routes<'w>,
    of_state: Vec<OnceCell<Routes<'w>>>,
}

impl<'a> Wirings<'a> {
    /// That of a cluster, whose parts may fail.
    ///
    /// # Errors
    /// Links between the switches of a dragonfly that come and go.
    pub(super) fn of(
        cluster: &Cluster,
        states: Option<&'a States>,
    ) -> Result<Self, SimulationError> {
        let system = &cluster.system;
        let touch_switches = states.is_some_and(States::touch_switches);
        let is_dragonfly = system
            .fabric()
            .is_some_and(|fabric| matches!(fabric.shape(), FabricShape::Dragonfly(_)));
        if touch_switches && is_dragonfly {
            return Err(SimulationError::TimedDragonfly);
        }
        let whole = if touch_switches {
            Wiring::of_system_and_switches(system)
        } else {
            Wiring::of_system(system)
        };
        let of_state = states.map_or(0, |states| states.each.len());
        Ok(Self { whole, of_state: (0..of_state).map(|_| OnceCell::new()).collect(), states })
    }

    fn of_state(&self, state: usize) -> &Wiring {
        let Some(states) = self.states.filter(|_| state > 0) else { return &self.whole };
        self.of_state[state].get_or_init(|| {
            let State { cluster, channels, .. } = &states.each[state];
            self.whole.clone().without(channels, &cluster.system)
        })
    }
}

impl<'w> Ways<'w> {
    /// Finds those over a wiring.
    pub(super) fn over(wirings: &'w Wirings<'w>) -> Self {
        let of_state = wirings.of_state.iter().map(|_| OnceCell::new()).collect();
        Self { wirings, whole: resources(&wirings.whole), of_state }
    }

    /// Gives those of the whole system.
    pub(super) fn whole(&self) -> &Routes<'w> {
        &self.whole
    }

    /// Gives those of a state.
    pub(super) fn of(&self, state: usize) -> &Routes<'w> {
        if state == 0 {
            return &self.whole;
        }
        self.of_state[state].get_or_init(|| resources(self.wirings.of_state(state)))
    }

    /// Names the resources of channels.
    pub(super) fn resources(&self, channels: &BTreeSet<ChannelId>) -> BTreeSet<ResourceId> {
        let wiring = &self.wirings.whole;
        let wires = wiring.wires().iter().chain(wiring.inner_wires()).enumerate();
        let gone = wires.filter(|(_, wire)| wire.channel.is_some_and(|it| channels.contains(&it)));
        gone.flat_map(|(at, _)| [2 * at, 2 * at + 1]).collect()
    }
}
