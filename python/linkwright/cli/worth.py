"""Tells the worth of GPUs of one server to a job, and their places, as data and in words."""

from __future__ import annotations

import math

from linkwright import System
from linkwright.allocation import Explanation, Match
from linkwright.cli import output
from linkwright.cli.tables import Table
from linkwright.collectives import bus_factor, packing_rate
from linkwright.errors import CollectiveError

__all__ = [
    "cells",
    "competition",
    "environment",
    "explained",
    "fields_of",
    "heads",
    "ids_of",
    "near",
    "places_of",
    "print_legend",
    "print_remarks",
    "ranking_of",
    "ranking_table",
]


def environment(match: Match) -> dict[str, str]:
    """Gives the variables by which a job's processes find their GPUs."""
    return {"CUDA_VISIBLE_DEVICES": ids_of(match), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def places_of(match: Match, machine: System) -> dict[str, object]:
    """Says where the GPUs sit, for a launcher that pins the job's processes."""
    places = machine.gpu_places()
    return {
        "environment": environment(match),
        "cpuset": machine.cpuset(match.gpus),
        "numa_nodes": machine.numa_nodes(match.gpus),
        "nics": _nics(match, machine),
        "places": [
            {
                "gpu": gpu,
                "name": places[gpu].name,
                "pci_address": places[gpu].pci_address,
                "cpus": places[gpu].cpu_affinity,
                "numa_nodes": places[gpu].numa_affinity,
                "nics": places[gpu].nics,
                "nic_proximity": places[gpu].nic_proximity,
            }
            for gpu in match.gpus
        ],
    }


def _nics(match: Match, machine: System) -> list[str]:
    """Names the NICs nearest to any of the GPUs, each once."""
    places = machine.gpu_places()
    return list(dict.fromkeys(nic for gpu in match.gpus for nic in places[gpu].nics))


def _packing_rate(match: Match, machine: System) -> float | None:
    """Gives the rate of the best all-reduce on these GPUs, in GB/s; None where there is none."""
    try:
        return packing_rate(machine, match.gpus)[0]
    except CollectiveError:
        return None


def fields_of(match: Match, machine: System) -> dict[str, object]:
    """Gives the GPUs and their scores."""
    packing = _packing_rate(match, machine)
    return {
        "gpus": match.gpus,
        "links": match.joined_by,
        "aggregated_bandwidth": match.aggregated_bandwidth,
        "effective_bandwidth": match.effective_bandwidth,
        "preserved_bandwidth": match.preserved_bandwidth,
        "packing_rate": packing,
        "packing_bus_bandwidth": _bus_bandwidth(packing, match),
        "candidates": match.candidates,
        "optimal": match.optimal,
        "gap": match.gap,
    }


def _bus_bandwidth(algorithm_bandwidth: float | None, match: Match) -> float | None:
    """Gives the bus bandwidth of an all-reduce of this algorithm bandwidth."""
    factor = bus_factor("all-reduce", len(match.gpus))
    return None if algorithm_bandwidth is None else algorithm_bandwidth * factor


def explained(why: Explanation | None, machine: System) -> dict[str, object]:
    """Why they were chosen; nothing where nobody asked."""
    if why is None:
        return {}
    ranking = [fields_of(match, machine) for match in why.ranking]
    explained = {
        "rule": why.rule,
        "decided_by": why.decided_by,
        "verdict": why.verdict,
        "ranking": ranking,
    }
    return {"explanation": explained}


def ranking_of(match: Match, why: Explanation | None) -> list[Match]:
    """The candidates that are shown, the chosen one first."""
    return [match] if why is None else why.ranking


def heads(by_edges: bool) -> list[str]:
    """The heads of the columns that `cells` fills."""
    bandwidth = "pattern\nbandwidth" if by_edges else "effective\nbusbw"
    return ["GPUs", "links", bandwidth, "packing\nbusbw", "aggregated", "preserved"]


def cells(match: Match, machine: System) -> list[str]:
    """Gives the worth of GPUs, in one row."""
    effective = match.effective_bandwidth
    packing = _bus_bandwidth(_packing_rate(match, machine), match)
    return [
        ids_of(match),
        ", ".join(f"{count} {name}" for name, count in match.joined_by.items()) or "none",
        "none" if effective is None else f"{effective:.1f}",
        "none" if packing is None else f"{packing:.1f}",
        f"{match.aggregated_bandwidth:g}",
        f"{match.preserved_bandwidth:g}",
    ]


def ranking_table(ranking: list[Match], machine: System, by_edges: bool) -> Table:
    """Makes the table that says how much the GPUs are worth, and the other candidates."""
    made = output.table(heads(by_edges), left=["GPUs", "links"])
    for match in ranking:
        made.add_row(*cells(match, machine))
    return made


def print_remarks(
    made: Table, match: Match, why: Explanation | None, machine: System, by_edges: bool
) -> None:
    """Says on standard error why the GPUs were chosen, and their worth."""
    console = output.console(stderr=True)
    ranking = ranking_of(match, why)
    if why is not None:
        console.print(why.rule)
        console.print(f"Decided by {why.decided_by}: {why.verdict}")
        console.print()
    output.print_table(made, stderr=True)
    console.print(f"{competition(ranking)}; bandwidths in GB/s.")
    print_legend(len(ranking[0].gpus), by_edges)
    if sits := near(ranking[0], machine):
        console.print(f"Near GPUs {ids_of(ranking[0])}: {sits}.")


def print_legend(gpus: int, by_edges: bool) -> None:
    """Explains the columns of bandwidths of a job on standard error."""
    console = output.console(stderr=True)
    if by_edges:
        console.print(
            "The pattern's bandwidth is that of each edge while all carry their shares, both ways. "
            "Packing busbw is the most that an all-reduce on these links can come to."
        )
    elif gpus > 1:
        console.print(
            "busbw is the bus bandwidth of an all-reduce: effective is the predicted one, and "
            "packing the most that plans on these links can reach."
        )


def near(match: Match, machine: System) -> str:
    """The cores, NUMA nodes and NICs near the GPUs, as far as the machine says."""
    cores, nodes = machine.cpuset(match.gpus), machine.numa_nodes(match.gpus)
    nics = _nics(match, machine)
    known = {"cores": cores, "NUMA nodes": nodes, "NICs": ", ".join(nics)}
    return "; ".join(f"{what} {which}" for what, which in known.items() if which)


def competition(ranking: list[Match]) -> str:
    """How the first was found among how many."""
    chosen = ranking[0]
    if chosen.candidates == 1:
        # A rule that looks at no link leaves one set, and there may be no other.
        others = "; the others are shown beside it" if len(ranking) > 1 else ""
        one = f"The one set of GPUs that the policy's rule leaves{others}"
        if chosen.optimal or chosen.gap is None:
            return one
        return f"{one}; no other order of them is more than {_percent(chosen.gap)} better"
    if chosen.optimal:
        return f"The best of {chosen.candidates:,} candidates by the policy's rule"
    found = f"The best found of {chosen.candidates:,} candidates"
    if chosen.gap is None:
        return f"{found}, perhaps not the best there is"
    return f"{found}; none there is can be more than {_percent(chosen.gap)} better by the rule"


def _percent(gap: float) -> str:
    """A fraction in percent, rounded up so that it stays a bound."""
    return f"{math.ceil(gap * 1000) / 10:g} %"


def ids_of(match: Match) -> str:
    """Lists the GPUs in the order of the pattern's vertices."""
    return ",".join(str(gpu) for gpu in match.gpus)
