"""Which variants tell what each choice is worth.

A scenario makes some choices, and the variant that it is compared with, such as
`[compare.default]`, differs from it in some keys. Each of these keys is a choice: played alone, the
variant is the reference with that one key as the scenario has it. So what is to be played follows
from the scenario, and nothing has to be written twice.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwright import Scenario
from linkwright.runs.scenarios import ScenarioFile

__all__ = ["Played", "alone", "machines_of", "path_values"]


@dataclass(frozen=True)
class Played:
    """A variant that a comparison plays.

    Attributes:
        name: What people read.
        variant: What the scenario calls it, with the settings beside.
        settings: What is put over the scenario so that it has this variant, by its name there.
        choice: Of one choice alone its key; empty of what is none.
    """

    name: str
    variant: str
    settings: Mapping[str, object]
    choice: str = ""


def path_values(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The keys of a table and of all within it, with dots, each with its value."""
    for key, value in table.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, Mapping):
            yield from path_values(value, path)
        else:
            yield path, value


def alone(loaded: ScenarioFile, reference: str) -> list[Played]:
    """For each choice the reference with that choice alone; none where there are not several."""
    scenario = loaded.scenario
    different = dict(path_values(scenario.differences.get(reference, {})))
    if len(different) < 2:
        return []
    first = scenario.variant(scenario.variants[0])
    found = []
    for number, path in enumerate(different, start=1):
        rest = {key: value for key, value in different.items() if key != path}
        name = f"alone-{number}"
        chosen = f"{path} = {_written(loaded, first, path)}"
        found.append(Played(chosen, name, {f"compare.{name}": _nested(rest)}, path))
    return found


def machines_of(loaded: ScenarioFile, machines: Sequence[str]) -> list[Played]:
    """The scenario on each machine: a preset's name, or a file's as it is given here."""
    first = loaded.scenario.variants[0]
    found = []
    for number, machine in enumerate(machines, start=1):
        written = machine
        if Path(machine).is_file():
            # A scenario's files are relative to it.
            written = os.path.relpath(machine, loaded.path.parent).replace(os.sep, "/")
            written = written if "." in written or "/" in written else f"./{written}"
        if [name for name, *_ in loaded.scenario.servers] == [written]:
            found.append(Played(machine, first, {}))
            continue
        name = f"machine-{number}"
        found.append(Played(machine, name, {f"compare.{name}": {"system": {"server": written}}}))
    return found


# What a scenario tells of keys that it need not write.
TOLD = {
    "allocation.bandwidth_model": "bandwidth_model",
    "allocation.servers": "server_choice",
    "allocation.ties": "ties",
    "collectives.planner": "planner",
    "fidelity": "fidelity",
    "queue.discipline": "discipline",
}


def _written(loaded: ScenarioFile, first: Scenario, path: str) -> str:
    """What the scenario has for a key, as people read it."""
    if path == "allocation.policies":
        return first.policies[0]
    if path in TOLD:
        return str(getattr(first, TOLD[path]))
    written = dict(path_values(tomllib.loads(loaded.content.decode())))
    normal = {key.replace("-", "_"): value for key, value in written.items()}
    return str(normal.get(path, "as it is where nobody says"))


def _nested(paths: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for path, value in paths.items():
        *tables, key = path.split(".")
        at = table
        for name in tables:
            at = at.setdefault(name, {})
        at[key] = value
    return table
