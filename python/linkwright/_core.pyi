"""The compiled half of the package `linkwright`; use the package, not this module.

Written by scripts/write_stub.py: change the Rust source, and run `make stub`.
"""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, final

from numpy.typing import NDArray
from typing_extensions import Buffer, CapsuleType

from linkwright.contracts import Policy
from linkwright.names import (
    AlgorithmName,
    ApplicationName,
    BandwidthModelName,
    BandwidthProfileName,
    BenchmarkName,
    CollectiveName,
    ContextExchangeName,
    DisciplineName,
    DistributionName,
    DramName,
    ExportFormatName,
    FidelityName,
    FlagsName,
    FrameworkName,
    GpuSpeedName,
    ImportFormatName,
    KernelName,
    KernelPrecisionName,
    KernelsName,
    LinksName,
    LitmusTestName,
    MappingName,
    MemorySystemName,
    ModelPrecisionName,
    NcclAlgorithmName,
    NcclOperationName,
    NetworkName,
    NumberTypeName,
    OptimizerName,
    PatternName,
    PlannerName,
    PolicyName,
    PrecisionName,
    ProcessesName,
    ProtocolName,
    ReductionName,
    RunTimeName,
    ServerChoiceName,
    TieName,
    TrafficName,
    TrainingWayName,
    WorkloadName,
)

__all__ = [
    "MOST_JOBS",
    "MOST_PAIRED_GPUS",
    "MOST_PLANNED_GPUS",
    "MOST_PROFILED_GPUS",
    "SENSITIVE_ABOVE",
    "Allocator",
    "BandwidthFit",
    "Certificate",
    "CheckReport",
    "ClusterJob",
    "ClusterRun",
    "Evidence",
    "Explanation",
    "Export",
    "Fabric",
    "Floorplan",
    "GpuKernel",
    "GpuModel",
    "GpuPlace",
    "GpuRun",
    "GpuSystem",
    "Job",
    "KernelRatios",
    "KernelTrace",
    "LayoutSearch",
    "LayoutStep",
    "Machine",
    "Match",
    "Model",
    "ModelTraining",
    "NcclTestsLog",
    "NeuralNetwork",
    "Owner",
    "Packet",
    "Pattern",
    "Program",
    "ProgramBuilder",
    "ProgramOperation",
    "QueuedMessage",
    "Request",
    "Scenario",
    "Schedule",
    "Selection",
    "Setting",
    "SimulationResult",
    "System",
    "Table",
    "ThermalMap",
    "Timing",
    "TrainingStep",
    "Tree",
    "Tried",
    "__version__",
    "_reduced",
    "_restored",
    "algorithm_descriptions",
    "algorithm_names",
    "algorithm_protocols",
    "applications",
    "broken_promises",
    "bus_factor",
    "calibrate",
    "choice_doubts",
    "choice_names",
    "collective_names",
    "comparison_gains",
    "comparison_measures",
    "error_likeness",
    "expect",
    "expect_all_to_allv",
    "explain_difference",
    "explain_log",
    "export_format_names",
    "fabric_names",
    "five_number_summary",
    "generate_jobs",
    "gpu_benchmarks",
    "gpu_energy",
    "gpu_litmus",
    "gpu_litmus_tests",
    "gpu_models",
    "import_format_names",
    "jobs_from_text",
    "kernel_fields",
    "kernel_terms",
    "kernel_time_terms",
    "kernel_times",
    "mapping_from_text",
    "mean_over_seeds",
    "models",
    "nccl_choice_ranges",
    "nccl_choices",
    "nccl_explanation",
    "nccl_graph_file",
    "nccl_graph_from_text",
    "nccl_interfaces",
    "nccl_release",
    "neural_networks",
    "observed_heat",
    "packing_rate",
    "pattern_names",
    "plan",
    "plan_for_sizes",
    "planner_names",
    "planning_seconds",
    "play_jobs",
    "plug_in_name",
    "plug_in_named",
    "policy_names",
    "policy_speedups",
    "preset_names",
    "profile_sensitivity",
    "program_speedups",
    "published_effective_bandwidth",
    "random_mixes",
    "read_otf2",
    "reduction_names",
    "settings",
    "share_saved",
    "system_files",
    "tie_names",
    "time_errors",
    "time_sweep",
    "training_terms",
    "workload_names",
    "workloads",
    "write_jobs",
]

MOST_JOBS: int
MOST_PAIRED_GPUS: int
MOST_PLANNED_GPUS: int
MOST_PROFILED_GPUS: int
SENSITIVE_ABOVE: float
__version__: str

@final
class Allocator:
    """Gives jobs their GPUs on a live server, or on several, by one policy.

    On several servers a job has its GPUs as a day's queue gives them. A job has GPUs of several where no server has as
    many, and, under `pack` and `spread`, where none has room. Under `whole` a job of a server's size or more waits for
    servers of its own. GPUs are counted through the first server, then the second.

    Examples:
        >>> from linkwright import Allocator, Pattern, System
        >>> server = Allocator(System("dgx1-v100"), "preserve")
        >>> server.allocate("train-1", Pattern("ring", 4)).gpus
        [0, 3, 2, 1]
    """

    def __new__(
        cls,
        system: System,
        policy: PolicyName | Policy | type[Policy] = ...,
        *,
        servers: ServerChoiceName = "first-fit",
        bandwidth_model: BandwidthModelName = "sound",
        bandwidth_profile: BandwidthProfileName | None = None,
        ties: TieName = "nearest",
        bandwidth_fit: BandwidthFit | None = None,
        state: str | None = None,
        state_file: str = "<state>",
        lost: Sequence[int] | None = None,
    ) -> Allocator:
        """Makes an allocator; with `state`, text that `save` gave, it starts in that state.

        Args:
            system: The server, or several.
            policy: One of `policy_names`, or a class of one's own as `linkwright.contracts.Policy` has it, or an object
                of one.
            servers: As a day's queue chooses servers: `first-fit`, `pack`, `spread` or `whole`.
            bandwidth_model: `sound` or `published`.
            bandwidth_profile: `mapa` or `data-sheet`; if not given, that of each machine.
            ties: The rule between matches that tie in the policy's scores: `nearest` or
                `published`.
            bandwidth_fit: Coefficients in place of the published; for `published` alone.
            state: The text that `save` returned earlier.
            state_file: The state's name in errors.
            lost: The GPUs that the servers have lost since the state was saved, by their ids at
                that time. They are needed only where names, places and links leave open which they
                are.

        Raises:
            AllocationError: If a name is unknown.
            InputError: If the state is not what `save` gave, or of another machine.
        """

    @property
    def system(self) -> System:
        """Returns the servers."""

    @property
    def policy(self) -> str:
        """Returns the policy's name."""

    @property
    def servers(self) -> str:
        """Returns the name of the rule that chooses servers."""

    @property
    def free(self) -> list[int]:
        """The GPUs that a job can get now."""

    @property
    def unhealthy(self) -> list[int]:
        """Lists the GPUs marked unhealthy."""

    @property
    def lost(self) -> list[int]:
        """The GPUs that the servers have lost since the state was begun, by their ids before.

        They are unhealthy. Those that are left are numbered anew: `ids_before_loss` has the
        id that each of them had.
        """

    @property
    def ids_before_loss(self) -> list[int]:
        """Gives for each GPU its id before the servers lost any."""

    @property
    def owners(self) -> dict[str, Owner]:
        """Who asked for each job's GPUs, where that is known."""

    @property
    def held(self) -> dict[str, list[int]]:
        """Each job's GPUs, but for those that are lost."""

    @property
    def exclusive(self) -> list[str]:
        """Lists the jobs that share their servers with nobody."""

    def decide(
        self,
        job: str,
        pattern: Pattern,
        *,
        sensitive: bool = True,
        servers_wanted: int | None = None,
        exclusive: bool = False,
    ) -> Match | None:
        """Gives what the policy would now; None if too few GPUs are free.

        It takes the arguments of `allocate`.

        Raises:
            AllocationError: If the job is larger than the system, or wants servers that it can never have.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def allocate(
        self,
        job: str,
        pattern: Pattern,
        *,
        sensitive: bool = True,
        owner: Owner | None = None,
        servers_wanted: int | None = None,
        exclusive: bool = False,
    ) -> Match | None:
        """Gives the job its GPUs; None, and no change, if too few are free.

        Args:
            job: Its name, by which it is released.
            pattern: Which of its GPUs talk to which.
            sensitive: Whether bandwidth matters to it.
            owner: Who asks, to be kept with the state.
            servers_wanted: On how many servers it wants even shares; None leaves it open.
            exclusive: Whether it shares them with nobody.

        Raises:
            AllocationError: If the job is larger than the system, wants servers that it can never have, or holds GPUs
                already.
            KeyboardInterrupt: Within a second of Ctrl-C; nothing has changed then.
        """

    def hold(self, job: str, gpus: Sequence[int], *, owner: Owner | None = None) -> None:
        """Records that a job holds GPUs that somebody else gave it, as a scheduler whose jobs run already.

        Args:
            job: Its name, by which it is released.
            gpus: Its GPUs by their ids.
            owner: Who asked, to be kept with the state.

        Raises:
            AllocationError: If the job holds GPUs already, or if a GPU is unknown, named twice or not free.
        """

    def explain(
        self,
        job: str,
        pattern: Pattern,
        *,
        sensitive: bool = True,
        limit: int = 5,
        servers_wanted: int | None = None,
        exclusive: bool = False,
    ) -> Explanation | None:
        """The decision with its `limit` best candidates of each server; None if too few GPUs are free.

        Raises:
            AllocationError: As of `decide`.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def score(self, pattern: Pattern, gpus: Sequence[int]) -> Match:
        """Scores a placement, given as the GPU of each vertex.

        Raises:
            AllocationError: If a GPU is unknown or named twice, if their number is not the size, or if they are in
                different servers.
        """

    def best_placement(self, pattern: Pattern, gpus: Sequence[int]) -> Match:
        """Finds the placement on exactly these GPUs with the most aggregated bandwidth, scored.

        Raises:
            AllocationError: If a GPU is unknown or named twice, if their number is not the size, or if they are in
                different servers.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def pattern_ends(self, pattern: Pattern) -> tuple[list[int], list[int]] | None:
        """Finds the best placements on the GPUs that suit a pattern least and most, whoever holds them.

        Of several servers it looks at the first kind that has as many GPUs.

        Returns:
            Both placements, by the bandwidth of the pattern's edges; the same where it stands for an
            all-reduce. None where the machine has fewer GPUs.

        Raises:
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def sound_bandwidth(self, gpus: Sequence[int]) -> float:
        """Returns the effective bandwidth of these GPUs by the sound model, in GB/s.

        Raises:
            AllocationError: If a GPU is unknown, or if they are in different servers.
        """

    def release(self, job: str) -> list[int]:
        """Takes the job's GPUs back and returns them.

        Raises:
            AllocationError: If it holds none: released before or never allocated.
        """

    def reconcile(
        self, living: Sequence[str], *, since: float | None = None
    ) -> dict[str, list[int]]:
        """Takes the GPUs of all jobs back that are not in the list of living ones.

        Args:
            living: The jobs that live; others, of other servers, do no harm.
            since: In seconds since 1970: a job that asked then or later stays, since the list may
                be older than it is. None where the list is newer than every job.

        Returns:
            Each job that was released, and its GPUs.

        Raises:
            AllocationError: If the time is negative or too large.
        """

    def release_overdue(self, now: float) -> dict[str, list[int]]:
        """Takes the GPUs of all jobs back whose lease is over.

        Args:
            now: The time, in seconds since 1970.

        Returns:
            Each job that was released, and its GPUs.

        Raises:
            AllocationError: If the time is negative or too large.
        """

    def mark_unhealthy(self, gpu: int) -> None:
        """Keeps a GPU from new jobs; a job that holds it goes on.

        Raises:
            AllocationError: If the GPU is unknown.
        """

    def mark_healthy(self, gpu: int) -> None:
        """Lets a GPU be given out again.

        Raises:
            AllocationError: If the GPU is unknown.
        """

    def _repr_html_(self) -> str:
        """Who holds each GPU, below how many are free."""

    def save(self) -> str:
        """Returns the state as JSON text."""

    def measure_decision(
        self, pattern: Pattern, *, sensitive: bool = True, repeats: int = 20
    ) -> float:
        """Measures the wall-clock time of one decision in seconds, the least of `repeats` tries.

        Raises:
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

@final
class BandwidthFit:
    """Holds MAPA's Eq. 2 with coefficients of its own, and how far it misses its samples.

    `Allocator` takes it in place of the published coefficients. Bandwidths are in GB/s.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(cls, samples: Sequence[tuple[tuple[int, int, int], float]]) -> BandwidthFit:
        """Fits the fourteen terms to samples by least squares.

        Args:
            samples: Links by class, as `Match.links` counts them, with the bus bandwidth that an
                all-reduce reached, in GB/s.

        Raises:
            AllocationError: If there is no sample, or one is negative or no number.
        """

    @staticmethod
    def from_text(text: str, file: str = "<text>") -> BandwidthFit:
        """Reads what `to_toml` wrote; `file` names the text in errors.

        Raises:
            InputError: If the text is no such file or lacks a coefficient, with line and column.
        """

    def to_toml(self) -> str:
        """Writes it as TOML, which `allocate --bandwidth-model` takes."""

    def effective_bandwidth(self, double: int, single: int, pcie: int) -> float:
        """Gives the effective bandwidth that it predicts for these links, in GB/s.

        Raises:
            AllocationError: If a number is negative.
        """

    @property
    def coefficients(self) -> list[float]:
        """Gives its coefficients, in the order of the paper's Table 2."""

    @property
    def samples(self) -> int:
        """How many samples it was fitted to."""

    @property
    def terms(self) -> int:
        """How many of the terms the samples tell apart; the others are zero."""

    @property
    def root_mean_square_error(self) -> float:
        """Gives the root of the mean squared error on the samples."""

    @property
    def mean_absolute_error(self) -> float:
        """Gives the mean of the absolute errors on the samples."""

    @property
    def left_out_error(self) -> float | None:
        """Gives the root mean square error of each sample's prediction by a fit to all others.

        It is over the samples that the others can predict; None where there are none.
        """

    @property
    def deciding(self) -> int:
        """How many samples the others cannot predict, since each alone decides a term."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Certificate:
    """Why no schedule of a plan's kind passes its optimum.

    `Schedule.certificate` finds it, and `Schedule.verify` adds up the system's links anew: it shares no code with planners.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @property
    def kind(self) -> str:
        """Names what it proves by: `cut`, `parts`, `in-switch` or `weights`."""

    @property
    def sides(self) -> list[list[str]]:
        """The names of the devices on the side that data must leave, or of each part; else nothing."""

    @property
    def links(self) -> list[tuple[str, str, float, int]]:
        """Lists the links that count. Each has the names of its ends and what they carry in this
        direction in GB/s. It says how often that counts, which is once but for weights.
        """

    @property
    def left_out(self) -> list[str]:
        """The names of network interfaces that such plans leave out, since others are nearer to the GPUs."""

    @property
    def capacity(self) -> float:
        """Sums what the links carry together, each as often as it counts, in GB/s."""

    @property
    def need(self) -> float:
        """How many bytes of that a byte of the collective's size needs."""

    @property
    def bound(self) -> float:
        """Gives capacity over need, which no schedule passes, in GB/s of the size."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class ClusterJob:
    """A program that runs on some GPUs of a cluster from some time on."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(
        cls,
        program: Program,
        *,
        name: str | None = None,
        iterations: int = 1,
        start: float = 0.0,
        computation_scale: float = 1.0,
        priority: int = 0,
        mapping: str | Sequence[int] | None = None,
        deadline: float | None = None,
    ) -> ClusterJob:
        """Makes a job.

        Args:
            program: The operations that its ranks perform.
            name: Its name; the program's where absent.
            iterations: How often the main loop runs.
            start: When its ranks start, in seconds.
            computation_scale: The factor on times of computation; 0.1 computes ten times as fast.
            priority: Of its messages, where the arbitration heeds it; 0 to 255, the higher first.
            mapping: A placement, as for `System.play`, or the GPU of each rank; where absent, what the replay
                says.
            deadline: The time that each of its host copies may take, as a multiple of its time on
                an idle bus; 0.001 to 1000. It counts where the arbitration of PCIe heeds it.

        Raises:
            SimulationError: If a number is out of range or there is no such mapping.
        """

    @property
    def name(self) -> str:
        """Returns its name."""

    @property
    def program(self) -> Program:
        """Returns the program that its ranks run."""

    @property
    def ranks(self) -> int:
        """How many ranks it has."""

    @property
    def iterations(self) -> int:
        """How often the main loop runs."""

    @property
    def start(self) -> float:
        """Says when its ranks start, in seconds."""

    @property
    def computation_scale(self) -> float:
        """Returns the factor by which times of computation are multiplied."""

    @property
    def priority(self) -> int:
        """Returns the priority of its messages; the higher goes first."""

    @property
    def deadline(self) -> float | None:
        """How long each of its host copies may take, as a multiple of its time on an idle bus; None where
        nothing is said.
        """

    @property
    def mapping(self) -> str | list[int] | None:
        """A placement's name, the GPU of each rank, or None where the replay says it."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class ClusterRun:
    """Holds the results of the jobs and of the network.

    A run is pickled as what it was played from, and is played again when it is loaded.
    """

    @property
    def fidelity(self) -> str:
        """Names the model of the network: `packet` or `flow`."""

    @property
    def makespan(self) -> float:
        """Returns the seconds from time zero until the last job ended."""

    @property
    def times(self) -> list[float]:
        """Returns the seconds that each job ran, in the jobs' order."""

    @property
    def mapping(self) -> list[list[int]]:
        """Returns the GPU of each rank of each job."""

    @property
    def events(self) -> int:
        """Counts the events that the model of the network handled."""

    @property
    def notes(self) -> list[str]:
        """Tells where the settings make less of the network than there is, each a sentence."""

    @property
    def packet_hops(self) -> int:
        """Counts how many times a packet crossed a channel; 0 in the flow model."""

    @property
    def operations(self) -> int:
        """How many operations the ranks did, with those of collectives."""

    def jobs(self) -> Table:
        """Returns one row per job, in the jobs' order.

        Columns are job (its index), name, program, ranks, arrival, start (when it had its GPUs),
        end and time (end less start). Then come computing, communicating and exposed_communication,
        which are means over the ranks. All times are in seconds. The last columns are messages and
        data (in bytes). Exposed communication is the part that no computation hid.
        """

    def ranks(self) -> Table:
        """Returns one row per rank of each job.

        Columns: job (its index), rank, gpu, node, end, computing, communicating,
        exposed_communication (all times in seconds), messages, data (in bytes).
        """

    def links(
        self,
        alike: Sequence[Sequence[int]] | None = None,
        loads: Sequence[tuple[int, float]] | None = None,
    ) -> Table:
        """One row per channel of the network, which is one direction of a link.

        The first columns are link (its index), from, to and kind: `injection` from a node,
        `ejection` to a node, `switch` between switches. Then come bandwidth (in GB/s), data (in
        bytes), packets and utilisation (share of the makespan at full bandwidth, 0 to 1). Then come
        longest_queue, level (a row of `levels`) and at, the device that the link is counted at.
        This is the lower of two switches, else where the link starts. Column at_level says what
        `at` is called in its level; it is `device` within a server. Columns group and member are a
        dragonfly switch's group and its number there, else null. The flow model counts messages
        instead of packets, there and in the queue. Where collectives are kernels, packets and the
        queue of links between switches are null. In a dragonfly the data is null, too.

        Args:
            alike: The servers that do as one that was played, for each of these; it comes first. The
                links of all count as its own.
            loads: The bytes that links carried beside, each with the link's number.

        Raises:
            SimulationError: If there is no such server or link.
        """

    def levels(self) -> Table:
        """Returns one row per level of links, from where messages enter the network to where they
        leave it.

        Columns are level, links (its channels), mean and most (of their utilisation). Switched
        networks have the levels `injection`, `leaf to aggregate` and the like between levels of
        switches, and `ejection`. Between switches, a dragonfly has `local` and `global` instead,
        and other networks `between switches`. Within servers, a level is the kind of a link.
        """

    def device_loads(self) -> Table:
        """Counts the bytes that entered and left every network interface, NVSwitch and switch of the network.

        It has the columns of `SimulationResult.device_loads`.
        """

    def link_times(self) -> Table:
        """Counts the bytes of each direction of each link in each span of time in which it carried something.

        It has the columns of `SimulationResult.link_times`.
        """

    def latencies(self) -> Table:
        """Tells by size how long messages took from their sending to the arrival of their data.

        Columns are smallest and largest (sizes of the class, in bytes), within_node (whether both
        GPUs are in one node) and messages. Then come minimum, mean, p50, p90, p99 and maximum, in
        seconds. Percentiles are exact to a 32nd. Each class that has messages has a row.
        """

    def latency_histogram(self) -> Table:
        """Counts by size how many messages took how long; `latencies` sums this up.

        Columns: smallest, largest, within_node (as in `latencies`), shortest, longest (in
        seconds; they differ by at most a 32nd), messages. A row where there are messages.
        """

    def planned(self) -> Table:
        """Returns one row for each collective of a communicator that went by a plan, in the jobs'
        order.

        Columns are job (its index), name (the job's), communicator (its index in the program),
        collective, root (null where there is none), ranks and nodes. Then come algorithm (the
        planner's), rate and notes (for a person to know, joined by `; `). The rate is the limit for
        long data, alone on the network, in GB/s of the longest buffer.
        """

    def regions(self) -> Table:
        """Returns one row for each stay of a rank in a region of its program that the run kept.

        They are sorted rank by rank and in the order of entry.

        Columns: job (its index), rank, region, depth (regions open around it), start, end (in
        seconds). Empty unless the replay was given a `timeline`.
        """

    def computation(self) -> Table:
        """One row for each span of computation that the run kept, in the order of their ends.

        Columns: job (its index), rank, start, end (in seconds). Empty unless the replay was
        given a `timeline`.
        """

    def messages(self) -> Table:
        """Returns one row for each message that the run kept, in the order of their arrival.

        Columns: job (its index), source, destination (ranks), tag, size (in bytes), collective
        (whether it is part of one), sent, delivered (in seconds). Empty unless the replay was
        given a `timeline`.
        """

    def packets(self) -> Table:
        """Gives one row for each step of a packet that the run kept, in the order of their times.

        Time is in seconds, place a link such as `leaf0 to node3`, and size in bytes. Kind is `wait` where
        the packet joins the link's queue, and `cross` where it goes onto the link. Hops are switches that it
        has left, queue the packets that then wait for the link. Empty unless the replay was given
        `packets`, and of the flow model.
        """

    def queues(self) -> Table:
        """One row for each window of time in which packets waited for a link, in the order of their ends.

        Columns: start (in seconds), place (a link, such as `leaf0 to node3`), mean (packets that wait, over
        the window), most (of them at once). For a link from a node into the network those wait, too, that its
        interface has yet to make of messages. Empty unless the replay was given `queues`, and of the
        flow model.
        """

    @property
    def queue_windows(self) -> int:
        """How many windows with queues there were of the link and in the span that were asked for."""

    @property
    def packet_steps(self) -> int:
        """How many steps of packets there were of the link and in the span that were asked for."""

    def copies(self) -> Table:
        """One row for each copy that the run kept, in the order of their ends.

        Columns are job (its index), rank, direction (`host-to-device`, `device-to-host` or `peer`)
        and peer (the other rank, where there is one). Then come size (in bytes), start (when a copy
        engine took it) and end, in seconds. The table is empty unless the replay was given a
        `timeline`.
        """

    def kernels(self) -> Table:
        """Returns one row for each rank's part in a collective that ran as a kernel and that the run
        kept.

        They come in the order of their ends. Columns: job (its index), rank, collective, size (what
        the rank contributes, in bytes), start (when it called), end (in seconds). Empty unless the
        replay was given a `timeline`, and collectives go by NCCL's protocol.
        """

    def step_parts(self, stands_for: Sequence[int] | None = None) -> dict[str, float]:
        """Splits the time of a step of training, which its `timeline` holds whole, in the mean over its GPUs.

        The parts are seconds. `framework` is its work on the host before the step. In `computing` kernels run. In
        `communication` data moves, and in the `exposed` part of that no kernel runs. In `idle` a GPU does none of these.

        Args:
            stands_for: Says for how many GPUs of the step each rank stands. If not given, each stands for one.

        Raises:
            SimulationError: If there is not a number for each rank, or not one job.
        """

    def collective_parts(self) -> tuple[float, float]:
        """Counts what the collectives of a step of training took, which its `timeline` holds whole, in the mean over its
        GPUs.

        Both are seconds: in which one runs, and of these, what no computation hides. Copies of samples and messages
        between two GPUs are no collectives.

        Raises:
            SimulationError: If there is not one job.
        """

    @property
    def kernel_count(self) -> int:
        """Counts the kernels that ranks ran, kept or not."""

    @property
    def collective_protocol(self) -> str:
        """Says how planned collectives were played: `mpi` as messages, or `nccl` as kernels."""

    @property
    def copy_count(self) -> int:
        """How many copies there were, kept or not."""

    @property
    def timeline_counts(self) -> tuple[int, int, int]:
        """How many spans of computation, messages and stays in regions there were, kept or not."""

