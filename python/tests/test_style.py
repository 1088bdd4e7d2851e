"""`scripts/style.py` counts what docs/style.md warns of, and no file has more of it than before."""

from __future__ import annotations

from pathlib import Path

import pytest

import style
from style_texts import texts_of

ROOT = Path(__file__).resolve().parents[2]

RUST = """//! Counts rings of GPUs.

/// The ring of a job.
pub struct Ring;

/// What a ring costs.
pub fn cost() -> &'static str {
    // What wins is decided by bandwidth, of which there is little.
    "so many words stand in this one text of ours"
}
"""

PYTHON = '''"""Counts rings of GPUs."""

def cost():
    """The cost of a ring."""
    # It costs as much as that of a chain.
    return "What is left is a short remark in six words."
'''

MARKDOWN = """# What is a heading

What is asked? What is left is this.

```sh
so many words of which none counts
```

- A short item.
| so many | cells |
"""


def found(tmp_path: Path, name: str, text: str) -> list[tuple[int, str]]:
    """Returns the habits of a text, by line."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return sorted(
        (read.line, kind)
        for read in texts_of(file)
        for kind, find in style.HABITS.items()
        for _ in find(read)
    )


@pytest.mark.parametrize(
    ("name", "text", "habits"),
    [
        (
            "a.rs",
            RUST,
            [
                (3, "no_verb"),
                (6, "no_verb"),
                (6, "what_is"),
                (8, "of_which"),
                (8, "what_is"),
                (9, "so_many"),
            ],
        ),
        ("a.py", PYTHON, [(4, "no_verb"), (5, "as_that_of"), (6, "what_is")]),
        ("a.md", MARKDOWN, [(3, "what_is")]),
    ],
)
def test_habits_are_counted_where_they_stand(
    tmp_path: Path, name: str, text: str, habits: list[tuple[int, str]]
) -> None:
    assert found(tmp_path, name, text) == habits


@pytest.mark.parametrize(("words", "long"), [(25, []), (26, [(1, "long_sentences")])])
def test_a_sentence_of_more_than_25_words_is_long(
    tmp_path: Path, words: int, long: list[tuple[int, str]]
) -> None:
    text = " ".join(["It"] + ["goes"] * (words - 1)) + ". It ends.\n"
    assert found(tmp_path, "a.md", text) == long


def test_a_link_and_code_count_as_their_words(tmp_path: Path) -> None:
    text = "See [" + "it " * 20 + "](https://a.b) and `so many a b c d e f g h`. `x` ends.\n"
    assert found(tmp_path, "a.md", text) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Gives the ring.", True),
        ("The ring that it links.", True),
        ("The links of a ring.", False),
        ("Whether a ring closes.", True),
        ("A ring, which may be open.", True),
        ("The name in scenarios.", False),
    ],
)
def test_a_text_has_a_verb_or_not(text: str, said: bool) -> None:
    assert style.has_verb(text) is said


def test_no_file_has_more_of_a_habit_than_before() -> None:
    rose = style.risen()
    places = [
        f"{it.file}:{it.line}: {it.kind}: {it.sentence}" for them in rose.values() for it in them
    ]
    assert places == [], "write these as docs/style.md says"


def test_every_stored_file_is_there_and_counts_are_not_above_what_is_found() -> None:
    assert set(style.stored()) <= set(style.files()), "a file is gone: scripts/style.py --store"


def test_the_page_of_style_keeps_its_own_rules() -> None:
    habits = [it for it in style.habits("docs/style.md") if it.kind == "long_sentences"]
    assert habits == []
    page = (ROOT / "docs" / "style.md").read_text(encoding="utf-8")
    assert all(f'"{words}"' in page for words in ("so many", "of which", "as that of"))
