"""The changelog's table of old and new calls: each new call is there, and no old one is."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import linkwright
from linkwright import System
from linkwright.collectives import Schedule
from linkwright.network import ClusterRun

CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
ROW = re.compile(r"^  \| `(?P<old>[^`]+)` \| `(?P<new>[^`]+)` \|$", re.MULTILINE)
# What a variable of the table is of.
INSTANCES: dict[str, type] = {"system": System, "run": ClusterRun, "schedule": Schedule}
GONE = ("Machine", "Cluster", "machine", "cluster")


def rows() -> list[tuple[str, str]]:
    text = CHANGELOG.read_text(encoding="utf-8")
    head = text.index("| old call | new call |")
    return [(found["old"], found["new"]) for found in ROW.finditer(text, head)]


def calls(expression: str) -> Iterator[ast.expr]:
    """The calls of an expression, and it itself where it is none."""
    body = ast.parse(expression, mode="eval").body
    found: list[ast.expr] = [node for node in ast.walk(body) if isinstance(node, ast.Call)]
    yield from found or [body]


def value_of(node: ast.expr) -> Any:
    """What a name of the package, or of one of its classes, stands for.

    Raises:
        AttributeError: If there is none.
    """
    if isinstance(node, ast.Name):
        return INSTANCES.get(node.id) or getattr(linkwright, node.id)
    if isinstance(node, ast.Call):
        made = value_of(node.func)
        assert inspect.isclass(made), ast.unparse(node)
        return made
    assert isinstance(node, ast.Attribute), ast.unparse(node)
    owner = value_of(node.value)
    if inspect.isclass(owner) and node.attr in getattr(owner, "__dataclass_fields__", ()):
        return owner
    if (owner, node.attr) == (System, "fabric"):
        return linkwright.network.Fabric
    return getattr(owner, node.attr)


def test_the_table_has_a_row_for_each_way_there_was() -> None:
    olds = [old for old, _ in rows()]
    assert len(olds) == len(set(olds)) > 20
    for way in ("Machine.preset", "Machine.import_text", "Machine.from_toml", "load_machine("):
        assert any(old.startswith(way) for old in olds), way
    for way in ("machine.cluster", "Cluster(", "Cluster.from_text", "load_cluster("):
        assert any(old.startswith(way) for old in olds), way


@pytest.mark.parametrize("new", sorted({new for _, new in rows()}))
def test_a_new_call_is_there_with_its_arguments(new: str) -> None:
    for node in calls(new):
        if not isinstance(node, ast.Call):
            value_of(node)
            continue
        called = value_of(node.func)
        signature = inspect.signature(called)
        names = {keyword.arg: None for keyword in node.keywords if keyword.arg}
        is_method = isinstance(node.func, ast.Attribute) and not isinstance(called, type)
        own = [None] if is_method and "self" in signature.parameters else []
        signature.bind(*own, *(None for _ in node.args), **names)


@pytest.mark.parametrize("old", sorted({old for old, _ in rows()}))
def test_an_old_call_is_gone(old: str) -> None:
    for node in calls(old):
        called = node.func if isinstance(node, ast.Call) else node
        root = called
        while isinstance(root, ast.Attribute | ast.Call):
            root = root.value if isinstance(root, ast.Attribute) else root.func
        assert isinstance(root, ast.Name)
        if root.id in GONE or not (hasattr(linkwright, root.id) or root.id in INSTANCES):
            assert not hasattr(linkwright, root.id), old
            continue
        # The call itself is there; an argument of it, or what it names, is not.
        if not isinstance(node, ast.Call):
            with pytest.raises(AttributeError):
                value_of(node)
            continue
        names = {keyword.arg: None for keyword in node.keywords if keyword.arg}
        with pytest.raises(TypeError):
            inspect.signature(value_of(called)).bind(*(None for _ in node.args), **names)


@pytest.mark.parametrize(("old", "new"), [("Machine", "System"), ("load_cluster", "read_system")])
def test_an_old_name_says_the_new_one(old: str, new: str) -> None:
    with pytest.raises(AttributeError, match=f"`{old}` is now `{new}`: the changelog has a table"):
        getattr(linkwright, old)
