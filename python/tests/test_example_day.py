"""The example in Rust writes what the command does: `examples/day.rs` and `linkwright run -o`."""

from __future__ import annotations

import csv
import io
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from commands import linkwright

if TYPE_CHECKING:
    import pyarrow as pa

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def written(scenario: Path, folder: Path) -> dict[str, pa.Table]:
    """The tables that the command writes, by their names."""
    result = linkwright("run", scenario, "-o", folder)
    assert result.exit_code == 0, result.output
    return {file.stem: pq.read_table(file) for file in folder.glob("*.parquet")}


def printed(scenario: Path, folder: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of each table that the example writes, each cell by its column's name."""
    # The tests of Rust build it, too, in the same profile.
    command = ["cargo", "run", "--quiet", "--locked", "--profile", "tested"]
    example = ["--package", "linkwright", "--example", "day", "--"]
    subprocess.run([*command, *example, scenario, folder], cwd=ROOT, check=True)
    return {
        file.stem: list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
        for file in folder.glob("*.csv")
    }


def cell(value: object) -> str:
    """A value as the example writes it, but for numbers that are not whole."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return " ".join(map(str, value))
        case _:
            return str(value)


@pytest.mark.parametrize("scenario", ["shared-server.toml"])
def test_every_table_has_the_same_columns_and_values(scenario: str, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "example", tmp_path / "command"
    ours.mkdir()
    tables, rows = written(EXAMPLES / scenario, theirs), printed(EXAMPLES / scenario, ours)
    assert rows.keys() == tables.keys()
    for name, table in tables.items():
        assert table.num_rows == len(rows[name]) > 0, name
        assert list(rows[name][0]) == table.column_names, name
        for column in table.column_names:
            expected = table[column].to_pylist()
            found = [row[column] for row in rows[name]]
            if any(isinstance(value, float) for value in expected):
                read = [float(text) if text else None for text in found]
                # The command's energy is of times in seconds, the example's of picoseconds.
                near = pytest.approx(expected, rel=1e-12) if column == "gpu_energy" else expected
                assert read == near, (name, column)
            else:
                assert found == [cell(value) for value in expected], (name, column)
