"""Holds the lists of guides and concepts to one sentence for each page of the navigation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# The list of each part of the navigation.
LISTS = {"Guide": "index.md", "Concepts": "concepts/index.md", "Contributing": "index.md"}
# A page that begins the list in a sentence of its own.
FIRST = "guide/quick-start.md"


def navigation() -> dict[str, list[Any]]:
    """Finds the parts of the navigation that have pages below them."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    found = yaml.safe_load(re.sub(r"!!python/\S+", "", text))["nav"]
    return {name: below for part in found if isinstance(part, dict) for name, below in part.items()}


def pages(below: object) -> Iterator[str]:
    """Gives the pages of a part of the navigation."""
    if isinstance(below, str):
        if below.endswith(".md"):
            yield below
    elif isinstance(below, dict):
        for value in below.values():
            yield from pages(value)
    elif isinstance(below, list):
        for value in below:
            yield from pages(value)


def sentence_of(listed: Path, page: Path) -> str:
    """Finds the words of a list behind the link of a page; gives an empty text without a link."""
    entry = re.compile(r"^- \[[^\]]+\]\(([\w./-]+)\): ([^\n]+(?:\n  [^\n]+)*)", re.MULTILINE)
    for link, said in entry.findall(listed.read_text(encoding="utf-8")):
        if (listed.parent / link).resolve() == page.resolve():
            return str(said)
    return ""


@pytest.mark.parametrize("part", LISTS)
def test_every_page_has_one_sentence_in_its_list(part: str) -> None:
    listed = DOCS / LISTS[part]
    asked = [page for page in pages(navigation()[part]) if page not in {LISTS[part], FIRST}]
    assert asked
    for page in asked:
        said = sentence_of(listed, DOCS / page)
        assert said.endswith("."), page
        assert len(re.findall(r"\.(?:\s|$)", said)) == 1, page


def test_the_start_links_the_first_guide() -> None:
    assert f"]({FIRST})" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_start_links_all_other_pages_at_the_top() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    others = ("accuracy.md", "architecture.md", "style.md", "benchmarks.md")
    assert all(f"]({page})" in text for page in others)
