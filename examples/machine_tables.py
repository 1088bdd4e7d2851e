"""Reads a machine and looks at its links as an Arrow table."""

from pathlib import Path

import pyarrow

from linkwright import System

file = Path(__file__).with_name("pair.toml")
machine = System.from_text(file.read_text(encoding="utf-8"), file.name)
print(machine)

links = pyarrow.table(machine.links())
for column in ("bandwidth", "latency"):
    unit = links.schema.field(column).metadata[b"unit"].decode()
    print(f"{column} in {unit}: {links.column(column).to_pylist()}")
