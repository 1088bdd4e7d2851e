"""A bill of materials: how many servers, GPUs, switches, interfaces and cables a system has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from linkwright import System

__all__ = ["PARTS", "UNNAMED", "Bill", "bill_of"]

# In the order of their columns.
PARTS = ("server", "gpu", "switch", "interface", "cable")
# Parts that have no model here.
UNNAMED = ""


@dataclass(frozen=True)
class Bill:
    """Counts the parts of a system.

    Attributes:
        parts: Counts each kind of part, by the name of the model. The empty name counts parts whose
            model the system does not know.
    """

    parts: Mapping[str, Mapping[str, int]]

    def count(self, part: str) -> int:
        """Counts all models of one of `PARTS`."""
        return sum(self.parts[part].values())

    def names(self, part: str) -> list[str]:
        """Lists the models of one of `PARTS`."""
        return [name for name in self.parts[part] if name != UNNAMED]


def bill_of(system: System) -> Bill:
    """Counts the parts of a system.

    Cables are links between switches, and one for each interface at a port of the network. Ports
    and switches that no interface uses count, as they are bought with the network. A lone server
    has no switch and no cable of a network, and its interfaces are part of it.
    """
    servers: Counter[str] = Counter()
    gpus: Counter[str] = Counter()
    for server, count in system.servers():
        servers[server.name] += count
        for model in server.gpu_models:
            # Price files write models as the names of their data sheets here are written.
            gpus[(model or UNNAMED).lower()] += count
    if not servers:
        # Nodes that a few numbers describe have no server of a name.
        servers[UNNAMED], gpus[UNNAMED] = system.server_count, system.gpu_count
    fabric = system.fabric
    switches = cables = interfaces = 0
    if fabric is not None:
        interfaces = system.nic_count
        switches = fabric.switches
        between = [row for row in fabric.links() if row["from"] != "node"]
        cables = interfaces + sum(row["links"] for row in between)
    single = {"switch": switches, "interface": interfaces, "cable": cables}
    return Bill(
        {
            "server": dict(servers),
            "gpu": dict(gpus),
            **{part: {UNNAMED: count} for part, count in single.items()},
        }
    )
