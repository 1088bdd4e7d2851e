"""Finds the layout by which a step takes the least time: plays what can win, best bound first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linkwright import System
from linkwright.training import LayoutSearch, LayoutStep, ModelTraining
from linkwright.runs.models.step import parts_of, play

__all__ = ["RankedLayout", "SearchedLayouts", "best_layouts"]

# How many layouts are ranked, and how many times the best time a bound may be below it.
FIRST = 10
WITHIN = 1.01
# Times that differ by less are the same.
SAME = 1.0 + 1e-6


@dataclass(frozen=True)
class RankedLayout:
    """Holds one of the best layouts.

    Attributes:
        training: The model by this layout.

        reserved: Bytes that the allocator holds on the GPU that needs the most.

        least: Seconds that no step by it falls below.

        played: Seconds of a step that was played, where kernels do not vary.

        time: Seconds of the same where they do.

        parts: Rows of what its time goes into (`part`, `time` in seconds); they sum to its time.
    """

    training: ModelTraining
    reserved: int
    least: float
    played: float
    time: float
    parts: Sequence[Mapping[str, Any]]

    @property
    def computing(self) -> float:
        """The share of its time in which the busiest stage computes what it must."""
        parts = {row["part"]: row["time"] for row in self.parts}
        own = sum(parts.get(name, 0.0) for name in ("forward", "backward", "update"))
        return float(own / self.time)

    @property
    def lost(self) -> tuple[str, float]:
        """Names the part that takes most of the rest, with its share of the time."""
        computing = ("forward", "backward", "update")
        rest = [row for row in self.parts if row["part"] not in computing]
        most = max(rest, key=lambda row: row["time"], default=None)
        return ("", 0.0) if most is None else (str(most["part"]), float(most["time"] / self.time))

    def row(self) -> dict[str, Any]:
        """Gives it as a row of a table."""
        training = self.training
        lost, share = self.lost
        return {
            "layout": training.layout,
            "micro_batch": training.micro_batch,
            "zero": training.zero,
            "recompute": training.recompute,
            "time": self.time,
            "least": self.least,
            "reserved": self.reserved,
            "computing": self.computing,
            "bound": lost,
            "bound_share": share,
        }


@dataclass(frozen=True)
class SearchedLayouts:
    """Holds all that a search found.

    Attributes:
        first: The best layouts, the best first.

        sound: How many layouts are sound, each with its micro-batches and what replicas divide.

        fitting: How many of them fit, with what is computed again.

        looked_at: How many of these were looked at turn by turn.

        played: How many were played.

        rest: Seconds that no other layout falls below; None where there is none.
    """

    first: Sequence[RankedLayout]
    sound: int
    fitting: int
    looked_at: int
    played: int
    rest: float | None

    @property
    def best(self) -> RankedLayout:
        """Gives the layout with the least time."""
        return self.first[0]

    @property
    def within(self) -> float:
        """How much faster another layout may be at most, as a share."""
        best = min(it.played for it in self.first)
        rest = best if self.rest is None else self.rest
        return max(0.0, best / rest - 1.0)

    @property
    def second(self) -> RankedLayout | None:
        """Gives the first layout that is slower than the best; None where all take as long."""
        return next((it for it in self.first if it.time > self.best.time * SAME), None)

    def explanation(self) -> list[dict[str, Any]]:
        """Says why the second is slower: the parts of both, and how much they differ."""
        second = self.second
        if second is None:
            return []
        one, other = ({row["part"]: row["time"] for row in it.parts} for it in (self.best, second))
        rows = []
        for name in dict.fromkeys([*one, *other]):
            before, after = one.get(name, 0.0), other.get(name, 0.0)
            rows.append({"part": name, "first": before, "second": after, "more": after - before})
        return rows


def best_layouts(
    search: LayoutSearch,
    system: System,
    gpus: Sequence[int],
    settings: Mapping[str, Any],
    seeds: int,
) -> SearchedLayouts:
    """Plays the layouts of a search that can win, until no bound is below the best time.

    The best of them are told by their times with all that is lost.

    Args:
        search: The layouts that fit, with their bounds.

        system: On what.

        gpus: Ids in the system, in the order of the ranks.

        settings: How a step is run, as for `LayoutStep`.

        seeds: How often times of kernels are drawn.

    Raises:
        MachineError: If a GPU's model is not known well enough.
        CollectiveError: If no links join the GPUs of a group.
        SimulationError: If GPUs do not calculate with such numbers.
    """
    count = FIRST
    known: dict[tuple[Any, ...], PlayedLayout] = {}

    def best() -> float:
        return min((it.played for it in known.values()), default=float("inf"))

    while True:
        rows, looked_at, rest, is_cut = search.closest(count)
        for at, row in enumerate(rows):
            if at >= FIRST and row["least"] * WITHIN >= best():
                rest = row["least"] if rest is None else min(rest, row["least"])
                break
            chosen = (row["layout"], row["micro_batch"], row["zero"], row["recompute"])
            if chosen not in known:
                training = search.training(*chosen)
                step = LayoutStep(training, system, gpus, **settings)
                made = play(step, system, training.model.name).makespan
                known[chosen] = PlayedLayout(training, row["reserved"], step, made)
        else:
            # All of these can win; so may those behind them.
            can_win = rest is not None and rest * WITHIN < best()
            if can_win and not is_cut and len(rows) == count:
                count *= 2
                continue
        break
    closest = sorted(known.values(), key=lambda it: it.played)[:FIRST]
    first = sorted((it.ranked(seeds) for it in closest), key=lambda it: it.time)
    played = len(known)
    return SearchedLayouts(first, search.sound, search.fitting, looked_at, played, rest)


@dataclass(frozen=True)
class PlayedLayout:
    """Holds a layout whose step was played; `made` are the seconds that it was played in."""

    training: ModelTraining
    reserved: int
    step: LayoutStep
    made: float

    @cached_property
    def played(self) -> float:
        """Adds the seconds for which kernels wait for the host, and for collectives beside them."""
        return self.made + self.step.least(beside=True, host=True) - self.step.least()

    def ranked(self, seeds: int) -> RankedLayout:
        """Adds the parts of its time, in the mean of seeds."""
        parts, _ = parts_of(self.step, self.made, seeds)
        time = sum(row["time"] for row in parts)
        least = self.step.least()
        return RankedLayout(self.training, self.reserved, least, self.played, time, parts)