@final
class Explanation:
    """Says why a decision came out as it did."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @property
    def servers(self) -> str | None:
        """Why the job got its servers; None of a server that stands alone."""

    def by_server(self) -> list[tuple[int, Explanation]]:
        """Gives each server with why it got its GPUs there, in the ids that the server counts."""

    @property
    def rule(self) -> str:
        """Says the policy's rule for this job, in one sentence."""

    @property
    def decided_by(self) -> str:
        """Names the key in which the chosen match and the next best part.

        `effective bandwidth`, `aggregated bandwidth`, `preserved bandwidth`, `host proximity`,
        `near NICs`, `shared NICs`, `what stays whole` or `lowest ids`; `rule` where the policy
        compares nothing, `no other set` where nothing competed. `servers` of a job on several:
        `by_server` has the key in each.
        """

    @property
    def verdict(self) -> str:
        """Says why the chosen match beat the next best; of a job on several servers, why it got these.

        Of one of several servers it names that, and then GPUs as that counts them.
        """

    @property
    def chosen(self) -> Match:
        """Gives the decision."""

    @property
    def ranking(self) -> list[Match]:
        """Ranks the best candidates by the policy's own order, the chosen one first.

        Of a job on several servers it has the chosen one alone: `by_server` has those of each.
        """

    def _repr_html_(self) -> str:
        """Shows the ranking below what decided."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Match:
    """Places a pattern on GPUs, with its scores."""

    @property
    def gpus(self) -> list[int]:
        """Gives the GPU of each vertex of the pattern, as the system counts them.

        Lists the GPUs. Of several servers, those of the first come first.
        """

    @property
    def servers(self) -> list[int]:
        """The servers that the GPUs are in, counted from 0."""

    def by_server(self) -> list[tuple[int, Match]]:
        """Gives each server with the match there, whose GPUs are as that server counts them."""

    @property
    def joined_by(self) -> dict[str, int]:
        """How many pairs of GPUs that the pattern joins have which link, the widest first.

        The names are the machine's: `NV18` for 18 NVLinks, `XGMI1` for one of xGMI. A way through
        the host is named after what it crosses: `PIX`, `PXB`, `PHB`, `NODE` or `SYS`. Pairs in
        different servers have none.
        """

    @property
    def links(self) -> tuple[int, int, int]:
        """How many double NVLinks, single NVLinks and PCIe links the pattern uses.

        These are the classes of MAPA's Eq. 2.
        """

    @property
    def aggregated_bandwidth(self) -> float:
        """Eq. 1, in GB/s: the bandwidth of all pairs within servers that the pattern uses."""

    @property
    def effective_bandwidth(self) -> float | None:
        """Predicted bandwidth of the pattern, in GB/s; None where it has no edges, or several servers.

        Of a ring, a tree or both, and of every pattern under Eq. 2, it is the bus bandwidth of an
        all-reduce. Of another under the sound model it is the rate of the edge with the largest
        share. All edges carry theirs at once then, both ways.
        """

    @property
    def preserved_bandwidth(self) -> float:
        """Eq. 3, in GB/s, is the bandwidth between the GPUs that stay free in its servers."""

    @property
    def candidates(self) -> int:
        """How many sets of GPUs competed for the decision, in its servers."""

    @property
    def optimal(self) -> bool:
        """Whether no match in its servers can be better; true is a proof, false where it was not found."""

    @property
    def gap(self) -> float | None:
        """By what fraction another match in its servers could be better at most.

        By the policy's objective, or, where that is certain, in aggregated bandwidth. 0.0 where this
        one is optimal, None where no bound is known.
        """

    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Evidence:
    """Collects what files say of runs of NCCL; `linkwright.doctor.diagnose` judges them."""

    def __new__(cls) -> Evidence: ...
    def read(self, path: str, name: str) -> None:
        """Reads a file of any known format, which its content tells. Memory stays bounded.

        Args:
            path: Where it is.
            name: The name that errors and proofs call it.

        Raises:
            InputError: If it cannot be opened, or is of no known format, with its line.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def read_text(self, text: str, name: str) -> None:
        """Reads a text as `read` reads a file.

        Args:
            text: Its content.
            name: The name that errors and proofs call it.

        Raises:
            InputError: If it is of no known format, with its line.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    @property
    def runs(self) -> int:
        """Counts the runs. NCCL's lines without a table belong to the runs with one, or are one together."""

    @property
    def notes(self) -> list[str]:
        """Says what was skipped or looks wrong, each with its file and line."""

    @property
    def machines(self) -> list[str]:
        """Names the files that describe a machine, in their order."""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Gives the files that hold matrices of pairs of GPUs: the name and the text of each."""

    def hints(self, run: int) -> str:
        """Says what a run tells of its machine, as JSON.

        Args:
            run: Its number, from zero.

        Raises:
            IndexError: If there is no such run.
        """

    def judge(
        self,
        run: int,
        system: System,
        gpus: Sequence[int],
        collective: CollectiveName | None = None,
        *,
        threshold: float | None = None,
        nccl: str | None = None,
        nvls: bool = True,
        p2p: bool = True,
        algorithm: NcclAlgorithmName | None = None,
        protocol: ProtocolName | None = None,
        link_bandwidth: float | None = None,
        network_bandwidth: float | None = None,
        processes: ProcessesName | None = None,
        numbers: NumberTypeName | None = None,
        operation: NcclOperationName | None = None,
        cross_nic: int = 2,
        pxn: bool = True,
        gpudirect: bool = True,
    ) -> str:
        """Judges a run on a system, as JSON.

        Args:
            run: Its number, from zero.
            system: The system that it ran on.
            gpus: Its GPUs. They are named by their ids.
            collective: The one that ran; as the run says if absent.
            threshold: The part of the expected bandwidth. A run is healthy that reaches it at every large size.
            nccl: As for `expect`. The run's version if absent.
            nvls: As for `expect`.
            p2p: As for `expect`.
            algorithm: As for `expect`.
            protocol: The only protocol. `expect` says which there are.
            link_bandwidth: As for `expect`.
            network_bandwidth: As for `expect`.
            processes: As for `expect`. As the run says if absent.
            numbers: As for `expect`. As the run says if absent.
            operation: As for `expect`. As the run says if absent.
            cross_nic: As for `expect`.
            pxn: As for `expect`.
            gpudirect: As for `expect`.

        Raises:
            IndexError: If there is no such run.
            CollectiveError: If nothing can be expected of the job.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    @staticmethod
    def narrow_links(system: System) -> str:
        """Lists PCIe links of a system that are slower than their like, as JSON of causes.

        Args:
            system: The system.
        """

@final
class Fabric:
    """Describes the network between servers: switches, ports for nodes, and the links that join them."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(
        cls, kind: NetworkName = "fat-tree", *, ports: int | None = None, **parameters: object
    ) -> Fabric:
        """Makes a network of a kind.

        Args:
            kind: One of `fabric_names`: `fat-tree`, `dragonfly`, `torus`, `quartz`,
                `single-switch`.
            ports: How many nodes it has to join at least: of the sizes that are not given, the
                smallest that has the ports. Where absent, they are the preset's.
            parameters: Of its kind, such as `pods`, `groups`, `dimensions`, `bandwidth` and
                `links` (`infiniband` or `ethernet`). Quantities are texts with a unit, such as
                `"11.9 GB/s"`.

        Raises:
            InputError: If there is no such kind or parameter; the message says what would work.
            MachineError: If a parameter is out of range, or there are too few ports.
        """

    @staticmethod
    def from_text(text: str, file: str = "<text>") -> Fabric:
        """A network that a text describes.

        Args:
            text: TOML of a kind and its parameters, TOML of a graph, or DOT.
            file: Its name in errors.

        Raises:
            InputError: If the text is no network, with its place.
        """

    @property
    def name(self) -> str:
        """Returns its name, such as `fat-tree-2048`."""

    @property
    def kind(self) -> str:
        """Returns its kind, one of `fabric_names`; `graph` for one whose file lists its links."""

    @property
    def ports(self) -> int:
        """How many nodes, or network interfaces, it can join."""

    @property
    def switches(self) -> int:
        """How many switches it has."""

    @property
    def link_kind(self) -> str:
        """Names the kind of its links: `infiniband` or `ethernet`."""

    @property
    def bisection_bandwidth(self) -> float | None:
        """Returns the bandwidth in one direction between two halves of the nodes, in GB/s, if known.

        The halves are equal or one apart, and divided so that the least passes between them. Not
        known is that of a graph of more than 20 switches.
        """

    @property
    def bisection_bounds(self) -> tuple[float, float] | None:
        """Bounds the bisection: no division of the nodes passes less than the first, in GB/s, and one
        passes the second. Both are equal where it is exact. None of fewer than two nodes.

        Exact are single switches, fat-trees and tori, networks of up to 20 switches, and others
        whose bounds meet.
        """

    @property
    def diameter(self) -> int | None:
        """The most links between the switches of two nodes, on a shortest path; None where `mean_distance`
        is.
        """

    @property
    def mean_distance(self) -> float | None:
        """The links between the switches of two different nodes, on a shortest path, in the mean over all
        pairs. None of fewer than two nodes, and of networks too large to look through.
        """

    @property
    def cables(self) -> tuple[int, int]:
        """How many cables it has: those of its nodes, and those between switches."""

    def switch_of(self, node: int) -> int:
        """Gives the switch that a node's link leads to.

        Raises:
            MachineError: If there is no such node.
        """

    def channel_to(self, node: int) -> int:
        """Gives the channel by which a node's switch reaches it.

        Raises:
            MachineError: If there is no such node.
        """

    def channels_from(self, switch: int) -> list[tuple[int, int]]:
        """Lists the channels from a switch to others, each with the switch that it leads to.

        Parallel links have a channel each. Channels are in the order of their numbers.

        Raises:
            MachineError: If there is no such switch.
        """

    def paths(self, source: int, destination: int, *, most: int = 16) -> tuple[int, Table]:
        """Lists the shortest paths from a node to another.

        Args:
            source: The node where they begin, from 0.
            destination: The node where they end.
            most: How many are listed at most.

        Returns:
            How many there are, parallel links told apart, and the first of them by their switches:
            one row each. Columns: path (the names of its switches), links (between them), ways (over
            parallel links).

        Raises:
            MachineError: If there is no such node.
        """

    @property
    def parameters(self) -> dict[str, int | bool | str | list[int]]:
        """Returns its parameters by name, with those of its kind's preset; empty for a graph."""

    def levels(self) -> Table:
        """Returns one row per level of switches, from those of nodes upwards.

        Columns are `level`, `switches`, and the least and the most ports in use at one of them.
        """

    def links(self) -> Table:
        """Returns one row per class of links.

        Columns: the levels it joins, how many links it has, the bandwidth of one in one
        direction, and the latency.
        """

    def to_toml(self) -> str:
        """Returns its text as a file of its kind with all parameters.

        Raises:
            MachineError: If it is a graph, which has no parameters; `to_dot` writes any network.
        """

    def to_dot(self) -> str:
        """The network as a Graphviz drawing, which `from_text` reads back."""

    def _repr_html_(self) -> str:
        """Draws a small network; lists the levels of a large one."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class GpuKernel:
    """Describes a kernel of one's own, as the operations of each wavefront.

    A wavefront is named by the number of a work-group, or by a pair of that and its number in the
    group. Work-groups go to the GPUs in equal runs, in order. An access touches `width` bytes of
    each of `lanes` work-items. They lie `stride` bytes apart from `offset` on in a buffer, or at
    `offsets`, one for each; None for those that take no part. Loads go on before their words are
    there: `wait` waits.

    `GpuSystem.play` runs it; `to_text` is the file that `linkwright gpu run FILE` takes.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(cls, name: str = "kernel") -> GpuKernel:
        """Makes a kernel without buffers and operations.

        Args:
            name: The name for people.

        Raises:
            SimulationError: If the name is none.
        """

    @staticmethod
    def from_text(text: str, file: str = "<text>") -> GpuKernel:
        """Reads a kernel from a text.

        Args:
            text: The content of the file (docs/reference/formats.md).
            file: Its name, for errors.

        Raises:
            InputError: If the text is no kernel, with line and column.
        """

    def to_text(self) -> str:
        """Returns the kernel as a text, which `from_text` and `linkwright gpu run` take."""

    @property
    def name(self) -> str:
        """Returns its name for people."""

    @property
    def buffers(self) -> list[str]:
        """The names of its buffers."""

    @property
    def operations(self) -> int:
        """How many operations all its wavefronts have."""

    def buffer(
        self,
        name: str,
        size: int | str,
        copy: str = "in",
        *,
        data: int | float | bytes | Sequence[int | float] = ...,
    ) -> None:
        """Adds a buffer.

        Args:
            name: The name for people.
            size: How many bytes it has, a multiple of 4.
            copy: Which way the host copies it, where GPUs have memories of their own: `in`, `out`,
                `inout` or `scratch` (neither).
            data: Its content at the start: a value of 4 bytes for all words, one for each, or
                bytes, as `array.tobytes()` gives them.

        Raises:
            SimulationError: If the name is taken or none, the size is not possible, or the data
                are not as many or not copied in.
        """

    def launch(self, name: str, *, lds: int | str = 0) -> None:
        """Begins another launch, which starts when the one before has ended.

        Args:
            name: The name for people.
            lds: Bytes of memory that each of its work-groups shares.

        Raises:
            SimulationError: If the name is none, or the bytes are not possible.
        """

    def load(
        self,
        wavefront: int | tuple[int, int],
        buffer: str,
        offset: int = 0,
        *,
        width: int = 4,
        stride: int | None = None,
        lanes: int = 64,
        offsets: Sequence[int | None] | None = None,
        record: str | None = None,
    ) -> None:
        """Asks for words.

        Args:
            wavefront: Whose operation it is.
            buffer: From which buffer.
            offset: The first work-item's first byte there.
            width: Bytes of each work-item: 4, 8, 12 or 16.
            stride: Bytes from a work-item's to the next one's; as many as it loads if not given.
            lanes: How many work-items take part.
            offsets: Instead of these, the first byte of each work-item.
            record: The name under which `GpuRun.loads` has the words.

        Raises:
            SimulationError: If there is no such buffer, or it does not have these bytes.
        """

    def load_scalar(
        self,
        wavefront: int | tuple[int, int],
        buffer: str,
        offset: int = 0,
        *,
        width: int = 4,
        record: str | None = None,
    ) -> None:
        """Asks for up to 64 bytes of one address, through the cache of scalars.

        Args:
            wavefront: Whose operation it is.
            buffer: From which buffer.
            offset: The first byte there.
            width: How many bytes.
            record: The name under which `GpuRun.loads` has the words.

        Raises:
            SimulationError: If there is no such buffer, or it does not have these bytes.
        """

    def store(
        self,
        wavefront: int | tuple[int, int],
        buffer: str,
        offset: int = 0,
        *,
        values: int | float | bytes | Sequence[int | float] = ...,
        width: int = 4,
        stride: int | None = None,
        lanes: int = 64,
        offsets: Sequence[int | None] | None = None,
    ) -> None:
        """Stores words.

        Args:
            wavefront: Whose operation it is.
            buffer: To which buffer.
            offset: The first work-item's first byte there.
            values: The words to store: a value of 4 bytes for all of them, or one for each,
                work-item by work-item.
            width: Bytes of each work-item: 4, 8, 12 or 16.
            stride: Bytes from a work-item's to the next one's; as many as it stores if not given.
            lanes: How many work-items take part.
            offsets: Instead of these, the first byte of each work-item.

        Raises:
            SimulationError: If there is no such buffer, it does not have these bytes, or the values
                are not as many.
        """

    def store_loaded(
        self,
        wavefront: int | tuple[int, int],
        record: str,
        buffer: str,
        offset: int = 0,
        *,
        width: int = 4,
        stride: int | None = None,
        lanes: int = 64,
        offsets: Sequence[int | None] | None = None,
    ) -> None:
        """Stores what a load of the wavefront brought, once it is there.

        Args:
            wavefront: Whose operation it is.
            record: The name under which its last load keeps the words: one for each, or one for
                all.
            buffer: To which buffer.
            offset: The first work-item's first byte there.
            width: Bytes of each work-item: 4, 8, 12 or 16.
            stride: Bytes from a work-item's to the next one's; as many as it stores if not given.
            lanes: How many work-items take part.
            offsets: Instead of these, the first byte of each work-item.

        Raises:
            SimulationError: If there is no such load or buffer, it does not have these bytes, or
                the words are not as many.
        """

    def atomic(
        self,
        wavefront: int | tuple[int, int],
        operation: str,
        buffer: str,
        offset: int = 0,
        *,
        values: int | float | bytes | Sequence[int | float] = ...,
        stride: int = 4,
        lanes: int = 1,
        offsets: Sequence[int | None] | None = None,
        record: str | None = None,
    ) -> None:
        """Changes a word of each work-item at once, where all GPUs meet.

        Args:
            wavefront: Whose operation it is.
            operation: `add`, `exchange` or `max`.
            buffer: The buffer's name.
            offset: The first work-item's first byte there.
            values: The operands: one for all, or one for each.
            stride: Bytes from a work-item's word to the next one's.
            lanes: How many work-items take part.
            offsets: Instead of these, the first byte of each work-item.
            record: The name under which `GpuRun.loads` has the words before.

        Raises:
            SimulationError: If there is no such operation or buffer, it does not have these bytes,
                or the values are not as many.
        """

    def spin(
        self,
        wavefront: int | tuple[int, int],
        buffer: str,
        offset: int = 0,
        *,
        value: int | float = ...,
    ) -> None:
        """Loads a word again and again, with a fence between any two loads, until it has a value; a
        run without data loads it once.

        Args:
            wavefront: Whose operation it is.
            buffer: From which buffer.
            offset: The word's first byte there.
            value: The value that it waits for.

        Raises:
            SimulationError: If there is no such buffer, or it does not have these bytes.
        """

    def compute(self, wavefront: int | tuple[int, int], instructions: int) -> None:
        """Computes: runs a given number of vector instructions, one after another.

        Args:
            wavefront: Whose operation it is.
            instructions: How many.

        Raises:
            SimulationError: If a number is out of range.
        """

    def lds(self, wavefront: int | tuple[int, int], accesses: int) -> None:
        """Accesses the memory of its work-group a given number of times.

        Args:
            wavefront: Whose operation it is.
            accesses: How many.

        Raises:
            SimulationError: If a number is out of range.
        """

    def wait(self, wavefront: int | tuple[int, int]) -> None:
        """Waits for all loads of the wavefront.

        Args:
            wavefront: Whose operation it is.

        Raises:
            SimulationError: If there cannot be such a wavefront.
        """

    def fence(self, wavefront: int | tuple[int, int]) -> None:
        """Waits until all that the wavefront asked of memory is done, and seen by others.

        Args:
            wavefront: Whose operation it is.

        Raises:
            SimulationError: If there cannot be such a wavefront.
        """

    def barrier(self, wavefront: int | tuple[int, int], *, launch: bool = False) -> None:
        """Waits for the other wavefronts of its work-group, or of the whole launch.

        Args:
            wavefront: Whose operation it is.
            launch: Whether of the whole launch, on all GPUs: an ideal barrier, without traffic.

        Raises:
            SimulationError: If there cannot be such a wavefront.
        """

    def expect(
        self, buffer: str, values: bytes | Sequence[int | float], *, offset: int = 0
    ) -> None:
        """Says what a buffer must hold at the end; `GpuRun.correct` then says whether it does.

        Args:
            buffer: Which buffer.
            values: The values that its words must have.
            offset: The first byte of the first.

        Raises:
            SimulationError: If there is no such buffer, or it does not have these bytes.
        """

    def expect_loaded(
        self, record: str, values: int | float | bytes | Sequence[int | float]
    ) -> None:
        """Says what all loads of a name must bring; `GpuRun.correct` then says whether they did.

        Args:
            record: The loads' name.
            values: The words that they must bring: one for all, or one for each.

        Raises:
            SimulationError: If no load has the name, it is expected already, or the values are not
                as many as its words.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class GpuModel:
    """Holds the known facts of one model of GPU, by data sheets and whitepapers.

    Facts that its file does not give are unknown. Their property raises a MachineError that names
    the section that is missing.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @staticmethod
    def find(name: str) -> GpuModel:
        """Finds the model of a name: its own, or its product's as `nvidia-smi` or `rocm-smi` prints it.

        Raises:
            MachineError: If there is none; the message names the nearest.
        """

    @staticmethod
    def from_text(text: str, file: str = "<text>") -> GpuModel:
        """Reads a model from its TOML text; `file` names the text in errors.

        Raises:
            InputError: If the text is no model, with line and column.
        """

    @property
    def name(self) -> str:
        """Returns its name here, such as `v100-sxm2-16gb`."""

    @property
    def product(self) -> str:
        """Its name as the vendor's tool prints it: `Tesla V100-SXM2-16GB`."""

    @property
    def vendor(self) -> str:
        """Names its vendor: `nvidia` or `amd`."""

    @property
    def pci_ids(self) -> list[str]:
        """Lists its PCI vendor and device ids, such as `10de:1db1`."""

    @property
    def processors(self) -> list[str]:
        """Lists the names that compilers give its processor, such as `sm_70` or `gfx942`."""

    @property
    def pcie(self) -> str:
        """Names its generation of PCIe, such as `pcie3`."""

    @property
    def link_kind(self) -> str | None:
        """The kind of its links to other GPUs, such as `nvlink2`; None where it is sold without."""

    @property
    def link_count(self) -> int:
        """How many of them it has."""

    @property
    def link_bandwidth(self) -> float | None:
        """Bandwidth of one of them in one direction, in GB/s; None where there are none."""

    @property
    def vector_peak(self) -> dict[str, float]:
        """Gives the peak speed of its plain cores by number type (`fp32`), in TFLOP/s, for integers in
        TOP/s.
        """

    @property
    def matrix_peak(self) -> dict[str, float]:
        """Gives the peak speed of its tensor or matrix cores on dense matrices, likewise."""

    @property
    def memory_kind(self) -> str:
        """Names the kind of its memory, such as `hbm2`."""

    @property
    def memory_capacity(self) -> int:
        """Gives its memory in bytes, as sold; drivers keep some."""

    @property
    def memory_bandwidth(self) -> float:
        """Gives the peak bandwidth of its memory, reading and writing together, in GB/s."""

    @property
    def copy_engines(self) -> int:
        """Counts the engines that copy between its memory and the rest while the cores work."""

    @property
    def pcie_peer_access(self) -> bool:
        """Whether it reaches the memory of other GPUs over PCIe; else copies go through the host's memory."""

    @property
    def busy_power(self) -> float:
        """It draws this at most while it works, in W: the thermal design power of its data sheet."""

    @property
    def units(self) -> int:
        """How many streaming multiprocessors, or compute units, it has."""

    @property
    def l2_cache(self) -> int:
        """Counts the bytes of its second-level cache, all slices together."""

    @property
    def has_hierarchy(self) -> bool:
        """Whether its file has a `[hierarchy]`, so that kernels can run inside it."""

    def to_toml(self) -> str:
        """Its file, with everything that is known, and where from."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class GpuPlace:
    """Says where one GPU of a machine sits, as far as the machine's source tells."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @property
    def cpu_affinity(self) -> str | None:
        """Lists the CPU cores near it, such as `0-11,24-35`."""

    @property
    def name(self) -> str:
        """Names the GPU as the machine does."""

    @property
    def nic_proximity(self) -> str | None:
        """How near they are: `PIX`, `PXB`, `PHB`, `NODE` or `SYS`; None where there are none."""

    @property
    def nics(self) -> list[str]:
        """Names its nearest network interfaces."""

    @property
    def numa_affinity(self) -> str | None:
        """Lists the NUMA nodes near it, such as `0`."""

    @property
    def pci_address(self) -> str | None:
        """Gives its PCI address, such as `0000:07:00.0`."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class GpuRun:
    """Holds the results of a benchmark, or of a kernel of one's own, on GPUs.

    A run is pickled as what it was played from, and is played again when it is loaded.
    """

    @property
    def benchmark(self) -> str:
        """Names the benchmark, or the kernel of one's own."""

    @property
    def size(self) -> int | None:
        """Returns the benchmark's size; None for a kernel of one's own."""

    @property
    def system(self) -> GpuSystem:
        """Returns the GPUs that ran it."""

    @property
    def time(self) -> float:
        """Returns the seconds from the first copy to the last."""

    @property
    def kernel_time(self) -> float:
        """Returns the seconds of the kernels alone."""

    @property
    def cycles(self) -> int:
        """Returns the time in cycles of the GPU's clock."""

    @property
    def correct(self) -> bool | None:
        """Whether the answer is a CPU's, or what a kernel of one's own expects. None of a run without
        data, or of a kernel that expects nothing.
        """

    @property
    def checked(self) -> str | None:
        """Says what `correct` judges: `answer`, or `memory`. The latter is of a kernel of one's own that
        expects words in buffers, and neither expects what loads bring nor stores it. None where
        `correct` is.
        """

    @property
    def mismatch(self) -> str | None:
        """The first element that is wrong in memory, or else in what loads brought, and how; None where
        none is, or without data.
        """

    @property
    def instructions(self) -> int:
        """Counts the instructions of wavefronts."""

    @property
    def remote_accesses(self) -> int:
        """Accesses to lines that went to another GPU."""

    @property
    def page_migrations(self) -> int:
        """Counts the pages that came to a GPU because it touched them."""

    @property
    def events(self) -> int:
        """Counts the events that the model handled."""

    def steps(self) -> Table:
        """Returns one row for each step, in order.

        Columns are step (`copy in`, `kernel`, `write back`, `copy out`), of (which buffer or
        kernel) and time (in seconds).
        """

    def caches(self) -> Table:
        """Returns one row for each cache.

        Columns are cache (`L1 vector`, `L1 scalar`, `L1 instruction`, `L2`), gpu and number (among
        the GPU's). Then come hits, merged (accesses that waited for a line under way), misses,
        evictions and write_backs, all in lines. The last are answers and latency (their mean, in
        seconds; no number where there are none).
        """

    def channels(self) -> Table:
        """Returns one row for each channel of memory.

        Columns: gpu (whose it is, or `shared`), channel, reads, writes (lines, for caches),
        copied_in, copied_out (lines, by the host's copies), timestamp_evictions. The last counts
        timestamps that its storage unit forgot for lack of room.
        """

    def links(self) -> Table:
        """Returns one row for each direction of a link that carried something.

        Columns are link, messages, bytes (without those that the link adds) and utilisation (share
        of the run for which it was busy, 0 to 1). The last is longest_wait: the longest that a
        message waited for those before it, in seconds.
        """

    def groups(self) -> Table:
        """One row for each work-group that the timeline kept, in the order in which they ended. Empty
        unless the run was given a `timeline`.

        Columns are kernel, launch (its number), group (its number in the launch), gpu, unit (the
        compute unit of the GPU), start and end (in seconds).
        """

    @property
    def group_count(self) -> int:
        """How many work-groups there were, kept or not; 0 unless the run was given a `timeline`."""

    def samples(self) -> Table:
        """One row for each interval, and each link and memory that did anything. Empty unless the run
        was given a `timeline`.

        An interval is 64 cycles, or longer, so that there are no more than 1,024 intervals. Columns
        are of (which link, or whose memory), `what`, start (of the interval, in seconds) and value.
        The value of `busy` is the share of the interval, 0 to 1. Those of `read` and `written`, by
        caches, are in bytes a second.
        """

    def buffer(self, name: str) -> bytes:
        """The bytes that a buffer holds in the end, words of 4 bytes with the lowest first, as
        `numpy.frombuffer` reads them.

        Raises:
            KeyError: If there is no such buffer.
            SimulationError: If the run had no data.
        """

    def accesses(self) -> Table:
        """Gives one row for each access of a wavefront to a line that the run kept, in the order of their answers.

        Time is in seconds, when it came to its first-level cache, which is its place. Kind is `read`, `write`
        or `atomic`, size the bytes of the line that it touches. Level is the farthest place that it went to:
        `L1`, `L2`, `memory` or `remote`. The last is another GPU's L2 or memory, or the host's. An access that waits
        for a line which another has asked for finds it in the cache. Hops are the links between GPUs, or to shared
        memory, that its answer crossed. Latency is in seconds, until its cache answered. Buffer and offset
        (in bytes) say where the line is. Empty unless the run was given `accesses`.
        """

    @property
    def access_count(self) -> int:
        """How many such accesses there were in the span, kept or not; 0 unless the run was given
        `accesses`.
        """

    def loads(self) -> Table:
        """Gives the words that the loads of a kernel of one's own have read: one row for each word.

        Columns are load (its name), launch (its number), group, wavefront (in the group) and gpu
        (that ran it). Then come lane (the work-item), word (of the work-item) and value (without
        sign).
        """

    def timed_loads(self) -> Table:
        """How long the loads took that a kernel of one's own records: one row for each, with or without data.

        Columns: load (its name), launch (its number), group, wavefront (in the group), gpu (that
        ran it), issued, latency (both in seconds), cycles. The wavefront gave the instruction when it was
        issued. Latency is from then until the last word was there; cycles are the same of the GPU's clock.
        """

    @property
    def buffers(self) -> list[str]:
        """The names of the buffers."""

