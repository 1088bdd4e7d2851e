"""The check of the documentation in `make test` fails on what it is there to find."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]
GATE = re.compile(r"^check-python:.*?\$\(BIN\)/(mkdocs [^\n]*)", re.MULTILINE | re.DOTALL)


def gate(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command of the Makefile on a folder's documentation."""
    found = GATE.search((ROOT / "Makefile").read_text(encoding="utf-8"))
    assert found is not None
    program, *words = found[1].split()
    return subprocess.run(
        [Path(sys.executable).parent / program, *words],
        cwd=folder,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("[whole](page.md#part)", None),
        ("[dead](nowhere.md)", "nowhere.md"),
        ("[dead](page.md#nowhere)", "#nowhere"),
        ("[dead](picture.png)", "picture.png"),
        ("[absolute](/page.md)", "/page.md"),
    ],
)
def test_a_link_to_nowhere_fails_the_tests(tmp_path: Path, link: str, said: str | None) -> None:
    result = built(tmp_path, link)
    assert result.returncode == (0 if said is None else 1), result.stderr
    assert said is None or said in result.stderr


def test_a_page_that_no_menu_shows_fails_the_tests(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lost.md").write_text("# Lost\n", encoding="utf-8")
    result = built(tmp_path, "none")
    assert result.returncode == 1
    assert "lost.md" in result.stderr


def built(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Builds two small pages, one with the text, with this project's own settings."""
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    settings |= {"nav": ["index.md", "page.md"], "plugins": [], "theme": "mkdocs", "extra_css": []}
    settings["hooks"] = []
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / "index.md").write_text(f"# Home\n\n{text}\n", encoding="utf-8")
    (folder / "docs" / "page.md").write_text("# Page\n\n## Part\n", encoding="utf-8")
    return gate(folder)
