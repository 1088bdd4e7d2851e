"""The compiled half of the package `linkwright`; use the package, not this module."""

from collections.abc import Callable, Sequence
from typing import ClassVar, final

from typing_extensions import CapsuleType

__all__ = [
    "Allocator",
    "Explanation",
    "Job",
    "Machine",
    "Match",
    "Pattern",
    "Scenario",
    "SimulationResult",
    "Table",
    "__version__",
    "generate_jobs",
    "import_format_names",
    "pattern_names",
    "policy_names",
    "preset_names",
    "published_effective_bandwidth",
    "read_jobs",
    "read_scenario",
    "simulate",
    "workload_names",
    "workloads",
    "write_jobs",
]

__version__: str

@final
class Machine:
    """A server (or several): its devices and the links between them."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @staticmethod
    def preset(name: str) -> Machine:
        """The built-in machine of that name.

        Raises:
            MachineError: If there is none; the message lists those that exist.
        """

    @staticmethod
    def from_toml(text: str, file: str = "<text>") -> Machine:
        """Reads a machine from its TOML text; `file` names the text in errors.

        Raises:
            InputError: If the text is no machine, with line and column.
        """

    @staticmethod
    def import_text(
        text: str,
        file: str = "<text>",
        *,
        format: str | None = None,
        name: str | None = None,
        nvlink: str | None = None,
        pcie: str | None = None,
        xgmi_links: int | None = None,
    ) -> Machine:
        """Reads what people have: `nvidia-smi topo -m`, `rocm-smi --showtopo`, NCCL XML, TOML.

        Args:
            text: The text itself.
            file: Its name in errors.
            format: `nvidia-smi`, `rocm-smi`, `nccl-xml` or `toml`; told from the text if absent.
            name: The machine's name.
            nvlink: The NVLink generation that the text does not say, such as `nvlink3`.
            pcie: The PCIe generation that the text does not say, such as `pcie4`.
            xgmi_links: How many xGMI links join a pair of AMD GPUs.

        Raises:
            InputError: If the text is truncated, corrupt or of no known format.
        """

    @property
    def name(self) -> str:
        """The machine's name."""

    @property
    def source(self) -> str:
        """Where its description comes from."""

    @property
    def assumptions(self) -> list[str]:
        """What an importer had to assume because the source does not say it."""

    @property
    def gpu_count(self) -> int:
        """How many GPUs it has."""

    @property
    def gpu_names(self) -> list[str]:
        """The GPUs' names, by id."""

    def devices(self) -> Table:
        """One row per device: name, kind, model, links and bandwidth to other GPUs."""

    def links(self) -> Table:
        """One row per bundle of links: its ends, kind, count, bandwidth and latency."""

    def gpu_matrix(self, bandwidth_profile: str = "mapa") -> list[list[tuple[str, float]]]:
        """For each pair of GPUs the best link's label (`NV2`, `PCIe`) and bandwidth in GB/s.

        A GPU with itself is `("X", 0.0)`.

        Raises:
            MachineError: If no path joins two GPUs.
        """

    def proximity(self) -> list[list[str]]:
        """For each pair of GPUs what their host path crosses: PIX, PXB, PHB, NODE, SYS, or X.

        X is a GPU with itself. A pair without a host path is SYS, as far apart as can be.
        """

    def renumbering(self, other: Machine) -> list[int] | None:
        """Which GPU of `other` each GPU is, if their NVLinks make the same graph; else None."""

    def to_toml(self) -> str:
        """The machine as text that `from_toml` reads back to an equal machine."""

    def to_json(self) -> str:
        """The machine as JSON."""

    def to_dot(self) -> str:
        """The machine as a Graphviz drawing."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Pattern:
    """Which of a job's GPUs talk to which: MAPA's application graph."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(cls, shape: str, size: int) -> Pattern:
        """A named shape (see `pattern_names`) on `size` GPUs.

        Raises:
            AllocationError: If the shape is unknown or the size is not 1 to 128.
        """

    @staticmethod
    def from_edges(size: int, edges: Sequence[tuple[int, int]]) -> Pattern:
        """A pattern of its own: edges between vertices 0 to `size` - 1.

        Raises:
            AllocationError: If an edge is no edge of such a graph.
        """

    @staticmethod
    def from_edge_list(text: str, file: str = "<text>") -> Pattern:
        """Reads a line per edge: two vertex numbers from zero, `#` for comments.

        Raises:
            InputError: If a line is no edge, with its place.
        """

    @staticmethod
    def from_counters(
        before: tuple[str, str], after: tuple[str, str], machine: Machine
    ) -> tuple[Pattern, list[int], list[tuple[int, int, int, int]]]:
        """The pattern seen in two snapshots of `nvidia-smi nvlink` counters.

        Args:
            before: The earlier snapshot: its file's name and its text.
            after: The later one.
            machine: Whose counters they are.

        Returns:
            The pattern, the GPU of each of its vertices, and for each edge both vertices
            and the bytes that went from the first to the second and back.

        Raises:
            InputError: If a line is no counter, a counter went backwards, or the traffic
                fits no pattern or several.
        """

    @property
    def shape(self) -> str:
        """The shape's name; an edge list that is a ring counts as one."""

    @property
    def size(self) -> int:
        """How many GPUs it needs."""

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Its edges, each once, lower vertex first."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Match:
    """A pattern placed on GPUs, with its scores."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @property
    def gpus(self) -> list[int]:
        """The GPU of each vertex of the pattern."""

    @property
    def links(self) -> tuple[int, int, int]:
        """How many double NVLinks, single NVLinks and PCIe links the pattern uses."""

    @property
    def aggregated_bandwidth(self) -> float:
        """Eq. 1, in GB/s: the bandwidth of all pairs that the pattern uses."""

    @property
    def effective_bandwidth(self) -> float | None:
        """Predicted bus bandwidth of an all-reduce, in GB/s; None for one GPU."""

    @property
    def preserved_bandwidth(self) -> float:
        """Eq. 3, in GB/s: the bandwidth between the GPUs that stay free."""

    @property
    def candidates(self) -> int:
        """How many sets of GPUs competed for the decision."""

    @property
    def optimal(self) -> bool:
        """Whether no match can be better.

        False where the search ran out of its budget, and on machines of more than 16 GPUs also
        where not all sets of free GPUs were tried.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Explanation:
    """Why a decision came out as it did."""

    @property
    def rule(self) -> str:
        """The policy's rule for this job, in one sentence."""

    @property
    def verdict(self) -> str:
        """Why the chosen match beat the next best."""

    @property
    def chosen(self) -> Match:
        """The decision."""

    @property
    def ranking(self) -> list[Match]:
        """The best candidates by the policy's own order, the chosen one first."""

