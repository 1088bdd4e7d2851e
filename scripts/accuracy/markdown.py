"""Writes tables of Markdown, and puts texts between the marks of a page."""

from __future__ import annotations

from collections.abc import Sequence


def between(text: str, name: str, made: str) -> str:
    """Replaces the text between the marks of a name."""
    start = text.index(f"<!-- {name} -->") + len(f"<!-- {name} -->")
    end = text.index(f"<!-- end of {name} -->", start)
    return f"{text[:start]}\n{made}\n{text[end:]}"


def share(value: float | None) -> str:
    """Shows an error as a part of the measured figure."""
    return "" if value is None else f"{value:.1%}"


def signed(value: float | None) -> str:
    """Shows an error with its sign."""
    return "" if value is None else f"{value:+.1%}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, in_words: bool = False) -> str:
    """Writes a table of Markdown; figures are to the right where its cells are not in words."""
    columns = list(zip(*rows, strict=True)) or [()] * len(heads)
    are_figures = [any(cell.lstrip("+-")[:1].isdigit() for cell in column) for column in columns]
    rule = [
        "---:" if at and is_right and not in_words else "---"
        for at, is_right in enumerate(are_figures)
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))
