"""A machine drawn for the terminal: the matrix of its GPUs, as nvidia-smi draws it."""

from __future__ import annotations

from collections import Counter, deque

from rich.table import Table
from rich.text import Text

from linkwright import System
from linkwright.collectives import MOST_PAIRED_GPUS
from linkwright.cli import output
from linkwright.cli.streams import is_wide
from linkwright.errors import printable
from linkwright.names import BandwidthProfileName
from linkwright.texts import counted

__all__ = ["print_devices", "print_machine"]

# From the slowest kind of link of a machine to its fastest.
STYLES = ("red", "yellow", "cyan", "green", "bold green")

MEANINGS = {
    "PIX": "one PCIe switch",
    "PXB": "several PCIe switches",
    "PHB": "a host bridge",
    "NODE": "host bridges of one socket",
    "NOD": "host bridges of one socket (NODE)",
    "SYS": "the link between sockets",
}


def print_machine(machine: System, bandwidth_profile: BandwidthProfileName | None) -> None:
    """Prints the warnings, the matrix, its legend, the devices, the sockets and the assumptions."""
    if machine.warnings:
        output.notes("Warning", machine.warnings)
        output.console().print()
    console = output.rich_console()
    console.print(Text(printable(machine.name), style="bold"))
    console.print(Text(printable(machine.source), style="dim"))
    console.print()
    if machine.gpu_count > MOST_PAIRED_GPUS:
        count = counted(machine.gpu_count, "GPU")
        console.print(
            Text(f"The matrix of {count} is left out: {MOST_PAIRED_GPUS:,} GPUs are the most.")
        )
    else:
        _print_matrix(machine, bandwidth_profile)
    console.print()
    facts = Table.grid(padding=(0, 2))
    for kind, names, known in _devices(machine):
        facts.add_row(Text(kind, style="bold"), Text(printable(f"{names}  {known}".rstrip())))
    for socket, gpus in _sockets(machine).items():
        names = ", ".join(gpus) if machine.gpu_count <= MOST_PAIRED_GPUS else _range(gpus)
        facts.add_row(Text("socket", style="bold"), Text(printable(f"{socket}: {names}")))
    console.print(facts)
    if machine.assumptions:
        console.print()
        output.notes("Assumed", machine.assumptions)


def _print_matrix(machine: System, bandwidth_profile: BandwidthProfileName | None) -> None:
    console = output.rich_console()
    links = machine.gpu_matrix(bandwidth_profile)
    levels = sorted({bandwidth for row in links for _, bandwidth in row if bandwidth > 0})
    proximity = machine.proximity()
    names = [printable(name) for name in machine.gpu_names]
    narrow = (len("NODE") + 1) * (len(names) + 1) > console.width

    def host_path(a: int, b: int) -> str:
        return proximity[a][b][:3] if narrow else proximity[a][b]

    cells = [
        [
            # Where only the host joins two GPUs, what their path crosses says more than "PCIe".
            (host_path(a, b) if label == "PCIe" else label, bandwidth)
            for b, (label, bandwidth) in enumerate(row)
        ]
        for a, row in enumerate(links)
    ]
    widest = max(len(label) for row in cells for label, _ in row)
    heads = names
    if (max(map(len, names)) + 1) * (len(names) + 1) > console.width:
        heads = [name.removeprefix("GPU") for name in names]
    widest = max(widest, *map(len, heads))
    side = max(map(len, names))
    lines = [Text(" " * side)]
    for head in heads:
        lines[0].append(f" {head:>{widest}}", style="bold")
    for name, row in zip(names, cells, strict=True):
        line = Text(f"{name:<{side}}", style="bold")
        for label, bandwidth in row:
            line.append(f" {label:>{widest}}", style=_style(bandwidth, levels))
        lines.append(line)
    fits = is_wide() or len(lines[0]) <= console.width
    for line in lines if fits else ():
        console.print(line, no_wrap=True, overflow="ignore", crop=False)
    if fits:
        console.print()
    pairs = Counter(cell for a, row in enumerate(cells) for cell in row[:a])
    _print_legend(pairs, levels, counts=not fits)


