"""Variants of a scenario of programs, set against one of them: tables, answer and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright import System, program_speedups
from linkwright.runs.columns import Column, arrow_table
from linkwright.runs.left_out import OF_FLOWS, OF_PROGRAMS
from linkwright.runs.run import Run, Section, Sheet
from linkwright.summaries.known_error import KnownError
from linkwright.texts import duration

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Comparison", "Outcome"]

# What stands for all jobs of a variant.
WHOLE = "all"


@dataclass(frozen=True)
class Outcome:
    """What one variant of programs came to.

    Attributes:
        variant: Its name.
        system: What its jobs ran on.
        makespan: Seconds until the last job ended.
        jobs: The jobs' names, in order.
        times: Seconds that each took.
    """

    variant: str
    system: str
    makespan: float
    jobs: Sequence[str]
    times: Sequence[float]


@dataclass(frozen=True)
class Comparison(Run):
    """The variants of a scenario of programs, set against one of them.

    Attributes:
        path: The scenario's file.
        system: What the reference's jobs ran on.
        reference: The variant that the others are compared with.
        outcomes: What each came to, in order.
        manifest: What repeats the comparison.
        notes: What was left out of the inputs or could not be told.
        known_errors: How far fluids and flows are known to be off; none of other models.
    """

    path: Path
    system: System
    reference: str
    outcomes: Sequence[Outcome]
    manifest: Mapping[str, object] = field(repr=False)
    notes: Sequence[str] = ()
    known_errors: Sequence[KnownError] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per variant and job: its time, and how many times as fast as the reference's.

        The last row of each variant, whose job is None, is of the whole: its makespan.
        """
        names = [outcome.variant for outcome in self.outcomes]
        found = [(it.makespan, list(zip(it.jobs, it.times, strict=True))) for it in self.outcomes]
        return [
            {"variant": names[variant], "job": job, "time": time, "speedup": speedup}
            for variant, job, time, speedup in program_speedups(found, names.index(self.reference))
        ]

    @property
    def title(self) -> str:
        """What was compared, for headings."""
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
        """One row per variant and job."""
        columns = [
            Column("variant", "text", known=True),
            Column("job", "text"),
            Column("time", "number", "s", known=True),
            Column("speedup", "number"),
        ]
        return {"comparison": arrow_table(self.rows, columns)}

    def summary(self) -> dict[str, object]:
        """What `summary.json` holds and `--json` prints."""
        return {
            "scenario": self.path.name,
            "headline": self.headline,
            "reference": self.reference,
            "variants": [
                {
                    "variant": outcome.variant,
                    "system": outcome.system,
                    "makespan": outcome.makespan,
                    "jobs": [row for row in self.rows if row["variant"] == outcome.variant][:-1],
                }
                for outcome in self.outcomes
            ],
            "notes": list(self.notes),
            "known_errors": [asdict(error) for error in self.known_errors],
        }

    def sheets(self) -> Sequence[Sheet]:
        """Each job of each variant, and the whole."""
        rows = [
            (
                row["variant"],
                row["job"] or WHOLE,
                duration(row["time"]),
                "none" if row["speedup"] is None else f"{row['speedup']:.3f}",
            )
            for row in self.rows
        ]
        note = (
            f"Times as fast as under {self.reference}: above 1 is faster. All variants have the "
            "same seeds; `all` is the time until the last job ended."
        )
        return [
            Sheet(["variant", "job", "time", "speed-up"], rows, words=["variant", "job"], note=note)
        ]

    def sections(self) -> Sequence[Section]:
        """The table and its chart, and what is to be known of the inputs."""
        from linkwright.runs.comparison_chart import job_speedups

        systems = [(outcome.variant, outcome.system) for outcome in self.outcomes]
        charts = {"Speed-up of each job": job_speedups(self.rows, self.reference)}
        return [
            Section("What it came to", sheets=self.sheets(), charts=charts),
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
