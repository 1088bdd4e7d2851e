"""Holds the results of runs, and says how figures ask for them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from statistics import fmean

from linkwright.studies.memory.settings import BASE, BENCHMARKS, Setting

__all__ = ["Measured", "Result", "Run", "View", "mean", "read_runs", "runs_csv"]


@dataclass(frozen=True)
class Result:
    """Holds the results of one run; times in seconds, counts in lines.

    Attributes:
        kernel_time: Of its kernels.
        copy_time: Of copies from and to the host.
        write_back_time: Of what second levels write back before copies out.
        correct: Whether the answer is a CPU's; None without data.
        instructions: Of wavefronts.
        remote: Accesses to other GPUs' memory.
        l1_hits: Of vector caches, those that waited for a line under way among them.
        l1_misses: Of vector caches.
        l1_latency: Mean of the vector caches' answers; None where there were none.
        l2_hits: Of second levels.
        l2_misses: Of second levels.
        l2_latency: Mean of their answers.
        dram_reads: Read for caches.
        dram_writes: Written by caches.
        copied_in: Written by copies from the host.
        copied_out: Read by copies to it.
    """

    kernel_time: float
    copy_time: float
    write_back_time: float
    correct: bool | None
    instructions: int
    remote: int
    l1_hits: int
    l1_misses: int
    l1_latency: float | None
    l2_hits: int
    l2_misses: int
    l2_latency: float | None
    dram_reads: int
    dram_writes: int
    copied_in: int
    copied_out: int

    @property
    def time(self) -> float:
        """Of copies and kernels; shared memory needs no copies."""
        return self.kernel_time + self.copy_time + self.write_back_time

    @property
    def l1_miss_rate(self) -> float:
        """Misses of vector caches by their accesses."""
        return self.l1_misses / max(self.l1_misses + self.l1_hits, 1)

    @property
    def l2_miss_rate(self) -> float:
        """Misses of second levels by their accesses."""
        return self.l2_misses / max(self.l2_misses + self.l2_hits, 1)

    @property
    def dram(self) -> int:
        """Lines of DRAM read and written for caches."""
        return self.dram_reads + self.dram_writes

    @property
    def dram_with_copies(self) -> int:
        """Lines of DRAM, those of the host's copies among them."""
        return self.dram + self.copied_in + self.copied_out


Run = tuple[Setting, Result]
Of = Callable[[Result], float | None]


class Measured:
    """The runs of a study with some of its switches on.

    Args:
        runs: The runs and their results.
        switches: Those that are on. Of what was not run with these, the page's runs count.
    """

    def __init__(self, runs: Iterable[Run], switches: str = BASE) -> None:
        self.all = dict(runs)
        self.runs = {of: result for of, result in self.all.items() if of.switches == BASE}
        for of, result in self.all.items():
            if of.switches == switches:
                self.runs[replace(of, switches=BASE)] = result
        # The size of a benchmark in a part of the study, where it has one.
        self._sizes = {(each.part, each.benchmark): each.size for each in self.runs}

    def size(self, part: str, benchmark: str) -> int | None:
        """Returns the size of a benchmark in a part."""
        return self._sizes.get((part, benchmark))

    def sizes(self, part: str) -> list[int]:
        """All sizes of a part, in order."""
        return sorted({each.size for each in self.runs if each.part == part})

    def result(
        self,
        part: str,
        benchmark: str,
        memory: str,
        *,
        size: int | None = None,
        gpus: int = 4,
        bandwidth: float = 32.0,
        leases: tuple[int, int] = (10, 5),
    ) -> Result | None:
        """One run's result; None if it was not run."""
        size = self._sizes.get((part, benchmark), 0) if size is None else size
        setting = Setting(part, benchmark, size, memory, gpus, bandwidth, *leases, part == "xtreme")
        return self.runs.get(setting)

    def largest(self, benchmark: str, *memories: str) -> str:
        """Returns the part with the larger size that ran under all these systems."""
        at_footprint = [self.result("footprints", benchmark, memory) for memory in memories]
        return "systems" if None in at_footprint else "footprints"

    def ratios(
        self,
        of: Of,
        above: str,
        below: str,
        part: str = "systems",
        benchmarks: Sequence[str] = BENCHMARKS,
    ) -> dict[str, float]:
        """Returns one memory system's result over another's, by benchmark, where both were run."""
        found = {}
        for benchmark in benchmarks:
            both = [self.result(part, benchmark, memory) for memory in (above, below)]
            values = [None if each is None else of(each) for each in both]
            if values[0] is not None and values[1]:
                found[benchmark] = values[0] / values[1]
        return found

    def speedups(self, memory: str, over: str) -> dict[str, float]:
        """How many times as fast a memory system is as another, by benchmark."""
        return self.ratios(_time, over, memory)

    def largest_speedups(self, memory: str, over: str) -> dict[str, float]:
        """The same, of each benchmark at the larger size at which both were run."""
        found: dict[str, float] = {}
        for name in BENCHMARKS:
            part = self.largest(name, memory, over)
            found |= self.ratios(_time, over, memory, part, (name,))
        return found


@dataclass(frozen=True)
class View:
    """Runs, with MGCC mended or as printed.

    Attributes:
        measured: The runs.
        printed: Whether coherent shared memory is that with MGCC as printed.
    """

    measured: Measured
    printed: bool = False

    def coherent(self, consistency: str) -> str:
        """Names the memory system of coherent shared memory, `rc` or `sc`."""
        return f"tsm-wt-c-{consistency}{'-printed' if self.printed else ''}"


def _time(result: Result) -> float:
    return result.time


def mean(values: dict[str, float] | Sequence[float]) -> float | None:
    """Returns the mean; None of nothing."""
    found = list(values.values()) if isinstance(values, dict) else list(values)
    return fmean(found) if found else None


_COLUMNS = [field.name for field in (*fields(Setting), *fields(Result))]


def runs_csv(runs: Iterable[Run]) -> str:
    """The runs as CSV, one row each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for setting, result in runs:
        cells = (*astuple(setting), *asdict(result).values())
        writer.writerow("" if cell is None else cell for cell in cells)
    return text.getvalue()


def read_runs(file: Path) -> list[Run]:
    """The runs of a file that `runs_csv` made."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [_of_row(row) for row in csv.DictReader(lines)]


def _of_row(row: dict[str, str]) -> Run:
    kinds: dict[str, Callable[[str], object]] = {
        "str": str,
        "int": int,
        "float": float,
        "bool": lambda text: text == "True",
        "bool | None": lambda text: text == "True" if text else None,
        "float | None": lambda text: float(text) if text else None,
    }

    def of(kind: type[Setting] | type[Result]) -> dict[str, object]:
        return {each.name: kinds[str(each.type)](row[each.name]) for each in fields(kind)}

    return Setting(**of(Setting)), Result(**of(Result))  # type: ignore[arg-type]
