"""The reader of NCCL's tuner files keeps the rules of NCCL's example plugin, traps and all.

Each test of a trap names what of `plugin.c` (NCCL 2.30.7, `plugins/tuner/example`) it holds to.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from linkwright.errors import CollectiveError
from linkwright.nccl_tuner import (
    ALGORITHMS,
    COLLECTIVES,
    LARGEST,
    PROTOCOLS,
    TunerAnswer,
    TunerFile,
    TunerRow,
    read_tuner,
    read_tuner,
)

ROW = "allreduce,0,1048576,tree,ll128,12,2,16,-1,-1"


def channels(text: str, size: int = 1024, **job: Any) -> int:
    return answer(text, size, **job).channels


def answer(text: str, size: int = 1024, **job: Any) -> TunerAnswer:
    return TunerFile.from_text(text).answer("all-reduce", size, 2, 16, **job)


def test_the_row_that_matches_says_cell_and_channels() -> None:
    found = answer(ROW)
    assert found.row is not None
    assert found.row.cell == ("tree", "LL128")
    assert found.channels == 12
    assert found.row.line == ROW


def test_one_channel_is_set_before_a_row_is_looked_for() -> None:
    """Line 361: `*nChannels = 1`, which nothing takes back where no row matches."""
    assert answer(ROW, 1048577) == answer("")
    assert answer("").channels == 1
    assert answer("").row is None


def test_channels_of_minus_one_are_one_channel() -> None:
    """Lines 407 to 409 leave the number alone, which is the one of line 361."""
    assert channels(ROW.replace(",12,", ",-1,")) == 1
    assert channels(ROW.replace(",12,", ",0,")) == 0


def test_an_unknown_name_counts_as_all_reduce_ring_and_simple() -> None:
    """Lines 59 to 66, 81 to 90 and 107 to 112 end so."""
    file = TunerFile.from_text("all_reduce,0,9,Tree,LL,4,2,16")
    assert file.rows[0].cell == ("ring", "Simple")
    assert file.rows[0].collective == "all-reduce"
    assert file.notes == [
        "line 1: the plugin takes `all_reduce` for all-reduce",
        "line 1: the plugin takes `Tree` for ring",
        "line 1: the plugin takes `LL` for Simple",
    ]


def test_the_first_row_that_matches_is_taken_unless_nccl_refuses_its_cell() -> None:
    """The loop that begins at line 370 goes on where a cell is marked to be ignored."""
    text = f"{ROW}\n{ROW.replace('tree', 'ring').replace(',12,', ',5,')}"
    assert channels(text) == 12
    assert channels(text, refused={("tree", "LL128")}) == 5
    assert answer(text, refused={("tree", "LL128"), ("ring", "LL128")}).row is None


def test_remarks_begin_at_a_line_s_start_alone() -> None:
    """Lines 136 and 199 look at the first character."""
    assert TunerFile.from_text(f"#{ROW}\n\n").rows == []
    assert len(TunerFile.from_text(f"{ROW} # why").rows) == 1
    assert TunerFile.from_text(f" #{ROW}").rows[0].collective == "all-reduce"


def test_a_line_ends_at_255_bytes() -> None:
    """`MAX_LINE_LENGTH` of 256 holds the end of the text, too; `fgets` goes on from there."""
    remark = "#" * 255
    assert TunerFile.from_text(f"{remark}{ROW}").rows[0].line == ROW
    assert TunerFile.from_text(f"{remark[1:]}\n{ROW}").rows[0].line == ROW
    assert TunerFile.from_text(f"{'#' * 300}{ROW}").rows == []


def test_a_head_line_and_rows_of_few_fields_are_passed_over_or_misread() -> None:
    """There is no head line: its words are a row of all-reduce from 0 to 0."""
    head = "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks"
    row = TunerFile.from_text(head).rows[0]
    assert (row.first, row.last, row.channels, row.nodes) == (0, 0, 0, 0)
    few = TunerFile.from_text("allreduce,0,9,ring,ll,4,2")
    assert few.rows == []
    assert few.notes == ["line 1: 7 fields; the plugin passes it over"]
    assert TunerFile.from_text("allreduce,,0,9,ring,ll,4,2,16").rows[0].last == 9


def test_fields_nine_and_ten_may_be_left_out_and_more_do_not_count() -> None:
    """Lines 229 to 254."""
    of_eight = ROW.removesuffix(",-1,-1")
    for more in ("", ",-1", ",-1,-1", ",-1,-1,7"):
        assert TunerFile.from_text(of_eight + more).rows[0] == TunerFile.from_text(ROW).rows[0]
    assert channels(f"{of_eight},4,1", pipe_operations=4, registered=True) == 12
    assert channels(f"{of_eight},4,1", pipe_operations=4) == 1
    assert channels(f"{of_eight},4,1", pipe_operations=3, registered=True) == 1


def test_sizes_beyond_four_gibibytes_are_written_out() -> None:
    """Lines 232 and 233 read 64 bits; 4294967295 of the plugin's README ends at 4 GiB."""
    to_the_end = ROW.replace("1048576", str(LARGEST))
    assert channels(to_the_end, 2**40) == 12
    assert channels(ROW.replace("1048576", "4294967295"), 2**32) == 1
    assert TunerFile.from_text(ROW.replace("1048576", "99999999999999999999")).rows[0].last == LARGEST
    assert TunerFile.from_text(ROW.replace("1048576", "-1")).rows[0].last == LARGEST


