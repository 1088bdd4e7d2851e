"""Reads the prose of a source file or a page: its sentences without code, tables and headings."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Text", "texts_of"]

# A text of a program with fewer words is a name or a label.
FEWEST_WORDS = 6

CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
SECTION = re.compile(r"( *)(Args|Attributes|Returns|Raises|Yields|Examples):")
RUST_STRING = re.compile(r'(?<![\w\'])r?"((?:[^"\\]|\\.)*)"', re.DOTALL)


@dataclass(frozen=True)
class Text:
    """Holds a block of prose: its first line, its words, and whether it documents an item."""

    line: int
    words: str
    documents: bool = False


def texts_of(file: Path) -> Iterator[Text]:
    """Yields a file's prose: all of Markdown; of programs, comments, documentation and texts.

    Raises:
        OSError: If it cannot be read.
    """
    text = file.read_text(encoding="utf-8")
    read = {".md": _markdown, ".rs": _rust, ".py": _python}[file.suffix]
    yield from read(text)


def _plain(words: str) -> str:
    """A text whose code is one word and whose links are their texts."""
    return " ".join(LINK.sub(r"\1", CODE.sub("Code", words)).split())


def _blocks(lines: Sequence[tuple[int, str]], documents: bool = False) -> Iterator[Text]:
    """Yields paragraphs and items of lines of Markdown; neither code, nor tables, nor headings.

    In documentation each entry of a section is a block of its own, and names what it describes, so
    that it needs no verb. Examples are code.
    """
    block: list[str] = []
    start = 0
    fenced = within = False
    section: re.Match[str] | None = None
    for number, line in [*lines, (0, "")]:
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        fence = stripped.startswith(("```", "~~~"))
        fenced ^= fence
        heading = SECTION.fullmatch(line) if documents else None
        if section and stripped and not heading and indent <= len(section[1]):
            section = None
        code = line.startswith("    ") and not block and not section
        code = code or (section is not None and section[2] == "Examples")
        other = (
            fenced
            or fence
            or code
            or bool(heading)
            or not stripped
            or stripped.startswith(("|", "#", "<", ">>>"))
        )
        item = re.match(r"([-*+]|\d+\.)\s+", stripped)
        entry = section is not None and indent == len(section[1]) + 4
        if (other or item or entry) and block:
            yield Text(start, _plain(" ".join(block)), documents and not within)
            block = []
        section = heading or section
        if not other:
            if not block:
                start, within = number, bool(item) or section is not None
            named = re.match(r"\*{0,2}\w+: ", stripped) if entry else None
            opening = item or named
            block.append(stripped[opening.end() :] if opening else stripped)


def _markdown(text: str) -> Iterator[Text]:
    yield from _blocks(list(enumerate(text.splitlines(), 1)))


def _rust(text: str) -> Iterator[Text]:
    block: list[tuple[int, str]] = []
    kind = ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        comment = re.match(r"\s*(//[/!]?)(?: (.*)|$)", line)
        now = comment[1] if comment else ""
        if now != kind and block:
            yield from _blocks(block, documents=kind in ("///", "//!"))
            block = []
        kind = now
        if comment:
            block.append((number, comment[2] or ""))
    code = re.sub(r"(?m)^[ \t]*//.*$", "", text)
    for found in RUST_STRING.finditer(code):
        words = re.sub(r"\\\n\s*", "", found[1]).replace("\\n", "\n")
        yield from _said(code.count("\n", 0, found.start()) + 1, words)


def _python(text: str) -> Iterator[Text]:
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            holder = node.body[0]
            docstrings.add(holder.lineno)
            words = ast.get_docstring(node) or ""
            yield from _blocks(list(enumerate(words.splitlines(), holder.lineno)), documents=True)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.lineno not in docstrings
        ):
            yield from _said(node.lineno, node.value)
    comments: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        if comments and token.start[0] != comments[-1][0] + 1:
            yield from _blocks(comments)
            comments = []
        comments.append((token.start[0], token.string.lstrip("#").strip()))
    yield from _blocks(comments)


def _said(line: int, words: str) -> Iterator[Text]:
    """A text that a program says, where it is long enough to be one."""
    if len(re.findall(r"[A-Za-z]{2,}", words)) >= FEWEST_WORDS and "\n" not in words.strip():
        yield Text(line, _plain(words))
