"""Prints a network between servers: its switches by level, its links, its parameters."""

from __future__ import annotations

from typing import Any

from linkwright.cli import output
from linkwright.documents import json_text
from linkwright.network import Fabric
from linkwright.texts import counted

__all__ = [
    "fabric_facts",
    "fabric_text",
    "print_fabric",
    "print_levels",
    "print_links",
    "print_paths",
]

LINK_KINDS = {"infiniband": "InfiniBand", "ethernet": "Ethernet"}


def print_fabric(fabric: Fabric) -> None:
    """Prints its ports and what passes its middle, its switches, its links and its parameters."""
    ports = counted(fabric.ports, "port")
    switches = counted(fabric.switches, "switch", "switches")
    output.say(fabric.name)
    output.say(f"{ports}, {switches}, {LINK_KINDS[fabric.link_kind]}")
    to_nodes, between = fabric.cables
    cables = f"{to_nodes:,} to nodes, {between:,} between switches"
    output.say(f"{counted(to_nodes + between, 'cable')}: {cables}")
    output.say(f"bisection bandwidth: {_bisection(fabric)}")
    output.say(f"between the switches of two nodes: {_distances(fabric)}")
    output.say("")
    print_levels(fabric)
    output.say("")
    print_links(fabric)
    if fabric.parameters:
        output.say("")
        made = output.table(["parameter", "value"], left=["parameter", "value"])
        for key, value in fabric.parameters.items():
            made.add_row(key.replace("_", "-"), _written(value))
        output.print_table(made)


def _bisection(fabric: Fabric) -> str:
    bounds = fabric.bisection_bounds
    if bounds is None:
        return "none of fewer than two ports"
    least, most = bounds
    if least == most:
        return f"{most:,.1f} GB/s in each direction"
    return f"{least:,.1f} to {most:,.1f} GB/s in each direction (bounds)"


def _distances(fabric: Fabric) -> str:
    if fabric.diameter is None:
        return "distances not computed"
    return f"at most {counted(fabric.diameter, 'link')}, {fabric.mean_distance:.3f} in the mean"


def print_paths(fabric: Fabric, source: int, destination: int, most: int) -> None:
    """Prints the shortest paths of a pair of nodes.

    Raises:
        MachineError: If there is no such node.
    """
    count, paths = fabric.paths(source, destination, most=most)
    output.say(
        f"{fabric.name}: {counted(count, 'shortest path')} of node {source} to {destination}"
    )
    output.say("")
    made = output.table(["path", "links", "ways"], left=["path"], whole=["path"])
    for row in paths:
        made.add_row(row["path"], f"{row['links']:,}", f"{row['ways']:,}")
    output.print_table(made)
    if len(paths) == most:
        output.say(f"the first {most} are listed; --limit lists more")


def print_levels(fabric: Fabric) -> None:
    """Prints its switches by level, from those of nodes upwards."""
    levels = output.table(["level", "switches", "ports in use"], left=["level"])
    for row in fabric.levels():
        least, most = row["least_ports"], row["most_ports"]
        used = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        levels.add_row(row["level"], f"{row['switches']:,}", used)
    output.print_table(levels)


def print_links(fabric: Fabric) -> None:
    """Prints its links by what they join."""
    links = output.table(["link", "links", "bandwidth", "latency"], left=["link"])
    for row in fabric.links():
        bandwidth = f"{row['bandwidth'] / 1e9:,.6g} GB/s"
        links.add_row(
            f"{row['from']} \N{EN DASH} {row['to']}",
            f"{row['links']:,}",
            bandwidth,
            f"{row['latency'] / 1e3:,.6g} ns",
        )
    output.print_table(links)


def fabric_text(fabric: Fabric, form: str) -> str:
    """Gives the network as `toml`, `dot` or `json`.

    Raises:
        MachineError: If it is a graph and TOML is asked for.
    """
    if form == "json":
        return json_text(fabric_facts(fabric))
    text = fabric.to_toml() if form == "toml" else fabric.to_dot()
    return text if text.endswith("\n") else text + "\n"


def fabric_facts(fabric: Fabric) -> dict[str, Any]:
    """Gives the network as data."""
    bisection = fabric.bisection_bandwidth
    bounds = fabric.bisection_bounds
    to_nodes, between = fabric.cables
    return {
        "name": fabric.name,
        "kind": fabric.kind,
        "ports": fabric.ports,
        "switches": fabric.switches,
        "link_kind": fabric.link_kind,
        "bisection_bandwidth_bytes_per_second": None if bisection is None else bisection * 1e9,
        "bisection_bounds_bytes_per_second": None
        if bounds is None
        else [it * 1e9 for it in bounds],
        "diameter": fabric.diameter,
        "mean_distance": fabric.mean_distance,
        "cables": {"to_nodes": to_nodes, "between_switches": between},
        "levels": list(fabric.levels()),
        "links": [
            {
                "between": [row["from"], row["to"]],
                "count": row["links"],
                "bandwidth_bytes_per_second": row["bandwidth"],
                "latency_picoseconds": row["latency"],
            }
            for row in fabric.links()
        ],
        "parameters": fabric.parameters,
    }


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
