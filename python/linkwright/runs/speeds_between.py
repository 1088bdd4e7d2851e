"""Says how fast the jobs' kernels run on one machine against another, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwright.texts import counted

__all__ = ["SpeedBetween", "speeds_between", "told_speeds"]

# The rows of `Scenario.speeds`.
Rows = Sequence[Mapping[str, Any]]
# Workloads are named one by one up to this number.
FEW = 3

SHARE = (
    "Nets are taken to reach the same share of a peak on every GPU, in every precision: half. "
    "Tensor cores reach less of theirs, so computing takes longer in truth, and messages count for "
    "less. Give measured times (`jobs.measured`), or let networks be trained layer by layer "
    "(`train`)."
)


@dataclass(frozen=True)
class SpeedBetween:
    """How much faster a machine computes than the reference, for jobs of one kind of kernels.

    Attributes:
        machine: Is its name.
        gpu: Is the model of its slowest GPU.
        reference_gpu: Is the reference's. There may be others, which are faster.
        basis: Is a name of `Scenario.speeds`.
        number: Is the type of numbers. It is `fp32` where nobody says it.
        least: Says how much faster it is. The workload that gains least has it.
        most: Says the same. The workload that gains most has it.
        workloads: Are those of the jobs.
        jobs: Counts them.
    """

    machine: str
    gpu: str
    reference_gpu: str
    basis: str
    number: str
    least: float
    most: float
    workloads: Sequence[str]
    jobs: int

    def told(self, of: str) -> str:
        """Says it in a few words: `2.27 times h100: dense bf16 (7 jobs)`; `of` names the other."""
        what = counted(self.jobs, "job")
        if len(self.workloads) <= FEW:
            what += f" of {', '.join(self.workloads)}"
        least, most = f"{self.least:.3g}", f"{self.most:.3g}"
        ratio = least if least == most else f"{least} to {most}"
        return f"{ratio} times{of}: {self._why} ({what})"

    @property
    def _why(self) -> str:
        return {
            "vector": f"{self.number} of plain cores",
            "matrix": f"dense {self.number}",
            "measured": "as measured",
            "layers": f"layer by layer in {self.number}",
        }.get(self.basis, "as a V100")


def speeds_between(machines: Sequence[tuple[str, Rows]]) -> list[SpeedBetween]:
    """How much faster each machine computes than the first, by what says so and by the numbers.

    Args:
        machines: Names, each with the rows of `Scenario.speeds` of the same jobs.
    """
    found = []
    for machine, rows in machines[1:]:
        kinds: dict[tuple[str, str], list[tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
        for before, own in zip(machines[0][1], rows, strict=False):
            kinds.setdefault((own["basis"], own["number"]), []).append((before, own))
        for (basis, number), pairs in kinds.items():
            ratios = [
                before["computing"] / own["computing"] if own["computing"] else 1.0
                for before, own in pairs
            ]
            found.append(
                SpeedBetween(
                    machine,
                    pairs[0][1]["gpu"],
                    pairs[0][0]["gpu"],
                    basis,
                    number,
                    min(ratios),
                    max(ratios),
                    list(dict.fromkeys(own["workload"] for _, own in pairs)),
                    sum(own["jobs"] for _, own in pairs),
                )
            )
    return found


def told_speeds(speeds: Sequence[SpeedBetween]) -> list[str]:
    """Says it in a line for each machine, the kernels of most jobs first, with its limits."""
    own = [it for it in speeds if it.basis != "reference"]
    told = []
    for machine in dict.fromkeys(it.machine for it in own):
        first, *others = sorted(
            (it for it in own if it.machine == machine), key=lambda it: it.jobs, reverse=True
        )
        parts = [first.told(f" {first.reference_gpu}"), *(it.told("") for it in others)]
        told.append(f"Computing on {machine}: {first.gpu} {'; '.join(parts)}.")
    is_matrix = any(it.basis == "matrix" for it in own)
    return [*told, *([SHARE] if is_matrix else [])]
