"""Counts, file by file, the habits that make this repository's texts hard to read.

`docs/style.md` says which habits these are and what to write in their place. `scripts/style.csv`
holds the counts as they were last stored; `python/tests/test_style.py` fails where one rises.

    scripts/style.py               prints every file whose counts rose, with the texts
    scripts/style.py FILE ...      prints what it counts in these files
    scripts/style.py --store       stores counts that fell; refuses where one rose
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from style_texts import Text, texts_of

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "scripts" / "style.csv"
LONGEST_SENTENCE = 25

# Histories and tables that other programs write are not prose of today.
LEFT_OUT = re.compile(
    r"^(docs/decisions/\d|docs/studies/network-full\.md|python/tests/(frozen|golden)/"
    r"|python/linkwright/(_core\.pyi|names\.py)$)"
)

SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9`_])")
WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")

_LISTS = tomllib.loads((ROOT / "scripts" / "style.toml").read_text(encoding="utf-8"))
AUXILIARIES, VERBS, EITHER, SUBJECTS, ORDERS = (
    frozenset(_LISTS[name].split())
    for name in ("auxiliaries", "verbs", "verbs_or_plurals", "subjects", "orders")
)


def _sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a block of prose."""
    yield from (found for found in SENTENCE_END.split(text.strip()) if found)


def _long(text: Text) -> Iterator[str]:
    for sentence in _sentences(text.words):
        if len(WORD.findall(sentence)) > LONGEST_SENTENCE:
            yield sentence


def _phrase(pattern: str) -> Callable[[Text], Iterator[str]]:
    found = re.compile(rf"\b{pattern}\b", re.IGNORECASE)

    def count(text: Text) -> Iterator[str]:
        for sentence in _sentences(text.words):
            yield from (sentence for _ in found.finditer(sentence))

    return count


def _what_is(text: Text) -> Iterator[str]:
    """Yields sentences and clauses that have "what ..." as their subject."""
    for sentence in _sentences(text.words):
        if not sentence.rstrip("\"')").endswith("?") and re.search(
            r"(?:^|[:;] |, and )[\"'(]*what\b", sentence, re.IGNORECASE
        ):
            yield sentence


def has_verb(text: str) -> bool:
    """Whether a text says something of something, as far as lists of verbs can tell."""
    words = [word.lower() for word in WORD.findall(text)]
    if not words:
        return True
    if words[0] in VERBS | EITHER | ORDERS or AUXILIARIES.intersection(words):
        return True
    return any(
        word in VERBS or (word in EITHER and before in SUBJECTS) for before, word in pairwise(words)
    )


def _no_verb(text: Text) -> Iterator[str]:
    if text.documents and not has_verb(text.words):
        yield text.words


# These are the columns of `style.csv`, with the habit that each counts.
HABITS: dict[str, Callable[[Text], Iterator[str]]] = {
    "long_sentences": _long,
    "so_many": _phrase(r"so (?:many|much|few|little)"),
    "of_which": _phrase(r"of (?:which|whom)"),
    "as_that_of": _phrase(r"(?:as|than) (?:that|those) of"),
    "what_is": _what_is,
    "no_verb": _no_verb,
}


@dataclass(frozen=True)
class Habit:
    """One place where a text has a habit: which, in which file and line, and its sentence."""

    kind: str
    file: str
    line: int
    sentence: str


def habits(file: str) -> Iterator[Habit]:
    """Yields every habit of a file, named from the repository's root.

    Raises:
        OSError: If it cannot be read.
    """
    for text in texts_of(ROOT / file):
        for kind, find in HABITS.items():
            for sentence in find(text):
                yield Habit(kind, file, text.line, sentence)


def files() -> list[str]:
    """Every file whose texts are counted, in order."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.rs", "*.py", "*.md"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return sorted(file for file in listed if not LEFT_OUT.search(file) and (ROOT / file).exists())


def stored() -> dict[str, Counter[str]]:
    """The counts that no file may pass; a file that is not in it may have none."""
    with STORED.open(encoding="utf-8", newline="") as lines:
        return {
            row["file"]: Counter({kind: int(row[kind]) for kind in HABITS})
            for row in csv.DictReader(lines)
        }


def counted(found: Sequence[Habit]) -> Counter[str]:
    """How often each habit is found."""
    return Counter(habit.kind for habit in found)


def risen() -> dict[str, list[Habit]]:
    """The files with more of a habit than is stored, with all places of that habit."""
    allowed = stored()
    rose = {}
    for file in files():
        found = list(habits(file))
        more = counted(found) - allowed.get(file, Counter())
        if more:
            rose[file] = [habit for habit in found if habit.kind in more]
    return rose


def store() -> None:
    """Writes what every file has now."""
    with STORED.open("w", encoding="utf-8", newline="") as lines:
        rows = csv.writer(lines, lineterminator="\n")
        rows.writerow(["file", *HABITS])
        for file in files():
            count = counted(list(habits(file)))
            if count:
                rows.writerow([file, *(count[kind] for kind in HABITS)])


def main(words: Sequence[str]) -> int:
    """Runs the script."""
    if list(words) == ["--store"]:
        rose = risen() if STORED.exists() else {}
        if not rose:
            store()
            return 0
        places = [habit for found in rose.values() for habit in found]
    elif words:
        places = [habit for file in words for habit in habits(file)]
    else:
        places = [habit for found in risen().values() for habit in found]
    for habit in places:
        print(f"{habit.file}:{habit.line}: {habit.kind}: {habit.sentence}")
    return 1 if places else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
