"""A replay and what is captured of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow

from frozen.captured import Captured, Case
from frozen.fabrics import fabric
from frozen.tables import ROOT, digest, of_rows, of_table, rows_of
from linkwright.network import ClusterJob, ClusterRun, Program, read_program
from linkwright.scenario import Table

__all__ = ["EVERYTHING", "TRACE", "Play", "Work", "tables_of_run"]

TRACE = "examples/traces/stencil4d-32"
# Of a timeline: as much as any of these runs has.
EVERYTHING = 10**7
# The settings that are not the system's, but say how jobs are played on it.
OF_PLAYS = ("fidelity", "protocol", "collectives", "seed")
# Jobs of more ranks, and what their channels carried, are captured as digests.
MOST_RANKS = 120
# The columns of numbers of what a timeline keeps, in the order in which it happened.
HAPPENED = {
    "messages": ("job", "source", "destination", "tag", "size", "sent", "delivered"),
    "computation": ("job", "rank", "start", "end"),
    "regions": ("job", "rank", "depth", "start", "end"),
}


@dataclass(frozen=True)
class Work:
    """A job: a recorded trace or an application, and its settings.

    Attributes:
        program: As `read_program` takes it.
        ranks: How many ranks an application has.
        parameters: An application's.
        settings: As `ClusterJob` takes them.
    """

    program: str = TRACE
    ranks: int | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def job(self) -> ClusterJob:
        """The job itself."""
        program = _program(self.program, self.ranks, tuple(self.parameters.items()))
        return ClusterJob(program, **self.settings)


@cache
def _program(name: str, ranks: int | None, parameters: tuple[tuple[str, object], ...]) -> Program:
    path = name if ranks else ROOT / name
    return read_program(path, ranks=ranks, **dict(parameters))


@dataclass(frozen=True)
class Play:
    """Jobs on a network, one of `frozen.fabrics`.

    Attributes:
        name: The case's.
        fabric: The network's.
        settings: Of the cluster.
        works: The jobs.
    """

    name: str
    fabric: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    works: Sequence[Work] = (Work(),)

    def case(self) -> Case:
        """The case of its tables."""
        settings = "".join(f", {key}={value!r}" for key, value in self.settings.items())
        jobs = ", ".join(map(_job_text, self.works))
        command = f"fabric({self.fabric!r}{settings}).play([{jobs}])"
        return Case(f"replays/{self.name}", command, self._tables)

    def _tables(self) -> Iterator[Captured]:
        play = {key: value for key, value in self.settings.items() if key in OF_PLAYS}
        rest = {key: value for key, value in self.settings.items() if key not in OF_PLAYS}
        system = fabric(self.fabric, **rest)
        run = system.play([work.job() for work in self.works], timeline=EVERYTHING, **play)
        return tables_of_run(run)


def _job_text(work: Work) -> str:
    parts = [repr(work.program), *([f"ranks={work.ranks}"] if work.ranks else [])]
    parts += [
        f"{key}={value!r}" for key, value in (*work.parameters.items(), *work.settings.items())
    ]
    return f"job({', '.join(parts)})"


def tables_of_run(run: ClusterRun) -> Iterator[Captured]:
    """What became of jobs, ranks, channels and messages."""
    totals = (run.makespan, run.events, run.packet_hops, run.operations, *run.timeline_counts)
    columns = "makespan events packet_hops operations computed sent entered"
    yield of_rows("totals", columns, [totals])
    yield of_table("jobs", run.jobs())
    ranks, links = run.ranks(), run.links()
    for title, table, columns in (
        ("ranks", ranks, "rank gpu end computing communicating data"),
        ("channels", links, "link data packets longest_queue"),
    ):
        rows = rows_of(table, columns.split())
        yield of_rows(f"{title}: how many, and all in short", "number digest", [_short(rows)])
        if len(ranks) <= MOST_RANKS:
            used = [row for row in rows if any(row[1:])]
            yield Captured(title, columns.split(), used)
    yield of_table("latencies", run.latencies())
    if len(run.planned()):
        yield of_table("planned collectives", run.planned())
    kept = {name: getattr(run, name)() for name in HAPPENED}
    happened = [
        (name, len(kept[name]), _of_columns(kept[name], columns))
        for name, columns in HAPPENED.items()
    ]
    yield of_rows("what happened, in order, in short", "what number digest", happened)


def _short(rows: Sequence[Sequence[Any]]) -> tuple[int, str]:
    return len(rows), digest(rows)


def _of_columns(table: Table, columns: Sequence[str]) -> str:
    found = pyarrow.table(table)
    return digest(found[name].to_pylist() for name in columns)
