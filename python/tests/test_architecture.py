"""`docs/architecture.md` names files that are there, and names that these files define."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MARKED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?")
NAME = re.compile(r"[A-Za-z_]\w*")
DEFINES = r"\b(?:fn|struct|enum|trait|type|const|static|def|class)\s+{0}\b|^{0}\b[^=\n]*=(?!=)"
# A step of one of the two ways. It names files, and names that these define.
STEP = re.compile(r"^\d+\. .*?(?=^\d+\. |\Z|\n\n)", re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    """Gives the text below a heading, to the next."""
    return TEXT.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def steps(title: str) -> list[str]:
    """Finds the numbered steps of a section, and the paragraphs behind them."""
    text = section(title)
    numbered = STEP.findall(text)
    return [*numbered, *text.split(numbered[-1])[1].split("\n\n")]


def paths(text: str) -> list[Path]:
    """Finds the files and folders that a text names."""
    return [ROOT / word for word in MARKED.findall(text) if PATH.fullmatch(word)]


def test_every_path_is_there() -> None:
    named = paths(TEXT)
    assert len(named) > 40
    assert [path for path in named if not path.exists()] == []


@pytest.mark.parametrize(
    ("title", "numbered"), [("The way of a scenario", 16), ("The way of a message", 9)]
)
def test_a_way_has_its_steps_in_order(title: str, numbered: int) -> None:
    found = STEP.findall(section(title))
    assert [int(step.split(".")[0]) for step in found] == list(range(1, numbered + 1))
    assert all(paths(step) for step in found)


@pytest.mark.parametrize("step", [*steps("The way of a scenario"), *steps("The way of a message")])
def test_a_file_of_a_step_defines_each_name_of_it(step: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in paths(step) if path.is_file()]
    names = [word for word in MARKED.findall(step) if NAME.fullmatch(word)]
    defined = [re.compile(DEFINES.format(name), re.MULTILINE) for name in names]
    lost = [
        name
        for name, define in zip(names, defined, strict=True)
        if not any(define.search(text) for text in texts)
    ]
    assert lost == [], step


def test_the_picture_has_a_title_and_both_schemes() -> None:
    source = re.findall(r"\]\((images/[\w.-]+\.svg)\)", TEXT)
    assert len(source) == 1
    picture = (ROOT / "docs" / source[0]).read_text(encoding="utf-8")
    assert ElementTree.fromstring(picture).find("{http://www.w3.org/2000/svg}title") is not None
    assert "prefers-color-scheme: dark" in picture
