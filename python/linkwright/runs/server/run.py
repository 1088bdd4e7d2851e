"""Jobs that were played on a shared server: their tables, what they come to, and a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright import System, __version__
from linkwright.quartiles import Quartiles
from linkwright.runs.bills import Bills
from linkwright.runs.columns import Column, arrow_table
from linkwright.runs.heat import (
    PackageHeat,
    heat_section,
    heat_sheets,
    heat_summary,
    heat_table,
)
from linkwright.runs.job_timeline import job_timeline
from linkwright.runs.left_out import OF_HEAT, left_out
from linkwright.runs.run import Run, Section, Sheet, marked
from linkwright.runs.server.attribution import (
    attribution_sections,
    attribution_sheets,
    attribution_summary,
    attribution_tables,
)
from linkwright.runs.server.failures import failure_sheets, failure_summary
from linkwright.runs.server.links import link_sections, link_summary, link_tables
from linkwright.runs.server.nearness import nearness_sheets, nearness_tables
from linkwright.runs.speeds import warnings_of
from linkwright.runs.timeline import Timeline
from linkwright.scenario import Job, Scenario, SimulationResult
from linkwright.summaries.energy import Energy, energy_note
from linkwright.summaries.fragments import Fragments, fragments
from linkwright.summaries.known_error import KnownError
from linkwright.summaries.links import Day
from linkwright.summaries.measures import gpus_in_order
from linkwright.summaries.policies import (
    NOTHING_DIFFERS,
    PolicySummary,
    Speedup,
    gained,
    job_rows,
    speedups,
    summarise,
    time_unit,
)
from linkwright.summaries.time_parts import PARTS_NOTE, TimeParts, time_parts
from linkwright.systems import system_words
from linkwright.texts import counted, percent

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

__all__ = ["ScenarioRun"]

# Its head, its values, which is the best of them, and how they are written.
_Column = tuple[str, Sequence[float | None], Callable[..., float], str]

ALONE = (
    "They have no bandwidth between GPUs: every policy runs them equally long, and only their "
    "wait differs. No chart or quartile above counts them in, but for wait and throughput."
)


FRAGMENTS = [
    Column("policy", "text", known=True),
    Column("gpu_count", "count", known=True),
    Column("whole", "count", known=True),
    Column("parts", "count", known=True),
    Column("share", "number", known=True),
]


@dataclass(frozen=True)
class ScenarioRun(Run):
    """Holds a scenario played under each of its policies.

    Attributes:
        scenario: The scenario as written.
        path: Its file.
        system: The server that the jobs ran on.
        jobs: The jobs, read or generated.
        results: One result per policy, in the order in which they were played.
        manifest: The facts that repeat the run: the version, the choices, the hash of every input.
        timeline_limit: How many jobs of each policy its timeline holds at most.
        notes: The parts that were left out of recorded jobs, and the assumptions on them.
        known_errors: How far fluids and flows are known to be off; none of packets, and of
            formulas.
        compared_with: One of its policies, or none. With one, the run is a comparison with it, as
            its answer and its tables show. Without one, the run shows the result of each policy.
        gpus_in_order: How many GPUs each result's jobs could have; those of the system where
            nothing is said.
        bills: The parts of the system, under each policy; None without prices.
        energies: The energy that the jobs take of GPUs, under each policy.
        heats: The heat of the scenario's package by policy; empty where it observes none.
        watts_source: Whose power a busy GPU draws.
        systems: The system of each result; that of the run where nothing is said.
    """

    scenario: Scenario
    path: Path
    system: System
    jobs: Sequence[Job]
    results: Sequence[SimulationResult]
    manifest: dict[str, object] = field(repr=False)
    timeline_limit: int = 0
    compared_with: str | None = None
    notes: Sequence[str] = ()
    known_errors: Sequence[KnownError] = ()
    gpus_in_order: Sequence[int] = ()
    bills: Bills | None = None
    energies: Sequence[Energy] = ()
    heats: Mapping[str, PackageHeat] = field(default_factory=dict, repr=False)
    watts_source: str = ""
    systems: Sequence[System] = ()

    @property
    def _systems(self) -> Sequence[System]:
        return self.systems or [self.system] * len(self.results)

    @property
    def warnings(self) -> list[str]:
        """Says which facts probably change the machine or the times, and gives their remedies."""
        told = warnings_of(self.scenario, self.system, self.jobs)
        return [*self.system.warnings, *told]

    @property
    def context(self) -> Sequence[str]:
        """How exact the model is."""
        return [str(error) for error in self.known_errors]

    @cached_property
    def summaries(self) -> list[PolicySummary]:
        """Sums up each policy's result.

        Raises:
            SimulationError: If the run had no jobs.
        """
        return [summarise(result) for result in self.results]

    @cached_property
    def parts(self) -> list[TimeParts]:
        """Splits the jobs' times into parts under each policy.

        Raises:
            SimulationError: If the run had no jobs.
        """
        own = [gpus_in_order(self.system, self.scenario)] * len(self.results)
        each = zip(self.results, self.gpus_in_order or own, strict=True)
        return [time_parts(result, gpus) for result, gpus in each]

    @property
    def named_parts(self) -> list[dict[str, object]]:
        """Gives the same as JSON holds them, with the energy of GPUs: a row for each policy."""
        each = zip(self.results, self.parts, self.energies, strict=True)
        return [
            {"policy": result.policy, **asdict(parts), "gpu_energy": energy.whole}
            for result, parts, energy in each
        ]

    @property
    def reference(self) -> str:
        """The policy that speed-ups are over; `baseline` where it was played, else the first."""
        names = [result.policy for result in self.results]
        return self.compared_with or ("baseline" if "baseline" in names else names[0])

    @property
    def speedups(self) -> list[Speedup]:
        """Returns each policy's speed-up over the reference.

        Raises:
            SimulationError: If that policy was not played.
        """
        return speedups(self.results, self.reference)

    @property
    def title(self) -> str:
        """Says what was played and where, for headings."""
        where = f"{self.path.name} on {system_words(self.system)}"
        if self.compared_with:
            return f"Speed-up over {self.reference}: {where}"
        return f"{counted(len(self.jobs), 'job')} of {where}"

    @property
    def headline(self) -> str:
        """Says what a comparison found, or which policy was done first."""
        if self.compared_with:
            return gained(self.speedups, self.reference)
        ordered = sorted(self.summaries, key=lambda summary: summary.makespan)
        first, last = ordered[0], ordered[-1]
        name, unit = time_unit(last.makespan)
        found = (
            f"Under {first.policy} the {counted(first.jobs, 'job')} end after "
            f"{first.makespan / unit:.2f} {name}, {first.throughput:.1f} an hour, with a median "
            f"wait of {first.wait.median / unit:.2f} {name}"
        )
        if first.makespan < last.makespan:
            found += (
                f": the first of {len(ordered)} policies; under {last.policy}, the last, they take "
                f"{last.makespan / first.makespan:.3f} times as long"
            )
        elif len(ordered) > 1:
            found += f", and so under each of the {len(ordered)} policies"
        return f"{found}."

    def tables(self) -> Mapping[str, pa.Table]:
        """Gives the jobs, how many GPUs they held in a server, and heat, under each policy."""
        import pyarrow as pa

        tables = []
        unit = {"unit": "kWh"}
        for result, energy in zip(self.results, self.energies, strict=True):
            table = pa.table(result.jobs())
            taken = pa.field("gpu_energy", pa.float64(), metadata=unit)
            table = table.append_column(taken, pa.array(energy.jobs, pa.float64()))
            policy = pa.array([result.policy] * table.num_rows, pa.string())
            named = pa.field("policy", pa.string(), nullable=False, metadata={"unit": ""})
            tables.append(table.add_column(0, named, policy))
        held = [{"policy": policy, **asdict(row)} for policy, row in self._fragments()]
        return {
            "jobs": pa.concat_tables(tables),
            "fragments": arrow_table(held, FRAGMENTS),
            **nearness_tables(self.results, self._systems),
            **link_tables(self.results, self._systems),
            **attribution_tables(self.results),
            **heat_table(self.heats),
        }

    def summary(self) -> dict[str, object]:
        """Returns each policy's quartiles and its speed-up over the reference."""
        return {
            "scenario": self.path.name,
            "headline": self.headline,
            "machine": self.system.name,
            "jobs": len(self.jobs),
            "warnings": self.warnings,
            "notes": list(self.notes),
            "known_errors": [asdict(error) for error in self.known_errors],
            "policies": [asdict(summary) for summary in self.summaries],
            "parts": self.named_parts,
            "baseline": self.reference,
            "speedups": [asdict(speedup) for speedup in self.speedups],
            **link_summary(self.results, self._systems),
            **failure_summary(self.results),
            **attribution_summary(self.results, self.compared_with),
            **heat_summary(self.heats),
        }

    def sheets(self) -> Sequence[Sheet]:
        """Returns the parts and the speed-ups of a comparison, or the results of each policy."""
        bills = [] if self.bills is None else [self.bills.sheet()]
        told = [self._parts(), self._speedups()] if self.compared_with else [self._summary()]
        slowed = attribution_sheets(self.results, self.compared_with)
        failed = failure_sheets(self.results, self.compared_with)
        near = nearness_sheets(self.results, self._systems)
        return [*told, *near, *failed, *slowed, *heat_sheets(self.heats), *bills]

    def _parts(self) -> Sheet:
        parts = self.parts
        name, unit = time_unit(max(it.job_time for it in parts))
        form = ".3f" if name == "h" else ".1f"
        columns: list[_Column] = [
            (f"wait\n{name}", [it.wait / unit for it in parts], min, form),
            (f"run\n{name}", [it.run_time / unit for it in parts], min, form),
            (f"job time\n{name}", [it.job_time / unit for it in parts], min, form),
            ("jobs\nper h", [it.throughput for it in parts], max, ".2f"),
            ("GPU-s", [it.gpu_seconds for it in parts], min, ",.0f"),
        ]
        known = [it.has_rest for it in self.energies if it.whole is not None]
        note = PARTS_NOTE
        if known:
            columns.append(("GPU\nkWh", [it.whole for it in self.energies], min, ".4g"))
            note += f" {energy_note(known, self.watts_source)}"
        heads, values, best, formats = zip(*columns, strict=True)
        cells = marked(values, best, formats)
        loads = ["none" if it.load is None else f"{it.load:.3f}" for it in parts]
        return Sheet(
            ["policy", *heads, "load"],
            [
                [result.policy, *row, load]
                for result, row, load in zip(self.results, cells, loads, strict=True)
            ],
            ["policy"],
            title="Means over jobs",
            note=note,
        )

    def _speedups(self) -> Sheet:
        heads = {
            "minimum": "minimum",
            "lower": "25 %",
            "median": "median",
            "upper": "75 %",
            "maximum": "maximum",
            "throughput": "throughput",
        }
        found = self.speedups
        columns = [[getattr(speedup, name) for speedup in found] for name in heads]
        rows = marked(columns, [max] * len(heads), [".3f"] * len(heads))
        return Sheet(
            ["policy", *heads.values()],
            [[speedup.policy, *row] for speedup, row in zip(found, rows, strict=True)],
            ["policy"],
            title=f"Run times by quartile, as speed-up over {self.reference}" if found else "",
            note="Ratios of run times, of the sensitive jobs of two or more GPUs: above 1 is "
            "faster. Throughput is over all jobs."
            if found
            else NOTHING_DIFFERS,
        )

    def _summary(self) -> Sheet:
        summaries = self.summaries
        median: dict[str, list[float | None]] = {
            name: [None if (five := getattr(it, name)) is None else five.median for it in summaries]
            for name in ("run_time", "effective_bandwidth", "sound_bandwidth")
        }
        upper = [None if it.run_time is None else it.run_time.upper for it in summaries]
        name, unit = time_unit(max(it.makespan for it in summaries))
        seconds = ".0f" if name == "h" else ".2f"
        columns: list[_Column] = [
            (f"makespan\n{name}", [it.makespan / unit for it in summaries], min, ".2f"),
            ("jobs\nper h", [it.throughput for it in summaries], max, ".1f"),
            (f"median\nwait {name}", [it.wait.median / unit for it in summaries], min, ".2f"),
            ("median\nrun s", median["run_time"], min, seconds),
            ("75 %\nrun s", upper, min, seconds),
            ("sound\nGB/s", median["sound_bandwidth"], max, ".1f"),
        ]
        # Where the policies ranked by the sound model, both columns would be one and the same.
        model = self.scenario.bandwidth_model
        if model != "sound":
            columns.insert(5, (f"{model}\nGB/s", median["effective_bandwidth"], max, ".1f"))
        heads, values, best, formats = zip(*columns, strict=True)
        cells = marked(values, best, formats)
        alone = summaries[0].one_gpu_jobs
        return Sheet(
            ["policy", *heads],
            [[it.policy, *row] for it, row in zip(summaries, cells, strict=True)],
            ["policy"],
            note="Run times and bandwidths are of the sensitive jobs of two or more GPUs; "
            f"{counted(alone, 'job')} {'has' if alone == 1 else 'have'} one GPU.",
        )

    def sections(self) -> Sequence[Section]:
        """Shows the jobs' results, the run, its machine, and the limits of the model."""
        from linkwright.plots import jobs as charts
        from linkwright.runs.machine import machine_section

        several = self.compared_with is not None and len(self.speedups) > 1
        sound = self.scenario.bandwidth_model == "sound"
        drawn: dict[str, alt.TopLevelMixin] = {}
        if any(row["gpu_count"] > 1 for row in job_rows(self.results[0])):
            drawn = {
                "Effective bandwidth by workload and policy": charts.bandwidth_by_workload(
                    self.results, model="sound" if sound else "effective"
                ),
                "Run time by workload and policy": charts.run_time_by_workload(self.results),
                "Allocation quality by job size and policy": charts.allocation_quality(
                    self.results
                ),
            }
        days = {it.policy: Day(self.scenario, self.system, self.jobs, it) for it in self.results}
        drawn |= charts.occupancies(days)
        of_jobs = "Job times, from arrival to end"
        spread: dict[str, alt.TopLevelMixin] = {
            of_jobs: charts.times(self.results, "job_time", title=of_jobs),
            "Waiting": charts.times(self.results, "wait", title="Waiting, from arrival to start"),
        }
        # A comparison's variants may have other systems, whose names these would not be.
        of_others = len(self.results) > 1 and self.compared_with
        heat = {} if of_others else charts.heats(days)
        what = "What each policy came to" if len(self.results) > 1 else "What it came to"
        alone = self._alone()
        return [
            Section(f"Speed-up over {self.reference}", sheets=[self._speedups()] * several),
            Section(what, sheets=[self._parts(), self._summary(), *self._bandwidths(sound)]),
            Section("What the jobs got", sheets=self._in_servers(), charts=drawn),
            Section("Job times and waiting", charts=spread),
            Section("Parts that failed", sheets=failure_sheets(self.results, self.compared_with)),
            Section(
                "How near jobs' GPUs were", sheets=nearness_sheets(self.results, self._systems)
            ),
            *attribution_sections(self.results, self.compared_with),
            *heat_section(self.heats),
            Section("How much of each link was used", [OF_HEAT], charts=heat),
            *link_sections(self.results, self._systems),
            Section("Jobs of one GPU", [ALONE] if alone else [], sheets=alone),
            Section("What was run", facts=self._facts(), points=self.notes),
            machine_section(self.system),
            Section("What the model leaves out", points=self._left_out()),
        ]

    def _fragments(self) -> list[tuple[str, Fragments]]:
        """Counts the GPUs that jobs held in a server, under each policy."""
        return [(result.policy, row) for result in self.results for row in fragments(result)]

    def _in_servers(self) -> list[Sheet]:
        """The same to be read, where there are several servers."""
        rows = self._fragments()
        if self.system.server_count < 2 or not rows:
            return []
        columns = {
            "policy": lambda it: it[0],
            "GPUs in\na server": lambda it: str(it[1].gpu_count),
            "whole\njobs": lambda it: f"{it[1].whole:,}",
            "parts\nof jobs": lambda it: f"{it[1].parts:,}",
            "share": lambda it: percent(it[1].share),
        }
        note = "A job that has GPUs of several servers leaves a part in each; jobs of one GPU are "
        title = "How many GPUs jobs held in a server"
        return [Sheet.of(rows, columns, title=title, note=f"{note}left out.")]

    def _bandwidths(self, sound: bool) -> list[Sheet]:
        heads = ["minimum", "25 %", "median", "75 %", "maximum"]
        rows = [
            [summary.policy, *(f"{value:.2f}" for value in astuple(five))]
            for summary in self.summaries
            if (five := summary.effective_bandwidth) is not None
        ]
        whose = "sound" if sound else "policies'"
        title = f"Effective bandwidth of the sensitive jobs, by the {whose} model"
        with_unit = [f"{head}\nGB/s" for head in heads]
        return [Sheet(["policy", *with_unit], rows, ["policy"], title)] if rows else []

    def _alone(self) -> list[Sheet]:
        rows = []
        name, unit = time_unit(max(it.makespan for it in self.summaries))
        for result in self.results:
            alone = [row for row in job_rows(result) if row["gpu_count"] == 1]
            if not alone:
                return []
            run_time = Quartiles.of(row["run_time"] for row in alone).median
            wait = Quartiles.of(row["wait"] / unit for row in alone)
            seconds = ".0f" if name == "h" else ".2f"
            cells = [f"{run_time:{seconds}}", f"{wait.median:.2f}", f"{wait.maximum:.2f}"]
            rows.append([result.policy, f"{len(alone):,}", *cells])
        heads = ["jobs", "median\nrun s", f"median\nwait {name}", f"longest\nwait {name}"]
        return [Sheet(["policy", *heads], rows, ["policy"])]

    def _left_out(self) -> list[str]:
        errors = [f"The {error}." for error in self.known_errors]
        return left_out(self.results[0].run_time) + errors

    def _run_times(self) -> str:
        match self.results[0].run_time:
            case "formula":
                return "by the formula"
            case "regression":
                return "by the formula at the published regression's bandwidth"
        scenario = self.scenario
        return f"played as {scenario.fidelity}s, all-reduces by {scenario.planner}"

    def _facts(self) -> list[tuple[str, str]]:
        jobs = self.manifest["jobs"]
        assert isinstance(jobs, dict)
        origin = f"from {jobs['file']}" if "file" in jobs else f"generated with seed {jobs['seed']}"
        facts = {
            "Scenario": self.path.name,
            "Machine": self.system.name,
            "Jobs": f"{jobs['count']}, {origin}",
            "Policies": ", ".join(result.policy for result in self.results),
            "Bandwidth model": self.scenario.bandwidth_model,
            "Bandwidth profile": str(self.manifest["bandwidth_profile"]),
            "Ties": self.scenario.ties,
            "Queue": self.scenario.discipline,
            "Run times": self._run_times(),
            "Version": __version__,
        }
        if self.system.server_count > 1:
            facts["Servers"] = self.scenario.server_choice
        if self.scenario.unhealthy:
            facts["Unhealthy GPUs"] = ", ".join(str(gpu) for gpu in self.scenario.unhealthy)
        return list(facts.items())

    def timeline(self) -> Timeline | None:
        """Shows which job held which GPU when: a process for each policy, a thread for each GPU."""
        if not self.timeline_limit:
            return None
        about = {"scenario": self.path.name, "machine": self.system.name}
        systems = [self.system] * len(self.results)
        return job_timeline(self.results, systems, about, self.timeline_limit)
