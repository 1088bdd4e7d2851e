"""Tells the energy that jobs take of GPUs: one function of the core has it for every command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwright import System
from linkwright.scenario import Scenario, SimulationResult, gpu_energy

__all__ = ["Energy", "Span", "Watts", "energy_in", "energy_note", "energy_of", "spans_of"]

# The GPUs of a job, and the seconds when it got them and gave them back.
Span = tuple[Sequence[int], float, float]
# Of models of GPU, by their names in small letters: busy and at rest. The empty name is of others.
Watts = Mapping[str, tuple[float | None, float | None]]


@dataclass(frozen=True)
class Energy:
    """Holds the energy that jobs take of GPUs, in kWh.

    Attributes:
        whole: Is of all GPUs until the last job ended. None where a busy power is unknown.
        jobs: Has that of each job's GPUs. It counts while the job holds them.
        has_rest: Tells whether all that GPUs draw at rest is in the whole.
    """

    whole: float | None
    jobs: Sequence[float | None]
    has_rest: bool


def spans_of(result: SimulationResult) -> list[Span]:
    """Gives what each job of a day held."""
    return [(row["gpus"], row["start"], row["finish"]) for row in result.jobs()]


def energy_of(
    system: System,
    spans: Sequence[Span],
    watts: Watts | None = None,
    scenario: Scenario | None = None,
    files: Mapping[str, bytes] | None = None,
) -> Energy:
    """Gives the energy that jobs take of a system's GPUs.

    Args:
        system: Ran the jobs.
        spans: Tell which GPUs each job held.
        watts: Stand in place of data sheets.
        scenario: Has a `[thermal]`. It goes before all else.
        files: Are those of the scenario.

    Raises:
        InputError: If the scenario's package is not as it should be.
    """
    return Energy(**gpu_energy(system, spans, dict(watts or {}), scenario, dict(files or {})))


def energy_in(outcome: Mapping[str, Any]) -> tuple[float | None, bool]:
    """Gives the energy of GPUs in what `Scenario.outcome` says, and whether it has that at rest."""
    of_programs = outcome.get("energy")
    if of_programs is not None:
        return of_programs["whole"], of_programs["has_rest"]
    return outcome["gpu_energy"], outcome["has_rest"]


def energy_note(has_rest: Iterable[bool], source: str = "their data sheets' power") -> str:
    """Tells a reader how energies of GPUs are meant.

    Args:
        has_rest: Tells of each energy whether all that GPUs draw at rest is in it.
        source: Says whose power a busy GPU draws.
    """
    at_rest = (
        "and their power at rest else"
        if all(has_rest)
        else "their power at rest is unknown and not in it"
    )
    return (
        f"GPU energy: GPUs draw {source} while a job holds them, {at_rest}; hosts, switches and "
        "cooling are not in it."
    )
