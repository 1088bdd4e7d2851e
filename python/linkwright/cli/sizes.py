"""Amounts of data as people type and read them."""

from __future__ import annotations

import re

import typer

__all__ = ["parse_size", "size_text"]

# A letter alone is binary, as it is for nccl-tests.
UNITS: dict[str, int] = {
    "": 1,
    "B": 1,
    **{letter: 1 << 10 * power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}iB": 1 << 10 * power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}B": 10 ** (3 * power) for power, letter in enumerate("kMGT", 1)},
}
FORM = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*)")
BY_NAME = {unit.upper(): unit for unit in UNITS}


def parse_size(text: str) -> int:
    """The bytes in `64MiB`, `64M` (the same, as for nccl-tests), `64MB` (10^6 each) or `8`.

    Raises:
        typer.BadParameter: If the text is no such amount, or no whole number of bytes.
    """
    found = FORM.fullmatch(text.strip())
    unit = BY_NAME.get(found[2].upper()) if found else None
    if found is None or unit is None:
        raise typer.BadParameter(f"`{text}` is no size; write bytes like 8, 64MiB or 1G.")
    whole, _, part = found[1].partition(".")
    scale: int = 10 ** len(part)
    scaled, rest = divmod(int(whole + part) * UNITS[unit], scale)
    if rest:
        raise typer.BadParameter(f"`{text}` is no whole number of bytes.")
    if scaled == 0:
        raise typer.BadParameter(f"`{text}` is nothing to move; give one byte or more.")
    return scaled


def size_text(size: int) -> str:
    """The size in the largest binary unit that holds it in three digits or exactly."""
    for unit in ("GiB", "MiB", "KiB"):
        scale = UNITS[unit]
        if size >= scale:
            value = size / scale
            return f"{size // scale} {unit}" if size % scale == 0 else f"{value:.4g} {unit}"
    return f"{size} B"
