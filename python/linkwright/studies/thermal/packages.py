"""The package of the study, and how its assumptions may be changed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from importlib.resources import files
from typing import Any

from linkwright.gpu import Floorplan

__all__ = ["BESIDE", "HOTSPOT", "Changes", "changed", "the_package"]

# Names of layers and blocks with keys of theirs, or keys of the file, and their values.
Changes = Mapping[str, Any]

# HotSpot's own sink and spreader. The default spreader of 30 mm is smaller than the interposer, and
# HotSpot takes none that is: as large as the interposer it is here.
HOTSPOT: Changes = {
    "sink.resistance": 0.1,
    "spreader": {"width": 50, "height": 50},
    "sink layer": {"width": 60, "height": 60},
}
EDGE, GPU, MIDDLE = 3.356, 12.288, 18.856
FAR = 50 - EDGE - GPU
STACK = {"width": 11.87, "height": 7.75}
# GPUs left, right, before and behind the CPU, and memory in the corners.
BESIDE: Changes = {
    "GPU0": {"x": EDGE, "y": MIDDLE},
    "GPU1": {"x": FAR, "y": MIDDLE},
    "GPU2": {"x": MIDDLE, "y": EDGE},
    "GPU3": {"x": MIDDLE, "y": FAR},
    "HBM0": {"x": EDGE, "y": EDGE, **STACK},
    "HBM1": {"x": 50 - EDGE - 11.87, "y": EDGE, **STACK},
    "HBM2": {"x": EDGE, "y": 50 - EDGE - 7.75, **STACK},
    "HBM3": {"x": 50 - EDGE - 11.87, "y": 50 - EDGE - 7.75, **STACK},
}


def the_package() -> dict[str, Any]:
    """Reads the floorplan's file, `examples/mgpu-tsm-package.toml`."""
    text = files(__package__).joinpath("package.toml").read_text("utf-8")
    return tomllib.loads(text)


def changed(changes: Changes) -> Floorplan:
    """Returns the package with some of its assumptions changed.

    Args:
        changes: The changed keys of a layer (`sink layer` is the sink's) or a block, by its name.
            Any other name is a key of the file; a table's key stands behind a dot.

    Raises:
        InputError: If no package is so.
    """
    plan = deepcopy(the_package())
    named = {entry["name"]: entry for entry in [*plan["layer"], *plan["block"]]}
    named["sink layer"] = named["sink"]
    for name, values in changes.items():
        table, _, key = name.rpartition(".")
        if name in named:
            named[name].update(values)
        elif table:
            plan.setdefault(table, {})[key] = values
        else:
            plan[name] = values
    return Floorplan.from_text(_toml(plan), "package.toml")


def _toml(plan: Mapping[str, Any]) -> str:
    """Writes the floorplan as TOML: values first, then tables, then lists of tables."""
    values = {key: it for key, it in plan.items() if key not in ("layer", "block")}
    lines = [f"{key} = {_value(it)}" for key, it in values.items()]
    for kind in ("layer", "block"):
        for entry in plan[kind]:
            lines += [f"[[{kind}]]", *(f"{key} = {_value(it)}" for key, it in entry.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    match value:
        case str():
            return f'"{value}"'
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return f"{{ {', '.join(f'{key} = {_value(it)}' for key, it in value.items())} }}"
        case _:
            return repr(value)
