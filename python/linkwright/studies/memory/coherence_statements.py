"""Checks Section 4.4.1: the costs of writing through, coherence and sequential consistency."""

from __future__ import annotations

from collections.abc import Callable

from linkwright.studies.memory.checks import (
    NOT_RUN,
    Outcome,
    Statement,
    ViewOf,
    change,
    judged,
    ratio,
    spoken,
)
from linkwright.studies.memory.measured import Of, View, mean
from linkwright.studies.memory.published import published
from linkwright.studies.memory.settings import BENCHMARKS

__all__ = ["COHERENCE_STATEMENTS", "METRICS"]

BACK, THROUGH = "tsm-wb-nc-rc", "tsm-wt-nc-rc"

# Fig. 4-4b to f, by the names of its axes.
METRICS: dict[str, Of] = {
    "L1 misses": lambda result: result.l1_misses,
    "L2 misses": lambda result: result.l2_misses,
    "L1 latency": lambda result: result.l1_latency,
    "L2 latency": lambda result: result.l2_latency,
    "DRAM": lambda result: result.dram,
}
_WRITES = (
    "Writes are counted as misses of an L1 here, whatever the memory system, and of an L2 where "
    "it writes through."
)
_QUEUES = (
    "Most of a latency here is waiting for registers and links. It depends on how much is under "
    "way at once, and our bounds on that are those of the open model."
)
_RENEWED = (
    "MGCC's leases end while a kernel reads its lines again. An L1 asks anew after every few "
    "writes of its compute unit, mended after 64 reads. The benchmarks that use lines again (aes, "
    "bfs, conv, fir) pay; those that stream do not."
)
_WAITS = (
    "Here an access waits for the whole of the one before it, whose lines take their turns. "
    "Wavefronts are few at these sizes, and hide little of it."
)


def _performance(memory: Callable[[View], str], over: Callable[[View], str]) -> ViewOf:
    def of(view: View) -> float | None:
        return mean(view.measured.speedups(memory(view), over(view)))

    return of


def _metric(name: str, memory: Callable[[View], str], over: Callable[[View], str]) -> ViewOf:
    def of(view: View) -> float | None:
        return mean(view.measured.ratios(METRICS[name], memory(view), over(view)))

    return of


def _rc(view: View) -> str:
    return view.coherent("rc")


def _sc(view: View) -> str:
    return view.coherent("sc")


def _through(_view: View) -> str:
    return THROUGH


def _back(_view: View) -> str:
    return BACK


def _rdma(_view: View) -> str:
    return "rdma"


def _l2_latency(names: tuple[str, ...], *, lower: bool) -> Callable[[View], Outcome]:
    def check(view: View) -> Outcome:
        found = view.measured.ratios(METRICS["L2 latency"], THROUGH, BACK, benchmarks=names)
        return judged(found, lambda values: all((value < 1) == lower for value in values))

    return check


def _similar(view: View) -> Outcome:
    few = published()["readings"]["indifferent"]
    found = {}
    for name, of in (("L1", "l1_miss_rate"), ("L2", "l2_miss_rate")):
        for benchmark in BENCHMARKS:
            both = [view.measured.result("systems", benchmark, kind) for kind in (BACK, THROUGH)]
            if both[0] is not None and both[1] is not None:
                found[f"{name} of {benchmark}"] = getattr(both[1], of) - getattr(both[0], of)
    if not found:
        return NOT_RUN
    worst = max(found, key=lambda name: abs(found[name]))
    told = f"most apart: {worst}, {100 * found[worst]:+.0f} points"
    return Outcome(abs(found[worst]) <= few, told)


def _sequential_costs(view: View) -> Outcome:
    found = {
        "RC": mean(view.measured.speedups(_rc(view), THROUGH)),
        "SC": mean(view.measured.speedups(_sc(view), THROUGH)),
    }
    values = {name: value for name, value in found.items() if value is not None}
    if len(values) < 2:
        return NOT_RUN
    return Outcome(values["RC"] > values["SC"], spoken(values))


