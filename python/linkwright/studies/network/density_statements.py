"""Checks the paper's sentences about GPUs per node (Section VI.A)."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, median

from linkwright.studies.network.checks import (
    HEAVY,
    NOTHING,
    ONE_LINK,
    Outcome,
    Statement,
    empty,
    indifferent,
    judged,
    known,
    noticeable,
    on,
    spoken,
)
from linkwright.studies.network.jobs import APPLICATIONS, ranks_of_jobs, uses_the_network
from linkwright.studies.network.measured import JobTime, Measured
from linkwright.studies.network.published import published
from linkwright.studies.network.settings import DENSITIES, NETWORKS

__all__ = ["DENSITY_STATEMENTS"]

BALANCED = ("amg", "sw4lite")
DENSE = (4, 8)


def _by_size(
    measured: Measured, network: str, application: str, gpus: int
) -> dict[str, float | None]:
    return {
        f"{application} {ranks}": measured.speedup(on(network, gpus), application, ranks)
        for ranks in ranks_of_jobs()
    }


def _medians(measured: Measured, network: str, application: str) -> dict[str, float | None]:
    """Returns medians by GPUs per node, over the sizes."""
    return {
        str(gpus): measured.median_over_sizes(on(network, gpus), application, ranks_of_jobs())
        for gpus in DENSITIES[1:]
    }


def _named_bar(measured: Measured) -> Outcome:
    said = published()["gpus_per_node"]["stencil4d_32_on_2_per_node"]
    tolerance = published()["readings"]["tolerance"]
    found = {"2 per node": measured.speedup(on("fat-tree", 2), "stencil4d", 32)}
    return judged(found, lambda values: abs(values[0] - said) <= tolerance)


def _heavy_slower(measured: Measured) -> Outcome:
    holds, words = [], []
    for application in HEAVY:
        for gpus in DENSE:
            found = known(_by_size(measured, "fat-tree", application, gpus))
            slower = sum(value < 1 for value in found.values())
            if found:
                holds.append(2 * slower > len(found))
                words.append(f"{application} at {gpus}: {slower} of {len(found)} sizes")
    return Outcome(all(holds) if holds else None, ", ".join(words))


def _not_linear(measured: Measured) -> Outcome:
    """Whether each loses less than its part of the network, by what is noticeable."""
    found, holds = {}, []
    for application in HEAVY:
        for gpus in DENSITIES[1:]:
            for name, value in known(_by_size(measured, "fat-tree", application, gpus)).items():
                if uses_the_network(application, int(name.split()[1]), gpus):
                    found[f"{name} at {gpus}"] = value
                    holds.append(value * gpus >= 1 + noticeable())
    return Outcome(all(holds), spoken(found)) if holds else NOTHING


def _gains_in_a_switch(measured: Measured) -> Outcome:
    found = {
        f"{ranks} at 8": measured.speedup(on("dragonfly", 8), "subcomm3d", ranks)
        for ranks in (32, 64)
    }
    over = {
        name: value
        for name, value in found.items()
        if uses_the_network("subcomm3d", int(name.split()[0]), 8)
    }
    return judged(over, lambda values: min(values) > 1) if over else empty(found)


def _kripke(measured: Measured) -> Outcome:
    found = {
        f"{network} {gpus}, {name.split()[1]}": value
        for network in NETWORKS
        for gpus in DENSITIES[1:]
        for name, value in known(_by_size(measured, network, "kripke", gpus)).items()
    }
    if not found:
        return NOTHING
    least, most = min(found.values()), max(found.values())
    return Outcome(
        1 - least <= indifferent() and most - 1 <= indifferent(), f"{least:.2f} to {most:.2f}"
    )


def _laghos(measured: Measured) -> Outcome:
    holds, words = [], []
    for network in NETWORKS:
        found = known(_medians(measured, network, "laghos"))
        if found:
            at_four, at_eight = 1 - found["4"], 1 - found["8"]
            holds.append(at_eight >= noticeable() and at_four < at_eight / 2)
            words.append(f"{network} {spoken(found)}")
    return Outcome(all(holds) if holds else None, "; ".join(words))


def _gradual(application: str) -> Callable[[Measured], Outcome]:
    def check(measured: Measured) -> Outcome:
        holds, words = [], []
        for network in NETWORKS:
            found = known(_medians(measured, network, application))
            if found:
                falling = 1 > found["2"] > found["4"] > found["8"]
                holds.append(falling and 1 - found["4"] >= noticeable())
                words.append(f"{network} {spoken(found)}")
        return Outcome(all(holds) if holds else None, "; ".join(words))

    return check


def _less_than_heavy(measured: Measured) -> Outcome:
    """Of the heavy, the sizes that lose count: the paper itself has some that gain."""
    holds, words = [], []
    for network in NETWORKS:
        found = {}
        for name in (*HEAVY, *BALANCED):
            sizes = known(_by_size(measured, network, name, 8)).values()
            counted = [value for value in sizes if value < 1 or name in BALANCED]
            if counted:
                found[name] = median(counted)
        if len(found) == len(HEAVY) + len(BALANCED):
            holds.append(min(found[a] for a in BALANCED) > max(found[h] for h in HEAVY))
            words.append(f"{network} {spoken(found)}")
        elif found:
            gaining = ", ".join(name for name in HEAVY if name not in found)
            words.append(f"{network}: {gaining} loses at no size")
    return Outcome(all(holds) if holds else None, "; ".join(words))


def _most_slower(measured: Measured) -> Outcome:
    holds, words = [], []
    for network in NETWORKS:
        for gpus in DENSE:
            slower = [
                name
                for name in APPLICATIONS
                if (known(_medians(measured, network, name)).get(str(gpus), 1.0))
                <= 1 - noticeable()
            ]
            holds.append(2 * len(slower) > len(APPLICATIONS))
            words.append(f"{network} at {gpus}: {len(slower)} of {len(APPLICATIONS)}")
    return Outcome(all(holds), ", ".join(words)) if measured.times else NOTHING


def _all_but_kripke(measured: Measured) -> Outcome:
    strangers = [
        f"{name} at {gpus} on the {network}: {found[str(gpus)]:.2f}"
        for network in NETWORKS
        for gpus in DENSE
        for name in APPLICATIONS
        if (found := known(_medians(measured, network, name)))
        and (found[str(gpus)] <= 1 - noticeable()) == (name == "kripke")
    ]
    if not measured.times:
        return NOTHING
    return Outcome(not strangers, ", ".join(strangers) or "all do")


def _neighbours_matter(measured: Measured) -> Outcome:
    """Says whether AMG and Laghos fare worse beside a communication-heavy job."""
    applications = {(each.mix, each.job): each.application for each in measured.times}
    by_run = {(each.setting, each.mix, each.job): each for each in measured.times}

    def beside(each: JobTime) -> bool:
        return any(applications.get((each.mix, each.job + step)) in HEAVY for step in (-1, 1))

    holds, words = [], []
    for name in ("amg", "laghos"):
        groups: dict[bool, list[float]] = {True: [], False: []}
        for each in measured.times:
            if each.application == name and each.setting in [
                on(network, 8) for network in NETWORKS
            ]:
                before = by_run[each.setting.default, each.mix, each.job]
                groups[beside(each)].append(before.time / each.time)
        if all(groups.values()):
            near, far = fmean(groups[True]), fmean(groups[False])
            holds.append(near < far)
            words.append(f"{name}: {near:.3f} beside, {far:.3f} not")
    return Outcome(all(holds) if holds else None, ", ".join(words) or "too few jobs")


DENSITY_STATEMENTS = (
    Statement(
        "VI.A",
        "On the fat-tree Stencil4d on 32 has a speed-up of 0.71 at 2 per node.",
        _named_bar,
        "Two of the eight neighbours share a node at 2, as in the benchmark's own trace. The rest "
        "depends on how much the other jobs slow the base, which has one GPU per node.",
    ),
    Statement(
        "VI.A",
        "On the fat-tree Stencil4d and Subcomm3d are slower for most sizes at 4 and 8 per node.",
        _heavy_slower,
    ),
    Statement(
        "VI.A",
        "Their loss is less than proportional: at 2, 4 and 8 per node each beats its part of the "
        "bandwidth by a tenth or more.",
        _not_linear,
        "In Stencil4d of 64 on 2 per node, nearly all neighbours of a process are in other nodes. "
        "One interface sends the messages of two processes one after another.",
    ),
    Statement(
        "VI.A",
        "On the dragonfly Subcomm3d of 32 and 64 gains at 8 per node, within one switch.",
        _gains_in_a_switch,
        "Our lines lie whole within nodes of eight. So the gain comes from links between GPUs and "
        "says nothing about networks.",
    ),
    Statement("VI.A", "Kripke is indifferent to GPUs per node.", _kripke),
    Statement(
        "VI.A",
        "Laghos slows down primarily at 8 per node, noticeably there and half as much at 4.",
        _laghos,
        "The order is the paper's, but not the amount. Our Laghos has one message size for all "
        "sizes of jobs. If that size is larger, four per node are too slow for Table II. The loss "
        "of Laghos grows with the job and shows most at 512 processes.",
    ),
    Statement(
        "VI.A",
        "AMG slows down gradually, noticeably at 4 and 8.",
        _gradual("amg"),
    ),
    Statement(
        "VI.A",
        "SW4lite slows down gradually, noticeably at 4 and 8.",
        _gradual("sw4lite"),
        ONE_LINK,
    ),
    Statement(
        "VI.A",
        "AMG and SW4lite lose less at 8 than Stencil4d and Subcomm3d where these lose.",
        _less_than_heavy,
        "In the paper's Table II AMG needs as much bandwidth as Stencil4d, or more. " + ONE_LINK,
    ),
    Statement(
        "VI.A",
        "Most applications are noticeably slower at four or more per node.",
        _most_slower,
        ONE_LINK,
    ),
    Statement(
        "VI.A",
        "All but Kripke are noticeably slower at 4 and at 8.",
        _all_but_kripke,
        "The paper itself says so of Laghos at 8 only. " + ONE_LINK,
    ),
    Statement(
        "VI.A",
        "At 8 per node AMG and Laghos lose more beside Stencil4d or Subcomm3d.",
        _neighbours_matter,
        "At 8 a job delays mostly itself, at its own interfaces, as it is alone in its nodes. Job "
        "sizes differ between both groups, too. This mean does not separate them.",
        of_mixes=True,
    ),
)
