//! Gives Python `linkwright.ProgramBuilder`.

use std::sync::Arc;

use linkwright::diagnostic::{Diagnose, Diagnosis, Named as _, instead_of};
use linkwright::network::RouteClass;
use linkwright::program::{
    self, CollectiveKind, CommunicatorId, CopyDirection, MOST_MESSAGE, Operation, PendingOperation,
    Rank, RankBuilder, WORLD,
};
use linkwright::runtime::{ProgramJob, validate};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::argument::{given, named};
use crate::errors;
use crate::number;
use crate::program::Program;

/// Limits the ranks of a program, as for skeletons.
const MOST_RANKS: u32 = 1 << 20;

/// An operation of a program that is being built, which later ones may wait for.
#[pyclass(frozen, module = "linkwright.network")]
pub struct ProgramOperation {
    /// Tells its builder from others.
    of: Arc<()>,
    rank: Rank,
    request: PendingOperation,
}

#[pymethods]
impl ProgramOperation {
    /// The rank whose it is.
    #[getter]
    fn rank(&self) -> Rank {
        self.rank
    }

    /// Returns its place among the operations of its rank, from zero, as in
    /// `Program.operations_of`.
    #[getter]
    fn index(&self) -> u32 {
        self.request.index()
    }

    fn __repr__(&self) -> String {
        format!("<ProgramOperation {} of rank {}>", self.request.index(), self.rank)
    }
}

type Handles<'py> = Vec<PyRef<'py, ProgramOperation>>;

/// Says in which stream of its rank an operation stands, and which operations wait for which.
struct Order<'py> {
    stream: i128,
    blocking: bool,
    after: Option<Handles<'py>>,
}

/// Writes a program down, operation by operation: for what no reader reads.
///
/// Each operation stands in a stream of its rank, behind those that the stream has already. It
/// waits for those that `after` lists, too. With `blocking=False` the stream goes on as soon as the
/// operation has started, as with MPI's non-blocking calls; `wait` waits for its end. Different
/// streams of a rank are under way at once. Its one processor, its messaging library and its GPU's
/// copy engines limit this.
///
/// Sizes are bytes, or texts such as "64 MiB"; times are seconds, or texts such as "30 us".
#[pyclass(module = "linkwright.network")]
pub struct ProgramBuilder {
    identity: Arc<()>,
    name: String,
    ranks: Vec<RankBuilder>,
    communicators: Vec<Vec<Rank>>,
    regions: Vec<String>,
    /// Where each rank's main loop starts, while it is open; whether there was one.
    loop_starts: Option<Vec<usize>>,
    has_loop: bool,
}

#[pymethods]
impl ProgramBuilder {
    /// Makes an empty program.
    ///
    /// Args:
    ///     ranks: How many ranks it has, 1 to 1,048,576.
    ///     name: The name for people.
    ///
    /// Raises:
    ///     SimulationError: If there are no ranks, or too many.
    #[new]
    #[pyo3(signature = (ranks: "int", name: "str" = "program"))]
    fn new(
        #[pyo3(from_py_with = given)] ranks: i128,
        #[pyo3(from_py_with = given)] name: &str,
    ) -> PyResult<Self> {
        let fits = u32::try_from(ranks).ok().filter(|ranks| (1..=MOST_RANKS).contains(ranks));
        let refuse = || {
            errors::range(
                Diagnosis::of(format!("ranks is {ranks}"))
                    .remedy(format!("give 1 to {MOST_RANKS}")),
            )
        };
        let ranks = fits.ok_or_else(refuse)?;
        Ok(Self {
            identity: Arc::new(()),
            name: name.to_owned(),
            ranks: vec![RankBuilder::default(); ranks as usize],
            communicators: vec![(0..ranks).collect()],
            regions: Vec::new(),
            loop_starts: None,
            has_loop: false,
        })
    }

