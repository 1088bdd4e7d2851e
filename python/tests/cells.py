"""Runs a notebook's cells, and prints as JSON what they show and which package they import.

A program of its own, so that it runs in any environment: `python -I cells.py NOTEBOOK`.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import linkwright


def main() -> None:
    """Runs the notebook that the command names."""
    document = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "__main__"}
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    outputs = [run_cell("".join(cell["source"]), names, at) for at, cell in enumerate(cells, 1)]
    json.dump({"package": linkwright.__file__, "outputs": outputs}, sys.stdout)


def run_cell(source: str, names: dict[str, object], number: int) -> list[dict[str, Any]]:
    """Returns the outputs of a cell: its prints, and its last expression's value."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value: object = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    # A chart shows itself by its own data, which is long and made anew.
    if value is not None and not hasattr(value, "_repr_mimebundle_"):
        found = {"data": shown(value), "execution_count": number, "metadata": {}}
        outputs.append({**found, "output_type": "execute_result"})
    if hasattr(value, "_repr_mimebundle_"):
        assert value._repr_mimebundle_()
    return outputs


def shown(value: object) -> dict[str, list[str]]:
    """Returns the data that a notebook stores of a cell's last value."""
    data = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        data = {"text/html": value._repr_html_(), **data}
    return {kind: text.splitlines(keepends=True) for kind, text in data.items()}


if __name__ == "__main__":
    main()
