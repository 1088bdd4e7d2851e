"""Checks Figs. 4-6 and 4-7: the worth of bandwidth and of more GPUs."""

from __future__ import annotations

from linkwright.studies.memory.checks import (
    NOT_RUN,
    Outcome,
    Statement,
    ViewOf,
    judged,
    ratio,
)
from linkwright.studies.memory.measured import View, mean
from linkwright.studies.memory.published import published
from linkwright.studies.memory.settings import BENCHMARKS

__all__ = ["SENSITIVITY_STATEMENTS", "over_bandwidth", "over_gpus"]

_BANDWIDTH = published()["fig_4_6"]
_GPUS = published()["fig_4_7"]
FLAT = ("aes", "atax", "bicg")


def over_bandwidth(view: View, consistency: str, whole: int) -> dict[str, float]:
    """Says how many times as fast each benchmark is with `whole` GB/s of all GPUs as with 128."""
    memory = view.coherent(consistency)
    found = {}
    for name in BENCHMARKS:
        more = view.measured.result("bandwidth", name, memory, bandwidth=whole / 4)
        base = view.measured.result("bandwidth", name, memory)
        if more is not None and base is not None:
            found[name] = base.time / more.time
    return found


def over_gpus(view: View, consistency: str, gpus: int) -> dict[str, float]:
    """Says how many times as fast each benchmark is on `gpus` GPUs as on 4."""
    memory = view.coherent(consistency)
    found = {}
    for name in BENCHMARKS:
        more = view.measured.result("gpus", name, memory, gpus=gpus)
        base = view.measured.result("gpus", name, memory)
        if more is not None and base is not None:
            found[name] = base.time / more.time
    return found


def _mean_of_bandwidth(consistency: str, whole: int) -> ViewOf:
    return lambda view: mean(over_bandwidth(view, consistency, whole))


def _mean_of_gpus(consistency: str, gpus: int) -> ViewOf:
    return lambda view: mean(over_gpus(view, consistency, gpus))


def _no_need(view: View) -> Outcome:
    found = over_bandwidth(view, "rc", _BANDWIDTH["bandwidths"][-1])
    average = mean(found)
    few = {name: value for name, value in found.items() if name in ("atax", "bfs", "bicg")}
    return judged(few, lambda values: average is not None and max(values) < average)


def _up_to(view: View) -> Outcome:
    whole = _BANDWIDTH["bandwidths"][-1]
    found = {
        f"{name} {kind.upper()}": value
        for kind in ("rc", "sc")
        for name, value in over_bandwidth(view, kind, whole).items()
    }
    if not found:
        return NOT_RUN
    best = max(found, key=lambda name: found[name])
    near = abs(found[best] / _BANDWIDTH["most"] - 1) <= published()["readings"]["near"]
    return Outcome(near, f"{best}: {found[best]:.3g}")


def _sequential_needs_more(view: View) -> Outcome:
    whole = _BANDWIDTH["bandwidths"][-1]
    found = {
        kind.upper(): value
        for kind in ("rc", "sc")
        if (value := mean(over_bandwidth(view, kind, whole))) is not None
    }
    return judged(found, lambda values: len(values) == 2 and values[1] > values[0])


def _flat(view: View) -> Outcome:
    found = {
        f"{name} {kind.upper()}": value
        for kind in ("rc", "sc")
        for name, value in over_gpus(view, kind, 16).items()
        if name in FLAT
    }
    few = published()["readings"]["near"]
    return judged(found, lambda values: all(abs(value - 1) <= few for value in values))


def _mm_above_ideal(view: View) -> Outcome:
    found = {
        f"{gpus} GPUs {kind.upper()}": each["mm"]
        for gpus in _GPUS["gpus"]
        for kind in ("rc", "sc")
        if "mm" in (each := over_gpus(view, kind, gpus))
    }
    ideal = [gpus / 4 for gpus in _GPUS["gpus"] for _ in range(2)]
    return judged(
        found,
        lambda values: all(value > best for value, best in zip(values, ideal, strict=False)),
    )


_LATENCY = (
    "More bandwidth gains nothing once latency and the L2s' registers decide. The switch takes "
    "140 cycles a hop, and a bank has 64 lines under way. Writing through, relaxed kernels ask "
    "for more than 32 GB/s a GPU here at all times."
)
_ONE_BY_ONE = (
    "Under SC a wavefront has one access under way, so its time is latency. Bandwidth lessens "
    "latency only while the switch is full."
)
_STRONG = (
    "More GPUs share the same work. At these sizes all groups of mm, atax and bicg run at once on "
    "four GPUs already. A launch takes time on any number of GPUs, so the others gain less than "
    "GPUs are added."
)

SENSITIVITY_STATEMENTS: tuple[Statement, ...] = (
    *(
        ratio(
            "section 4.4.1, Fig. 4-6",
            f"mean speed-up of {kind.upper()} with {whole} GB/s over 128",
            said,
            _mean_of_bandwidth(kind, whole),
            both=True,
            why=_LATENCY if kind == "rc" else _ONE_BY_ONE,
        )
        for kind in ("rc", "sc")
        for whole, said in zip(_BANDWIDTH["bandwidths"], _BANDWIDTH[kind], strict=True)
    ),
    Statement(
        "section 4.4.1, Fig. 4-6",
        "atax, bfs and bicg gain less than the mean at 4 TB/s (RC)",
        "",
        _no_need,
        both=True,
        why="bfs is bound by memory here. Its lists of edges are read line by line.",
    ),
    Statement(
        "section 4.4.1, Fig. 4-6",
        "some gain up to tenfold at 4 TB/s",
        f"{_BANDWIDTH['most']}",
        _up_to,
        both=True,
        why=_LATENCY,
    ),
    Statement(
        "section 4.4.1, Fig. 4-6",
        "SC gains more by bandwidth than RC",
        "",
        _sequential_needs_more,
        both=True,
        why=_ONE_BY_ONE,
    ),
    *(
        ratio(
            "section 4.4.1, Fig. 4-7",
            f"mean speed-up of {kind.upper()} on {gpus} GPUs over 4",
            said,
            _mean_of_gpus(kind, gpus),
            both=True,
            why=_STRONG,
        )
        for kind in ("rc", "sc")
        for gpus, said in zip(_GPUS["gpus"], _GPUS[kind], strict=True)
    ),
    Statement(
        "section 4.4.1, Fig. 4-7",
        "aes, atax and bicg are no faster on 16 GPUs",
        "",
        _flat,
        both=True,
        why="atax and bicg have too few groups for more compute units here as there. Aes has "
        "enough at its size.",
    ),
    Statement(
        "section 4.4.1, Fig. 4-7",
        "mm gains more than GPUs are added, under RC and SC",
        "",
        _mm_above_ideal,
        both=True,
        why="A compute unit holds 16 groups. Four GPUs run all 1,024 groups of 1,024 rows at "
        "once, and they would run those of 2,048 rows, too. There remain the steps of one group. "
        "Groups go in step and ask for the same lines. Two of three accesses to second levels "
        "wait for a line that is on its way from memory. More GPUs do not shorten that wait, and "
        "bandwidth hardly does (Fig. 4-6).",
    ),
)
