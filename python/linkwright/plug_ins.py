"""Classes of one's own by their names, `module:Class`: an import, and errors that say what would work."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Iterable, Sequence
from functools import reduce
from importlib import import_module
from pathlib import Path

from linkwright.errors import ContractError

__all__ = ["facts_of", "is_loaded", "load", "name_of", "names_of", "unknown_to_workers"]

# A class is told from what is none by one of these, as the extension tells it.
METHODS = ("choose", "packetised", "route")
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
        name: Its module and the class within, as `module:Class`.
        method: The method that tells what it is: `choose`, `packetised` or `route`.
        given: Stands for it where it cannot be imported, as a class within a function.

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
