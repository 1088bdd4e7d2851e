"""Holds the readings and read-backs of the PCIe study to its page."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from linkwright.studies.pcie.published import published
from linkwright.studies.pcie.readback import CASES, last_copies, read_backs
from linkwright.studies.pcie.readings import READINGS, play
from linkwright.studies.tables import section_markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "studies" / "pcie.md"
WINDOW = 0.3e-3


def rows_of(title: str) -> list[list[str]]:
    """Gives the cells of a table of the page whose title begins so."""
    part = PAGE.read_text(encoding="utf-8").partition(f"**{title}")[2].partition("\n\n")[2]
    lines = part.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def percent(cell: str) -> float:
    return float(cell.rstrip("%")) / 100


def test_every_reading_stands_beside_the_paper_and_the_nearest_is_named() -> None:
    said, *rows = rows_of("Throughput over round-robin in every reading")
    throughput = published()["throughput"]
    keys = ("small_first", "qos", "small_task", "large_task")
    assert [percent(cell) for cell in said[4:8]] == [
        pytest.approx(throughput[key] / 100) for key in keys
    ]
    assert [row[:3] for row in rows] == [
        [f"{copied:g}", link, kernels]
        for copied, link, kernels in (reading.words() for reading in READINGS)
    ]
    for row in rows:
        apart = fmean(
            abs(percent(one) - percent(other))
            for one, other in zip(row[4:8], said[4:8], strict=True)
        )
        assert 100 * apart == pytest.approx(float(row[8]), abs=0.1)
    best = min(rows, key=lambda row: float(row[8]))
    name = f"{best[0]} GB/s, {best[1]}, kernels {best[2]}"
    assert f"**The nearest is {name}.**" in PAGE.read_text(encoding="utf-8")
    # The large task loses nothing over PCIe 4 with given kernels, and does over PCIe 3.
    given = {(row[0], row[1]): percent(row[7]) for row in rows if row[2] == "given"}
    ports = "a port for each switch"
    assert given["26", ports] > 0 > given["13", ports]
    assert given["13", ports] == pytest.approx(throughput["large_task"] / 100, abs=0.02)


def test_a_pair_of_the_nearest_reading_is_as_on_the_page() -> None:
    rows = rows_of("Every pair in the nearest reading: ")
    best = min(
        zip(READINGS, rows_of("Throughput over round-robin in every reading")[1:], strict=True),
        key=lambda each: float(each[1][8]),
    )
    assert len(rows) == 28
    # The gains of both tasks are the means of the pairs'.
    for column, mean in ((2, 4), (3, 5), (4, 6), (5, 7)):
        found = fmean(float(row[column]) for row in rows) - 1.0
        assert found == pytest.approx(percent(best[1][mean]), abs=0.001)
    [pair] = play(best[0], WINDOW, [("FIR", "SC")])
    [row] = [row for row in rows if row[0] == "FIR + SC"]
    numbers = [
        pair.demand,
        pair.throughput("small first"),
        pair.throughput("QoS"),
        pair.gain("small first", 0),
        pair.gain("small first", 1),
    ]
    assert [f"{pair.demand:.2f}", *(f"{it:.3f}" for it in numbers[1:])] == row[1:]


def test_results_copied_back_are_as_on_the_page() -> None:
    section = read_backs()
    assert section_markdown(section, "figures") in PAGE.read_text(encoding="utf-8")
    [table] = section.tables
    times = {(str(row[0]), str(row[1])): row[2:4] for row in table.rows}
    down, _, up = (case.name for case in CASES)

    def reader(case: str, policy: str) -> float:
        time = times[case, policy][1]
        assert isinstance(time, float)
        return time

    # Other directions share nothing under round-robin; under strict priority requests wait.
    assert reader(down, "round-robin") < 1.1 * reader(down, "each alone")
    assert reader(down, "small first") > 1.5 * reader(down, "round-robin")
    # Responses go before a peer's data.
    assert reader(up, "small first") < 1.1 * reader(up, "each alone")
    assert reader(up, "round-robin") > 1.5 * reader(up, "each alone")


def test_no_order_by_size_moves_a_reader() -> None:
    down = CASES[0]
    assert last_copies(down, "small first") == last_copies(down, "large first")
