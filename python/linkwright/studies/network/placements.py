"""Which nodes the jobs of a mix take: the placements that the study compares."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.names import MappingName

__all__ = ["LINEAR", "PLACEMENTS", "SEEDS", "Placement", "placements"]

# By the core's names, from the one that keeps a job together least, but for the study's own.
PLACEMENTS: tuple[MappingName, ...] = ("linear", "random-nodes", "random-switches", "contiguous")
SEEDS = (0, 1, 2)


@dataclass(frozen=True, order=True)
class Placement:
    """Says how jobs find their nodes.

    Attributes:
        mapping: The core's name of the rule.
        seed: Of the rule where chance has a part in it, and of adaptive routing.
    """

    mapping: MappingName = "linear"
    seed: int = 0


LINEAR = Placement()


def placements() -> list[Placement]:
    """Lists each rule with each seed, the first seed of every rule first."""
    return [Placement(mapping, seed) for seed in SEEDS for mapping in PLACEMENTS]