_WB = published()["fig_4_4"]
_WT = published()["fig_4_4_write_through"]
_C = published()["fig_4_4_coherent"]
_S = published()["fig_4_4_sequential"]
_R = published()["over_rdma"]
_AT = "section 4.4.1, Fig. 4-4"

COHERENCE_STATEMENTS: tuple[Statement, ...] = (
    change(
        _AT,
        "mean performance of TSM-WT-NC-RC over TSM-WB-NC-RC",
        _WB["write_through"] - 1,
        _performance(_through, _back),
        why=_QUEUES,
    ),
    change(
        _AT,
        "mean performance of TSM-WT-C-RC over TSM-WB-NC-RC",
        _WB["coherent_rc"] - 1,
        _performance(_rc, _back),
        both=True,
        why=_RENEWED,
    ),
    change(
        _AT,
        "mean performance of TSM-WT-C-SC over TSM-WB-NC-RC",
        _WB["coherent_sc"] - 1,
        _performance(_sc, _back),
        both=True,
        why=_WAITS,
    ),
    change(
        _AT,
        "L1 latency, WT against WB",
        _WT["l1_latency"],
        _metric("L1 latency", _through, _back),
        why=_QUEUES,
    ),
    change(
        _AT,
        "L2 latency, WT against WB",
        _WT["l2_latency"],
        _metric("L2 latency", _through, _back),
        why="An L2 that writes back answers a write at once here, with no fetch and no wait for "
        "what it evicts. One that writes through waits for memory.",
    ),
    Statement(
        _AT,
        "L2 latency of conv, fir and relu is lower with WT",
        "",
        _l2_latency(("conv", "fir", "relu"), lower=True),
        why="An eviction does not wait for its write-back here: the line's place is free at once.",
    ),
    Statement(
        _AT,
        "L2 latency of aes, atax, bfs, mm and mt is higher with WT",
        "",
        _l2_latency(("aes", "atax", "bfs", "mm", "mt"), lower=False),
        why=_QUEUES,
    ),
    Statement(_AT, "WB and WT have similar miss rates in L1 and L2", "", _similar, why=_WRITES),
    *(
        change(
            _AT,
            f"{level} misses, TSM-WT-C-{kind.upper()} against TSM-WT-NC-RC",
            _C[f"{level.lower()}_misses_{kind}"],
            _metric(f"{level} misses", system, _through),
            both=True,
            why=_RENEWED,
        )
        for kind, system in (("rc", _rc), ("sc", _sc))
        for level in ("L1", "L2")
    ),
    change(
        "section 4.4.1",
        "mean performance, SC against RC",
        _S["performance"],
        _performance(_sc, _rc),
        both=True,
        why=_WAITS,
    ),
    Statement(
        "section 4.4.1",
        "RC is faster than SC in the mean",
        "",
        _sequential_costs,
        both=True,
    ),
    change(
        _AT,
        "L1 latency, SC against RC",
        _S["l1_latency"],
        _metric("L1 latency", _sc, _rc),
        both=True,
        why="With one access of a wavefront at a time fewer are under way, and each waits less.",
    ),
    change(
        _AT,
        "L2 latency, SC against RC",
        _S["l2_latency"],
        _metric("L2 latency", _sc, _rc),
        both=True,
        why=_QUEUES,
    ),
    change(
        _AT,
        "DRAM transactions, SC against RC",
        _S["dram"],
        _metric("DRAM", _sc, _rc),
        both=True,
        why="No two requests are served by one access to DRAM here.",
    ),
    *(
        ratio(
            "section 4.4.1",
            f"mean performance of TSM-WT-C-{kind.upper()} over RDMA",
            _R[kind],
            _performance(system, _rdma),
            both=True,
            why=_RENEWED if kind == "rc" else _WAITS,
        )
        for kind, system in (("rc", _rc), ("sc", _sc))
    ),
)
