"""Finds every public name, and the object that stands behind it."""

from __future__ import annotations

from importlib import import_module

import linkwright

__all__ = ["SUBJECTS", "of_subjects"]

# Charts are functions of a run, and contracts are of plug-ins.
SUBJECTS = ("allocation", "collectives", "errors", "gpu", "network", "scenario", "training")


def of_subjects() -> dict[str, object]:
    """Gives what each name of the package and of its subjects stands for."""
    modules = [linkwright, *(import_module(f"linkwright.{subject}") for subject in SUBJECTS)]
    return {
        name: getattr(module, name)
        for module in modules
        for name in module.__all__
        if not name.startswith("__")
    }
