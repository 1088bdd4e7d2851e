"""Holds decisions to one heading, one entry of the list, and one word on what overrules them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "decisions"
PAGES = {page.name: page for page in sorted(FOLDER.glob("0*.md"))}
INDEX = (FOLDER / "index.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^- \[(\d{4})\]\(([\w.-]+)\): ([^\n]+)((?:\n  [^\n]+)*)", re.MULTILINE)
LINK = re.compile(r"\]\((\d{4}-[\w.-]+\.md)\)")


def overruled(text: str) -> list[str]:
    """The pages that overrule, as a text names them behind "Overruled"."""
    flat = " ".join(text.split())
    return LINK.findall(flat.partition("Overruled")[2])


def status(page: Path) -> str:
    """The paragraph of a page that says its status; empty where it has none."""
    found = re.search(r"^\*\*Status\.\*\*.*?(?:\n\n|\Z)", page.read_text("utf-8"), re.M | re.S)
    return found[0] if found else ""


def test_the_list_has_every_page_once() -> None:
    entries = ENTRY.findall(INDEX)
    assert sorted(name for _, name, *_ in entries) == list(PAGES)
    assert all(name.startswith(number) for number, name, *_ in entries)
    assert INDEX.count("\n- ") == len(entries) > 80


def test_the_list_groups_pages_by_subject_with_a_sentence_each() -> None:
    groups = INDEX.split("\n## ")[1:]
    assert len(groups) > 5
    assert all("\n- [" in group for group in groups)
    assert all(said.endswith(".") for _, _, said, _ in ENTRY.findall(INDEX))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_one_style_of_heading(name: str) -> None:
    heading = PAGES[name].read_text(encoding="utf-8").splitlines()[0]
    assert re.fullmatch(rf"# {name[:4]}: \S.*[^.]", heading)


def test_the_list_and_the_page_name_the_same_later_pages() -> None:
    listed = {name: overruled(rest) for _, name, _, rest in ENTRY.findall(INDEX)}
    said = {name: overruled(status(page)) for name, page in PAGES.items()}
    assert listed == said
    assert sum(map(bool, said.values())) > 20
    for name, later in said.items():
        assert all(one in PAGES and one > name for one in later), name
