"""The command line's own manners; its commands are tested where the documentation shows them."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from linkwright.cli import app


def test_an_unsound_file_is_named_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "machine.toml"
    file.write_text("name = 3\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["check", str(file), str(tmp_path / "none.toml")])
    assert result.exit_code == 1
    assert f"error: {file}:1:8: " in result.stderr
    assert "none.toml" in result.stderr
    assert result.stdout == ""
