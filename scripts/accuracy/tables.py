"""Where the measured rows stand, and how tables of them are read and written."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VALIDATION = ROOT / "validation"
STORED = VALIDATION / "accuracy"


def table(path: Path) -> Iterator[dict[str, str]]:
    """Reads the rows of a table of ours, without its comments."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def published(path: Path) -> Iterator[dict[str, str]]:
    """Reads the rows of a table of others, which has no comments."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def write_table(name: str, about: str, rows: Sequence[Mapping[str, str]]) -> None:
    """Writes a table of `validation/accuracy/`, with what it is as its first lines."""
    with (STORED / name).open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {line}\n" for line in about.splitlines())
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
