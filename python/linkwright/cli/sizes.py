"""Reads and writes amounts of data as people type them."""

from __future__ import annotations

import typer

from linkwright.texts import SIZE_UNITS, size_in

__all__ = ["parse_size", "size_text"]


def parse_size(text: str) -> int:
    """Gives the bytes in `64MiB`, `64M` (the same, as for nccl-tests), `64MB` (10^6 each) or `8`.

    Raises:
        typer.BadParameter: If the text is no such amount, or no whole number of bytes.
    """
    try:
        size = size_in(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}.") from None
    if size == 0:
        raise typer.BadParameter(f"`{text}` is nothing to move; give one byte or more.")
    return size


def size_text(size: int) -> str:
    """The size in the largest binary unit that holds it in three digits or exactly."""
    for unit in ("GiB", "MiB", "KiB"):
        scale = SIZE_UNITS[unit]
        if size >= scale:
            value = size / scale
            return f"{size // scale} {unit}" if size % scale == 0 else f"{value:.4g} {unit}"
    return f"{size} B"
