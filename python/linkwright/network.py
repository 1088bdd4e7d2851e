"""Describes systems of servers and networks, and plays programs and traces on them.

Examples:
    >>> from linkwright.network import play_trace, read_system
    >>> torus = read_system("dgx1-v100", network="torus", gpus=16)
    >>> play_trace("stencil4d", torus, ranks=16).run.makespan
    8.5633582e-05
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright._core import (
    ClusterJob,
    ClusterRun,
    Fabric,
    GpuPlace,
    Program,
    ProgramBuilder,
    ProgramOperation,
    System,
    applications,
    export_format_names,
    fabric_names,
    import_format_names,
    mapping_from_text,
    preset_names,
    read_otf2,
    system_files,
)
from linkwright.lazily import lazily

if TYPE_CHECKING:
    from linkwright.programs import read_program
    from linkwright.runs.cluster.play import play_trace
    from linkwright.runs.cluster.run import Replay
    from linkwright.runs.scenarios import read_trace_files
    from linkwright.systems import read_fabric, read_system
    from linkwright.traces import write_otf2

__all__ = [
    "ClusterJob",
    "ClusterRun",
    "Fabric",
    "GpuPlace",
    "Program",
    "ProgramBuilder",
    "ProgramOperation",
    "Replay",
    "System",
    "applications",
    "export_format_names",
    "fabric_names",
    "import_format_names",
    "mapping_from_text",
    "play_trace",
    "preset_names",
    "read_fabric",
    "read_otf2",
    "read_program",
    "read_system",
    "read_trace_files",
    "system_files",
    "write_otf2",
]

__getattr__, __dir__ = lazily(
    __name__,
    __all__,
    {
        "linkwright.programs": ["read_program"],
        "linkwright.runs.cluster.play": ["play_trace"],
        "linkwright.runs.cluster.run": ["Replay"],
        "linkwright.runs.scenarios": ["read_trace_files"],
        "linkwright.systems": ["read_fabric", "read_system"],
        "linkwright.traces": ["write_otf2"],
    },
)
