"""Chapter 3 and HMG: what shared memory is worth over memories apart."""

from __future__ import annotations

from linkwright.studies.memory.checks import (
    NOT_RUN,
    Outcome,
    Statement,
    ViewOf,
    judged,
    ratio,
    spoken,
)
from linkwright.studies.memory.measured import Result, View, mean
from linkwright.studies.memory.published import published
from linkwright.studies.memory.settings import BENCHMARKS

__all__ = ["SPEEDUP_STATEMENTS", "transactions"]

# As section 3.3 has them; Table 3.2 calls conv memory-bound, too.
MEMORY_BOUND = ("mm", "bfs", "relu", "mt", "fir")
SHARED = "tsm-wb-nc-rc"


def _speedups(view: View) -> dict[str, float]:
    return view.measured.speedups(SHARED, "rdma")


def _mean(view: View) -> float | None:
    return mean(_speedups(view))


def _mm_first(view: View) -> Outcome:
    found = _speedups(view)
    if "mm" not in found:
        return NOT_RUN
    return Outcome(max(found, key=lambda name: found[name]) == "mm", spoken(found))


def _bound(view: View) -> Outcome:
    found = _speedups(view)
    bound = [value for name, value in found.items() if name in MEMORY_BOUND]
    others = [value for name, value in found.items() if name not in MEMORY_BOUND]
    if not bound or not others:
        return NOT_RUN
    means = {"memory-bound": sum(bound) / len(bound), "others": sum(others) / len(others)}
    return Outcome(min(bound) > max(others), f"means: {spoken(means)}")


def _moderate(view: View) -> Outcome:
    found = {name: value for name, value in _speedups(view).items() if name in ("atax", "bicg")}
    average = _mean(view)
    return judged(found, lambda values: average is not None and max(values) < average)


def _all_gain(view: View) -> Outcome:
    return judged(_speedups(view), lambda values: min(values) > 1)


def transactions(result: Result) -> float | None:
    """DRAM over RDMA transactions, the host's copies counted as DRAM's."""
    return result.dram_with_copies / result.remote if result.remote else None


def _d_over_r(name: str) -> Statement:
    def of(view: View) -> float | None:
        found = view.measured.result("systems", name, "rdma")
        return None if found is None else transactions(found)

    said = published()["table_3_3"][name]
    return ratio(
        "Table 3.3", f"DRAM over RDMA transactions of {name}", said, of, why=_WHY_TRANSACTIONS[name]
    )


def _uses_remote(view: View) -> Outcome:
    found = {}
    for name in BENCHMARKS:
        result = view.measured.result("systems", name, "rdma")
        if result is not None:
            found[name] = float(result.remote > 0)
    if not found:
        return NOT_RUN
    used = sum(map(int, found.values()))
    return Outcome(used == len(found), f"{used} of {len(found)}")


def _hmg(benchmark: str | None = None, over: str = "tsm-wt-c-rc") -> ViewOf:
    def of(view: View) -> float | None:
        below = view.coherent("rc") if over == "tsm-wt-c-rc" else over
        found = view.measured.speedups("hmg", below)
        return mean(found) if benchmark is None else found.get(benchmark)

    return of


_SAID = published()["fig_4_5"]
_CROSS = (
    "Copies count under HMG, which are most of the time of what streams. atax and bicg have a "
    "wavefront for each 64 rows, few at this size: either way they wait for one line after "
    "another, and remote lines that HMG keeps in a GPU's own L2 save what shared memory saves, "
    "too."
)
_SCALED = (
    "The sizes run here are not the dissertation's; how many lines the L2s keep between reads "
    "depends on them."
)
_BY_COPIES = (
    "Each line is copied in and out once, and here every count is of lines: what kernels read "
    "again decides."
)
_WHY_TRANSACTIONS = {
    "aes": "Its blocks are read, written and copied once each here, as relu's; tables and keys, "
    "which scalar caches read, are few lines. What else there goes to DRAM the text does not say.",
    "atax": "As there, nearly all remote accesses miss the second level, too; which share hits "
    "hangs on the size.",
    "bfs": "The number needs a graph whose reads are nearly all local; which graph was searched "
    "the text does not say. Pages here are dealt in turn, and three of four reads are remote.",
    "bicg": "As atax.",
    "conv": "Nine reads of a pixel miss an L1 often enough here that remote accesses are as many "
    "as those of DRAM; a ratio of 4.91 needs L1s that keep nearly all of them.",
    "fir": _BY_COPIES,
    "mm": _SCALED,
    "mt": _BY_COPIES,
    "relu": _BY_COPIES,
}

SPEEDUP_STATEMENTS: tuple[Statement, ...] = (
    ratio(
        "section 3.3, Fig. 3-3",
        "mean speed-up of shared memory over RDMA",
        published()["fig_3_3"]["mean"],
        _mean,
        why=_SCALED,
    ),
    Statement(
        "section 3.3",
        "mm gains most",
        "",
        _mm_first,
        why="conv gains as much at these sizes: rows of pixels are read again by their "
        "neighbours, from afar under RDMA. What mm gains hangs on its size: matrices that fit the "
        "second levels gain little.",
    ),
    Statement(
        "section 3.3",
        "each memory-bound benchmark (mm, bfs, relu, mt, fir) gains more than any other",
        "",
        _bound,
        why="conv gains by remote lines that it reads again, and Table 3.2 calls it memory-bound, "
        "too; aes gains by the copies that it no longer needs, most of its time under RDMA.",
    ),
    Statement(
        "section 3.3",
        "atax and bicg gain less than the mean",
        "",
        _moderate,
        why=_SCALED,
    ),
    Statement("section 3.3", "every benchmark gains", "", _all_gain, why=_SCALED),
    Statement("section 3.3", "every benchmark uses remote accesses", "", _uses_remote),
    *(_d_over_r(name) for name in sorted(BENCHMARKS)),
    ratio(
        "section 4.4.1, Fig. 4-5",
        "mean performance of HMG over TSM-WT-C-RC",
        _SAID["mean"],
        _hmg(),
        both=True,
        why=_CROSS,
    ),
    *(
        ratio(
            "section 4.4.1, Fig. 4-5",
            f"HMG over TSM-WT-C-RC on {name}",
            _SAID[name],
            _hmg(name),
            both=True,
            why=_CROSS,
        )
        for name in ("atax", "bicg")
    ),
    ratio(
        "section 4.4.1",
        "mean performance of HMG over RDMA",
        _SAID["over_rdma"],
        _hmg(over="rdma"),
        why=_CROSS,
    ),
)
