"""A verdict of the doctor: the cause, its proof, and where to look."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from linkwright.cli import output
from linkwright.doctor import Diagnosed

__all__ = ["print_verdict", "verdict_fields"]


def print_verdict(found: Diagnosed) -> None:
    """Prints the verdict, and of a cause its proof and where to look."""
    output.say(found.headline)
    if found.kind != "cause" or not found.causes:
        return
    first = found.causes[0]
    if first.line is not None:
        output.say(f"proof  {first.line}")
    output.say(f"look   at {first.look}")
    output.say(f"       $ {first.command}")


def verdict_fields(found: Diagnosed) -> dict[str, Any]:
    """The verdict as data, without its rows."""
    fields = asdict(found)
    return {name: fields[name] for name in ("kind", "headline", "causes")}
