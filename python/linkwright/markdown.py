"""Markdown as HTML, for the texts of studies and runs; all else is escaped.

Studies are written in Markdown, which their pages in the documentation show. Texts of runs quote
names from files, in which nothing but code is a mark.
"""

from __future__ import annotations

import posixpath
from functools import cache
from importlib.metadata import metadata

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markupsafe import Markup

__all__ = ["blocks", "code_marked", "line"]

# The folder of the studies' pages, below that of the documentation: links start there.
STUDIES = "studies"


def blocks(text: str) -> Markup:
    """Turns paragraphs, lists and tables into HTML."""
    return Markup(_of_studies().render(text))


def line(text: str) -> Markup:
    """Renders the marks within a line, such as a title or a cell."""
    return Markup(_of_studies().renderInline(text))


def code_marked(text: str) -> Markup:
    """Renders a text in which the words between backquotes are code."""
    return Markup(_of_runs().renderInline(text))


@cache
def _of_studies() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    reader.core.ruler.push("lead_to_documentation", _lead_to_documentation)
    return reader


@cache
def _of_runs() -> MarkdownIt:
    return MarkdownIt("zero").enable("backticks")


def _lead_to_documentation(state: StateCore) -> None:
    """Makes links to other pages whole, since a report stands alone."""
    for token in state.tokens:
        for inner in token.children or ():
            target = inner.attrGet("href")
            if isinstance(target, str) and ":" not in target:
                inner.attrSet("href", _documentation() + posixpath.normpath(f"{STUDIES}/{target}"))


@cache
def _documentation() -> str:
    """Where the documentation is published, with a slash at its end."""
    urls = dict(url.split(", ", 1) for url in metadata("linkwright").get_all("Project-URL") or ())
    return str(urls["Documentation"]).removesuffix("index.md")
