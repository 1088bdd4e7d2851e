"""Machines: their devices and links, and what follows from them for pairs of GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from frozen.captured import Captured, Case
from frozen.names import PRESETS
from frozen.tables import ROOT, matrix, of_rows, of_table
from linkwright import LinkwrightError, System
from linkwright.network import Fabric, read_system
from linkwright.names import BandwidthProfileName

__all__ = ["CLUSTERS", "cases", "cluster", "tables_of_machine"]

TOPOLOGIES = ROOT / "examples" / "topologies"
# Servers joined by a network: the preset, how many, and what an interface sends.
CLUSTERS = [
    ("dgx1-v100", 2, "100 Gb/s"),
    ("dgx-a100", 2, "200 Gb/s"),
    ("dgx-a100", 4, "200 Gb/s"),
    ("hgx-h100", 2, "400 Gb/s"),
]
PROFILES: tuple[BandwidthProfileName, ...] = ("mapa", "data-sheet")


def cluster(preset: str, count: int, bandwidth: str) -> System:
    """Several servers of a preset, on a switch by the name that it was captured with."""
    ports = System(preset, count, network=bandwidth).nic_count
    switch = (
        f'links = "infiniband"\n[defaults]\nbandwidth = "{bandwidth}"\nlatency = "600 ns"\n'
        f'[[switch]]\nnames = ["network0"]\nnodes = {ports}\n'
    )
    return System(preset, count, network=Fabric.from_text(switch, "switch.toml"))


def cases() -> list[Case]:
    """Every preset, every example file, and some clusters."""
    found = [
        Case(f"machines/{name}", f"System({name!r})", partial(_of_preset, name)) for name in PRESETS
    ]
    files = [ROOT / "examples" / "pair.toml"]
    files += sorted(file for file in TOPOLOGIES.iterdir() if file.suffix in {".txt", ".xml"})
    for file in files:
        command = f"read_system({str(file.relative_to(ROOT))!r})"
        found.append(Case(f"machines/file-{file.name}", command, partial(_of_file, file)))
    for preset, count, bandwidth in CLUSTERS:
        command = f"System({preset!r}).cluster({count}, {bandwidth!r})"
        name = f"machines/{count}x-{preset}"
        found.append(Case(name, command, partial(_of_cluster, preset, count, bandwidth)))
    return found


def _of_preset(name: str) -> Iterator[Captured]:
    return tables_of_machine(System(name))


def _of_file(file: Path) -> Iterator[Captured]:
    machine = read_system(file)
    yield from tables_of_machine(machine)
    same = [
        (name, machine.renumbering(System(name)))
        for name in PRESETS
        if System(name).gpu_count == machine.gpu_count
    ]
    yield of_rows("presets with the same NVLinks", "preset renumbering", same)


def _of_cluster(preset: str, count: int, bandwidth: str) -> Iterator[Captured]:
    return tables_of_machine(cluster(preset, count, bandwidth))


def tables_of_machine(machine: System) -> Iterator[Captured]:
    """Its devices, links and pairs of GPUs."""
    facts = (machine.gpu_count, len(machine.warnings), len(machine.assumptions))
    yield of_rows(
        "facts",
        "gpus warnings assumptions bandwidth_profile",
        [(*facts, machine.default_bandwidth_profile)],
    )
    yield of_table("devices", machine.devices())
    yield of_table("links", machine.links())
    places = [
        [
            place.name,
            model,
            place.pci_address,
            place.cpu_affinity,
            place.numa_affinity,
            place.nics,
            place.nic_proximity,
        ]
        for place, model in zip(machine.gpu_places(), machine.gpu_models, strict=True)
    ]
    columns = "gpu model pci_address cpu_affinity numa_affinity nics nic_proximity"
    yield of_rows("places", columns, places)
    yield from matrix("proximity", machine.proximity())
    for profile in PROFILES:
        try:
            cells = machine.gpu_matrix(profile)
        except LinkwrightError:
            yield of_rows(f"best links, {profile}", "refused", [[True]])
        else:
            yield from matrix(f"best links, {profile}", cells)
