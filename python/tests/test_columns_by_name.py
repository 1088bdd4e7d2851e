"""Columns of tables are found by their names: no code counts them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    file for folder in ("python/linkwright", "scripts") for file in (ROOT / folder).rglob("*.py")
)
# Code calls a row or the columns of a table so.
ROWS = {"row", "record", "columns", "each_row"}
# These give a column, or the values of all, by position.
BY_POSITION = {"select_at_idx", "get_column_index", "to_series", "iloc", "astuple"}


def number(node: ast.expr) -> bool:
    """Whether an index is a number that the code says."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def counted(tree: ast.AST) -> Iterator[int]:
    """Finds the lines that find a column by its position."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript):
            continue
        match node.value:
            case ast.Name(id=name) if name in ROWS and number(node.slice):
                yield node.lineno
            case ast.Call(func=ast.Name(id=name)) if name in BY_POSITION:
                yield node.lineno
            case ast.Attribute(attr=name) if name in BY_POSITION:
                yield node.lineno
            case ast.Subscript(value=ast.Name(id="rows"), slice=at) if number(at) and number(
                node.slice
            ):
                yield node.lineno


def test_positions_are_seen() -> None:
    text = "a = row[3]\nb = rows[0][1]\nc = astuple(x)[1]\nd = row['end']\ne = table.iloc[0]\n"
    assert sorted(counted(ast.parse(text))) == [1, 2, 3, 5]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_column_is_found_by_its_position(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    lines = list(counted(tree))
    assert not lines, f"{file}: lines {lines} count columns; name them"
