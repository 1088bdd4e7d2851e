"""Defines statements, and holds the helpers that are shared by the checks of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from linkwright.studies.network.measured import Measured
from linkwright.studies.network.published import published
from linkwright.studies.network.settings import Setting

__all__ = [
    "HEAVY",
    "NOTHING",
    "ONE_LINK",
    "Outcome",
    "Statement",
    "clearly",
    "empty",
    "indifferent",
    "judged",
    "known",
    "noticeable",
    "on",
    "spoken",
]


# Why more GPUs per node cost less on the dragonfly than in the paper.
ONE_LINK = (
    "On the dragonfly one link joins two switches of a group, and no packet goes around it. With "
    "one GPU per node jobs wait for these links. With more they lie at fewer switches. That "
    "makes up for much of the loss at their interfaces."
)

# The paper calls these applications communication-heavy.
HEAVY = ("stencil4d", "subcomm3d")


@dataclass(frozen=True)
class Outcome:
    """Whether a statement holds, None if nothing could tell, and the numbers that say so.

    Attributes:
        holds: Whether it holds.
        measured: The numbers.
        empty: Whether nothing could tell because all such jobs send nothing over the network.
    """

    holds: bool | None
    measured: str
    empty: bool = False


NOTHING = Outcome(None, "no such job in the mixes")


@dataclass(frozen=True)
class Statement:
    """Checks one sentence of the paper.

    Attributes:
        source: Where it stands.
        says: The sentence, restated so that it can be checked.
        check: The check.
        why: The likely reason where it does not hold.
        of_mixes: Whether it compares jobs with their neighbours in a mix.
    """

    source: str
    says: str
    check: Callable[[Measured], Outcome]
    why: str = ""
    of_mixes: bool = False


def noticeable() -> float:
    """By how much a performance falls at least if it falls noticeably."""
    return float(published()["readings"]["noticeable"])


def indifferent() -> float:
    """By how much a performance changes at most if it does not change."""
    return float(published()["readings"]["indifferent"])


def clearly() -> float:
    """By how much the best is better than any other at least."""
    return float(published()["readings"]["clearly"])


def on(network: str, gpus_per_node: int, nic: str = "fcfs") -> Setting:
    """Returns a system with links of bandwidth x."""
    return Setting(network, gpus_per_node, nic=nic)


def known(found: Mapping[str, float | None]) -> dict[str, float]:
    """Those that were measured."""
    return {name: value for name, value in found.items() if value is not None}


def spoken(found: Mapping[str, float]) -> str:
    """Speed-ups by their names, in a line."""
    return ", ".join(f"{name}: {value:.2f}" for name, value in found.items())


def judged(found: Mapping[str, float | None], holds: Callable[[Sequence[float]], bool]) -> Outcome:
    """The outcome for those that were measured, if any were."""
    values = known(found)
    if not values:
        return NOTHING
    return Outcome(holds(list(values.values())), spoken(values))


def empty(found: Mapping[str, float | None]) -> Outcome:
    """The outcome where all jobs that were measured send nothing over the network."""
    values = known(found)
    if not values:
        return NOTHING
    return Outcome(None, f"{spoken(values)}; nothing goes over the network", empty=True)
