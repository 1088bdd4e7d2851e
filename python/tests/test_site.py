"""The site: its menu, its pictures, its colours, and a gallery whose pictures are drawn again."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import material  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]
from commands import linkwright
from test_docs import ROOT, blocks, commands

import site_search
import site_widths

DOCS = ROOT / "docs"
GALLERY = DOCS / "gallery.md"
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
UPDATE = "UPDATE_GOLDEN" in os.environ
# Bytes of all pictures of the gallery.
MOST = 2_000_000


def entries() -> Mapping[Path, str]:
    """Reads each part of the gallery, by its picture."""
    _, *parts = re.split(r"^## ", GALLERY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for part in parts:
        [(said, picture)] = IMAGE.findall(part)
        assert said, part
        found[DOCS / picture] = part
    return found


ENTRIES = entries()


def test_the_gallery_has_ten_pictures_of_questions() -> None:
    assert len(ENTRIES) == 10
    assert all(part.splitlines()[0].endswith("?") for part in ENTRIES.values())
    if not UPDATE:
        drawn = (DOCS / "images" / "gallery").iterdir()
        assert set(drawn) <= set(ENTRIES)
        assert sum(path.stat().st_size for path in ENTRIES) < MOST


@pytest.mark.parametrize("picture", ENTRIES, ids=lambda path: path.stem)
def test_each_picture_is_what_its_lines_draw(
    picture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "part.md"
    page.write_text(ENTRIES[picture], encoding="utf-8")
    [block] = blocks(page)
    if block.language == "python":
        examples = doctest.DocTestParser().get_examples(block.text)
        exec("".join(each.source for each in examples), {})
    else:
        [command] = commands(block)
        linkwright(*command.words)
    drawn = (tmp_path / picture.name).read_bytes()
    if UPDATE:
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(drawn)
    assert drawn == picture.read_bytes()
    assert b"prefers-color-scheme: dark" in drawn


@pytest.fixture(scope="module")
def settings() -> Mapping[str, Any]:
    """Reads mkdocs.yml."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


def test_a_reader_chooses_the_colours_and_searches_without_a_network(
    settings: Mapping[str, Any],
) -> None:
    theme = settings["theme"]
    assert [each.get("scheme") for each in theme["palette"]] == [None, "default", "slate"]
    assert all("toggle" in each for each in theme["palette"])
    assert theme["font"] is False
    assert "search.suggest" in theme["features"]
    assert "search" in settings["plugins"]
    assert "offline" in settings["plugins"]
    # Left to itself, the plugin for pages without a server names a script that lies elsewhere.
    [script] = settings["extra"]["polyfills"]
    assert "iframe-worker" in script
    assert (DOCS / script).is_file()


@pytest.mark.parametrize(
    ("page", "weight"), [("guide/tour.md", 4.0), ("decisions/index.md", 0.3), ("index.md", None)]
)
def test_the_search_lists_guides_before_decisions(page: str, weight: float | None) -> None:
    found = SimpleNamespace(file=SimpleNamespace(src_uri=page), meta={})
    assert site_search.on_page_markdown("text", page=found) == "text"
    assert found.meta == ({"search": {"boost": weight}} if weight else {})


def test_the_menu_has_one_entry_for_all_decisions(settings: Mapping[str, Any]) -> None:
    menu = json.dumps(settings["nav"])
    assert menu.count("decisions/") == 1
    index = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", index))
    assert listed == {path.name for path in (DOCS / "decisions").glob("0*.md")}


def test_the_width_of_the_menu_is_one_that_the_theme_has(tmp_path: Path) -> None:
    theme = Path(material.__file__).parent / "templates"
    shutil.copytree(theme / "assets", tmp_path / "assets")
    site_widths.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))
    changed = [
        file for pattern in site_widths.FILES for file in (tmp_path / "assets").glob(pattern)
    ]
    assert len(changed) == 3
    for file in changed:
        text = file.read_text(encoding="utf-8")
        assert not any(width in text for width in site_widths.WIDTHS)
        assert site_widths.WIDTHS["76.25em"] in text
    with pytest.raises(RuntimeError, match="has none of the widths"):
        site_widths.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda path: path.stem)
def test_each_picture_of_a_page_is_there_says_what_it_shows_and_follows_the_colours(
    page: Path,
) -> None:
    for said, target in IMAGE.findall(page.read_text(encoding="utf-8")):
        assert said, target
        picture = page.parent / target
        assert picture.exists(), target
        if picture.suffix == ".svg":
            assert "prefers-color-scheme: dark" in picture.read_text(encoding="utf-8"), target
