"""Parses sources by tree-sitter."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import tree_sitter
import tree_sitter_c
import tree_sitter_cpp
import tree_sitter_cuda
import tree_sitter_python

from linkwright.errors import InputError, brief, printable
from linkwright.sources import LANGUAGES
from linkwright.sources.statements import Place

__all__ = ["Reader", "parse", "parse_part", "place_of", "refuse"]

GRAMMARS = {
    "C": tree_sitter_c.language,
    "C++": tree_sitter_cpp.language,
    "CUDA C++": tree_sitter_cuda.language,
    "Python": tree_sitter_python.language,
}

# The depth of a tree that is read; people nest no deeper.
DEEPEST = 250


def parse(path: Path, content: bytes) -> tree_sitter.Node:
    """Gives the tree of a source.

    Raises:
        InputError: If it does not parse or is nested too deeply, with the first place.
    """
    language = LANGUAGES[path.suffix]
    parser = tree_sitter.Parser(tree_sitter.Language(GRAMMARS[language]()))
    tree = parser.parse(content)
    _check(path, language, tree)
    return tree.root_node


def parse_part(content: bytes) -> tree_sitter.Node | None:
    """Gives the tree of a part of C++ or CUDA; None where it is none."""
    parser = tree_sitter.Parser(tree_sitter.Language(GRAMMARS["CUDA C++"]()))
    tree = parser.parse(content)
    if tree.root_node.has_error:
        return None
    with suppress(InputError):
        _check(Path(), "C++", tree)
        return tree.root_node
    return None


def _check(path: Path, language: str, tree: tree_sitter.Tree) -> None:
    mended = "mend it" if language == "Python" else "correct it, run its preprocessor first"
    cursor = tree.walk()
    depth = 0
    while True:
        node = cursor.node
        assert node is not None, "a cursor of a tree is at a node"
        if node.is_error or node.is_missing:
            raise refuse(
                path,
                node,
                f"this does not parse as {language}",
                f"{mended}, or write its pattern as a file for --pattern",
            )
        if depth > DEEPEST:
            raise refuse(
                path,
                node,
                f"this is nested deeper than {DEEPEST} levels",
                "leave it out, or write its pattern as a file for --pattern",
            )
        if cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            depth -= 1


def refuse(path: Path, node: tree_sitter.Node, problem: str, remedy: str) -> InputError:
    """Holds an error at a node."""
    place = place_of(node)
    lines = (node.text or b"").decode(errors="replace").splitlines()
    value = brief(lines[0]) if lines else ""
    return InputError(printable(str(path)), place.line, place.column, problem, value, remedy)


class Reader:
    """Gives the texts of nodes. A node's own attribute takes longer the later it stands."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def text(self, node: tree_sitter.Node | None) -> str:
        """Gives the text of a node; empty where there is none."""
        if node is None:
            return ""
        return self.content[node.start_byte : node.end_byte].decode(errors="replace")


def place_of(node: tree_sitter.Node) -> Place:
    """Where a node begins."""
    return Place(node.start_point[0] + 1, node.start_point[1] + 1)