@final
class Allocator:
    """Gives jobs their GPUs on a live server, by one policy."""

    def __new__(
        cls,
        machine: Machine,
        policy: str = "preserve",
        *,
        bandwidth_model: str = "sound",
        bandwidth_profile: str = "mapa",
        state: str | None = None,
        state_file: str = "<state>",
    ) -> Allocator:
        """An allocator; with `state`, text that `save` gave, in that state.

        Args:
            machine: The server.
            policy: One of `policy_names`.
            bandwidth_model: `sound` or `published`.
            bandwidth_profile: `mapa` or `data-sheet`.
            state: What `save` returned earlier.
            state_file: The state's name in errors.

        Raises:
            AllocationError: If a name is unknown or the state is of another machine.
            InputError: If the state is not what `save` gave.
        """

    @property
    def policy(self) -> str:
        """The policy's name."""

    @property
    def free(self) -> list[int]:
        """The GPUs that a job can get now."""

    @property
    def unhealthy(self) -> list[int]:
        """The GPUs marked unhealthy."""

    @property
    def held(self) -> dict[str, list[int]]:
        """Each job's GPUs."""

    def decide(self, job: str, pattern: Pattern, *, sensitive: bool = True) -> Match | None:
        """What the policy would give now; None if too few GPUs are free.

        Raises:
            AllocationError: If the job is larger than the machine.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def allocate(self, job: str, pattern: Pattern, *, sensitive: bool = True) -> Match | None:
        """Gives the job its GPUs; None, and no change, if too few are free.

        Raises:
            AllocationError: If the job is larger than the machine or holds GPUs already.
            KeyboardInterrupt: Within a second of Ctrl-C; nothing has changed then.
        """

    def explain(
        self, job: str, pattern: Pattern, *, sensitive: bool = True, limit: int = 5
    ) -> Explanation | None:
        """The decision with its `limit` best candidates; None if too few GPUs are free.

        Raises:
            AllocationError: If the job is larger than the machine.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def score(self, pattern: Pattern, gpus: Sequence[int]) -> Match:
        """The scores of a placement: the GPU of each vertex.

        Raises:
            AllocationError: If a GPU is unknown or named twice, or their number is not the size.
        """

    def best_placement(self, pattern: Pattern, gpus: Sequence[int]) -> Match:
        """The placement on exactly these GPUs with the most aggregated bandwidth, scored.

        Raises:
            AllocationError: If a GPU is unknown or named twice, or their number is not the size.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def sound_bandwidth(self, gpus: Sequence[int]) -> float:
        """Effective bandwidth of these GPUs by the sound model, in GB/s.

        Raises:
            AllocationError: If a GPU is unknown.
        """

    def release(self, job: str) -> list[int]:
        """Takes the job's GPUs back and returns them.

        Raises:
            AllocationError: If it holds none: released before or never allocated.
        """

    def mark_unhealthy(self, gpu: int) -> None:
        """Keeps a GPU from new jobs; a job that holds it goes on."""

    def mark_healthy(self, gpu: int) -> None:
        """Lets a GPU be given out again."""

    def save(self) -> str:
        """The state as JSON text."""

    def measure_decision(
        self, pattern: Pattern, *, sensitive: bool = True, repeats: int = 20
    ) -> float:
        """Seconds of wall-clock time for one decision, the least of so many."""

@final
class Job:
    """One job of a shared server."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(
        cls,
        name: str,
        workload: str,
        gpus: int,
        *,
        pattern: str = "ring",
        sensitive: bool | None = None,
        arrival: float = 0.0,
        iterations: int | None = None,
    ) -> Job:
        """A job; sensitivity and iterations are the workload's where absent.

        Args:
            name: A name of its own.
            workload: One of `workload_names`.
            gpus: How many GPUs it asks for.
            pattern: One of `pattern_names`.
            sensitive: Whether allocation treats it as bandwidth sensitive.
            arrival: When it enters the queue, in seconds.
            iterations: Its work, in iterations of the workload.

        Raises:
            SimulationError: If the workload is unknown or a number out of range.
            AllocationError: If the pattern is unknown.
        """

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def workload(self) -> str:
        """Its workload's name."""

    @property
    def gpus(self) -> int:
        """How many GPUs it asks for."""

    @property
    def pattern(self) -> str:
        """Its pattern's name."""

    @property
    def sensitive(self) -> bool:
        """Whether allocation treats it as bandwidth sensitive."""

    @property
    def arrival(self) -> float:
        """When it enters the queue, in seconds."""

    @property
    def iterations(self) -> int:
        """Its work, in iterations of the workload."""

    def run_time(self, effective_bandwidth: float) -> float:
        """Seconds that it runs on GPUs of this effective bandwidth, in GB/s.

        Raises:
            SimulationError: If the bandwidth is negative or no number, or so small that the job
                would run for more than 213 days.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Scenario:
    """A scenario as written: which machine, which jobs, under which choices."""

    @property
    def machine(self) -> tuple[str, str]:
        """`("preset", name)` or `("file", path)`, the path as written."""

    @property
    def machine_position(self) -> tuple[int, int]:
        """Line and column, from one, where the scenario names its machine."""

    @property
    def jobs_position(self) -> tuple[int, int]:
        """Line and column, from one, where it names its job file or says what to generate."""

    @property
    def jobs(self) -> str | list[Job]:
        """The path of the job file as written, or the jobs that the scenario generates."""

    @property
    def unhealthy(self) -> list[int]:
        """GPUs that are out of order from the start."""

    @property
    def policies(self) -> list[str]:
        """The policies to play the jobs under."""

    @property
    def bandwidth_model(self) -> str:
        """`sound` or `published`: what the policies rank by."""

    @property
    def bandwidth_profile(self) -> str:
        """`mapa` or `data-sheet`: what labels the links."""

    @property
    def discipline(self) -> str:
        """`fifo` or `backfill`."""

@final
class SimulationResult:
    """What happened to each job under one policy."""

    @property
    def policy(self) -> str:
        """The policy's name."""

    @property
    def makespan(self) -> float:
        """Seconds from time zero until the last job ended."""

    def jobs(self) -> Table:
        """One row per job, in the jobs' order.

        Columns: job, workload, gpu_count, pattern, sensitive, arrival, start, finish, wait,
        run_time (all in seconds), gpus, double_links, single_links, pcie_links,
        aggregated_bandwidth, ideal_aggregated_bandwidth, effective_bandwidth,
        sound_bandwidth, preserved_bandwidth (all in GB/s), candidates, optimal. The two
        bandwidths that one GPU does not have are null there.
        """