    /// Computes; a rank computes and reduces one thing at a time.
    ///
    /// Args:
    ///     rank: Whose operation it is.
    ///     duration: Seconds, or a text such as "30 us"; a job's `computation_scale` multiplies it.
    ///     stream: In which of the rank's sequences it stands.
    ///     blocking: Whether what follows in the stream waits until it is complete.
    ///     after: Operations of the same rank that have to be complete before.
    ///
    /// Returns:
    ///     The operation, which a later `after` or `wait` may name.
    ///
    /// Raises:
    ///     SimulationError: If there is no such rank, a number is out of range, or an operation of
    ///         `after` is of another rank or builder.
    #[pyo3(signature = (
        rank: "int", duration: "float | str", *, stream: "int" = 0, blocking: "bool" = true,
        after: "Sequence[ProgramOperation] | None" = None
    ))]
    fn compute(
        &mut self,
        #[pyo3(from_py_with = given)] rank: i128,
        duration: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = given)] stream: i128,
        #[pyo3(from_py_with = given)] blocking: bool,
        #[pyo3(from_py_with = given)] after: Option<Handles<'_>>,
    ) -> PyResult<ProgramOperation> {
        let rank = self.rank(rank)?;
        let duration = self.duration(rank, duration)?;
        self.push(rank, Operation::Compute { duration }, &Order { stream, blocking, after })
    }

    /// Lets time pass and occupies nothing, as the host's part of a call does.
    ///
    /// Args:
    ///     rank: Whose operation it is.
    ///     duration: Seconds, or a text such as "30 us"; nothing multiplies it.
    ///     stream: As in `compute`.
    ///     blocking: As in `compute`.
    ///     after: As in `compute`.
    ///
    /// Returns:
    ///     As for `compute`.
    ///
    /// Raises:
    ///     SimulationError: As for `compute`.
    #[pyo3(signature = (
        rank: "int", duration: "float | str", *, stream: "int" = 0, blocking: "bool" = true,
        after: "Sequence[ProgramOperation] | None" = None
    ))]
    fn delay(
        &mut self,
        #[pyo3(from_py_with = given)] rank: i128,
        duration: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = given)] stream: i128,
        #[pyo3(from_py_with = given)] blocking: bool,
        #[pyo3(from_py_with = given)] after: Option<Handles<'_>>,
    ) -> PyResult<ProgramOperation> {
        let rank = self.rank(rank)?;
        let duration = self.duration(rank, duration)?;
        self.push(rank, Operation::Delay { duration }, &Order { stream, blocking, after })
    }

    /// Sends a message; complete when its buffer may be used again.
    ///
    /// Args:
    ///     rank: Who sends.
    ///     to: Who receives.
    ///     size: Bytes, or a text such as "64 MiB".
    ///     tag: The number by which the receiver may select the message.
    ///     communicator: The number of the communicator that has both ranks, as `communicator`
    ///         gives it; 0 has all ranks.
    ///     route: Over which links its data goes: `any`, `fabric` (NVLink, xGMI), `host` (PCIe) or
    ///         `network`.
    ///     stream: As in `compute`.
    ///     blocking: As in `compute`.
    ///     after: As in `compute`.
    ///
    /// Returns:
    ///     The operation, which a later `after` or `wait` may name.
    ///
    /// Raises:
    ///     SimulationError: If there is no such rank, communicator or class of links, or a number
    ///         is out of range. Also if an operation of `after` is of another rank or builder.
    #[pyo3(signature = (
        rank: "int", to: "int", size: "int | str", *, tag: "int" = 0, communicator: "int" = 0,
        route: "Literal['fabric', 'host', 'network', 'any']" = "any", stream: "int" = 0, blocking: "bool" = true,
        after: "Sequence[ProgramOperation] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn send(
        &mut self,
        #[pyo3(from_py_with = given)] rank: i128,
        #[pyo3(from_py_with = given)] to: i128,
        size: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = given)] tag: i128,
        #[pyo3(from_py_with = given)] communicator: i128,
        #[pyo3(from_py_with = given)] route: &str,
        #[pyo3(from_py_with = given)] stream: i128,
        #[pyo3(from_py_with = given)] blocking: bool,
        #[pyo3(from_py_with = given)] after: Option<Handles<'_>>,
    ) -> PyResult<ProgramOperation> {
        let rank = self.rank(rank)?;
        let (size, route) = (self.size(rank, size)?, named_route(route)?);
        let to = self.peer(rank, "sends to", to)?;
        let tag = number::whole("the tag", tag, u32::MAX)?;
        let communicator = self.shared(communicator, rank, Some(to))?;
        let operation = Operation::Send { to, tag, communicator, size, route };
        self.push(rank, operation, &Order { stream, blocking, after })
    }

    /// Receives a message; complete when it is there.
    ///
    /// Args:
    ///     rank: Who receives.
    ///     source: Who sends; None takes any.
    ///     size: How much at most: bytes, or a text such as "64 MiB".
    ///     tag: The message's tag; None takes any.
    ///     communicator: The number of the communicator that has both ranks; 0 has all ranks.
    ///     stream: As in `compute`.
    ///     blocking: As in `compute`.
    ///     after: As in `compute`.
    ///
    /// Returns:
    ///     The operation, which a later `after` or `wait` may name.
    ///
    /// Raises:
    ///     SimulationError: If there is no such rank or communicator, or a number is out of range.
    ///         Also if an operation of `after` is of another rank or builder.
    #[pyo3(signature = (
        rank: "int", source: "int | None", size: "int | str", *, tag: "int | None" = Some(0),
        communicator: "int" = 0, stream: "int" = 0, blocking: "bool" = true,
        after: "Sequence[ProgramOperation] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn receive(
        &mut self,
        #[pyo3(from_py_with = given)] rank: i128,
        #[pyo3(from_py_with = given)] source: Option<i128>,
        size: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = given)] tag: Option<i128>,
        #[pyo3(from_py_with = given)] communicator: i128,
        #[pyo3(from_py_with = given)] stream: i128,
        #[pyo3(from_py_with = given)] blocking: bool,
        #[pyo3(from_py_with = given)] after: Option<Handles<'_>>,
    ) -> PyResult<ProgramOperation> {
        let rank = self.rank(rank)?;
        let size = self.size(rank, size)?;
        let from = source.map(|from| self.peer(rank, "receives from", from)).transpose()?;
        let tag = tag.map(|tag| number::whole("the tag", tag, u32::MAX)).transpose()?;
        let communicator = self.shared(communicator, rank, from)?;
        let operation = Operation::Receive { from, tag, communicator, size };
        self.push(rank, operation, &Order { stream, blocking, after })
    }

    /// Copies between a rank's GPU and its host, or to a peer's GPU.
    ///
    /// It is complete when the last byte is there. It needs one of the GPU's copy engines; a peer
    /// takes no part.
    ///
    /// Args:
    ///     rank: Whose GPU it is.
    ///     direction: `host-to-device`, `device-to-host` or `peer`.
    ///     size: Bytes, or a text such as "64 MiB".
    ///     peer: The rank whose GPU gets the data, with `peer`; of the same server.
    ///     route: Over which links: `any`, `fabric` (NVLink, xGMI) or `host` (PCIe).
    ///     stream: As in `compute`.
    ///     blocking: As in `compute`.
    ///     after: As in `compute`.
    ///
    /// Returns:
    ///     The operation, which a later `after` or `wait` may name.
    ///
    /// Raises:
    ///     SimulationError: If there is no such rank, direction or class of links, or a number is
    ///         out of range. Also if `peer` is missing or too much, or an operation of `after` is
    ///         of another rank or builder.
    #[pyo3(signature = (
        rank: "int",
        direction: "Literal['host-to-device', 'device-to-host', 'peer']",
        size: "int | str", *, peer: "int | None" = None,
        route: "Literal['fabric', 'host', 'network', 'any']" = "any", stream: "int" = 0, blocking: "bool" = true,
        after: "Sequence[ProgramOperation] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn copy(
        &mut self,
        #[pyo3(from_py_with = given)] rank: i128,
        #[pyo3(from_py_with = given)] direction: &str,
        size: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = given)] peer: Option<i128>,
        #[pyo3(from_py_with = given)] route: &str,
        #[pyo3(from_py_with = given)] stream: i128,
        #[pyo3(from_py_with = given)] blocking: bool,
        #[pyo3(from_py_with = given)] after: Option<Handles<'_>>,
    ) -> PyResult<ProgramOperation> {
        let rank = self.rank(rank)?;
        let (size, route) = (self.size(rank, size)?, named_route(route)?);
        let direction = match (direction, peer) {
            ("host-to-device", None) => CopyDirection::HostToDevice,
            ("device-to-host", None) => CopyDirection::DeviceToHost,
            ("peer", Some(peer)) => CopyDirection::Peer(self.peer(rank, "copies to", peer)?),
            ("peer", None) => {
                let problem = Diagnosis::of("copies to no peer").remedy("name its rank");
                return Err(self.refuse(rank, problem));
            }
            ("host-to-device" | "device-to-host", Some(_)) => {
                let problem = Diagnosis::of("names a peer, but copies to or from its host");
                return Err(self.refuse(rank, problem.remedy("leave one out")));
            }
            _ => {
                let known = ["host-to-device", "device-to-host", "peer"];
                return Err(unknown("direction", direction, &known));
            }
        };
        let operation = Operation::Copy { direction, size, route };
        self.push(rank, operation, &Order { stream, blocking, after })
    }

    /// Adds what has come to what the GPU holds; it occupies the rank's processor.
    ///
    /// Args:
    ///     rank: Whose operation it is.
    ///     size: How much of each of the two: bytes, or a text such as "64 MiB".
    ///     rate: Bytes per second, or a text such as "300 GB/s". Where absent, it is as fast as the
    ///         GPU's memory, which reads both and writes the sum.
    ///     stream: As in `compute`.
    ///     blocking: As in `compute`.
    ///     after: As in `compute`.
    ///
    /// Returns:
    ///     The operation, which a later `after` or `wait` may name.
    ///
    /// Raises:
    ///     SimulationError: If there is no such rank, a number is out of range, or an operation of
    ///         `after` is of another rank or builder.
    #[pyo3(signature = (
        rank: "int", size: "int | str", *, rate: "float | str | None" = None,
        stream: "int" = 0, blocking: "bool" = true, after: "Sequence[ProgramOperation] | None" = None
    ))]
    fn reduce(
        &mut self,
        #[pyo3(from_py_with = given)] rank: i128,
        size: &Bound<'_, PyAny>,
        rate: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = given)] stream: i128,
        #[pyo3(from_py_with = given)] blocking: bool,
        #[pyo3(from_py_with = given)] after: Option<Handles<'_>>,
    ) -> PyResult<ProgramOperation> {
        let rank = self.rank(rank)?;
        let size = self.size(rank, size)?;
        let rate = rate.map(|rate| self.rate(rank, rate)).transpose()?;
        self.push(rank, Operation::Reduce { size, rate }, &Order { stream, blocking, after })
    }

    /// A collective of all ranks of a communicator; of each, complete when its part is done.
    ///
    /// Args:
    ///     kind: Its name, such as `all-reduce`: one of `collective_names()`.
    ///     size: The data that each rank contributes, for all-to-all to each other: bytes, or a
    ///         text such as "64 MiB".
    ///     root: The rank that is special, where the collective has one.
    ///     communicator: The number of the communicator whose ranks take part; 0 has all.
    ///     stream: As in `compute`, in each rank.
    ///     blocking: As in `compute`.
    ///     after: As in `compute`: each rank waits for those that are its own.
    ///
    /// Returns:
    ///     The operation of each rank, in the order of the communicator.
    ///
    /// Raises:
    ///     SimulationError: If there is no such collective, communicator or rank, or a number is
    ///         out of range. Also if an operation of `after` is of no rank of the communicator or
    ///         of another builder.
    #[pyo3(signature = (
        kind: "str", size: "int | str", *, root: "int | None" = None, communicator: "int" = 0,
        stream: "int" = 0, blocking: "bool" = true, after: "Sequence[ProgramOperation] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn collective(
        &mut self,
        #[pyo3(from_py_with = given)] kind: &str,
        size: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = given)] root: Option<i128>,
        #[pyo3(from_py_with = given)] communicator: i128,
        #[pyo3(from_py_with = given)] stream: i128,
        #[pyo3(from_py_with = given)] blocking: bool,
        #[pyo3(from_py_with = given)] after: Option<Handles<'_>>,
    ) -> PyResult<Vec<ProgramOperation>> {
        let kind = CollectiveKind::from_name(kind).map_err(errors::program)?;
        let communicator = self.communicator_of(communicator)?;
        let members = self.communicators[communicator as usize].clone();
        let size = self.size(members[0], size)?;
        let root = match root {
            Some(root) if kind.has_root() => {
                let root = self.peer(members[0], "has the root", root)?;
                self.shared(communicator.into(), root, None)?;
                root
            }
            Some(_) => {
                let problem = Diagnosis::of(format!("the {} has no root", kind.name()));
                return Err(errors::program(problem.remedy("leave it out")));
            }
            None => members[0],
        };
        let after = after.unwrap_or_default();
        self.check(&after)?;
        if let Some(other) = after.iter().find(|handle| !members.contains(&handle.rank)) {
            let (index, rank) = (other.request.index(), other.rank);
            return Err(errors::program(
                Diagnosis::of(format!(
                    "the {} waits for operation {index} of rank {rank}, which takes no part",
                    kind.name()
                ))
                .remedy("leave it out of `after`"),
            ));
        }
        let stream = stream_number(stream)?;
        let operation = Operation::Collective { kind, root, communicator, size };
        let each = members.into_iter().map(|rank| {
            let own = after.iter().filter(|handle| handle.rank == rank);
            let own: Vec<PendingOperation> = own.map(|handle| handle.request).collect();
            self.append(rank, operation, (stream, blocking), &own)
        });
        Ok(each.collect())
    }

    /// Waits until operations are complete: later operations in the stream come after them.
    ///
    /// Args:
    ///     rank: Who waits.
    ///     after: Operations of the same rank.
    ///     stream: In which of the rank's sequences.
    ///
    /// Raises:
    ///     SimulationError: If there is no such rank, or an operation is of another rank or
    ///         builder.
    #[pyo3(signature = (rank: "int", after: "Sequence[ProgramOperation]", *, stream: "int" = 0))]
    fn wait(
        &mut self,
        #[pyo3(from_py_with = given)] rank: i128,
        #[pyo3(from_py_with = given)] after: Handles<'_>,
        #[pyo3(from_py_with = given)] stream: i128,
    ) -> PyResult<ProgramOperation> {
        let rank = self.rank(rank)?;
        let order = Order { stream, blocking: true, after: Some(after) };
        self.push(rank, Operation::Join, &order)
    }

    /// Enters a region of the program, by its name. Timelines and results of regions show it.
    ///
    /// Raises:
    ///     SimulationError: If there is no such rank.
    #[pyo3(signature = (rank: "int", name: "str", *, stream: "int" = 0))]
    fn enter(
        &mut self,
        #[pyo3(from_py_with = given)] rank: i128,
        #[pyo3(from_py_with = given)] name: &str,
        #[pyo3(from_py_with = given)] stream: i128,
    ) -> PyResult<ProgramOperation> {
        let (rank, region) = (self.rank(rank)?, self.region(name));
        let order = Order { stream, blocking: true, after: None };
        self.push(rank, Operation::Enter { region }, &order)
    }

    /// Leaves a region of the program.
    ///
    /// Raises:
    ///     SimulationError: If there is no such rank, or no rank has entered such a region.
    #[pyo3(signature = (rank: "int", name: "str", *, stream: "int" = 0))]
    fn leave(
        &mut self,
        #[pyo3(from_py_with = given)] rank: i128,
        #[pyo3(from_py_with = given)] name: &str,
        #[pyo3(from_py_with = given)] stream: i128,
    ) -> PyResult<ProgramOperation> {
        let rank = self.rank(rank)?;
        if !self.regions.iter().any(|known| known == name) {
            let problem =
                Diagnosis::of(format!("leaves region `{name}`, which no rank has entered"));
            return Err(self.refuse(rank, problem.remedy("enter it")));
        }
        let region = self.region(name);
        let order = Order { stream, blocking: true, after: None };
        self.push(rank, Operation::Leave { region }, &order)
    }

    /// A communicator of some ranks, beside that of all, which is 0.
    ///
    /// Args:
    ///     ranks: Its ranks, in the order of their places in it.
    ///
    /// Returns:
    ///     Its number, which messages and collectives name.
    ///
    /// Raises:
    ///     SimulationError: If there are none, one is named twice, or there is no such rank.
    #[pyo3(signature = (ranks: "Sequence[int]"))]
    fn communicator(
        &mut self,
        #[pyo3(from_py_with = given)] ranks: Vec<i128>,
    ) -> PyResult<CommunicatorId> {
        let members =
            ranks.into_iter().map(|rank| self.rank(rank)).collect::<PyResult<Vec<_>>>()?;
        let mut sorted = members.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let rank = twice[0];
            return Err(errors::program(
                Diagnosis::of(format!("the communicator names rank {rank} twice"))
                    .remedy("name it once"),
            ));
        }
        if members.is_empty() {
            return Err(errors::program(
                Diagnosis::of("the communicator has no ranks").remedy("name some"),
            ));
        }
        self.communicators.push(members);
        Ok(self.communicators.len() as u32 - 1)
    }

    /// Opens the main loop, which a job's `iterations` repeat: `with builder.main_loop(): ...`.
    ///
    /// A program has one at most.
    ///
    /// Raises:
    ///     SimulationError: If there is one already.
    fn main_loop(slf: PyRefMut<'_, Self>) -> PyResult<PyRefMut<'_, Self>> {
        if slf.has_loop {
            return Err(errors::program(
                Diagnosis::of("the program has a main loop already").remedy("it may have one"),
            ));
        }
        Ok(slf)
    }

    fn __enter__(mut slf: PyRefMut<'_, Self>) -> PyResult<PyRefMut<'_, Self>> {
        if slf.has_loop {
            return Err(errors::program(
                Diagnosis::of("the program has a main loop already").remedy("it may have one"),
            ));
        }
        slf.has_loop = true;
        slf.ranks.iter_mut().for_each(RankBuilder::begin_body);
        slf.loop_starts = Some(slf.ranks.iter().map(|rank| rank.operations().len()).collect());
        Ok(slf)
    }

    #[pyo3(signature = (*_error: "object"))]
    fn __exit__(&mut self, _error: &Bound<'_, PyAny>) {
        let starts = self.loop_starts.take().unwrap_or_default();
        for (rank, start) in self.ranks.iter_mut().zip(starts) {
            // Every rank repeats something, so that all count the same iterations.
            if rank.operations().len() == start {
                rank.run(Operation::Join);
            }
            rank.end_body();
        }
    }

    /// The program as it stands; more may be added, and built again.
    ///
    /// Raises:
    ///     SimulationError: If its main loop is still open.
    fn build(&self) -> PyResult<Program> {
        if self.loop_starts.is_some() {
            return Err(errors::program(
                Diagnosis::of("the main loop is open").remedy("build behind its `with`"),
            ));
        }
        let program = Arc::new(program::Program {
            name: self.name.clone(),
            communicators: self.communicators.clone(),
            regions: self.regions.clone(),
            ranks: self.ranks.iter().map(|rank| rank.clone().finish()).collect(),
        });
        let ranks = self.ranks.len() as u32;
        validate(&ProgramJob::new(&program, (0..ranks).collect()), ranks)
            .map_err(errors::program)?;
        Ok(Program(program))
    }

    /// Returns its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// How many ranks it has.
    #[getter]
    fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// How many operations its ranks have so far.
    #[getter]
    fn operations(&self) -> usize {
        self.ranks.iter().map(|rank| rank.operations().len()).sum()
    }

    fn __repr__(&self) -> String {
        let (name, ranks, operations) = (&self.name, self.ranks(), self.operations());
        format!("<ProgramBuilder {name:?}: {ranks} ranks, {operations} operations>")
    }
}

/// A name that is none of those known.
fn unknown(what: &str, name: &str, known: &[&str]) -> PyErr {
    errors::program(
        Diagnosis::of(format!("there is no {what} `{name}`")).remedy(instead_of(name, known)),
    )
}

/// Returns the class of links of a name.
fn named_route(name: &str) -> PyResult<RouteClass> {
    RouteClass::from_name(name).map_err(errors::program)
}

fn stream_number(stream: i128) -> PyResult<u32> {
    number::whole("the stream", stream, u32::MAX)
}

impl ProgramBuilder {
    fn rank(&self, rank: i128) -> PyResult<Rank> {
        let ranks = self.ranks.len();
        let found = Rank::try_from(rank).ok().filter(|rank| (*rank as usize) < ranks);
        let refuse = || {
            errors::program(
                Diagnosis::of(format!("there is no rank {rank}"))
                    .remedy(format!("the program has {ranks}, from 0")),
            )
        };
        found.ok_or_else(refuse)
    }

    /// Makes the error of the operation that a rank was about to get.
    fn refuse(&self, rank: Rank, told: Diagnosis) -> PyErr {
        let index = self.ranks[rank as usize].operations().len();
        let problem = format!("operation {index} of rank {rank} {}", told.problem);
        errors::program(Diagnosis { problem, ..told })
    }

    fn peer(&self, rank: Rank, does: &str, peer: i128) -> PyResult<Rank> {
        let ranks = self.ranks.len();
        let found = Rank::try_from(peer).ok().filter(|peer| (*peer as usize) < ranks);
        found.ok_or_else(|| {
            let unknown = Diagnosis::of(format!("{does} rank {peer}"));
            self.refuse(rank, unknown.remedy(format!("there are {ranks}, from 0")))
        })
    }

    fn communicator_of(&self, communicator: i128) -> PyResult<CommunicatorId> {
        let communicators = self.communicators.len();
        let found = usize::try_from(communicator).ok().filter(|index| *index < communicators);
        let refuse = || {
            errors::program(
                Diagnosis::of(format!("there is no communicator {communicator}"))
                    .remedy(format!("the program has {communicators}, from 0")),
            )
        };
        found.map(|index| index as CommunicatorId).ok_or_else(refuse)
    }

    /// A communicator that holds both ends of a message.
    fn shared(&self, communicator: i128, rank: Rank, peer: Option<Rank>) -> PyResult<u32> {
        let found = self.communicator_of(communicator)?;
        if found == WORLD {
            return Ok(found);
        }
        let members = &self.communicators[found as usize];
        let mut ends = [Some(rank), peer].into_iter().flatten();
        match ends.find(|end| !members.contains(end)) {
            None => Ok(found),
            Some(absent) => {
                let problem =
                    format!("names communicator {communicator}, which does not hold rank {absent}");
                Err(self.refuse(rank, Diagnosis::of(problem)))
            }
        }
    }

    fn region(&mut self, name: &str) -> u32 {
        let known = self.regions.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.regions.push(name.to_owned());
            self.regions.len() - 1
        }) as u32
    }

    fn size(&self, rank: Rank, value: &Bound<'_, PyAny>) -> PyResult<Bytes> {
        let size = match value.cast::<PyString>() {
            Ok(text) => text.to_str()?.parse::<Bytes>().map_err(errors::program)?,
            Err(_) => Bytes(number::whole("the size", named("size", value)?, u64::MAX)?),
        };
        if size > MOST_MESSAGE {
            let large = Diagnosis::of(format!("is of {size}"));
            return Err(self.refuse(rank, large.remedy(format!("give at most {MOST_MESSAGE}"))));
        }
        Ok(size)
    }

    fn duration(&self, rank: Rank, value: &Bound<'_, PyAny>) -> PyResult<Picoseconds> {
        match value.cast::<PyString>() {
            Ok(text) => {
                let parsed = text.to_str()?.parse::<Picoseconds>();
                parsed.map_err(|error| self.refuse(rank, error.diagnosis().within("has no time")))
            }
            Err(_) => number::time("the duration", named("duration", value)?),
        }
    }

    fn rate(&self, rank: Rank, value: &Bound<'_, PyAny>) -> PyResult<Bandwidth> {
        let rate = match value.cast::<PyString>() {
            Ok(text) => text.to_str()?.parse::<Bandwidth>().map_err(errors::program)?,
            Err(_) => {
                let rate: f64 = named("rate", value)?;
                Bandwidth(rate.round().clamp(0.0, u64::MAX as f64) as u64)
            }
        };
        if rate == Bandwidth(0) {
            return Err(self.refuse(
                rank,
                Diagnosis::of("reduces 0 bytes in a second").remedy("state a rate above"),
            ));
        }
        Ok(rate)
    }

    /// Refuses operations of another builder.
    fn check(&self, after: &Handles<'_>) -> PyResult<()> {
        match after.iter().find(|handle| !Arc::ptr_eq(&handle.of, &self.identity)) {
            None => Ok(()),
            Some(other) => {
                let (index, rank) = (other.request.index(), other.rank);
                Err(errors::program(
                    Diagnosis::of(format!(
                        "operation {index} of rank {rank} is of another builder"
                    ))
                    .remedy("name one of this"),
                ))
            }
        }
    }

    fn push(
        &mut self,
        rank: Rank,
        operation: Operation,
        order: &Order<'_>,
    ) -> PyResult<ProgramOperation> {
        let stream = stream_number(order.stream)?;
        let none = Handles::new();
        let after = order.after.as_ref().unwrap_or(&none);
        self.check(after)?;
        if let Some(other) = after.iter().find(|handle| handle.rank != rank) {
            let (index, of) = (other.request.index(), other.rank);
            let problem = Diagnosis::of(format!("cannot wait for operation {index} of rank {of}"));
            return Err(self.refuse(rank, problem.remedy("let that send it a message")));
        }
        let after: Vec<PendingOperation> = after.iter().map(|handle| handle.request).collect();
        Ok(self.append(rank, operation, (stream, order.blocking), &after))
    }

    fn append(
        &mut self,
        rank: Rank,
        operation: Operation,
        (stream, blocking): (u32, bool),
        after: &[PendingOperation],
    ) -> ProgramOperation {
        let builder = &mut self.ranks[rank as usize];
        builder.on_stream(stream);
        let request = if blocking {
            builder.run_after(operation, after)
        } else {
            builder.start_after(operation, after)
        };
        ProgramOperation { of: Arc::clone(&self.identity), rank, request }
    }
}