@final
class GpuSystem:
    """Describes GPUs of one model, how they share memory, and the links that join them.

    Examples:
        >>> from linkwright import GpuSystem
        >>> run = GpuSystem("r9-nano", 2, "tsm-wt-c-rc").play("relu", 4096)
        >>> run.correct, run.time
        (True, 7.229e-06)
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(
        cls,
        model: GpuModel | str | None = None,
        gpus: int | None = None,
        memory: MemorySystemName = "rdma",
        *,
        machine: System | None = None,
        on: Sequence[int] | None = None,
        without: Sequence[str] = ...,
        distribution: DistributionName = "unified",
        remote: Sequence[str] = ...,
        dram: DramName = "ideal",
        shared_bandwidth: float | str = 32.0,
        read_lease: int = 10,
        write_lease: int = 5,
        timestamp_bits: int = 16,
        code: bool = True,
    ) -> GpuSystem:
        """Makes GPUs that share memory.

        Args:
            model: A name of `gpu_models` whose file has a `[hierarchy]`, or a `GpuModel`; `r9-nano`, or
                the machine's own, if not given.
            gpus: How many; one, or all of the machine, if not given.
            machine: A `System` whose links join them; PCIe as the model's file says if not given.
            on: The ids of GPUs of one server of the machine.
            without: Parts that the machine lacks: devices (`mlx5_3` of every server, `node1/mlx5_3` of
                one), or all links of a pair (`GPU0-GPU3`).
            memory: How they share memory: `rdma`, `tsm-wt-c-rc` and the like.
            distribution: The rule by which data lies in the GPUs' memories. `unified` deals out
                pages in turn, and `discrete` deals out buffers in equal blocks. `first` puts all in
                the memory of the first GPU, which alone runs kernels.
            remote: Under `first`, the names of buffers that lie in the second GPU's memory instead.
            dram: How memory is timed: `ideal`, at one latency, or `hbm2`, by banks and rows.
            shared_bandwidth: Of each GPU to truly shared memory, each way, in GB/s; a machine says its own.
            read_lease: How long a copy that was read is valid, in logical time, where a memory
                system leases lines (MGCC, G-TSC).
            write_lease: How long one that was written is, likewise.
            timestamp_bits: Of a timestamp, 2 to 16; leases fit into it.
            code: Whether wavefronts read the code of benchmarks from memory, through caches of
                instructions, or know it.

        Raises:
            MachineError: If the model is unknown, or its file does not say what is inside. Also if the
                machine has no such part, or does not join the GPUs.
            AllocationError: If a choice is unknown, or a GPU of the machine.
            SimulationError: If a number is out of range, or no other GPU's memory can hold what is
                remote. Also if the machine has no memory that the memory system needs.
        """

    @property
    def model(self) -> GpuModel:
        """Returns the model of its GPUs."""

    @property
    def gpus(self) -> int:
        """How many GPUs there are."""

    @property
    def machine(self) -> System | None:
        """The machine whose links join its GPUs; None where the model's file says what does."""

    @property
    def on(self) -> list[int]:
        """Gives the ids of its GPUs in the machine; empty without one."""

    @property
    def without(self) -> list[str]:
        """The parts of the machine that are absent."""

    @property
    def memory(self) -> str:
        """Says how they share memory."""

    @property
    def distribution(self) -> str:
        """Which GPU's memory holds what."""

    @property
    def remote(self) -> list[str]:
        """The buffers that lie in the second GPU's memory, where the first alone runs kernels."""

    @property
    def dram(self) -> str:
        """How memory is timed."""

    @property
    def shared_bandwidth(self) -> float:
        """Returns the bandwidth of each GPU to truly shared memory, each way, in GB/s."""

    @property
    def read_lease(self) -> int:
        """How long a copy that was read is valid, in logical time."""

    @property
    def write_lease(self) -> int:
        """How long a copy that was written is valid, in logical time."""

    @property
    def timestamp_bits(self) -> int:
        """Counts the bits of a timestamp."""

    @property
    def code(self) -> bool:
        """Says whether wavefronts read their code."""

    @property
    def is_coherent(self) -> bool:
        """Whether what one wavefront wrote is what another reads, once a fence and a flag or an atomic
        have told it, within a kernel.
        """

    @property
    def heeds(self) -> list[str]:
        """Lists those of `shared_bandwidth`, `read_lease`, `write_lease` and `timestamp_bits` that
        change something under its memory system. The values of the others are of no account.
        """

    def costs(self) -> Table:
        """Gives the costs of its coherence before anything runs, in messages and in the state of
        caches and memory.

        Columns are `what` (`read request`, `lines of an L1` and the like), bytes, and added (how
        many of them are the protocol's). The state of directories is left out, since it grows with
        the data that is shared.
        """

    def shared_time(self, read: int, written: int) -> float:
        """Seconds that bytes which a GPU reads and writes keep its links to truly shared memory, as layers of
        training under `tsm` take.

        Args:
            read: Bytes that it reads, by whole lines.
            written: Bytes that it writes, likewise.

        Raises:
            SimulationError: If its GPUs share no memory, or under sequential consistency.
        """

    @property
    def cycle(self) -> float:
        """Returns the seconds of a cycle of its GPUs' clock."""

    def play(
        self,
        benchmark: BenchmarkName | GpuKernel,
        size: int | None = None,
        *,
        data: bool = True,
        limit: float = 1.0,
        timeline: int = 0,
        accesses: int = 0,
        accesses_from: float = 0.0,
        accesses_until: float | None = None,
        progress: Callable[[int, float], object] | None = None,
    ) -> GpuRun:
        """Runs a benchmark, or a kernel of one's own.

        Args:
            benchmark: A name of `gpu_benchmarks`, or a `GpuKernel`.
            size: How large a benchmark is; one that runs within seconds if not given.
            data: Whether kernels work on real data, so that the answer can be wrong; the time is
                the same either way.
            limit: Simulated seconds after which a kernel that has not ended is given up.
            timeline: How many work-groups a timeline keeps at most, for `groups` and `samples`; 0
                for none. The time is the same either way.
            accesses: The most accesses to lines that the run keeps, for `accesses`.
            accesses_from: From which second on.
            accesses_until: Until which second.
            progress: Called every 100 ms with wavefronts done and simulated seconds.

        Raises:
            SimulationError: If the size is not possible, memory does not hold the buffers, or there
                is no buffer of a name in `remote`.
            TimeLimitError: If a kernel has not ended in time.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def job(
        self,
        benchmark: BenchmarkName | GpuKernel,
        size: int | None = None,
        *,
        name: str | None = None,
        iterations: int = 1,
        start: float = 0.0,
        priority: int = 0,
        mapping: str | Sequence[int] | None = None,
    ) -> ClusterJob:
        """Makes a job of it for `System.play`, where it runs beside other jobs.

        The system that plays it has the GPUs and all links; their inside is as here. Messages between GPUs and to
        their host go over that network, which must have packets. It has no data.

        Args:
            benchmark: As for `run`.
            size: As for `run`.
            name: The kernel's where absent.
            iterations: How often.
            start: In seconds. Its ranks start when its GPUs are free.
            priority: Of its messages, 0 to 255.
            mapping: As for `ClusterJob`. Where absent, `on` of the machine here, or what the replay says.

        Raises:
            SimulationError: If a number is out of range, or there is no such mapping.
            AllocationError: If there is no such benchmark.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Job:
    """Describes one job of a shared server."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(
        cls,
        name: str,
        workload: WorkloadName,
        gpus: int,
        *,
        pattern: PatternName = "ring",
        edges: Pattern | None = None,
        sensitive: bool | None = None,
        arrival: float = 0.0,
        iterations: int | None = None,
        compute_per_iteration: float | None = None,
        bytes_per_iteration: int | str | None = None,
    ) -> Job:
        """A job; sensitivity and iterations are the workload's where absent.

        Args:
            name: A name of its own.
            workload: One of `workload_names`.
            gpus: How many GPUs it asks for.
            pattern: One of `pattern_names`; of a ring, a tree or both the GPUs all-reduce, of another
                every edge carries what they would reduce, both ways.
            edges: A pattern of its own in place of a named one; its edge with the largest share carries
                what they would reduce.
            sensitive: Whether allocation treats it as bandwidth sensitive.
            arrival: When it enters the queue, in seconds.
            iterations: Its work, in iterations of the workload.
            compute_per_iteration: Seconds that its GPUs compute in an iteration, measured by oneself.
            bytes_per_iteration: Bytes that its GPUs reduce in an iteration, known by oneself.

        Raises:
            SimulationError: If the workload is unknown or a number out of range.
            AllocationError: If the pattern is unknown, or its edges are of another number of GPUs.
        """

    @property
    def name(self) -> str:
        """Returns its name."""

    @property
    def workload(self) -> str:
        """Its workload's name; that of a network where it has `samples_per_gpu`."""

    @property
    def gpus(self) -> int:
        """How many GPUs it asks for."""

    @property
    def pattern(self) -> str:
        """Its pattern's name; `custom` where it has edges of its own."""

    @property
    def edges(self) -> Pattern | None:
        """Gives its edges as a pattern; None where it has a named one."""

    @property
    def sensitive(self) -> bool:
        """Says whether allocation treats it as bandwidth sensitive."""

    @property
    def arrival(self) -> float:
        """When it enters the queue, in seconds."""

    @property
    def iterations(self) -> int:
        """Counts its work, in iterations of the workload."""

    @property
    def compute_per_iteration(self) -> float | None:
        """Its own seconds of computing in an iteration; None if they are the workload's."""

    @property
    def bytes_per_iteration(self) -> int | None:
        """Its own bytes of an iteration; None if they are the workload's."""

    @property
    def samples_per_gpu(self) -> int | None:
        """Counts the samples of each GPU in an iteration of a job that trains a network layer by
        layer; else None.
        """

    @property
    def trains_model(self) -> bool:
        """Says whether the job trains a language model by a layout."""

    def again(self, name: str, arrival: float) -> Job:
        """Copies the job under another name, with another arrival in seconds.

        Raises:
            SimulationError: If the name is blank or the arrival out of range.
        """

    def run_time(self, effective_bandwidth: float | str) -> float:
        """Seconds that it runs on GPUs of this effective bandwidth, in GB/s.

        Raises:
            SimulationError: If the bandwidth is negative or no number, or so small that the job
                would run for more than 213 days.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class KernelRatios:
    """Says how many times as long as by the model kernels took, by kind, pass and product."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @property
    def rest(self) -> float:
        """Gives the seconds a step of kernels that the model lacks; every step gets them."""

    def rows(self) -> Table:
        """Gives one row for each kind and pass of kernels, and for each product whose shapes the trace has.

        Columns are name, pass, measured and modelled (s of a step), and ratio.

        A ratio of what the model has no time for is zero.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class KernelTrace:
    """Holds what a GPU's kernels took in the steps of a trace of PyTorch's profiler."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @staticmethod
    def read(path: str) -> KernelTrace:
        """Reads a trace as Kineto writes it (`export_chrome_trace`), gzipped or not. Memory stays bounded.

        Args:
            path: Of the file.

        Raises:
            InputError: If the file is cut off, is no JSON, is another profiler's, or holds nothing that ran on a GPU.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    @property
    def steps(self) -> int:
        """Counts the steps of the trace; times are means over them."""

    @property
    def events(self) -> int:
        """Counts the events of the file."""

    @property
    def rank(self) -> int | None:
        """The rank of the job that wrote the trace; None where it does not say."""

    @property
    def ranks(self) -> int | None:
        """Counts the ranks of the job; None where the trace does not say."""

    @property
    def time(self) -> float:
        """A step lasts for these seconds on the GPU."""

    @property
    def recognised(self) -> float:
        """The part of the GPU's time whose kernels were recognised."""

    @property
    def gpu(self) -> str:
        """Names the GPU; empty where the trace does not."""

    @property
    def skipped(self) -> list[str]:
        """Says what was left out."""

    def parts(self) -> Table:
        """Gives one row for each part of a step's time; they sum to it.

        Columns are part and time (s).

        Collectives that nothing is computed beside are exposed. The GPU waits for the host where nothing runs that the
        host had launched.
        """

    def kernels(self) -> Table:
        """Gives one row for each kind, pass and stream of kernels.

        Columns: kind, pass, stream, count (of all steps), time (s of a step, summed up).
        """

    def products(self) -> Table:
        """Gives one row for each shape and pass of products, where shapes were recorded (`record_shapes=True`).

        Columns: rows, columns, terms, pass, count (of all steps), time (s of a step, summed up).
        """

    def collectives(self) -> Table:
        """Gives one row for each size, group and stream of collectives.

        Columns: collective, group, ranks and elements (0 where the trace does not say), number (of its elements), stream.
        Then count (of all steps), time (s of one).
        """

    def unknown(self) -> Table:
        """Gives one row for each kernel that no rule knows, the longest first, 20 at most.

        Columns are name and time (s of a step, summed up).
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class LayoutSearch:
    """Every sound layout of a model on some GPUs that fits in memory, with a time that its step never falls below."""

    def __new__(
        cls,
        training: ModelTraining,
        system: System,
        gpus: Sequence[int],
        *,
        micro_batch: int | None = None,
        zero: int | None = None,
        recompute: str | None = None,
        capacity: int | None = None,
        context: ContextExchangeName = "ring",
        async_tensor: bool = False,
        prefetch: int = 1,
        bucket: int | None = None,
        measured: KernelRatios | None = None,
    ) -> LayoutSearch:
        """Goes through all layouts with all sizes of micro-batches, divisions of state and recomputations.

        Args:
            training: How the model is trained, in all that is not searched for; its layout changes nothing.

            system: On what.

            gpus: Ids in the system, in the order of the ranks.

            micro_batch: Samples that a replica computes at once; all that divide its batch where absent.

            zero: How much replicas divide, from 0 to 3; all of it where absent.

            recompute: The part that the backward pass computes again; the least that fits where
                absent.

            capacity: Bytes that a GPU has; all fits where absent.

            context: How parts of sequences meet: `ring`, `all-gather` or `all-to-all`.

            async_tensor: Whether collectives of tensor parallelism are cut into parts that hide behind products.

            prefetch: Blocks whose divided weights are gathered ahead.

            bucket: Bytes of gradients that are reduced at once; the framework's own where absent.

            measured: How many times as long as by the model kernels take; once where absent.

        Raises:
            MachineError: If a GPU's model is not known well enough.
            OutOfMemoryError: If nothing fits: the least that is needed, and how many GPUs are enough.
            SimulationError: If no layout is sound, or a choice is unknown.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    @property
    def sound(self) -> int:
        """Counts sound layouts, each with every size of micro-batches and all that replicas may divide."""

    @property
    def fitting(self) -> int:
        """Counts those that fit in memory, with what is computed again."""

    def closest(self, count: int) -> tuple[Table, int, float | None, bool]:
        """The candidates with the least bounds, the least first: a row for each. Exchanges last as long as when a step is
        played.

        Columns: layout, micro_batch, zero, recompute, reserved (B of the fullest GPU), least (s that no step falls
        below).

        Args:
            count: How many.

        Returns:
            The rows. Then it tells how many candidates were looked at closely, and the seconds that all others take at
            least (None where there are none). At last it tells whether some were not looked at that might be among the first.

        Raises:
            CollectiveError: If no links join the GPUs of a group.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def candidates(self) -> Table:
        """Every candidate with its first bound, the least first: rows as of `closest`. Exchanges take what the peak of links
        allows.
        """

    def training(self, layout: str, micro_batch: int, zero: int, recompute: str) -> ModelTraining:
        """Gives the training by a row of `closest` or `candidates`.

        Args:
            layout: How the model is divided.

            micro_batch: Samples that a replica computes at once.

            zero: How much replicas divide.

            recompute: The part that the backward pass computes again.

        Raises:
            SimulationError: If the layout is not sound.
        """

@final
class LayoutStep:
    """Describes a step of a language model's training by a layout: each stage's computing and exchanges."""

    def __new__(
        cls,
        training: ModelTraining,
        system: System,
        gpus: Sequence[int],
        *,
        context: ContextExchangeName = "ring",
        async_tensor: bool = False,
        prefetch: int = 1,
        bucket: int | None = None,
        measured: KernelRatios | None = None,
    ) -> LayoutStep:
        """A step; its exchanges are timed as NCCL makes them on idle links, all groups at once.

        Args:
            training: The model, its layout and how it is trained.

            system: On what.

            gpus: Ids in the system, in the order of the ranks.

            context: How parts of sequences meet: `ring`, `all-gather` or `all-to-all`.

            async_tensor: Whether collectives of tensor parallelism are cut into parts that hide behind products.

            prefetch: Blocks whose divided weights are gathered ahead.

            bucket: Bytes of gradients that are reduced at once; the framework's own where absent.

            measured: How many times as long as by the model kernels take; once where absent.

        Raises:
            MachineError: If a GPU's model is not known well enough.
            CollectiveError: If no links join the GPUs of a group.
            SimulationError: If GPUs do not calculate with such numbers, or a choice is unknown.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def program(self, free: Sequence[str] = ..., *, in_full: bool = False) -> Program:
        """Gives the program of one rank of each stage; its ranks are the stages. An exchange lasts as long as all groups
        take at once.

        Args:
            free: Exchanges that take no time: parts of the layout (`tp`, `cp`, `shards`, `dp`, `ep`, `etp`, `edp`), and
                `pp` for what stages send.

            in_full: Whether exchanges between kernels are operations of their own, for a timeline; else a rank computes
                meanwhile.
        """

    def least(
        self,
        free: Sequence[str] = ...,
        *,
        alone: bool = False,
        beside: bool = False,
        host: bool = False,
    ) -> float:
        """Seconds of the step, turn by turn: when the last stage ends. A step that is played takes as long.

        Args:
            free: Exchanges that take no time, as for `program`.

            alone: Whether exchanges last as long as one group takes alone, on links that no other group loads.

            beside: Whether kernels go on more slowly while collectives run beside them on the same GPU.

            host: Whether kernels wait until the host has launched them.
        """

    def varied(self, seeds: int) -> list[float]:
        """Gives the seconds of the step by each of `seeds` seeds, from 0 on. Kernels of each GPU and in each step take other times,
        and the step waits for the slowest. They go on more slowly beside collectives, and wait until the host has launched them.

        Args:
            seeds: Draws of all GPUs and of one step of theirs. An odd seed mirrors the even one before it.

        Raises:
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    @property
    def exchanged(self) -> list[str]:
        """Names the parts of the layout whose ranks exchange something, stages apart."""

    @property
    def representatives(self) -> list[tuple[int, int]]:
        """The GPU that stands for each stage, and for how many."""

    @property
    def bound(self) -> float:
        """The busiest stage computes for these seconds, and no step is shorter."""

    @property
    def framework(self) -> float:
        """The framework works on the host for these seconds before the step."""

    @property
    def micro_batches(self) -> int:
        """Micro-batches that each replica computes one by one."""

    def work(self) -> Table:
        """Gives one row for each stage.

        Columns: stage, forward and backward (s of one micro-batch through all of its chunks), again (s of backward
        that repeat forward passes), update (s).
        """

    def exchanges(self) -> Table:
        """Gives one row for each kind of exchange of each stage.

        Columns: stage, group (the part of the layout whose ranks exchange), collective, size (B that a rank gives),
        calls, time (s of one). Calls are counted in a step.
        """

@final
class Model:
    """Holds a language model, as the numbers that memory and time follow from."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @staticmethod
    def find(name: str) -> Model:
        """The public model of a name of `models`; upper and lower case are one, and hyphens may be left
        out.

        Raises:
            SimulationError: If there is none; the message names the nearest.
        """

    @staticmethod
    def from_text(text: str, file: str = "<text>") -> Model:
        """Reads a model from a Hugging Face configuration, the text of its `config.json`; `file` names
        the text in errors.

        Raises:
            InputError: If the text is no configuration that is read. The message names the field.
        """

    @property
    def name(self) -> str:
        """Says what it is called."""

    @property
    def source(self) -> str:
        """Where its numbers were published; empty where it is from a file."""

    @property
    def family(self) -> str:
        """The family whose fields its configuration has, such as `Llama`."""

    @property
    def parameters(self) -> int:
        """Counts trained numbers."""

    @property
    def active_parameters(self) -> int:
        """Trained numbers that one token is multiplied with: of experts only those that it goes to."""

    @property
    def hidden(self) -> int:
        """Numbers of a token's vector between blocks."""

    @property
    def layers(self) -> int:
        """Blocks of attention and a perceptron."""

    @property
    def heads(self) -> tuple[int, int]:
        """Heads of queries, and those of keys and values."""

    @property
    def vocabulary(self) -> int:
        """Counts token numbers."""

    @property
    def tokens(self) -> int:
        """Counts tokens of a sequence."""

    def with_tokens(self, tokens: int) -> Model:
        """Gives the same model on sequences of another length."""

    def blocks(self) -> Table:
        """One row for blocks that are alike in a row.

        Columns: blocks, kind (`dense` or `experts`), inner (numbers within a perceptron or an expert).
        Then experts, top (experts that a token goes to), shared (numbers within those of every token),
        parameters (of one block).
        """

    def network(self) -> NeuralNetwork:
        """The layers that a step plays.

        Raises:
            SimulationError: If it has experts or latent attention, for which there are no layers yet.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class ModelTraining:
    """Holds a model's training by a layout: who exchanges data with whom, and the memory of each GPU."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(
        cls,
        model: Model,
        layout: str,
        *,
        batch: int,
        micro_batch: int = 1,
        order: str = "megatron",
        precision: ModelPrecisionName = "bf16",
        gradients: PrecisionName = "fp32",
        optimizer: OptimizerName = "adam",
        zero: int | None = None,
        recompute: str = "none",
        kernels: KernelsName | None = None,
        sequence_parallel: bool = False,
        lora: int | None = None,
        lora_target: str = "attention",
        fp8_weights: bool = False,
        fp8_activations: bool = False,
        imbalance: str = "uniform",
        capacity_factor: float | None = None,
        seed: int = 0,
    ) -> ModelTraining:
        """A training; its layout is checked.

        Args:
            model: The model that is trained, on sequences of its length.

            layout: How the training is divided, as `fsdp=4,tp=8`. `dp` counts replicas, and `fsdp`
                counts replicas that divide what they keep. `tp` counts parts of layers, `pp`
                stages, `vp` their chunks, and `cp` parts of sequences. `ep` counts parts of the
                experts, and `etp` parts of each expert (as `tp` where absent). Other counts that
                are left out are one.

            batch: Samples of a step, over all GPUs.

            micro_batch: Samples that a replica computes at once.

            order: Which ranks are neighbours: `megatron`, `torchtitan`, `megatron-tp-pp-dp`, or five parts from
                neighbours on, as `tp-cp-fsdp-dp-pp`.

            precision: The numbers of products: `fp32`, `tf32`, `fp16`, `bf16`, `fp8`, `mxfp8` or `nvfp4`. The
                last three are made of weights and activations in `bf16`.

            gradients: The numbers that gradients are kept in.

            optimizer: The rule that turns gradients into weights.

            zero: How much replicas divide: nothing (0), the optimizer's state (1), gradients too
                (2), weights too (3). Where absent, it is 3 if the layout has `fsdp`, else 0.

            recompute: The part that the backward pass computes again: `none`, `selective`
                (attention's core), `selective-op` (by operation, as torchtitan) or `full`. It may
                also be `full:N` (N blocks of each chunk), or modules joined by `+`, as
                `layernorm+moe_act`.

            kernels: Whose kernels compute: `fused` (Transformer Engine's), `eager` or `compiled` (PyTorch's);
                `eager` with `zero` 3, else `fused`, where absent.

            sequence_parallel: Whether what tensor parallelism leaves whole is divided by tokens.

            lora: Numbers between the small matrices that are trained in the place of all weights.

            lora_target: Beside which matrices they stand: `attention`, `all`, or names of PEFT or Megatron joined
                by `+`, as `q_proj+v_proj`.

            fp8_weights: Whether weights are kept in the numbers of `fp8`, `mxfp8` or `nvfp4` alone,
                as Megatron's `fp8_param_gather` has it. Otherwise copies in these numbers stand
                beside them.

            fp8_activations: Whether what a perceptron's function reads is kept in eight bits, as Megatron's
                `activation_func_fp8_input_store` has it.

            imbalance: How uneven experts are wanted: `uniform`, or `zipf:S`, where shares fall by the rank to the
                power of S.

            capacity_factor: The most tokens of an expert, in even shares; others are dropped. None are where absent.

            seed: Decides which experts are wanted most in each block.

        Raises:
            SimulationError: If the layout is not sound, with the nearest that is, or a choice is unknown.
        """

    @staticmethod
    def counts(layout: str) -> tuple[int, int]:
        """Counts the GPUs of a layout, and its replicas, before it is checked.

        Raises:
            SimulationError: If the text is no layout.
        """

    @property
    def model(self) -> Model:
        """Says what is trained."""

    @property
    def layout(self) -> str:
        """How it is divided, as a text that is read again."""

    @property
    def gpus(self) -> int:
        """Counts the GPUs."""

    @property
    def batch(self) -> int:
        """Samples of a step, over all GPUs."""

    @property
    def micro_batch(self) -> int:
        """Samples that a replica computes at once."""

    @property
    def micro_batches(self) -> int:
        """Micro-batches that a replica computes in a step."""

    @property
    def zero(self) -> int:
        """Says what replicas divide, from 0 to 3."""

    @property
    def recompute(self) -> str:
        """Says what the backward pass computes again."""

    @property
    def kernels(self) -> str:
        """Says whose kernels compute."""

    @property
    def sequence_parallel(self) -> bool:
        """Whether what tensor parallelism leaves whole is divided by tokens."""

    def flags(self, framework: FlagsName) -> tuple[list[tuple[str, str]], list[str]]:
        """Writes it as flags of a framework that runs it.

        Args:
            framework: `megatron` (Megatron-LM core_v0.19.0) or `torchtitan` (v0.2.2).

        Returns:
            Each flag with its value, empty where the flag alone says it; sentences on what no flag says.
        """

    def ratios(
        self,
        trace: KernelTrace,
        system: System,
        gpu: int = 0,
        *,
        context: ContextExchangeName = "ring",
    ) -> KernelRatios:
        """Compares the kernels of a trace, which is to be of this training, with the model's.

        Args:
            trace: Was written by one of its ranks.

            system: On what it ran.

            gpu: The id in the system of a GPU on which it ran.

            context: How parts of sequences met: `ring`, `all-gather` or `all-to-all`.

        Raises:
            MachineError: If the GPU's model is not known well enough.
            SimulationError: If the trace has no backward pass, GPUs do not calculate with such numbers, or a
                choice is unknown.
        """

    @property
    def single(self) -> tuple[str, int] | None:
        """The one way to divide that the layout has, with its number of parts; None where it has several."""

    def groups(self, servers: Sequence[int]) -> Table:
        """Gives one row for each kind of group whose ranks exchange data.

        Columns: group (the parts of the layout), moves (the data), size (ranks of each), groups (how many).
        Then first (the ranks of the first), servers_least and servers_most (that one group spans).

        Args:
            servers: The server of each rank.

        Raises:
            SimulationError: If these are not as many as there are GPUs.
        """

    def memory(self, capacity: int | None = None) -> Table:
        """One row for each pipeline stage: the bytes of a GPU's memory, by what they are for.

        Columns: stage, layers, in_flight (micro-batches that are begun and not ended), weights, gradients,
        optimizer (with master copies). Then activations, passing (of a block or the loss, for a while),
        collectives (their buffers, and gathered weights). Total is PyTorch's `max_memory_allocated`, reserve
        the allocator's gaps, reserved `max_memory_reserved`.

        Args:
            capacity: Bytes that a GPU has; a training that needs more is refused.

        Raises:
            OutOfMemoryError: If it does not fit, with its largest part and changes that do.
        """

    def tensors(self) -> Table:
        """One row for each tensor that blocks make for their backward pass, on one GPU, of one micro-batch.

        Columns: blocks (how many are alike), kind (`dense` or `experts`), tensor, bytes, kept (else it is computed
        again).
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class NcclTestsLog:
    """Holds the measurements of a run of nccl-tests."""

    @staticmethod
    def from_text(text: str, file: str = "<text>") -> NcclTestsLog:
        """Reads what nccl-tests printed.

        Args:
            text: The output of all_reduce_perf or another test; a launcher's words before a line are skipped.
            file: The name that errors give the file.

        Raises:
            InputError: If no row can be read: of another tool, or of a run that failed before its first
                size; with the line.
        """

    @property
    def test(self) -> str | None:
        """The test that ran, such as `all_reduce_perf`; None where the log does not say."""

    @property
    def version(self) -> str | None:
        """NCCL's version; None where the log does not say."""

    @property
    def gpus(self) -> list[str]:
        """Lists the model of each rank's GPU, as far as the log lists them."""

    @property
    def hosts(self) -> int:
        """How many hosts these GPUs are on."""

    @property
    def collective(self) -> str | None:
        """The collective that the test is of; None where the log does not say."""

    @property
    def processes(self) -> str | None:
        """Whether each rank was a process of its own (`each`) or one had all GPUs of a host (`one`). None where
        the log does not tell.
        """

    @property
    def numbers(self) -> NumberTypeName | None:
        """The type of the numbers, by nccl-tests' name. None where the table does not name a known one."""

    @property
    def operation(self) -> NcclOperationName | None:
        """The operation on the numbers, by nccl-tests' name. None where there is none."""

    def check(self, collective: CollectiveName, gpus: int) -> None:
        """Checks that the log is of a collective on a given number of GPUs.

        Args:
            collective: One of `collective_names`.
            gpus: How many.

        Raises:
            InputError: If it is of others, with the line that tells.
            CollectiveError: If the name is unknown.
        """

    @property
    def notes(self) -> list[tuple[int, str]]:
        """Lists the lines that were not read, and those that look wrong, each by its number."""

    def rows(self) -> Table:
        """Returns one row per size, in the log's order.

        Columns are size (in bytes), then time (in seconds), algorithm_bandwidth and bus_bandwidth
        (in GB/s) with a result buffer of its own. The same follow in place, where it was measured,
        then the line in the log.
        """

