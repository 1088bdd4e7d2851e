"""Programs that were played on a system: their tables, what they come to, and a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from linkwright import System
from linkwright.files import portable_name
from linkwright.network import ClusterJob, ClusterRun
from linkwright.runs.busiest import busiest_sheet, levels_sheet
from linkwright.runs.cluster.attribution import ProgramsAttribution
from linkwright.runs.heat import (
    PackageHeat,
    heat_section,
    heat_sheets,
    heat_summary,
    heat_table,
)
from linkwright.runs.left_out import OF_FLOWS, OF_KERNELS, OF_PROGRAMS
from linkwright.runs.run import Run, Section, Sheet
from linkwright.runs.server.attribution import (
    attribution_sections,
    attribution_sheets,
    attribution_summary,
)
from linkwright.runs.timeline import Timeline
from linkwright.scenario import Table
from linkwright.summaries.known_error import KnownError, error_of_programs
from linkwright.summaries.links import LinkLoads
from linkwright.summaries.programs import busiest_links, job_summaries
from linkwright.texts import counted, data, duration, percent

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

__all__ = ["Replay"]

# How many of the busiest links are printed, and how many are in the report and the summary.
PRINTED, REPORTED = 5, 10

PERCENTILES = {"p50": "p50", "p99": "p99", "longest": "maximum"}
ALL_PERCENTILES = {"least": "minimum", "mean": "mean", "p50": "p50", "p90": "p90"} | {
    "p99": "p99",
    "longest": "maximum",
}


@dataclass(frozen=True)
class Replay(Run):
    """Jobs that were played on a system.

    Attributes:
        name: The name of the program or scenario that was played, for headings.
        system: Where.
        jobs: The jobs.
        run: The results of the jobs and of the network.
        manifest: The facts that repeat the replay: the version, the settings, the hash of every
            input.
        notes: The parts that were left out of traces or could not be told, in sentences.
        heat: That of the scenario's package; None where none is observed.
        slowdowns: Why each job took longer beside the others; None unless that was asked.
        events: Which raw events the run was to keep, as `play_trace` takes them.
    """

    name: str
    system: System
    jobs: Sequence[ClusterJob]
    run: ClusterRun
    manifest: Mapping[str, object] = field(repr=False)
    notes: Sequence[str] = ()
    heat: PackageHeat | None = None
    slowdowns: ProgramsAttribution | None = None
    events: Mapping[str, Any] = field(default_factory=dict)

    @property
    def _slowdowns(self) -> list[ProgramsAttribution]:
        return [] if self.slowdowns is None else [self.slowdowns]

    @property
    def known_error(self) -> KnownError | None:
        """How far the flow model is known to be off; None of packets, and of kernels."""
        run = self.run
        return error_of_programs(self.system, run.fidelity, run.collective_protocol)

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
        """Names the system: its kind and size, or its file, without this computer's folders."""
        return portable_name(self.system.name)

    @property
    def title(self) -> str:
        """Says for headings which jobs were played, and where."""
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
        busiest = busiest_links(self.run.links(), 1)
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
        """Counts the events of the network's model and the hops of packets."""
        return {"events": self.run.events, "packet_hops": self.run.packet_hops}

    @property
    def _heats(self) -> dict[str, PackageHeat]:
        return {} if self.heat is None else {self.name: self.heat}

    def tables(self) -> Mapping[str, Table | pa.Table]:
        """Returns jobs, ranks, links and latencies, raw events, and the heat of a package."""
        run = self.run
        raw = {"packets": run.packets, "queues": run.queues, "messages_from": run.messages}
        return {
            "jobs": run.jobs(),
            "ranks": run.ranks(),
            "links": run.links(),
            "devices": run.device_loads(),
            "link_times": run.link_times(),
            "latencies": run.latencies(),
            **{what.partition("_")[0]: of() for what, of in raw.items() if what in self.events},
            **({} if self.slowdowns is None else self.slowdowns.tables()),
            **heat_table(self._heats, "run"),
        }

    def summary(self) -> dict[str, object]:
        """Returns jobs, latencies of messages, levels and the busiest links."""
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
                for row in busiest_links(run.links(), REPORTED)
            ],
            "events": run.events,
            "packet_hops": run.packet_hops,
            "operations": run.operations,
            "notes": list(self.notes),
            **attribution_summary(self._slowdowns, None),
            **heat_summary(self._heats, "run"),
        }

    def sheets(self) -> Sequence[Sheet]:
        """Returns jobs, plans of collectives, latencies, and the busiest links."""
        sheets = [self._jobs(), self._planned(), self._latencies(PERCENTILES)]
        sheets += [busiest_sheet(self.run.links(), PRINTED)]
        sheets += attribution_sheets(self._slowdowns, None)
        sheets += heat_sheets(self._heats, "run")
        return [sheet for sheet in sheets if sheet is not None]

    def _jobs(self) -> Sheet:
        columns = {
            "job": lambda job: job.name,
            "program": lambda job: job.program,
            "ranks": lambda job: str(job.ranks),
            "time": lambda job: duration(job.time),
            "computing": lambda job: percent(job.computing),
            "communicating": lambda job: percent(job.communicating),
            "messages": lambda job: f"{job.messages:,}",
            "data": lambda job: data(job.data),
        }
        return Sheet.of(job_summaries(self.run), columns, words=2)

    def _planned(self) -> Sheet | None:
        """Lists the algorithms that the planner chose, a line for communicators alike."""
        rows = list(self.run.planned())
        if not rows:
            return None
        keys = ("collective", "ranks", "nodes", "algorithm", "rate")
        alike = Counter(tuple(row[key] for key in keys) for row in rows)
        columns = {
            "planned": lambda row: row["collective"],
            "ranks": lambda row: str(row["ranks"]),
            "nodes": lambda row: str(row["nodes"]),
            "communicators": lambda row: f"{row['count']:,}",
            "algorithm": lambda row: row["algorithm"],
            "rate": lambda row: f"{row['rate']:.2f} GB/s",
        }
        counted = [
            {**dict(zip(keys, values, strict=True)), "count": count}
            for values, count in alike.items()
        ]
        notes = dict.fromkeys(note for row in rows if (note := row["notes"]))
        planned = Sheet.of(counted, columns, remarks=("Plans", [*notes]))
        return replace(planned, words=["planned", "algorithm"])

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

    def sections(self) -> Sequence[Section]:
        """Shows the run, its jobs, messages and links, and the parts that the model leaves out."""
        from linkwright.plots import network
        from linkwright.plots.fabric import fabric_charts

        error, kernels = self.known_error, self.run.collective_protocol == "nccl"
        left_out = [*OF_PROGRAMS, *([OF_FLOWS, OF_KERNELS] if kernels else [])]
        left_out += [f"{OF_FLOWS} The {error}."] if error is not None else []
        messages = len(self.run.latencies()) > 0
        took = {"How long messages took": network.message_latencies(self.run)} if messages else {}
        loads = LinkLoads.of_programs(self.run)
        planned, busiest, levels = (
            self._planned(),
            busiest_sheet(loads.links, REPORTED),
            levels_sheet(loads.levels),
        )
        return [
            Section(
                "Jobs",
                sheets=[self._jobs()] + ([planned] if planned else []),
                note="Shares are means over the job's ranks, of its time; communication that "
                "computation hid is not counted.",
                charts={"Time of each job": network.job_times(self.run)},
            ),
            Section(
                "Messages",
                sheets=[self._latencies(ALL_PERCENTILES)] if messages else [],
                note="From the sending of a message to the arrival of its data; percentiles are "
                "exact to a 32nd.",
                charts=took,
            ),
            Section(
                "Links",
                sheets=[sheet for sheet in (levels, busiest) if sheet.rows],
                note="Load: the share of the whole time in which a link would carry its data at "
                "its full bandwidth.",
                charts={
                    "Load of the links, by level": network.link_loads(loads),
                    **fabric_charts(loads),
                    "How busy every link was": self.link_heat_map(),
                },
            ),
            *attribution_sections(self._slowdowns, None),
            *heat_section(self._heats, "run"),
            Section("What was played", facts=self._facts()),
            Section("Assumptions", points=self.notes),
            Section("What the model leaves out", points=left_out),
        ]

    def link_heat_map(self) -> alt.TopLevelMixin:
        """How busy every link was: a map for each level of the network."""
        from linkwright.plots.network import link_heat_map

        title = f"How busy the links of {self.machine} were: {self.name}"
        return link_heat_map(LinkLoads.of_programs(self.run), title=title)

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
        """Shows the ranks over time; returns None where the run was not given a `timeline`."""
        from linkwright.runs.rank_timeline import QUEUE_WINDOW, rank_timeline

        window = self.events.get("queue_window", QUEUE_WINDOW)
        return rank_timeline(self.name, self.machine, self.run, queue_window=window)
