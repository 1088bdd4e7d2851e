"""Tells a run of a kernel inside GPUs: its time, its caches, and the load of each link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwright import GpuSystem, __version__
from linkwright.gpu import GpuRun
from linkwright.scenario import Table
from linkwright.files import sha256
from linkwright.runs.machine import machine_section
from linkwright.runs.run import Run, Section, Sheet
from linkwright.texts import counted, duration, percent

if TYPE_CHECKING:
    from linkwright.runs.timeline import Timeline

__all__ = [
    "LEFT_OUT",
    "LINKS_NOTE",
    "KernelRun",
    "between_words",
    "fields_of",
    "links_sheet",
    "manifest_of_system",
]

LEFT_OUT = (
    "Left out: credits on links, which hold messages back at their source where a buffer is full; "
    "errors; registers of work-groups."
)


LINKS_NOTE = (
    "Bytes are those of messages, without what packets add. A link is busy while packets cross it, "
    "with what they add."
)


@dataclass(frozen=True)
class KernelRun(Run):
    """Holds a run of a kernel, for its report.

    Attributes:
        run: The run.
    """

    run: GpuRun

    @property
    def manifest(self) -> Mapping[str, object]:  # type: ignore[override]
        """Gives the version, the choices, and the hashes of the machine and the model."""
        run = {"kernel": self.run.benchmark, "size": self.run.size}
        return {"linkwright": __version__, **run, **manifest_of_system(self.run.system)}

    @property
    def title(self) -> str:
        """Names the kernel and the GPUs."""
        system = self.run.system
        size = "" if self.run.size is None else f" {self.run.size:,}"
        gpus = counted(system.gpus, "GPU")
        where = f" of {system.machine.name}" if system.machine is not None else ""
        return f"{self.run.benchmark}{size} on {gpus}{where}, {system.memory}"

    @property
    def headline(self) -> str:
        """Says how long it took, and which link was the busiest."""
        told = f"{duration(self.run.time)}, of which kernels take {duration(self.run.kernel_time)}"
        busiest = max(self.run.links(), key=lambda row: row["utilisation"], default=None)
        if busiest is None:
            return f"{told}."
        return f"{told}. {busiest['link']} is busy for {percent(busiest['utilisation'])} of it."

    @property
    def context(self) -> Sequence[str]:
        """Says also which machine joins the GPUs."""
        system = self.run.system
        return [self.headline, *([] if system.machine is None else [between_words(system)])]

    @property
    def notes(self) -> Sequence[str]:
        """Lists the parts that are not modelled."""
        return [LEFT_OUT]

    def tables(self) -> Mapping[str, Table]:
        """Gives steps, caches, channels of memory, links, and the timeline's columns."""
        run = self.run
        return {
            "steps": run.steps(),
            "caches": run.caches(),
            "memory": run.channels(),
            "links": run.links(),
            "groups": run.groups(),
            "samples": run.samples(),
        }

    def summary(self) -> dict[str, object]:
        """Gives the fields of `summary.json` and `--json`."""
        return fields_of(self.run)

    def sheets(self) -> Sequence[Sheet]:
        """Gives steps, and links by their load."""
        steps = Sheet.of(
            self.run.steps(),
            {
                "step": lambda row: row["step"],
                "of": lambda row: row["of"],
                "time": lambda row: duration(row["time"]),
            },
            words=2,
        )
        return [steps, links_sheet(self.run, "Links")]

    def sections(self) -> Sequence[Section]:
        """Shows its steps, its links, and the machine."""
        steps, links = self.sheets()
        machine = self.run.system.machine
        return [
            Section("Steps", sheets=[steps]),
            Section(
                "Links",
                sheets=[links],
                note=LINKS_NOTE,
            ),
            *([] if machine is None else [machine_section(machine)]),
            Section("What is left out", points=self.notes),
        ]

    def timeline(self) -> Timeline | None:
        """Tells when everything happened, where the run kept it."""
        from linkwright.runs.gpu_timeline import gpu_timeline

        return gpu_timeline(self.run) if self.run.group_count else None


