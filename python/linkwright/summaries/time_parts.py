"""Where the time of a day's jobs goes: waiting and running, what GPUs that takes, and the load."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.scenario import SimulationResult

__all__ = ["PARTS_NOTE", "SECONDS_PER_HOUR", "TimeParts", "time_parts"]

SECONDS_PER_HOUR = 3600.0

# Tells the reader of a table of parts how to read it.
PARTS_NOTE = (
    "A job waits from arrival to start and runs from start to end; job time is both. GPU-s: GPUs "
    "times run time, of all jobs; load: that per GPU-second until the last arrival."
)


@dataclass(frozen=True)
class TimeParts:
    """Holds, in parts, what jobs came to under one policy. The times are mean seconds of a job.

    Attributes:
        wait: From a job's arrival to its start.
        run_time: From its start to its end.
        job_time: The sum of both. It lasts from arrival to end.
        throughput: Jobs per hour until the last job ended. None where that takes no time.
        gpu_seconds: Each job's GPUs times its run time. The sum is over the jobs.
        load: GPU-seconds per GPU-second that the system has until the last job arrives. None where
            all arrive at time zero. Above 1 jobs ask for more than the system can give.
    """

    wait: float
    run_time: float
    job_time: float
    throughput: float | None
    gpu_seconds: float
    load: float | None


def time_parts(result: SimulationResult, gpus: int) -> TimeParts:
    """Gives the parts of the time of a result's jobs.

    Args:
        result: Holds the jobs.
        gpus: How many GPUs of the system are in order.

    Raises:
        SimulationError: If the run had no jobs.
    """
    return TimeParts(**result.time_parts(gpus))