@final
class Table:
    """Columns with names and units, for any library that reads Arrow.

    `pyarrow.table(t)`, `polars.DataFrame(t)` and DuckDB read it without a copy; the unit of a
    column is its field's metadata under the key "unit".
    """

    @property
    def num_rows(self) -> int:
        """How many rows it has."""

    @property
    def column_names(self) -> list[str]:
        """The names of its columns, from the left."""

    def __arrow_c_schema__(self) -> CapsuleType:
        """The schema as an Arrow C schema in a capsule."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType:
        """The rows as an Arrow C stream in a capsule.

        A requested schema is only a wish, and the protocol lets a producer pass it over.
        """

def import_format_names() -> list[str]:
    """The formats that `Machine.import_text` reads."""

def preset_names() -> list[tuple[str, str]]:
    """Each built-in machine's name and description."""

def pattern_names() -> list[str]:
    """The shapes that `Pattern` knows by name."""

def policy_names() -> list[str]:
    """The allocation policies, in the order of the paper's tables."""

def workload_names() -> list[str]:
    """The workloads that jobs may run, in the order of the paper."""

def workloads() -> Table:
    """The workloads: name, sensitive, iterations, bytes and compute time per iteration."""

def published_effective_bandwidth(double: int, single: int, pcie: int) -> float:
    """MAPA's Eq. 2 with Table 2: GB/s predicted for so many links of each class."""

