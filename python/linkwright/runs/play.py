"""A scenario from its file to its run, whatever its jobs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwright.arguments import callback, mapping_of, taking, texts, truth, whole
from linkwright.errors import ArgumentError
from linkwright.files import PathOrName, reading_once
from linkwright.names import PolicyName
from linkwright.runs.cluster.play import replay_loaded
from linkwright.runs.cluster.run import Replay
from linkwright.runs.run import Progress
from linkwright.runs.scenarios import read_scenario_file
from linkwright.runs.server.play import run_loaded
from linkwright.runs.server.run import ScenarioRun

__all__ = ["play"]


@taking(
    policies=texts,
    settings=mapping_of,
    timeline=whole,
    events=mapping_of,
    progress=callback,
    attribute=truth,
)
@reading_once()
def play(
    path: PathOrName,
    *,
    policies: Sequence[PolicyName] | None = None,
    settings: Mapping[str, object] | None = None,
    timeline: int = 0,
    events: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    attribute: bool = False,
) -> ScenarioRun | Replay:
    """Reads a scenario and plays it: a day of jobs under each policy, or programs on their GPUs.

    Args:
        path: The scenario's TOML file; the files that it names are relative to it.
        policies: Replace the policies of a day's scenario; at least one.
        settings: Go over the scenario's keys, as for `Scenario.with_settings`.
        timeline: Limits the intervals that the run keeps for its timeline; `notes` say what is cut.
        events: Names the raw events of the network that a run of programs keeps, as for
            `System.play`.
        progress: Is called about every 100 ms with the state of the run.
        attribute: Says whether to split each job's slowdown into its causes.

    Raises:
        FileError: If the scenario cannot be read.
        InputError: If it or a file that it names is wrong, with line and column.
        ArgumentError: If `policies` are given for programs, or `events` for a day of jobs.
        SimulationError: If the jobs do not come to an end.
        KeyboardInterrupt: Within a second of Ctrl-C.

    Examples:
        >>> from linkwright import play
        >>> play("examples/hgx-h100-day.toml", policies=["preserve"]).headline[:50]
        'Under preserve the 100 jobs end after 3149.09 s, 1'
    """
    loaded = read_scenario_file(path, settings)
    if loaded.scenario.kind == "programs":
        if policies is not None:
            raise ArgumentError(
                f"policies: `{loaded.path.name}` runs programs, whose GPUs its mapping names",
                "leave `policies` out",
            )
        return replay_loaded(
            loaded, timeline=timeline, events=events, progress=progress, attribute=attribute
        )
    if events:
        raise ArgumentError(
            f"events: `{loaded.path.name}` has jobs of GPUs, which keep no raw events",
            "leave `events` out",
        )
    return run_loaded(
        loaded, policies=policies, timeline=timeline, progress=progress, attribute=attribute
    )
