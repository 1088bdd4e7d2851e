"""Sums runs of jobs of GPUs up, as tables and charts show them; the core defines each measure."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright import System
from linkwright.scenario import Scenario, comparison_measures
from linkwright.summaries.time_parts import SECONDS_PER_HOUR

__all__ = ["MEASURES", "SHARES", "Measure", "gpus_in_order"]

# Where the curves of distributions have a point: every fortieth part of the jobs.
SHARES = tuple(step / 40 for step in range(41))


@dataclass(frozen=True)
class Measure:
    """Something that a run comes to.

    Attributes:
        name: Its name in tables and JSON.
        what: Its description, for people.
        head: The head of its column; the part behind a line's end is small.
        unit: Its unit.
        factor: By what its values are multiplied where people read them.
        less_is_better: Whether less is better; None of what is neither.
    """

    name: str
    what: str
    head: str
    unit: str
    factor: float
    less_is_better: bool | None


# The head of each measure's column, and by what its values are multiplied where people read them.
SHOWN = {
    "wait": ("wait\nh", 1 / SECONDS_PER_HOUR),
    "run_time": ("run\nh", 1 / SECONDS_PER_HOUR),
    "job_time": ("job time\nh", 1 / SECONDS_PER_HOUR),
    "makespan": ("makespan\nh", 1 / SECONDS_PER_HOUR),
    "throughput": ("jobs\nper h", 1.0),
    "gpu_seconds": ("GPU-s", 1.0),
    "gpu_energy": ("GPU\nkWh", 1.0),
    "load": ("load", 1.0),
    "job_time_95": ("95 % time\nh", 1 / SECONDS_PER_HOUR),
    "wait_95": ("95 % wait\nh", 1 / SECONDS_PER_HOUR),
    "gpu_use": ("GPUs\n%", 100.0),
    "nvlink_use": ("NVLink\n%", 100.0),
    "pcie_use": ("PCIe\n%", 100.0),
    "network_use": ("net\n%", 100.0),
}

MEASURES = tuple(
    Measure(name, what, SHOWN[name][0], unit, SHOWN[name][1], less_is_better)
    for name, what, unit, less_is_better in comparison_measures()
)


def gpus_in_order(system: System, scenario: Scenario) -> int:
    """How many GPUs of a system a scenario lets jobs have."""
    return system.gpu_count - len(set(scenario.unhealthy))
