"""Compares memory systems on kernels: times, answers, and the load of each link of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwright import GpuSystem, __version__
from linkwright.gpu import GpuRun
from linkwright.runs.columns import Column, arrow_table
from linkwright.runs.gpu.run import (
    LEFT_OUT,
    LINKS_NOTE,
    between_words,
    fields_of,
    links_sheet,
    manifest_of_system,
)
from linkwright.runs.machine import machine_section
from linkwright.runs.run import Run, Section, Sheet
from linkwright.texts import counted, duration, percent

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ComparedKernel", "KernelComparison"]

# A page shows as many links of each run. The table has all.
SHOWN = 8
ANSWERS = {True: "right", False: "wrong", None: "not asked"}


@dataclass(frozen=True)
class ComparedKernel:
    """Holds a run of a kernel under one memory system.

    Attributes:
        name: Names the kernel. Its user says it.
        size: Is that of a benchmark. A kernel of one's own has None.
        system: Holds the GPUs. They share memory as it says.
        run: Holds what was run. None stands where the kernel never ends.
        problem: Says why it does not.
    """

    name: str
    size: int | None
    system: GpuSystem
    run: GpuRun | None
    problem: str | None = None

    def row(self) -> dict[str, Any]:
        """Gives its times, its hits and its traffic, as JSON has them."""
        row: dict[str, Any] = {"benchmark": self.name, "size": self.size}
        row["memory"] = self.system.memory
        run = self.run
        if run is None:
            return row | {"time": None, "correct": None, "problem": self.problem}
        fields = fields_of(run)
        kinds = {cache["cache"]: cache for cache in fields["caches"]}
        return row | {
            "time": run.time,
            "kernel_time": run.kernel_time,
            "correct": run.correct,
            "problem": run.mismatch,
            "l1_hit_rate": kinds["L1 vector"]["hit_rate"],
            "l2_hit_rate": kinds["L2"]["hit_rate"],
            "remote_accesses": run.remote_accesses,
            "dram_reads": fields["dram"]["reads"],
            "dram_writes": fields["dram"]["writes"],
        }


@dataclass(frozen=True)
class KernelComparison(Run):
    """Compares memory systems on kernels.

    Attributes:
        runs: Has each kernel under each memory system; speed-ups are over its first.
    """

    runs: Sequence[ComparedKernel]

    def rows(self) -> list[dict[str, Any]]:
        """Gives a row for each run, with how many times as fast it is as the first."""
        rows = [run.row() for run in self.runs]
        first: dict[str, float | None] = {}
        for row in rows:
            base = first.setdefault(row["benchmark"], row["time"])
            row["speedup"] = base / row["time"] if base and row["time"] else None
        return rows

    @property
    def _system(self) -> GpuSystem:
        return self.runs[0].system

    @property
    def manifest(self) -> Mapping[str, object]:  # type: ignore[override]
        """Gives the version, the kernels, the choices, and the hashes of machine and model."""
        kernels = {run.name: run.size for run in self.runs}
        systems = {run.system.memory: run.system for run in self.runs}
        return {
            "linkwright": __version__,
            "kernels": [{"kernel": name, "size": size} for name, size in kernels.items()],
            "systems": [manifest_of_system(system) for system in systems.values()],
        }

    @property
    def title(self) -> str:
        """Names the GPUs."""
        system = self._system
        where = f" of {system.machine.name}" if system.machine is not None else ""
        return f"Memory systems on {counted(system.gpus, 'GPU')}{where}"

    @property
    def headline(self) -> str:
        """Says which memory system is the fastest on each kernel."""
        best: dict[str, dict[str, Any]] = {}
        for row in self.rows():
            # A wrong answer is no answer.
            if row["time"] is None or row["correct"] is False:
                continue
            known = best.setdefault(row["benchmark"], row)
            if row["time"] < known["time"]:
                best[row["benchmark"]] = row
        told = [f"{name}: {row['memory']}, {duration(row['time'])}" for name, row in best.items()]
        return f"The fastest with a right answer: {'; '.join(told)}." if told else "None ends."

    @property
    def context(self) -> Sequence[str]:
        """Says also which machine joins the GPUs."""
        joined = [] if self._system.machine is None else [between_words(self._system)]
        return [self.headline, *joined]

    @property
    def notes(self) -> Sequence[str]:
        """Lists the parts that are not modelled."""
        return [LEFT_OUT]

    def tables(self) -> Mapping[str, pa.Table]:
        """Gives a row for each run, and one for each link of each."""
        columns = [
            *(Column(name, "text", known=True) for name in ("benchmark", "memory")),
            Column("size", "count"),
            Column("time", "number", "s"),
            Column("kernel_time", "number", "s"),
            *(Column(name, "number") for name in ("speedup", "l1_hit_rate", "l2_hit_rate")),
            *(Column(name, "count") for name in ("remote_accesses", "dram_reads", "dram_writes")),
            Column("answer", "text", known=True),
            Column("problem", "text"),
        ]
        rows = [{**row, "answer": answer_of(row)} for row in self.rows()]
        carried = [
            {"benchmark": run.name, "memory": run.system.memory, **link}
            for run in self.runs
            if run.run is not None
            for link in run.run.links()
        ]
        links = [
            *(Column(name, "text", known=True) for name in ("benchmark", "memory", "link")),
            Column("messages", "count", known=True),
            Column("bytes", "count", "B", known=True),
            Column("utilisation", "number", known=True),
            Column("longest_wait", "number", "s", known=True),
        ]
        return {"comparison": arrow_table(rows, columns), "links": arrow_table(carried, links)}

    def summary(self) -> dict[str, object]:
        """Gives the fields of `summary.json`."""
        system = self._system
        return {
            "headline": self.headline,
            "machine": system.machine and system.machine.name,
            "on": system.on,
            "without": system.without,
            "model": system.model.name,
            "gpus": system.gpus,
            "runs": self.rows(),
        }

    def sheets(self) -> Sequence[Sheet]:
        """Gives a row for each run."""
        heads = ["benchmark", "memory", "time", "speed-up", "L1 hits", "L2 hits", "remote", "DRAM"]
        rows = [
            [row["benchmark"], row["memory"], *_numbers(row), answer_of(row)] for row in self.rows()
        ]
        return [Sheet([*heads, "answer"], rows, ["benchmark", "memory", "answer"])]

    def sections(self) -> Sequence[Section]:
        """Shows the runs, the busiest links of each, and the machine."""
        links = [
            links_sheet(run.run, f"{run.name} under {run.system.memory}", SHOWN)
            for run in self.runs
            if run.run is not None
        ]
        machine = self._system.machine
        return [
            Section("What it came to", sheets=self.sheets()),
            Section(
                "Links",
                sheets=links,
                note=f"{LINKS_NOTE} The {SHOWN} busiest of each run are here. `links.parquet` has "
                "all.",
            ),
            *([] if machine is None else [machine_section(machine)]),
            Section("What is left out", points=self.notes),
        ]


def answer_of(row: Mapping[str, Any]) -> str:
    """Says whether a run's answer is right."""
    return "never ends" if row["time"] is None else ANSWERS[row["correct"]]


def _numbers(row: Mapping[str, Any]) -> list[str]:
    """Writes the cells between a run's name and its answer."""
    if row["time"] is None:
        return [""] * 6
    return [
        duration(row["time"]),
        f"{row['speedup']:.2f}" if row["speedup"] else "",
        percent(row["l1_hit_rate"]),
        percent(row["l2_hit_rate"]),
        f"{row['remote_accesses']:,}",
        f"{row['dram_reads'] + row['dram_writes']:,}",
    ]
