"""Texts of studies and runs as HTML: marks are rendered, all else is escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from linkwright.markdown import blocks, code_marked, line
from linkwright.studies.memory.measured import read_runs
from linkwright.studies.memory.study import study_of
from linkwright.studies.study import Study
from linkwright.studies.tables import Section, StudyTable

RUNS = Path(__file__).resolve().parents[2] / "docs" / "studies" / "data" / "memory.csv"
DOCUMENTATION = "https://github.com/linkwright/linkwright/blob/main/docs/"
# Nobody writes these but as marks of Markdown.
RAW = re.compile(r"`|\*\*|\]\(|(?<!\w)\*\w|^ *[-*] |\| *---", re.MULTILINE)


# All that Markdown can make of a text.
ELEMENTS = {"a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li"}
ELEMENTS |= {"ol", "p", "pre", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}


class Seen(HTMLParser):
    """The text that a reader of a page sees, its links, and the elements that make it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.code: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self._within: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]
        if tag in ("script", "style", "code"):
            self._within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._within and tag == self._within[-1]:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        if not self._within:
            self.text.append(data)
        elif self._within[-1] == "code":
            self.code.append(data)


def test_a_text_of_a_study_is_read_as_its_page_is() -> None:
    seen = Seen(
        blocks(
            "Than <b>: **the win of `a**b` goes.** So 2 ** 3, a "
            "[page](../concepts/pcie.md#copies), [data](data/memory.csv) and [a source](https://example.org/a_b).\n\n"
            "- *first* part\n- second part\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n"
        )
    )
    text = "".join(seen.text)
    assert RAW.search(text.replace("2 ** 3", "")) is None, text
    assert seen.code == ["a**b"]
    assert {"p", "strong", "ul", "li", "em", "table", "td"} <= seen.tags
    assert "b" not in seen.tags
    assert "<b>" in text
    assert seen.links == [
        f"{DOCUMENTATION}concepts/pcie.md#copies",
        f"{DOCUMENTATION}studies/data/memory.csv",
        "https://example.org/a_b",
    ]
    assert line("a `b` of *c*") == "a <code>b</code> of <em>c</em>"


def test_a_name_in_the_text_of_a_run_is_no_mark() -> None:
    name = "**a** _b_ [c](https://d) <e> &amp; *"
    seen = Seen(code_marked(f"The job {name} ran, as `jobs.file` says."))
    assert "".join(seen.text) == f"The job {name} ran, as  says."
    assert (seen.tags, seen.code) == ({"code"}, ["jobs.file"])


@given(st.text() | st.text(alphabet="<>&\"'`*[]()!:-|\n \\scriptjava"))
def test_no_text_becomes_an_element_of_its_own(text: str) -> None:
    for made in (blocks, line, code_marked):
        seen = Seen(f"{made(text)}")
        assert seen.tags <= ELEMENTS
        assert not [link for link in seen.links if link.lower().startswith("javascript")]


def test_the_report_of_a_study_shows_no_raw_marks() -> None:
    """The memory study has all kinds of marks, and its runs are stored."""
    seen = Seen(study_of(read_runs(RUNS)).contents()["report.html"].decode())
    assert [found for text in seen.text if (found := RAW.search(text))] == []
    assert [link for link in seen.links if link.startswith("..")] == []
    assert f"{DOCUMENTATION}concepts/" in "".join(seen.links)


def test_every_text_of_a_study_is_rendered() -> None:
    mark = "a `b` of **c**"
    table = StudyTable(mark, (mark, "n"), ((mark, 1),), note=mark)
    section = Section(mark, [mark], [table])
    # A report asks the question of a study that there is.
    study = Study("blink", "title", [mark], [section])
    seen = Seen(study.contents()["report.html"].decode())
    # The introduction, the list of parts, the title, the text; the table's title, head, cell, note.
    assert seen.code == ["b"] * 8
    assert RAW.search("".join(seen.text)) is None
