"""Gives the worth of each choice, with its interval: tables, summary, answer and report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright import System, __version__
from linkwright.runs.bills import Bills, watts_source
from linkwright.runs.columns import Column, arrow_table
from linkwright.runs.heat import PackageHeat, maps_of
from linkwright.runs.job_timeline import job_timeline
from linkwright.runs.left_out import OF_HEAT, left_out
from linkwright.runs.run import Run, Section, Sheet
from linkwright.runs.speeds_between import SpeedBetween
from linkwright.runs.timeline import Timeline
from linkwright.runs.worth import sheets
from linkwright.runs.worth.heat import mean_sheets, mean_summary, runs_table
from linkwright.runs.worth.machines import Equal
from linkwright.scenario import Scenario
from linkwright.summaries.energy import energy_in, energy_note
from linkwright.summaries.intervals import estimate
from linkwright.summaries.known_error import KnownError
from linkwright.summaries.links import Day
from linkwright.summaries.measures import MEASURES
from linkwright.summaries.over_seeds import OverSeeds, mean_and_ends
from linkwright.texts import counted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FirstDay", "Worth"]

# These measures are printed of each choice; the report and the tables have all.
PRINTED = ("job_time", "run_time", "makespan")
# A comparison of as few has no interval worth its name.
FEW = 5


@dataclass(frozen=True)
class FirstDay:
    """Holds a day on the first seed, which a report shows.

    Attributes:
        day: Holds what was played.
        heat: Is that of its package; None where none is observed.
    """

    day: Day
    heat: PackageHeat | None


@dataclass(frozen=True)
class Worth(OverSeeds, Run):
    """Sets variants of a scenario of jobs of GPUs, on several seeds, against one of them.

    Attributes:
        path: The scenario's file.
        system: The system that the reference's jobs ran on.
        scenario: The scenario as written.
        job_count: How many jobs a seed has.
        machines: The servers that were compared; none where choices were.
        first_days: Plays the reference and the scenario as written, or each machine, on the first
            seed: for the report and the timeline alone.
        manifest: The facts that repeat the comparison.
        notes: The parts that were left out of recorded jobs, the assumptions on them, and the
            choices that count for nothing.
        cautions: The signs that some machine, or its times, are probably another's.
        known_errors: How far fluids and flows are known to be off; none of packets, and of
            formulas.
        timeline_limit: How many jobs of a variant its timeline holds at most.
        bills: The parts of the machines or variants; None where nobody asks.
        equal: By what the machines are alike; None where nobody asks.
        speeds: How fast each machine computes, against the reference.
    """

    path: Path
    system: System
    scenario: Scenario
    job_count: int
    machines: Sequence[str]
    first_days: Callable[[], Sequence[FirstDay]] = field(repr=False)
    manifest: Mapping[str, object] = field(repr=False)
    notes: Sequence[str] = ()
    cautions: Sequence[str] = ()
    known_errors: Sequence[KnownError] = ()
    timeline_limit: int = 0
    bills: Bills | None = None
    equal: Equal | None = None
    speeds: Sequence[SpeedBetween] = ()

    @cached_property
    def days(self) -> Sequence[FirstDay]:
        """Returns the reference and the scenario as written, or each machine, on the first seed."""
        return self.first_days()

    @property
    def title(self) -> str:
        """Says for headings which variants were compared."""
        if self.machines:
            return f"{' or '.join(self.machines)}: {self.path.name}"
        return f"What each choice is worth: {self.path.name} on {self.system.name}"

    @property
    def headline(self) -> str:
        """Says by how much jobs end sooner, with its interval."""
        others = [
            name for name in self.found if name != self.reference and name not in self.choices
        ]
        if not others:
            return f"Only {self.reference} was played: there is nothing to compare it with."
        means = {name: self.gain(name, "job_time") for name in others}
        best = max(others, key=lambda name: -2.0 if (it := means[name]) is None else it.mean)
        if self.together in others and not self.machines:
            best = self.together
        mean, last = means[best], self.gain(best, "makespan")
        if mean is None or last is None:
            return f"Under {self.reference} jobs take no time: there is nothing to compare."
        under = "on" if self.machines else "under"
        is_whole = self.choices and best == self.together
        who = "With all choices together" if is_whole else f"{under.capitalize()} {best}"
        count = len(self.seeds)
        sure = f"{counted(count, 'seed')}, 95 % intervals" if count > 1 else "one seed: no interval"
        return (
            f"{who} jobs end {mean.told('sooner', 'later')} than {under} {self.reference} in the "
            f"mean, and the last of {counted(self.job_count, 'job')} "
            f"{last.told('sooner', 'later')} ({sure}). {self._made_of(best)}"
        )

    def _made_of(self, variant: str) -> str:
        """How much of what jobs save is waiting, where both parts are saved; and the run times."""
        run_times = self.gain(variant, "run_time")
        told = "of nothing" if run_times is None else run_times.told("shorter", "longer")

        def saving(measure: str) -> float:
            means = [estimate(self.values(it, measure)) for it in (self.reference, variant)]
            before, after = (0.0 if it is None else it.mean for it in means)
            return before - after

        waiting, running = saving("wait"), saving("run_time")
        if waiting <= 0 or running < 0:
            return f"Run times are {told}."
        part = waiting / (waiting + running)
        return f"Of the time saved {100 * part:.0f} % is waiting; run times are {told}."

    @property
    def context(self) -> Sequence[str]:
        """The answer, which is the first that is printed, and how exact the model is."""
        return [self.headline, *map(str, self.known_errors)]

    @property
    def energy_note(self) -> str:
        """Tells how the energy of GPUs is meant, where it is known."""
        outcomes = [energy_in(each) for of in self.found.values() for each in of]
        known = [has_rest for energy, has_rest in outcomes if energy is not None]
        prices = None if self.bills is None else self.bills.prices
        return energy_note(known, watts_source(prices)) if known else ""

    @property
    def warnings(self) -> Sequence[str]:
        """Names the facts that probably change the answer."""
        found = list(self.cautions)
        if 1 < len(self.seeds) < FEW:
            found.append(f"Intervals of {len(self.seeds)} seeds are few; play more with --seeds.")
        return found

    def tables(self) -> Mapping[str, pa.Table]:
        """Returns every run's results, each variant's gain, and the GPUs held by server."""
        runs = [
            {"variant": name, "seed": seed, **{it.name: each[it.name] for it in MEASURES}}
            for name, of_seeds in self.found.items()
            for seed, each in zip(self.seeds, of_seeds, strict=True)
        ]
        better = [
            {
                "what": gain.what,
                "measure": gain.measure,
                "better": gain.share.mean,
                "low": gain.share.low,
                "high": gain.share.high,
            }
            for gain in self.gains
        ]
        held = [
            {"variant": name, "gpus": gpus, "count": count}
            for name in self.found
            for gpus, count in self.held(name).items()
        ]
        measures = [Column(it.name, "number", it.unit) for it in MEASURES]
        intervals = [Column(name, "number") for name in ("better", "low", "high")]
        counts = [Column(name, "count") for name in ("gpus", "count")]
        variant, seed = Column("variant", "text", known=True), Column("seed", "count", known=True)
        names = [Column(name, "text", known=True) for name in ("what", "measure")]
        return {
            "runs": arrow_table(runs, [variant, seed, *measures]),
            "gains": arrow_table(better, [*names, *intervals]),
            "held": arrow_table(held, [variant, *counts]),
            **runs_table(self),
            **({} if self.bills is None else {"hardware": self.bills.table()}),
        }

    def summary(self) -> dict[str, object]:
        """Returns the content of `summary.json`, which `--json` prints."""
        return {
            "scenario": self.path.name,
            "headline": self.headline,
            "machine": self.system.name,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "known_errors": [asdict(error) for error in self.known_errors],
            "jobs": self.job_count,
            "seeds": list(self.seeds),
            "reference": self.reference,
            "variants": self.variants,
            "gains": [
                {"what": it.what, "measure": it.measure, **mean_and_ends(it.share)}
                for it in self.gains
            ],
            **mean_summary(self),
            **({"speeds": [asdict(it) for it in self.speeds]} if self.machines else {}),
            **({} if self.equal is None else {"equal": self.equal.summary()}),
            **({} if self.bills is None else {"hardware": self.bills.summary()}),
        }

    def sheets(self) -> Sequence[Sheet]:
        """Shows the results of each variant, the worth of each choice, and GPUs held by server."""
        bills = [] if self.bills is None else [self.bills.sheet()]
        better = sheets.better_by(self, PRINTED)
        heat = mean_sheets(self)
        return [*sheets.came_to(self), better, *sheets.held(self), *heat, *bills]

    def sections(self) -> Sequence[Section]:
        """Returns the answer's tables and charts, then the first seed's, and the model's limits."""
        from linkwright.plots import over_seeds as charts
        from linkwright.plots.jobs import heats, occupancies
        from linkwright.runs.machine import machine_section

        every = [it.name for it in MEASURES if it.less_is_better is not None]
        worth = [replace(sheets.better_by(self, [name]), note="") for name in every]
        gained = {"Gain of each variant, with its interval": charts.gains(self)}
        spread = {
            "Distribution of job times": charts.distribution(self, "job_times", "Job times", "end"),
            "Distribution of waiting": charts.distribution(self, "waits", "Waiting", "start"),
        }
        held = sheets.held(self)
        of_servers = {"GPUs held per server by jobs of several": charts.held(self)} if held else {}
        first = f"Seed {self.seeds[0]}"
        shown = {self.name_of(it.day.result.policy): it for it in self.days}
        days = {name: it.day for name, it in shown.items()}
        heat = mean_sheets(self)
        warm = {f"{name}, {first}": it.heat for name, it in shown.items() if it.heat is not None}
        is_formula = self.scenario.run_time != "played"
        facts = {
            "Scenario": self.path.name,
            "System": self.system.name,
            "Jobs": f"{self.job_count} on each seed",
            "Seeds": ", ".join(map(str, self.seeds)),
            "Reference": self.reference,
            "Run times": "by the formula" if is_formula else f"played as {self.scenario.fidelity}s",
            "Version": __version__,
        }
        what, of_seed = "What each choice is worth", sheets.better_by(self, PRINTED)
        return [
            Section(
                what if self.choices else "What each is worth",
                sheets=[of_seed],
                charts=gained if self.gains else {},
            ),
            Section("Results of each", sheets=sheets.came_to(self)),
            Section("Job times and waiting", charts=spread),
            Section("GPUs held per server", sheets=held, charts=of_servers),
            Section("How hot the package became", sheets=heat, charts=maps_of(warm)),
            Section(f"{first}: who held which GPU when", charts=occupancies(days)),
            Section(f"{first}: how much of each link was used", [OF_HEAT], charts=heats(days)),
            Section("Every measure", sheets=worth),
            *([] if self.bills is None else [self.bills.section()]),
            Section("What was run", facts=list(facts.items()), points=self.notes),
            machine_section(self.system),
            Section(
                "What the model leaves out",
                points=[
                    *left_out(self.scenario.run_time),
                    *(f"The {error}." for error in self.known_errors),
                ],
            ),
        ]

    def timeline(self) -> Timeline | None:
        """Shows which job held which GPU when, on the first seed."""
        if not self.timeline_limit:
            return None
        return job_timeline(
            [it.day.result for it in self.days],
            [it.day.system for it in self.days],
            {"scenario": self.path.name, "machine": self.system.name},
            self.timeline_limit,
        )
