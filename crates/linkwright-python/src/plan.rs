//! Gives Python `linkwright.plan` and its like.

use linkwright::diagnostic::{Diagnosis, Registered as _};
use std::sync::Arc;

use linkwright::collectives::plan::{
    self as planning, ASSUMED_SIZE, Attempt, Links, Packing, PlanError, Planner, Question, planners,
};
use linkwright::collectives::{Collective, Protocol};
use linkwright::system;
use pyo3::prelude::*;

use crate::argument::{given, optional_size, sizes};
use crate::choices::{Choice, WantedLinks, links_name};
use crate::errors;
use crate::schedule::Schedule;
use crate::system::System;
use crate::timing::{bytes, peer_access_time};
use crate::worker::interruptible;

/// Names the choice of the fastest algorithm.
const AUTO: &str = "auto";

const AUTO_DESCRIPTION: &str = "the fastest of all at the size, which says what was tried";

/// Plans a collective on the links that a job really has.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids; rank `i` runs on `gpus[i]`.
///     collective: One of `collective_names`.
///     algorithm: One of `algorithm_names`; `auto` is the fastest of all at the size, with the protocol
///         that is its fastest (`Schedule.tried` says what was tried).
///     root: The GPU, by its id, that alone has or gets the data of broadcast, reduce, gather
///         and scatter; the job's first where None. Others have no root and take None only.
///     links: `auto`, `nvlink` or `xgmi`, `pcie`, or `hybrid`. `auto` takes NVLink or xGMI where it
///         joins all GPUs, else PCIe, and the network between servers. `hybrid` takes NVLink and
///         PCIe at once, where a named algorithm takes a size.
///     size: The bytes, as nccl-tests counts them, for which the plan is to be fast. They decide
///         between few deep trees and many shallow ones, and how a hybrid splits them. Where None,
///         `auto` plans for 64 MiB, and `packing` takes few trees.
///     protocol: With `auto`, the only protocol that plans are timed with; all that an algorithm has
///         where None.
///     peer_access_switch: The seconds that a hybrid needs before PCIe carries data (Blink's
///         T_dpa). Where None, an assumed 0.25 ms for each other GPU.
///     helpers: GPUs outside the job, on its servers, that may pass its data on over NVLink. With
///         helpers, `packing` plans at every size; an all-to-all cannot be planned.
///         `Schedule.helpers` names those that the plan takes.
///     stream_reuse: Whether trees that share a link take turns on it. Each does so in proportion
///         to its data, as Blink makes them by reusing CUDA streams. Else each gets an equal part.
///
/// Raises:
///     CollectiveError: If a name is unknown, the GPUs do not fit the system, or the links do not
///         join them. Also if the algorithm does not do the collective, it has no such root, or a
///         hybrid has no size.
///     KeyboardInterrupt: Within a second of Ctrl-C.
///
/// Examples:
///     >>> from linkwright import System, plan
///     >>> plan(System("dgx1-v100"), [0, 1, 2, 3], "all-reduce").rate
///     75.0
#[pyfunction]
#[pyo3(signature = (
    system: "System", gpus: "Sequence[int]", collective: "CollectiveName", *,
    algorithm: "AlgorithmName" = "auto", root: "int | None" = None, links: "LinksName" = "auto",
    size: "int | str | None" = None, protocol: "ProtocolName | None" = None,
    peer_access_switch: "float | None" = None, helpers: "Sequence[int] | None" = None,
    stream_reuse: "bool" = true
))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn plan(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] collective: &str,
    #[pyo3(from_py_with = given)] algorithm: &str,
    #[pyo3(from_py_with = given)] root: Option<i128>,
    #[pyo3(from_py_with = given)] links: &str,
    #[pyo3(from_py_with = optional_size)] size: Option<i128>,
    #[pyo3(from_py_with = given)] protocol: Option<&str>,
    #[pyo3(from_py_with = given)] peer_access_switch: Option<f64>,
    #[pyo3(from_py_with = given)] helpers: Option<Vec<i128>>,
    #[pyo3(from_py_with = given)] stream_reuse: bool,
) -> PyResult<Schedule> {
    let gpus = gpu_ids(&gpus, system)?;
    let links = WantedLinks::named(links)?;
    let size = size.map(|size| bytes("the size", size)).transpose()?;
    let switch = peer_access_time(peer_access_switch, gpus.len())?;
    let wanted = wanted_collective(collective, root, &gpus)?;
    let on = Arc::clone(system.core());
    if let Some(helpers) = helpers.filter(|helpers| !helpers.is_empty()) {
        let helpers = gpu_ids(&helpers, system)?;
        check_helped(algorithm, links)?;
        let plan = interruptible(py, move || {
            let question = asked(&on, &gpus, wanted, links).reusing_streams(stream_reuse);
            planning::plan_with_helpers(&question, &helpers)
        })?;
        return Ok(Schedule::planned(
            plan.map_err(errors::collective)?,
            Vec::new(),
            system.clone(),
        ));
    }
    if algorithm == AUTO {
        let protocol = protocol.map(Protocol::named).transpose()?;
        let found = interruptible(py, move || {
            let at = size.unwrap_or(ASSUMED_SIZE);
            let question = asked(&on, &gpus, wanted, links).reusing_streams(stream_reuse);
            let by = |planner: &'static dyn Planner, within| match links {
                WantedLinks::Of(_) => planning::timed_plan_within(planner, &question, (at, within)),
                WantedLinks::Hybrid => {
                    let found = planning::plan_hybrid(planner, &question, at, switch);
                    found.map(|plan| Attempt::Found(Box::new(plan), None))
                }
            };
            let mut found = planning::plan_fastest(&planners(), &question, at, protocol, &by)?;
            if size.is_none() {
                found.0.notes.push(format!("no size is given; it is the fastest for {at}"));
            }
            Ok::<_, PlanError>(found)
        })?;
        let (plan, tried) = found.map_err(errors::collective)?;
        return Ok(Schedule::planned(plan, tried, system.clone()));
    }
    let chosen = known_algorithm(algorithm)?;
    if protocol.is_some() {
        let of_auto = Diagnosis::of("a protocol is for the choice of `auto`");
        return Err(errors::collective(of_auto.remedy("give it to `Schedule.time`")));
    }
    let plan = interruptible(py, move || {
        let question = asked(&on, &gpus, wanted, links).reusing_streams(stream_reuse);
        match (links, size) {
            (WantedLinks::Of(_), None) => planning::plan(chosen, &question),
            (WantedLinks::Of(_), Some(size)) => planning::plan_for_size(chosen, &question, size),
            (WantedLinks::Hybrid, Some(size)) => {
                planning::plan_hybrid(chosen, &question, size, switch)
            }
            (WantedLinks::Hybrid, None) => Err(PlanError::NoSize),
        }
    })?;
    Ok(Schedule::planned(plan.map_err(errors::collective)?, Vec::new(), system.clone()))
}

