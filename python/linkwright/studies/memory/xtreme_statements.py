"""Checks Section 4.4.2: coherence under stress, and leases."""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.studies.memory.checks import (
    NOT_RUN,
    Outcome,
    Statement,
    ViewOf,
    change,
    judged,
    signed,
)
from linkwright.studies.memory.measured import View
from linkwright.studies.memory.published import published
from linkwright.studies.memory.settings import LEASES, XTREME

__all__ = ["XTREME_STATEMENTS", "lease_times", "over_plain"]

PLAIN = "tsm-wt-nc-rc"
SMALL = (192, 384, 768)


def over_plain(view: View, benchmark: str, size: int, consistency: str) -> float | None:
    """Returns the run time with coherence over the time without."""
    memory = view.coherent(consistency)
    both = [view.measured.result("xtreme", benchmark, each, size=size) for each in (memory, PLAIN)]
    if both[0] is None or both[1] is None:
        return None
    return both[0].time / both[1].time


def lease_times(view: View, benchmark: str, consistency: str) -> dict[tuple[int, int], float]:
    """Returns the run time by read and write lease, over the time without coherence."""
    memory = view.coherent(consistency)
    base = view.measured.result("leases", benchmark, PLAIN)
    if base is None:
        return {}
    found = {}
    for leases in LEASES:
        result = view.measured.result("leases", benchmark, memory, leases=leases)
        if result is not None:
            found[leases] = result.time / base.time
    return found


def _most(benchmark: str, consistency: str, sizes: Sequence[int]) -> ViewOf:
    def of(view: View) -> float | None:
        found = [over_plain(view, benchmark, size, consistency) for size in sizes]
        return max((each for each in found if each is not None), default=None)

    return of


def _sequential_ahead(benchmark: str) -> Statement:
    def check(view: View) -> Outcome:
        found = {}
        for size in (384, 768):
            both = [over_plain(view, benchmark, size, kind) for kind in ("sc", "rc")]
            if both[0] is not None and both[1] is not None:
                found[f"{size} KB"] = both[0] / both[1]
        return judged(found, lambda values: max(values) < 1)

    return Statement(
        f"section 4.4.2, Fig. 4-{_FIGURES[benchmark]}",
        f"SC is ahead of RC on {benchmark.title()} at 384 and 768 KB (time of SC over RC)",
        "",
        check,
        both=True,
        why="RC synchronises by the same ideal barrier here as SC, whose accesses wait besides.",
    )


def _share_of_writes(view: View) -> Outcome:
    """Xtreme reads two vectors for one that it writes: a longer lease of reads should help."""
    found = {}
    for name in XTREME:
        times = lease_times(view, name, "rc")
        if (20, 5) in times and (10, 5) in times:
            found[name] = times[20, 5] / times[10, 5]
    return judged(found, lambda values: max(values) <= 1)


def _short_leases_miss(view: View) -> Outcome:
    found = {}
    for name in XTREME:
        memory = view.coherent("rc")
        both = [
            view.measured.result("leases", name, memory, leases=each) for each in ((10, 5), (80, 5))
        ]
        if both[0] is not None and both[1] is not None:
            found[name] = both[0].l1_misses / both[1].l1_misses
    return judged(found, lambda values: min(values) > 1)


def _best(view: View) -> Outcome:
    best = {}
    for name in XTREME:
        for kind in ("rc", "sc"):
            times = lease_times(view, name, kind)
            if times:
                read, write = min(times, key=lambda each: times[each])
                best[f"{name} {kind.upper()}"] = (read, write)
    if not best:
        return NOT_RUN
    said = (published()["fig_4_11"]["read"], published()["fig_4_11"]["write"])
    hits = sum(each == said for each in best.values())
    told = ", ".join(f"{name}: {read} and {write}" for name, (read, write) in best.items())
    return Outcome(hits * 2 > len(best), told)


