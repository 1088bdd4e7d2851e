"""CONTRIBUTING and its pages name every layer of the core, and files and names that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CRATE = ROOT / "crates" / "linkwright"
# The crates that no layer of the core stands in.
OUTSIDE = ("linkwright-bench", "linkwright-python", "linkwright-recipes")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = (ROOT / "docs" / "contributing" / "recipes.md").read_text(encoding="utf-8")
CHECKS = (ROOT / "docs" / "contributing" / "checks.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TEXT = "\n".join((CONTRIBUTING, RECIPES, CHECKS))
# A row of the table of layers, here and in the crate's first lines.
ROW = re.compile(r"^(?://! )?\| \[?`([a-z_]+)`\]? \|", re.MULTILINE)
MARKED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
NAME = re.compile(r"(?:\w+::)?(\w+)!?")
SOURCES = ("crates", "docs", "examples", "python", "validation", "fuzz")


def recipes() -> dict[str, str]:
    """Returns the text of each recipe, by the thing that it adds."""
    items = RECIPES.split("\n### ")[1:]
    return {
        title: text.split("\n## ")[0] for title, _, text in (it.partition("\n") for it in items)
    }


def test_every_layer_of_the_core_is_named_in_its_order() -> None:
    named = ROW.findall(ARCHITECTURE)
    crates = [path for path in (ROOT / "crates").iterdir() if path.name not in OUTSIDE]
    sources = {path.stem for crate in crates for path in (crate / "src").iterdir()} - {"lib"}
    assert sorted(named) == sorted(sources)
    assert named == ROW.findall((CRATE / "src" / "lib.rs").read_text(encoding="utf-8"))
    guard = (CRATE / "tests" / "it" / "layers.rs").read_text(encoding="utf-8")
    table = guard.split("const MAY_USE", 1)[1].split("\n];", 1)[0]
    guarded = re.findall(r'^ {4}\("(\w+)", &|^ {8}"(\w+)",\n {8}&\[', table, re.MULTILINE)
    order = [first or second for first, second in guarded]
    assert named == [layer for layer in order if layer in sources]


def written(marked: str) -> Path | None:
    """The file or folder that a marked word is, where it is one; `NAME` stands for any."""
    if not PATH.fullmatch(marked) or not ("/" in marked or re.search(r"\.\w+$", marked)):
        return None
    path = ROOT / marked
    return path.parent if path.stem in {"NAME", "x"} else path


def elsewhere(name: str) -> list[Path]:
    """Files of a bare name, wherever the sources have them."""
    return [path for folder in SOURCES for path in (ROOT / folder).rglob(name)]


def test_every_path_is_there() -> None:
    paths = {word: path for word in MARKED.findall(TEXT) if (path := written(word)) is not None}
    assert len(paths) > 40
    missing = [
        word
        for word, path in paths.items()
        if not path.exists() and not ("/" not in word and elsewhere(word))
    ]
    made = {"target/wheel/dist", "site/", "frozen/files", "data/renamed.toml"}
    assert set(missing) <= made, "paths that are nowhere"


def test_contributing_leads_with_one_change_and_is_short() -> None:
    first = CONTRIBUTING.split("\n## ")[1]
    assert first.startswith("Change one thing in ten minutes\n")
    assert "make quick" in first
    assert len(CONTRIBUTING.encode()) < 6_000


def test_the_line_that_contributing_changes_is_there() -> None:
    file, line = re.findall(r"Open `([^`]+)`, find `([^`]+)`", CONTRIBUTING)[0]
    assert line in (ROOT / file).read_text(encoding="utf-8")


def test_every_page_that_contributing_links_is_there() -> None:
    links = re.findall(r"\]\(([\w./-]+)\)", CONTRIBUTING)
    assert len(links) > 4
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_command_of_make_is_on_the_page() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    inner = {"check-python", "pytest", "stub-check"}
    phony = set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split()) - inner
    assert phony == set(re.findall(r"`make ([\w-]+)`(?=[^|\n]*\|)", CHECKS))


@pytest.mark.parametrize("what", ["server", "fabric", "routing", "arbiter", "policy of network"])
def test_what_users_add_has_a_recipe(what: str) -> None:
    assert any(what in added for added in recipes())


@pytest.mark.parametrize("added", recipes())
def test_every_name_of_a_recipe_stands_in_a_file_that_it_names(added: str) -> None:
    recipe = re.sub(r"````.*?````", "", recipes()[added])
    files: list[Path] = []
    names: list[str] = []
    for marked in MARKED.findall(recipe):
        path = written(marked)
        if path is not None:
            there = [path] if path.exists() else elsewhere(marked)
            for one in there:
                files += [one] if one.is_file() else [it for it in one.rglob("*") if it.is_file()]
        elif (name := NAME.fullmatch(marked)) is not None:
            names.append(name[1])
    texts = [it.read_text(encoding="utf-8", errors="replace") for it in files]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    lost = [name for name in names if name not in words]
    assert lost == [], f"names that none of the files of {added!r} has"


def test_no_page_speaks_of_what_is_gone() -> None:
    gone = re.compile(r"\b(Interconnect|NodeLinks|Placement::machine)\b|`topology`|src/topology")
    old = re.compile(r"decisions/(00(0\d|1\d|2[0-6])-|index\.md)")
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    sources = list((ROOT / "crates").glob("*/src/**/*.rs"))
    assert len(pages) > 50
    assert len(sources) > 200
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in pages + sources
        if not old.search(path.as_posix())
        for match in gone.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
