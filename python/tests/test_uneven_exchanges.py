"""Tests exchanges whose messages differ in length, and the files that say what goes where."""

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from commands import linkwright

from linkwright import System, expect
from linkwright.byte_matrices import byte_matrix, read_byte_matrix
from linkwright.collectives import expect_all_to_allv
from linkwright.errors import CollectiveError, InputError

numpy = pytest.importorskip("numpy")
EXPERTS = Path(__file__).parents[2] / "examples" / "collectives" / "experts-8.csv"
H100 = System("hgx-h100")
EIGHT = list(range(8))


def times(system: System, rows: Any) -> tuple[float, float]:
    (row,), *_ = expect_all_to_allv(system, list(range(system.gpu_count)), rows)
    return float(row["time"]), float(row["bound_time"])


@pytest.mark.parametrize("message", [1000, 1 << 20, 10_000_001])
def test_an_even_matrix_is_an_all_to_all(message: int) -> None:
    (whole,) = expect(H100, EIGHT, "all-to-all", [8 * message])
    assert times(H100, [[message] * 8] * 8)[0] == whole["time"]


def test_lists_and_arrays_are_read_alike(tmp_path: Path) -> None:
    rows = read_byte_matrix(EXPERTS)
    array = numpy.array(rows)
    assert times(H100, rows) == times(H100, array)
    for saved in (array, array.astype(float), numpy.asfortranarray(array.astype("uint32"))):
        numpy.save(tmp_path / "experts.npy", saved)
        assert read_byte_matrix(tmp_path / "experts.npy") == rows
    for text in ("%d", "%.18e"):
        numpy.savetxt(tmp_path / "experts.txt", array, fmt=text)
        assert read_byte_matrix(tmp_path / "experts.txt") == rows


def test_skew_costs_time_and_no_exchange_passes_its_bound() -> None:
    chance = random.Random(53)
    even, _ = times(H100, [[8 << 20] * 8] * 8)
    skewed, bound = times(H100, read_byte_matrix(EXPERTS))
    assert skewed > 1.5 * even
    assert skewed >= bound > 0
    for _ in range(20):
        rows = [[chance.choice([0, chance.randrange(1 << 24)]) for _ in EIGHT] for _ in EIGHT]
        time, bound = times(H100, rows)
        assert time >= bound


def test_nothing_to_move_takes_no_time() -> None:
    (row,), links, ranks, notes = expect_all_to_allv(H100, EIGHT, [[0] * 8] * 8)
    assert (row["time"], row["bound_time"], row["protocol"]) == (0, 0, "")
    assert (list(links), ranks) == ([], [])
    assert "nothing moves" in notes[-1]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("0,1\n-1,0\n", "2:1", "below 0"),
        ("0,nan\n1,0\n", "1:3", "not a finite"),
        ("0,inf\n1,0\n", "1:3", "not a finite"),
        ("0,1\n1;x\n", "2:3", "not a number"),
        ("0,1.5\n1,0\n", "1:3", "not a whole"),
        ("0,1125899906842625\n1,0\n", "1:3", "above 2^50"),
        ("0,1e300\n1,0\n", "1:3", "above 2^50"),
        ("0,1\n# mine\n\n1,0,2\n", "4:1", "a row of 3 values in a matrix of 2 rows"),
        ("\n# only\n", "1:1", "no row"),
    ],
)
def test_what_is_no_matrix_is_refused_with_its_place(text: str, place: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        byte_matrix(text, "bytes.csv")
    assert str(refused.value).startswith(f"bytes.csv:{place}: ")
    assert words in str(refused.value)
    assert refused.value.remedy


def test_a_matrix_of_another_job_is_refused() -> None:
    with pytest.raises(CollectiveError, match="the matrix has 2 rows, and the job has 8 GPUs"):
        expect_all_to_allv(H100, EIGHT, [[0, 1], [1, 0]])
    with pytest.raises(CollectiveError, match="row 0, column 1 of the matrix"):
        expect_all_to_allv(H100, [0, 1], [[0, -1], [1, 0]])


def test_hostile_text_is_refused_in_words() -> None:
    chance = random.Random(7)
    letters = "0123456789,; \t\n\r.eE+-xn#\x00\x1b\u202e"
    for _ in range(2_000):
        text = "".join(chance.choice(letters) for _ in range(chance.randrange(40)))
        rows, refusal = [], ""
        try:
            rows = byte_matrix(text)
        except InputError as error:
            refusal = str(error)
        assert refusal.isprintable()
        if not refusal:
            assert all(len(row) == len(rows) for row in rows)
            assert all(0 <= value <= 1 << 50 for row in rows for value in row)


def test_hostile_arrays_are_refused_in_words(tmp_path: Path) -> None:
    saved = io.BytesIO()
    numpy.save(saved, numpy.ones((3, 3), int))
    good, chance = saved.getvalue(), random.Random(11)
    file = tmp_path / "bytes.npy"
    for _ in range(1_000):
        bad = bytearray(good)
        for _ in range(chance.randrange(1, 4)):
            bad[chance.randrange(6, len(bad))] = chance.randrange(256)
        file.write_bytes(bad[: chance.choice([len(bad), chance.randrange(6, len(bad))])])
        rows, refusal = [], ""
        try:
            rows = read_byte_matrix(file)
        except InputError as error:
            refusal = str(error)
        assert refusal.isprintable()
        if not refusal:
            assert all(0 <= value <= 1 << 50 for row in rows for value in row)
    header = good.replace(b"(3, 3)", b"(9**9,9)"[:6])
    file.write_bytes(header)
    with pytest.raises(InputError):
        read_byte_matrix(file)


def test_the_command_says_time_bound_and_links() -> None:
    found = json.loads(
        linkwright("collective", "all-to-allv", EXPERTS, "-m", "hgx-h100", "--json").stdout
    )
    assert found["bound"]["gpus"] == [0]
    assert not found["bound"]["leaves"]
    assert found["time"] >= found["bound"]["time"]
    said = linkwright("collective", "all-to-allv", EXPERTS, "-m", "hgx-h100").stdout
    assert "enter GPU 0 over" in said


def test_a_lost_gpu_takes_its_row_and_column() -> None:
    words = ["collective", "all-to-allv", EXPERTS, "-m", "hgx-h100", "--without", "GPU0", "--json"]
    found = json.loads(linkwright(*words).stdout)
    assert found["gpus"] == EIGHT[1:]
    assert found["time"] < found["whole_time"]
