"""One model of a multi-GPU system: topology, allocation, collectives and simulation."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwright._core import (
    MOST_JOBS,
    MOST_PAIRED_GPUS,
    MOST_PLANNED_GPUS,
    Allocator,
    BandwidthFit,
    CheckReport,
    ClusterJob,
    ClusterRun,
    Explanation,
    Export,
    Fabric,
    Floorplan,
    GpuKernel,
    GpuModel,
    GpuPlace,
    GpuRun,
    GpuSystem,
    Job,
    Match,
    NcclTestsLog,
    NeuralNetwork,
    Owner,
    Pattern,
    Program,
    ProgramBuilder,
    ProgramOperation,
    Scenario,
    Schedule,
    Setting,
    SimulationResult,
    System,
    Table,
    ThermalMap,
    Timing,
    TrainingStep,
    Tree,
    Tried,
    __version__,
    algorithm_descriptions,
    algorithm_names,
    algorithm_protocols,
    applications,
    bus_factor,
    calibrate,
    choice_names,
    collective_names,
    expect,
    explain_difference,
    explain_log,
    export_format_names,
    fabric_names,
    generate_jobs,
    gpu_benchmarks,
    gpu_litmus,
    gpu_litmus_tests,
    gpu_model,
    gpu_models,
    import_format_names,
    kernel_terms,
    nccl_choices,
    nccl_release,
    neural_networks,
    packing_rate,
    pattern_names,
    plan,
    plan_for_sizes,
    planner_names,
    planning_seconds,
    policy_names,
    preset_names,
    profile_sensitivity,
    published_effective_bandwidth,
    random_mixes,
    read_jobs,
    read_mapping,
    read_nccl_tests,
    read_otf2,
    read_scenario,
    reduction_names,
    settings,
    simulate,
    tie_names,
    time_errors,
    time_sweep,
    training_terms,
    workload_names,
    workloads,
    write_jobs,
)
from linkwright.docstrings import keep_docstrings
from linkwright.errors import (
    AllocationError,
    ArgumentError,
    CollectiveError,
    FileError,
    InputError,
    LinkwrightError,
    MachineError,
    ScheduleError,
    SimulationError,
    SweepError,
    SweepInterruptedError,
    TimeLimitError,
)
from linkwright.extras import name_missing

if TYPE_CHECKING:
    from linkwright.files import read_text
    from linkwright.programs import load_program
    from linkwright.runs.cluster.play import replay_scenario, replay_trace
    from linkwright.runs.cluster.run import Replay
    from linkwright.runs.compared import Comparison
    from linkwright.runs.comparison import compare_scenario
    from linkwright.runs.run import Run, write_run
    from linkwright.runs.scenarios import read_trace_files
    from linkwright.runs.server.play import run_scenario
    from linkwright.runs.server.run import ScenarioRun
    from linkwright.runs.thermal.run import Heat, find_heat
    from linkwright.runs.training.run import TrainingRun
    from linkwright.runs.worth.run import Worth
    from linkwright.systems import load_fabric, load_floorplan, load_system
    from linkwright.training import train

__all__ = [
    "MOST_JOBS",
    "MOST_PAIRED_GPUS",
    "MOST_PLANNED_GPUS",
    "AllocationError",
    "Allocator",
    "BandwidthFit",
    "ArgumentError",
    "CheckReport",
    "ClusterJob",
    "ClusterRun",
    "CollectiveError",
    "Comparison",
    "Explanation",
    "Export",
    "Fabric",
    "FileError",
    "Floorplan",
    "GpuKernel",
    "GpuModel",
    "GpuPlace",
    "GpuRun",
    "GpuSystem",
    "Heat",
    "InputError",
    "Job",
    "LinkwrightError",
    "MachineError",
    "Match",
    "NcclTestsLog",
    "NeuralNetwork",
    "Owner",
    "Pattern",
    "Program",
    "ProgramBuilder",
    "ProgramOperation",
    "Replay",
    "Run",
    "Scenario",
    "ScenarioRun",
    "Schedule",
    "ScheduleError",
    "Setting",
    "SimulationError",
    "SimulationResult",
    "SweepError",
    "SweepInterruptedError",
    "System",
    "Table",
    "ThermalMap",
    "TimeLimitError",
    "Timing",
    "TrainingRun",
    "TrainingStep",
    "Tree",
    "Tried",
    "Worth",
    "__version__",
    "algorithm_descriptions",
    "algorithm_names",
    "algorithm_protocols",
    "applications",
    "bus_factor",
    "calibrate",
    "choice_names",
    "collective_names",
    "compare_scenario",
    "expect",
    "explain_difference",
    "explain_log",
    "export_format_names",
    "fabric_names",
    "find_heat",
    "generate_jobs",
    "gpu_benchmarks",
    "gpu_litmus",
    "gpu_litmus_tests",
    "gpu_model",
    "gpu_models",
    "import_format_names",
    "kernel_terms",
    "load_fabric",
    "load_floorplan",
    "load_program",
    "load_system",
    "nccl_choices",
    "nccl_release",
    "neural_networks",
    "packing_rate",
    "pattern_names",
    "plan",
    "plan_for_sizes",
    "planner_names",
    "planning_seconds",
    "policy_names",
    "preset_names",
    "profile_sensitivity",
    "published_effective_bandwidth",
    "random_mixes",
    "read_jobs",
    "read_mapping",
    "read_nccl_tests",
    "read_otf2",
    "read_scenario",
    "read_text",
    "read_trace_files",
    "reduction_names",
    "replay_scenario",
    "replay_trace",
    "run_scenario",
    "settings",
    "simulate",
    "tie_names",
    "time_errors",
    "time_sweep",
    "train",
    "training_terms",
    "workload_names",
    "workloads",
    "write_jobs",
    "write_run",
]

# A module is imported when something of it is asked for: a command that decides in microseconds
# should not wait for what it does not use.
_WHERE = {
    "read_text": "linkwright.files",
    "load_fabric": "linkwright.systems",
    "load_system": "linkwright.systems",
    "load_floorplan": "linkwright.systems",
    "find_heat": "linkwright.runs.thermal.run",
    "Heat": "linkwright.runs.thermal.run",
    "load_program": "linkwright.programs",
    "read_trace_files": "linkwright.runs.scenarios",
    "replay_scenario": "linkwright.runs.cluster.play",
    "replay_trace": "linkwright.runs.cluster.play",
    "Replay": "linkwright.runs.cluster.run",
    "Run": "linkwright.runs.run",
    "write_run": "linkwright.runs.run",
    "Comparison": "linkwright.runs.compared",
    "compare_scenario": "linkwright.runs.comparison",
    "run_scenario": "linkwright.runs.server.play",
    "ScenarioRun": "linkwright.runs.server.run",
    "Worth": "linkwright.runs.worth.run",
    "TrainingRun": "linkwright.runs.training.run",
    "train": "linkwright.training",
}


name_missing()
keep_docstrings()

# What has another name since the last release, for who looks for it.
_NOW = {
    "Machine": "System",
    "Cluster": "System",
    "load_machine": "load_system",
    "load_cluster": "load_system",
    "interconnect_names": "fabric_names",
    "ClusterScenario": "Scenario",
    "is_cluster_scenario": "Scenario.kind",
    "read_cluster_scenario": "read_scenario",
    "run_cluster_scenario": "replay_scenario",
    "ClusterScenarioRun": "Replay",
    "write_replay": "write_run",
}


def __getattr__(name: str) -> Any:
    if name in _NOW:
        raise AttributeError(
            f"`{name}` is now `{_NOW[name]}`: the changelog has a table of old and new calls"
        )
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_WHERE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
