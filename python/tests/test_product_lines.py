"""Tests the count of the product's lines."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from product_lines import part_of, python_lines, rust_lines

RUST = """//! A file.

/// Says what.
fn first() -> &'static str {
    "// no comment, and no \\"end\\""
}

#[cfg(test)]
mod tests {
    fn second() {}
}

fn third() {}
"""

PYTHON = '''"""A file."""


def first() -> int:  # Why.
    """Says what."""

    text = """
# no comment
"""
    return len(text)
'''


def test_only_code_is_counted() -> None:
    assert rust_lines(RUST) == 4
    assert python_lines(PYTHON) == 5


def test_each_file_is_of_one_part_or_of_none() -> None:
    assert part_of("crates/linkwright-graph/src/graph/flow.rs") == "core"
    assert part_of("crates/linkwright-python/src/job.rs") == "binding"
    assert part_of("python/linkwright/studies/mapa/mix.py") == "studies"
    assert part_of("python/linkwright/cli/jobs.py") == "Python"
    for path in (
        "crates/linkwright/tests/it/main.rs",
        "crates/linkwright/src/scenario/tests/mod.rs",
        "crates/linkwright-bench/benches/allocation.rs",
        "python/linkwright/_core.pyi",
        "python/tests/test_jobs.py",
        "docs/index.md",
    ):
        assert part_of(path) is None, path
