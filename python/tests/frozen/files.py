"""Files as they were written before the core was rebuilt: they stay valid, and mean the same.

`files/` is never edited. What it holds has every key that there was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from frozen import machines, servers
from frozen.captured import Captured, Case
from frozen.fabrics import tables_of_fabric
from frozen.plays import EVERYTHING, tables_of_run
from frozen.tables import FILES, of_rows
from linkwright import Allocator, Pattern, System
from linkwright.network import read_system
from linkwright.scenario import play_mix, play_programs

__all__ = ["cases"]

MACHINES = ("dgx1-v100", "hgx-h100", "2x-dgx1-v100", "3x-summit-node-ethernet")
NETWORKS = ("graph.toml", "graph.dot", "dragonfly.toml")
SERVERS = ("server", "generated")
CLUSTERS = ("cluster", "kind")


def cases() -> list[Case]:
    """A case for each file that another does not name."""
    return [
        *(_case(f"{name}.toml", "read_system", partial(_machine, name)) for name in MACHINES),
        *(_case(name, "read_system(network=...)", partial(_network, name)) for name in NETWORKS),
        *(_case(f"{name}.toml", "linkwright run", partial(_server, name)) for name in SERVERS),
        *(_case(f"{name}.toml", "linkwright run", partial(_cluster, name)) for name in CLUSTERS),
        _case("state.json", "Allocator(machine, state=...)", _state),
    ]


def _case(file: str, reader: str, tables: Callable[[], Iterator[Captured]]) -> Case:
    return Case(f"files/{file}", f"{reader} python/tests/frozen/files/{file}", tables)


def _machine(name: str) -> Iterator[Captured]:
    return machines.tables_of_machine(read_system(FILES / f"{name}.toml"))


def _network(name: str) -> Iterator[Captured]:
    return tables_of_fabric(read_system({"gpus": 2}, network=FILES / name))


def _server(name: str) -> Iterator[Captured]:
    run = play_mix(FILES / f"{name}.toml")
    return servers.tables_of_results(run.jobs, run.results)


def _cluster(name: str) -> Iterator[Captured]:
    return tables_of_run(play_programs(FILES / f"{name}.toml", timeline=EVERYTHING).run)


def _state() -> Iterator[Captured]:
    text = (FILES / "state.json").read_text(encoding="utf-8")
    server = Allocator(System("dgx1-v100"), state=text)
    owners = [
        (job, owner.pid, owner.host, owner.time, owner.lease)
        for job, owner in server.owners.items()
    ]
    yield of_rows("owners", "job pid host time lease", owners)
    yield of_rows("held", "job gpus", list(server.held.items()))
    found = server.decide("next", Pattern("ring", 2))
    assert found is not None
    facts = (server.free, server.unhealthy, found.gpus, found.effective_bandwidth)
    yield of_rows("facts", "free unhealthy next bandwidth", [facts])
