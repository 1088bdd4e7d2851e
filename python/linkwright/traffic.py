"""Says who sends to whom in a schedule, and how much."""

from __future__ import annotations

from collections import Counter

import pyarrow

from linkwright.collectives import Schedule

__all__ = ["EdgeTraffic", "traffic_of_schedule"]

EdgeTraffic = tuple[int, int, int, int]


def traffic_of_schedule(schedule: Schedule, size: int) -> list[EdgeTraffic]:
    """Gives the traffic of each pair of ranks that a schedule of `size` bytes joins.

    Returns:
        Both ranks, and the bytes that go from the first to the second and back.
    """
    sent: Counter[tuple[int, int]] = Counter()
    for step in pyarrow.table(schedule.steps()).to_pylist():
        if step["send_to"]:
            sent[step["rank"], int(step["send_to"])] += step["count"]
    pieces = schedule.chunks * schedule.shards
    pairs = sorted({(min(pair), max(pair)) for pair in sent})
    return [(a, b, size * sent[a, b] // pieces, size * sent[b, a] // pieces) for a, b in pairs]
