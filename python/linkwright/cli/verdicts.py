"""Prints a verdict of the doctor: the cause, its proof, and where to look."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from linkwright.cli import output
from linkwright.doctor import Diagnosed, DiagnosedCause

__all__ = ["print_look", "print_verdict", "verdict_fields"]


def print_verdict(found: Diagnosed) -> None:
    """Prints the verdict, and of a cause its proof."""
    output.say(found.headline)
    first = _first(found)
    if first is not None and first.line is not None:
        output.say(f"proof  {first.line}")


def print_look(found: Diagnosed) -> None:
    """Prints where to look for a cause, and the command that shows it."""
    first = _first(found)
    if first is not None:
        output.say(f"look   at {first.look}")
        output.say(f"       $ {first.command}")


def _first(found: Diagnosed) -> DiagnosedCause | None:
    return found.causes[0] if found.kind == "cause" and found.causes else None


def verdict_fields(found: Diagnosed) -> dict[str, Any]:
    """Gives the verdict as data, without its rows."""
    fields = asdict(found)
    return {name: fields[name] for name in ("kind", "headline", "causes")}