def read_jobs(text: str, file: str = "<text>", *, healthy_gpus: int | None = None) -> list[Job]:
    """Reads a job file: CSV with a header.

    Args:
        text: The text itself.
        file: Its name in errors.
        healthy_gpus: How many GPUs the server can give out, where that is known.

    Raises:
        InputError: If a row is bad, asks for more GPUs than that, or there is none; with line
            and column.
    """

def write_jobs(jobs: Sequence[Job]) -> str:
    """The jobs as text that `read_jobs` reads back to equal jobs."""

def generate_jobs(
    seed: int = 0,
    count: int = 300,
    max_gpus: int = 5,
    *,
    workloads: Sequence[str] | None = None,
    mean_interarrival: float | None = None,
) -> list[Job]:
    """The paper's uniform mix, or one like it.

    Args:
        seed: The same seed gives the same jobs.
        count: How many jobs.
        max_gpus: The GPUs of the largest; sizes are uniform from one to this.
        workloads: What to draw from; all nine where absent.
        mean_interarrival: Mean seconds between arrivals; all at zero where absent.

    Raises:
        SimulationError: If a workload is unknown or nothing can be drawn.
    """

def read_scenario(text: str, file: str = "<text>") -> Scenario:
    """Reads a scenario's TOML text; reading the files it names is left to the caller.

    Raises:
        InputError: If the text is no scenario, with line and column.
    """

def simulate(
    machine: Machine,
    jobs: Sequence[Job],
    policy: str = "preserve",
    *,
    bandwidth_model: str = "sound",
    bandwidth_profile: str = "mapa",
    discipline: str = "fifo",
    unhealthy: Sequence[int] | None = None,
    progress: Callable[[int, int, float], object] | None = None,
) -> SimulationResult:
    """Plays the jobs on an idle server.

    Args:
        machine: The server.
        jobs: The jobs; those of one arrival time queue in this order.
        policy: One of `policy_names`.
        bandwidth_model: `sound` or `published`: what the policy ranks by.
        bandwidth_profile: `mapa` or `data-sheet`: what labels the links.
        discipline: `fifo` or `backfill`.
        unhealthy: GPUs that are out of order from the start.
        progress: Called every 100 ms with jobs done, jobs in all, and simulated seconds.

    Raises:
        AllocationError: If a policy, a choice or a GPU is unknown.
        SimulationError: If a job can never start or has another's name, or a time is beyond
            213 days.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
