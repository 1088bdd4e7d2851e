"""Fig. 3's runs: eight tasks of two kinds that train on the eight GPUs of one server.

Each task is on a GPU of its own and repeats: copy the samples from the host, then compute. Beside
others it loses the time that its copies wait on links of PCIe that they share. Left out is all else
that tasks of one host share: its cores, its memory, and the place where samples are read from.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

import pyarrow

from linkwright import System, train
from linkwright.names import FidelityName
from linkwright.network import ClusterJob, Program
from linkwright.studies.pcie.layouts import HEADER, ON_DIE, PAYLOAD
from linkwright.studies.pcie.published import published
from linkwright.studies.pcie.runs import SPANS, done_within

__all__ = [
    "BATCH",
    "DATA_SHEET",
    "DIN",
    "RESNET",
    "SERVERS",
    "TASKS",
    "Mix",
    "Server",
    "Trained",
    "bound",
    "fitted",
    "mean",
    "mixes",
    "slowdown",
    "tasks_of",
]

TASKS = 8
# Of what comes in pairs, one for each kind.
RESNET, DIN = 0, 1
# Images of a step, unless the caller says otherwise.
BATCH = 32
# It is unpublished which GPUs the tasks of a kind have and when each starts. This is the number of
# draws of both.
DRAWS = 20
# Steps of ResNet-50 in which iterations are counted.
STEPS = 24
# Gigabytes per second of a socket's memory: DDR4-2400 on four channels, of a Xeon E5-2698 v4.
DATA_SHEET = 76.8
# DeepInterest's share of copying is fitted in such parts.
PARTS = 1000


@dataclass(frozen=True)
class Server:
    """Describes a server of eight V100s, and the links that they share.

    Attributes:
        name: In words.
        root: Whether one link leads from the host to all switches; else each has its own.
        sharing: How many other GPUs share a GPU's link to the host.
        memory: Gigabytes per second of each socket's memory; where absent, those of its data sheet.
    """

    name: str
    root: bool
    sharing: int
    memory: float | None = None

    def system(self) -> System:
        """Builds the server, with packets in turn."""
        bus = {"payload": f"{PAYLOAD} B", "header": f"{HEADER} B", "arbitration": "round-robin"}
        network = {"pcie": bus}
        server = _one_root() if self.root else System("dgx1-v100")
        if self.memory is not None:
            known = f'memory_bandwidth = "{DATA_SHEET:g} GB/s"'
            text = server.to_toml().replace(known, f'memory_bandwidth = "{self.memory:g} GB/s"')
            server = System.from_text(text)
        return System(server, network=network)


# These are the known layout of such servers, and the layout that shares the most.
SERVERS = (
    Server("a port for each switch", root=False, sharing=1),
    Server("one x16 to the host", root=True, sharing=TASKS - 1),
)


def _one_root() -> System:
    gpus = [f"GPU{gpu}" for gpu in range(TASKS)]
    switches = [f"PCIE{at}" for at in range(TASKS // 2)]
    below = [[gpu, switches[at // 2]] for at, gpu in enumerate(gpus)]
    above = [[switch, "ROOT"] for switch in switches]
    return System.from_text(f"""
name = "eight-on-one-root"
source = "Priority-Based PCIe Scheduling for Multi-Tenant Multi-GPU Systems, Section 2"
device = [
  {{ kind = "gpu", names = {gpus} }},
  {{ kind = "cpu", names = ["CPU0"], memory_bandwidth = "{DATA_SHEET:g} GB/s" }},
  {{ kind = "host-bridge", names = ["HB0"] }},
  {{ kind = "pcie-switch", names = {[*switches, "ROOT"]} }},
]

[[link]]
kind = "pcie3"
between = {[*below, *above, ["ROOT", "HB0"]]}

