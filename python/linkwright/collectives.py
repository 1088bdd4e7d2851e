"""Plans collectives, times them, and tells what NCCL should take.

Examples:
    >>> from linkwright.collectives import plan
    >>> from linkwright.network import System
    >>> schedule = plan(System("dgx1-v100"), [0, 1, 2, 3], "all-reduce")
    >>> schedule.algorithm, schedule.rate
    ('packing', 75.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright._core import (
    MOST_PAIRED_GPUS,
    MOST_PLANNED_GPUS,
    Certificate,
    CheckReport,
    Evidence,
    Export,
    NcclTestsLog,
    Schedule,
    Timing,
    Tree,
    Tried,
    algorithm_descriptions,
    algorithm_names,
    algorithm_protocols,
    bus_factor,
    calibrate,
    choice_doubts,
    collective_names,
    error_likeness,
    expect,
    expect_all_to_allv,
    explain_difference,
    explain_log,
    kernel_terms,
    nccl_choice_ranges,
    nccl_choices,
    nccl_explanation,
    nccl_graph_file,
    nccl_graph_from_text,
    nccl_interfaces,
    nccl_release,
    packing_rate,
    plan,
    plan_for_sizes,
    planner_names,
    planning_seconds,
    reduction_names,
    time_errors,
    time_sweep,
)
from linkwright.lazily import lazily

if TYPE_CHECKING:
    from linkwright.byte_matrices import byte_matrix, read_byte_matrix
    from linkwright.doctor import (
        Diagnosed,
        DiagnosedCause,
        DiagnosedRow,
        LogFiles,
        ProofLine,
        Question,
        diagnose,
    )
    from linkwright.nccl_tests import (
        CalibratedRow,
        CalibratedTerm,
        Calibration,
        LogComparison,
        calibrate_log,
        compare_log,
        read_nccl_log,
    )
    from linkwright.nccl_tuner import TunerAnswer, TunerFile, TunerRow, read_tuner
    from linkwright.nccl_tuning import TunedRow, Tuning, tune_nccl
    from linkwright.processes import execute_in_processes, execute_in_processes_timed
    from linkwright.traffic import EdgeTraffic, traffic_of_schedule

__all__ = [
    "MOST_PAIRED_GPUS",
    "MOST_PLANNED_GPUS",
    "CalibratedRow",
    "CalibratedTerm",
    "Calibration",
    "Certificate",
    "CheckReport",
    "Diagnosed",
    "DiagnosedCause",
    "DiagnosedRow",
    "EdgeTraffic",
    "Evidence",
    "Export",
    "LogComparison",
    "LogFiles",
    "NcclTestsLog",
    "ProofLine",
    "Question",
    "Schedule",
    "Timing",
    "Tree",
    "Tried",
    "TunedRow",
    "TunerAnswer",
    "TunerFile",
    "TunerRow",
    "Tuning",
    "algorithm_descriptions",
    "algorithm_names",
    "algorithm_protocols",
    "bus_factor",
    "byte_matrix",
    "calibrate",
    "calibrate_log",
    "choice_doubts",
    "collective_names",
    "compare_log",
    "diagnose",
    "error_likeness",
    "execute_in_processes",
    "execute_in_processes_timed",
    "expect",
    "expect_all_to_allv",
    "explain_difference",
    "explain_log",
    "kernel_terms",
    "nccl_choice_ranges",
    "nccl_choices",
    "nccl_explanation",
    "nccl_graph_file",
    "nccl_graph_from_text",
    "nccl_interfaces",
    "nccl_release",
    "packing_rate",
    "plan",
    "plan_for_sizes",
    "planner_names",
    "planning_seconds",
    "read_byte_matrix",
    "read_nccl_log",
    "read_tuner",
    "reduction_names",
    "time_errors",
    "time_sweep",
    "traffic_of_schedule",
    "tune_nccl",
]

__getattr__, __dir__ = lazily(
    __name__,
    __all__,
    {
        "linkwright.byte_matrices": ["byte_matrix", "read_byte_matrix"],
        "linkwright.doctor": [
            "Diagnosed",
            "DiagnosedCause",
            "DiagnosedRow",
            "LogFiles",
            "ProofLine",
            "Question",
            "diagnose",
        ],
        "linkwright.nccl_tests": [
            "CalibratedRow",
            "CalibratedTerm",
            "Calibration",
            "LogComparison",
            "calibrate_log",
            "compare_log",
            "read_nccl_log",
        ],
        "linkwright.nccl_tuner": ["TunerAnswer", "TunerFile", "TunerRow", "read_tuner"],
        "linkwright.nccl_tuning": ["TunedRow", "Tuning", "tune_nccl"],
        "linkwright.processes": ["execute_in_processes", "execute_in_processes_timed"],
        "linkwright.traffic": ["EdgeTraffic", "traffic_of_schedule"],
    },
)
