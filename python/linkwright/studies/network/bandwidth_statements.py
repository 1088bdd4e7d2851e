"""Checks the paper's sentences about bandwidth (Section VI.B and Table II)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import log2

from linkwright.studies.network.bandwidth import RANKS, REQUIREMENT_COLUMNS
from linkwright.studies.network.checks import HEAVY, NOTHING, Outcome, Statement, known, on, spoken
from linkwright.studies.network.jobs import APPLICATIONS, uses_the_network
from linkwright.studies.network.measured import Measured
from linkwright.studies.network.published import published
from linkwright.studies.network.settings import (
    BANDWIDTH_DENSITY,
    NETWORKS,
    bandwidth_factors,
    factor_text,
)

__all__ = ["BANDWIDTH_STATEMENTS"]


def _changes(measured: Measured, network: str, factor: float) -> dict[str, float]:
    """Returns the performance at a bandwidth over x, both at four GPUs per node."""
    base = on(network, BANDWIDTH_DENSITY)
    at_x = known({name: measured.speedup(base, name, RANKS) for name in APPLICATIONS})
    other = replace(base, bandwidth=factor)
    found = known({name: measured.speedup(other, name, RANKS) for name in APPLICATIONS})
    return {name: found[name] / at_x[name] for name in APPLICATIONS if name in found}


def _most_for_heavy(measured: Measured, factor: float) -> Outcome:
    holds, words = [], []
    for network in NETWORKS:
        found = _changes(measured, network, factor)
        heavy = [abs(log2(found[name])) for name in HEAVY if name in found]
        others = [abs(log2(value)) for name, value in found.items() if name not in HEAVY]
        if heavy and others:
            holds.append(min(heavy) > max(others))
            words.append(f"{network} {spoken(found)}")
    return Outcome(all(holds), "; ".join(words)) if holds else NOTHING


def _table_two(measured: Measured) -> Outcome:
    entry = published()["least_bandwidth"]
    apart = []
    for application in APPLICATIONS:
        for (ranks, gpus), said in zip(REQUIREMENT_COLUMNS, entry[application], strict=True):
            found = measured.least_bandwidth(application, ranks, gpus)
            if found is not None:
                apart.append(abs(log2(found / said)))
    if not apart:
        return NOTHING
    same, near = sum(step == 0 for step in apart), sum(step == 1 for step in apart)
    return Outcome(
        same == len(apart),
        f"of {len(apart)} values {same} are the same, {near} a factor of 2 apart",
    )


def _kripke_little(measured: Measured) -> Outcome:
    found = known(
        {
            f"{ranks} on {gpus}": measured.least_bandwidth("kripke", ranks, gpus)
            for ranks, gpus in REQUIREMENT_COLUMNS
        }
    )
    most = max(published()["least_bandwidth"]["kripke"])
    return _factors(found, all(factor <= most for factor in found.values()))


def _heavy_more_than(*others: str) -> Callable[[Measured], Outcome]:
    def check(measured: Measured) -> Outcome:
        names = (*HEAVY, *others)
        found = known({name: measured.least_bandwidth(name, 512, 8) for name in names})
        heavy = [found[name] for name in HEAVY if name in found]
        light = [found[name] for name in others if name in found]
        if not heavy or not light:
            return NOTHING
        return _factors(found, min(heavy) > max(light))

    return check


def _more_than_four(measured: Measured) -> Outcome:
    found = known({name: measured.least_bandwidth(name, 512, 8) for name in ("amg", "sw4lite")})
    return _factors(found, all(factor > 4 for factor in found.values()))


def _less_at_eight(measured: Measured) -> Outcome:
    found: dict[str, float] = {}
    fewer = False
    for name in HEAVY:
        for ranks in (32, 64):
            four, eight = (measured.least_bandwidth(name, ranks, gpus) for gpus in (4, 8))
            if four is not None and eight is not None and uses_the_network(name, ranks, 8):
                found |= {f"{name} {ranks} on 4": four, f"{name} {ranks} on 8": eight}
                fewer |= eight < four
    return _factors(found, fewer)


def _factors(found: dict[str, float], holds: bool) -> Outcome:
    if not found:
        return NOTHING
    most = bandwidth_factors()[-1]
    text = ", ".join(
        f"{name}: {factor_text(factor) if factor <= most else 'over ' + factor_text(most)}"
        for name, factor in found.items()
    )
    return Outcome(holds, text)


BANDWIDTH_STATEMENTS = (
    Statement(
        "VI.B",
        "More bandwidth (16x) gains most for Stencil4d and Subcomm3d.",
        lambda measured: _most_for_heavy(measured, bandwidth_factors()[-1]),
    ),
    Statement(
        "VI.B",
        "Less bandwidth (x/16) costs most for Stencil4d and Subcomm3d.",
        lambda measured: _most_for_heavy(measured, bandwidth_factors()[0]),
        "With a sixteenth of the bandwidth AMG and SW4lite do hardly anything but communicate, "
        "and all four lose in proportion to it. They also lose the time that they could hide at x.",
    ),
    Statement(
        "Table II",
        "The table's values.",
        _table_two,
        "They part by one step. Each pair of GPUs in a node has a link of its own, so three "
        "messages go at once. So Subcomm3d of 32 needs less than in the paper. AMG of 32 needs "
        "less as more of its traffic stays in a node.",
    ),
    Statement("Table II", "Kripke needs x/8 or less.", _kripke_little),
    Statement(
        "VI.B",
        "Of 512 on 8 per node, Stencil4d and Subcomm3d need more than the computation-intensive.",
        _heavy_more_than("kripke", "laghos"),
    ),
    Statement(
        "VI.B",
        "Of 512 on 8 per node, Stencil4d and Subcomm3d need more than AMG and SW4lite.",
        _heavy_more_than("amg", "sw4lite"),
        "The words `communication-intensive applications require larger bandwidth` can be read in "
        "this way. In the paper's Table II AMG needs as much as Stencil4d, too, and twice as much "
        "as Subcomm3d.",
    ),
    Statement(
        "VI.B",
        "AMG and SW4lite of 512 on 8 need more than 4x.",
        _more_than_four,
        "The paper's Table II says 4x of SW4lite, against its text.",
    ),
    Statement(
        "VI.B",
        "Stencil4d or Subcomm3d of 32 or 64 sometimes needs less on 8 than on 4.",
        _less_at_eight,
        "Only jobs that use the network at 8 per node count: Subcomm3d of 32 and 64 sends nothing "
        "over it there. The steps of bandwidth are factors of two. Table II, too, shows no job "
        "that needs less.",
    ),
)
