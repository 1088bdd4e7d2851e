"""Spans and moments of time as people type and read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import typer

__all__ = ["moment_text", "parse_duration"]

UNITS = {"d": 86400.0, "h": 3600.0, "min": 60.0, "m": 60.0, "sec": 1.0, "s": 1.0}
UNITS |= {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
PART = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([a-z]+)\s*")
# A hundred years; a longer span is a slip of the finger.
LONGEST = 100 * 365 * 86400


def parse_duration(text: str | None) -> float | None:
    """The seconds in `90s`, `30min`, `2h`, `1d` or `1h30m`; None where there is no text.

    Raises:
        typer.BadParameter: If the text is no such span, or longer than a hundred years.
    """
    if text is None:
        return None
    rest, seconds = text.strip().lower(), 0.0
    while found := PART.match(rest):
        if found[2] not in UNITS:
            break
        seconds += float(found[1]) * UNITS[found[2]]
        rest = rest[found.end() :]
    if rest or not text.strip() or seconds > LONGEST:
        raise typer.BadParameter(f"`{text}` is no span of time; write one like 90s, 30min or 2h.")
    return seconds


def moment_text(seconds: float) -> str:
    """Gives a moment, given in seconds since 1970, as `2026-11-22 02:10:10 UTC`."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f} s after 1970"
