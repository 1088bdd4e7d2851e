"""Plays whole days of jobs, compares them, and sweeps over their settings.

Examples:
    >>> from linkwright.scenario import generate_jobs
    >>> [job.gpus for job in generate_jobs(seed=7, count=4, max_gpus=4)]
    [2, 2, 2, 1]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright._core import (
    MOST_JOBS,
    Job,
    Scenario,
    Setting,
    SimulationResult,
    Table,
    choice_names,
    comparison_gains,
    comparison_measures,
    five_number_summary,
    generate_jobs,
    gpu_energy,
    jobs_from_text,
    mean_over_seeds,
    observed_heat,
    play_jobs,
    policy_speedups,
    program_speedups,
    random_mixes,
    settings,
    share_saved,
    workload_names,
    workloads,
    write_jobs,
)
from linkwright.lazily import lazily

if TYPE_CHECKING:
    from linkwright.files import read_text
    from linkwright.quartiles import Quartiles
    from linkwright.runs.cluster.play import play_programs
    from linkwright.runs.compared import Comparison
    from linkwright.runs.comparison import compare
    from linkwright.runs.heat import PackageHeat
    from linkwright.runs.play import play
    from linkwright.runs.report import write_report
    from linkwright.runs.run import Run, write_run
    from linkwright.runs.server.play import play_mix
    from linkwright.runs.server.run import ScenarioRun
    from linkwright.runs.sizing.play import size_system
    from linkwright.runs.sizing.run import Sizing
    from linkwright.runs.timeline import Timeline, write_timeline
    from linkwright.runs.worth.run import Worth
    from linkwright.summaries.over_seeds import OverSeeds
    from linkwright.sweeps.sweep import Sweep, SweepResult, play_sweep
    from linkwright.sweeps.workers import Workers, dask_cluster, local_processes, local_threads

__all__ = [
    "MOST_JOBS",
    "Comparison",
    "Job",
    "OverSeeds",
    "PackageHeat",
    "Quartiles",
    "Run",
    "Scenario",
    "ScenarioRun",
    "Setting",
    "SimulationResult",
    "Sizing",
    "Sweep",
    "SweepResult",
    "Table",
    "Timeline",
    "Workers",
    "Worth",
    "choice_names",
    "compare",
    "comparison_gains",
    "comparison_measures",
    "dask_cluster",
    "five_number_summary",
    "generate_jobs",
    "gpu_energy",
    "jobs_from_text",
    "local_processes",
    "local_threads",
    "mean_over_seeds",
    "observed_heat",
    "play",
    "play_jobs",
    "play_mix",
    "play_programs",
    "play_sweep",
    "policy_speedups",
    "program_speedups",
    "random_mixes",
    "read_text",
    "settings",
    "share_saved",
    "size_system",
    "workload_names",
    "workloads",
    "write_jobs",
    "write_report",
    "write_run",
    "write_timeline",
]

__getattr__, __dir__ = lazily(
    __name__,
    __all__,
    {
        "linkwright.files": ["read_text"],
        "linkwright.quartiles": ["Quartiles"],
        "linkwright.runs.cluster.play": ["play_programs"],
        "linkwright.runs.compared": ["Comparison"],
        "linkwright.runs.comparison": ["compare"],
        "linkwright.runs.heat": ["PackageHeat"],
        "linkwright.runs.play": ["play"],
        "linkwright.runs.report": ["write_report"],
        "linkwright.runs.run": ["Run", "write_run"],
        "linkwright.runs.server.play": ["play_mix"],
        "linkwright.runs.server.run": ["ScenarioRun"],
        "linkwright.runs.sizing.play": ["size_system"],
        "linkwright.runs.sizing.run": ["Sizing"],
        "linkwright.runs.timeline": ["Timeline", "write_timeline"],
        "linkwright.runs.worth.run": ["Worth"],
        "linkwright.summaries.over_seeds": ["OverSeeds"],
        "linkwright.sweeps.sweep": ["Sweep", "SweepResult", "play_sweep"],
        "linkwright.sweeps.workers": [
            "Workers",
            "dask_cluster",
            "local_processes",
            "local_threads",
        ],
    },
)