def manifest_of_system(system: GpuSystem) -> dict[str, object]:
    """Gives what a manifest says of GPUs: the choices, and the hashes of machine and model."""
    machine: dict[str, object] | None = None
    if system.machine is not None:
        text = system.machine.to_toml()
        machine = {"name": system.machine.name, "toml_sha256": sha256(text.encode())}
        machine |= {"on": system.on, "without": system.without}
    model = system.model
    return {
        "machine": machine,
        "model": {"name": model.name, "toml_sha256": sha256(model.to_toml().encode())},
        "gpus": system.gpus,
        "memory": system.memory,
        "distribution": system.distribution,
        "remote": system.remote,
        "dram": system.dram,
        "code": system.code,
        **{setting: getattr(system, setting) for setting in system.heeds},
    }


def links_sheet(run: GpuRun, title: str, most: int | None = None) -> Sheet:
    """Shows the links of a run, the busiest first.

    Args:
        run: Used them.
        title: Heads the sheet.
        most: Limits the rows. All are shown where absent.
    """
    return Sheet.of(
        sorted(run.links(), key=lambda row: -row["utilisation"])[:most],
        {
            "link": lambda row: row["link"],
            "messages": lambda row: f"{row['messages']:,}",
            "bytes": lambda row: f"{row['bytes']:,}",
            "busy": lambda row: percent(row["utilisation"]),
            "longest wait": lambda row: duration(row["longest_wait"]),
        },
        title=title,
    )


def between_words(system: GpuSystem) -> str:
    """Says in a sentence which links join the GPUs and which model is inside."""
    machine = system.machine
    assert machine is not None
    known = machine.gpu_names
    gpus = ", ".join(known[gpu] for gpu in system.on)
    lacks = f" without {', '.join(system.without)}" if system.without else ""
    own = sorted({machine.gpu_models[gpu] or "own" for gpu in system.on})
    inside = system.model
    is_own = own == [inside.product] or own == [inside.name]
    text = f"between {gpus}: the links of {machine.name}{lacks}; inside: {inside.name}"
    return text if is_own else f"{text}, not the machine's {' and '.join(own)}"


def fields_of(run: GpuRun) -> dict[str, Any]:
    """Gives a run as JSON has it."""
    return {
        "benchmark": run.benchmark,
        "size": run.size,
        "gpus": run.system.gpus,
        "machine": run.system.machine and run.system.machine.name,
        "on": run.system.on,
        "without": run.system.without,
        "model": run.system.model.name,
        "memory": run.system.memory,
        "distribution": run.system.distribution,
        "remote": run.system.remote,
        "time": run.time,
        "kernel_time": run.kernel_time,
        "cycles": run.cycles,
        "correct": run.correct,
        "checked": run.checked,
        "mismatch": run.mismatch,
        "instructions": run.instructions,
        "remote_accesses": run.remote_accesses,
        "page_migrations": run.page_migrations,
        "steps": list(run.steps()),
        "caches": _sums(run.caches()),
        "dram": _totals(
            run.channels(), "reads", "writes", "copied_in", "copied_out", "timestamp_evictions"
        ),
        "links": list(run.links()),
        "loads": list(run.loads()),
        "timed_loads": list(run.timed_loads()),
    }


def _totals(rows: Iterable[dict[str, Any]], *columns: str) -> dict[str, int]:
    listed = list(rows)
    return {column: sum(row[column] for row in listed) for column in columns}


def _sums(caches: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Gives one row for each kind of cache, with the mean latency of an answer."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for row in caches:
        by_kind.setdefault(row["cache"], []).append(row)
    sums = []
    for kind, rows in by_kind.items():
        total = _totals(rows, "hits", "merged", "misses", "evictions", "write_backs")
        count = total["hits"] + total["merged"] + total["misses"]
        # A cache that has answered nobody has no latency.
        used = [(row["answers"], row["latency"]) for row in rows if row["answers"]]
        answers = sum(each for each, _ in used)
        sums.append(
            {
                "cache": kind,
                "count": len(rows),
                **total,
                "hit_rate": (total["hits"] + total["merged"]) / count if count else None,
                "latency": sum(n * latency for n, latency in used) / answers if answers else None,
            }
        )
    return sums
