"""Machines as people name them: a preset, or a file of any format that can be imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linkwright import Machine, import_format_names, preset_names
from linkwright.errors import FileError, printable
from linkwright.files import read_text

__all__ = ["import_machine_file", "load_machine"]


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


def _either(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)
