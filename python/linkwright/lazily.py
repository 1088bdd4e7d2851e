"""Offers names of other modules, which are imported when somebody asks for one.

A command that decides in microseconds does not wait for modules that it does not use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(
    module: str, names: Sequence[str], where: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Gives a module's `__getattr__` and `__dir__`.

    Args:
        module: The name of the module that offers the names.
        names: All names that it offers; `dir()` lists them and no others.
        where: The names that other modules hold, by their module.
    """
    holders = {name: holder for holder, held in where.items() for name in held}

    def find(name: str) -> Any:
        if name not in holders:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        found = getattr(import_module(holders[name]), name)
        setattr(sys.modules[module], name, found)
        return found

    def listed() -> list[str]:
        return sorted(names)

    return find, listed