def _small_difference(view: View) -> Outcome:
    """Checks that pairs that differ less do better at worst than pairs that differ more."""
    less: list[float] = []
    more: list[float] = []
    for name in XTREME:
        for leases, time in lease_times(view, name, "rc").items():
            (less if abs(leases[0] - leases[1]) <= 5 else more).append(time)
    if not less or not more:
        return NOT_RUN
    means = sum(less) / len(less), sum(more) / len(more)
    told = f"means: up to 5 apart {signed(means[0] - 1)}, more {signed(means[1] - 1)}"
    return Outcome(means[0] < means[1], told)


def _wrong(benchmark: str) -> Statement:
    def check(view: View) -> Outcome:
        found = {}
        for size in view.measured.sizes("xtreme"):
            for kind in ("rc", "sc"):
                result = view.measured.result("xtreme", benchmark, view.coherent(kind), size=size)
                if result is not None:
                    found[f"{kind.upper()} {size} KB"] = bool(result.correct)
        if not found:
            return NOT_RUN
        wrong = [name for name, right in found.items() if not right]
        told = f"wrong: {', '.join(wrong)}" if wrong else f"right in all {len(found)} runs"
        return Outcome(not wrong, told)

    return Statement(
        "chapter 4",
        f"MGCC is coherent: the answer of {benchmark.title()} is right",
        "",
        check,
        both=True,
        why="MGCC as printed is not coherent (Coherence, in the concepts). Mended it is.",
    )


_FIGURES = {"xtreme1": 8, "xtreme2": 9, "xtreme3": 10}
_STEPS = (
    "A write ends the leases of what its compute unit has read, 5 after 10 in logical time. The "
    "number of reads that miss by that, and the cost of each, depend on the wavefronts of a "
    "compute unit. The text does not say how many. Here it is four."
)
_EVICTIONS = (
    "No line with a valid lease is kept before others here. Both evict the oldest, so coherence "
    "gains nothing at 24,576 KB."
)
_ORDER = "The slowest wavefront decides the time: its accesses come one after another under SC."


def _changes(benchmark: str) -> list[Statement]:
    said = published()[f"fig_4_{_FIGURES[benchmark]}"]
    at = f"section 4.4.2, Fig. 4-{_FIGURES[benchmark]}"
    name = benchmark.title()
    found = []
    for kind in ("rc", "sc"):
        why = _STEPS if kind == "rc" else _ORDER
        says = f"run time of {name}, {kind.upper()}, the most of 192 to 768 KB"
        most = _most(benchmark, kind, SMALL)
        found.append(change(at, says, said[f"{kind}_small"], most, both=True, why=why))
        for size in (1536, 24576):
            if (number := said.get(f"{kind}_{size}")) is not None:
                says = f"run time of {name}, {kind.upper()}, {size:,} KB"
                of = _most(benchmark, kind, (size,))
                reason = _EVICTIONS if number < 0 else why
                found.append(change(at, says, number, of, both=True, why=reason))
    return found


XTREME_STATEMENTS: tuple[Statement, ...] = (
    *(each for benchmark in XTREME for each in _changes(benchmark)),
    *(_sequential_ahead(benchmark) for benchmark in XTREME[1:]),
    *(_wrong(benchmark) for benchmark in XTREME),
    Statement(
        "section 4.4.2, Fig. 4-11",
        "a read lease of 10 and a write lease of 5 is the best for most of Xtreme",
        "10, 5",
        _best,
        both=True,
        why="The longer the reads' lease is beside the writes', the fewer copies end. "
        "Nothing here makes a long lease dear, since memory's time moves on at once.",
    ),
    Statement(
        "section 4.4.2, Fig. 4-11",
        "leases that differ less are better (run time over no coherence)",
        "",
        _small_difference,
        both=True,
        why="A read lease of 80 beside a write lease of 5 is the best here.",
    ),
    Statement(
        "section 4.4.2, Fig. 4-11",
        "a longer read lease helps where reads are more than writes (20 over 10, time)",
        "",
        _share_of_writes,
        both=True,
    ),
    Statement(
        "section 4.4.2, Fig. 4-11",
        "a short read lease makes coherence misses (L1 misses with 10 over those with 80)",
        "",
        _short_leases_miss,
        both=True,
    ),
)
