"""Measures the user's processor time of commands for a thousand GPUs.

The machine is 128 servers of eight H100s in a fat-tree. Prints seconds, the median of some runs;
of the broadcast's plan, which takes long, one. Words of the command line choose the commands that
they are a part of. Needs a system that tells the processor time of ended children, as Linux and
macOS do.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

MACHINE = "--machine hgx-h100 --servers 128"
RUNS = {
    "train resnet-50 --batch 8192 --set scaling=false": 5,
    "train resnet-50 --batch 8192 --set scaling=false --communication fsdp": 5,
    "collective expect all-reduce": 5,
    "collective plan all-reduce --size 64MiB": 3,
    "collective plan all-gather --size 64MiB": 3,
    "collective plan reduce-scatter --size 64MiB": 3,
    "collective plan broadcast --size 64MiB": 1,
    "collective expect all-to-all": 3,
}


def user_time(words: list[str]) -> float:
    """Seconds of one run, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before.ru_utime


def main() -> None:
    """Prints a row per command."""
    wanted = sys.argv[1:]
    print(f"{'linkwright ... ' + MACHINE:<66}{'median s':>10}")
    for line, runs in RUNS.items():
        if wanted and not any(word in line for word in wanted):
            continue
        words = ["-m", "linkwright", *line.split(), *MACHINE.split()]
        times = [user_time(words) for _ in range(runs)]
        print(f"{line:<66}{statistics.median(times):>10.2f}", flush=True)


if __name__ == "__main__":
    main()
