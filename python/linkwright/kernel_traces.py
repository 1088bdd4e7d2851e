"""Traces of PyTorch's profiler, whose kernels stand in the place of the model's."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from linkwright import System, expect
from linkwright.training import KernelRatios, KernelTrace
from linkwright.arguments import path_or_name
from linkwright.errors import FileError, LinkwrightError, brief, printable
from linkwright.files import PathOrName, existing, path_of, portable_name

__all__ = ["BYTES", "MeasuredKernels", "is_trace", "read_kernel_trace", "name_of", "trace_or_path"]

# The letters and figures by which a data centre's GPUs are told apart, as in `NVIDIA H100 80GB`.
MODEL = re.compile(r"\b[A-Z]+[0-9]+[A-Z]*\b")
GZIPPED = b"\x1f\x8b"
# An object or a list of JSON begins so.
OPENED = (b"{", b"[")
# Names of collectives in traces, without what PyTorch puts around them.
COLLECTIVES = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "allgatherbase": "all-gather",
    "allgatherintotensor": "all-gather",
    "reducescatter": "reduce-scatter",
    "reducescatterbase": "reduce-scatter",
    "reducescattertensor": "reduce-scatter",
    "broadcast": "broadcast",
    "alltoall": "all-to-all",
    "alltoallv": "all-to-all",
    "alltoallbase": "all-to-all",
}
# Bytes of the numbers that traces name.
BYTES = {
    "Double": 8,
    "Long": 8,
    "Float": 4,
    "Int": 4,
    "BFloat16": 2,
    "Half": 2,
    "Short": 2,
    "Byte": 1,
    "Char": 1,
    "Bool": 1,
}


def is_trace(path: PathOrName) -> bool:
    """Whether a file is a trace, and no list of layers: it is JSON, or compressed."""
    name = str(path).lower()
    if name.endswith((".json", ".gz")):
        return True
    try:
        file = path_of("measured", path)
        if not stat.S_ISREG(file.stat().st_mode):
            return False
        with file.open("rb") as stream:
            begun = stream.read(64)
    except (OSError, LinkwrightError):
        # Whatever reads it says why it cannot be read.
        return False
    return begun.startswith(GZIPPED) or begun.lstrip().startswith(OPENED)


def trace_or_path(argument: str, value: object) -> KernelTrace | PathOrName:
    """Reads a trace that was read before, or the path of a file."""
    return value if isinstance(value, KernelTrace) else path_or_name(argument, value)


def read_kernel_trace(path: PathOrName) -> KernelTrace:
    """Reads a trace of PyTorch's profiler, gzipped or not.

    Raises:
        FileError: If there is no such file.
        InputError: If it is no trace, is cut off, or holds nothing that ran on a GPU.
    """
    file = existing("measured", path)
    if file is None or file.is_dir():
        problem = f"there is no trace `{brief(str(path))}`"
        raise FileError(problem, "name a file that PyTorch's profiler exported")
    try:
        str(file).encode()
    except UnicodeEncodeError as error:
        problem = f"the name `{printable(str(file))}` is no text of UTF-8"
        raise FileError(problem, "rename the file") from error
    return KernelTrace.read(str(file))


@dataclass(frozen=True)
class MeasuredKernels:
    """Holds a trace, compared with the model.

    Attributes:
        trace: The measured kernels.

        file: The trace's name.

        ratios: How many times as long as by the model kernels took; None without a model.

        run: The run that the trace is said to be of: `layout`, `batch` and `micro_batch`.

        system: The machine that it ran on, for the model's times of collectives; None where
            nobody says.
    """

    trace: KernelTrace = field(repr=False)
    file: str
    ratios: KernelRatios | None = field(default=None, repr=False)
    run: Mapping[str, object] = field(default_factory=dict)
    system: System | None = field(default=None, repr=False)

    @property
    def headline(self) -> str:
        """Says how long a step took, and how much of it was recognised."""
        trace = self.trace
        steps = "one step" if trace.steps == 1 else f"{trace.steps:,} steps"
        on = f" on {trace.gpu}" if trace.gpu else ""
        return (
            f"{steps[0].upper()}{steps[1:]} of {trace.time * 1e3:,.3f} ms{on} in {self.file}; "
            f"{trace.recognised:.1%} of the GPU's time is of known kernels"
        )

    def collectives(self) -> list[dict[str, Any]]:
        """Gives the rows of `KernelTrace.collectives`, each with the model's time in seconds.

        The model's time (`modelled`) is NCCL's on the first GPUs of the system, alone. It is None
        where the trace says too little.
        """
        rows = [dict(row) for row in self.trace.collectives()]
        asked: dict[tuple[str, int], list[int]] = {}
        for row in rows:
            collective, ranks, size = _asked(row)
            row["modelled"] = None
            if size > 0:
                asked.setdefault((collective, ranks), []).append(size)
        times = {}
        for (collective, ranks), sizes in asked.items():
            found = self._expected(collective, ranks, sorted(set(sizes)))
            times.update({(collective, ranks, size): time for size, time in found.items()})
        for row in rows:
            row["modelled"] = times.get(_asked(row))
        return rows

    def _expected(self, collective: str, ranks: int, sizes: Sequence[int]) -> dict[int, float]:
        """Seconds by sizes; nothing where the system has no such GPUs."""
        system = self.system
        if system is None or not 2 <= ranks <= system.gpu_count:
            return {}
        with suppress(LinkwrightError):
            found = expect(system, list(range(ranks)), cast("Any", collective), sizes)
            return {size: row["time"] for size, row in zip(sizes, found, strict=True)}
        return {}

    def comparison(self) -> list[dict[str, Any]]:
        """Gives the rows of `KernelRatios.rows`; none without a model."""
        return [] if self.ratios is None else list(self.ratios.rows())

    def notes(self) -> Sequence[str]:
        """Says whose GPU it is, what was not used, and which kernels no rule knows."""
        unknown = [
            f"{row['time'] * 1e6:,.1f} µs a step of a kernel of no known kind: {row['name']}"
            for row in self.trace.unknown()
        ]
        skipped = [f"left out: {it}" for it in self.trace.skipped]
        return [*self._other_gpus(), *skipped, *unknown]

    def _other_gpus(self) -> list[str]:
        """Says that the trace names another model of GPU than the machine has, where it does."""
        found = MODEL.search(self.trace.gpu)
        if self.system is None or found is None:
            return []
        models = {row["model"] for row in self.system.devices() if row["is_gpu"]} - {None}
        if not models or any(found.group() in re.split(r"[- ]", model) for model in models):
            return []
        own = ", ".join(sorted(models))
        return [f"it is of {self.trace.gpu}, and the machine has {own}"]

    def summary(self) -> dict[str, object]:
        """Says what `--json` has as `measured`."""
        trace = self.trace
        return {
            "file": self.file,
            **self.run,
            "steps": trace.steps,
            "events": trace.events,
            "rank": trace.rank,
            "gpu": trace.gpu,
            "time": trace.time,
            "recognised": trace.recognised,
            "parts": list(trace.parts()),
            "kernels": list(trace.kernels()),
            "products": list(trace.products()),
            "collectives": self.collectives(),
            "ratios": self.comparison(),
            "rest": None if self.ratios is None else self.ratios.rest,
            "unknown": list(trace.unknown()),
            "skipped": [*self._other_gpus(), *trace.skipped],
        }


def _asked(row: Mapping[str, Any]) -> tuple[str, int, int]:
    """Gives the collective of a row, its ranks, and the whole buffer's bytes; 0 where unknown."""
    name = str(row["collective"]).lower().replace("_", "").removeprefix("nccl:")
    collective = COLLECTIVES.get(name, "")
    # All of it, as nccl-tests counts it.
    parts = row["ranks"] if collective == "all-gather" else 1
    size = row["elements"] * BYTES.get(str(row["number"]), 0) * parts
    return collective, row["ranks"], size if collective else 0


def name_of(path: PathOrName | KernelTrace) -> str:
    """Gives the name of a trace's file, without its folders; a word for one that has been read."""
    return "a trace" if isinstance(path, KernelTrace) else portable_name(str(path))
