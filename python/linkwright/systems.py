"""Reads servers and networks as people name them: a preset or a kind, or a file of any format."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from linkwright import System
from linkwright.arguments import several, taking, text, whole
from linkwright.errors import (
    ArgumentError,
    FileError,
    MachineError,
    brief,
    given,
    neither,
    printable,
)
from linkwright.files import PathOrName, existing, path_of, read_text, sha256
from linkwright.gpu import Floorplan
from linkwright.network import Fabric, fabric_names, import_format_names, preset_names, system_files

__all__ = [
    "fat_tree_for",
    "is_network",
    "network_keys",
    "network_of",
    "read_fabric",
    "read_floorplan",
    "read_server",
    "read_system",
    "server_of",
    "system_words",
    "with_gpus",
]

# A server by itself: one that was read, a preset's name, or a file's path.
Server = System | PathOrName

# A speed begins with a digit and names its unit; networks are sold by bits, as 400G.
SPEED = re.compile(r"\d[\d.]*\s*([kKMGT]?i?[bB]/s|G|Gb|Gbps|Gbit/s)$")

TABLE = re.compile(r"(?m)^[ \t]*\[")
SWITCHES = re.compile(r"(?m)^[ \t]*\[\[[ \t]*switch[ \t]*\]\]")
KIND = re.compile(r"(?m)^[ \t]*kind[ \t]*=")
# The first that is no comment, and how a text of Graphviz begins there.
BEGINNING = re.compile(r"(?m)^[^\S\n]*(?!//|#)\S")
GRAPH = re.compile(r"(strict|graph|digraph)\b", re.IGNORECASE)


def server_of(argument: str, value: object) -> Any:
    """Reads the server of `read_system`, whose own error names a fault within.

    Raises:
        ArgumentError: If it is nothing of the kind.
    """
    if isinstance(value, System | str | os.PathLike | Iterable) and not isinstance(value, bytes):
        return value
    wanted = "give a preset's name, a path, a `System` or a list of these"
    raise ArgumentError(given(value), wanted, argument)


def network_of(argument: str, value: object) -> Any:
    """Reads the network of `read_system`.

    Raises:
        ArgumentError: If it is nothing of the kind.
    """
    if isinstance(value, Fabric | str | os.PathLike | Mapping):
        return value
    wanted = "give a kind's name, a speed, a path, a `Fabric` or a dictionary"
    raise ArgumentError(given(value), wanted, argument)


@taking(
    server=server_of,
    servers=whole,
    network=network_of,
    gpus=whole,
    format=text,
    name=text,
    nvlink=text,
    pcie=text,
    xgmi_links=whole,
)
def read_system(
    server: Server | Sequence[Server | tuple[Server, int]] | Mapping[str, object] | None = None,
    servers: int | None = None,
    *,
    network: Fabric | PathOrName | Mapping[str, object] | None = None,
    gpus: int | None = None,
    format: str | None = None,
    name: str | None = None,
    nvlink: str | None = None,
    pcie: str | None = None,
    xgmi_links: int | None = None,
) -> System:
    """A system of servers and a network by their names, or from files.

    Args:
        server: The server, as for `System`. In place of a preset's name, it may be the path of a
            file of any format that can be imported. A preset comes first: write `./name` for a file
            of the same name.
        servers: How many servers there are, as for `System`.
        network: The network, as for `System`. It may also be the path of a file: TOML of a kind and
            its parameters, TOML of a graph, or DOT. A kind comes first: write `./name` for a file
            of the same name. `file` and `routing_table` of a dictionary are paths.
        gpus: The number of GPUs that are wanted in all. The system gets as many servers as have
            them. If neither nodes nor a network are described, it is a fat-tree of that size.
        format: Of a server's file, one of `import_format_names`; told from the text where absent.
        name: Of a server from a file; where absent, a TOML file's own, else the file's stem.
        nvlink: The NVLink generation where a server's file does not say it.
        pcie: The PCIe generation where a server's file does not say it.
        xgmi_links: How many xGMI links join a pair of AMD GPUs.

    Raises:
        FileError: If there is neither such a preset or kind nor such a file.
        InputError: If a file or a key is not what it should be, with its place.
        MachineError: If the format is unknown, or an argument is missing or out of range.
    """
    options = {
        "format": format,
        "name": name,
        "nvlink": nvlink,
        "pcie": pcie,
        "xgmi_links": xgmi_links,
    }
    made: Any = server
    if isinstance(server, str | os.PathLike):
        made = _load_server(server, options)
    elif server is not None and not isinstance(server, System | Mapping):
        rows = several("server", server, "servers, or one")
        made = [_load_entry(at, row, options) for at, row in enumerate(rows)]
    if gpus is not None and isinstance(made, System) and servers is None:
        servers = max(-(-gpus // made.gpu_count), 1)
    elif gpus is not None and network is None and not isinstance(made, list | System):
        network = fat_tree_for(gpus, made)
    if network is None and isinstance(made, System) and servers in (None, 1):
        return made
    if isinstance(network, Fabric):
        return System(made, servers, network=network)
    if network is None:
        return System(made, servers)
    keys = network if isinstance(network, Mapping) else network_keys(network)
    joined, files = _read_files(keys)
    return System(made, servers, network=joined, files=files)


def with_gpus(
    system: System,
    *,
    gpu: PathOrName | None,
    gpu_power: float | str | None,
    gpu_clock: float | str | None,
    gpu_memory: int | str | None,
    gpu_bandwidth: float | str | None,
) -> tuple[System, dict[str, object]]:
    """Gives a system with what a run's arguments say of its GPUs, and that as facts of the run.

    Raises:
        ArgumentError: If an argument is nothing of the kind.
        FileError: If there is no such file.
        InputError: If the file has no sections of a GPU, with its place.
        MachineError: If nothing is known of what is changed, or a GPU at rest draws more.
    """
    path = None if gpu is None else path_of("gpu", gpu)
    sections = None if path is None else read_text(path)
    try:
        changed = system.with_gpus(
            power=gpu_power,
            clock=gpu_clock,
            memory=gpu_memory,
            bandwidth=gpu_bandwidth,
            sections=sections,
            file=printable(str(path)),
        )
    except ArgumentError as error:
        was, remedy, argument = error.args
        raise ArgumentError(was, remedy, f"gpu_{argument}") from None
    said = {
        "gpu": None if sections is None else sha256(sections.encode()),
        "gpu_power": gpu_power,
        "gpu_clock": gpu_clock,
        "gpu_memory": gpu_memory,
        "gpu_bandwidth": gpu_bandwidth,
    }
    return changed, {name: value for name, value in said.items() if value is not None}


def fat_tree_for(gpus: int, node: Mapping[str, object] | None = None) -> dict[str, object]:
    """Returns the keys of the core's fat-tree for a number of GPUs; at most 2,048 nodes."""
    per_node = (node or {}).get("gpus") or 1
    named = Fabric("fat-tree")
    nics = (node or {}).get("nics") or 1
    nodes = -(-gpus // max(per_node, 1)) if isinstance(per_node, int) else named.ports
    if isinstance(nics, int):
        nodes *= nics
    if nodes >= named.ports:
        return {"kind": "fat-tree"}
    chosen = Fabric("fat-tree", ports=nodes).parameters
    return {"kind": "fat-tree", **{size: chosen[size] for size in ("radix", "pods")}}


def _load_entry(at: int, entry: Any, options: Mapping[str, Any]) -> Any:
    """A server of a list, or a pair of it and how many there are."""
    match entry:
        case str() | os.PathLike():
            return _load_server(entry, options)
        case (str() | os.PathLike() as server, *count) if isinstance(entry, tuple):
            return (_load_server(server, options), *count)
        case System() | tuple():
            return entry
    remedy = "give a server, or a pair of it and a number"
    raise ArgumentError(given(entry), remedy, f"server[{at}]")


def _load_server(name_or_path: PathOrName, options: Mapping[str, Any]) -> System:
    presets = [preset for preset, _ in preset_names()]
    if str(name_or_path) in presets:
        server = System(str(name_or_path))
        name = options.get("name")
        return server if name is None else System.from_text(server.to_toml(), name=name)
    path = existing("server", name_or_path, "System.from_text")
    if path is None:
        known = f"the presets are {', '.join(presets)}"
        if str(name_or_path).lower().startswith("tpu"):
            raise FileError(f"`{brief(str(name_or_path))}`: TPUs are not represented", known)
        raise neither("a preset", str(name_or_path), presets, known, most=2)
    return read_server(path, **options)


def read_server(path: Path, **options: Any) -> System:
    """The server in a file, named after the file where its text has no name; or a system."""
    text = read_text(path)
    file = printable(str(path))
    # A text of a system names files beside it, as a scenario does.
    beside = {name: read_text(path.parent / name).encode() for name in system_files(text, file)}
    if beside:
        options["files"] = beside
    server = System.from_text(text, file, **options)
    if options.get("name") is None and server.name in import_format_names():
        # The reader had no better name than its own; the file's says more.
        named = {**options, "name": printable(path.name.split(".")[0])}
        return System.from_text(text, file, **named)
    return server


def network_keys(network: PathOrName) -> dict[str, object]:
    """The keys of a scenario's `[network]` that a kind, a file's path or a speed stands for.

    Raises:
        FileError: If it is none of these.
    """
    named = str(network)
    if named in fabric_names():
        return {"kind": named}
    if existing("network", network, "Fabric.from_text") is not None:
        return {"file": os.fspath(network)}
    if SPEED.match(named):
        return {"kind": "single-switch", "bandwidth": named}
    known = f"the kinds are {', '.join(fabric_names())}, or a speed such as 100Gb/s"
    raise neither("a kind of network", named, fabric_names(), known)


def _read_files(network: Mapping[str, object]) -> tuple[dict[str, object], dict[str, bytes]]:
    """Returns a network's keys, and the files that they name."""
    table, files = dict(network), {}
    for key in ("file", "routing_table"):
        if (path := table.get(key)) is not None:
            named = path_of(key, path, "Fabric.from_text" if key == "file" else None)
            table[key] = printable(str(path))
            files[printable(str(path))] = read_text(named).encode()
    if "routing_table" in table and "file" not in table:
        raise FileError(
            f"a routing table names the switches of a file's network, which "
            f"`{table.get('kind', 'fat-tree')}` is not",
            "give the network's file, or a `routing`",
        )
    return table, files


@taking(ports=whole)
def read_fabric(
    kind_or_path: PathOrName, *, ports: int | None = None, **parameters: object
) -> Fabric:
    """Returns a network of a kind, or the network in a file.

    Args:
        kind_or_path: A name of `fabric_names`, or the path of a file. The file is TOML of a kind
            and its parameters, TOML of a graph, or DOT. A kind comes first: write `./name` for a
            file of the same name.
        ports: Of a kind, how many nodes it has to join at least, as for `Fabric`.
        parameters: Of a kind, as for `Fabric`.

    Raises:
        FileError: If there is neither such a kind nor such a file.
        InputError: If the file or a parameter is not what it should be, with its place.
        MachineError: If a parameter is out of range, or there are too few ports; or if a file,
            which has its own, is given some.
    """
    kinds = fabric_names()
    kind = next((kind for kind in kinds if kind == str(kind_or_path)), None)
    if kind is not None:
        return Fabric(kind, ports=ports, **parameters)
    path = existing("kind_or_path", kind_or_path, "Fabric.from_text")
    if path is None:
        known = f"the kinds are {', '.join(kinds)}"
        raise neither("a kind of network", str(kind_or_path), kinds, known)
    if ports is not None or parameters:
        raise MachineError(
            f"`{path.name}` says what the network is", "leave out ports and parameters"
        )
    return Fabric.from_text(read_text(path), printable(str(path)))


def read_floorplan(path: PathOrName) -> Floorplan:
    """Reads a package's floorplan from its file.

    Args:
        path: The file (TOML).

    Raises:
        FileError: If there is no such file, or it cannot be read.
        InputError: If it is no floorplan, with the place.
    """
    path = path_of("path", path, "Floorplan.from_text")
    return Floorplan.from_text(read_text(path), printable(str(path)))


def system_words(system: System) -> str:
    """A system in a heading, which says how fast its network is where nobody named that.

    An example is `2xhgx-h100 on fat-tree of 400 Gb/s, as the interfaces`.
    """
    servers, joined, _ = system.name.rpartition(" on ")
    words = system.network_words or ""
    _, is_unnamed, _ = words.partition(", ")
    return f"{servers} on {words}" if joined and is_unnamed else system.name


def is_network(text: str) -> bool:
    """Whether a text describes a network between servers, and no server.

    It is DOT, GraphML, node-link JSON or an edge list, or TOML with a kind at its head, or with
    switches that have names. The text is not parsed. Its reader refuses a text that is no TOML, or
    too deep.
    """
    # Each search is asked only where its word stands at all: a text may have millions of lines.
    if _is_graph(text) or _is_listed(text) or ("switch" in text and SWITCHES.search(text)):
        return True
    head = TABLE.split(text, maxsplit=1)[0] if "[" in text else text
    return "kind" in head and KIND.search(head) is not None


def _is_listed(text: str) -> bool:
    """Whether a text begins as libraries of graphs write one."""
    begin = text.removeprefix("\ufeff").lstrip()
    if begin.startswith("<"):
        return "<graphml" in text
    if begin.startswith("{"):
        return '"nodes"' in text and ('"links"' in text or '"edges"' in text)
    # The first line of an edge list says what its links carry.
    first = begin.partition("\n")[0].replace(" ", "")
    return first.startswith("#") and "bandwidth=" in first and _is_edge(begin)


def _is_edge(text: str) -> bool:
    """Whether the first line that is no comment joins two vertices, and is no TOML."""
    lines = (line.strip() for line in text.splitlines())
    line = next((line for line in lines if line and not line.startswith("#")), "")
    words = line.split()
    return len(words) > 1 and words[1] != "=" and "=" not in words[0] and words[0][0] != "["


def _is_graph(text: str) -> bool:
    """Whether a text begins as one of Graphviz does, behind blanks and comments."""
    lowered = text.lower()
    if "graph" not in lowered and "strict" not in lowered:
        return False
    text = text.removeprefix("\ufeff").lstrip()
    begins = BEGINNING.search(text)
    return begins is not None and GRAPH.match(text, begins.end() - 1) is not None
