"""Sweeps: many independent runs, on all cores or on a cluster, that survive being killed.

A run is a pure function of parameters that JSON can hold. So it has a key, its result can be kept
in a checkpoint at once, and a sweep that was killed goes on where it stopped. Results come in the
order of the runs, and pass through JSON on their way, resumed or not: the same runs give the same
results, whatever the number of workers and the order in which they end.

What it leaves out: runs that depend on each other, and results that do not fit into memory.
"""

from linkwright.sweeps.sweep import Sweep, SweepResult, play_sweep
from linkwright.sweeps.workers import (
    Workers,
    dask_cluster,
    given_executor,
    local_processes,
    local_threads,
)

__all__ = [
    "Sweep",
    "SweepResult",
    "Workers",
    "dask_cluster",
    "given_executor",
    "local_processes",
    "local_threads",
    "play_sweep",
]
