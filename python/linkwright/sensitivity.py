"""Finds the sets of GPUs between which a job's time says whether bandwidth matters to it."""

from __future__ import annotations

from itertools import combinations

from linkwright import Allocator, System

__all__ = ["ends_of"]


def ends_of(machine: System, size: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Gives the sets of `size` GPUs with the most and the least bandwidth by the sound model.

    The first set of each wins where several tie. A server of many GPUs has too many sets.
    """
    allocator = Allocator(machine)
    sets = list(combinations(range(machine.gpu_count), size))
    reached = [allocator.sound_bandwidth(gpus) for gpus in sets]
    return sets[reached.index(max(reached))], sets[reached.index(min(reached))]
