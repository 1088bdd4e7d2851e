"""Says which variables statements may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import get_args

from linkwright.sources import statements as st
from linkwright.sources.statements import Expression, Function, Statement

__all__ = ["Changes", "changes_of", "outer_names"]

Names = dict[str, None]

# Statements are made of these, and of functions that they define.
PARTS = tuple(part for part in get_args(Statement) + get_args(Expression) if part is not Function)


@dataclass
class Changes:
    """Holds the variables that statements may change, and those that they read.

    Attributes:
        own: They are assigned, or their addresses are handed on.
        lists: They are handed on. They change where they are lists.
        called: Functions assign them, where they are of the whole source.
        read: They are read, here or by functions.
    """

    own: Names = field(default_factory=dict)
    lists: Names = field(default_factory=dict)
    called: Names = field(default_factory=dict)
    read: Names = field(default_factory=dict)

    def all(self) -> Iterator[str]:
        """Gives every variable that may change, perhaps twice."""
        return chain(self.own, self.lists, self.called)


def changes_of(
    statements: Sequence[Statement | tuple[Statement, ...]],
    functions: Mapping[str, Sequence[Function]],
    known: dict[int, Changes],
) -> Changes:
    """Gives the variables that statements, or the functions that they call, may change.

    Args:
        statements: They are run.
        functions: The functions of the source by name.
        known: Changes that were found of functions before, by their identity. It grows.
    """
    found = Changes()
    for node in _within(statements):
        match node:
            case st.Assignment(name) | st.ElementAssignment(name) | st.Over(name):
                found.own[name] = None
            case st.Name(name):
                found.read[name] = None
            case st.Call(name=name, lent=lent):
                for each in lent:
                    if each is not None:
                        (found.own if each.is_address else found.lists)[each.name] = None
                for function in functions.get(name, functions.get(name.rpartition(".")[2], ())):
                    if id(function) not in known:
                        known[id(function)] = Changes()
                        known[id(function)] = changes_of(function.body, functions, known)
                    inner = known[id(function)]
                    found.called |= inner.own | inner.called
                    found.read |= inner.read
                    found.own |= dict.fromkeys(_of_callers(inner, function, lent))
            case _:
                pass
    return found


def _of_callers(
    inner: Changes, function: Function, lent: Sequence[st.Lent | None]
) -> Iterator[str]:
    """Gives the attributes of a caller's variables that a function changes."""
    for parameter, each in zip(function.parameters, lent, strict=False):
        for name in inner.own if each is not None else ():
            if each is not None and name.startswith(f"{parameter}."):
                yield each.name + name.removeprefix(parameter)


def outer_names(function: Function) -> set[str]:
    """Gives the variables of others that a function within theirs may change."""
    found = set()
    for node in _within(function.body):
        match node:
            case st.Assignment(name, _, False) | st.ElementAssignment(name):
                found.add(name)
            case st.Call(lent=lent):
                found |= {each.name for each in lent if each is not None and each.is_address}
            case _:
                pass
    return found - set(function.parameters)


def _within(node: object) -> Iterator[object]:
    """Gives all that statements are made of, but for functions that they define."""
    open_ = [node]
    while open_:
        node = open_.pop()
        if isinstance(node, tuple | list):
            open_.extend(node)
        elif isinstance(node, PARTS):
            yield node
            open_.extend(vars(node).values())
