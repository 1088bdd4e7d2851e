"""The study as a whole: its sections are made of runs, wherever these come from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from linkwright.studies.memory.ablation import ablation
from linkwright.studies.memory.measured import Measured, Run, runs_csv
from linkwright.studies.memory.sensitivity import bandwidths, coherence, hmg, scaling
from linkwright.studies.memory.speedups import speedups, strides, systems, transaction_counts
from linkwright.studies.memory.statements import statements
from linkwright.studies.memory.stress import leases, storage, ways, xtreme
from linkwright.studies.memory.wirings import wirings
from linkwright.studies.parts import Parts, chosen, made
from linkwright.studies.study import Study
from linkwright.studies.tables import Section

__all__ = ["INTRODUCTION", "NEEDS", "TITLE", "MemoryStudy", "sections_of", "study_of"]

TITLE = "One memory for all GPUs"
INTRODUCTION = (
    "Mojumder's dissertation (Boston University) joins several GPUs to one memory behind a "
    "switch, and keeps their caches coherent by leases in logical time, MGCC. This study runs its "
    "benchmarks on Linkwright's [model of GPUs](../concepts/gpu-memory.md), cycle by cycle, under "
    "its memory systems. It sets the text's numbers beside ours. MGCC as printed is not coherent "
    "([coherence](../concepts/coherence.md)); the numbers are for MGCC mended, and beside them "
    "for MGCC as printed. There bfs reads levels as they were and finds too little; its times are "
    "those of the way that is right.",
    "Times are those of copies from and to the host and of kernels under `rdma` and `hmg`. "
    "Under shared memory, which needs no copy, they are of kernels alone. Wavefronts know their "
    "kernels' code, as under `gpu compare --set code=false`. The cost of reading it through caches "
    "of instructions stands [beside the model](../concepts/gpu-memory.md#reading-code). No "
    "published number enters a model.",
    "Where the text leaves a choice, or has two values, the study reads it as follows. Sizes of "
    "Xtreme: 384 KB, and in one place 368, of the three vectors together for each GPU. Memory: 8 "
    "channels of 512 MB a GPU (Table 3.1), where section 1.2.2 has 8 GB; no size here needs "
    "either. Bandwidth of shared memory: 32 GB/s each way for each GPU, 128 for four (section "
    "3.2.1). Leases: 10 for reads and 5 for writes, which section 4.4.2 has both ways around. "
    "Benchmarks: the nine of Table 3.2; the text says eleven, then nine.",
)


@dataclass(frozen=True)
class MemoryStudy(Study):
    """Holds the outcome of the memory study.

    Attributes:
        runs: The runs and their results.
    """

    runs: Sequence[Run]

    def contents(self) -> dict[str, bytes]:
        """The files but for the figures, by name; `runs.csv` holds every run."""
        return {**super().contents(), "runs.csv": runs_csv(self.runs).encode()}


def study_of(runs: Sequence[Run], only: str | None = None) -> MemoryStudy:
    """The study, of runs that were performed now or before.

    With `only`, it has the section of that name alone.
    """
    return MemoryStudy(
        name="memory",
        title=TITLE,
        introduction=(*INTRODUCTION, coverage(runs)),
        sections=sections_of(runs, only),
        runs=runs,
    )


def coverage(runs: Sequence[Run]) -> str:
    """A sentence on how much was run."""
    played = sum(result.instructions for _, result in runs)
    return (
        f"Here: {len(runs):,} runs, {played / 1e6:,.0f} million instructions of wavefronts. A "
        "cell is blank where nothing was run."
    )


# Which runs a section looks at, by their part; None for all.
NEEDS: Mapping[str, Collection[str] | None] = {
    "statements": None,
    "speed-up": ("systems", "footprints"),
    "transpose": ("strides", "footprints"),
    "systems": ("systems",),
    "transactions": ("systems", "footprints"),
    "coherence": ("systems",),
    "hmg": ("systems",),
    "bandwidth": ("bandwidth",),
    "gpus": ("gpus",),
    "xtreme": ("xtreme",),
    "leases": ("leases",),
    "switches": None,
    "wirings": ("wirings",),
    "storage": (),
    "ways": ("ways",),
}


def sections_of(runs: Sequence[Run], only: str | None = None) -> list[Section]:
    """The sections, of runs that were performed now or before.

    With `only`, it has the section of that name alone.
    """
    measured = Measured(runs)
    parts: Parts = {
        "statements": lambda: statements(measured),
        "speed-up": lambda: speedups(measured),
        "transpose": lambda: strides(measured),
        "systems": lambda: systems(measured),
        "transactions": lambda: transaction_counts(measured),
        "coherence": lambda: coherence(measured),
        "hmg": lambda: hmg(measured),
        "bandwidth": lambda: bandwidths(measured),
        "gpus": lambda: scaling(measured),
        "xtreme": lambda: xtreme(measured),
        "leases": lambda: leases(measured),
        "switches": lambda: ablation(measured),
        "wirings": lambda: wirings(measured),
        "storage": storage,
        "ways": lambda: ways(measured),
    }
    return made(chosen("memory", parts, only))
