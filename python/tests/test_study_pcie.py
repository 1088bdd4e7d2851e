"""The study of PCIe scheduling: complete, and what its page says."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from linkwright.studies.pcie.dependence import own_kernels
from linkwright.studies.pcie.kernels import SIMULATED, preset, simulated, size_of
from linkwright.studies.pcie.layouts import LAYOUTS, POLICIES, QUICK, Layout
from linkwright.studies.pcie.published import published
from linkwright.studies.pcie.runs import Pair, perform, workload_names
from linkwright.studies.pcie.sections import (
    each_layout,
    each_pair,
    pair_table,
    statements,
    workloads,
)
from linkwright.studies.tables import section_markdown

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "studies" / "pcie.md"
WINDOW = 0.3e-3


@pytest.fixture(scope="module")
def found() -> dict[Layout, list[Pair]]:
    return {layout: perform(layout, WINDOW) for layout in QUICK}


def mean(pairs: list[Pair], policy: str, task: int | None = None) -> float:
    if task is None:
        return fmean(pair.throughput(policy) for pair in pairs)
    return fmean(pair.gain(policy, task) for pair in pairs)


def test_table_1_and_the_pairs_are_whole(found: dict[Layout, list[Pair]]) -> None:
    assert workload_names() == ["RL", "MP", "AES", "MM", "KS", "FIR", "SC", "MT"]
    assert len(LAYOUTS) == len(set(LAYOUTS)) == 8
    for pairs in found.values():
        assert len(pairs) == 28
        assert all(set(pair.by_policy) == set(POLICIES) for pair in pairs)
        for pair in pairs:
            for tasks in pair.by_policy.values():
                assert tasks[0].alone.size < tasks[1].alone.size
                for task in tasks:
                    # Two GPUs do at most what two do alone.
                    assert 0 < task.throughput <= 2.0001
                    assert 0 <= task.in_time <= 1
                    # A starved GPU may not have begun its first kernel.
                    assert 0 <= task.idle <= 1


def test_the_demand_is_as_the_layouts_are_told_apart(found: dict[Layout, list[Pair]]) -> None:
    shared, apart = found.values()
    assert fmean(pair.demand for pair in shared) == pytest.approx(1.1, abs=0.05)
    assert sum(pair.demand > 1 for pair in shared) > 14
    assert fmean(pair.demand for pair in apart) == pytest.approx(0.6, abs=0.05)


def test_small_first_gains_and_the_published_gain_lies_between(
    found: dict[Layout, list[Pair]],
) -> None:
    shared, apart = found.values()
    said = 1 + published()["throughput"]["small_first"] / 100
    assert mean(apart, "small first") < said < mean(shared, "small first")
    for pairs in (shared, apart):
        assert mean(pairs, "small first") > mean(pairs, "large first")
        assert mean(pairs, "small first") >= mean(pairs, "QoS") > 1
        assert mean(pairs, "small first", 0) > mean(pairs, "small first", 1)
        assert all(mean(pairs, "QoS", task) > 1 for task in (0, 1))
        assert mean(pairs, "large first", 0) < 1
        in_time = {
            policy: fmean(pair.by_policy[policy][1].in_time for pair in pairs)
            for policy in POLICIES
        }
        assert in_time["QoS"] == max(in_time.values())


def test_the_page_is_what_the_study_says(found: dict[Layout, list[Pair]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    sections = (workloads(WINDOW), own_kernels(), statements(found, WINDOW), each_pair(found))
    for section in sections:
        assert section_markdown(section, "figures") in page, section.title
    # The page has all layouts, these two among them.
    for table in each_layout(found).tables:
        rows = table.to_markdown().splitlines()
        assert all(row in page for row in rows if row.startswith(("| one x16", "| a port")))


def test_every_workload_has_a_kernel_of_ours_that_is_longer_than_a_launch() -> None:
    ours = simulated()
    assert set(ours) == set(SIMULATED) == set(workload_names()) == set(preset())
    assert all(3.6 < ours[name] < preset()[name] for name in ours)
    # The one whose time lies between those of two sizes.
    assert ours["RL"] < ours["SC"] < ours["AES"]
    assert size_of("SC") == 328_400


def test_a_pair_with_our_kernels_comes_out_as_on_the_page() -> None:
    pair = [("FIR", "SC")]
    ours = {layout: perform(layout, WINDOW, kernels=simulated(), chosen=pair) for layout in QUICK}
    *_, row = pair_table("", ours).to_markdown().splitlines()
    part = PAGE.read_text(encoding="utf-8").partition("with our kernels**")[2]
    assert row.startswith("| FIR + SC")
    assert row in part


def test_what_the_page_says_of_kernels_is_in_its_table() -> None:
    part = PAGE.read_text(encoding="utf-8").partition("by the times of kernels**")[2]
    lines = [line.strip("| ").split(" | ") for line in part.splitlines() if line[:2] == "| "]
    cells = {(row[0], row[1]): row for row in lines[3:9]}
    by_link = {link: [row for key, row in cells.items() if key[1] == link] for _, link in cells}
    shared, apart = by_link.values()
    for one, other in zip(shared, apart, strict=True):
        assert float(other[4][:-1]) < published()["throughput"]["small_first"] < float(one[4][:-1])
    for row in cells.values():
        small_first, qos, large_first = (float(cell[:-1]) for cell in row[4:7])
        assert small_first >= qos > large_first
        assert (float(row[8][:-1]) < -0.05) is (row[0] == "ours")
    for rows in (shared, apart):
        demands = {row[0]: float(row[2]) for row in rows}
        assert demands["ours"] > demands["preset"] > demands["preset, doubled"]
