"""Holds what the variables of a source have as values while it is followed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from linkwright.sources.statements import UNKNOWN

__all__ = [
    "ANYBODY",
    "GONE",
    "MOST_ITEMS",
    "NOBODY",
    "PART",
    "WORLD",
    "Grid",
    "Indexed",
    "Instance",
    "Part",
    "Reference",
    "Scope",
    "items_of",
    "numbers_of",
    "plain",
    "same",
]

WORLD = "all ranks"
ANYBODY = "MPI_ANY_SOURCE"
NOBODY = "MPI_PROC_NULL"
# A communicator of some ranks, which are not known.
PART = "some ranks"

# The most items of a list that is followed, more than the GPUs of any server.
MOST_ITEMS = 256


class Part(tuple[int, ...]):
    """Holds a communicator of these ranks."""


@dataclass(frozen=True)
class Grid:
    """Holds a communicator of all ranks in a grid, whose last coordinate runs first."""

    sizes: tuple[int, ...]
    periods: tuple[bool, ...]


@dataclass(frozen=True)
class Indexed:
    """An item of an array that is not known, such as the communicator of a device."""

    index: int


@dataclass(frozen=True)
class Instance:
    """Holds an object of a class that the source defines."""

    of: str


@dataclass(frozen=True)
class Reference:
    """Holds a call that moves data, as a value."""

    name: str


def plain(value: object) -> object:
    """Gives a value that conditions and operators may take; the rest is unknown to them."""
    return UNKNOWN if isinstance(value, Indexed | Instance | Grid | Reference) else value


def same(a: object, b: object) -> bool:
    """Whether two values are known and equal."""
    return a is b or (a is not UNKNOWN and b is not UNKNOWN and a == b)


def items_of(listed: object) -> Sequence[object] | None:
    """Gives the items of a list; None where they are not known, or too many."""
    if not isinstance(listed, list | range | tuple):
        return None
    # The length of a long range has no number.
    return None if any(True for _ in islice(listed, MOST_ITEMS, None)) else listed


def numbers_of(listed: object) -> list[int] | None:
    """Gives the whole numbers of a list; None where it is none, or one is not known."""
    items = items_of(listed)
    if items is None:
        return None
    found = [int(item) for item in items if isinstance(item, int)]
    return found if len(found) == len(items) else None


# Stands for the value of a variable that there is not.
GONE = object()


class Scope:
    """Holds variables by name. A layer over others keeps what a way through the source changes."""

    def __init__(self, own: Mapping[str, object] | None = None, below: Scope | None = None) -> None:
        self.own: dict[str, object] = dict(own or {})
        self.below = below

    def find(self, name: str) -> object:
        """Gives the value of a variable; `GONE` where there is none."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.own:
                return scope.own[name]
            scope = scope.below
        return GONE

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not GONE

    def __getitem__(self, name: str) -> object:
        found = self.find(name)
        return UNKNOWN if found is GONE else found

    def __setitem__(self, name: str, value: object) -> None:
        self.own[name] = value

    def __delitem__(self, name: str) -> None:
        self.own[name] = GONE

    def __iter__(self) -> Iterator[str]:
        """Gives the names of all layers, each once."""
        names: dict[str, None] = {}
        scope: Scope | None = self
        while scope is not None:
            names |= dict.fromkeys(scope.own)
            scope = scope.below
        return (name for name in names if name in self)

    def layer(self) -> Scope:
        """Gives a scope whose changes are apart from this one."""
        return Scope(below=self)

    def merge(self, layers: Sequence[Scope]) -> None:
        """Keeps what all of these ways agree on, or what one of them alone has."""
        for name in {name: None for layer in layers for name in layer.own}:
            found = [layer.find(name) for layer in layers]
            known = [value for value in found if value is not GONE]
            if not known:
                self.own[name] = GONE
            else:
                self[name] = known[0] if all(same(known[0], it) for it in known) else UNKNOWN
