"""README.md is short, asks about a server of today, and works on a light and on a dark page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from style_texts import texts_of

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
MOST_BYTES = 8_000
MOST_WORDS = 600
COMMANDS = re.findall(r"^\$ linkwright (.*)$", TEXT, re.MULTILINE)


def test_it_is_a_screen_or_three() -> None:
    assert len(TEXT.encode()) <= MOST_BYTES
    words = [word for text in texts_of(README) for word in text.words.split()]
    assert len(words) <= MOST_WORDS


def test_six_questions_are_asked_and_answered() -> None:
    questions = re.findall(r"^\*\*([^*]+\?)\*\*", TEXT, re.MULTILINE)
    assert len(questions) == 6
    assert len(COMMANDS) >= len(questions)


def test_the_server_is_one_of_today() -> None:
    insides = [command for command in COMMANDS if command.startswith("gpu ")]
    others = [command for command in COMMANDS if command not in insides]
    assert len(insides) == 1
    assert all("hgx-h100" in command for command in others)


@pytest.mark.parametrize("picture", re.findall(r"!\[[^\]]*\]\([^)]*/(docs/[^)]*)\)", TEXT))
def test_its_picture_follows_the_page_s_colours(picture: str) -> None:
    drawn = (ROOT / picture).read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in drawn
