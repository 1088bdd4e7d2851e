"""Machines and networks as people name them: a preset or a kind, or a file of any format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linkwright import Fabric, Machine, import_format_names, interconnect_names, preset_names
from linkwright.errors import FileError, MachineError, printable
from linkwright.files import read_text

__all__ = ["import_machine_file", "is_network", "load_fabric", "load_machine"]

# How a text of Graphviz begins, behind comments.
TABLE = re.compile(r"(?m)^[ \t]*\[")
SWITCHES = re.compile(r"(?m)^[ \t]*\[\[[ \t]*switch[ \t]*\]\]")
KIND = re.compile(r"(?m)^[ \t]*kind[ \t]*=")
GRAPH = re.compile(r"\ufeff?(\s|//[^\n]*\n|#[^\n]*\n)*(strict|graph|digraph)\b", re.IGNORECASE)


def load_machine(
    name_or_path: str | Path,
    *,
    format: str | None = None,
    name: str | None = None,
    nvlink: str | None = None,
    pcie: str | None = None,
    xgmi_links: int | None = None,
) -> Machine:
    """A preset by its name, or a machine from a file of any format that can be imported.

    Args:
        name_or_path: A name of `preset_names`, or a file's path. A preset comes first: write
            `./name` for a file of the same name.
        format: One of `import_format_names`; told from the text where absent.
        name: The machine's name; where absent, a TOML file's own, else the file's stem.
        nvlink: The NVLink generation where the file does not say it.
        pcie: The PCIe generation where the file does not say it.
        xgmi_links: How many xGMI links join a pair of AMD GPUs.

    Raises:
        FileError: If there is neither such a preset nor such a file.
        InputError: If the file describes no machine, with line and column.
        MachineError: If the format is unknown.
    """
    options = {
        "format": format,
        "name": name,
        "nvlink": nvlink,
        "pcie": pcie,
        "xgmi_links": xgmi_links,
    }
    presets = [preset for preset, _ in preset_names()]
    path = Path(name_or_path)
    if str(name_or_path) in presets:
        machine = Machine.preset(str(name_or_path))
        return machine if name is None else Machine.import_text(machine.to_toml(), name=name)
    if not path.exists():
        # Imported where it is needed: it takes longer than reading a machine.
        from difflib import get_close_matches

        close = get_close_matches(str(name_or_path), presets, n=2, cutoff=0.5)
        advice = f"did you mean {_either(close)}? " if close else ""
        raise FileError(
            f"there is neither a preset nor a file `{name_or_path}`; {advice}"
            f"the presets are {', '.join(presets)}"
        )
    return import_machine_file(path, **options)


def import_machine_file(path: Path, **options: Any) -> Machine:
    """The machine in a file, named after the file where its text has no name."""
    text = read_text(path)
    file = printable(str(path))
    machine = Machine.import_text(text, file, **options)
    if options.get("name") is None and machine.name in import_format_names():
        # The reader had no better name than its own; the file's says more.
        options["name"] = printable(path.name.split(".")[0])
        return Machine.import_text(text, file, **options)
    return machine


def load_fabric(
    kind_or_path: str | Path, *, ports: int | None = None, **parameters: object
) -> Fabric:
    """A network of a kind, or that in a file.

    Args:
        kind_or_path: A name of `interconnect_names`, or the path of a file: TOML of a kind and
            its parameters, TOML of a graph, or DOT. A kind comes first: write `./name` for a
            file of the same name.
        ports: Of a kind, how many nodes it has to join at least, as for `Fabric`.
        parameters: Of a kind, as for `Fabric`.

    Raises:
        FileError: If there is neither such a kind nor such a file.
        InputError: If the file or a parameter is not what it should be, with its place.
        MachineError: If a parameter is out of range, or there are too few ports; or if a file,
            which has its own, is given some.
    """
    kinds = interconnect_names()
    path = Path(kind_or_path)
    if str(kind_or_path) in kinds:
        return Fabric(str(kind_or_path), ports=ports, **parameters)
    if not path.exists():
        from difflib import get_close_matches

        close = get_close_matches(str(kind_or_path), kinds, n=1, cutoff=0.5)
        advice = f"did you mean {_either(close)}? " if close else ""
        raise FileError(
            f"there is neither a kind of network nor a file `{kind_or_path}`; {advice}"
            f"the kinds are {', '.join(kinds)}"
        )
    if ports is not None or parameters:
        raise MachineError(
            f"`{path.name}` says what the network is; leave out ports and parameters"
        )
    return Fabric.from_text(read_text(path), printable(str(path)))


def is_network(text: str) -> bool:
    """Whether a text describes a network between servers, and no server.

    It is DOT, or TOML with a kind at its head, or with switches that have names. The text is not
    parsed: what is no TOML, or too deep, is for its reader to refuse.
    """
    if GRAPH.match(text) or SWITCHES.search(text):
        return True
    head = TABLE.split(text, maxsplit=1)[0]
    return KIND.search(head) is not None


def _either(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)
