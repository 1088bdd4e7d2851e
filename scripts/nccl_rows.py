"""Reads the measured times of NCCL and RCCL."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROWS = ROOT / "validation/nccl-tests.csv"
MACHINES = ROOT / "validation/nccl-machines.toml"

# Decades of sizes in the table of errors.
DECADES = [
    (0, "below 64 KiB"),
    (1 << 16, "to 1 MiB"),
    (1 << 20, "to 16 MiB"),
    (1 << 24, "to 256 MiB"),
    (1 << 28, "above"),
]


@dataclass(frozen=True)
class Machine:
    """Tells the run behind a name of the measurements."""

    system: str
    label: str
    group: str
    machine: str
    gpus: tuple[int, ...]
    processes: str
    nccl: str | None = None
    counted: float | None = None
    why: str = ""
    # The only algorithm, and the type of the numbers.
    algorithm: str | None = None
    numbers: str | None = None


@dataclass(frozen=True)
class Row:
    """Holds a measured time in seconds."""

    machine: Machine
    collective: str
    size: int
    time: float


def machines() -> dict[str, Machine]:
    """Lists the systems by their names in the measurements."""
    found = tomllib.loads(MACHINES.read_text())["machine"]
    made = [Machine(**{**fields, "gpus": tuple(fields["gpus"])}) for fields in found]
    return {machine.system: machine for machine in made}


def rows_of_tests() -> list[Row]:
    """Reads those that people published as single figures."""
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
