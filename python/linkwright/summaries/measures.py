"""What one run of jobs of GPUs came to, in numbers that JSON can hold.

Every run of a comparison is summed up where it is played, so that hundreds of runs stay small.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from linkwright import Scenario, System
from linkwright.quartiles import at_fraction
from linkwright.summaries.links import Day, could_carry, gpus_by_server, link_use
from linkwright.summaries.policies import job_rows
from linkwright.summaries.time_parts import SECONDS_PER_HOUR, time_parts

__all__ = ["MEASURES", "SHARES", "Measure", "gpus_in_order", "measured"]

# Where the curves of distributions have a point: every fortieth part of the jobs.
SHARES = tuple(step / 40 for step in range(41))


@dataclass(frozen=True)
class Measure:
    """Something that a run comes to.

    Attributes:
        name: Its name in tables and JSON.
        what: What it is, for people.
        head: The head of its column; what stands behind a line's end is small.
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


def _hours(name: str, what: str, head: str) -> Measure:
    return Measure(name, what, f"{head}\nh", "s", 1 / SECONDS_PER_HOUR, True)


MEASURES = (
    _hours("wait", "waiting, mean", "wait"),
    _hours("run_time", "running, mean", "run"),
    _hours("job_time", "job time, mean", "job time"),
    _hours("makespan", "until the last job ended", "makespan"),
    Measure("throughput", "throughput", "jobs\nper h", "1/h", 1.0, False),
    Measure("gpu_seconds", "GPU-seconds", "GPU-s", "s", 1.0, True),
    Measure("load", "load", "load", "", 1.0, None),
    _hours("job_time_95", "job time, 95th percentile", "95 % time"),
    _hours("wait_95", "waiting, 95th percentile", "95 % wait"),
    Measure("gpu_use", "GPUs given out", "GPUs\n%", "", 100.0, None),
    Measure("nvlink_use", "use of NVLinks", "NVLink\n%", "", 100.0, None),
    Measure("pcie_use", "use of PCIe", "PCIe\n%", "", 100.0, None),
    Measure("network_use", "use of the network", "net\n%", "", 100.0, None),
)


def gpus_in_order(system: System, scenario: Scenario) -> int:
    """How many GPUs of a system a scenario lets jobs have."""
    return system.gpu_count - len(set(scenario.unhealthy))


def measured(day: Day) -> dict[str, Any]:
    """What a run came to: each measure, GPUs held by server, and two distributions.

    The keys are those of `MEASURES`; `held`, how many GPUs jobs of several have in a server,
    counted over such jobs and their servers; `job_times` and `waits`, in seconds at each of
    `SHARES`.
    """
    rows = job_rows(day.result)
    times = sorted(row["finish"] - row["arrival"] for row in rows)
    waits = sorted(row["wait"] for row in rows)
    makespan = day.result.makespan
    parts = time_parts(rows, gpus_in_order(day.system, day.scenario))
    whole = makespan * day.system.gpu_count
    found: dict[str, Any] = asdict(parts) | {
        "job_time_95": at_fraction(times, 0.95),
        "wait_95": at_fraction(waits, 0.95),
        "makespan": makespan,
        "gpu_use": parts.gpu_seconds / whole if whole else None,
    }
    found |= _use_by_kind(day)
    of_server = gpus_by_server(day.system)
    counts = Counter(
        count
        for row in rows
        if row["gpu_count"] > 1
        for count in Counter(of_server[gpu] for gpu in row["gpus"]).values()
    )
    found["held"] = {str(count): counts[count] for count in sorted(counts)}
    found["job_times"] = [at_fraction(times, share) for share in SHARES]
    found["waits"] = [at_fraction(waits, share) for share in SHARES]
    return found


FAMILIES = {"nvlink": "nvlink_use", "xgmi": "nvlink_use", "pcie": "pcie_use"}
OF_NETWORK = ("infiniband", "ethernet")


def _use_by_kind(day: Day) -> dict[str, float | None]:
    """The mean use of each family of links, by their bandwidth."""
    names = dict.fromkeys([*FAMILIES.values(), "network_use"])
    found: dict[str, float | None] = dict(names)
    use = link_use(day)
    if not use:
        return found
    could = could_carry(day.system)
    carried = dict.fromkeys(names, 0.0)
    whole = dict.fromkeys(names, 0.0)
    for link, share in use.items():
        family = next((of for start, of in FAMILIES.items() if link.kind.startswith(start)), "")
        family = family or ("network_use" if link.kind.startswith(OF_NETWORK) else "")
        if family:
            carried[family] += share * could[link]
            whole[family] += could[link]
    return found | {family: carried[family] / whole[family] for family in names if whole[family]}
