"""Finds classes of one's own by their names, `module:Class`."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Iterable, Mapping
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

from linkwright._core import plug_in_name, plug_in_named
from linkwright.errors import ContractError, SweepError

__all__ = ["check_for_workers", "facts_of", "is_loaded", "load", "named", "source_files"]

# Each kind has a method that no other has.
WHAT = {
    "choose": "an allocation policy",
    "packetised": "an order of network interfaces",
    "route": "a routing",
}


def _within(module: object, path: str) -> object:
    """Gives the attribute of a module at a path of names, such as `Outer.Inner`."""
    return reduce(getattr, path.split("."), module)


def is_loaded(name: str, plug_in: object) -> bool:
    """Tells whether the module that was imported last has this class or object by its name."""
    module, _, path = name.partition(":")
    try:
        return _within(sys.modules[module], path) is plug_in
    except (AttributeError, KeyError):
        return False


def load(name: str, method: str, given: object = None) -> object:
    """Imports a class from the current folder or an installed package.

    Args:
        name: It says `module:Class`.
        method: It has this: `choose`, `packetised` or `route`.
        given: Takes its place where nobody can import it.

    Raises:
        ContractError: If there is no such module or class, or if the class has no such method.
    """
    module, _, path = name.partition(":")
    try:
        found = _within(_imported(module), path)
    except AttributeError:
        found = given
        if found is None:
            problem = f"module `{module}` has no class `{path}`"
            raise ContractError(problem, "give the name of a class in it") from None
    except ContractError:
        if given is None:
            raise
        found = given
    if not hasattr(found, method):
        problem = f"`{name}` has no method `{method}`, as {WHAT[method]} has"
        raise ContractError(problem, "write it, as linkwright.contracts describes it")
    return found


def _imported(module: str) -> object:
    """Imports a module.

    Raises:
        ContractError: If it is not there, or raises an exception.
    """
    here = os.getcwd()  # noqa: PTH109
    if here not in sys.path:
        # Behind all else, so that no file of this folder stands in for an installed package.
        sys.path.append(here)
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            remedy = f"run where `{error.name.partition('.')[0]}.py` stands, or install its package"
            raise ContractError(f"there is no module `{error.name}`", remedy) from None
        remedy = f"install `{error.name}`"
        raise ContractError(f"module `{module}` imports `{error.name}`", remedy) from error
    except (Exception, SystemExit) as error:
        problem = f"importing `{module}` raises {type(error).__name__}: {error}"
        raise ContractError(problem, f"mend what `import {module}` shows") from error


def named(value: Any) -> Any:
    """Gives a value in which every class of one's own is its name, in lists and tables, too."""
    if isinstance(value, Mapping):
        return {key: named(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [named(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return plug_in_name(value) or value


def _given(name: str) -> Any:
    """Gives the class of a name, or of the object that it stands for; None of no known one."""
    found = plug_in_named(name)
    return found if found is None or isinstance(found, type) else type(found)


def _source_of(name: str) -> Path | None:
    """Finds the file of a class; None of one that was typed."""
    try:
        found = inspect.getsourcefile(_given(name))
    except TypeError:
        return None
    return None if found is None or not Path(found).is_file() else Path(found)


def source_files(names: Iterable[str]) -> list[Path]:
    """Lists the files of the classes, each once."""
    return list(dict.fromkeys(file for file in map(_source_of, names) if file is not None))


def facts_of(names: Iterable[str]) -> dict[str, object]:
    """Gives what a manifest says of classes: each one, its module and the hash of its source."""
    facts: list[dict[str, object]] = []
    for name in dict.fromkeys(name for name in names if ":" in name):
        module, _, path = name.partition(":")
        source = _source_of(name)
        content = None if source is None else source.read_bytes()
        hashed = None if content is None else hashlib.sha256(content).hexdigest()
        facts.append({"class": path, "module": module, "source_sha256": hashed})
    return {"plug_ins": facts} if facts else {}


def check_for_workers(names: Iterable[str]) -> None:
    """Refuses classes that another process cannot import by their names.

    Raises:
        SweepError: If there is one.
    """
    for name in names:
        module = name.partition(":")[0]
        if module == "__main__" or not is_loaded(name, plug_in_named(name)):
            raise SweepError(
                f"other processes cannot import the class `{name}`",
                "put it at the top level of a module, and give the class, not an object",
            )