/// Refuses helpers of what has none.
fn check_helped(algorithm: &str, links: WantedLinks) -> PyResult<()> {
    let told = Diagnosis::of("helpers pass data on over NVLink along packed trees only");
    let is_packed = [AUTO, Packing.name()].contains(&algorithm);
    if is_packed && matches!(links, WantedLinks::Of(Links::Auto | Links::Fabric)) {
        return Ok(());
    }
    Err(errors::collective(told.remedy("leave out the algorithm and the links")))
}

fn asked<'a>(
    system: &'a system::System,
    gpus: &'a [usize],
    wanted: Collective,
    links: WantedLinks,
) -> Question<'a> {
    let question = Question::new(system, gpus, wanted);
    match links {
        WantedLinks::Of(links) => question.over(links),
        WantedLinks::Hybrid => question,
    }
}

/// Plans a collective for each of several sizes, as `plan` does for one.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids; rank `i` runs on `gpus[i]`.
///     collective: One of `collective_names`.
///     sizes: Bytes, as nccl-tests counts them.
///     algorithm: One of `algorithm_names`.
///     root: As for `plan`.
///     links: As for `plan`, but for `hybrid`.
///     stream_reuse: As for `plan`.
///
/// Returns:
///     For each size a plan that is fast for it. Trees are packed once for all.
///
/// Raises:
///     CollectiveError: As for `plan`.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (
    system: "System", gpus: "Sequence[int]", collective: "CollectiveName", sizes: "Sequence[int | str]", *,
    algorithm: "AlgorithmName" = "packing", root: "int | None" = None, links: "str" = "auto",
    stream_reuse: "bool" = true
))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn plan_for_sizes(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] collective: &str,
    #[pyo3(from_py_with = sizes)] sizes: Vec<i128>,
    #[pyo3(from_py_with = given)] algorithm: &str,
    #[pyo3(from_py_with = given)] root: Option<i128>,
    #[pyo3(from_py_with = given)] links: &str,
    #[pyo3(from_py_with = given)] stream_reuse: bool,
) -> PyResult<Vec<Schedule>> {
    let gpus = gpu_ids(&gpus, system)?;
    let links = Links::named(links)?;
    let sizes: Vec<_> = sizes.iter().map(|size| bytes("a size", *size)).collect::<PyResult<_>>()?;
    let chosen = known_algorithm(algorithm)?;
    let wanted = wanted_collective(collective, root, &gpus)?;
    let on = Arc::clone(system.core());
    let plans = interruptible(py, move || {
        let question = Question::new(&on, &gpus, wanted).over(links).reusing_streams(stream_reuse);
        planning::plan_for_sizes(chosen, &question, &sizes)
    })?;
    let plans = plans.map_err(errors::collective)?;
    Ok(plans.into_iter().map(|plan| Schedule::planned(plan, Vec::new(), system.clone())).collect())
}

