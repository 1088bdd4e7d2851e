"""The study of PCIe scheduling: complete, and what its page says."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from linkwright.studies.pcie.layouts import LAYOUTS, POLICIES, QUICK, Layout
from linkwright.studies.pcie.published import published
from linkwright.studies.pcie.runs import Pair, perform, workload_names
from linkwright.studies.pcie.sections import each_layout, each_pair, statements, workloads
from linkwright.studies.tables import section_markdown

ROOT = Path(__file__).resolve().parents[2]
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
    page = (ROOT / "docs" / "studies" / "pcie.md").read_text(encoding="utf-8")
    for section in (workloads(WINDOW), statements(found, WINDOW), each_pair(found)):
        assert section_markdown(section, "figures") in page, section.title
    # The page has all layouts, these two among them.
    for table in each_layout(found).tables:
        rows = table.to_markdown().splitlines()
        assert all(row in page for row in rows if row.startswith(("| one x16", "| a port")))
