"""The timeline of kernels inside GPUs: the host's steps, compute units and counters.

A process for the host, whose one thread has the steps of the run: copies, kernels, caches written
back. A process for each GPU, with a thread for each of its compute units that ran anything and
more where work-groups ran side by side, and what caches read from its memory and wrote there. A
process for the links, and one for memory that all GPUs share.
"""

from __future__ import annotations

from itertools import accumulate

from linkwright.gpu import GpuRun
from linkwright.runs.timeline import Counter, Slice, Timeline, Track, whole_nanoseconds

__all__ = ["gpu_timeline"]

HOST = 0


def gpu_timeline(run: GpuRun) -> Timeline:
    """What a run that was given a `timeline` kept."""
    gpus = run.system.gpus
    links, shared = gpus + 1, gpus + 2
    processes = ["host", *(f"GPU {gpu}" for gpu in range(gpus)), "links"]
    counters = _counters(run, links, shared)
    if any(counter.process == shared for counter in counters):
        processes.append("shared memory")
    size = {} if run.size is None else {"size": run.size}
    about = {"benchmark": run.benchmark, **size, "gpus": gpus, "memory": run.system.memory}
    groups = run.groups()
    kept = {"work-groups": (groups.num_rows, run.group_count)}
    tracks = [_host(run), *_units(run)]
    return Timeline(about, processes, tracks, kept=kept, counters=counters)


def _host(run: GpuRun) -> Track:
    steps = list(run.steps())
    ends = list(accumulate(row["time"] for row in steps))
    slices = [
        Slice(
            whole_nanoseconds(end - row["time"]),
            whole_nanoseconds(end),
            f"{row['step']} {row['of']}".strip(),
            row["step"],
        )
        for row, end in zip(steps, ends, strict=True)
    ]
    return Track(HOST, 0, "steps", "steps, beside", slices)


def _units(run: GpuRun) -> list[Track]:
    ran: dict[tuple[int, int], list[Slice]] = {}
    for row in run.groups():
        start, end = whole_nanoseconds(row["start"]), whole_nanoseconds(row["end"])
        piece = Slice(start, end, f"{row['kernel']} group {row['group']}", row["kernel"])
        ran.setdefault((row["gpu"], row["unit"]), []).append(piece)
    return [
        Track(1 + gpu, unit, f"compute unit {unit}", f"compute unit {unit}, beside", slices)
        for (gpu, unit), slices in sorted(ran.items())
    ]


def _counters(run: GpuRun, links: int, shared: int) -> list[Counter]:
    """A counter's value is told only where it changes."""
    values: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in run.samples():
        told = values.setdefault((row["of"], row["what"]), [])
        # Shares in percent, and rates in GB/s.
        value = round(row["value"] * (100 if row["what"] == "busy" else 1e-9), 3)
        if not told or told[-1][1] != value:
            told.append((whole_nanoseconds(row["start"]), value))
    owners = {f"memory of GPU {gpu}": 1 + gpu for gpu in range(run.system.gpus)}
    counters = []
    for (of, what), told in values.items():
        if what == "busy":
            counters.append(Counter(links, f"{of}, busy", "%", told))
        else:
            counters.append(Counter(owners.get(of, shared), f"{what} by caches", "GB/s", told))
    return counters
