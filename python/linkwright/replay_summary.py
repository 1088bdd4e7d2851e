"""A replay, and what it comes to in numbers: jobs, messages and links.

Shares of computing and communicating are means over a job's ranks, of the job's time; they need
not add up to one, since a rank may end early.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from linkwright import ClusterJob, ClusterRun, System
from linkwright.files import portable_name

__all__ = [
    "JobSummary",
    "LevelSummary",
    "LinkSummary",
    "Replay",
    "busiest_links",
    "job_summaries",
    "level_of",
    "level_summaries",
    "link_rows",
    "replay_summary",
]

SWITCHES = ("leaf", "aggregate", "core")
OF_A_GROUP = re.compile(r"group(\d+)-switch\d+")


# Errors of the flow model, by the policy of the network interfaces: what `examples/flow_error.py`
# finds on 32, 64, 128, 256 and 512 ranks. docs/concepts/network.md tells them by network.
FLOW_ERRORS = {"fcfs": (-0.15, 0.58), "rr": (-0.03, 0.58)}
ANY_FLOW_ERROR = (-0.15, 0.58)
FLOW_PROGRAMS = "the six applications on 32 to 512 ranks, each alone on a fat-tree and a dragonfly"


@dataclass(frozen=True)
class Replay:
    """Jobs that were played on a system.

    Attributes:
        name: What was played, for headings: a program's name or a scenario's.
        system: Where.
        jobs: The jobs.
        run: What became of them and of the network.
        manifest: What repeats the replay: the version, the settings, the hash of every input.
        notes: What was left out of traces or could not be told, in sentences.
    """

    name: str
    system: System
    jobs: Sequence[ClusterJob]
    run: ClusterRun
    manifest: Mapping[str, object] = field(repr=False)
    notes: Sequence[str] = ()

    @property
    def known_error(self) -> KnownError | None:
        """How far the flow model is known to be off; None in the packet model."""
        if self.run.fidelity != "flow":
            return None
        least, most = FLOW_ERRORS.get(self.system.nic or "", ANY_FLOW_ERROR)
        return KnownError(least, most, FLOW_PROGRAMS)

    @property
    def gpus_per_server(self) -> str:
        """How many GPUs a server has: `8`, or `4 or 8` where servers differ."""
        return " or ".join(str(count) for count in sorted(set(self.system.gpus_per_server)))

    @property
    def switches(self) -> int:
        """How many switches the network has; none where a server stands alone."""
        return 0 if self.system.fabric is None else self.system.fabric.switches

    @property
    def machine(self) -> str:
        """The system's name: its kind and size, or its file, without this computer's folders."""
        return portable_name(self.system.name)


@dataclass(frozen=True)
class KnownError:
    """How far times of jobs were from those of the packet model where both were measured.

    Attributes:
        least: The least error, as part of the packet model's time.
        most: The largest.
        programs: What was measured; another program's error may lie beyond.
    """

    least: float
    most: float
    programs: str

    def __str__(self) -> str:
        return (
            f"known error of the flow model: times of jobs {self.least:+.0%} to {self.most:+.0%} "
            f"of the packet model's, for {self.programs}"
        )


@dataclass(frozen=True)
class JobSummary:
    """One job; times in seconds.

    Attributes:
        name: Its name.
        program: What its ranks do.
        ranks: How many it has.
        start: When they start.
        time: From there to its end.
        computing: Share of the time, in the mean over its ranks.
        communicating: The same of communication that no computation hid.
        messages: How many were sent.
        data: In bytes.
    """

    name: str
    program: str
    ranks: int
    start: float
    time: float
    computing: float
    communicating: float
    messages: int
    data: int


@dataclass(frozen=True)
class LinkSummary:
    """One direction of a link: its ends, its level, its load."""

    source: str
    destination: str
    level: str
    utilisation: float
    data: int
    longest_queue: int


@dataclass(frozen=True)
class LevelSummary:
    """All links of one level: how many, and how busy in the mean and at most."""

    level: str
    links: int
    mean: float
    most: float


def job_summaries(replay: Replay) -> list[JobSummary]:
    """Each job, in the replay's order."""

    def share(part: float, time: float) -> float:
        return part / time if time > 0 else 0.0

    return [
        JobSummary(
            name=row["name"],
            program=row["program"],
            ranks=row["ranks"],
            start=row["start"],
            time=row["time"],
            computing=share(row["computing"], row["time"]),
            communicating=share(row["exposed_communication"], row["time"]),
            messages=row["messages"],
            data=row["data"],
        )
        for row in replay.run.jobs()
    ]


