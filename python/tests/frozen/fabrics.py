"""Networks of clusters: their nodes, switches and channels, in order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from frozen.captured import Captured, Case
from frozen.names import NETWORKS
from frozen.tables import FILES, digest, of_rows, rows_of
from linkwright import System
from linkwright.network import ClusterJob, Program, read_system

__all__ = ["FABRICS", "cases", "fabric", "tables_of_fabric"]

# Small networks, each with what makes its kind: levels, pods, tapering, groups, wraps.
FABRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "fat-tree": ("fat-tree", {"radix": 8, "pods": 2}),
    "fat-tree-2-levels": ("fat-tree", {"levels": 2, "radix": 8, "leaves": 8}),
    "fat-tree-tapered": ("fat-tree", {"levels": 2, "radix": 12, "leaves": 6, "tapering": 2}),
    "dragonfly": (
        "dragonfly",
        {
            "groups": 5,
            "switches_per_group": 4,
            "nodes_per_switch": 2,
            "global_links_per_switch": 2,
        },
    ),
    "torus": ("torus", {"dimensions": [4, 3, 3]}),
    "torus-2-nodes": ("torus", {"dimensions": [5, 4], "nodes_per_switch": 2}),
    "quartz": (
        "quartz",
        {
            "radix": 12,
            "leaves": 10,
            "leaves_per_pod": 4,
            "nodes_per_leaf": 4,
            "uplinks": 4,
            "cores": 4,
        },
    ),
}
PING = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n"


# What says of a node's GPUs how they are joined, and where a system is told.
NODE = {"gpus_per_node": "gpus", "gpu_bandwidth": "bandwidth", "gpu_latency": "latency"}


def fabric(name: str, **settings: Any) -> System:
    """A system on one of these networks, on `graph`, or on `KIND by name`."""
    kind, parameters = FABRICS.get(name, (name.removesuffix(" by name"), {}))
    network: dict[str, object] = {"kind": kind, **parameters}
    if name == "graph":
        network = {"file": FILES / "graph.toml"}
    node = {NODE[key]: settings.pop(key) for key in NODE if key in settings}
    return read_system(node or None, network={**network, **settings})


def cases() -> list[Case]:
    """The small networks whole, and those that kinds are by name as digests."""
    names = [*FABRICS, "graph"]
    found = [
        Case(f"fabrics/{name}", f"the network `{name}` of fabrics.py", partial(_of, name))
        for name in names
    ]
    return [*found, Case("fabrics/by-name", "Cluster(kind) for each kind", _by_name)]


def _facts(system: System) -> tuple[object, ...]:
    assert system.fabric is not None
    switches = system.fabric.switches
    return (system.server_count, system.gpu_count, switches, system.routing, system.nic)


def _links(system: System) -> list[list[Any]]:
    run = system.play([ClusterJob(Program.from_goal(PING))])
    return rows_of(run.links(), ["link", "from", "to", "kind", "bandwidth"])


def _of(name: str) -> Iterator[Captured]:
    return tables_of_fabric(fabric(name))


def tables_of_fabric(system: System) -> Iterator[Captured]:
    """How much it has, and its channels."""
    yield of_rows("facts", "nodes gpus switches routing nic", [_facts(system)])
    yield of_rows("channels", "link from to kind bandwidth", _links(system))


def _by_name() -> Iterator[Captured]:
    rows = []
    for kind in NETWORKS:
        system = System(network=kind)
        links = _links(system)
        numbers = [(row[0], row[4]) for row in links]
        rows.append((kind, *_facts(system), len(links), digest(links), digest(numbers)))
    columns = "kind nodes gpus switches routing nic links all_digest numbers_digest"
    yield of_rows("networks by name", columns, rows)
