"""Measures what each section of each study takes alone, and stores it for `study list`.

    scripts/measure_studies.py [--quick | --full] [--most SECONDS] [STUDY ...]

Every section runs in a process of its own, with one worker. Its time is of the processor, in
seconds, its children's among them, without what starting Python and the study takes. A section
keeps its stored time if its study is not named, or if it takes more than `--most` seconds, where it
is given up. `--full` of the memory takes hours, and that of the network an hour and a half. The
network's full sections on mixes are told from the quick ones.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

from linkwright.studies.network.jobs import mixes
from linkwright.studies.network.runs import QUICK_MIXES, settings_by_section

TABLE = Path(__file__).resolve().parents[1] / "python" / "linkwright" / "studies" / "times.toml"
HEAD = (
    "# Processor seconds of each section of a study if it is made alone, by one worker. Measured\n"
    "# by scripts/measure_studies.py on an x86-64 processor; a section that was not measured has "
    "none.\n"
    "# The network's full sections on mixes are told from the quick ones, by the number of mixes.\n"
)
SWEEPS = ("memory", "network")
NETWORK = "network"
# Its sections that grow with the number of mixes; the first has all others, too.
ON_MIXES = ("findings", *settings_by_section())
# It starts, and reads this table: its time is of no section.
EMPTY = ("study", "list")


def processor_time(words: list[str], most: int | None = None) -> float | None:
    """Runs a command of Linkwright, and returns its processor time in seconds.

    None if it fails, or takes more than `most`.
    """
    linkwright = Path(sys.executable).with_name("linkwright")
    before = os.times()
    limits = () if most is None else (resource.RLIMIT_CPU, (most, most))
    done = subprocess.run(
        [linkwright, *words],
        stdout=subprocess.DEVNULL,
        check=False,
        preexec_fn=lambda: resource.setrlimit(*limits) if limits else None,
    )
    after = os.times()
    if done.returncode != 0:
        return None
    parts = zip(after[2:4], before[2:4], strict=True)
    return sum(late - early for late, early in parts)


def main() -> None:
    """Measures the studies that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    size_of = parser.add_mutually_exclusive_group()
    size_of.add_argument("--quick", dest="size", action="store_const", const="quick")
    size_of.add_argument("--full", dest="size", action="store_const", const="full")
    parser.add_argument("--most", type=int, metavar="SECONDS")
    parser.add_argument("studies", nargs="*", metavar="STUDY")
    asked = parser.parse_args()
    size = asked.size or "quick"
    table = tomllib.loads(TABLE.read_text("utf-8"))
    start = processor_time([*EMPTY]) or 0.0
    for study in asked.studies or table:
        workers = ["--workers", "1"] if study in SWEEPS else []
        quick = ["--quick"] if size == "quick" else []
        for section, times in table[study].items():
            if (study, size) == (NETWORK, "full") and section in ON_MIXES:
                continue
            words = ["study", study, "--only", section, *quick, *workers]
            # A quick study lacks some sections.
            taken = processor_time(words, asked.most)
            if taken is None:
                continue
            times[size] = max(round(taken - start, 1), 0.1)
            print(study, section, times[size], flush=True)
            store(table)


def tell(sections: dict[str, dict[str, float]]) -> None:
    """Tells the network's full times on mixes from the quick ones, as far as these are known."""
    more, placed = len(mixes()) / QUICK_MIXES, sections["placement"]
    for section in (name for name in ON_MIXES if "quick" in sections[name]):
        # Placements have times of their own.
        own = placed if section == "findings" else {"quick": 0.0, "full": 0.0}
        times = sections[section]
        times["full"] = round((times["quick"] - own["quick"]) * more + own["full"], 1)


def store(table: dict[str, dict[str, dict[str, float]]]) -> None:
    """Writes the table."""
    tell(table[NETWORK])
    lines = [HEAD.rstrip()]
    for study, sections in table.items():
        lines.append(f"\n[{study}]")
        for section, times in sections.items():
            cells = ", ".join(f"{size} = {times[size]}" for size in sorted(times))
            lines.append(f"{section} = {{ {cells} }}" if cells else f"{section} = {{}}")
    TABLE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
