"""One model of a multi-GPU system: topology, allocation, collectives and simulation."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwright._core import (
    MOST_JOBS,
    Allocator,
    CheckReport,
    Cluster,
    ClusterJob,
    ClusterRun,
    ClusterScenario,
    Explanation,
    Export,
    GpuPlace,
    Job,
    Machine,
    Match,
    Owner,
    Pattern,
    Program,
    Scenario,
    Schedule,
    SimulationResult,
    Table,
    Timing,
    Tree,
    __version__,
    algorithm_descriptions,
    algorithm_names,
    algorithm_protocols,
    applications,
    bus_factor,
    collective_names,
    expect,
    generate_jobs,
    import_format_names,
    interconnect_names,
    is_cluster_scenario,
    packing_rate,
    pattern_names,
    plan,
    planning_seconds,
    policy_names,
    preset_names,
    published_effective_bandwidth,
    random_mixes,
    read_cluster_scenario,
    read_jobs,
    read_mapping,
    read_otf2,
    read_scenario,
    reduction_names,
    simulate,
    tie_names,
    time_sweep,
    workload_names,
    workloads,
    write_jobs,
)
from linkwright.errors import (
    AllocationError,
    CollectiveError,
    FileError,
    InputError,
    LinkwrightError,
    MachineError,
    ScheduleError,
    SimulationError,
    SweepError,
    SweepInterruptedError,
)

if TYPE_CHECKING:
    from linkwright.clusters import (
        ClusterScenarioRun,
        load_cluster,
        read_trace_files,
        run_cluster_scenario,
    )
    from linkwright.files import read_text
    from linkwright.machines import load_machine
    from linkwright.programs import load_program
    from linkwright.replays import Replay, replay_scenario, replay_trace, write_replay
    from linkwright.runs import ScenarioRun, run_scenario, write_run

__all__ = [
    "MOST_JOBS",
    "AllocationError",
    "Allocator",
    "CheckReport",
    "Cluster",
    "ClusterJob",
    "ClusterRun",
    "ClusterScenario",
    "ClusterScenarioRun",
    "CollectiveError",
    "Explanation",
    "Export",
    "FileError",
    "GpuPlace",
    "InputError",
    "Job",
    "LinkwrightError",
    "Machine",
    "MachineError",
    "Match",
    "Owner",
    "Pattern",
    "Program",
    "Replay",
    "Scenario",
    "ScenarioRun",
    "Schedule",
    "ScheduleError",
    "SimulationError",
    "SimulationResult",
    "SweepError",
    "SweepInterruptedError",
    "Table",
    "Timing",
    "Tree",
    "__version__",
    "algorithm_descriptions",
    "algorithm_names",
    "algorithm_protocols",
    "applications",
    "bus_factor",
    "collective_names",
    "expect",
    "generate_jobs",
    "import_format_names",
    "interconnect_names",
    "is_cluster_scenario",
    "load_cluster",
    "load_machine",
    "load_program",
    "packing_rate",
    "pattern_names",
    "plan",
    "planning_seconds",
    "policy_names",
    "preset_names",
    "published_effective_bandwidth",
    "random_mixes",
    "read_cluster_scenario",
    "read_jobs",
    "read_mapping",
    "read_otf2",
    "read_scenario",
    "read_text",
    "read_trace_files",
    "reduction_names",
    "replay_scenario",
    "replay_trace",
    "run_cluster_scenario",
    "run_scenario",
    "simulate",
    "tie_names",
    "time_sweep",
    "workload_names",
    "workloads",
    "write_jobs",
    "write_replay",
    "write_run",
]

# A module is imported when something of it is asked for: a command that decides in microseconds
# should not wait for what it does not use.
_WHERE = {
    "ClusterScenarioRun": "linkwright.clusters",
    "load_cluster": "linkwright.clusters",
    "read_trace_files": "linkwright.clusters",
    "run_cluster_scenario": "linkwright.clusters",
    "read_text": "linkwright.files",
    "load_machine": "linkwright.machines",
    "load_program": "linkwright.programs",
    "Replay": "linkwright.replays",
    "replay_scenario": "linkwright.replays",
    "replay_trace": "linkwright.replays",
    "write_replay": "linkwright.replays",
    "ScenarioRun": "linkwright.runs",
    "run_scenario": "linkwright.runs",
    "write_run": "linkwright.runs",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_WHERE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
