"""Counts the lines of the product: no blanks, comments, documentation, tests or generated files.

It prints them, and beside them those of a commit where one is named.

    scripts/product_lines.py           prints the lines of the core, the binding, Python and studies
    scripts/product_lines.py COMMIT    prints those of a commit beside them
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

# Written by scripts from other files, or no part of what users run.
GENERATED = ("python/linkwright/_core.pyi", "python/linkwright/names.py")
APART = ("linkwright-bench", "linkwright-recipes")

RUST_TOKEN = re.compile(
    r'r(#*)".*?"\1|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//[^\n]*|/\*.*?\*/', re.DOTALL
)
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))? )?mod \w+\s*\{")


def _without_comments(source: str) -> str:
    """Leaves strings as they are, and of comments their line ends."""

    def kept(found: re.Match[str]) -> str:
        text = found.group()
        return "\n" * text.count("\n") if text.startswith(("//", "/*")) else text

    return RUST_TOKEN.sub(kept, source)


def _without_tests(source: str) -> str:
    """Leaves out the modules of a Rust file that are compiled for tests alone."""
    while found := TEST_MODULE.search(source):
        depth, end = 0, len(source)
        bare = RUST_TOKEN.sub(lambda it: "_" * len(it.group()), source[found.start() :])
        for at, letter in enumerate(bare):
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if letter == "}" and depth == 0:
                end = found.start() + at + 1
                break
        source = source[: found.start()] + source[end:]
    return source


def rust_lines(source: str) -> int:
    """Counts the lines of code of a Rust file."""
    lines = _without_tests(_without_comments(source)).splitlines()
    return sum(1 for line in lines if line.strip())


def python_lines(source: str) -> int:
    """Counts the lines of code of a Python file."""
    told: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            told.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    counted: set[int] = set()
    nothing = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in nothing and token.type != tokenize.ENDMARKER:
            counted.update(range(token.start[0], token.end[0] + 1))
    return len(counted - told)


def part_of(path: str) -> str | None:
    """Names the part of the product that a file belongs to; None of one that is no part."""
    file = PurePosixPath(path)
    parts = file.parts
    if file.suffix == ".rs" and parts[0] == "crates" and "src" in parts:
        is_test = "tests" in parts or file.stem in ("tests", "test_support")
        if is_test or parts[1] in APART:
            return None
        return "binding" if parts[1] == "linkwright-python" else "core"
    if file.suffix == ".py" and parts[:2] == ("python", "linkwright") and path not in GENERATED:
        return "studies" if parts[2] == "studies" else "Python"
    return None


def _files(commit: str | None) -> Iterator[tuple[str, str]]:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], capture_output=True, text=True, check=True
        ).stdout

    listed = git("ls-tree", "-r", "--name-only", commit) if commit else git("ls-files")
    for path in listed.splitlines():
        if part_of(path):
            text = git("show", f"{commit or ''}:{path}")
            yield path, text


def counts(commit: str | None = None) -> Mapping[str, int]:
    """Counts each part's lines, as they stand in the index or in a commit."""
    found: Counter[str] = Counter()
    for path, text in _files(commit):
        part = part_of(path)
        assert part is not None
        found[part] += rust_lines(text) if path.endswith(".rs") else python_lines(text)
    return found


def main(arguments: list[str]) -> None:
    """Prints a table of the parts."""
    columns = [counts(commit) for commit in [*arguments[:1], None]]
    for part in ("core", "binding", "Python", "studies"):
        print(f"{part:8}", *(f"{column[part]:8,}" for column in columns))
    print("all     ", *(f"{sum(column.values()):8,}" for column in columns))


if __name__ == "__main__":
    main(sys.argv[1:])
