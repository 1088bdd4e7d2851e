"""The runs of the study, as a sweep that can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from linkwright import GpuSystem, names
from linkwright.gpu import GpuModel, GpuRun
from linkwright.studies.memory.measured import Result, Run
from linkwright.studies.memory.settings import SHAPES, SWITCHES, Setting
from linkwright.sweeps import Sweep, Workers, play_sweep

__all__ = ["Performed", "Progress", "measure", "model_with", "perform"]

Progress = Callable[[str, int, int], object]
# Simulated: nothing here takes as long.
LIMIT = 1.0


@dataclass(frozen=True)
class Performed:
    """Holds the results of all runs.

    Attributes:
        runs: The runs and their results.
        cpu_seconds: The processor time of all runs.
    """

    runs: Sequence[Run]
    cpu_seconds: float


def perform(
    settings: Sequence[Setting],
    *,
    workers: Workers | None = None,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Performed:
    """Performs the runs that the checkpoint does not hold.

    Args:
        settings: The runs to perform.
        workers: Where; processes on this computer where absent.
        checkpoint: A file that keeps every finished run.
        progress: Called with what is done, the runs done, and the runs in all.
    """
    # Two figures may ask for the same run, which is then performed once.
    parameters = [
        {name: value for name, value in asdict(each).items() if name != "part"} for each in settings
    ]
    sweep = Sweep(measure, parameters)
    done = play_sweep(
        sweep, workers, checkpoint=checkpoint, progress=progress, what="kernels inside GPUs"
    )
    results = [Result(**each) for each in done.results]
    return Performed(list(zip(settings, results, strict=True)), done.cpu_seconds)


def measure(
    benchmark: str,
    size: int,
    memory: str,
    gpus: int,
    bandwidth: float,
    read_lease: int,
    write_lease: int,
    data: bool,
    switches: str,
) -> dict[str, Any]:
    """One run, of kernels whose code is known: the fields of its `Result`.

    Args:
        benchmark: The benchmark to run; all arguments are fields of a `Setting`.
        size: How large.
        memory: How the GPUs share memory.
        gpus: How many.
        bandwidth: Of each GPU to shared memory, in GB/s.
        read_lease: How long a copy that was read is valid.
        write_lease: How long one that was written is.
        data: Whether it has data.
        switches: Which of `SWITCHES` are on, and the wiring.
    """
    system = GpuSystem(
        model_with(switches),
        gpus,
        cast("names.MemorySystemName", memory),
        shared_bandwidth=bandwidth,
        read_lease=read_lease,
        write_lease=write_lease,
        code=False,
    )
    run = system.play(cast("names.BenchmarkName", benchmark), size, data=data, limit=LIMIT)
    steps = list(run.steps())
    channels = list(run.channels())

    def spent(*kinds: str) -> float:
        return _short(sum(row["time"] for row in steps if row["step"] in kinds))

    def lines(column: str) -> int:
        return sum(row[column] for row in channels)

    return {
        "kernel_time": spent("kernel"),
        "copy_time": spent("copy in", "copy out"),
        "write_back_time": spent("write back"),
        "correct": run.correct,
        "instructions": run.instructions,
        "remote": run.remote_accesses,
        **_of_caches(run, "l1", "L1 vector"),
        **_of_caches(run, "l2", "L2"),
        "dram_reads": lines("reads"),
        "dram_writes": lines("writes"),
        "copied_in": lines("copied_in"),
        "copied_out": lines("copied_out"),
    }


@cache
def model_with(switches: str) -> GpuModel:
    """Gives the GPUs of Table 3.1 with some of `SWITCHES` on.

    Args:
        switches: Those that are on, with spaces between; one of `SHAPES` is the wiring, with
            `narrow` links between its switches.
    """
    text = GpuModel.find("r9-nano").to_toml()
    on = switches.split()
    there = (*SWITCHES, *SHAPES, "narrow")
    unknown = [each for each in on if each not in there]
    if unknown:
        msg = f"there is no switch {unknown[0]!r}; use one of {', '.join(there)}"
        raise ValueError(msg)
    if "evictions" not in on:
        text = _switched(text, "evicts_first = true", "evicts_first = false")
    if "leases" not in on:
        text = _switched(text, "spared = true", "spared = false")
    if "locks" not in on:
        text = _switched(text, "locked = true", "locked = false")
    if "merging" in on:
        text = _switched(text, 'merging = "sequential"', 'merging = "always"')
    if "tracker" not in on:
        tracker = text.index("[hierarchy.tracker]")
        text = text[:tracker] + text[text.index("\n[", tracker) + 1 :]
        text = _switched(text, "latency = 50", "latency = 0")
    for shape in (each for each in on if each in SHAPES):
        # Two links take what the switch does where no wiring is said.
        text += f'\n[hierarchy.wiring]\nshape = "{shape}"\nlink = 70\n'
        text += 'bandwidth = "8 GB/s"\n' if "narrow" in on else ""
    return GpuModel.from_text(text)


def _switched(text: str, on: str, off: str) -> str:
    if text.count(on) != 1:
        msg = f"the model says {on!r} {text.count(on)} times"
        raise ValueError(msg)
    return text.replace(on, off)


def _of_caches(run: GpuRun, name: str, kind: str) -> dict[str, Any]:
    rows = [row for row in run.caches() if row["cache"] == kind]
    hits = sum(row["hits"] + row["merged"] for row in rows)
    misses = sum(row["misses"] for row in rows)
    # A cache that answered nobody has no latency.
    answers = [(row["answers"], row["latency"]) for row in rows if row["answers"]]
    count = sum(count for count, _ in answers)
    latency = _short(sum(n * each for n, each in answers) / count) if count else None
    return {f"{name}_hits": hits, f"{name}_misses": misses, f"{name}_latency": latency}


def _short(seconds: float) -> float:
    """Six digits, which is what a table of runs keeps."""
    return float(f"{seconds:.6g}")
