"""Tells who talks to whom by sources, as MAPA does (SC'21, Section 3.1, Fig. 9a)."""

from __future__ import annotations

from pathlib import Path

__all__ = ["LANGUAGES", "is_source"]

# The language of a file by how its name ends. A header may be of any of the family.
LANGUAGES = {
    ".c": "C",
    ".cc": "C++",
    ".cpp": "C++",
    ".cxx": "C++",
    ".hpp": "C++",
    ".cu": "CUDA C++",
    ".cuh": "CUDA C++",
    ".h": "CUDA C++",
    ".py": "Python",
}


def is_source(path: Path) -> bool:
    """Whether the name of a file is that of a source."""
    return path.suffix in LANGUAGES
