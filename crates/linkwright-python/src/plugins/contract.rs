//! Holds classes of one's own to the contracts of the core: `linkwright.contracts.check`.

use linkwright::allocation::contract as policies;
use linkwright::diagnostic::Registered as _;
use linkwright::network::packet::NicPolicy;
use linkwright::network::packet::nic::contract as orders;
use linkwright::network::routing::{AnyRouting, RoutingKind, contract as routings};
use linkwright::system::Fabric;
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::fabric;
use crate::plug_in::{KINDS, NIC_ORDER, POLICY, PlugIn, ROUTING, known, name_of};
use crate::raised::take_raised;

/// Collects what is broken, and which promises and methods that is of.
#[derive(Default)]
struct Broken(Vec<String>, Vec<String>);

impl Broken {
    /// Notes the outcome of a check, or what the class gave meanwhile that is no answer.
    ///
    /// # Errors
    /// The class has raised another exception.
    fn note(
        &mut self,
        py: Python<'_>,
        plug_in: &PlugIn,
        promise: &str,
        outcome: Result<(), String>,
    ) -> PyResult<()> {
        let (of, told) = match (take_raised(), outcome) {
            (Some(error), _) if errors::is_broken_contract(py, &error) => {
                let told = error.value(py).str()?.to_string();
                (told.split(" gave ").next().unwrap_or(&told).to_owned(), told)
            }
            (Some(error), _) => return Err(error),
            (None, Err(fault)) => {
                let told =
                    format!("`{}` breaks the promise that {promise}: {fault}", plug_in.name());
                (promise.to_owned(), told)
            }
            (None, Ok(())) => return Ok(()),
        };
        // One case of each says enough.
        if !self.1.contains(&of) {
            self.0.push(told);
            self.1.push(of);
        }
        Ok(())
    }
}

/// Says whether a routing takes a network; one that does not raises an error of Linkwright.
fn takes(py: Python<'_>, plug_in: &'static PlugIn, network: &Fabric) -> PyResult<bool> {
    let kind: &dyn RoutingKind = plug_in;
    let made = AnyRouting::new(kind, network, 1).is_ok();
    match take_raised() {
        Some(error) if errors::is_refusal(py, &error) => Ok(false),
        Some(error) => Err(error),
        None => Ok(made),
    }
}

/// Tells in sentences which promises of its contract a class breaks; nothing where it keeps all.
///
/// It is a policy if it has a method `choose`. With `packetised` it is an order of messages, and with `route` a routing.
///
/// Args:
///     plug_in: The class, or an object of a policy's class.
///     fabrics: The networks on which a routing is tried.
///
/// Raises:
///     ArgumentError: If it has none of these methods.
///     Exception: If the class raises one.
#[pyfunction]
#[pyo3(signature = (plug_in: "object", fabrics: "Sequence[Fabric]"))]
pub fn broken_promises(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] plug_in: Bound<'_, PyAny>,
    #[pyo3(from_py_with = given)] fabrics: Vec<Bound<'_, PyAny>>,
) -> PyResult<Vec<String>> {
    let Some(name) = name_of(&plug_in, &KINDS)? else {
        let wanted = "a class with a method `choose`, `packetised` or `route`";
        return Err(errors::argument(&plug_in, wanted, "plug_in".to_owned()));
    };
    let found = known().into_iter().rev().find(|it| it.name() == name);
    let Some(found) = found else { return Ok(Vec::new()) };
    let mut broken = Broken::default();
    if plug_in.hasattr(POLICY)? {
        let machines = py.detach(policies::machines);
        for (promise, check) in policies::PROMISES {
            for machine in &machines {
                let answers = policies::Answers::new(found, machine);
                broken.note(py, found, promise, check(&answers))?;
            }
        }
    }
    if plug_in.hasattr(NIC_ORDER)? {
        for (promise, check) in orders::PROMISES {
            for policy in NicPolicy::samples(found) {
                broken.note(py, found, promise, check(policy))?;
            }
        }
    }
    if plug_in.hasattr(ROUTING)? {
        let mut taken = 0;
        for given in &fabrics {
            let network = given.cast::<fabric::Fabric>().map_err(|_| {
                errors::argument(given, "a list of `Fabric`s", "fabrics".to_owned())
            })?;
            let network = network.get().core();
            if !takes(py, found, network)? {
                continue;
            }
            taken += 1;
            for (promise, check) in routings::PROMISES {
                broken.note(py, found, promise, check(found, network))?;
            }
        }
        if taken == 0 {
            broken.0.push(format!("`{name}` takes none of the {} networks", fabrics.len()));
        }
    }
    Ok(broken.0)
}
