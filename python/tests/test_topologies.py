"""`examples/topologies/`: every text there is what its script writes."""

from __future__ import annotations

import runpy
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "topologies"


def test_each_text_is_what_the_script_writes() -> None:
    written = runpy.run_path(str(FOLDER / "make.py"))["texts"]()
    found = {
        file.name: file.read_text(encoding="utf-8")
        for file in FOLDER.iterdir()
        if file.suffix in {".txt", ".xml"}
    }
    assert found == written


def test_the_readme_names_each_text_and_no_other() -> None:
    rows = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    named = {row.split("`")[1] for row in rows if row.startswith("| `")}
    assert named == {file.name for file in FOLDER.iterdir() if file.suffix in {".txt", ".xml"}}
