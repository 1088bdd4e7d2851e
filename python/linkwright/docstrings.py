"""Docstrings where Python is told to drop them (-OO, PYTHONOPTIMIZE=2) and they are texts.

Altair makes its methods of docstrings, and cannot be imported without. The help of a command is
the docstring of its function.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

__all__ = ["keep_docstrings"]

KEPT = ("altair", "linkwright.cli")


def keep_docstrings() -> None:
    """From now on the modules that need their docstrings are loaded with them."""
    if sys.flags.optimize > 1 and not any(isinstance(it, _Finder) for it in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """The module's code, from its source: the cached one has no docstrings."""
        del fullname
        source = self.get_data(self.path)
        code: CodeType = compile(source, self.path, "exec", dont_inherit=True, optimize=0)
        return code


class _Finder:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module as Python finds it, with the other loader."""
        if not any(fullname == kept or fullname.startswith(f"{kept}.") for kept in KEPT):
            return None
        found = PathFinder.find_spec(fullname, path, target)
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = _Loader(found.loader.name, found.loader.path)
        return found