@final
class Owner:
    """Says who asked for a job's GPUs on a live server, and for how long."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(cls, pid: int, host: str, time: float, lease: float | None = None) -> Owner:
        """Makes an owner.

        Args:
            pid: The process that asks.
            host: The computer on which it runs.
            time: When it asks, in seconds since 1970, as `time.time()` gives them.
            lease: For how long it asks, in seconds; without end where absent.

        Raises:
            AllocationError: If a number is negative or too large.
        """

    @property
    def pid(self) -> int:
        """Returns the id of the process that asked."""

    @property
    def host(self) -> str:
        """Names the computer on which it ran."""

    @property
    def time(self) -> float:
        """Says when it asked, in seconds since 1970."""

    @property
    def lease(self) -> float | None:
        """Says for how long it asked, in seconds; None without end."""

    def is_over(self, now: float) -> bool:
        """Whether the lease has ended by this time, in seconds since 1970.

        Raises:
            AllocationError: If the time is negative or too large.
        """

    def __getnewargs__(self) -> tuple[int, str, float, float | None]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Pattern:
    """Says which of a job's GPUs talk to which: MAPA's application graph.

    Examples:
        >>> from linkwright import Pattern
        >>> Pattern("ring", 4).edges
        [(0, 1), (0, 3), (1, 2), (2, 3)]
    """

    def __new__(cls, shape: PatternName, size: int) -> Pattern:
        """Makes a named shape (see `pattern_names`) on `size` GPUs.

        Raises:
            AllocationError: If the shape is unknown or the size is not 1 to 65,536; of `all-to-all`, 1,024.
        """

    @staticmethod
    def from_edges(size: int, edges: Sequence[tuple[int, int]]) -> Pattern:
        """Makes a pattern of its own: edges between vertices 0 to `size` - 1.

        Raises:
            AllocationError: If an edge is no edge of such a graph.
        """

    @staticmethod
    def with_shares(size: int, edges: Sequence[tuple[int, int, float, float]]) -> Pattern:
        """Makes a pattern of its own whose edges carry shares of its traffic.

        Args:
            size: The number of its vertices.
            edges: Two vertices each, and the traffic from the first to the second and back. It is
                in any one unit; edges of one pair add up.

        Raises:
            AllocationError: If an edge is no edge of such a graph, or a share is negative or no number.
        """

    @staticmethod
    def from_edge_list(text: str, file: str = "<text>") -> Pattern:
        """Reads a line per edge: two vertex numbers from zero, `#` for comments.

        Behind them may stand what the edge carries of the traffic, both ways, or forth and back.

        Raises:
            InputError: If a line is no edge, with its place.
        """

    @staticmethod
    def from_program(program: Program) -> Pattern:
        """Makes the pattern of a program: which of its ranks exchange data.

        Messages and copies between GPUs join two ranks. A collective joins the neighbours in NCCL's
        ring over its ranks, or all of them where each has a part for each.

        Raises:
            AllocationError: If the program has more than 128 ranks.
        """

    @staticmethod
    def traffic_of_program(program: Program) -> list[tuple[int, int, int, int]]:
        """Says what the ranks of a program send each other over the edges of its pattern.

        Returns:
            For each edge of `from_program` both vertices and the bytes that go from the first to the
            second and back. A collective counts as its ring, star or chain carries it, a main loop once.

        Raises:
            AllocationError: If the program has more than 128 ranks.
        """

    @staticmethod
    def from_counters(
        before: tuple[str, str], after: tuple[str, str], system: System
    ) -> tuple[Pattern, list[int], list[tuple[int, int, int, int]]]:
        """Finds the pattern that two snapshots of `nvidia-smi nvlink` counters show.

        Args:
            before: The earlier snapshot: its file's name and its text.
            after: The later one.
            system: Whose counters they are.

        Returns:
            The pattern, the GPU of each of its vertices, and each edge's traffic: both its
            vertices, the bytes that went from the first to the second, and those that went back.

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
        """Gives its edges, each once, lower vertex first."""

    @property
    def shares(self) -> list[tuple[float, float]]:
        """Gives what each edge carries from its lower vertex and back, as a part of the most."""

    @property
    def is_collective(self) -> bool:
        """Whether it stands for an all-reduce: a ring, a tree, or both, as NCCL uses them."""

    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Machine:
    """The machine that a policy chooses GPUs of."""

    @property
    def name(self) -> str:
        """Gives its name."""

    @property
    def gpu_count(self) -> int:
        """How many GPUs it has."""

    def bandwidth_inside(self, gpus: Sequence[int]) -> float:
        """Gives the bandwidth of all pairs of some GPUs, in GB/s.

        Raises:
            AllocationError: If a GPU is unknown or named twice.
        """

    def all_reduce_bandwidth(self, gpus: Sequence[int]) -> float:
        """Gives the bus bandwidth of an all-reduce among some GPUs, in GB/s.

        Raises:
            AllocationError: If a GPU is unknown or named twice.
        """

    def place(self, pattern: Pattern, gpus: Sequence[int], free: Sequence[int]) -> Selection:
        """Lays a pattern on exactly these GPUs, as well as it can be.

        Args:
            pattern: The job's.
            gpus: As many as the pattern has vertices.
            free: The GPUs that the job may have, these among them.

        Raises:
            AllocationError: If a GPU is unknown, named twice or not free, or if there are too few or too many.
        """

    def best(self, pattern: Pattern, objective: str, free: Sequence[int]) -> Selection | None:
        """Finds the match of a pattern on free GPUs with the most of an objective; None where too few are free.

        Args:
            pattern: The job's.
            objective: `aggregated`, `effective` or `preserved` bandwidth.
            free: The GPUs that the job may have.

        Raises:
            AllocationError: If a GPU is unknown or named twice, or if there is no such objective.
        """

@final
class Packet:
    """A packet on its way, as a routing of one's own is told of it."""

    @property
    def source(self) -> int:
        """Names the node where it started."""

    @property
    def destination(self) -> int:
        """The node where it goes."""

    @property
    def hops(self) -> int:
        """How many switches it has left so far."""

    @property
    def virtual_channel(self) -> int:
        """Names the virtual channel in which it came; 0 from its node."""

@final
class QueuedMessage:
    """A message at its network interface, as an order of one's own is told of it."""

    @property
    def index(self) -> int:
        """Tells it from others in the network."""

    @property
    def size(self) -> int:
        """Counts its bytes."""

    @property
    def source(self) -> int:
        """The device that sends it, as the system counts them."""

    @property
    def destination(self) -> int:
        """The device that it goes to."""

    @property
    def priority(self) -> int:
        """How urgent its sender says it is; 0 where nobody says."""

    @property
    def arrived(self) -> float:
        """Tells when it came to the interface, in seconds."""

@final
class Request:
    """Tells what a job asks a policy for."""

    @property
    def pattern(self) -> Pattern:
        """Which of the job's GPUs talk to which; its `size` is the number of GPUs."""

    @property
    def sensitive(self) -> bool:
        """Whether the job's run time depends on bandwidth, as its owner says."""

@final
class Selection:
    """Places a job's pattern on GPUs of a machine, with its scores."""

    @property
    def gpus(self) -> list[int]:
        """Lists the GPU of each vertex of the pattern."""

    @property
    def aggregated_bandwidth(self) -> float:
        """The bandwidth of all pairs that the pattern joins, in GB/s."""

    @property
    def effective_bandwidth(self) -> float | None:
        """The predicted bandwidth of the pattern, in GB/s; None where it has no edges."""

    @property
    def preserved_bandwidth(self) -> float:
        """Sums the bandwidth between the GPUs that stay free, in GB/s."""

    @property
    def candidates(self) -> int:
        """How many sets of GPUs competed."""

