"""Measures the processor time of a command, start to end, in a process of its own.

A batch system's prolog runs one decision per process, so that what is imported is what it pays
for. Prints milliseconds, user and system together: the median of some runs, and the fastest.
Needs a system that tells the processor time of ended children, as Linux and macOS do.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

RUNS = 15

CODE = ["pass", "import typer", "import linkwright"]
LINES = [
    "--version",
    "allocate -m dgx1-v100 -k 2",
    "allocate -m hgx-h100 -k 4 --json",
    "machine show dgx1-v100",
    "machine list",
]
COMMANDS = {f"python -c '{code}'": ["-c", code] for code in CODE} | {
    f"linkwright {line}": ["-m", "linkwright", *line.split()] for line in LINES
}


def processor_time(words: list[str]) -> float:
    """Milliseconds of one run, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def main() -> None:
    """Prints a row per command."""
    print(f"{'command':<46}{'median ms':>10}{'least ms':>10}")
    for shown, words in COMMANDS.items():
        times = [processor_time(words) for _ in range(RUNS)]
        print(f"{shown:<46}{statistics.median(times):>10.0f}{min(times):>10.0f}")


if __name__ == "__main__":
    main()
