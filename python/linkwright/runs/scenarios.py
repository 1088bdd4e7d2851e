"""Reads scenarios from files, and the files that they name, since the core reads texts only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linkwright import System
from linkwright.errors import FileError, InputError, SimulationError, printable
from linkwright.files import (
    LARGEST_TEXT,
    PathOrName,
    decode,
    path_of,
    portable_name,
    read_bytes,
    read_members,
    sha256,
)
from linkwright.programs import refuse_other_formats, trace_of, with_notes
from linkwright.scenario import Scenario
from linkwright.summaries.energy import Watts

__all__ = [
    "ScenarioFile",
    "assumed_of_network",
    "read_scenario_file",
    "read_trace_files",
    "told_of",
    "trace_files",
    "unused_network",
]


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario with the files that it names.

    Attributes:
        scenario: The scenario as written, with what was put over it.
        path: Its file.
        content: The content of the file.
        files: The content of each file that it names, by the name as written.
        lines: The line where it names each.
    """

    scenario: Scenario
    path: Path
    content: bytes
    files: Mapping[str, bytes]
    lines: Mapping[str, int]

    def variant(self, name: str) -> ScenarioFile:
        """The same as one of its variants has it.

        Raises:
            InputError: If it has none of that name, or a file that this one names cannot be read.
        """
        return replace(self, **_with_files(self.path, self.scenario.variant(name)))

    def seeded(self, seed: int) -> ScenarioFile:
        """The same on another seed, from which generated jobs are drawn, too.

        Raises:
            InputError: If it is no scenario then.
        """
        return replace(self, **_with_files(self.path, self.scenario.seeded(seed)))

    def outcome(self, draw: int = 0, watts: Watts | None = None) -> Any:
        """Plays its jobs on one of a comparison's seeds, as `Scenario.outcome`.

        Raises:
            InputError: If a file is not what it should be, or the jobs do not fit.
            SimulationError: If a job can never start or does not end, or there is none.
            KeyboardInterrupt: Within a second of Ctrl-C.
        """
        with self._placed():
            try:
                given = {name: (busy, rest) for name, (busy, rest) in (watts or {}).items()}
                return json.loads(self.scenario.outcome(dict(self.files), draw, given))
            except SimulationError as error:
                if self.scenario.kind == "mix":
                    raise
                raise with_notes(error, self.build()[2]) from error

    def system(self) -> System:
        """Builds the system alone, as `Scenario.system`.

        Raises:
            InputError: If a file is not what it should be.
        """
        with self._placed():
            return self.scenario.system(dict(self.files))

    def build(self) -> tuple[System, list[Any], list[str]]:
        """Returns the system, the jobs and notes, as `Scenario.build`.

        Raises:
            InputError: If a file is not what it should be, or the jobs do not fit.
        """
        with self._placed():
            return self.scenario.build(dict(self.files))

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """Names a file that is refused as it can be opened from here."""
        try:
            yield
        except InputError as error:
            if self.scenario.kind == "mix" and error.file in self.files:
                file = printable(str(self.path.parent / error.file))
                found = (error.line, error.column, error.problem, error.value, error.remedy)
                raise InputError(file, *found) from error
            raise

    @property
    def facts(self) -> dict[str, object]:
        """Returns the facts about the scenario's file for a manifest."""
        return {"file": self.path.name, "sha256": sha256(self.content)}

    def file_facts(self, name: str) -> dict[str, object]:
        """Returns the facts about a file that it names, for a manifest."""
        return {"file": portable_name(name), "sha256": sha256(self.files[name])}


def read_scenario_file(
    path: PathOrName, settings: Mapping[str, object] | None = None
) -> ScenarioFile:
    """Reads a scenario and the files that it names, which are relative to it.

    Args:
        path: Its TOML file.
        settings: The values that replace the scenario's, as for `Scenario.with_settings`.

    Raises:
        FileError: If the scenario cannot be read.
        InputError: If it is not what it should be, or a file that it names cannot be read, with
            line and column.
    """
    path = path_of("path", path, "read_scenario")
    content = read_bytes(path, LARGEST_TEXT)
    scenario = Scenario.from_text(decode(str(path), content), printable(str(path)))
    if settings:
        scenario = scenario.with_settings(dict(settings))
    return ScenarioFile(path=path, content=content, **_with_files(path, scenario))


def _with_files(path: Path, scenario: Scenario) -> dict[str, Any]:
    files: dict[str, bytes] = {}
    lines: dict[str, int] = {}
    for name, line, column in scenario.files:
        if name not in files:
            found = _read_named(path, (line, column), name)
            files |= found
            lines |= dict.fromkeys(found, line)
    return {"scenario": scenario, "files": files, "lines": lines}


def read_trace_files(anchor: PathOrName) -> dict[str, bytes]:
    """The files of an OTF2 archive, by their names in the anchor's folder.

    Args:
        anchor: The path of the anchor file, which ends in `.otf2`.

    Raises:
        FileError: If a file cannot be read, is no plain file, or one or all together are too large.
    """
    anchor = path_of("anchor", anchor)
    parts = [anchor, anchor.with_suffix(".def"), *sorted(anchor.with_suffix("").glob("*.*"))]
    wanted = [part for part in parts if part == anchor or part.suffix in {".def", ".evt"}]
    found = [part for part in wanted if part == anchor or part.exists()]
    contents = read_members(found)
    names = (part.relative_to(anchor.parent).as_posix() for part in found)
    return dict(zip(names, contents, strict=True))


def _read_named(scenario: Path, place: tuple[int, int], name: str) -> dict[str, bytes]:
    """A file that a scenario names; where it cannot be read, the error is the scenario's."""
    try:
        if not name.endswith(".otf2"):
            refuse_other_formats(scenario.parent / name)
            return {name: read_bytes(scenario.parent / name)}
        folder = name[: name.rfind("/") + 1]
        files = read_trace_files(scenario.parent / name)
        return {f"{folder}{part}": content for part, content in files.items()}
    except FileError as error:
        problem, remedy = error.problem, error.remedy or "let it be read"
        raise InputError(printable(str(scenario)), *place, problem, name, remedy) from error


def told_of(system: System) -> list[str]:
    """Tells which facts may make its servers' descriptions wrong, and which are assumed."""
    return [*system.warnings, *assumed_of_network(system)]


def assumed_of_network(system: System) -> list[str]:
    """Lists the assumptions of the whole, beside those of each server by itself."""
    alone = {text for server, _ in system.servers() for text in server.assumptions}
    return [text for text in system.assumptions if text not in alone]


def unused_network(system: System, jobs: Iterable[Sequence[int]]) -> list[str]:
    """Notes that the network counts for nothing, where none of some jobs, as GPUs, needs it."""
    if system.network_words is None:
        return []
    count = 0
    for gpus in jobs:
        if len({system.server_of(gpu) for gpu in gpus}) > 1:
            return []
        count += 1
    whose = "the job has all its GPUs" if count == 1 else "each job has all its GPUs"
    return [f"the network counts for nothing here: {whose} in one server"] if count else []


def trace_files(trace: PathOrName) -> dict[str, bytes]:
    """Reads the content of a trace's files, by their names; nothing for an application."""
    first = trace_of(trace)
    if first is None:
        return {}
    return read_trace_files(first) if first.suffix == ".otf2" else {first.name: read_bytes(first)}