@final
class Program:
    """Holds the operations of every rank of a job, and for which others each of them waits."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @staticmethod
    def skeleton(application: ApplicationName, ranks: int, **options: object) -> Program:
        """Makes a program with the communication of a known application.

        Args:
            application: One of `applications`.
            ranks: How many ranks it has.
            options: The application's parameters, such as `message="64 KiB"`.

        Raises:
            SimulationError: If there is no such application, it has no such parameter, or it cannot
                run on that number of ranks.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    @staticmethod
    def from_goal(text: str, file: str = "<text>", *, time_unit: float = 1e-09) -> Program:
        """Reads a program from GOAL text, LogGOPSim's.

        Args:
            text: The text.
            file: Its name, in errors and as the program's name.
            time_unit: The seconds of one unit of a `calc`; LogGOPSim's is the nanosecond.

        Raises:
            InputError: If the text is no GOAL, with line and column.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    @staticmethod
    def from_otf2(
        path: str | PathLike[str],
        *,
        name: str | None = None,
        main_loop: str | None = None,
        collective_bytes: str = "divided",
    ) -> Program:
        """Reads a program from the trace of an MPI program, an OTF2 archive.

        Args:
            path: The anchor file, such as `traces.otf2`; the other files lie beside it.
            name: The program's name; the folder's where absent.
            main_loop: The region that iterations repeat. Absent, it is `TRACER_Loop` or `main_loop`.
            collective_bytes: How bytes of collectives are read: `divided`, as Score-P counts them for
                each rank, or `as-recorded`.

        Raises:
            InputError: If a file is missing, cut or damaged; the message names it. So it is if one is no
                plain file or has more than 64 MiB, or all have more than 1 GiB.
            SimulationError: If the archive records no program that can be played again.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    @property
    def name(self) -> str:
        """Returns its name."""

    @property
    def ranks(self) -> int:
        """How many ranks it has."""

    @property
    def operations(self) -> int:
        """How many operations its ranks have in all; the main loop's count once."""

    @property
    def has_loop(self) -> bool:
        """Whether its ranks have a main loop, which a job's `iterations` repeat."""

    @property
    def regions(self) -> list[str]:
        """The names of its regions, by index."""

    @property
    def communicators(self) -> list[list[int]]:
        """The ranks of each communicator; the first holds all."""

    def operations_of(self, rank: int) -> Table:
        """Returns one row per operation of a rank, in its order.

        Columns are kind, collective (its name, or empty), direction (of a copy: `host-to-device`,
        `device-to-host`, `peer`) and duration (in ps). Kinds are `compute`, `delay`, `reduce`,
        `copy`, `send`, `receive`, `collective`, `join`, `enter` and `leave`. A collective whose
        time is known is `timed`, and the job's own kernel is `kernel`. Then come rate (of a
        reduction, in bytes per second), peer (the other rank, or the root of a collective), tag and
        size (in bytes). Then come route (of a copy and a send), communicator, region and in_loop
        (whether iterations repeat it). The last are the rows that it waits for: completed and
        started. Null means that there is none, or that any will do.

        Raises:
            SimulationError: If there is no such rank.
        """

    def to_goal(self, *, time_unit: float = 1e-09) -> str:
        """Writes one iteration of the program as GOAL text, with its collectives lowered to messages.

        Raises:
            SimulationError: If GOAL cannot say it.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class ProgramBuilder:
    """Writes a program down, operation by operation: for what no reader reads.

    Each operation stands in a stream of its rank, behind those that the stream has already. It
    waits for those that `after` lists, too. With `blocking=False` the stream goes on as soon as the
    operation has started, as with MPI's non-blocking calls; `wait` waits for its end. Different
    streams of a rank are under way at once. Its one processor, its messaging library and its GPU's
    copy engines limit this.

    Sizes are bytes, or texts such as "64 MiB"; times are seconds, or texts such as "30 us".
    """

    def __new__(cls, ranks: int, name: str = "program") -> ProgramBuilder:
        """Makes an empty program.

        Args:
            ranks: How many ranks it has, 1 to 1,048,576.
            name: The name for people.

        Raises:
            SimulationError: If there are no ranks, or too many.
        """

    def compute(
        self,
        rank: int,
        duration: float | str,
        *,
        stream: int = 0,
        blocking: bool = True,
        after: Sequence[ProgramOperation] | None = None,
    ) -> ProgramOperation:
        """Computes; a rank computes and reduces one thing at a time.

        Args:
            rank: Whose operation it is.
            duration: Seconds, or a text such as "30 us"; a job's `computation_scale` multiplies it.
            stream: In which of the rank's sequences it stands.
            blocking: Whether what follows in the stream waits until it is complete.
            after: Operations of the same rank that have to be complete before.

        Returns:
            The operation, which a later `after` or `wait` may name.

        Raises:
            SimulationError: If there is no such rank, a number is out of range, or an operation of
                `after` is of another rank or builder.
        """

    def delay(
        self,
        rank: int,
        duration: float | str,
        *,
        stream: int = 0,
        blocking: bool = True,
        after: Sequence[ProgramOperation] | None = None,
    ) -> ProgramOperation:
        """Lets time pass and occupies nothing, as the host's part of a call does.

        Args:
            rank: Whose operation it is.
            duration: Seconds, or a text such as "30 us"; nothing multiplies it.
            stream: As in `compute`.
            blocking: As in `compute`.
            after: As in `compute`.

        Returns:
            As for `compute`.

        Raises:
            SimulationError: As for `compute`.
        """

    def send(
        self,
        rank: int,
        to: int,
        size: int | str,
        *,
        tag: int = 0,
        communicator: int = 0,
        route: Literal["fabric", "host", "network", "any"] = "any",
        stream: int = 0,
        blocking: bool = True,
        after: Sequence[ProgramOperation] | None = None,
    ) -> ProgramOperation:
        """Sends a message; complete when its buffer may be used again.

        Args:
            rank: Who sends.
            to: Who receives.
            size: Bytes, or a text such as "64 MiB".
            tag: The number by which the receiver may select the message.
            communicator: The number of the communicator that has both ranks, as `communicator`
                gives it; 0 has all ranks.
            route: Over which links its data goes: `any`, `fabric` (NVLink, xGMI), `host` (PCIe) or
                `network`.
            stream: As in `compute`.
            blocking: As in `compute`.
            after: As in `compute`.

        Returns:
            The operation, which a later `after` or `wait` may name.

        Raises:
            SimulationError: If there is no such rank, communicator or class of links, or a number
                is out of range. Also if an operation of `after` is of another rank or builder.
        """

    def receive(
        self,
        rank: int,
        source: int | None,
        size: int | str,
        *,
        tag: int | None = ...,
        communicator: int = 0,
        stream: int = 0,
        blocking: bool = True,
        after: Sequence[ProgramOperation] | None = None,
    ) -> ProgramOperation:
        """Receives a message; complete when it is there.

        Args:
            rank: Who receives.
            source: Who sends; None takes any.
            size: How much at most: bytes, or a text such as "64 MiB".
            tag: The message's tag; None takes any.
            communicator: The number of the communicator that has both ranks; 0 has all ranks.
            stream: As in `compute`.
            blocking: As in `compute`.
            after: As in `compute`.

        Returns:
            The operation, which a later `after` or `wait` may name.

        Raises:
            SimulationError: If there is no such rank or communicator, or a number is out of range.
                Also if an operation of `after` is of another rank or builder.
        """

    def copy(
        self,
        rank: int,
        direction: Literal["host-to-device", "device-to-host", "peer"],
        size: int | str,
        *,
        peer: int | None = None,
        route: Literal["fabric", "host", "network", "any"] = "any",
        stream: int = 0,
        blocking: bool = True,
        after: Sequence[ProgramOperation] | None = None,
    ) -> ProgramOperation:
        """Copies between a rank's GPU and its host, or to a peer's GPU.

        It is complete when the last byte is there. It needs one of the GPU's copy engines; a peer
        takes no part.

        Args:
            rank: Whose GPU it is.
            direction: `host-to-device`, `device-to-host` or `peer`.
            size: Bytes, or a text such as "64 MiB".
            peer: The rank whose GPU gets the data, with `peer`; of the same server.
            route: Over which links: `any`, `fabric` (NVLink, xGMI) or `host` (PCIe).
            stream: As in `compute`.
            blocking: As in `compute`.
            after: As in `compute`.

        Returns:
            The operation, which a later `after` or `wait` may name.

        Raises:
            SimulationError: If there is no such rank, direction or class of links, or a number is
                out of range. Also if `peer` is missing or too much, or an operation of `after` is
                of another rank or builder.
        """

    def reduce(
        self,
        rank: int,
        size: int | str,
        *,
        rate: float | str | None = None,
        stream: int = 0,
        blocking: bool = True,
        after: Sequence[ProgramOperation] | None = None,
    ) -> ProgramOperation:
        """Adds what has come to what the GPU holds; it occupies the rank's processor.

        Args:
            rank: Whose operation it is.
            size: How much of each of the two: bytes, or a text such as "64 MiB".
            rate: Bytes per second, or a text such as "300 GB/s". Where absent, it is as fast as the
                GPU's memory, which reads both and writes the sum.
            stream: As in `compute`.
            blocking: As in `compute`.
            after: As in `compute`.

        Returns:
            The operation, which a later `after` or `wait` may name.

        Raises:
            SimulationError: If there is no such rank, a number is out of range, or an operation of
                `after` is of another rank or builder.
        """

    def collective(
        self,
        kind: str,
        size: int | str,
        *,
        root: int | None = None,
        communicator: int = 0,
        stream: int = 0,
        blocking: bool = True,
        after: Sequence[ProgramOperation] | None = None,
    ) -> list[ProgramOperation]:
        """A collective of all ranks of a communicator; of each, complete when its part is done.

        Args:
            kind: Its name, such as `all-reduce`: one of `collective_names()`.
            size: The data that each rank contributes, for all-to-all to each other: bytes, or a
                text such as "64 MiB".
            root: The rank that is special, where the collective has one.
            communicator: The number of the communicator whose ranks take part; 0 has all.
            stream: As in `compute`, in each rank.
            blocking: As in `compute`.
            after: As in `compute`: each rank waits for those that are its own.

        Returns:
            The operation of each rank, in the order of the communicator.

        Raises:
            SimulationError: If there is no such collective, communicator or rank, or a number is
                out of range. Also if an operation of `after` is of no rank of the communicator or
                of another builder.
        """

    def wait(
        self, rank: int, after: Sequence[ProgramOperation], *, stream: int = 0
    ) -> ProgramOperation:
        """Waits until operations are complete: later operations in the stream come after them.

        Args:
            rank: Who waits.
            after: Operations of the same rank.
            stream: In which of the rank's sequences.

        Raises:
            SimulationError: If there is no such rank, or an operation is of another rank or
                builder.
        """

    def enter(self, rank: int, name: str, *, stream: int = 0) -> ProgramOperation:
        """Enters a region of the program, by its name. Timelines and results of regions show it.

        Raises:
            SimulationError: If there is no such rank.
        """

    def leave(self, rank: int, name: str, *, stream: int = 0) -> ProgramOperation:
        """Leaves a region of the program.

        Raises:
            SimulationError: If there is no such rank, or no rank has entered such a region.
        """

    def communicator(self, ranks: Sequence[int]) -> int:
        """A communicator of some ranks, beside that of all, which is 0.

        Args:
            ranks: Its ranks, in the order of their places in it.

        Returns:
            Its number, which messages and collectives name.

        Raises:
            SimulationError: If there are none, one is named twice, or there is no such rank.
        """

    def main_loop(self) -> ProgramBuilder:
        """Opens the main loop, which a job's `iterations` repeat: `with builder.main_loop(): ...`.

        A program has one at most.

        Raises:
            SimulationError: If there is one already.
        """

    def __enter__(self) -> ProgramBuilder: ...
    def __exit__(self, *_error: object) -> None: ...
    def build(self) -> Program:
        """The program as it stands; more may be added, and built again.

        Raises:
            SimulationError: If its main loop is still open.
        """

    @property
    def name(self) -> str:
        """Returns its name."""

    @property
    def ranks(self) -> int:
        """How many ranks it has."""

    @property
    def operations(self) -> int:
        """How many operations its ranks have so far."""

@final
class ProgramOperation:
    """An operation of a program that is being built, which later ones may wait for."""

    @property
    def rank(self) -> int:
        """The rank whose it is."""

    @property
    def index(self) -> int:
        """Returns its place among the operations of its rank, from zero, as in
        `Program.operations_of`.
        """

@final
class Scenario:
    """Holds a scenario as written: which system, which jobs, under which choices."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @staticmethod
    def from_text(text: str, file: str = ...) -> Scenario:
        """Reads a scenario's TOML text; reading the files that it names is left to the caller.

        Raises:
            InputError: If the text is no scenario, with line and column.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    @property
    def name(self) -> str:
        """Its name; empty where it has none."""

    @property
    def seed(self) -> int:
        """Returns the seed of every choice by chance."""

    @property
    def kind(self) -> Literal["mix", "programs"]:
        """Says what its jobs are. `mix` stands for a day in which they arrive, wait and get GPUs. `programs` stands
        for ranks on GPUs that mappings name from the start.
        """

    @property
    def job_count(self) -> int | None:
        """How many programs it runs; of a mix, how many jobs it generates and writes down, or None where a file says."""

    @property
    def jobs(self) -> str | list[Job]:
        """Returns the jobs of a mix: the path of the job file as written, or the jobs that the
        scenario generates.
        """

    @property
    def jobs_seed(self) -> int | None:
        """Returns the seed of the jobs that a mix generates; None where it generates none."""

    @property
    def mapping(self) -> str | None:
        """Returns the mapping of programs: a placement, or the name of a mapping file, for jobs
        without one of their own.
        """

    @property
    def servers(self) -> list[tuple[str, str, int]]:
        """The servers that it names: a preset's name or a file's, which of the two it is (`preset`,
        `file`), and how many in a row. Empty where every port has a node of GPUs.
        """

    @property
    def unhealthy(self) -> list[int]:
        """GPUs that are out of order from the start."""

    @property
    def policies(self) -> list[PolicyName]:
        """Lists the policies to play the jobs of a mix under."""

    @property
    def plug_ins(self) -> list[str]:
        """Names the classes of one's own that it has, as `module:Class`: policies, an order of messages, a routing."""

    @property
    def bandwidth_model(self) -> BandwidthModelName:
        """Says by which model policies rank: `sound` or `published`."""

    @property
    def bandwidth_profile(self) -> BandwidthProfileName | None:
        """Says which profile labels the links: `mapa` or `data-sheet`; None where the machine is to
        say.
        """

    @property
    def ties(self) -> TieName:
        """Says how to decide between matches that tie: `nearest` or `published`."""

    @property
    def server_choice(self) -> ServerChoiceName:
        """Says in which server a job looks for GPUs first: `first-fit`, `pack`, `spread` or `whole`."""

    @property
    def discipline(self) -> DisciplineName:
        """`fifo` or `backfill`: which waiting job starts next."""

    @property
    def run_time(self) -> RunTimeName:
        """Says how to find the run time of a job of a mix: by `formula`, or `played`."""

    @property
    def host_copies(self) -> bool:
        """Of played jobs, whether the images of every iteration are copied from the host."""

    @property
    def gpu_speed(self) -> GpuSpeedName:
        """Says how fast GPUs compute in played jobs: `reference` or `own`."""

    @property
    def precision(self) -> str:
        """Of played jobs, the numbers that nets multiply and networks are trained in: `fp32`, `tf32`, `fp16` or `bf16`."""

    @property
    def bucket(self) -> int | None:
        """Of played jobs, the most bytes of gradients that are reduced at once while others are computed; None where
        all are reduced at the end.
        """

    @property
    def planner(self) -> PlannerName:
        """Names the planner of the collectives of played jobs, one of `planner_names`."""

    @property
    def fidelity(self) -> FidelityName:
        """`packet` or `flow`: how closely the network is simulated."""

    @property
    def files(self) -> list[tuple[str, int, int]]:
        """The files that it names, each as written, with the line and column where it does."""

    @property
    def play_options(self) -> dict[str, Any]:
        """How its programs are played, by the keywords of `System.play`, as far as it is given.

        They are `fidelity`, `protocol`, `collectives` and `seed`.
        """

    @property
    def variants(self) -> list[str]:
        """The names of what it compares: each of its policies, or `as-written` where programs run; then
        each name of its `[compare]`. A variant has none of its own.
        """

    @property
    def reference(self) -> str | None:
        """The variant that the others are compared with; None of a variant."""

    @property
    def seeds(self) -> int | None:
        """On how many seeds its variants are compared (`compare.seeds`); None where it does not say."""

    @property
    def differences(self) -> dict[str, Any]:
        """Gives the settings that differ in each variant of its `[compare]`, by their keys. In a
        variant nothing differs.
        """

    def variant(self, name: str) -> Scenario:
        """The scenario as one of its variants has it.

        Raises:
            InputError: If it has none of that name.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def with_settings(self, settings: dict[str, Any]) -> Scenario:
        """Copies the scenario with other settings.

        Args:
            settings: Values by their keys, with dots for tables: `{"system.network.nic": "rr-4"}`.
                A table is put over that of the scenario key by key, all else takes its place.

        Raises:
            InputError: If it is no scenario then; the file is `<settings>` where one of them is wrong.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def comparison(
        self,
        *,
        reference: str | None = None,
        seeds: int | None = None,
        machines: Sequence[tuple[str, str, int | None]] = ...,
    ) -> dict[str, Any]:
        """Lists what a comparison of its variants plays.

        Each of the `variants` has a `name` for people, a `variant` for the scenario, and a `choice`. This is its key
        where it is one choice alone. `reference` is a name. There are no `seeds` where variants are played as they
        are. Each of the `runs` is an index of a variant, a seed, and which of the seeds it is. The `settings` are put
        over the scenario so that it has all variants.

        Args:
            reference: The others are compared with this variant. If not given, the scenario names it.
            seeds: The variants are played on as many. If not given, the scenario says it.
            machines: These servers take the place of variants. Each has a name for people, one for the scenario, and
                how many there are; None for as many as the scenario has.

        Raises:
            InputError: If a variant is not as it should be.
            SimulationError: If there is no such reference; if programs are to have seeds or machines.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def seeded(self, seed: int) -> Scenario:
        """Gives the same on another seed, from which generated jobs are drawn, too.

        Raises:
            InputError: If it is no scenario then.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def outcome(
        self,
        files: dict[str, bytes] = ...,
        draw: int = 0,
        watts: dict[str, tuple[float | None, float | None]] = ...,
    ) -> str:
        """Plays its jobs, those of GPUs under the first of its policies, and gives what they come to as JSON.

        Jobs of GPUs have each of `comparison_measures`. `held` counts jobs of several GPUs and their servers, by the
        GPUs there. `job_times` and `waits` are seconds at every fortieth part of the jobs. Programs have a `makespan` in
        seconds, `jobs` and `energy`. Each job is a name and its seconds. The energy is as `gpu_energy` gives it. With a
        `[thermal]` both have `heat`: the package, its temperatures, and a row for each GPU as `observed_heat` gives it.

        Args:
            files: The content of each file that it names, by the name as written.
            draw: Which of a comparison's seeds it is, from zero. From the second on a file's jobs are drawn of it.
            watts: Stand in place of data sheets, as for `gpu_energy`.

        Raises:
            InputError: If a file is missing or is not what it should be, or the jobs do not fit.
            SimulationError: If a job can never start or does not end, or there is no job.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def build(self, files: dict[str, bytes] = ...) -> tuple[System, list[Any], list[str]]:
        """Returns the system, the jobs, and notes.

        The jobs of a mix are `Job`s, those of programs `ClusterJob`s, each with the GPU of each of its
        ranks. Notes say what was left out of traces or could not be told, each a sentence behind the
        program's name.

        Args:
            files: The content of each file that it names, by the name as written.

        Raises:
            InputError: If a file is missing or is not what it should be, or the jobs do not fit,
                with its place.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def system(self, files: dict[str, bytes] = ...) -> System:
        """Gives the system alone, without its jobs.

        Args:
            files: As for `build`.

        Raises:
            InputError: If a file is missing or is not what it should be, with its place.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def check_policies(self, policies: Sequence[str]) -> None:
        """Checks names of policies that jobs are to be played under.

        Raises:
            AllocationError: If there is no policy of one of these names.
        """

    def play_jobs(
        self,
        system: System,
        jobs: Sequence[Job],
        policy: PolicyName | Policy | type[Policy],
        *,
        progress: Callable[[int, int, float], object] | None = None,
        attribute: bool = False,
    ) -> SimulationResult:
        """Plays jobs of GPUs on an idle system under one policy, by all of the scenario's other choices.

        Args:
            system: That of `build`.
            jobs: Those of `build`, or others.
            policy: One of `policy_names`, or a class as `linkwright.contracts.Policy` has it, or an object of one.
            progress: As for `play_jobs`.
            attribute: As for `play_jobs`.

        Raises:
            AllocationError: If a policy or a GPU is unknown.
            SimulationError: If the scenario is of programs, or as `play_jobs`.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def speeds(self, system: System, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """Says how long the jobs of a mix compute on the slowest GPU of a system, and why.

        Each row is of one kind of job. It has `workload`, `number` (the type of numbers), `gpu` (a model), `basis`,
        `computing` (the seconds of an iteration) and `jobs` (a count). The basis is `reference` where the GPU that
        workloads are timed on stands for every one. It is `vector` or `matrix` where a peak without sparsity says it: of
        plain cores, or of matrix units. It is `measured` where somebody did that, and `layers` under the training model.
        Programs have no row, nor have jobs whose run times a formula says.

        Args:
            system: That of `build`.
            jobs: Those of `build`, or others.

        Raises:
            MachineError: If a GPU has no model that the training model knows.
            SimulationError: If a job's workload is unknown.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class CheckReport:
    """Says what a sound schedule looks like from above."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @property
    def steps(self) -> int:
        """Steps of all ranks together."""

    @property
    def sent_chunks(self) -> list[int]:
        """For each rank, how many chunks it sends."""

    @property
    def longest_chain(self) -> int:
        """Returns the most messages that must follow one another: latency counts this many times."""

    @property
    def placements(self) -> list[str]:
        """For which placements it is sound: `out of place`, `in place`."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Export:
    """Holds a schedule in another format."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @property
    def text(self) -> str:
        """Returns the file's whole text."""

    @property
    def notes(self) -> list[str]:
        """Lists the facts that the format could not say and its user must know, each in a sentence."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Schedule:
    """A collective as steps per rank, to be checked, executed, timed and exported.

    `plan` makes one, and `from_msccl_xml` and `from_mscclpp_json` read one. Two are equal if all of their steps are.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @staticmethod
    def from_msccl_xml(
        text: str, file: str = "<text>", *, gpus: Sequence[int] | None = None
    ) -> Schedule:
        """Reads an algorithm in MSCCL XML, anyone's.

        Args:
            text: The text itself.
            file: Its name in errors.
            gpus: The GPU of each rank; rank `i` is GPU `i` where None.

        Raises:
            InputError: If the text is no such algorithm, with line and column.
            CollectiveError: If the GPUs are not one for each rank, each once.
        """

    @staticmethod
    def from_mscclpp_json(
        text: str, file: str = "<text>", *, gpus: Sequence[int] | None = None
    ) -> Schedule:
        """Reads an execution plan of MSCCL++, anyone's, as its executor would load it.

        Args:
            text: The text itself.
            file: Its name in errors.
            gpus: The GPU of each rank; rank `i` is GPU `i` where None.

        Raises:
            InputError: If the executor would refuse the text or hang on it, with line and column.
            CollectiveError: If the GPUs are not one for each rank, each once.
        """

    @property
    def message_sizes(self) -> tuple[int, int, int] | None:
        """At which messages MSCCL++'s executor takes the plan: of what they are multiples, the least and
        the most, in bytes. None if it was not read from such a plan.
        """

    @property
    def name(self) -> str:
        """Gives the name that people call it by."""

    @property
    def collective(self) -> CollectiveName:
        """Returns the collective's name."""

    @property
    def root(self) -> int | None:
        """The GPU that alone has, or gets, the data; None where all are alike."""

    @property
    def gpus(self) -> list[int]:
        """Returns the GPU of each rank."""

    @property
    def tried(self) -> list[Tried]:
        """Lists the algorithms that `auto` tried: timed plans from the fastest on, then the others.

        Empty where an algorithm was named.
        """

    @property
    def protocol(self) -> ProtocolName:
        """Names the protocol of its connections: `LL`, `LL128` or `Simple`."""

    @property
    def chunks(self) -> int:
        """Into how many chunks it cuts a shard."""

    @property
    def shards(self) -> int:
        """How many shards the longest buffer of a rank has: a size must divide by it."""

    @property
    def input_shards(self) -> list[int]:
        """How many shards each rank's input has; none where the rank contributes nothing."""

    @property
    def channels(self) -> int:
        """How many channels it uses."""

    @property
    def step_count(self) -> int:
        """How many steps all ranks have together."""

    @property
    def in_place(self) -> bool:
        """Whether it may run with input and output in the same memory."""

    @property
    def out_of_place(self) -> bool:
        """Whether it may run with input and output apart."""

    @property
    def algorithm(self) -> str | None:
        """The algorithm that planned it; None if it was read from a file."""

    @property
    def links(self) -> str | None:
        """Its links: `nvlink`, `xgmi`, `pcie`, `hybrid` or `network`; None if it was read."""

    @property
    def rate(self) -> float | None:
        """Returns the rate that it reaches of the links' peak with long data, in GB/s of size; None if
        it was read.
        """

    @property
    def optimum(self) -> float | None:
        """The most that any of its kind could, in GB/s; None where that is not known."""

    @property
    def optimum_of(self) -> str | None:
        """Says which schedules have `optimum` as their optimum, such as `trees over NVLink`; None
        without one.
        """

    @property
    def optimum_in_switch(self) -> float | None:
        """Gives the most that `optimum`'s kind could with reductions and copies in the switch beside
        it, in GB/s. It is None where no switch does so for all of the GPUs (NVSwitches do from
        Hopper on), or it is not known.
        """

    def certificate(self) -> Certificate | None:
        """Finds why nothing passes `optimum`; None where there is none, or no proof of it is known.

        Raises:
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def verify(self, certificate: Certificate) -> None:
        """Checks by sums over the system's links that a certificate proves `optimum`.

        Args:
            certificate: The certificate.

        Raises:
            CollectiveError: If it does not, with the first thing that is wrong; or if there is no optimum.
        """

    @property
    def helpers(self) -> list[tuple[int, float, float, float]]:
        """Lists what the plan takes of GPUs outside the job that pass its data on while it flows at
        `rate`. Each has its id, and the GB/s that enter it (as much leaves). It has the part of all
        its NVLinks, and the part of that which is taken most.
        """

    @property
    def notes(self) -> list[str]:
        """Lists the planner's remarks: links that could not be used, weights that were rounded."""

    @property
    def trees(self) -> list[Tree]:
        """The trees behind it; empty for rings and ways, and if it was read from a file."""

    def check(self) -> CheckReport:
        """Proves that it brings about its collective, whatever the timing.

        Raises:
            ScheduleError: With the first fault and the step that has it.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def execute(
        self,
        arrays: Sequence[NDArray[Any] | Buffer | None],
        reduction: ReductionName = "sum",
        *,
        in_place: bool = False,
    ) -> list[NDArray[Any]]:
        """Runs it on real data, with a thread for each core.

        Args:
            arrays: The input of each rank. It is a NumPy array, or anything with its buffer protocol,
                of float32, float64, int32 or int64. None or empty where the rank has none.
            reduction: `sum`, `product`, `min` or `max`.
            in_place: Whether input and output share memory while it runs. The arrays that are
                given never change.

        Returns:
            The output of each rank as a NumPy array of one dimension.

        Raises:
            ScheduleError: If it does not check.
            CollectiveError: If the arrays do not fit it, or take more than 16 GiB together.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def execute_timed(
        self,
        arrays: Sequence[NDArray[Any] | Buffer | None],
        reduction: ReductionName = "sum",
        *,
        in_place: bool = False,
    ) -> tuple[list[NDArray[Any]], float]:
        """Executes as `execute` does, and also returns the seconds that the ranks took.

        These count the check that comes first, but no copies from or to Python.

        Raises:
            ScheduleError: If it does not check.
            CollectiveError: If the arrays do not fit it, or take more than 16 GiB together.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def reference(
        self, arrays: Sequence[NDArray[Any] | Buffer | None], reduction: ReductionName = "sum"
    ) -> list[NDArray[Any]]:
        """Computes the results that its collective must give for these inputs, without any schedule.

        Integers equal what `execute` gives. Floats are reduced in the order of the ranks, so
        that for `n` ranks a sum may differ by `n` units of its last place.

        Raises:
            CollectiveError: If the arrays do not fit the collective.
        """

    def time(
        self,
        size: int | str,
        *,
        system: System | None = None,
        chunk: int | str | None = None,
        protocol: ProtocolName | None = None,
        processes: ProcessesName | None = None,
    ) -> Timing:
        """How long it takes on a system's links.

        Args:
            size: Bytes, as nccl-tests counts them: the longest buffer of a rank.
            system: Whose links carry it; the one that it was planned for where None.
            chunk: The longest run of bytes that one step moves; where None it is found as Blink
                does (MIAD), and `Timing.chunk_trials` says what was tried.
            protocol: `LL`, `LL128` or `Simple`; its own where None.
            processes: How ranks are launched. `each` is a process for every rank, and `one` is a
                process with all GPUs, one after another. `group` is one that launches all at once,
                as NCCL up to 2.8 does. Where None, it is `one` within a server, unless its
                calibration says otherwise, and `each` between servers.

        Raises:
            CollectiveError: If the size does not divide into shards, the system has no path for a
                connection, or the schedule waits for ever.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def to_msccl_xml(
        self,
        *,
        min_bytes: int | str = 0,
        max_bytes: int | str | None = None,
        step_limit: int = 64,
        size: int | str | None = None,
    ) -> Export:
        """Writes the file that MSCCL's executors load.

        Args:
            min_bytes: The smallest call that may use it.
            max_bytes: The largest; no bound where None.
            step_limit: The most steps of a thread block that the executor was built for.
            size: The message in bytes for which a note gives the time of the form in the file. It
                is the time on the system that the schedule was planned for. No note where None.

        Raises:
            CollectiveError: If a limit of the executors would be passed, with the limit.
        """

    def to_mscclpp_json(
        self,
        *,
        min_bytes: int | str = 0,
        max_bytes: int | str | None = None,
        in_place: bool | None = None,
        threads_per_block: int = 1024,
        block_limit: int = 80,
        pieces: int | None = None,
        size: int | str = 67108864,
    ) -> Export:
        """Writes the execution plan that MSCCL++ loads.

        Args:
            min_bytes: The smallest message that may use it.
            max_bytes: The largest message. Where None, it is the most that offsets of 32 bits
                reach, which it never exceeds.
            in_place: Whether input and output are the same memory; where None, only if the
                schedule cannot run otherwise.
            threads_per_block: A multiple of 32, at most 1,024.
            block_limit: The most thread blocks of a rank: the multiprocessors of its GPU.
            pieces: The number of pieces into which the data is cut. They follow one another, since
                the executor runs a plan once over the whole message. Where None, the number that
                makes it the fastest at `size`, and one if the schedule was read from a file.
            size: The message in bytes for which the pieces are chosen and a note gives the rate.
                The executor wants units of 16 bytes. Where the chunks do not divide the message
                into these, shares are rounded so that they do, and notes give the cost.

        Raises:
            CollectiveError: If the format has no such collective, or a limit would be passed.
        """

    def to_dot(self) -> str:
        """Draws its trees side by side for Graphviz.

        Where there are none, it shows what every connection moves.
        """

    def steps(self) -> Table:
        """Returns one row per step.

        Columns: rank, block, step, channel, operation, send_to, receive_from, source,
        destination, count and after, the `block.step` of its rank that must have ended first.
        """

    def _repr_html_(self) -> str:
        """Its steps, below what it is."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Setting:
    """Describes a setting of a scenario: its possible values, and the value where it is absent."""

    @property
    def path(self) -> str:
        """Returns its table and key, as `system.network.nic`."""

    @property
    def key(self) -> str:
        """Returns its key alone."""

    @property
    def kind(self) -> str:
        """Names the kind of its values. Plain kinds are `text`, `file`, `truth`, `whole`, `number`,
        `factor`, `time`, `size` and `bandwidth`. Lists are `wholes` and `texts`. A `table`,
        `tables` or `free` holds keys; those of `free` are not settings. A `name` is one of `names`,
        and `names` are some of them; `name-or-other` allows others.
        """

    @property
    def unit(self) -> str:
        """The unit that its values end in, as people mean them; empty of what has none."""

    @property
    def names(self) -> list[str]:
        """The names that it may have; empty of what takes no names."""

    @property
    def range(self) -> tuple[int, int] | None:
        """The least and the most that it may be; None of what is no whole number."""

    @property
    def absent(self) -> str:
        """Returns the value that holds where it is absent, as it is written, or a phrase."""

    @property
    def help(self) -> str:
        """Describes it in a phrase."""

@final
class SimulationResult:
    """Holds the fate of each job under one policy."""

    @property
    def policy(self) -> str:
        """Returns the policy's name."""

    @property
    def run_time(self) -> RunTimeName:
        """Names the source of each job's run time: `formula`, `regression` or `played`."""

    @property
    def plans(self) -> int | None:
        """How many collectives were planned for jobs that were played.

        Those on GPUs that are joined alike share a plan. None where the formula said how long jobs
        ran.
        """

    @property
    def makespan(self) -> float:
        """Returns the seconds from time zero until the last job ended."""

    def jobs(self) -> Table:
        """Returns one row per job, in the jobs' order.

        The first columns are job, workload, gpu_count, pattern and sensitive. Then come arrival,
        start, finish, wait and run_time, all in seconds. Columns gpus, double_links, single_links
        and pcie_links follow. Bandwidths are in GB/s: aggregated_bandwidth,
        ideal_aggregated_bandwidth, effective_bandwidth, sound_bandwidth and preserved_bandwidth.
        The last are candidates and optimal. The two bandwidths that one GPU does not have are null
        there. They are null for a job of several servers, too, whose links and other bandwidths are
        those within servers. For a system of several servers a last column, servers, says in which
        the job ran. Where parts failed for a time, restarts counts how often a job began anew, and
        lost has the seconds that this cost it.
        """

    def tries(self) -> Table:
        """One row for each time in which a job held GPUs: a job that lost its own has several.

        Columns are job, start, finish (in seconds) and gpus.
        """

    def gpus_per_server(self) -> Table:
        """How many GPUs jobs of several servers held in a server, as Blink's histogram has it.

        Columns: gpu_count, parts, share. A job that held 8 and 4 GPUs is a part of each. There are no rows where
        every job ran in one server.
        """

    def fragments(self) -> Table:
        """Counts by GPUs in a server the jobs that had no others, and the parts of jobs that had.

        Columns: gpu_count, whole, parts, share. Rows go up to the most that was held. Jobs of one GPU do not count.
        """

    def nearness(self, system: System) -> Table:
        """Tells how near to one another the GPUs of jobs of several were, in the jobs' order.

        Columns: job, workload, gpu_count, servers, leaves (of these servers in the network), tensor_groups,
        tensor_within. A tensor group's ranks hold parts of the same layers of a model; the last column counts those
        within one server.

        Args:
            system: The system that the jobs ran on.

        Raises:
            SimulationError: If they ran on another.
        """

    def attribution(self) -> Table | None:
        """Splits the slowdown of each job, in the jobs' order; None unless that was asked for.

        Columns: job, gpu_count, alone, best, best_gpus, waiting, placement, neighbours, failure, slowdown, exposed. `alone` is the
        time alone on its GPUs, and `best` that on the best GPUs of the idle system, `best_gpus`. Both are in seconds.
        `slowdown` is its time from arrival to end over `best`. It is the product of `waiting`, `placement`, `neighbours`
        and `failure`, which is 1 where nothing fails.
        `exposed` is the share of its run time in which it only communicated.
        """

    def neighbours(self) -> Table | None:
        """Lists the neighbours that cost each job most, by the links that they share; None unless that was asked for.

        Columns: job, neighbour, cost (in seconds). The time that a job lost is divided among those that ran beside it. The ten
        dearest have rows. A job has none where it lost nothing, and where nobody knows, as among packets.
        """

    def time_parts(self, gpus: int) -> dict[str, Any]:
        """Gives where the time of the jobs goes, by the names of `TimeParts`.

        Args:
            gpus: How many GPUs of the system are in order.

        Raises:
            SimulationError: If no job ran.
        """

    def summary(self) -> dict[str, Any]:
        """Gives what the policy made of the jobs, by the names of `PolicySummary`, quartiles as five numbers.

        Raises:
            SimulationError: If no job ran.
        """

    def links(self, system: System) -> Table:
        """Counts the bytes of each direction of each link until all jobs had ended.

        Columns are link (its number in the system), from, to, kind, bandwidth (GB/s), data (bytes)
        and utilisation. Then come level, at, at_level, group and member, as `ClusterRun.links` has
        them, and link_kind. Links of the network have a row each. Links within servers have one if
        they carried something. Flows do not know the way through a dragonfly: there links between
        switches have null, unless packets are played. There is no row where a formula said how long
        jobs ran, and nothing was sent.

        Args:
            system: As told to `play_jobs`.

        Raises:
            SimulationError: If the jobs were played on another system.
        """

    def levels(self, system: System) -> Table:
        """Gives one row per level of links, from where messages enter the network to where they leave it.

        Columns: level, links, mean and most, as `ClusterRun.levels` has them.

        Args:
            system: As told to `play_jobs`.

        Raises:
            SimulationError: If the jobs were played on another system.
        """

    def device_loads(self, system: System) -> Table:
        """Counts the bytes that entered and left every network interface, NVSwitch and switch of the network.

        Columns: device, kind, received and sent (bytes), and utilisation. That is the share of the makespan in which its
        links would carry this at their full bandwidth, by the fuller way. Loads that are not counted are null.

        Args:
            system: As told to `play_jobs`.

        Raises:
            SimulationError: If the jobs were played on another system.
        """

    def link_times(self, system: System) -> Table:
        """Counts the bytes of each direction of each link in each span of time in which it carried something.

        Columns: link, from, to, begin and end (of the span, in seconds), data (bytes), and utilisation. That is the share of
        the span in which it would carry this at its full bandwidth.

        Args:
            system: As told to `play_jobs`.

        Raises:
            SimulationError: If the jobs were played on another system.
        """

    def named(self, name: str) -> SimulationResult:
        """The same under another name in place of the policy's, as one of several that are compared."""

    def to_json(self) -> str:
        """The whole result as JSON, which `from_text` reads back to the last bit."""

    @staticmethod
    def from_text(text: str) -> SimulationResult:
        """Reads the result that `to_json` of this version wrote.

        Raises:
            SimulationError: If the text is none.
        """

@final
class System:
    """Holds servers, and the network between them.

    One server stands alone. Several are on a network; a network without described servers has a
    node of GPUs at each port, all joined to each other. GPU ids count through the first server,
    then the second. Two systems are equal if their parts and the settings of their network are.

    Examples:
        >>> from linkwright import System
        >>> System("hgx-h100", 2, network="400Gb/s").gpu_count
        16
    """

    def __new__(
        cls,
        server: str
        | System
        | dict[str, Any]
        | Sequence[str | System | tuple[str | System, int]]
        | None = None,
        servers: int | None = None,
        *,
        network: str | Fabric | dict[str, Any] | None = None,
        files: dict[str, bytes] | None = None,
    ) -> System:
        """A system of servers by name, on a network by name; every setting has a default.

        Args:
            server: The kind of its servers: a name of `preset_names`, or a `System` of one server,
                which `System.from_text` and `read_system` read. Where they differ, a list of these,
                or of pairs with their number, as `[("dgx-a100", 2), mine]`. It may also be GPUs
                that are all joined to each other, one such node at each port of the network:
                `{"gpus": 4}`. Beside `gpus`, `bandwidth` and `latency` are of the link of each
                pair. `nics` is the number of interfaces of a node, each at a port.
            servers: How many there are; one where absent.
            network: The network that joins them. It is a name of `fabric_names`, the speed of the
                links of a single switch (`100 Gb/s`), a `Fabric`, or a dictionary. The dictionary
                has the keys of a scenario's `[network]`. These are `kind` with its parameters, such
                as `pods`, `groups`, `dimensions` and `bandwidth`, or `file`, and `bandwidth_scale`
                (2, `"x/4"`). Others are `routing`, `nic` (`fcfs`, `rr`, `rr-4`), `port_order`
                (`plain`, `rails`) and `arbitration` (`round-robin`, `age`, `priority`). The rest
                are `switching`, `packet_size`, `buffer_packets`, `router_delay` and `nic_delay`.
                Sizes that are left out are those of the smallest network that has the ports.
                Without a network, one server stands alone, and several are on a fat-tree.
            files: The content of each file that the network's keys name, by the name as written.

        Raises:
            MachineError: If there is no such server or network, or an argument is missing.
            InputError: If there is no such key or value; the message says what would work.
        """

    @staticmethod
    def from_text(
        text: str,
        file: str = "<text>",
        *,
        format: ImportFormatName | None = None,
        name: str | None = None,
        nvlink: str | None = None,
        pcie: str | None = None,
        xgmi_links: int | None = None,
        files: dict[str, bytes] | None = None,
    ) -> System:
        """A server from what nvidia-smi, rocm-smi or amd-smi prints, NCCL's XML, or our TOML.

        A TOML text that lists several servers and the switches between them is a system of these. So
        are the tables of a scenario that describe one, which `to_toml` writes.

        Args:
            text: The text itself.
            file: Its name in errors.
            format: `nvidia-smi`, `rocm-smi`, `amd-smi`, `nccl-xml` or `toml`; told from the text if
                absent.
            name: The server's name.
            nvlink: The NVLink generation that the text does not say, such as `nvlink3`. Where the
                text shows no NVLink, each GPU gets all of that generation to one NVSwitch.
            pcie: The PCIe generation that the text does not say, such as `pcie4`. It also counts
                for uplinks whose speed in the text is that of an idle or virtual bridge.
            xgmi_links: How many xGMI links join a pair of AMD GPUs.
            files: Of a system, the content of each file that the text names and does not hold itself.

        Raises:
            InputError: If the text is truncated, corrupt or of no known format, with its place.
            MachineError: If there is no such format or kind of link.
        """

    def with_gpus(
        self,
        *,
        power: float | str | None = None,
        clock: float | str | None = None,
        memory: int | str | None = None,
        bandwidth: float | str | None = None,
        sections: str | None = None,
        file: str = "<gpu>",
    ) -> System:
        """Gives the same system with other facts of its GPUs. Those that are left out are as in their models' files.

        `to_toml` writes the machine as it was.

        Args:
            power: Watts that each GPU draws at most, or a text such as `500 W`. Under matrix load its clock falls
                to what they allow. More than the data sheet's changes nothing.

            clock: Megahertz of its cores at most, or a text such as `1500 MHz`.

            memory: Bytes that it has, or a text such as `96 GiB`.

            bandwidth: GB/s of its memory, or a text such as `2.4 TB/s`.

            sections: TOML with sections of a GPU's file, which replace those of its model: `[chip]`, `[peak]`,
                `[memory]`, `[copy_engines]`, `[caches]` and `[power]`.

            file: Names that text in errors.

        Raises:
            InputError: If the sections are none, with line and column.
            MachineError: If nothing is known of what is changed, or a GPU at rest draws more.
        """

    def without(self, parts: Sequence[str]) -> System:
        """Gives the same system without some of its parts: absent, or failed.

        All other parts keep their ids and names. With a part goes what is of no use without it.
        That is a server's GPUs and interfaces with the server, a GPU that reaches no CPU, an
        interface whose port is cut off. `to_toml` of several servers writes the system as it was.

        Args:
            parts: Their names. `mlx5_3` is that device of every server, and `node1/mlx5_3` of one. `GPU0-GPU3` are
                all links of a pair, `node1` is a server, and `leaf2` a switch of the network.

        Raises:
            MachineError: If there is no such part, with those that there are. Also if servers are described by
                a few numbers, and not by their parts.
        """

    @property
    def lost_gpus(self) -> list[int]:
        """The ids of GPUs that `without` left out: no link joins them to anything."""

    def with_measured(self, text: str, file: str = "<measured>") -> System:
        """Gives the same server with bandwidths that were measured between its GPUs.

        A link that copies were measured to fill less than its kind has in proportion less, wherever
        the machine is used. A link that reaches what its kind does stays as it is. A GPU's links to
        switches have what its fastest pair reaches. Its PCIe link has what copies to the host
        reach.

        Args:
            text: The output of p2pBandwidthLatencyTest, nvbandwidth (also with `--json`) or
                rocm-bandwidth-test. Its GPUs are those at the same PCI addresses, or else of the
                same numbers.
            file: Its name in errors, and in the server's `source`.

        Raises:
            InputError: If the text has no such matrix, or one that is broken, with its place.
            MachineError: If it is no lone server, or one whose GPUs were changed by `with_gpus`.
        """

    def measured_links(self, text: str, file: str = "<measured>") -> tuple[Table, Table, list[str]]:
        """Tells what measured bandwidths say of its links and pairs of GPUs.

        Args:
            text: As `with_measured` takes it.
            file: Its name in errors.

        Returns:
            One row per link whose bandwidth was measured. Columns: a, b (the names of its ends), measured,
            nominal (GB/s in one direction). Then one row per pair that reaches less than three quarters of
            its like, which are joined in the same way, the worst first. Columns: a, b, link, measured, like
            (GB/s), others (how many are like it), title (of the matrix), line (of the text), sentence.
            Then what was skipped, in sentences.

        Raises:
            InputError: If the text has no such matrix, or one that is broken, with its place.
            MachineError: If it is no lone server.
        """

    @property
    def name(self) -> str:
        """Its name: that of the server where it is one, else such as `4xdgx1-v100 on fat-tree-16`.

        Where nodes of GPUs are at the network's ports, it is the network's.
        """

    @property
    def source(self) -> str:
        """Says where the descriptions of its servers come from."""

    @property
    def warnings(self) -> list[str]:
        """Lists probable faults in the description of a server, with a remedy for each.

        Every answer about the system hangs on it, unlike on an assumption.
        """

    @property
    def assumptions(self) -> list[str]:
        """Lists what had to be assumed because no source says it.

        The list begins with those of the servers by themselves. Those of the whole follow.
        """

    @property
    def network_words(self) -> str | None:
        """Tells of the network between its servers: `fat-tree of 400 Gb/s, as the interfaces`.

        Behind the speed of the servers' links stands where it comes from, unless it was named. None
        of a server that stands alone.
        """

    @property
    def assumed_speed(self) -> str | None:
        """Says that the speed of its network is assumed, since nobody named it; else None.

        With interfaces of known speed there is nothing to assume.
        """

    def narrow_interfaces(self, gpus: Sequence[int]) -> tuple[float, float] | None:
        """Gives GB/s that the widest interface reaches towards its host, and towards the network.

        It is told where no interface of a job's servers is wider towards its host: no faster network
        then carries more of the job's collectives. Else it is None.

        Raises:
            AllocationError: If a GPU is unknown.
        """

    @property
    def gpu_count(self) -> int:
        """How many GPUs it has: the most ranks that its jobs can have in all."""

    @property
    def server_count(self) -> int:
        """How many servers, or nodes, it has."""

    @property
    def nic_count(self) -> int:
        """How many network interfaces its servers have together."""

    @property
    def gpus_per_server(self) -> list[int]:
        """How many GPUs each server, or node, has."""

    @property
    def fabric(self) -> Fabric | None:
        """The network between its servers; None of a server that stands alone."""

    def servers(self) -> list[tuple[System, int]]:
        """Lists its servers in order, each by itself with the number of equal ones in a row.

        None where they are nodes of GPUs whose wiring nobody describes.
        """

    def server_of(self, gpu: int) -> int:
        """Which server a GPU is in, counted from 0.

        Raises:
            AllocationError: If the GPU is unknown.
        """

    def by_server(self, gpus: Sequence[int]) -> list[tuple[int, list[int]]]:
        """Which servers GPUs are in, and their ids there.

        Returns:
            Each server in its order, with its GPUs in the order given.

        Raises:
            AllocationError: If a GPU is unknown.
        """

    @property
    def routing(self) -> str | None:
        """The routing's name; None of a server that stands alone."""

    @property
    def nic(self) -> str | None:
        """The policy of the network interfaces; None of a server that stands alone."""

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that make the system, as far as they were given.

        A server that is no preset has a file's name, with an ending; its text is in `files`.
        """

    @property
    def files(self) -> dict[str, bytes]:
        """The content of each file that `settings` names, by the name as written."""

    @property
    def gpu_names(self) -> list[str]:
        """The GPUs' names, by id."""

    @property
    def gpu_models(self) -> list[str | None]:
        """The GPUs' products, by id; None where no source names one."""

    def devices(self) -> Table:
        """Returns one row per device: its kind, its links, its place, its ids, cores and memory."""

    def links(self) -> Table:
        """One row per bundle of links: its ends, kind, count, bandwidth and latency.

        They are the links of the first server, of the second, ..., then the network's.
        """

    def ports(self) -> Table:
        """Returns one row per network interface, in the order of the network's ports that they take.

        Columns: port, interface (its name), server, switch (at which the port is), bandwidth and
        latency of its link. Empty of a server that stands alone.
        """

    def gpu_places(self) -> list[GpuPlace]:
        """Says where each GPU sits: its PCI address, the cores, NUMA nodes and NICs near it."""

    def cpuset(self, gpus: Sequence[int]) -> str | None:
        """Returns the CPU cores near any of these GPUs, as a cpuset: `0-11,24-35`.

        None where the source does not name the cores near all of them.

        Raises:
            AllocationError: If a GPU is unknown.
        """

    def numa_nodes(self, gpus: Sequence[int]) -> str | None:
        """Returns the NUMA nodes near any of these GPUs, likewise.

        Raises:
            AllocationError: If a GPU is unknown.
        """

    @property
    def default_bandwidth_profile(self) -> BandwidthProfileName:
        """The bandwidth profile where none is chosen.

        `mapa` where MAPA's Table 1 covers the NVLinks and PCIe links, else `data-sheet`.
        """

    def gpu_matrix(
        self, bandwidth_profile: BandwidthProfileName | None = None
    ) -> list[list[tuple[str, float]]]:
        """Gives for each pair of GPUs the best link's label (`NV2`, `PCIe`) and bandwidth in GB/s.

        A GPU with itself is `("X", 0.0)`. Of 1,024 GPUs at most, since the pairs grow with their square:
        of a larger system ask one of its `servers()`.

        Raises:
            MachineError: If no path joins two GPUs, or there are more than 1,024.
        """

    def proximity(self) -> list[list[str]]:
        """Says for each pair of GPUs how far their host path reaches: PIX, PXB, PHB, NODE, SYS, or X.

        X is a GPU with itself. A pair without a host path is SYS, as far apart as can be.

        Raises:
            MachineError: If there are more than 1,024 GPUs.
        """

    def renumbering(self, other: System) -> list[int] | None:
        """Which GPU of `other` each GPU is, if their NVLinks make the same graph; else None."""

    def play(
        self,
        jobs: Sequence[ClusterJob],
        *,
        mapping: MappingName = "linear",
        fidelity: FidelityName = "packet",
        protocol: dict[str, Any] | None = None,
        collectives: dict[str, Any] | None = None,
        seed: int | None = None,
        timeline: int = 0,
        packets: int = 0,
        packets_link: str | None = None,
        packets_from: float = 0.0,
        packets_until: float | None = None,
        queues: int = 0,
        queue_window: float = 1e-06,
        messages_from: float = 0.0,
        messages_until: float | None = None,
        progress: Callable[[int, int, float, int], object] | None = None,
    ) -> ClusterRun:
        """Plays jobs on the system, which is idle at time zero, to their ends.

        Args:
            jobs: The jobs.
            mapping: `linear`, `contiguous`, `random-switches`, `random-nodes` or `random`, for the
                jobs that name no mapping of their own. Lists of GPUs go first, then jobs of each
                name in this order: linear ones take the lowest free GPUs, others by chance.
            fidelity: `packet`, every packet, or `flow`, messages as flows.
            protocol: The costs of messages in software: the keys of a scenario's `[protocol]`, such
                as `{"eager_limit": "64 KiB"}`.
            collectives: How collectives become messages: the keys of a scenario's
                `[collectives]`, such as `{"all_reduce": "planned"}`.
            seed: Of routing by chance and of random mappings.
            timeline: The number N of records of each kind that the run keeps. It keeps the first N
                intervals of computation, messages and stays in regions. `ClusterRun.computation`,
                `ClusterRun.messages` and `ClusterRun.regions` give them.
            packets: The most steps of packets that the run keeps for `ClusterRun.packets`, the first ones.
            packets_link: The link, such as `leaf0 to node3`; all where absent.
            packets_from: From which second on.
            packets_until: Until which second.
            queues: The most windows of time with packets that wait for a link that the run keeps
                for `ClusterRun.queues`. It keeps the first ones of the same link and span.
            queue_window: How many seconds such a window lasts.
            messages_from: From which second on messages are sent that the timeline keeps and counts.
            messages_until: Until which second.
            progress: Called about every 100 ms with operations done, operations in all,
                simulated seconds, and events that the model of the network has handled.

        Raises:
            InputError: If a key or a name is unknown; the message says what would work.
            SimulationError: If the jobs do not fit or do not come to an end; the message names
                rank, call, peer, tag and time.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def skeleton(
        self,
        application: ApplicationName,
        ranks: int,
        *,
        mapping: str | Sequence[int] | None = None,
        seed: int = 0,
        parameters: dict[str, Any] | None = None,
    ) -> Program:
        """Makes a program as `Program.skeleton` does, of ranks that stand in the network of this system.

        Messages of `synthetic` go by where ranks stand under the pattern `adversarial`. Other
        applications have the same program as without places.

        Args:
            application: One of `applications`.
            ranks: How many ranks it has.
            mapping: A placement, as for `play`, or the GPU of each rank; `linear` where absent.
            seed: Of random mappings; the one with which the job is played.
            parameters: The application's parameters, such as `{"pattern": "adversarial"}`.

        Raises:
            SimulationError: If there is no such application, it has no such parameter, or it cannot
                run on that number of ranks. Where messages go by places, also if the ranks do not fit
                on the system or it has no network.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def traffic(
        self,
        pattern: TrafficName = "uniform",
        *,
        loads: Sequence[float] = ...,
        in_flight: Sequence[int] = ...,
        message: int | None = None,
        warm_up: int = 500,
        window: int = 1000,
        hot: float = 0.1,
        seed: int = 0,
        progress: Callable[[int, int, float, int], object] | None = None,
    ) -> Table:
        """Plays synthetic traffic between the ports of the network, packet by packet, under each load.

        Each port has a node of one GPU: `System({"gpus": 1}, network=...)`. Under a rate a node sends a
        message in each slot with a chance, the load. A slot is the time that its link takes for one. In a
        closed loop it has a number of messages under way. Arrivals in the window behind the warm-up
        count, and messages sent in the window are followed for as long again.

        Args:
            pattern: Who sends to whom: `uniform`, `permutation`, `tornado`, `neighbour`, `adversarial`
                or `hot-spot`.
            loads: Shares of a node's link. Each is above 0, up to 1.
            in_flight: Numbers of messages. Each node has them under way, in a closed loop.
            message: How large each is, in bytes. It is one packet where absent.
            warm_up: How many slots pass before anything counts.
            window: How many slots follow. Arrivals are counted over these.
            hot: Which part of all messages goes to the hot spot. It is node 0.
            seed: Of all choices by chance.
            progress: Called about every 100 ms, as by `replay`.

        Returns:
            One row for each load, then for each number in flight. Columns: load, in_flight, offered and
            accepted (as shares of what the nodes' links carry). In seconds: latency (the mean), p50,
            p99, longest and latency_alone (without load). Then: messages, unfinished (that did not
            arrive in time), longest_queue (packets that waited for one channel).

        Raises:
            SimulationError: If there is no such pattern, if it does not fit the network, or if a
                load is out of range.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def to_toml(self) -> str:
        """A server that stands alone as text that `from_text` reads back to an equal system.

        With a network, the `[network]` and `[[system.server]]` of a scenario that make the system,
        which `from_text` reads back, too. Servers that are no presets are files in its `[files]`.
        """

    def to_text(self, format: ExportFormatName) -> str:
        """Writes a server as the text that its own tools would print.

        `from_text` reads it back, as far as the format can say the server.
        Of several servers alike, on a network, it writes the text of one.

        Args:
            format: `nvidia-smi`, `rocm-smi` or `nccl-xml`.

        Raises:
            MachineError: If there is no such format, if it cannot say the server, or if the servers
                are of several kinds.
        """

    def text_notes(self, format: ExportFormatName) -> list[str]:
        """Says what `to_text` leaves out of this server or had to make up, such as PCI addresses.

        Args:
            format: `nvidia-smi`, `rocm-smi` or `nccl-xml`.

        Raises:
            MachineError: As `to_text`.
        """

    def to_json(self) -> str:
        """The system as JSON: all devices, and links by the names of the devices that they join."""

    def to_dot(self) -> str:
        """Draws the system for Graphviz."""

    def _repr_html_(self) -> str:
        """A drawing of the system; of a large server that stands alone, its devices."""

    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Table:
    """Columns with names and units, for any library that reads Arrow.

    `pyarrow.table(t)`, `polars.DataFrame(t)` and DuckDB read it without a copy; the unit of a
    column is its field's metadata under the key "unit". A row is a dictionary: `len(t)` counts
    them, iteration goes through them, and `t[0]` is the first. A notebook and `print` show them.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...
    def __getitem__(self, row: int, /) -> dict[str, Any]: ...
    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`; needs pandas and pyarrow.

        Raises:
            LinkwrightError: If one of them is not installed.
        """

    def to_polars(self) -> Any:
        """The table as a `polars.DataFrame`; needs polars.

        Raises:
            LinkwrightError: If it is not installed.
        """

    def _repr_html_(self) -> str: ...
    @property
    def num_rows(self) -> int:
        """How many rows it has."""

    @property
    def column_names(self) -> list[str]:
        """The names of its columns, from the left."""

    def __arrow_c_schema__(self) -> CapsuleType:
        """Returns the schema as an Arrow C schema in a capsule."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType:
        """Returns the rows as an Arrow C stream in a capsule.

        A requested schema is only a wish, and the protocol lets a producer pass it over.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Floorplan:
    """Describes a package: layers on one another, blocks that make heat within them, and a sink.

    Lengths are in mm, power in W, resistances in K/W, temperatures in degrees Celsius.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @staticmethod
    def from_text(text: str, file: str = "<text>") -> Floorplan:
        """Reads a floorplan from its TOML text; `file` names the text in errors.

        Raises:
            InputError: If the text is no floorplan, or blocks overlap or leave the interposer, with
                line and column.
        """

    @property
    def name(self) -> str:
        """Returns its name."""

    @property
    def source(self) -> str:
        """Where its numbers come from; empty where the file does not say."""

    @property
    def assumptions(self) -> list[str]:
        """Lists the points that the source leaves open, and how they are taken."""

    @property
    def width(self) -> float:
        """Measures the interposer from left to right."""

    @property
    def height(self) -> float:
        """Measures the interposer from front to back."""

    @property
    def ambient(self) -> float:
        """Returns the temperature of the air."""

    @property
    def power(self) -> float:
        """The heat of all blocks."""

    @property
    def sink(self) -> float:
        """Returns the sink's resistance, from the topmost layer to the air."""

    @property
    def sink_coefficient(self) -> float:
        """Returns the same by area, as a heat transfer coefficient in W/(m2 K)."""

    @property
    def board(self) -> float | None:
        """The resistance from the lowest layer to the air; None where no heat goes that way."""

    def blocks(self) -> Table:
        """Returns one row for each block.

        Columns are name, layer, x and y (its left and front edge), width, height, power,
        conductivity (sideways, in W/(m K)) and vertical_conductivity.
        """

    def layers(self) -> Table:
        """Returns one row for each layer, from the board up.

        Columns: name, thickness, width, height, cells (that its thickness is divided into),
        conductivity (sideways, in W/(m K)), vertical_conductivity.
        """

    def with_sink(self, resistance: float) -> Floorplan:
        """Copies the package with another sink.

        Raises:
            SimulationError: If no sink has that resistance.
        """

    def with_ambient(self, temperature: float) -> Floorplan:
        """Copies the package into other air.

        Raises:
            SimulationError: If no air has that temperature.
        """

    def solve(self, cells: int = 256) -> ThermalMap:
        """The temperatures that the package comes to.

        Args:
            cells: Of the interposer, each way.

        Raises:
            SimulationError: If there are none, or more than memory holds.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def sink_for(self, temperature: float, cells: int = 256) -> ThermalMap:
        """The temperatures under the sink that lets the hottest place come to `temperature`; the
        sink is that of the map's floorplan.

        Args:
            temperature: Of the hottest place.
            cells: Of the interposer, each way.

        Raises:
            SimulationError: If no sink does, or as for `solve`.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class ThermalMap:
    """Holds the temperatures of a package, in degrees Celsius.

    It is pickled as what it was found from, and is found again when it is loaded.
    """

    @property
    def floorplan(self) -> Floorplan:
        """Returns the package that it shows."""

    @property
    def maximum(self) -> float:
        """Returns the temperature of the hottest cell."""

    @property
    def hottest_block(self) -> str | None:
        """The block that the hottest cell of all blocks is in; None where there are no blocks."""

    @property
    def sink_heat(self) -> float:
        """The heat that leaves by the sink, in W."""

    @property
    def board_heat(self) -> float:
        """The heat that leaves through the board, in W."""

    @property
    def cells(self) -> int:
        """Counts the cells of the interposer, each way."""

    @property
    def cell_count(self) -> int:
        """Counts the cells of all layers, those beyond the interposer too."""

    @property
    def rounds(self) -> int:
        """Counts the rounds of conjugate gradients that it took."""

    @property
    def unaccounted(self) -> float:
        """The share of the heat that is unaccounted for in single cells, summed without signs."""

    def blocks(self) -> Table:
        """Returns one row for each block.

        Columns are name, layer, power, power_density (in W/mm2), maximum, mean, minimum, x and y
        (the middle of its hottest cell, in mm).
        """

    def layers(self) -> Table:
        """Returns one row for each layer, from the board up.

        Columns are name, maximum, mean, minimum, x and y (the middle of its hottest cell, in mm).
        """

    def temperatures(self, layer: str) -> Table:
        """Returns one row for each cell of a layer, from left to right, then from front to back.

        Columns are x and y (the middle, in mm), width, height and temperature (the highest of the
        cells that lie on one another there).

        Raises:
            SimulationError: If there is no such layer.
        """

@final
class Timing:
    """How long a schedule takes on a system."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @property
    def size(self) -> int:
        """Returns the data in bytes, as nccl-tests counts it: the longest buffer of a rank."""

    @property
    def chunk(self) -> int:
        """The longest run of bytes that one step moves."""

    @property
    def pieces(self) -> int:
        """Counts the pieces of the data that follow one another through the steps."""

    @property
    def protocol(self) -> ProtocolName:
        """The protocol whose latencies and losses were counted: `LL`, `LL128` or `Simple`."""

    @property
    def time(self) -> float:
        """Returns the seconds from the launch to the last byte's arrival."""

    @property
    def algorithm_bandwidth(self) -> float:
        """Returns size over time, in GB/s (nccl-tests' algbw)."""

    @property
    def bus_bandwidth(self) -> float:
        """Returns the same times the collective's factor, in GB/s (nccl-tests' busbw)."""

    @property
    def chunk_trials(self) -> list[tuple[int, float]]:
        """The chunk sizes that were tried, in bytes, with the algorithm bandwidth of each in GB/s.

        In the order in which they were tried; empty where the chunk was given.
        """

    def links(self) -> Table:
        """Returns one row per direction of a link that carried something.

        Columns: from, to, kind, bytes and utilisation, which is their share of what the link
        could have carried in the time.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class NeuralNetwork:
    """A network that is trained, layer by layer; numbers are of one sample."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @staticmethod
    def find(name: str) -> NeuralNetwork:
        """The network of a name of `neural_networks`; upper and lower case are one, and hyphens may
        be left out.

        Raises:
            SimulationError: If there is none; the message names the nearest.
        """

    @staticmethod
    def from_text(text: str, file: str = "<text>") -> NeuralNetwork:
        """Reads a network from its TOML text; `file` names the text in errors.

        Raises:
            InputError: If the text is no network, or its layers do not meet, with line and column.
        """

    @property
    def name(self) -> str:
        """Returns its name, with its variant where it has several."""

    @property
    def source(self) -> str:
        """Where it was published; empty where the file does not say."""

    @property
    def assumptions(self) -> list[str]:
        """Lists the points that the source leaves open, and how they are taken."""

    @property
    def input(self) -> str:
        """Returns the shape of one sample, such as `3 x 224 x 224`."""

    @property
    def samples(self) -> str:
        """Says how to call its samples: `images`, `sequences` or `samples`."""

    @property
    def tokens(self) -> int | None:
        """Tokens of a sample; None where samples are no sequences."""

    @property
    def parameters(self) -> int:
        """Counts the trained numbers."""

    @property
    def multiply_adds(self) -> int:
        """Counts the multiply-adds of the forward pass."""

    @property
    def saved(self) -> int:
        """Numbers that are kept for the backward pass."""

    @property
    def epoch(self) -> int | None:
        """Samples of an epoch of the dataset that it is usually trained on; None where none is named."""

    def with_input(
        self, *, size: int | None = None, channels: int | None = None, tokens: int | None = None
    ) -> NeuralNetwork:
        """Copies the network for images of another size, or sequences of another length.

        Args:
            size: Points of an image, each way.
            channels: Channels of an image, with `size`; those that it has where absent.
            tokens: Tokens of a sequence.

        Raises:
            SimulationError: If its samples are none of these, or a layer cannot take the shape.
        """

    def layers(self) -> Table:
        """Returns one row for each layer.

        Columns: name, kind, inputs, output, block (that is repeated, counted from 0), parameters,
        multiply_adds, elementwise (other operations), activations, saved (for the backward pass).
        """

    def to_json(self) -> str:
        """Writes all of it as JSON: its input's shape and every layer. A layer has its keys, its
        inputs by their places in the list (null is the network's), its output's shape and the
        values that follow.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class TrainingStep:
    """Holds a step of training on some GPUs of a system, with the work of each: computing, copying and
    reducing.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(
        cls,
        network: NeuralNetwork,
        system: System,
        gpus: Sequence[int],
        *,
        batch: int,
        way: TrainingWayName = "all-reduce",
        precision: PrecisionName = "fp32",
        gradients: PrecisionName | None = None,
        optimizer: OptimizerName = "momentum",
        framework: FrameworkName = "pytorch",
        overlap: bool = True,
        bucket: int | str | None = None,
        micro_batches: int | None = None,
        host_copies: bool = True,
        terms: str | None = None,
        measured: str | None = None,
        trace: KernelTrace | None = None,
        trace_samples: int | None = None,
        shared_memory: MemorySystemName = "tsm-wt-c-rc",
        shared_bandwidth: float | str | None = None,
    ) -> TrainingStep:
        """Makes a step.

        Args:
            network: The network to train.
            system: The system to train it on.
            gpus: Ids in the system, in the order of the ranks.
            batch: Samples of the step, over all GPUs.
            way: How data moves between the GPUs.
            precision: The numbers that are multiplied.
            gradients: The numbers that gradients are kept and reduced in; those of `precision` where
                absent. PyTorch's automatic mixed precision keeps and reduces `fp32`.
            optimizer: The rule that turns gradients into weights.
            framework: Whose costs around kernels count.
            overlap: Whether gradients are reduced while others are computed.
            bucket: Bytes of gradients that are reduced at once, 0 for every layer's apart; the
                framework's where absent.
            micro_batches: Parts of the batch that follow one another through a pipeline; four times
                the GPUs where absent.
            host_copies: Whether samples are copied from the host in every step.
            terms: The speeds that kernels reach and the costs of frameworks, as TOML like
                `training_terms`, which counts where absent.
            measured: Times of layers that replace the model's, as comma-separated values: layer,
                forward, backward, update and the like. They are of the samples that one GPU
                computes at once.
            trace: A trace of the same network, by which layers take as long as was measured.
            trace_samples: Samples that a GPU computed at once in the trace; as many as now where absent.
            shared_memory: How GPUs share memory under `tsm`, as for `GpuSystem`; of those under relaxed
                consistency.
            shared_bandwidth: Of each GPU to that memory, each way, in GB/s; that of `GpuSystem` where
                absent.

        Raises:
            InputError: If the terms or the measured times are none, with line and column.
            MachineError: If a GPU's model is not known well enough.
            OutOfMemoryError: If a GPU's memory does not hold the step.
            SimulationError: If the batch does not divide, the GPUs cannot go that way or do not
                calculate with such numbers, or a choice is unknown.
        """

    @property
    def program(self) -> Program:
        """Returns the program of every rank."""

    def collectives(self) -> list[tuple[str, int]]:
        """Lists the collectives of the step, each once, with the bytes that each GPU contributes."""

    @property
    def ratios(self) -> KernelRatios | None:
        """How many times as long as by the model kernels took in the trace that was given; None without one."""

    @property
    def has_root(self) -> bool:
        """Tells whether a collective of the step has a root."""

    def representatives(
        self, system: System
    ) -> tuple[Program, list[tuple[int, int]], list[list[int]], list[tuple[int, float]]] | None:
        """Returns the program of a few servers. Each stands for all that do the same. In it each
        collective lasts as long as NCCL's does on idle links. Returns for each of its ranks the
        step's rank that it is, and how many ranks it stands for. Returns also all servers that each
        of these servers stands for, and how many bytes each link carries in collectives.

        None where collectives are not all that joins the GPUs, or their models differ.

        Raises:
            CollectiveError: If no links join the GPUs.
            SimulationError: If the system is too small.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """

    @staticmethod
    def way_meant(name: str) -> str | None:
        """Names the way to communicate that other frameworks call by a name, such as `zero3`.

        Args:
            name: In any case, with hyphens or without.

        Returns:
            The way's name here; None where there is none.
        """

    @property
    def samples_at_once(self) -> int:
        """Samples that one GPU computes at once."""

    @property
    def gpus(self) -> list[int]:
        """Returns the GPUs by their ids in the system."""

    @property
    def way(self) -> str:
        """How data moves between them."""

    @property
    def traffic(self) -> tuple[int, int] | None:
        """Counts the bytes that all GPUs' kernels read of the memory which they share, and those that they
        write; None where they share none.
        """

    @property
    def assumptions(self) -> list[str]:
        """Tells in sentences which assumptions are made of the GPUs."""

    @property
    def models(self) -> list[str]:
        """Lists the models of the GPUs."""

    @property
    def copy_cost(self) -> float:
        """Returns the seconds that a copy between GPUs costs on the host."""

    def layers(self, model: str) -> Table:
        """One row for each layer: how long it computes on a GPU of a model, in seconds.

        Columns are name, kind, forward, backward and update.

        Raises:
            SimulationError: If none of the GPUs is of that model.
        """

    def memory(self) -> Table:
        """One row for each GPU: the bytes of its memory during training, by what they are for.

        Columns are gpu, context (the framework's own), weights, gradients, optimizer, aggregation
        (of the gradients of all GPUs) and gathered (of others, for a while). Then come samples,
        activations, workspace, before (the first step, in all) and total (while it trains).
        """

    def computing(self, model: str) -> tuple[float, float, float]:
        """Seconds that a GPU of a model computes: forward, backward, and new weights."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Tree:
    """Holds a spanning tree of a job's GPUs and its share of the data."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @property
    def root(self) -> int:
        """Returns the GPU at its root."""

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Lists its edges from the root outwards, each as the nearer GPU and the farther one."""

    @property
    def depth(self) -> int:
        """Returns the most edges between the root and a GPU."""

    @property
    def share(self) -> float:
        """Its part of the data that all trees carry, from 0 to 1."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Tried:
    """Tells of an algorithm that `plan` tried, and of the outcome."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @property
    def algorithm(self) -> str:
        """Returns the algorithm's name."""

    @property
    def protocol(self) -> str | None:
        """The protocol with which its plan is the fastest; None where it was not timed."""

    @property
    def chunk(self) -> int | None:
        """The longest run of bytes that a step of its plan moves; None where it was not timed."""

    @property
    def time(self) -> float | None:
        """Seconds that its plan takes; None where it was not timed."""

    @property
    def least_time(self) -> float | None:
        """Returns the seconds that it takes at least. This is given where another plan is faster
        still, so that it was not planned; else None.
        """

    @property
    def reason(self) -> str | None:
        """Why it has no plan; None where it has one, or was not planned since another is faster."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

def policy_names() -> list[PolicyName]:
    """Lists the allocation policies, in the order of the paper's tables."""

def published_effective_bandwidth(double: int, single: int, pcie: int) -> float:
    """Computes the predicted bandwidth in GB/s for given numbers of links of each class, by MAPA's Eq.
    2 with Table 2.

    Raises:
        AllocationError: If a number is negative.
    """

def tie_names() -> list[TieName]:
    """Lists the rules that decide between equals, which `ties` takes."""

def calibrate(
    system: System,
    log: NcclTestsLog,
    gpus: Sequence[int],
    collective: CollectiveName,
    *,
    root: int | None = None,
    nccl: str | None = None,
    nvls: bool = True,
    p2p: bool = True,
    algorithm: NcclAlgorithmName | None = None,
    protocol: ProtocolName | None = None,
    processes: ProcessesName | None = None,
    numbers: NumberTypeName | None = None,
    operation: NcclOperationName | None = None,
    cross_nic: int = 2,
    pxn: bool = True,
    gpudirect: bool = True,
) -> tuple[System, Table, Table]:
    """Fits what differs on a machine to a log of nccl-tests.

    The rate of its links, the rate of its switches when they reduce, and the time of a launch are
    fitted. A value is fitted where the log's sizes tell it. `linkwright.nccl_tests.calibrate_log`
    has the same as dataclasses.

    Args:
        system: The machine, as it is known.
        log: The measurements: one run that went well, of three sizes or more.
        gpus: On which GPUs, by their ids.
        collective: One of `collective_names`.
        root: As for `plan`.
        nccl: As for `expect`.
        nvls: As for `expect`.
        p2p: As for `expect`.
        algorithm: As for `expect`.
        protocol: As for `expect`.
        processes: As for `expect`; as the log tells if absent.
        numbers: As for `expect`; that of the log if absent.
        operation: As for `expect`; that of the log if absent.
        cross_nic: As for `expect`.
        pxn: As for `expect`.
        gpudirect: As for `expect`.

    Returns:
        The run's kind of server with what was measured of it, which `to_toml` writes; one row per term:
        its name in that file, before and after (a part of the peak, or seconds where is_time says so;
        NaN where the log does not tell it), its uncertainty as a part of it, and the reason where it is
        not told; and one row per size: size in bytes, measured, before and after in seconds, and the
        line of the log.

    Raises:
        InputError: If the log is of a run that failed, of several runs or of too few sizes. Also if
            it is of another collective or another number of GPUs. The error names the line.
        CollectiveError: If it tells no term, the GPUs are in servers of several kinds, or as `expect`.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """

def error_likeness(
    system: System, gpus: Sequence[int], *, p2p: bool = True
) -> tuple[str, str, str]:
    """Tells what the error of a job's times depends on, whatever it runs.

    Args:
        system: The system.
        gpus: The job's GPUs by their ids.
        p2p: As for `expect`.

    Returns:
        The model of the GPUs, what joins them (a kind of links, host memory, or the network), and the
        library. Empty where GPUs differ in that.

    Raises:
        CollectiveError: If the GPUs do not fit the system.
    """

def time_errors(
    system: System,
    gpus: Sequence[int],
    sizes: Sequence[int | str],
    *,
    collective: CollectiveName | None = None,
    algorithms: Sequence[str] | None = None,
    p2p: bool = True,
    without: str | None = None,
) -> Table:
    """How far off a collective's times are, by size: their error bars.

    They are the errors of predictions for systems that were left out of the clock's fit
    (docs/concepts/calibration.md). The rows are alike in what joins the GPUs, the collective, the
    algorithm, the number of servers and the size's decade. Where too few are, they are of a wider
    group. On a calibrated machine they are those that its log was left with.

    Args:
        system: The system.
        gpus: The job's GPUs by their ids.
        sizes: Bytes, as nccl-tests counts them.
        collective: One of `collective_names`. Bars are of any collective if absent.
        algorithms: For each size what the library runs, as `expect` names it. Bars are of any algorithm
            if absent.
        p2p: As for `expect`.
        without: The name of a measured system. Its rows do not count, to see what bars are worth there.

    Returns:
        One row per size: size in bytes; median and ninetieth, by which half and nine of ten of the times
        were off at most, as parts of what was measured; rows, how many were measured; and basis:
        `measured` of the same GPUs, as many, and the same collective; `alike` of GPUs that the same links
        join; `never-measured` of all others; and `own-log`.

    Raises:
        CollectiveError: If the GPUs do not fit the system.
        ValueError: If there are not as many algorithms as sizes.
    """

def choice_names() -> dict[str, list[str]]:
    """The names of every closed choice, by what they choose: a list for each, as the core has it.

    The kinds of allocation and servers are bandwidth_model, bandwidth_profile, gpu_speed, pattern,
    policy, run_time, server_choice and tie. The kinds of collectives are algorithm, collective,
    export_format, import_format, links, nccl_algorithm, nccl_operation, planner, protocol and
    reduction. The kinds of networks are arbitration, discipline, fidelity, mapping, network, order,
    routing and traffic. The kinds of GPUs and kernels are benchmark, distribution, dram, flags,
    kernel, kernel_precision, kernels, litmus_test, memory_system and number_type. The kinds of
    programs and training are application, context_exchange, framework, lora_target,
    model_precision, optimizer, precision, processes, training_way and workload.
    """

def comparison_gains(
    names: Sequence[str], found: str, reference: str, choices: Sequence[str]
) -> list[tuple[str, str, tuple[float, float | None, float | None]]]:
    """Gives by how much variants of a scenario are better than one of them, in each measure.

    Each is a name, a measure, the mean over seeds and the ends of its interval. Choices that were played alone come
    first, then their sum and what is left over.

    Args:
        names: Name the variants. The scenario as written is the first.
        found: Is JSON of `Scenario.outcome`. Each variant has a list by seed.
        reference: Is the one to compare with.
        choices: Are those of one choice.

    Raises:
        SimulationError: If `found` is of another version, or has no reference.
    """

def comparison_measures() -> list[tuple[str, str, str, bool | None]]:
    """Lists what runs of a comparison come to.

    Each has a name, a name for people, a unit, and whether less is better. This is None where nothing is.
    """

def five_number_summary(values: Sequence[float]) -> tuple[float, float, float, float, float]:
    """Gives the five numbers that a box plot draws of values: minimum, quartiles, maximum.

    Between two values they are interpolated linearly.

    Raises:
        SimulationError: If there is no value.
    """

def mean_over_seeds(
    values: Sequence[float | None],
) -> tuple[float, float | None, float | None] | None:
    """Gives the mean of a value for each seed and the ends of its bootstrap interval; these are None of one seed.

    None where a seed has no value, or there is no seed.
    """

def policy_speedups(
    results: Sequence[SimulationResult], reference: str
) -> list[tuple[str, tuple[float, float, float, float, float], float]]:
    """Says how much faster each policy is than one of them: above one is faster.

    Each has its name, five ratios of run times, and the ratio of its jobs per hour. The five are of quartiles, reference
    by policy, minimum to maximum, as in MAPA's Table 3. The run times are of sensitive jobs of two or more GPUs. Where
    there are none, under a policy or the reference, the policy is left out.

    Args:
        results: Hold what the policies made of the same jobs.
        reference: Is the policy to compare with.

    Raises:
        SimulationError: If no result is of the reference, or one has no jobs.
    """

def program_speedups(
    found: Sequence[tuple[float, Sequence[tuple[str, float]]]], reference: int
) -> list[tuple[int, str | None, float, float | None]]:
    """Says how much faster programs are under each variant than under one of them: above one is faster.

    Each row has a variant's index, a job's name, its seconds, and how many times as fast it is. This is None where the
    reference has no job of that name. Behind the jobs of a variant comes its makespan, whose name is None.

    Args:
        found: Holds each variant's makespan, and its jobs with their seconds.
        reference: Is the index of the one to compare with.

    Raises:
        SimulationError: If there is no such reference.
    """

def share_saved(before: float | None, after: float | None, less_is_better: bool) -> float | None:
    """Gives by how much something is better, as a share of what it was; below zero where it is worse.

    None where that cannot be said: of nothing that has become something.
    """

def reduction_names() -> list[ReductionName]:
    """The reductions that `Schedule.execute` knows by name."""

def choice_doubts(
    system: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    sizes: Sequence[int | str],
    *,
    root: int | None = None,
    nccl: str | None = None,
    nvls: bool = True,
    p2p: bool = True,
    algorithm: NcclAlgorithmName | None = None,
    protocol: ProtocolName | None = None,
    processes: ProcessesName | None = None,
    numbers: NumberTypeName | None = None,
    operation: NcclOperationName | None = None,
    cross_nic: int = 2,
    pxn: bool = True,
    gpudirect: bool = True,
) -> list[str]:
    """Says where NCCL's choice and linkwright's clock do not agree.

    Where the clock says that a choice is over 20 % slower than the next in NCCL's own model, one of
    the two is wrong. Of all sizes with the same two choices the largest is played; on more than 128
    GPUs none is.

    Args:
        system: As for `expect`.
        gpus: As for `expect`.
        collective: As for `expect`.
        sizes: As for `expect`.
        root: As for `plan`.
        nccl: As for `expect`.
        nvls: As for `expect`.
        p2p: As for `expect`.
        algorithm: As for `expect`.
        protocol: As for `expect`.
        processes: As for `expect`.
        numbers: As for `expect`.
        operation: As for `expect`.
        cross_nic: As for `expect`.
        pxn: As for `expect`.
        gpudirect: As for `expect`.

    Returns:
        A sentence for each such pair, with both times.

    Raises:
        CollectiveError: As for `expect`.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """

def expect(
    system: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    sizes: Sequence[int | str],
    *,
    root: int | None = None,
    nccl: str | None = None,
    nvls: bool = True,
    p2p: bool = True,
    algorithm: NcclAlgorithmName | None = None,
    protocol: ProtocolName | None = None,
    link_bandwidth: float | str | None = None,
    network_bandwidth: float | str | None = None,
    processes: ProcessesName | None = None,
    numbers: NumberTypeName | None = None,
    operation: NcclOperationName | None = None,
    terms: str | None = None,
    cross_nic: int = 2,
    pxn: bool = True,
    gpudirect: bool = True,
) -> Table:
    """Returns the choices of NCCL, or of RCCL on AMD's GPUs, for a collective of each size.

    The library's own cost model, with the constants of a release, chooses; `nccl_choices` has all
    that there was to choose from.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids, two or more.
        collective: One of `collective_names`.
        sizes: Bytes, as nccl-tests counts them.
        root: As for `plan`.
        nccl: The library's version, such as `2.21.5`; the newest that is known if absent.
            `nccl_release` says whose rules that takes.
        nvls: Whether NVSwitches may reduce (`NCCL_NVLS_ENABLE`).
        p2p: Whether GPUs reach each other directly (not `NCCL_P2P_DISABLE`).
        algorithm: The only one, `ring`, `tree` or `nvls` (`NCCL_ALGO`).
        protocol: The only one, `LL`, `LL128` or `Simple` (`NCCL_PROTO`).
        link_bandwidth: GB/s that one link between GPUs was measured to reach in a direction:
            NVLink or xGMI, else PCIe.
        network_bandwidth: GB/s that a server's network interfaces were measured to reach
            together.
        processes: `each` rank its own, or `one` for all GPUs, which launches on one after the other
            (up to NCCL 2.8 as a `group`). Where absent, it is as nccl-tests is usually run: `one`
            on a lone server.
        numbers: The type of the numbers, by nccl-tests' names (`int8`, `half`); `float` if absent.
        operation: The reduction, by nccl-tests' names (`max`, `avg`); `sum` if absent.
        terms: The costs of kernels, as TOML in the form of `kernel_terms`; linkwright's own if
            absent.
        cross_nic: Whether rings and trees may leave a server by another interface than they entered
            by (`NCCL_CROSS_NIC`). 0 is never, 1 is always, and 2 is where that carries more.
        pxn: Whether GPUs far from an interface send by one that is near, over NVLink (not
            `NCCL_PXN_DISABLE`); from NCCL 2.12 on.
        gpudirect: Whether interfaces read and write the memory of GPUs (not `NCCL_NET_GDR_LEVEL=LOC`);
            else data goes by the host's memory.

    Returns:
        One row per size: size in bytes, time in seconds, algorithm_bandwidth and bus_bandwidth
        in GB/s as nccl-tests defines them. The others are what the library runs: algorithm,
        protocol, the number of channels and the chunk in bytes.

    Raises:
        CollectiveError: If a name or the version is unknown. If the GPUs do not fit the system,
            it cannot have what was set, or no links join them.
        InputError: If the terms are no such TOML.
        KeyboardInterrupt: Within a second of Ctrl-C.

    Examples:
        >>> from linkwright import System, expect
        >>> [row] = expect(System("hgx-h100"), range(8), "all-reduce", ["64MiB"])
        >>> row["algorithm"]
        'nvls'
    """

def kernel_terms() -> str:
    """Returns the cost of NCCL's kernels, term by term, each with its source, as TOML."""

def nccl_choices(
    system: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    size: int | str,
    *,
    root: int | None = None,
    nccl: str | None = None,
    nvls: bool = True,
    p2p: bool = True,
    algorithm: NcclAlgorithmName | None = None,
    protocol: ProtocolName | None = None,
    numbers: NumberTypeName | None = None,
    operation: NcclOperationName | None = None,
    cross_nic: int = 2,
    pxn: bool = True,
    gpudirect: bool = True,
) -> Table:
    """All that NCCL, or RCCL, chooses from for one size, what it runs first.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids, two or more.
        collective: One of `collective_names`.
        size: Bytes, as nccl-tests counts them.
        root: As for `plan`.
        nccl: As for `expect`.
        nvls: As for `expect`.
        p2p: As for `expect`.
        algorithm: As for `expect`.
        protocol: As for `expect`.
        numbers: As for `expect`.
        operation: As for `expect`.
        cross_nic: As for `expect`.
        pxn: As for `expect`.
        gpudirect: As for `expect`.

    Returns:
        One row per choice: algorithm, protocol and channels. In model_time the library's own cost
        model says what it takes, in seconds, NaN where it has none. Then follow chunk and last_chunk in
        bytes, threads of each channel's block, slices of a chunk, and loops of all channels.

    Raises:
        CollectiveError: As for `expect`.
    """

def nccl_explanation(
    system: System,
    gpus: Sequence[int],
    *,
    nccl: str | None = None,
    nvls: bool = True,
    p2p: bool = True,
) -> tuple[list[str], Table, Table]:
    """Says what NCCL prints of a job with `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH,TUNING`, by its rules.

    Lay it beside NCCL's own lines: where the two differ, the choice is wrong; where they agree and
    times do not, the clock is.

    Args:
        system: Whose links carry it.
        gpus: The job's, by their ids.
        nccl: As for `expect`.
        nvls: As for `expect`.
        p2p: As for `expect`.

    Returns:
        The lines as NCCL prints them. A row per shape of channels: algorithm, pattern (NCCL's number),
        channels, intra and inter (GB/s of each). It also has type_intra and type_inter (NCCL's names of
        paths) and same_channels. A row per collective, algorithm and protocol: latency in microseconds, bandwidth
        of size in GB/s.

    Raises:
        CollectiveError: If the version cannot be read or the GPUs do not fit the system.
    """

def nccl_interfaces(
    system: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    size: int | str,
    *,
    root: int | None = None,
    nccl: str | None = None,
    nvls: bool = True,
    p2p: bool = True,
    algorithm: NcclAlgorithmName | None = None,
    protocol: ProtocolName | None = None,
    numbers: NumberTypeName | None = None,
    operation: NcclOperationName | None = None,
    cross_nic: int = 2,
    pxn: bool = True,
    gpudirect: bool = True,
) -> Table:
    """The network interfaces that each channel of what NCCL, or RCCL, runs takes on each server.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids, two or more.
        collective: One of `collective_names`.
        size: Bytes, as nccl-tests counts them.
        root: As for `plan`.
        nccl: As for `expect`.
        nvls: As for `expect`.
        p2p: As for `expect`.
        algorithm: As for `expect`.
        protocol: As for `expect`.
        numbers: As for `expect`.
        operation: As for `expect`.
        cross_nic: As for `expect`.
        pxn: As for `expect`.
        gpudirect: As for `expect`.

    Returns:
        One row per end of a channel on a server, none on one server: channel, server and gpu.
        Through is the GPU that sends in its place, if one does. The rail is the interface's place
        among those of its server, and interface its name. A row sends, or else it receives. Data
        by_memory waits in the host's memory.

    Raises:
        CollectiveError: As for `expect`.
    """

def nccl_release(
    system: System, gpus: Sequence[int], *, nccl: str | None = None
) -> tuple[str, str | None]:
    """Says whose rules choose on these GPUs: the library and the release, such as `NCCL 2.30`.

    Args:
        system: Whose GPUs they are.
        gpus: The job's GPUs by their ids, two or more.
        nccl: The wanted version; the newest if absent.

    Returns:
        The library with the release that is known, and a sentence where it stands in for the one
        that was wanted.

    Raises:
        CollectiveError: If the version cannot be read or the GPUs do not fit the system.
    """

def fabric_names() -> list[NetworkName]:
    """Lists the name of every kind of network between servers."""

def gpu_litmus(
    system: GpuSystem,
    test: LitmusTestName,
    *,
    seeds: int = 1000,
    first_seed: int = 0,
    warm: bool = False,
    limit: float = 0.001,
    progress: Callable[[int, int], object] | None = None,
) -> Table:
    """Plays a litmus test on GPUs, from many starts, and counts what its wavefronts read.

    A seed draws the compute unit of each wavefront: the unit of the one before, one of its GPU, or
    any. It draws when the wavefront starts, 0 to 500 cycles after the first could. It draws where x
    and y lie: in one line, in one bank, or in two. The draws are the same under every memory
    system. Where the memory system is not sequentially consistent there is a fence between any two
    accesses.

    Args:
        system: The GPUs, and how they share memory.
        test: A name of `gpu_litmus_tests`.
        seeds: How many starts.
        first_seed: The first seed; with `seeds=1`, one start is repeated.
        warm: Whether every wavefront has read all addresses before, so that caches hold them.
        limit: Simulated seconds after which a wavefront that spins is given up.
        progress: Called every 100 ms with seeds done and how many there are.

    Returns:
        One row for each outcome, those that are wrong first. Columns: outcome (what each wavefront
        has read, in order), verdict (`allowed`; `forbidden`, where no order of all accesses gives
        it; `never ends`), count (from how many seeds), seed (the first of these).

    Raises:
        SimulationError: If there is no such test, or a number is out of range.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """

def gpu_litmus_tests() -> Table:
    """Returns one row for each litmus test.

    Columns are name, program (of each wavefront, with `‖` between them), wavefronts and addresses.
    """

def gpu_models() -> list[GpuModel]:
    """Every model of GPU that is known, by vendor, the oldest first."""

def gpu_benchmarks() -> Table:
    """One row for each benchmark that GPUs can run.

    Columns are name, `what` (it does), size (the thing that its size counts) and multiple (its size
    is a multiple of this). Then come small_size (which runs within seconds) and full_size (with the
    footprint in the dissertation's Table 3.2).
    """

def generate_jobs(
    seed: int = 0,
    count: int = 300,
    max_gpus: int = 5,
    *,
    workloads: Sequence[WorkloadName] | None = None,
    mean_interarrival: float | None = None,
    train: Sequence[str] | None = None,
    samples_per_gpu: int = 32,
    iterations: int | None = None,
    patterns: Sequence[PatternName] | None = None,
) -> list[Job]:
    """Draws the paper's uniform mix, or one like it.

    Args:
        seed: The same seed gives the same jobs.
        count: How many jobs.
        max_gpus: The GPUs of the largest; sizes are uniform from one to this.
        workloads: The workloads to draw from; all nine where absent.
        mean_interarrival: Mean seconds between arrivals; all at zero where absent.
        train: Networks to draw from beside the workloads; they are trained layer by layer. With
            networks, workloads take part only if they are named.
        samples_per_gpu: Samples of each GPU in an iteration of these.
        iterations: Of every job; as many as the workload's where absent.
        patterns: The patterns of communication to draw from; a ring for all where absent.

    Raises:
        AllocationError: If a pattern is unknown.
        SimulationError: If a workload or network is unknown or nothing can be drawn.
    """

def jobs_from_text(
    text: str, file: str = "<text>", *, healthy_gpus: int | None = None
) -> list[Job]:
    """Reads a job file: CSV with a header.

    Args:
        text: The text itself.
        file: Its name in errors.
        healthy_gpus: How many GPUs the server can give out, where that is known.

    Raises:
        InputError: If a row is bad, asks for more GPUs than that, or there is none; with line
            and column.
    """

def profile_sensitivity(system: System, job: Job) -> tuple[float, float, bool]:
    """Times a job on the GPUs of a server that suit it least and most, to see whether bandwidth matters.

    Args:
        system: The server, of at most 16 GPUs.
        job: The job; the sets are those of its size.

    Returns:
        Seconds on the best set, seconds on the worst, and whether they differ by more than 3 %.

    Raises:
        SimulationError: If no formula knows the job, or the server has more GPUs.
    """

def workload_names() -> list[WorkloadName]:
    """The workloads that jobs may run, in the order of the paper."""

def workloads() -> Table:
    """Lists the workloads: name, sensitive, iterations, bytes and compute time per iteration."""

def write_jobs(jobs: Sequence[Job]) -> str:
    """The jobs as text that `jobs_from_text` reads back to equal jobs."""

def kernel_times(
    kernel: KernelName,
    shapes: Sequence[str],
    gpu: GpuModel | str,
    precision: KernelPrecisionName = "bf16",
    terms: str | None = None,
) -> Table:
    """Tells how long kernels of training take alone on a GPU: one row for each shape.

    A shape is its numbers in order, as "4096x4096x8192", or each by its name, as
    "batch=1,tokens=8192,heads=32,kv-heads=8,head=128".

    - "gemm" has m, n, k.
    - "attention" (all tokens of sequences, each sees those before it) and "decode" (one new token of each): batch, tokens,
      heads, kv-heads, head. They may also have window (tokens that one sees) and cache ("bf16" or "fp8").
    - "experts" (the perceptrons of a block's experts, forward): tokens (of all GPUs), hidden, inner, top, experts. They
      may also have ep and tp (GPUs that have other experts, and parts of the same), and draw ("balanced" or "power-law:A").

    Columns: operations (of multiply-adds, two each), kernel (seconds on the GPU), cast (seconds that making narrow numbers
    of the operands takes before). Also host (seconds of an inference engine's host, where its call is long) and time (of one
    call after another, in seconds). The GPU keeps its clock: these are kernels alone, for a short while.

    `terms` is the text of a file of terms to calculate with instead of Linkwright's own.

    Raises:
        SimulationError: For a shape that there is not, and numbers that the GPU does not multiply.
        MachineError: For a GPU that is not known well enough.
        InputError: For terms that are none.
    """

def kernel_fields(kernel: KernelName) -> list[str]:
    """Gives the numbers of a kernel's shape in the order of its text."""

def kernel_time_terms() -> str:
    """Gives the text of the terms by which kernels alone are timed, each with its source (TOML)."""

def mapping_from_text(
    text: str, ranks: Sequence[int], gpus: int, file: str = "<text>"
) -> list[list[int]]:
    """Reads a mapping file: the index of one GPU for each rank, a line each.

    Args:
        text: The text; a comment begins with `#`.
        ranks: How many ranks each job has, in the jobs' order.
        gpus: How many GPUs there are.
        file: Its name in errors.

    Returns:
        The GPU of each rank, a list for each job.

    Raises:
        InputError: If a line names no GPU or one that another rank has. Also if there are too few
            lines or too many. The error names the line and the column.
        SimulationError: If a count is below zero or above 2^32 - 1.
    """

def models() -> list[tuple[str, str, int]]:
    """The public models that Linkwright has: name, where its numbers were published, trained numbers."""

def nccl_graph_file(
    system: System,
    gpus: Sequence[int],
    *,
    nccl: str | None = None,
    p2p: bool = True,
    cross_nic: int = 2,
    pxn: bool = True,
    gpudirect: bool = True,
) -> str:
    """The rings and trees of a job as a file that NCCL takes (`NCCL_GRAPH_FILE`).

    The file names no ranks, so that every server of the job reads its own channels from it.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids, two or more. They are the same ones of each server.
        nccl: As for `expect`. It is NCCL's version.
        p2p: As for `expect`.
        cross_nic: As for `expect`.
        pxn: As for `expect`.
        gpudirect: As for `expect`.

    Returns:
        The file's text. GPUs have their numbers on their server. Network interfaces have theirs in the
        machine's order, which NCCL's list may not have.

    Raises:
        CollectiveError: If the GPUs do not fit the system, RCCL runs there, or the channels of two
            servers differ.
    """

def nccl_graph_from_text(text: str, file: str = "<text>") -> tuple[Table, Table]:
    """Reads a file of rings and trees, one for `NCCL_GRAPH_FILE` or one of `NCCL_GRAPH_DUMP_FILE`.

    Args:
        text: The text of the file.
        file: Its name in errors.

    Returns:
        A row per shape: its id (0 rings, 1 trees, 3 reduction in switches), pattern (NCCL's number),
        cross_nic and the number of channels. It also has intra and inter (GB/s of each) and latency of
        interfaces in microseconds. Then follow type_intra and type_inter (NCCL's names of paths), and same_channels.
        The second table has a row per member of each channel, in the file's order: graph (the shape's
        id), channel and kind (`gpu` or `net`). It also has device, the number on the server, and rank, which
        is empty where the file names none.

    Raises:
        InputError: If the text is no such file, or NCCL refuses or misreads it, with line and column.
    """

def nccl_choice_ranges(
    system: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    *,
    root: int | None = None,
    nccl: str | None = None,
) -> Table:
    """From which size to which NCCL, or RCCL, chooses the same, to the byte.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids. They are two or more.
        collective: One of `collective_names`.
        root: As for `plan`.
        nccl: As for `expect`.

    Returns:
        A row per choice of each range, as `nccl_choices` has them for its smallest size; first and last are
        its sizes in bytes. All sizes of a range have the first choice in common, the first that is a
        ring or a tree, and the channels of each. The ranges go from 0 to the largest number of 64 bits without a hole.

    Raises:
        CollectiveError: As for `expect`.
    """

def explain_difference(
    rows: Sequence[tuple[int, float, float]], *, errors: Sequence[float] | None = None
) -> str:
    """Explains in a sentence the shape of the difference between measured and expected times.

    A time within its error, or within 15 %, fits.

    Args:
        rows: Each size's bytes, measured and expected seconds.
        errors: How far off each expected time may be, as a part of the measured one.

    Raises:
        CollectiveError: If there are errors, and not one for each size.
    """

def explain_log(
    log: NcclTestsLog,
    rows: Sequence[tuple[int, float, float]],
    system: System,
    gpus: Sequence[int],
    *,
    errors: Sequence[float] | None = None,
    nccl: str | None = None,
    nvls: bool = True,
    p2p: bool = True,
    algorithm: NcclAlgorithmName | None = None,
    protocol: ProtocolName | None = None,
    network_bandwidth: float | str | None = None,
    processes: ProcessesName | None = None,
    numbers: NumberTypeName | None = None,
    operation: NcclOperationName | None = None,
    cross_nic: int = 2,
    pxn: bool = True,
    gpudirect: bool = True,
) -> tuple[Table, str]:
    """Sets a log's statements against the question, and says how to take the difference of its times.

    No cause is named where the question was another one than the log answers, or where the model lacks
    what ran.

    Args:
        log: The log.
        rows: As for `explain_difference`.
        system: The system that is asked about.
        gpus: The GPUs that are, by their ids.
        errors: As for `explain_difference`.
        nccl: The version that is asked about; that of the log if absent.
        nvls: As for `expect`.
        p2p: As for `expect`.
        algorithm: As for `expect`.
        protocol: As for `expect`.
        network_bandwidth: As for `expect`.
        processes: The processes that are asked about; those of the log if absent.
        numbers: The type that is asked about; that of the log if absent.
        operation: The operation that is asked about; that of the log if absent.
        cross_nic: As for `expect`.
        pxn: As for `expect`.
        gpudirect: As for `expect`.

    Returns:
        One row for each thing that the log states and the question does not have, and a sentence.
        Columns: line of the log; means, `asked-otherwise`, `not-modelled` or `transport`; text, a
        sentence; option, what asks rightly, empty where nothing does.

    Raises:
        CollectiveError: As `explain_difference`, and if a name or the version is unknown or the GPUs do
            not fit the system.
    """

def pattern_names() -> list[PatternName]:
    """The shapes that `Pattern` knows by name."""

def plan(
    system: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    *,
    algorithm: AlgorithmName = "auto",
    root: int | None = None,
    links: LinksName = "auto",
    size: int | str | None = None,
    protocol: ProtocolName | None = None,
    peer_access_switch: float | None = None,
    helpers: Sequence[int] | None = None,
    stream_reuse: bool = True,
) -> Schedule:
    """Plans a collective on the links that a job really has.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids; rank `i` runs on `gpus[i]`.
        collective: One of `collective_names`.
        algorithm: One of `algorithm_names`; `auto` is the fastest of all at the size, with the protocol
            that is its fastest (`Schedule.tried` says what was tried).
        root: The GPU, by its id, that alone has or gets the data of broadcast, reduce, gather
            and scatter; the job's first where None. Others have no root and take None only.
        links: `auto`, `nvlink` or `xgmi`, `pcie`, or `hybrid`. `auto` takes NVLink or xGMI where it
            joins all GPUs, else PCIe, and the network between servers. `hybrid` takes NVLink and
            PCIe at once, where a named algorithm takes a size.
        size: The bytes, as nccl-tests counts them, for which the plan is to be fast. They decide
            between few deep trees and many shallow ones, and how a hybrid splits them. Where None,
            `auto` plans for 64 MiB, and `packing` takes few trees.
        protocol: With `auto`, the only protocol that plans are timed with; all that an algorithm has
            where None.
        peer_access_switch: The seconds that a hybrid needs before PCIe carries data (Blink's
            T_dpa). Where None, an assumed 0.25 ms for each other GPU.
        helpers: GPUs outside the job, on its servers, that may pass its data on over NVLink. With
            helpers, `packing` plans at every size; an all-to-all cannot be planned.
            `Schedule.helpers` names those that the plan takes.
        stream_reuse: Whether trees that share a link take turns on it. Each does so in proportion
            to its data, as Blink makes them by reusing CUDA streams. Else each gets an equal part.

    Raises:
        CollectiveError: If a name is unknown, the GPUs do not fit the system, or the links do not
            join them. Also if the algorithm does not do the collective, it has no such root, or a
            hybrid has no size.
        KeyboardInterrupt: Within a second of Ctrl-C.

    Examples:
        >>> from linkwright import System, plan
        >>> plan(System("dgx1-v100"), [0, 1, 2, 3], "all-reduce").rate
        75.0
    """

def algorithm_descriptions() -> list[tuple[str, str]]:
    """Each algorithm's name and what it does."""

def algorithm_names() -> list[AlgorithmName]:
    """The algorithms that `plan` knows by name."""

def algorithm_protocols(algorithm: AlgorithmName) -> list[ProtocolName]:
    """The protocols, lowest latency first, that who runs an algorithm has.

    Raises:
        CollectiveError: If there is no such algorithm.
    """

def bus_factor(collective: CollectiveName, gpus: int) -> float:
    """Returns the factor from a collective's algorithm bandwidth to its bus bandwidth, after
    nccl-tests.

    Args:
        collective: One of `collective_names`.
        gpus: How many GPUs take part, one or more.

    Raises:
        CollectiveError: If there is no such collective or no GPU takes part.
    """

def collective_names() -> list[CollectiveName]:
    """The collectives that `plan` knows by name."""

def packing_rate(
    system: System, gpus: Sequence[int], *, links: LinksName = "auto"
) -> tuple[float, str]:
    """The rate that packing reaches for an all-reduce on these GPUs, without the plan itself.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids, two or more.
        links: As for `plan`.

    Returns:
        The rate in GB/s of the data's size, and the links: `nvlink`, `xgmi`, `pcie` or `network`.

    Raises:
        CollectiveError: If the GPUs do not fit the system or the links do not join them.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """

def plan_for_sizes(
    system: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    sizes: Sequence[int | str],
    *,
    algorithm: AlgorithmName = "packing",
    root: int | None = None,
    links: str = "auto",
    stream_reuse: bool = True,
) -> list[Schedule]:
    """Plans a collective for each of several sizes, as `plan` does for one.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids; rank `i` runs on `gpus[i]`.
        collective: One of `collective_names`.
        sizes: Bytes, as nccl-tests counts them.
        algorithm: One of `algorithm_names`.
        root: As for `plan`.
        links: As for `plan`, but for `hybrid`.
        stream_reuse: As for `plan`.

    Returns:
        For each size a plan that is fast for it. Trees are packed once for all.

    Raises:
        CollectiveError: As for `plan`.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """

def planning_seconds(
    system: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    *,
    algorithm: AlgorithmName = "auto",
) -> float:
    """About how many seconds `plan` takes for data of a size; 0 for what takes a second or so.

    The estimate is for one core, and good to a factor of three.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids.
        collective: One of `collective_names`.
        algorithm: One of `algorithm_names`.

    Raises:
        CollectiveError: If a name is unknown, or the system has no such GPU.
    """

def plug_in_name(value: object) -> str | None:
    """Gives the name by which a class, or an object of one, is known from now on; None of any other value."""

def plug_in_named(name: str) -> object:
    """Gives the class or the object that a name stands for; None where none was given or loaded in this process."""

def broken_promises(plug_in: object, fabrics: Sequence[Fabric]) -> list[str]:
    """Tells in sentences which promises of its contract a class breaks; nothing where it keeps all.

    It is a policy if it has a method `choose`. With `packetised` it is an order of messages, and with `route` a routing.

    Args:
        plug_in: The class, or an object of a policy's class.
        fabrics: The networks on which a routing is tried.

    Raises:
        ArgumentError: If it has none of these methods.
        Exception: If the class raises one.
    """

def gpu_energy(
    system: System,
    jobs: Sequence[tuple[Sequence[int], float, float]],
    watts: dict[str, tuple[float | None, float | None]] = ...,
    scenario: Scenario | None = None,
    files: dict[str, bytes] = ...,
) -> dict[str, Any]:
    """Gives the energy that jobs take of GPUs, in kWh: busy power while a job holds a GPU, and power at rest else.

    `whole` is that of all GPUs from time zero until the last job's end, `jobs` has that of each job's GPUs while it
    holds them. They are None where the busy power of a GPU that was held is unknown. `has_rest` tells whether all that
    GPUs draw at rest is in the whole. An unknown power counts as nothing. Hosts, switches and cooling are not in it.

    Args:
        system: Ran the jobs.
        jobs: Are the GPUs of each job. Beside them stand the seconds when it got them and gave them back.
        watts: Stand in place of data sheets. They are of each model of GPU, by its name in small letters, busy and at
            rest. The empty name is of all others.
        scenario: Goes before all else. Its `[thermal]` tells of single GPUs.
        files: Are those of the scenario.

    Raises:
        AllocationError: If a GPU is unknown.
        InputError: If the scenario's package is not as it should be.
    """

def observed_heat(
    scenario: Scenario,
    system: System,
    jobs: Sequence[tuple[Sequence[int], float, float]],
    files: dict[str, bytes] = ...,
    watts: dict[str, tuple[float | None, float | None]] = ...,
) -> dict[str, Any] | None:
    """Gives the heat of the package that a scenario observes; None where it has no `[thermal]`.

    `gpus` has a row for each GPU. Its columns are gpu, name, block, busy_share, busy_power, rest_power and mean_power.
    Then come gpu_energy (kWh), maximum and mean (degrees Celsius). Powers are in W. `map` is a `ThermalMap` of the whole package under the mean powers.
    All its blocks took `energy` until the last job's end, and `heat` left it, in kWh.

    Args:
        scenario: Observes the package.
        system: Ran the jobs.
        jobs: Are as for `gpu_energy`.
        files: Are those of the scenario.
        watts: Are as for `gpu_energy`.

    Raises:
        AllocationError: If a GPU is unknown.
        InputError: If the package is not as it should be.
        SimulationError: If its temperatures cannot be told.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """

def applications() -> list[tuple[ApplicationName, str, float]]:
    """Each application of `Program.skeleton`: its name, what it is, and its speed-up on GPUs.

    The speed-up is how many times faster its computation is on the TraceR-CODES study's GPUs than
    on its CPUs. Its inverse is the `computation_scale` of a job on GPUs.
    """

def random_mixes(seed: int) -> list[list[tuple[str, int]]]:
    """Lists mixes of applications that each fill a system of 2048 GPUs, after the TraceR-CODES study.

    Args:
        seed: The number from which they are drawn.

    Returns:
        Each of the 20 mixes: the application and the number of ranks of each of its jobs.

    Raises:
        SimulationError: If the seed is not 0 to 2^64 - 1.
    """

def read_otf2(
    path: str | PathLike[str],
    *,
    name: str | None = None,
    main_loop: str | None = None,
    collective_bytes: str = "divided",
) -> tuple[Program, list[str]]:
    """Reads a program from an OTF2 archive, as `Program.from_otf2` does, with notes.

    The notes are for its reader. They list the things that were left out or could not be told, each
    in a sentence.

    Raises:
        InputError: If a file is missing, cut or damaged; the message names it. So it is if one is no
            plain file or has more than 64 MiB, or all have more than 1 GiB.
        SimulationError: If the archive records no program that can be played again.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """

def settings() -> list[Setting]:
    """Lists every setting of a scenario, in the order of the reference."""

def planner_names() -> list[PlannerName]:
    """The names of what plans the collectives of jobs that are played."""

def play_jobs(
    system: System,
    jobs: Sequence[Job],
    policy: PolicyName | Policy | type[Policy] = ...,
    *,
    bandwidth_model: BandwidthModelName = "sound",
    bandwidth_profile: BandwidthProfileName | None = None,
    ties: TieName = "nearest",
    discipline: DisciplineName = "fifo",
    servers: ServerChoiceName = "first-fit",
    unhealthy: Sequence[int] | None = None,
    run_time: RunTimeName = "formula",
    planner: PlannerName = "packing",
    fidelity: FidelityName = "flow",
    host_copies: bool = False,
    gpu_speed: GpuSpeedName = "reference",
    bucket: int | str | None = None,
    progress: Callable[[int, int, float], object] | None = None,
    nccl: str | None = None,
    attribute: bool = False,
    precision: PrecisionName = "fp32",
) -> SimulationResult:
    """Plays the jobs on an idle system.

    A job runs within one server: the first of its choice in which the policy finds GPUs. One that is played
    has GPUs of several where no server has as many, and, under `pack` and `spread`, where none has room. Under `whole` a
    job of a server's size or more waits for servers of its own.

    Args:
        system: A server, or several on a fabric.
        jobs: The jobs; those of one arrival time queue in this order.
        policy: One of `policy_names`, or a class as `linkwright.contracts.Policy` has it, or an object of one.
        bandwidth_model: The bandwidth by which the policy ranks: `sound` or `published`.
        bandwidth_profile: The source of the links' labels: `mapa` or `data-sheet`; if not given,
            that of the machine.
        ties: The rule between matches that tie: `nearest` or `published`.
        discipline: `fifo` or `backfill`.
        servers: The server in which a job looks for GPUs first. `first-fit` goes in their order,
            `pack` to where the fewest are free, and `spread` to where the most are. `whole` does as
            clusters are run.
        unhealthy: GPUs that are out of order from the start.
        run_time: `formula`, `regression` or `played`. `regression` is the formula at the bandwidth
            of the published regression. `played` runs every job's iterations on the real wiring,
            message by message, beside those of all other jobs.
        planner: For played jobs, the planner of their all-reduces, one of `planner_names`. `nccl`
            takes NCCL's own choice for each size, as `expect` has it. `auto` takes the fastest of
            all, as `plan` finds it.
        fidelity: Of played jobs, `fluid`, `flow` or `packet`.
        host_copies: Of played jobs, whether the images of every iteration are copied from the host.
        gpu_speed: For played jobs, `reference` or `own`. `reference` is the V100 that workloads are
            timed on. `own` is as much faster as the peak of the server's GPU, of the unit that the
            workload's kernels use.
        precision: Of played jobs at their GPUs' own speed, the numbers that nets multiply.
        bucket: For played jobs, the most bytes of gradients that are reduced at once while others
            are computed, at least a million. If not given, all are reduced at the end.
        progress: Called every 100 ms with jobs done, jobs in all, and simulated seconds.
        nccl: With the planner `nccl`, the release by whose rules it chooses, such as 2.21.5; the newest that is
            known where None.
        attribute: Whether to split the slowdown of each job. Then jobs are played alone, too, on their GPUs and on
            the best, once for each class of job and place.

    Raises:
        AllocationError: If a policy, a choice or a GPU is unknown.
        SimulationError: If a job can never start or has another's name, a plan cannot be had, or a
            time is beyond 213 days.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """

def export_format_names() -> list[ExportFormatName]:
    """Lists the formats that `System.to_text` writes."""

def import_format_names() -> list[ImportFormatName]:
    """The formats that `System.from_text` reads."""

def preset_names() -> list[tuple[str, str]]:
    """Gives each built-in server's name and description."""

def system_files(text: str, file: str = "<text>") -> list[str]:
    """The files that a text names which describes a system, and does not hold itself; none of other texts.

    Raises:
        InputError: If the text is no such TOML, with line and column.
    """

def time_sweep(
    schedule: Schedule,
    system: System | None,
    sizes: Sequence[int | str],
    *,
    chunk: int | str | None = None,
    protocol: ProtocolName | None = None,
    processes: ProcessesName | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Table:
    """Times a schedule for each of several sizes.

    Args:
        schedule: The schedule.
        system: Whose links carry it; the one that it was planned for where None.
        sizes: Bytes, as nccl-tests counts them.
        chunk: The longest run of bytes that one step moves; found for each size where None.
        protocol: `LL`, `LL128` or `Simple`; the schedule's own where None.
        processes: As for `Schedule.time`.
        progress: Called after each size with the number that is done and their number.

    Returns:
        One row per size: size and chunk in bytes, time in seconds, algorithm_bandwidth and
        bus_bandwidth in GB/s, as nccl-tests defines them.

    Raises:
        CollectiveError: If a size does not divide into shards, the system has no path for a
            connection, or the schedule waits for ever.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """

def neural_networks() -> list[tuple[str, str, int]]:
    """The networks that Linkwright has: name, where it was published, trained numbers."""

def training_terms() -> str:
    """Returns the rates that kernels reach on a GPU and the costs of frameworks, as TOML, each with
    its source.
    """

def expect_all_to_allv(
    system: System,
    gpus: Sequence[int],
    matrix: Sequence[Sequence[int]],
    *,
    nccl: str | None = None,
    p2p: bool = True,
    protocol: ProtocolName | None = None,
    link_bandwidth: float | str | None = None,
    network_bandwidth: float | str | None = None,
    processes: ProcessesName | None = None,
    pxn: bool = True,
    gpudirect: bool = True,
) -> tuple[Table, Table, list[int], list[str]]:
    """Gives what NCCL, or RCCL on AMD's GPUs, takes for an exchange whose messages differ in length.

    A bound beside it says what no way passes.

    The library runs it as a group of sends and receives (`all_to_all_single` of `PyTorch` with split sizes). Where all
    messages are equally long, it takes what `expect` says of an all-to-all. A pair without bytes sends nothing.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids. There are 2 to 256.
        matrix: Bytes, in a row for each rank. It says what the rank has for each rank.
            It leaves out what a rank has for itself.
        nccl: As for `expect`.
        p2p: As for `expect`.
        protocol: As for `expect`. By default it is the longest message's.
        link_bandwidth: As for `expect`.
        network_bandwidth: As for `expect`.
        processes: As for `expect`. So are the next two.
        pxn: As for `expect`.
        gpudirect: As for `expect`.

    Returns:
        First one row. It has time in seconds, and moved and longest in bytes. It has protocol and channels, with
        which the library runs the longest message. Of the bound it has bound_time in seconds, bound_bytes and
        bound_bandwidth in GB/s. It tells whether they leave the ranks of the bound (else they enter these).
        Then the links of the bound, a row each: from and to. Then the ranks of the bound, and notes.
        Without a message the protocol is empty, and there is no bound.

    Raises:
        CollectiveError: If the matrix has not a row and a column for each GPU, or a value above 2^50; else as for `expect`.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """

def _reduced(value: object) -> tuple[Callable[[str, str], Any], tuple[str, str]]: ...
def _restored(*args: Any) -> Any: ...
