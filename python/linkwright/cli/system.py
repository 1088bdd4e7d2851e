"""Servers on a network for the terminal: who is where, the fabric, and which port is whose."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

from linkwright import System
from linkwright.cli import output
from linkwright.cli.fabric import LINK_KINDS, fabric_facts, print_levels, print_links
from linkwright.documents import json_text
from linkwright.texts import counted

__all__ = ["print_system", "system_text"]


def print_system(system: System) -> None:
    """Prints its servers, its switches and links, the interfaces by port, and the assumptions."""
    fabric = system.fabric
    assert fabric is not None, "a server that stands alone is a machine"
    if system.warnings:
        output.notes("Warning", system.warnings)
        output.say("")
    gpus = counted(system.gpu_count, "GPU")
    servers = counted(system.server_count, "server")
    switches = counted(fabric.switches, "switch", "switches")
    output.say(system.name)
    output.say(
        f"{gpus} in {servers}; {switches}, {LINK_KINDS[fabric.link_kind]}; {system.nic_count:,} of "
        f"{fabric.ports:,} ports in use"
    )
    output.say("")
    made = output.table(["servers", "kind", "GPUs each", "interfaces each"], left=["kind"])
    for server, count in system.servers():
        interfaces = sum(row["kind"] == "nic" for row in server.devices())
        made.add_row(f"{count:,}", server.name, str(server.gpu_count), str(interfaces))
    output.print_table(made)
    output.say("")
    print_levels(fabric)
    output.say("")
    print_links(fabric)
    output.say("")
    made = output.table(
        ["ports", "switch", "network interfaces"], left=["switch", "network interfaces"]
    )
    for switch, rows in _by_switch(system):
        first, last = rows[0]["port"], rows[-1]["port"]
        ports = str(first) if first == last else f"{first}-{last}"
        made.add_row(ports, switch, ", ".join(row["interface"] for row in rows))
    output.print_table(made)
    if system.assumptions:
        output.say("")
        output.notes("Assumed", system.assumptions)


def system_text(system: System, form: str) -> str:
    """Gives the system as `toml`, `dot` or `json`."""
    if form == "json":
        return json_text(_facts(system))
    text = system.to_toml() if form == "toml" else system.to_dot()
    return text if text.endswith("\n") else text + "\n"


def _by_switch(system: System) -> list[tuple[str, list[dict[str, Any]]]]:
    """Gives the network interfaces at each switch, in the order of their ports."""
    return [(name, list(rows)) for name, rows in groupby(system.ports(), lambda row: row["switch"])]


def _facts(system: System) -> dict[str, Any]:
    assert system.fabric is not None, "a server that stands alone is a machine"
    whole: dict[str, Any] = json.loads(system.to_json())
    described = {
        "gpus": system.gpu_count,
        "servers": [
            {"name": server.name, "count": count, "gpus": server.gpu_count}
            for server, count in system.servers()
        ],
        "fabric": fabric_facts(system.fabric),
        "ports": [
            {
                "port": row["port"],
                "interface": row["interface"],
                "server": row["server"],
                "switch": row["switch"],
                "bandwidth_bytes_per_second": row["bandwidth"],
                "latency_picoseconds": row["latency"],
            }
            for row in system.ports()
        ],
    }
    return {"name": whole.pop("name"), **described, **whole}
