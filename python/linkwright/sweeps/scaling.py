"""How independent runs scale with the number of workers: `python -m linkwright.sweeps.scaling`.

The runs are simulations of MAPA's mix of jobs. Each round performs them by one worker and at once
by several, so that both meet the same load of the computer; the workers are there before the
clock starts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import dataclass

from linkwright import System
from linkwright.scenario import generate_jobs, play_jobs
from linkwright.sweeps.sweep import Sweep, play_sweep
from linkwright.sweeps.workers import given_executor, local_processes

__all__ = ["Round", "measure", "mix"]

# Enough for a run of some tenths of a second.
JOBS = 100_000


@dataclass(frozen=True)
class Round:
    """The same runs by one worker and by several, right after each other.

    Attributes:
        workers: How many several are.
        alone_seconds: From the first run's start to the last one's end, by one worker.
        alone_cpu_seconds: The processor time of these runs.
        together_seconds: The same by several workers.
        together_cpu_seconds: The same by several workers.
    """

    workers: int
    alone_seconds: float
    alone_cpu_seconds: float
    together_seconds: float
    together_cpu_seconds: float

    @property
    def speedup(self) -> float:
        """How many times as fast several are, by the clock, whatever else the computer does."""
        return self.alone_seconds / self.together_seconds

    @property
    def cpu_speedup(self) -> float:
        """The same where each worker has a processor to itself and never waits.

        It counts what runs cost each other, in caches and memory, and leaves out idle time.
        """
        return self.workers * self.alone_cpu_seconds / self.together_cpu_seconds

    @property
    def alone_share(self) -> float:
        """How much of a processor the one worker got."""
        return self.alone_cpu_seconds / self.alone_seconds

    @property
    def together_share(self) -> float:
        """How much of a processor each of several workers got."""
        return self.together_cpu_seconds / self.together_seconds / self.workers


def mix(seed: int, jobs: int) -> float:
    """When the last of these jobs ends on a DGX-1V under `preserve`, in seconds."""
    made = generate_jobs(seed=seed, count=jobs)
    return play_jobs(System("dgx1-v100"), made, "preserve").makespan


def measure(workers: int = 2, runs: int = 24, rounds: int = 3, jobs: int = JOBS) -> list[Round]:
    """Measures rounds of runs.

    Args:
        workers: How many several are.
        runs: How many runs.
        rounds: How many rounds.
        jobs: How many jobs a run has.

    Returns:
        One entry per round.

    Raises:
        SweepError: If the workers cannot be started.
    """
    sweep = Sweep(mix, [{"seed": seed, "jobs": jobs} for seed in range(runs)])
    # One job takes no time, but makes a worker import all that a run needs.
    warm = Sweep(mix, [{"seed": seed, "jobs": 1} for seed in range(4 * workers)])
    measured = []
    with local_processes(1).open() as alone, local_processes(workers).open() as together:
        pools = [given_executor(alone.executor, 1), given_executor(together.executor, workers)]
        for pool in pools:
            play_sweep(warm, pool)
        for _ in range(rounds):
            figures = []
            for pool in pools:
                begun = time.perf_counter()
                found = play_sweep(sweep, pool)
                figures += [time.perf_counter() - begun, found.cpu_seconds]
            measured.append(Round(workers, *figures))
    return measured


def main() -> None:
    """Measures and prints what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m linkwright.sweeps.scaling")
    parser.add_argument("--workers", type=int, default=2, help="how many, against one")
    parser.add_argument("--runs", type=int, default=24, help="runs in each half of a round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds")
    asked = parser.parse_args()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    print(f"{os.cpu_count()} processors, load {load} before the start")
    print("       1 worker: s, CPU s, share  several: s, CPU s, share   speed-up   by CPU time")
    measured = measure(asked.workers, asked.runs, asked.rounds)
    for number, each in enumerate(measured, start=1):
        print(
            f"round {number} {each.alone_seconds:9.2f} {each.alone_cpu_seconds:6.2f} "
            f"{each.alone_share:6.2f} {each.together_seconds:12.2f} "
            f"{each.together_cpu_seconds:6.2f} {each.together_share:6.2f} "
            f"{each.speedup:10.2f} {each.cpu_speedup:13.2f}"
        )
    speedup = statistics.median(each.speedup for each in measured)
    cpu_speedup = statistics.median(each.cpu_speedup for each in measured)
    print(f"median speed-up {speedup:.2f}, by processor time {cpu_speedup:.2f}")


if __name__ == "__main__":
    main()
