"""Scenarios of several servers from files.

The core reads texts only; here are the files. A run is repeatable: its manifest names the
version and the hash of every input, and holds no clock and no folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from linkwright import (
    ClusterJob,
    ClusterRun,
    ClusterScenario,
    System,
    __version__,
    read_cluster_scenario,
)
from linkwright.errors import FileError, InputError, SimulationError, printable
from linkwright.files import LARGEST_TEXT, decode, portable_name, read_bytes, sha256
from linkwright.programs import refuse_other_formats, with_notes

__all__ = [
    "ClusterScenarioRun",
    "read_trace_files",
    "run_cluster_scenario",
]


@dataclass(frozen=True)
class ClusterScenarioRun:
    """A scenario of a cluster, played.

    Attributes:
        scenario: The scenario as written.
        path: Its file.
        system: What the jobs ran on.
        jobs: The jobs, each with the GPU of each of its ranks.
        run: What became of them.
        manifest: What repeats the run: the version, and the hash of every input.
        notes: What was left out of traces or could not be told, in sentences.
    """

    scenario: ClusterScenario
    path: Path
    system: System
    jobs: Sequence[ClusterJob]
    run: ClusterRun
    manifest: dict[str, object]
    notes: Sequence[str]


def run_cluster_scenario(
    path: str | Path,
    *,
    timeline: int = 0,
    progress: Callable[[int, int, float, int], object] | None = None,
) -> ClusterScenarioRun:
    """Reads a scenario of a cluster and plays its jobs.

    Args:
        path: The scenario's TOML file; the files that it names are relative to it.
        timeline: As for `System.replay`.
        progress: As for `System.replay`.

    Raises:
        FileError: If the scenario cannot be read.
        InputError: If it or a file that it names is not what it should be or cannot be read,
            with line and column.
        SimulationError: If the jobs do not come to an end.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    path = Path(path)
    text = read_bytes(path, LARGEST_TEXT)
    scenario = read_cluster_scenario(decode(str(path), text), printable(str(path)))
    files: dict[str, bytes] = {}
    lines: dict[str, int] = {}
    for name, line, column in scenario.files:
        if name not in files:
            found = _read_named(path, (line, column), name)
            files |= found
            lines |= dict.fromkeys(found, line)
    system, jobs, notes = scenario.build(files)
    try:
        run = system.replay(jobs, **scenario.play, timeline=timeline, progress=progress)
    except SimulationError as error:
        raise with_notes(error, notes) from error
    manifest: dict[str, object] = {
        "linkwright": __version__,
        "scenario": {"file": path.name, "sha256": sha256(text)},
        # Two files may have one name in two folders: the scenario's line tells which is which.
        "files": [
            {"file": portable_name(name), "line": lines[name], "sha256": sha256(content)}
            for name, content in files.items()
        ],
        "seed": scenario.seed,
        "system": system.name,
        "fidelity": run.fidelity,
    }
    return ClusterScenarioRun(scenario, path, system, jobs, run, manifest, notes)


def read_trace_files(anchor: str | Path) -> dict[str, bytes]:
    """The files of an OTF2 archive, by their names in the anchor's folder.

    Args:
        anchor: The path of the anchor file, which ends in `.otf2`.

    Raises:
        FileError: If a file cannot be read.
    """
    anchor = Path(anchor)
    parts = [anchor, anchor.with_suffix(".def"), *sorted(anchor.with_suffix("").glob("*.*"))]
    wanted = [part for part in parts if part == anchor or part.suffix in {".def", ".evt"}]
    found = [part for part in wanted if part == anchor or part.exists()]
    return {part.relative_to(anchor.parent).as_posix(): read_bytes(part) for part in found}


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
        problem, _, remedy = str(error).partition("; ")
        remedy = remedy or "let it be read"
        raise InputError(printable(str(scenario)), *place, problem, name, remedy) from error
