"""The notebooks in `examples/` run from top to bottom and show what is stored in them.

`UPDATE_GOLDEN=1 pytest python/tests/test_notebooks.py` stores what they show after a change that
is meant. A chart's own data is not stored.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def shown(value: object) -> dict[str, list[str]]:
    """Returns the data that a notebook stores of a cell's last value."""
    data = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        data = {"text/html": value._repr_html_(), **data}
    return {kind: text.splitlines(keepends=True) for kind, text in data.items()}


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


def test_there_are_three_notebooks() -> None:
    assert len(NOTEBOOKS) >= 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_shows_what_is_stored_in_it(
    notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    document = json.loads(notebook.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "__main__"}
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        outputs = run_cell("".join(cell["source"]), names, number)
        if os.environ.get("UPDATE_GOLDEN"):
            cell["outputs"], cell["execution_count"] = outputs, number
        assert cell["outputs"] == outputs, "UPDATE_GOLDEN=1 stores it"
    if os.environ.get("UPDATE_GOLDEN"):
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        notebook.write_text(text, encoding="utf-8", newline="\n")
