"""Lists guides first and decisions last in the site's search; a hook of MkDocs."""

from __future__ import annotations

from typing import Protocol

# The weight of a page's words, by its folder; 1 elsewhere.
WEIGHTS = {"guide": 4.0, "reference": 0.5, "decisions": 0.3}


class File(Protocol):
    """Where a page lies below the documentation's folder."""

    src_uri: str


class Page(Protocol):
    """A page and what its head says of it."""

    file: File
    meta: dict[str, object]


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Weighs a page for the search, and leaves its text as it is."""
    folder = page.file.src_uri.split("/")[0]
    if folder in WEIGHTS:
        page.meta.setdefault("search", {"boost": WEIGHTS[folder]})
    return markdown
