"""Writes `docs/reference/api.md`: every public name, by its subject, in the order of `__all__`.

    scripts/write_reference.py           writes the page
    scripts/write_reference.py --check   fails where it is not what would be written

mkdocstrings fills in each name's documentation when the page is built. The examples stand in the
modules' docstrings; `python/tests/test_reference.py` runs them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "linkwright"
PAGE = ROOT / "docs" / "reference" / "api.md"
# In the order of a reader's questions.
SUBJECTS = (
    "allocation",
    "collectives",
    "network",
    "scenario",
    "training",
    "gpu",
    "plots",
    "contracts",
    "errors",
)
END = """## linkwright.names

::: linkwright.names
    options:
      show_root_heading: false
      show_root_toc_entry: false

## linkwright.studies

A study plays a paper's experiments and prints published beside reproduced.

::: linkwright.studies.study.Study

::: linkwright.studies.tables.StudyTable
"""
START = """# Python

`import linkwright` offers the names that begin most work. The rest stands by subject: each heading
below is a module. `dir()` of a module lists its public names, and `help()` says what each does.

Each act has one verb. `read_*` reads a file, and `from_text` reads a text. `find` looks up a name,
and `play` plays.
"""


def _file(subject: str) -> Path:
    folder = PACKAGE / subject / "__init__.py"
    return folder if folder.exists() else PACKAGE / f"{subject}.py"


def _written(value: ast.expr | None) -> list[str]:
    """Gives the names of an `__all__` that is written as a list."""
    if not isinstance(value, ast.List):
        raise SystemExit("__all__ is no list of names; write it as one")
    return [it.value for it in value.elts if isinstance(it, ast.Constant)]


def _sources(tree: ast.Module) -> dict[str, str]:
    """Gives the module that holds each name that a module imports to offer it."""
    return {
        alias.asname or alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _names(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return _written(node.value)
    raise SystemExit("a subject has no __all__")


def _section(module: str, file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    yield f"## {module}"
    yield ""
    said, _, example = (ast.get_docstring(tree) or "").partition("\nExamples:\n")
    yield said.strip()
    yield ""
    if example:
        lines = [line.removeprefix("    ") for line in example.rstrip().splitlines()]
        yield from ["```pycon", *lines, "```", ""]
    sources = _sources(tree)
    for name in _names(tree):
        # Functions that word an error are for the package's own modules.
        if not name.startswith("__") and not (module.endswith("errors") and name.islower()):
            yield f"::: {sources.get(name, module)}.{name}"
            yield ""


def page() -> str:
    """Gives the page's text."""
    lines = [START]
    top = ast.parse(_file(".").read_text(encoding="utf-8"))
    sources = _sources(top)
    lines += ["## linkwright", ""]
    lines += [
        f"- `{name}`, of `{_home(name, sources)}`"
        for name in _names(top)
        if not name.startswith("__")
    ]
    lines.append("")
    for subject in SUBJECTS:
        lines += _section(f"linkwright.{subject}", _file(subject))
    return "\n".join([*lines, END])


def _home(name: str, sources: dict[str, str]) -> str:
    """Names the subject that holds a name of the package."""
    for subject in SUBJECTS:
        if name in _names(ast.parse(_file(subject).read_text(encoding="utf-8"))):
            return f"linkwright.{subject}"
    return sources[name]


def main(words: list[str]) -> int:
    """Runs the script."""
    text = page()
    if words == ["--check"]:
        if PAGE.read_text(encoding="utf-8") != text:
            print("docs/reference/api.md is stale; run scripts/write_reference.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
