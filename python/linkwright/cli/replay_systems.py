"""Builds the system that the options of `linkwright replay` describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import typer

from linkwright import System
from linkwright.cli.standard_input import DASH, given_machine
from linkwright.errors import FileError
from linkwright.files import existing, portable_name, read_text
from linkwright.network import fabric_names, preset_names

__all__ = ["Place", "Settings"]

# The keys that join the GPUs of a node, and their names in its description.
OF_NODES = {
    "gpus_per_node": "gpus",
    "nics_per_node": "nics",
    "gpu_bandwidth": "bandwidth",
    "gpu_latency": "latency",
}
OF_PLAYS = ("fidelity", "protocol", "collectives")
# The keys that say which fat-tree, or which network, it is.
SHAPE = {"kind", "preset", "file", "levels", "radix", "pods", "leaves", "tapering"} | {
    "leaves_per_pod",
    "nodes_per_leaf",
    "uplinks",
    "cores",
    "routing_table",
}


@dataclass(frozen=True)
class Settings:
    """The keys of a scenario that were typed, by what they are of."""

    node: Mapping[str, object]
    network: Mapping[str, object]
    play: Mapping[str, Any]

    @staticmethod
    def of(given: Mapping[str, object]) -> Settings:
        """Gives the settings among the keys of a scenario's `[network]` and of its tables."""
        node = {OF_NODES[key]: value for key, value in given.items() if key in OF_NODES}
        play = {key: value for key, value in given.items() if key in OF_PLAYS}
        rest = {key: given[key] for key in given if key not in (*OF_NODES, *OF_PLAYS)}
        return Settings(node, rest, play)

    def place(
        self, machine: str | None, servers: int | None, network: str | None, *, sized: bool
    ) -> Place:
        """The system, for a number of ranks; where `sized`, an unsaid network is of the job's size.

        Raises:
            FileError: If there is no such server or network, or both name a network.
            InputError: If a file describes no server, with line and column.
            typer.BadParameter: If a server is described twice.
        """
        server, network, told = _server_and_network(machine, network)
        if server is not None and self.node:
            key = next(key for key, of in OF_NODES.items() if of in self.node)
            raise typer.BadParameter(
                f"{server.name} says what its GPUs are joined by; leave out `{key}`, or --machine."
            )
        sized = sized and not self.network.keys() & SHAPE
        return Place(self, server, servers, network, sized, told)


@dataclass
class Place:
    """Servers and a network, as many as a job needs.

    Attributes:
        told: Remarks on how they were named and chosen.
    """

    settings: Settings
    server: System | None
    servers: int | None
    network: str | None
    sized: bool
    told: list[str] = field(default_factory=list)

    def system(self, ranks: int) -> System:
        """Gives the system for a job by its number of ranks.

        Raises:
            FileError: If there is neither such a kind of network nor such a file.
            InputError: If a setting is not what it should be.
            MachineError: If a setting is out of range.
        """
        from linkwright.runs.cluster.play import SIZED
        from linkwright.systems import fat_tree_for, network_keys, read_system

        keys, node = self.settings.network, self.settings.node
        if self.server is not None:
            joined = {} if self.network is None else network_keys(self.network)
            return read_system(
                self.server, self.servers, network={**joined, **keys} or None, gpus=ranks
            )
        if self.network is not None or not self.sized:
            joined = network_keys(self.network or "fat-tree")
            return read_system(node or None, network={**joined, **keys})
        fitted = fat_tree_for(ranks, node)
        system = read_system(node or None, network={**fitted, **keys})
        if len(fitted) > 1:
            self.told.append(SIZED.format(nodes=system.server_count))
        return system


def _server_and_network(
    machine: str | None, network: str | None
) -> tuple[System | None, str | None, list[str]]:
    """The servers, the network, and remarks on how they were named.

    A machine was a network's name or file until servers had the word; that is read for one
    release.
    """
    from linkwright.systems import is_network

    if machine is None or machine == DASH:
        return None if machine is None else given_machine(machine), network, []
    named = machine in fabric_names()
    presets = [preset for preset, _ in preset_names()]
    file = None if named or machine in presets else existing("machine", machine)
    text = "" if file is None else read_text(file)
    if not named and not is_network(text):
        try:
            return given_machine(machine, warn=False), network, []
        except FileError as error:
            close = get_close_matches(machine, fabric_names(), n=1, cutoff=0.6)
            if not close or file is not None:
                raise
            raise FileError(
                f"there is no machine `{machine}`",
                f"did you mean `{close[0]}`? It is a network, which --network names",
            ) from error
    if network is not None:
        raise FileError(
            f"`{machine}` is a network, and so is `{network}`",
            "a machine is a server, such as dgx1-v100",
        )
    note = f"`{portable_name(machine)}` is a network: name it with --network"
    return None, machine, [note]