/// The rate that packing reaches for an all-reduce on these GPUs, without the plan itself.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids, two or more.
///     links: As for `plan`.
///
/// Returns:
///     The rate in GB/s of the data's size, and the links: `nvlink`, `xgmi`, `pcie` or `network`.
///
/// Raises:
///     CollectiveError: If the GPUs do not fit the system or the links do not join them.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (system: "System", gpus: "Sequence[int]", *, links: "LinksName" = "auto"))]
pub fn packing_rate(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] links: &str,
) -> PyResult<(f64, &'static str)> {
    let gpus = gpu_ids(&gpus, system)?;
    let links = Links::named(links)?;
    let on = Arc::clone(system.core());
    let found = interruptible(py, move || planning::packing_rate(&on, &gpus, links))?;
    let (class, rate) = found.map_err(errors::collective)?;
    Ok((rate.as_gigabytes_per_second(), links_name(class, Some(system.core()))))
}

/// About how many seconds `plan` takes for data of a size; 0 for what takes a second or so.
///
/// The estimate is for one core, and good to a factor of three.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids.
///     collective: One of `collective_names`.
///     algorithm: One of `algorithm_names`.
///
/// Raises:
///     CollectiveError: If a name is unknown, or the system has no such GPU.
#[pyfunction]
#[pyo3(signature = (system: "System", gpus: "Sequence[int]", collective: "CollectiveName", *,
    algorithm: "AlgorithmName" = "auto"))]
pub fn planning_seconds(
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] collective: &str,
    #[pyo3(from_py_with = given)] algorithm: &str,
) -> PyResult<f64> {
    let gpus = gpu_ids(&gpus, system)?;
    let wanted = wanted_collective(collective, None, &gpus)?;
    let chosen = if algorithm == AUTO { &Packing } else { known_algorithm(algorithm)? };
    let question = Question::new(system.core(), &gpus, wanted);
    Ok(planning::planning_seconds(chosen, &question))
}

/// The collective of that name among a job's GPUs, whose root is given by its GPU.
pub fn wanted_collective(name: &str, root: Option<i128>, gpus: &[usize]) -> PyResult<Collective> {
    let of_first = Collective::named(name, 0)
        .ok_or_else(|| errors::unknown_collective_choice("collective", name, &Collective::NAMES))?;
    let Some(root) = root else { return Ok(of_first) };
    if of_first.root().is_none() {
        return Err(errors::collective(
            Diagnosis::of(format!("{name} has no root")).remedy("leave the root out"),
        ));
    }
    let rank = gpus.iter().position(|gpu| *gpu as i128 == root).ok_or_else(|| {
        let known: Vec<String> = gpus.iter().map(usize::to_string).collect();
        let known = known.join(",");
        errors::collective(
            Diagnosis::of(format!("the root is GPU {root}, and the job has GPUs {known}"))
                .remedy("name one of these"),
        )
    })?;
    Ok(Collective::named(name, rank).unwrap_or(of_first))
}

