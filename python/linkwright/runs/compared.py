"""Shows variants of a scenario of programs, set against one of them: tables, answer and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright import System
from linkwright.scenario import program_speedups
from linkwright.runs.bills import Bills, watts_source
from linkwright.runs.columns import Column, arrow_table
from linkwright.runs.heat import PackageHeat, heat_section, heat_sheets, heat_summary, heat_table
from linkwright.runs.left_out import OF_FLOWS, OF_PROGRAMS
from linkwright.runs.run import Run, Section, Sheet
from linkwright.summaries.energy import Energy, energy_note
from linkwright.summaries.known_error import KnownError
from linkwright.texts import duration, energy

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Comparison", "Outcome"]

# All jobs of a variant are called so.
WHOLE = "all"


@dataclass(frozen=True)
class Outcome:
    """Says how long the programs of one variant took.

    Attributes:
        variant: Names it.
        system: Names the system of its jobs.
        makespan: Is in seconds until the last job ended.
        jobs: Names the jobs, in order.
        times: Has the seconds that each took.
        energy: Is what GPUs take, in kWh.
        heat: Is that of the variant's package; None where none is observed.
    """

    variant: str
    system: str
    makespan: float
    jobs: Sequence[str]
    times: Sequence[float]
    energy: Energy
    heat: PackageHeat | None = None


@dataclass(frozen=True)
class Comparison(Run):
    """Sets the variants of a scenario of programs against one of them.

    Attributes:
        path: Is the scenario's file.
        system: Ran the reference's jobs.
        reference: Is the variant that the others are compared with.
        outcomes: Has each variant's times, in order.
        manifest: Repeats the comparison.
        notes: Tell of the inputs' parts that were left out or could not be told.
        known_errors: Say how far fluids and flows are known to be off; none of other models.
        bills: Has what the variants' systems are made of; None without prices.
    """

    path: Path
    system: System
    reference: str
    outcomes: Sequence[Outcome]
    manifest: Mapping[str, object] = field(repr=False)
    notes: Sequence[str] = ()
    known_errors: Sequence[KnownError] = ()
    bills: Bills | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Gives a row for each variant and job: its time, how many times as fast it is, its energy.

        The last row of each variant, whose job is None, is of the whole: its makespan.
        """
        names = [outcome.variant for outcome in self.outcomes]
        found = [(it.makespan, list(zip(it.jobs, it.times, strict=True))) for it in self.outcomes]
        energies = [it for of in self.outcomes for it in (*of.energy.jobs, of.energy.whole)]
        told = program_speedups(found, names.index(self.reference))
        return [
            {
                "variant": names[variant],
                "job": job,
                "time": time,
                "speedup": speedup,
                "gpu_energy": energy,
            }
            for (variant, job, time, speedup), energy in zip(told, energies, strict=True)
        ]

    @property
    def _heats(self) -> dict[str, PackageHeat]:
        return {it.variant: it.heat for it in self.outcomes if it.heat is not None}

    @property
    def title(self) -> str:
        """Says for headings which variants were compared."""
        return f"Speed-up over {self.reference}: {self.path.name} on {self.system.name}"

    @property
    def headline(self) -> str:
        """Which variant ends first, and by how much."""
        whole = {row["variant"]: row for row in self.rows if row["job"] is None}
        best = max(whole.values(), key=lambda row: row["speedup"])
        if best["speedup"] <= 1:
            return f"Nothing ends before {self.reference}, which takes {duration(best['time'])}."
        return (
            f"{best['variant']} ends first, after {duration(best['time'])}: "
            f"{best['speedup']:.3f} times as fast as {self.reference}."
        )

    @property
    def context(self) -> Sequence[str]:
        """How exact the model is."""
        return [str(error) for error in self.known_errors]

    def tables(self) -> Mapping[str, pa.Table]:
        """Gives one row per variant and job."""
        columns = [
            Column("variant", "text", known=True),
            Column("job", "text"),
            Column("time", "number", "s", known=True),
            Column("speedup", "number"),
            Column("gpu_energy", "number", "kWh"),
        ]
        priced = {} if self.bills is None else {"hardware": self.bills.table()}
        told = {"comparison": arrow_table(self.rows, columns)}
        return {**told, **heat_table(self._heats, "variant"), **priced}

    def summary(self) -> dict[str, object]:
        """Gives the document that `summary.json` holds and `--json` prints."""
        return {
            "scenario": self.path.name,
            "headline": self.headline,
            "reference": self.reference,
            "variants": [
                {
                    "variant": outcome.variant,
                    "system": outcome.system,
                    "makespan": outcome.makespan,
                    "gpu_energy": outcome.energy.whole,
                    "jobs": [row for row in self.rows if row["variant"] == outcome.variant][:-1],
                }
                for outcome in self.outcomes
            ],
            "notes": list(self.notes),
            "known_errors": [asdict(error) for error in self.known_errors],
            **heat_summary(self._heats, "variant"),
            **({} if self.bills is None else {"hardware": self.bills.summary()}),
        }

    def sheets(self) -> Sequence[Sheet]:
        """Shows each job of each variant, and the whole."""
        known = [it.energy.has_rest for it in self.outcomes if it.energy.whole is not None]
        rows = [
            (
                row["variant"],
                row["job"] or WHOLE,
                duration(row["time"]),
                "none" if row["speedup"] is None else f"{row['speedup']:.3f}",
                *([energy(row["gpu_energy"])] if known else []),
            )
            for row in self.rows
        ]
        note = (
            f"Times as fast as under {self.reference}: above 1 is faster. All variants have the "
            "same seeds; `all` is the time until the last job ended."
        )
        if known:
            prices = None if self.bills is None else self.bills.prices
            note += f" {energy_note(known, watts_source(prices))}"
        bills = [] if self.bills is None else [self.bills.sheet()]
        heads = ["variant", "job", "time", "speed-up", *(["GPU energy"] if known else [])]
        times = Sheet(heads, rows, words=["variant", "job"], note=note)
        return [times, *heat_sheets(self._heats, "variant"), *bills]

    def sections(self) -> Sequence[Section]:
        """Shows the table and its chart, and notes on the inputs."""
        from linkwright.runs.comparison_chart import job_speedups

        systems = [(outcome.variant, outcome.system) for outcome in self.outcomes]
        charts = {"Speed-up of each job": job_speedups(self.rows, self.reference)}
        return [
            Section("What it came to", sheets=self.sheets()[:1], charts=charts),
            *heat_section(self._heats, "variant"),
            *([] if self.bills is None else [self.bills.section()]),
            Section("Systems", facts=systems),
            Section("Notes", points=self.notes),
            Section(
                "What the model leaves out",
                points=[
                    *OF_PROGRAMS,
                    *(f"{OF_FLOWS} The {error}." for error in self.known_errors),
                ],
            ),
        ]
