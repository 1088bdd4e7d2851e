"""Sets variants of a scenario against one of them, by the same seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from linkwright.summaries.gains import Gain, gains, saved_by
from linkwright.summaries.intervals import Estimate, estimate
from linkwright.summaries.measures import MEASURES

__all__ = ["OverSeeds", "mean_and_ends"]


@dataclass(frozen=True)
class OverSeeds:
    """Sets variants of a scenario against one of them, by the same seeds.

    Attributes:
        found: Holds the measures of each variant on each seed, as `Scenario.outcome` says them.
        seeds: Are the same for all variants.
        reference: Is the variant that the others are compared with.
        together: Is the scenario as written, under the first of its policies.
        choices: Has the name and the key of each choice that was played alone.
    """

    found: Mapping[str, Sequence[Mapping[str, Any]]]
    seeds: Sequence[int]
    reference: str
    together: str
    choices: Mapping[str, str]

    def values(self, variant: str, measure: str) -> list[float | None]:
        """Gives a variant's measure on each seed."""
        return [each[measure] for each in self.found[variant]]

    def gain(self, variant: str, measure: str) -> Estimate | None:
        """By how much a variant is better than the reference; None where that cannot be said."""
        return estimate(saved_by(self.found, self.reference, variant, measure))

    @cached_property
    def gains(self) -> list[Gain]:
        """By how much each variant is better; of choices their sum and what is left over, too."""
        return gains(self.found, self.reference, list(self.choices))

    def name_of(self, variant: str) -> str:
        """Names a variant as tables do."""
        if variant == self.together and self.choices:
            return "all together"
        return f"only {variant}" if variant in self.choices else variant

    def held(self, variant: str) -> dict[int, int]:
        """Counts by GPUs in a server the jobs of several that had as many there, over all seeds."""
        total = Counter[int]()
        for each in self.found[variant]:
            total.update({int(gpus): count for gpus, count in each["held"].items()})
        return dict(sorted(total.items()))

    @property
    def variants(self) -> list[dict[str, object]]:
        """Each variant with the means of its measures over the seeds, as JSON holds them."""
        return [
            {
                "variant": name,
                "choice": self.choices.get(name),
                "measures": [
                    {
                        "measure": it.name,
                        "unit": it.unit,
                        **mean_and_ends(estimate(self.values(name, it.name))),
                    }
                    for it in MEASURES
                ],
                "held": [{"gpus": gpus, "count": count} for gpus, count in self.held(name).items()],
            }
            for name in self.found
        ]


def mean_and_ends(known: Estimate | None) -> dict[str, float | None]:
    """An estimate as JSON holds it; of what cannot be said every value is None."""
    return asdict(known) if known else dict.fromkeys(("mean", "low", "high"))