/// Limits the GPUs of a collective to as many ranks as MSCCL knows. With many more, what is known
/// of each pair of them would fill a computer's memory.
const MOST_RANKS: usize = 1024;

/// The most GPUs of what NCCL is expected to take: around its rings and trees most behave alike.
pub const MOST_EXPECTED: usize = 16_384;

/// GPU ids that a user gave, of a system, as many as a plan can have.
pub fn gpu_ids(gpus: &[i128], system: &System) -> PyResult<Vec<usize>> {
    gpu_ids_of(gpus, system, "a plan can have", MOST_RANKS)
}

/// Reads them for `what`, which can have `most`.
pub fn gpu_ids_of(gpus: &[i128], system: &System, what: &str, most: usize) -> PyResult<Vec<usize>> {
    let (count, name) = (system.core().gpus() as usize, system.core().name());
    let id = |gpu: &i128| {
        usize::try_from(*gpu).ok().filter(|gpu| *gpu < count).ok_or_else(|| {
            let last = count.saturating_sub(1);
            let unknown = Diagnosis::of(format!("there is no GPU {gpu} on `{name}`"));
            errors::collective(unknown.remedy(format!("use GPUs 0 to {last}")))
        })
    };
    if gpus.len() > most {
        let many = Diagnosis::of(format!("{} GPUs are more than {what}", gpus.len()));
        return Err(errors::collective(many.remedy(format!("name {most} at most"))));
    }
    gpus.iter().map(id).collect()
}

/// The algorithms that `plan` knows by name.
#[pyfunction]
#[pyo3(signature = () -> "list[AlgorithmName]")]
pub fn algorithm_names() -> Vec<&'static str> {
    [AUTO].into_iter().chain(planners().names()).collect()
}

/// Each algorithm's name and what it does.
#[pyfunction]
pub fn algorithm_descriptions() -> Vec<(&'static str, &'static str)> {
    let planners = planners();
    let all = planners.iter().map(|planner| (planner.name(), planner.description()));
    [(AUTO, AUTO_DESCRIPTION)].into_iter().chain(all).collect()
}

/// The protocols, lowest latency first, that who runs an algorithm has.
///
/// Raises:
///     CollectiveError: If there is no such algorithm.
#[pyfunction]
#[pyo3(signature = (algorithm: "AlgorithmName") -> "list[ProtocolName]")]
pub fn algorithm_protocols(
    #[pyo3(from_py_with = given)] algorithm: &str,
) -> PyResult<Vec<&'static str>> {
    let known = |name| known_algorithm(name).map(|planner| planner.protocols());
    let protocols = if algorithm == AUTO { &Protocol::ALL } else { known(algorithm)? };
    Ok(protocols.iter().map(|protocol| protocol.name()).collect())
}

fn known_algorithm(name: &str) -> PyResult<&'static dyn Planner> {
    planners().get(name).map_err(|_| {
        let known = algorithm_names();
        errors::unknown_collective_choice("algorithm", name, &known)
    })
}

/// The collectives that `plan` knows by name.
#[pyfunction]
#[pyo3(signature = () -> "list[CollectiveName]")]
pub fn collective_names() -> Vec<&'static str> {
    Collective::NAMES.to_vec()
}

/// Returns the factor from a collective's algorithm bandwidth to its bus bandwidth, after
/// nccl-tests.
///
/// Args:
///     collective: One of `collective_names`.
///     gpus: How many GPUs take part, one or more.
///
/// Raises:
///     CollectiveError: If there is no such collective or no GPU takes part.
#[pyfunction]
#[pyo3(signature = (collective: "CollectiveName", gpus: "int"))]
pub fn bus_factor(
    #[pyo3(from_py_with = given)] collective: &str,
    #[pyo3(from_py_with = given)] gpus: i128,
) -> PyResult<f64> {
    let ranks = u32::try_from(gpus).ok().filter(|ranks| *ranks > 0).ok_or_else(|| {
        errors::collective(
            Diagnosis::of(format!("the number of GPUs is {gpus}"))
                .remedy(format!("give 1 to {}", u32::MAX)),
        )
    })?;
    Ok(wanted_collective(collective, None, &[])?.bus_factor(ranks as usize))
}