[[link]]
kind = "on-die"
latency = "{ON_DIE} ns"
between = [["HB0", "CPU0"]]
""")


@dataclass(frozen=True)
class Trained:
    """Describes the work that a task repeats.

    Attributes:
        copied: Bytes from the host.
        computing: Seconds of computing.
        iteration: Seconds that both take alone.
    """

    copied: int
    computing: float
    iteration: float

    @property
    def copying(self) -> float:
        """The share of its time alone that it copies, and so asks of a link."""
        return 1.0 - self.computing / self.iteration

    def job(self, gpu: int, start: float, seconds: float) -> ClusterJob:
        """It on a GPU, for some seconds at the least: none is faster than alone."""
        return ClusterJob(
            _program(self.copied, self.computing),
            iterations=math.ceil(seconds / self.iteration) + 2,
            start=start,
            mapping=[gpu],
        )


# The tasks of all draws and mixes run the same two.
@cache
def _program(copied: int, computing: float) -> Program:
    kernel = f"{round(computing * 1e12)} ps"
    return Program.skeleton("copy-execute", 1, input=f"{copied} B", kernel=kernel)


@cache
def _resnet(batch: int) -> tuple[int, float]:
    """Bytes and seconds of a step of ResNet-50: its images, and all that is not their copy."""
    best = train("resnet-50", "dgx1-v100", gpus=1, batch=batch, scaling=False).best
    [memory] = best.step.memory()
    return memory["samples"], best.parts.computing + best.parts.framework


def tasks_of(
    on: System, batch: int, copying: float, *, length: float = 1.0, speed: float = 1.0
) -> tuple[Trained, Trained]:
    """Returns ResNet-50 and DeepInterest on a server.

    Args:
        on: The server.
        batch: Images of a step of ResNet-50.
        copying: The share of DeepInterest's time alone that it copies.
        length: Of an iteration of DeepInterest alone, over that of ResNet-50. The paper does not
            say it.
        speed: How many times as fast ResNet-50 computes as modelled.
    """
    copied, computing = _resnet(batch)
    computing /= speed
    job = ClusterJob(_program(copied, computing), iterations=STEPS, mapping=[0])
    iteration = on.play([job], fidelity="flow").makespan / STEPS
    resnet = Trained(copied, computing, iteration)
    rate = copied / (iteration - computing)
    other = iteration * length
    return resnet, Trained(round(copying * other * rate), (1.0 - copying) * other, other)


@dataclass(frozen=True)
class Mix:
    """How much slower each kind is in one of the nine mixes than alone.

    Attributes:
        din: How many tasks are DeepInterest; the others are ResNet-50.
        slower: By how much ResNet-50 and DeepInterest are, in the mean of the draws; None of none.
    """

    din: int
    slower: tuple[float | None, float | None]


def mixes(
    on: System, tasks: tuple[Trained, Trained], chosen: Sequence[int] = range(TASKS + 1)
) -> list[Mix]:
    """Plays mixes of eight tasks.

    Args:
        on: The server.
        tasks: ResNet-50 and DeepInterest.
        chosen: How many tasks of each mix are DeepInterest; all mixes where absent.
    """
    found = []
    for din in chosen:
        slower: tuple[list[float], list[float]] = ([], [])
        for draw in range(DRAWS):
            kinds = [int(gpu < din) for gpu in range(TASKS)]
            random.Random(draw).shuffle(kinds)
            for kind, by in zip(kinds, slowdown(on, tasks, kinds, draw), strict=True):
                slower[kind].append(by)
        resnet, other = (fmean(each) if each else None for each in slower)
        found.append(Mix(din, (resnet, other)))
    return found


def slowdown(
    on: System,
    tasks: tuple[Trained, Trained],
    kinds: Sequence[int],
    draw: int,
    fidelity: FidelityName = "flow",
) -> list[float]:
    """How much slower each task of a mix is than alone.

    Args:
        on: The server.
        tasks: ResNet-50 and DeepInterest.
        kinds: Which of them each GPU has.
        draw: Which draw of the tasks' starts, each within an iteration.
        fidelity: How copies are simulated.
    """
    window = STEPS * tasks[0].iteration
    chance = random.Random(f"starts {draw}")
    starts = [chance.random() * tasks[kind].iteration for kind in kinds]
    jobs = [
        tasks[kind].job(gpu, start, window)
        for gpu, (kind, start) in enumerate(zip(kinds, starts, strict=True))
    ]
    run = on.play(jobs, fidelity=fidelity, timeline=SPANS)
    ends: dict[int, list[float]] = defaultdict(list)
    for row in pyarrow.table(run.computation()).to_pylist():
        ends[row["job"]].append(row["end"])
    return [
        (window - start) / tasks[kind].iteration / done_within(window, start, ends[job]) - 1.0
        for job, (kind, start) in enumerate(zip(kinds, starts, strict=True))
    ]


def fitted(on: System, batch: int, speed: float = 1.0) -> float:
    """DeepInterest's share of copying that gives its published mean over the mixes.

    Args:
        on: The server.
        batch: Images of a step of ResNet-50.
        speed: How many times as fast ResNet-50 computes as modelled.
    """
    wanted: float = published()["contention"]["din"] / 100

    def over(copying: float) -> float:
        found = mixes(on, tasks_of(on, batch, copying, speed=speed), range(1, TASKS + 1))
        return mean(found, DIN) - wanted

    low, high = 0, PARTS
    # The mean moves in steps, so that the nearer of the last two may lie on either side.
    ends = {low: -math.inf, high: math.inf}
    while high - low > 1:
        middle = (low + high) // 2
        ends[middle] = over(middle / PARTS)
        low, high = (middle, high) if ends[middle] < 0 else (low, middle)
    return min((low, high), key=lambda end: abs(ends[end])) / PARTS


def mean(found: Sequence[Mix], kind: int) -> float:
    """By how much a kind is slower, the mean over the mixes that have it.

    Args:
        found: The mixes.
        kind: `RESNET` or `DIN`.
    """
    return fmean(by for mix in found if (by := mix.slower[kind]) is not None)


def bound(others: float) -> float:
    """The most by which a task is slower that does nothing but copy.

    Args:
        others: The share of its link that the tasks beside it ask of the link alone. It is the most
            that they get.
    """
    return others / (1.0 - others)