def test_communicators_of_other_sizes_find_no_row() -> None:
    file = TunerFile.from_text(ROW)
    for nodes, ranks in ((1, 16), (2, 8), (4, 32)):
        assert file.answer("all-reduce", 1024, nodes, ranks).channels == 1
    anywhere = TunerFile.from_text(ROW.replace(",2,16,", ",-1,-1,"))
    assert anywhere.answer("all-reduce", 1024, 4, 32).channels == 12


def test_what_nccl_asks_no_tuner_about_is_refused() -> None:
    with pytest.raises(CollectiveError, match="no tuner is asked for `all-to-all`"):
        TunerFile.from_text(ROW).answer("all-to-all", 8, 2, 16)


def test_a_file_is_read_as_its_text_is(tmp_path: Path) -> None:
    path = tmp_path / "tuner.csv"
    path.write_text(f"{ROW}\r\n")
    assert read_tuner(path) == TunerFile.from_text(ROW)


def any_row(dice: random.Random) -> TunerRow:
    return TunerRow(
        dice.choice(list(COLLECTIVES.values())),
        dice.randrange(2 ** dice.randrange(1, 64)),
        dice.randrange(2 ** dice.randrange(1, 65)),
        dice.choice(list(ALGORITHMS.values())),
        dice.choice(list(PROTOCOLS.values())),
        dice.randrange(-1, 65),
        dice.randrange(-1, 10_000),
        dice.randrange(-1, 100_000),
        dice.randrange(-1, 9),
        dice.randrange(-1, 2),
    )


def test_rows_that_are_written_are_read_back() -> None:
    dice = random.Random(53)
    for _ in range(500):
        rows = [any_row(dice) for _ in range(dice.randrange(5))]
        text = "".join(f"{row.line}\n" for row in rows)
        assert TunerFile.from_text(text).rows == rows


def test_any_text_is_read() -> None:
    """Also what no person wrote: the plugin refuses nothing, and so does the reader."""
    dice = random.Random(27)
    letters = "al,redu-+0123456789 \t#\n\r\0\u00e9\ud800"
    for _ in range(2_000):
        text = "".join(dice.choices(letters, k=dice.randrange(80)))
        at = dice.randrange(len(ROW))
        for damaged in (text, ROW[:at] + text + ROW[at:], ROW[:at] + text):
            file = TunerFile.from_text(damaged)
            assert isinstance(file, TunerFile)
            assert file.answer("all-reduce", 9, 2, 16).channels >= 0 or file.rows
    for content in (b"\xff" * 1_000, b"\0" * 600, b",,,,,,,,,,\n" * 50, b"9" * 5_000):
        assert TunerFile.from_text(content).rows == []