def _print_legend(pairs: Counter[tuple[str, float]], levels: list[float], *, counts: bool) -> None:
    """Prints each label's bandwidth and meaning, and of how many pairs where `counts`."""
    legend = Table.grid(padding=(0, 2))
    for label, bandwidth in sorted(pairs, key=lambda cell: (-cell[1], cell[0])):
        if bandwidth > 0:
            meaning = f"over {MEANINGS[label]}" if label in MEANINGS else ""
            shown: list[Text | str] = [
                Text(label, style=_style(bandwidth, levels)),
                f"{bandwidth:g} GB/s",
            ]
            if counts:
                shown.append(counted(pairs[label, bandwidth], "pair of GPUs", "pairs of GPUs"))
            legend.add_row(*shown, meaning)
    output.rich_console().print(legend)


def _style(bandwidth: float, levels: list[float]) -> str:
    if bandwidth not in levels:
        return "dim"
    if len(levels) == 1:
        return STYLES[-2]
    return STYLES[levels.index(bandwidth) * (len(STYLES) - 1) // (len(levels) - 1)]


def print_devices(machine: System) -> None:
    """Prints a row for each device with what is known of it, without columns that say nothing."""
    rows = list(machine.devices())
    columns = {
        "name": [row["name"] for row in rows],
        "kind": [row["kind"] for row in rows],
        "model": [row["model"] for row in rows],
        "vendor": [row["vendor_id"] for row in rows],
        "device": [row["device_id"] for row in rows],
        "subsystem": [row["subsystem_id"] for row in rows],
        "PCI address": [row["pci_address"] for row in rows],
        "NUMA": [row["numa_affinity"] for row in rows],
        "CPU cores": [row["cpu_affinity"] for row in rows],
        "memory": [_memory(row["memory"]) for row in rows],
    }
    shown = {head: cells for head, cells in columns.items() if any(cells)}
    words = [head for head in shown if head != "memory"]
    made = output.table(list(shown), left=words, whole=["name", "PCI address"])
    for cells in zip(*shown.values(), strict=True):
        made.add_row(*cells)
    output.print_table(made)


def _memory(size: int | None) -> str:
    return "" if size is None else f"{size / 2**30:.4g} GiB"


def _devices(machine: System) -> list[tuple[str, str, str]]:
    """Each kind, model and memory: the kind, its devices' names, and the other two."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in machine.devices():
        facts = ", ".join(fact for fact in (row["model"], _memory(row["memory"])) if fact)
        groups.setdefault((row["kind"], facts), []).append(row["name"])
    return [(kind, _range(names), facts) for (kind, facts), names in groups.items()]


def _range(names: list[str]) -> str:
    """The names, in short if they are many: `GPU0 to GPU7 (8)`."""
    if len(names) > 2:
        return f"{names[0]} to {names[-1]} ({len(names)})"
    return ", ".join(names)


def _sockets(machine: System) -> dict[str, list[str]]:
    """Each CPU with the GPUs that are nearer to it than to another; empty for one CPU."""
    kinds = {row["name"]: row["kind"] for row in machine.devices()}
    if Counter(kinds.values())["cpu"] < 2:
        return {}
    # Another GPU's host is no host of this one.
    onward: dict[str, list[str]] = {name: [] for name in kinds}
    for link in machine.links():
        for here, there in ((link["a"], link["b"]), (link["b"], link["a"])):
            if kinds[there] != "gpu":
                onward[here].append(there)
    sockets: dict[str, list[str]] = {name: [] for name, kind in kinds.items() if kind == "cpu"}
    for gpu in machine.gpu_names:
        seen, queue = {gpu}, deque([gpu])
        while queue:
            at = queue.popleft()
            if at in sockets:
                sockets[at].append(gpu)
                break
            new = [name for name in onward[at] if name not in seen]
            seen.update(new)
            queue.extend(new)
    return sockets
