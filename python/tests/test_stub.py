"""The stub of the extension says what the extension says: `make stub` writes it again.

That names, arguments and defaults are the extension's is what stubtest checks; `make stub-check`
checks that every type is what the source says.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import linkwright
from linkwright import choice_names

STUB = Path(linkwright.__file__).with_name("_core.pyi")
MODULE = ast.parse(STUB.read_text(encoding="utf-8"))
Documented = ast.ClassDef | ast.FunctionDef


def documented(node: ast.Module | ast.ClassDef, owner: Any) -> Iterator[tuple[Documented, Any]]:
    """Each class and function of the stub with what it is of, and that itself."""
    for each in node.body:
        if isinstance(each, Documented) and each.name != "__new__":
            live = getattr(owner, each.name)
            yield each, live
            if isinstance(each, ast.ClassDef):
                yield from documented(each, live)


def test_the_stub_s_documentation_is_the_extension_s() -> None:
    core = sys.modules["linkwright._core"]
    found = list(documented(MODULE, core))
    assert len(found) > 200
    for node, live in found:
        told = ast.get_docstring(node)
        if told is not None and not node.name.startswith("__"):
            assert inspect.getdoc(live) == told, f"{node.name}: run `make stub`"


@pytest.mark.parametrize("kind", choice_names())
def test_the_stub_knows_every_name_of_a_choice(kind: str) -> None:
    alias = "_" + "".join(word.title() for word in kind.split("_")) + "Name"
    [value] = [
        node.value
        for node in MODULE.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == alias
    ]
    assert value is not None
    said = [each.value for each in ast.walk(value) if isinstance(each, ast.Constant)]
    assert said == choice_names()[kind]
