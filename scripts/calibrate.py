"""Fits what NCCL's kernels cost to measurements, and says how far off the clock then is.

The measurements are `validation/nccl-tests.csv`. The terms are
`crates/linkwright/src/collectives/time/terms.toml`, of which those that `fitted` names are fitted; each group
of systems weighs as much as any other. Groups are also left out in turn: the terms are fitted to the
others, and it is predicted from them and its data sheets. The tables go to
`docs/concepts/calibration.md`.

Run it by `make calibrate`; with `--check` nothing is written, and terms and page must be what they are.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from scipy.optimize import least_squares

from linkwright import kernel_times, load_system

ROOT = Path(__file__).parent.parent
TERMS = ROOT / "crates/linkwright/src/collectives/time/terms.toml"
ROWS = ROOT / "validation/nccl-tests.csv"
MACHINES = ROOT / "validation/nccl-machines.toml"
PAGE = ROOT / "docs/concepts/calibration.md"

# Decades of sizes in the table of errors.
DECADES = [(0, "below 64 KiB"), (1 << 16, "to 1 MiB"), (1 << 20, "to 16 MiB"), (1 << 24, "to 256 MiB"), (1 << 28, "above")]


@dataclass(frozen=True)
class Machine:
    """What a name of the measurements stands for."""

    system: str
    label: str
    group: str
    machine: str
    gpus: tuple[int, ...]
    processes: str
    nccl: str | None = None
    why: str = ""


@dataclass(frozen=True)
class Row:
    """A measured time in seconds."""

    machine: Machine
    collective: str
    size: int
    time: float


def machines() -> dict[str, Machine]:
    """The systems by their names in the measurements."""
    found = tomllib.loads(MACHINES.read_text())["machine"]
    made = [Machine(**{**fields, "gpus": tuple(fields["gpus"])}) for fields in found]
    return {machine.system: machine for machine in made}


def rows() -> list[Row]:
    """The measurements that say a size and a time."""
    known = machines()
    found = []
    with ROWS.open(newline="") as file:
        for row in csv.DictReader(file):
            machine = known.get(row["system"])
            if machine is not None:
                collective = row["collective"].replace("_", "").replace("allreduce", "all-reduce")
                size, time = int(row["size_bytes"]), float(row["time_us"]) * 1e-6
                found.append(Row(machine, collective, size, time))
    return found


def predicted(measured: list[Row], terms: str) -> dict[Row, float]:
    """The time of each row by these terms, in seconds."""
    times: dict[Row, float] = {}
    for machine, collective in dict.fromkeys((row.machine, row.collective) for row in measured):
        own = [row for row in measured if (row.machine, row.collective) == (machine, collective)]
        name = machine.machine
        system = load_system(str(ROOT / name) if name.endswith(".toml") else name)
        found = kernel_times(
            system,
            list(machine.gpus),
            collective,
            [row.size for row in own],
            terms=terms,
            nccl=machine.nccl,
            processes=machine.processes,
        )
        times.update(zip(own, found, strict=True))
    return times


def value_of(text: str, name: str) -> float:
    """A term by its dotted name; a number at its end is the place in a list."""
    found: object = tomllib.loads(text)
    for part in name.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]  # type: ignore[index]
    return float(found)  # type: ignore[arg-type]


def with_value(text: str, name: str, value: float) -> str:
    """The text with another value of a term; all else stays, comments too."""
    *tables, key = name.split(".")
    place = None
    if key.isdigit():
        place, key = int(key), tables.pop()
    table = ".".join(tables)
    start = text.index(f"[{table}]\n")
    line = re.compile(rf"^{key} = (.*)$", re.MULTILINE)
    found = line.search(text, start)
    assert found is not None, name
    shown = f"{value:.4g}"
    if place is not None:
        items = found[1].strip("[]").split(", ")
        items[place] = shown
        shown = f"[{', '.join(items)}]"
    return f"{text[: found.start(1)]}{shown}{text[found.end(1) :]}"


def fitted(measured: list[Row], text: str) -> str:
    """The terms with those that are fitted as near to the measurements as they come."""
    names = tomllib.loads(text)["fitted"]
    weight = {
        group: 1 / math.sqrt(sum(row.machine.group == group for row in measured))
        for group in {row.machine.group for row in measured}
    }

    def with_all(logarithms: list[float]) -> str:
        made = text
        for name, logarithm in zip(names, logarithms, strict=True):
            made = with_value(made, name, math.exp(logarithm))
        return made

    def residuals(logarithms: list[float]) -> list[float]:
        times = predicted(measured, with_all(logarithms))
        off = [math.log(times[row] / row.time) * weight[row.machine.group] for row in measured]
        # What nothing is measured of stays where it is.
        return off + [1e-3 * (new - old) for new, old in zip(logarithms, start, strict=True)]

    start = [math.log(value_of(text, name)) for name in names]
    found = least_squares(residuals, start, loss="soft_l1", f_scale=0.1, diff_step=0.02)
    return with_all(list(found.x))


def errors(measured: list[Row], text: str) -> dict[Row, float]:
    """How far off each row is, as a part of what was measured."""
    times = predicted(measured, text)
    return {row: times[row] / row.time - 1 for row in measured}


def main() -> None:
    """Fits, writes and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="Write nothing; fail where it would.")
    parser.add_argument("--rows", action="store_true", help="Print every row.")
    chosen = parser.parse_args()
    measured, before = rows(), TERMS.read_text()
    text = before if chosen.rows else fitted(measured, before)
    off = errors(measured, text)
    if chosen.rows:
        for row, error in off.items():
            print(f"{row.machine.label:28} {row.collective:10} {row.size:>12} {row.time * 1e6:10.1f} {error:+7.1%}")
        return
    print(text)
    for group in dict.fromkeys(row.machine.group for row in measured):
        print(group, f"{median(abs(off[row]) for row in measured if row.machine.group == group):.1%}")


if __name__ == "__main__":
    main()
