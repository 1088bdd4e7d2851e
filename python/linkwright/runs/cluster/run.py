"""Jobs that were played on a system: what they come to in numbers, tables and a report.

Shares of computing and communicating are means over a job's ranks, of the job's time; they need
not add up to one, since a rank may end early.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from linkwright import ClusterJob, ClusterRun, System, Table
from linkwright.files import portable_name
from linkwright.runs.run import Run, Section, Sheet
from linkwright.runs.timeline import Timeline
from linkwright.texts import counted, data, duration, percent

__all__ = ["JobSummary", "KnownError", "Replay", "busiest_links", "job_summaries"]

# Errors of the flow model, by the policy of the network interfaces: what `examples/flow_error.py`
# finds on 32, 64, 128, 256 and 512 ranks. docs/concepts/network.md tells them by network.
FLOW_ERRORS = {"fcfs": (-0.15, 0.58), "rr": (-0.03, 0.58)}
ANY_FLOW_ERROR = (-0.15, 0.58)
FLOW_PROGRAMS = "the six applications on 32 to 512 ranks, each alone on a fat-tree and a dragonfly"

# How many of the busiest links are printed, and how many are in the report and the summary.
PRINTED, REPORTED = 5, 10

LEFT_OUT = (
    "Computation takes what the trace or the application says, times the job's factor: it feels "
    "neither the network nor a neighbour.",
    "No packet is lost or damaged, and no link fails.",
    "What a message costs in software is a constant and a share of its size, the same on every "
    "rank.",
    "A replayed trace does what it did when it was recorded: it does not adapt to the new machine, "
    "and collectives whose messages the trace does not hold are laid out by size and ranks.",
)
OF_FLOWS = (
    "In the flow model messages share links by max-min fairness: no packet waits in a buffer, and "
    "switches do not hold one another up."
)
OF_KERNELS = (
    "Collectives run as NCCL's kernels, on idle GPUs in the time that `collective expect` tells: "
    "the network's own switches are one crossbar, so that links between them carry nothing, and "
    "links carry what NCCL reaches of them, of other messages, too."
)
PERCENTILES = {"p50": "p50", "p99": "p99", "longest": "maximum"}
ALL_PERCENTILES = {"least": "minimum", "mean": "mean", "p50": "p50", "p90": "p90"} | {
    "p99": "p99",
    "longest": "maximum",
}


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


def job_summaries(run: ClusterRun) -> list[JobSummary]:
    """Each job of a run, in its order."""

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
        for row in run.jobs()
    ]


def busiest_links(run: ClusterRun, count: int) -> list[dict[str, Any]]:
    """So many rows of `ClusterRun.links` of the highest utilisation, the busiest first.

    A link that carried nothing is not among them.
    """
    used = [row for row in run.links() if row["data"] > 0]
    return sorted(used, key=lambda row: (-row["utilisation"], row["link"]))[:count]


@dataclass(frozen=True)
class Replay(Run):
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
        """How far the flow model is known to be off; None of packets, and of kernels."""
        if self.run.fidelity != "flow" or self.run.collective_protocol == "nccl":
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

    @property
    def title(self) -> str:
        """What was played and where, for headings."""
        return f"{self.name} on {self.machine}"

    @property
    def headline(self) -> str:
        """When all had ended, what the last job spent its time on, and which link was busiest."""
        jobs = job_summaries(self.run)
        ranks = counted(sum(job.ranks for job in jobs), "rank")
        gpus = counted(self.system.gpu_count, "GPU")
        ends = "ends" if len(jobs) == 1 else "end"
        found = (
            f"{counted(len(jobs), 'job')} with {ranks} on {gpus} {ends} after "
            f"{duration(self.run.makespan)}"
        )
        last = max(jobs, key=lambda job: job.start + job.time, default=None)
        if last is not None:
            who = "it" if len(jobs) == 1 else f"{last.name}, the last,"
            found += f": {who} communicates for {last.communicating:.1%} of its time"
        busiest = busiest_links(self.run, 1)
        if busiest:
            [link] = busiest
            found += (
                f", and the busiest link, from {link['from']} to {link['to']}, is "
                f"{link['utilisation']:.1%} full"
            )
        return f"{found}."

    @property
    def context(self) -> Sequence[str]:
        """The system, and how exact the model is."""
        system = self.system
        kernels = self.run.collective_protocol == "nccl"
        network = counted(self.switches, "switch", "switches") if self.switches else "no network"
        if self.switches and not kernels:
            network += f"; routing {system.routing}, NIC {system.nic}"
        size = f"{counted(system.gpu_count, 'GPU')} in {counted(system.server_count, 'node')}"
        told = f"{size}, {self.gpus_per_server} each; {network}, {self.run.fidelity} model"
        told += ", collectives as NCCL's kernels" if kernels else ""
        return [told] if self.known_error is None else [told, str(self.known_error)]

    @property
    def work(self) -> Mapping[str, int]:
        """The events of the network's model and the hops of packets."""
        return {"events": self.run.events, "packet_hops": self.run.packet_hops}

    def tables(self) -> Mapping[str, Table]:
        """Jobs, ranks, links and latencies."""
        run = self.run
        return {
            "jobs": run.jobs(),
            "ranks": run.ranks(),
            "links": run.links(),
            "latencies": run.latencies(),
        }

    def summary(self) -> dict[str, object]:
        """Jobs, latencies of messages, levels and the busiest links."""
        run, system = self.run, self.system
        ends = {"source": "from", "destination": "to"}
        same = ("level", "utilisation", "data", "longest_queue")
        return {
            "name": self.name,
            "headline": self.headline,
            "system": {
                "name": self.machine,
                "servers": system.server_count,
                "gpus": system.gpu_count,
                "nics": system.nic_count,
                "switches": self.switches,
                "gpus_per_server": sorted(set(system.gpus_per_server)),
                "routing": system.routing,
                "nic": system.nic,
                "fidelity": run.fidelity,
            },
            "known_error": None if self.known_error is None else asdict(self.known_error),
            "makespan": run.makespan,
            "jobs": [asdict(job) for job in job_summaries(run)],
            "latencies": list(run.latencies()),
            "levels": list(run.levels()),
            "busiest_links": [
                {name: row[of] for name, of in (ends | {name: name for name in same}).items()}
                for row in busiest_links(run, REPORTED)
            ],
            "events": run.events,
            "packet_hops": run.packet_hops,
            "operations": run.operations,
            "notes": list(self.notes),
        }

    def sheets(self) -> Sequence[Sheet]:
        """Jobs, plans of collectives, latencies, and the busiest links."""
        sheets = [self._jobs(), self._planned(), self._latencies(PERCENTILES)]
        sheets.append(self._busiest(PRINTED))
        return [sheet for sheet in sheets if sheet is not None]

    def _jobs(self) -> Sheet:
        heads = ["job", "program", "ranks", "time", "computing", "communicating"]
        rows = [
            [
                job.name,
                job.program,
                str(job.ranks),
                duration(job.time),
                percent(job.computing),
                percent(job.communicating),
                f"{job.messages:,}",
                data(job.data),
            ]
            for job in job_summaries(self.run)
        ]
        return Sheet([*heads, "messages", "data"], rows, ["job", "program"])

    def _planned(self) -> Sheet | None:
        """Which algorithms the planner chose, a line for communicators alike."""
        rows = list(self.run.planned())
        if not rows:
            return None
        keys = ("collective", "ranks", "nodes", "algorithm", "rate")
        alike = Counter(tuple(row[key] for key in keys) for row in rows)
        return Sheet(
            ["planned", "ranks", "nodes", "communicators", "algorithm", "rate"],
            [
                [collective, str(ranks), str(nodes), f"{count:,}", algorithm, f"{rate:.2f} GB/s"]
                for (collective, ranks, nodes, algorithm, rate), count in alike.items()
            ],
            ["planned", "algorithm"],
            remarks=("Plans", [*dict.fromkeys(note for row in rows if (note := row["notes"]))]),
        )

    def _latencies(self, shown: Mapping[str, str]) -> Sheet:
        rows = [
            [
                data(row["largest"]),
                "within a node" if row["within_node"] else "network",
                f"{row['messages']:,}",
                *(duration(row[column]) for column in shown.values()),
            ]
            for row in self.run.latencies()
        ]
        return Sheet(["messages up to", "path", "count", *shown], rows, ["path"])

    def _busiest(self, count: int) -> Sheet:
        rows = [
            [
                f"{row['from']} to {row['to']}",
                row["level"],
                percent(row["utilisation"]),
                data(row["data"]),
            ]
            for row in busiest_links(self.run, count)
        ]
        words = ["busiest links", "level"]
        return Sheet([*words, "load", "data"], rows, words)

    def sections(self) -> Sequence[Section]:
        """What was played, its jobs, messages and links, and what the model leaves out."""
        from linkwright.runs.cluster.charts import (
            job_times,
            link_heat_map,
            link_loads,
            message_latencies,
        )

        left_out = list(LEFT_OUT)
        if self.known_error is not None:
            left_out.append(f"{OF_FLOWS} The {self.known_error}.")
        if self.run.collective_protocol == "nccl":
            left_out += [OF_FLOWS, OF_KERNELS]
        messages = len(self.run.latencies()) > 0
        planned, busiest = self._planned(), self._busiest(REPORTED)
        levels = [
            [row["level"], f"{row['links']:,}", percent(row["mean"]), percent(row["most"])]
            for row in self.run.levels()
        ]
        heads = ["level", "links", "load\nin the mean", "load\nat most"]
        of_links = [Sheet(heads, levels, ["level"])] if levels else []
        return [
            Section(
                "Jobs",
                sheets=[self._jobs()] + ([planned] if planned else []),
                note="Shares are means over the job's ranks, of its time; communication that "
                "computation hid is not counted.",
                charts={"Time of each job": job_times(self)},
            ),
            Section(
                "Messages",
                sheets=[self._latencies(ALL_PERCENTILES)] if messages else [],
                note="From the sending of a message to the arrival of its data; percentiles are "
                "exact to a 32nd.",
                charts={"How long messages took": message_latencies(self)} if messages else {},
            ),
            Section(
                "Links",
                sheets=of_links + ([busiest] if busiest.rows else []),
                note="Load: the share of the whole time in which a link would carry its data at "
                "its full bandwidth.",
                charts={
                    "Load of the links, by level": link_loads(self),
                    "How busy every link was": link_heat_map(self),
                },
            ),
            Section("What was played", facts=self._facts()),
            Section("What the inputs did not say", points=self.notes),
            Section("What the model leaves out", points=left_out),
        ]

    def _facts(self) -> list[tuple[str, str]]:
        system, run = self.system, self.run
        work = f"{run.events:,} events, {run.operations:,} operations of ranks"
        if run.packet_hops:
            work += f", {run.packet_hops:,} packet hops"
        inputs = self.manifest["files"]
        assert isinstance(inputs, list)
        files = ", ".join(held["file"] for held in inputs[:3])
        if len(inputs) > 3:
            files += f" and {len(inputs) - 3} more"
        size = f"{system.server_count:,} servers, {self.switches:,} switches"
        return [
            ("System", f"{self.machine}: {size}"),
            ("GPUs per server", self.gpus_per_server),
            ("Routing", system.routing or "none"),
            ("Network interfaces", system.nic or "none"),
            ("Model", run.fidelity),
            ("Simulated", work),
            ("Seed", str(self.manifest["seed"])),
            ("Inputs", files or "none but the settings"),
            ("Version", str(self.manifest["linkwright"])),
        ]

    def timeline(self) -> Timeline | None:
        """What its ranks did when; None where the run was not given a `timeline`."""
        from linkwright.runs.cluster.timeline import cluster_timeline

        return cluster_timeline(self.name, self.machine, self.run)
