"""Draws charts of runs, plans and machines, as Altair charts or SVG.

Examples:
    >>> from linkwright import System
    >>> from linkwright.plots import machine_drawing, save_chart
    >>> drawing = machine_drawing(System("dgx1-v100"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazily import lazily

if TYPE_CHECKING:
    from linkwright.collective_plot import bandwidth_by_algorithm, bandwidth_by_size, packed_trees
    from linkwright.drawing import machine_drawing
    from linkwright.plot import save_chart
    from linkwright.plots.fabric import fabric_charts, fabric_map
    from linkwright.plots.jobs import (
        allocation_quality,
        bandwidth_by_workload,
        heats,
        link_heat,
        occupancies,
        occupancy,
        run_time_by_workload,
        times,
    )
    from linkwright.plots.network import job_times, link_heat_map, link_loads, message_latencies
    from linkwright.plots.over_seeds import distribution, gains, held
    from linkwright.plots.slowdown import slowdown_by_cause, slowdown_by_size
    from linkwright.plots.traffic import latency_by_load
    from linkwright.runs.comparison_chart import job_speedups
    from linkwright.runs.thermal.charts import temperature_map
    from linkwright.runs.training.charts import layer_times, scaling_lines, step_parts
    from linkwright.zoom import interactive

__all__ = [
    "allocation_quality",
    "bandwidth_by_algorithm",
    "bandwidth_by_size",
    "bandwidth_by_workload",
    "distribution",
    "fabric_charts",
    "fabric_map",
    "gains",
    "heats",
    "held",
    "interactive",
    "job_speedups",
    "job_times",
    "latency_by_load",
    "layer_times",
    "link_heat",
    "link_heat_map",
    "link_loads",
    "machine_drawing",
    "message_latencies",
    "occupancies",
    "occupancy",
    "packed_trees",
    "run_time_by_workload",
    "save_chart",
    "scaling_lines",
    "slowdown_by_cause",
    "slowdown_by_size",
    "step_parts",
    "temperature_map",
    "times",
]

__getattr__, __dir__ = lazily(
    __name__,
    __all__,
    {
        "linkwright.collective_plot": [
            "bandwidth_by_algorithm",
            "bandwidth_by_size",
            "packed_trees",
        ],
        "linkwright.drawing": ["machine_drawing"],
        "linkwright.plot": ["save_chart"],
        "linkwright.plots.fabric": ["fabric_charts", "fabric_map"],
        "linkwright.plots.jobs": [
            "allocation_quality",
            "bandwidth_by_workload",
            "heats",
            "link_heat",
            "occupancies",
            "occupancy",
            "run_time_by_workload",
            "times",
        ],
        "linkwright.plots.network": [
            "job_times",
            "link_heat_map",
            "link_loads",
            "message_latencies",
        ],
        "linkwright.plots.over_seeds": ["distribution", "gains", "held"],
        "linkwright.plots.slowdown": ["slowdown_by_cause", "slowdown_by_size"],
        "linkwright.plots.traffic": ["latency_by_load"],
        "linkwright.runs.comparison_chart": ["job_speedups"],
        "linkwright.runs.thermal.charts": ["temperature_map"],
        "linkwright.runs.training.charts": ["layer_times", "scaling_lines", "step_parts"],
        "linkwright.zoom": ["interactive"],
    },
)
