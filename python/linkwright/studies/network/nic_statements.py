"""Checks the paper's sentences about the policies of network interfaces (Section VI.C)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from linkwright.studies.network.checks import (
    HEAVY,
    NOTHING,
    Outcome,
    Statement,
    clearly,
    indifferent,
    known,
    noticeable,
    on,
    spoken,
)
from linkwright.studies.network.jobs import ranks_of_jobs, uses_the_network
from linkwright.studies.network.measured import Measured
from linkwright.studies.network.nic import FIGURES, RANKS
from linkwright.studies.network.published import published
from linkwright.studies.network.settings import NIC_DENSITIES, NICS

__all__ = ["NIC_STATEMENTS"]


def _policies(measured: Measured, application: str, ranks: int, gpus: int) -> dict[str, float]:
    """Over FCFS with one GPU per node; empty unless all were measured."""
    found = known(
        {name: measured.speedup(on("dragonfly", gpus, name), application, ranks) for name in NICS}
    )
    return found if len(found) == len(NICS) else {}


def _gains(measured: Measured, application: str, ranks: int, gpus: int) -> dict[str, float]:
    """Returns the gains over FCFS with as many GPUs per node."""
    found = _policies(measured, application, ranks, gpus)
    return {name: value / found["fcfs"] for name, value in found.items() if name != "fcfs"}


def _of_sizes(
    gpus: int,
    application: str,
    holds: Callable[[dict[str, float]], bool],
    *,
    sizes: tuple[int, ...] = RANKS,
    gains: bool = True,
) -> Callable[[Measured], Outcome]:
    """A check that must hold at each size for which there is a job that uses the network."""

    def check(measured: Measured) -> Outcome:
        look = _gains if gains else _policies
        found = {ranks: look(measured, application, ranks, gpus) for ranks in sizes}
        there = {
            ranks: values
            for ranks, values in found.items()
            if values and uses_the_network(application, ranks, gpus)
        }
        if not there:
            return NOTHING
        words = "; ".join(f"{ranks}: {spoken(values)}" for ranks, values in there.items())
        return Outcome(all(map(holds, there.values())), words)

    return check


def _none(gains: dict[str, float]) -> bool:
    return all(abs(value - 1) <= indifferent() for value in gains.values())


def _some(gains: dict[str, float]) -> bool:
    return any(abs(value - 1) >= noticeable() for value in gains.values())


def _gains_with_two(gains: dict[str, float]) -> bool:
    """Says whether RR gains, and hardly more than with two or four messages in turn."""
    most = (1 + noticeable()) * min(gains["rr-2"], gains["rr-4"])
    return 1 + noticeable() <= gains["rr"] < most


def _rising(policies: dict[str, float]) -> bool:
    values = [policies[name] for name in NICS]
    return values == sorted(values) and len(set(values)) == len(values)


def _said() -> dict[str, float]:
    """The numbers that the paper writes, by what they are of."""
    entry = published()["nic_scheduling"]
    return {name: value for name, value in entry.items() if isinstance(value, float)}


def _numbers(measured: Measured) -> Outcome:
    tolerance = published()["readings"]["tolerance"]
    words, near = [], []
    for application in FIGURES:
        for ranks in RANKS:
            for gpus in NIC_DENSITIES:
                for name, value in _policies(measured, application, ranks, gpus).items():
                    key = f"{application}_{ranks}_{name}_on_{gpus}_per_node"
                    if key in _said():
                        said = _said()[key]
                        near.append(abs(value / said - 1) <= tolerance)
                        words.append(f"{said:.2f} is {value:.2f}")
    return Outcome(all(near), ", ".join(words)) if near else NOTHING


def _kripke(measured: Measured) -> Outcome:
    found = [
        value
        for gpus in NIC_DENSITIES
        for ranks in ranks_of_jobs()
        for value in _gains(measured, "kripke", ranks, gpus).values()
    ]
    if not found:
        return NOTHING
    holds = max(abs(value - 1) for value in found) <= indifferent()
    return Outcome(holds, f"{min(found):.2f} to {max(found):.2f}")


# Where no policy is best.
NONE = "none"


def _winner(policies: dict[str, float]) -> str:
    """The policy that is clearly better than every other."""
    first, second = sorted(policies, key=lambda name: policies[name], reverse=True)[:2]
    return first if policies[first] >= (1 + clearly()) * policies[second] else NONE


def _best(measured: Measured) -> Counter[str]:
    """How often each policy is best, of the applications that communicate."""
    found: Counter[str] = Counter()
    for application in FIGURES:
        for ranks in RANKS:
            for gpus in NIC_DENSITIES:
                policies = _policies(measured, application, ranks, gpus)
                if application != "kripke" and policies:
                    found[_winner(policies)] += 1
    return found


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{name}: {found[name]}" for name in (*NICS, NONE))


def _no_single_best(measured: Measured) -> Outcome:
    found = _best(measured)
    if not found:
        return NOTHING
    return Outcome(all(found[name] for name in NICS), f"best in cases {_counted(found)}")


def _rr_most_often(measured: Measured) -> Outcome:
    found = _best(measured)
    if not found:
        return NOTHING
    most = max(found[name] for name in NICS if name != "rr")
    return Outcome(found["rr"] > most, f"best in cases {_counted(found)}")


def _most_where_many_compete(measured: Measured) -> Outcome:
    """Says whether each heavy application gains more from RR at one GPU per node than any other."""
    found: dict[str, float] = {}
    heavy: list[float] = []
    others: list[float] = []
    for application in FIGURES:
        gains = known(
            {
                f"{application} {ranks}": _gains(measured, application, ranks, 1).get("rr")
                for ranks in RANKS
            }
        )
        if gains:
            found |= gains
            (heavy if application in HEAVY else others).append(max(gains.values()))
    if not heavy or not others:
        return NOTHING
    return Outcome(min(heavy) > max(others), spoken(found))


def _best_is(name: str) -> Callable[[dict[str, float]], bool]:
    return lambda policies: _winner(policies) == name


BETWEEN_TWO_SWITCHES = (
    "Placed linearly, the lines of our Subcomm3d lie at one switch or at two. At one nothing "
    "stands in their way. Between two all messages cross one link, in any order. Alone on random "
    "nodes RR gains, too."
)
AT_ONE_RECEIVER = (
    "The messages of the eight processes of a node mostly go to one or two other nodes. So their "
    "order decides little. Traces of the code may have more at a time."
)
BY_LITTLE = (
    "Our policies differ by little here. The order in which an application posts its messages "
    "decides which policy wins by a few percent. Only its trace knows that order."
)

NIC_STATEMENTS = (
    Statement(
        "VI.C",
        f"The {len(_said())} numbers of Figs. 8 and 9, within a tenth.",
        _numbers,
        "The gain of RR depends on how many messages a process has under way and where they go. "
        "The paper does not print that. The sends of our Stencil4d were chosen for these numbers "
        "when packets could still take detours within groups. Placement decides much of the rest: "
        "alone on random nodes both applications come near the paper's numbers.",
    ),
    Statement(
        "VI.C",
        "Stencil4d, 1 per node: the more messages are considered, the faster.",
        _of_sizes(1, "stencil4d", _rising, gains=False),
    ),
    Statement(
        "VI.C",
        "Stencil4d, 8 per node: RR is faster than FCFS.",
        _of_sizes(8, "stencil4d", lambda gains: gains["rr"] >= 1 + noticeable()),
        "At 512 ours gains as much as in the paper. Placed linearly, 64 on 8 are eight nodes at "
        "one or two switches. Their interfaces stay full in any order. On random nodes RR gains "
        "there, too.",
    ),
    Statement(
        "VI.C",
        "1 per node: RR gains most where many messages compete, for Stencil4d and Subcomm3d.",
        _most_where_many_compete,
        BETWEEN_TWO_SWITCHES,
    ),
    Statement(
        "VI.C",
        "Subcomm3d, 1 per node: RR is faster than FCFS.",
        _of_sizes(1, "subcomm3d", lambda gains: gains["rr"] >= 1 + noticeable()),
        BETWEEN_TWO_SWITCHES,
    ),
    Statement(
        "VI.C",
        "Subcomm3d, 1 per node: RR gains over FCFS, but hardly over RR-2 and RR-4.",
        _of_sizes(1, "subcomm3d", _gains_with_two),
        BETWEEN_TWO_SWITCHES,
    ),
    Statement(
        "VI.C",
        "Subcomm3d, 8 per node: all policies are alike.",
        _of_sizes(8, "subcomm3d", lambda gains: not _some(gains)),
        "RR spreads an all-to-all over more receivers at a time.",
    ),
    Statement("VI.C", "The policy has no impact on Kripke.", _kripke),
    Statement(
        "VI.C",
        "Laghos, 1 per node: all policies are alike.",
        _of_sizes(1, "laghos", _none),
        "RR gains a twentieth at 512, at the edge of what counts as none.",
    ),
    Statement(
        "VI.C",
        "Laghos of 64, 8 per node: all policies are alike.",
        _of_sizes(8, "laghos", _none, sizes=(64,)),
        "RR gains slightly more than what counts as none.",
    ),
    Statement(
        "VI.C",
        "Laghos of 512, 8 per node: RR is significantly better.",
        _of_sizes(8, "laghos", lambda gains: gains["rr"] >= 1 + noticeable(), sizes=(512,)),
        "Our messages of Laghos are 5 KiB, two packets each: there is little to take in turns.",
    ),
    Statement(
        "VI.C",
        "SW4lite, 1 per node: all policies are alike.",
        _of_sizes(1, "sw4lite", _none),
    ),
    Statement(
        "VI.C",
        "SW4lite, 8 per node: the policy matters.",
        _of_sizes(8, "sw4lite", _some),
        AT_ONE_RECEIVER,
    ),
    Statement(
        "VI.C",
        "AMG, 1 per node: all policies are alike.",
        _of_sizes(1, "amg", _none),
        "RR gains a little more than the change that counts as none. On the dragonfly AMG waits "
        "for links between switches. Over these it sends to several nodes at a time.",
    ),
    Statement(
        "VI.C",
        "AMG, 8 per node: the policy matters.",
        _of_sizes(8, "amg", _some),
        AT_ONE_RECEIVER,
    ),
    Statement(
        "VI.C",
        "AMG of 64, 8 per node: FCFS is best.",
        _of_sizes(8, "amg", _best_is("fcfs"), sizes=(64,), gains=False),
        BY_LITTLE,
    ),
    Statement(
        "VI.C",
        "SW4lite of 512, 8 per node: RR-4 is best.",
        _of_sizes(8, "sw4lite", _best_is("rr-4"), sizes=(512,), gains=False),
        BY_LITTLE,
    ),
    Statement(
        "VI.C",
        "Each policy is best somewhere; none is everywhere.",
        _no_single_best,
        BY_LITTLE,
    ),
    Statement("VI.C", "RR is the most effective in many cases.", _rr_most_often),
)