def level_of(kind: str, source: str, destination: str) -> str:
    """Where in the network a link is, by its kind and its ends' names.

    `injection`, `ejection`, `leaf to aggregate` and the like in a fat-tree, `local` and
    `global` in a dragonfly, and elsewhere `between switches`.
    """
    if kind != "switch":
        return kind
    tiers = [re.sub(r"\d+$", "", name) for name in (source, destination)]
    if all(tier in SWITCHES for tier in tiers):
        return " to ".join(tiers)
    groups = [OF_A_GROUP.fullmatch(name) for name in (source, destination)]
    if groups[0] and groups[1]:
        return "local" if groups[0][1] == groups[1][1] else "global"
    return "between switches"


def link_rows(replay: Replay) -> list[dict[str, Any]]:
    """The rows of `ClusterRun.links`, each with its `level`."""
    rows = list(replay.run.links())
    for row in rows:
        row["level"] = level_of(row["kind"], row["from"], row["to"])
    return rows


def busiest_links(rows: Sequence[dict[str, Any]], count: int) -> list[LinkSummary]:
    """So many links of the highest utilisation that carried anything, the busiest first."""
    used = [row for row in rows if row["data"] > 0]
    used.sort(key=lambda row: (-row["utilisation"], row["link"]))
    return [
        LinkSummary(
            row["from"],
            row["to"],
            row["level"],
            row["utilisation"],
            row["data"],
            row["longest_queue"],
        )
        for row in used[:count]
    ]


def level_summaries(rows: Sequence[dict[str, Any]]) -> list[LevelSummary]:
    """Each level, from where messages enter the network to where they leave it."""
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row["level"], []).append(row["utilisation"])
    order = ["injection", *sorted(found.keys() - {"injection", "ejection"}, key=_depth), "ejection"]
    return [
        LevelSummary(
            level, len(found[level]), sum(found[level]) / len(found[level]), max(found[level])
        )
        for level in order
        if level in found
    ]


def _depth(level: str) -> tuple[int, str]:
    """Upwards first, then downwards."""
    up = ["leaf to aggregate", "leaf to core", "aggregate to core", "local", "global"]
    down = ["core to aggregate", "core to leaf", "aggregate to leaf", "between switches"]
    known = [*up, *down]
    return (known.index(level) if level in known else len(known), level)


def replay_summary(replay: Replay, *, links: int = 10) -> dict[str, object]:
    """What `summary.json` holds: jobs, latencies of messages, levels and the busiest links."""
    rows = link_rows(replay)
    run, system = replay.run, replay.system
    return {
        "name": replay.name,
        "system": {
            "name": replay.machine,
            "servers": system.server_count,
            "gpus": system.gpu_count,
            "nics": system.nic_count,
            "switches": replay.switches,
            "gpus_per_server": sorted(set(system.gpus_per_server)),
            "routing": system.routing,
            "nic": system.nic,
            "fidelity": run.fidelity,
        },
        "known_error": None if replay.known_error is None else asdict(replay.known_error),
        "makespan": run.makespan,
        "jobs": [asdict(job) for job in job_summaries(replay)],
        "latencies": list(run.latencies()),
        "levels": [asdict(level) for level in level_summaries(rows)],
        "busiest_links": [asdict(link) for link in busiest_links(rows, links)],
        "events": run.events,
        "packet_hops": run.packet_hops,
        "operations": run.operations,
        "notes": list(replay.notes),
    }
