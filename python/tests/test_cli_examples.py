"""`linkwright examples` writes the files that the documentation's commands name."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from commands import fails, linkwright

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"^\$ linkwright (.*)", re.MULTILINE)


def files_below(folder: Path) -> dict[str, bytes]:
    found = (
        file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in found}


def test_the_examples_are_written_and_hold_what_readme_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = linkwright("examples").stdout
    written = files_below(tmp_path / "examples")
    assert written == files_below(ROOT / "examples")
    assert told == f"wrote {len(written)} files into examples\n"
    commands = NAMED.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    words = [word for command in commands for word in shlex.split(command)]
    assert words
    for word in words:
        assert not word.startswith("examples/") or (tmp_path / word).exists()


def test_what_is_there_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").mkdir()
    refused = fails(2, "examples")
    assert refused == "error: `examples` is there already; name a directory that is not"
    assert not list((tmp_path / "examples").iterdir())
    refused = fails(2, "examples", "none/such")
    assert refused == "error: cannot write into `none/such`: no such file or directory"
    assert [file.name for file in tmp_path.iterdir()] == ["examples"]
