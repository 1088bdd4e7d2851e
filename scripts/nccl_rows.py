"""Reads the measured times of NCCL and RCCL."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROWS = ROOT / "validation/nccl-tests.csv"
MACHINES = ROOT / "validation/nccl-machines.toml"
THREADS = ROOT / "validation/accuracy/nccl-threads.csv"
LOGS = ROOT / "validation/accuracy/nccl-logs.csv"

# Decades of sizes in the table of errors.
DECADES = [
    (0, "below 64 KiB"),
    (1 << 16, "to 1 MiB"),
    (1 << 20, "to 16 MiB"),
    (1 << 24, "to 256 MiB"),
    (1 << 28, "above"),
]

# Of whose GPUs the rows of threads and logs are, by a word of their label.
FAMILIES = ("A100", "H100", "GB200", "B200", "L40S", "MI300X")


# Rows of more GPUs than any preset of their kind has.
BEYOND = ("8 L40S",)


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
    # The only algorithm, and whether switches reduce: they do not reduce numbers of 8 bits.
    algorithm: str | None = None
    nvls: bool = True


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


def rows() -> list[Row]:
    """Reads the measurements of one server that say a size and a time."""
    return [*rows_of_tests(), *_rows_of_threads(), *_rows_of_logs()]


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


def _table(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def _family(label: str) -> str | None:
    return next((family for family in FAMILIES if family in label), None)


def counted_by_family() -> dict[str, float]:
    """Tells what the library counts on from a link where a family's rows set what it reaches."""
    return {it.group: it.counted for it in machines().values() if it.counted is not None}


def _rows_of_threads() -> Iterator[Row]:
    for row in _table(THREADS):
        family = _family(row["label"])
        if family is None or not row["machine"] or row["label"] in BEYOND:
            continue
        is_reduced = row["collective"] == "all-reduce"
        machine = Machine(
            system=f"{row['label']}, {row['numbers']}, NCCL {row['nccl']}",
            label=row["label"],
            group=family,
            machine=row["machine"],
            gpus=tuple(range(int(row["gpus"]))),
            processes="each",
            nccl=row["nccl"],
            counted=counted_by_family().get(family),
            nvls=not (is_reduced and row["numbers"] == "int8"),
        )
        for size, time in row.items():
            if size.isdigit() and time:
                yield Row(machine, row["collective"], int(size), float(time) * 1e-6)


def _rows_of_logs() -> Iterator[Row]:
    for row in _table(LOGS):
        family = _family(row["label"])
        if family is None or not row["machine"] or int(row["servers"]) > 1:
            continue
        machine = Machine(
            system=f"{row['label']}, NCCL {row['nccl']}",
            label=row["label"],
            group=family,
            machine=row["machine"],
            gpus=tuple(range(int(row["gpus"]))),
            processes=row["processes"],
            nccl=row["nccl"] or None,
            counted=counted_by_family().get(family),
            algorithm=row["algorithm"] or None,
        )
        yield Row(machine, row["collective"], int(row["bytes"]), float(row["microseconds"]) * 1e-6)
