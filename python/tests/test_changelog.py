"""The changelog is one page of what the version does, and links every guide."""

from __future__ import annotations

import re
from pathlib import Path

from linkwright.network import preset_names

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
LINKS = re.findall(r"\]\(([\w./-]+)\)", TEXT)


def test_the_changelog_is_short_and_of_one_version() -> None:
    assert TEXT.startswith("# Changelog\n\n## 0.1.0\n")
    assert len(re.findall(r"^## ", TEXT, re.MULTILINE)) == 1
    assert len(TEXT.encode()) < 8_000
    assert 'version = "0.1.0"' in (ROOT / "Cargo.toml").read_text(encoding="utf-8")


def test_the_changelog_links_every_guide() -> None:
    assert [link for link in LINKS if not (ROOT / link).exists()] == []
    guides = {f"docs/guide/{page.name}" for page in (ROOT / "docs" / "guide").glob("*.md")}
    assert guides <= set(LINKS)


def test_the_number_of_presets_is_true() -> None:
    assert f"{len(preset_names())} presets" in TEXT
