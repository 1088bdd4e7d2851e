"""Tests that the study of PCIe scheduling is complete, and tests the sentences of its page."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from linkwright.studies.pcie.contention import (
    DIN,
    RESNET,
    SERVERS,
    TASKS,
    Server,
    Trained,
    bound,
    mixes,
    slowdown,
    tasks_of,
)
from linkwright.studies.pcie.dependence import own_kernels
from linkwright.studies.pcie.eight import eight_tasks, resnet_at
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
from linkwright.studies.tables import StudyTable, section_markdown

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


def rows_of(page: str, title: str) -> list[list[str]]:
    """Returns the cells of a page's table."""
    part = page.partition(f"**{title}**\n\n")[2].partition("\n\n")[0]
    return [line.strip("|").split("|") for line in part.splitlines()[2:]]


@pytest.fixture(scope="module")
def shares() -> dict[Server, float]:
    """Returns the shares that the study fitted, as the page has them."""
    [first, *_] = rows_of(PAGE.read_text("utf-8"), "Slower than alone, published and predicted")
    return {
        server: float(cell.strip(" %")) / 100
        for server, cell in zip(SERVERS, first[2:], strict=True)
    }


def test_eight_tasks_are_as_on_the_page_with_the_mean_that_was_fitted(
    shares: dict[Server, float],
) -> None:
    section = eight_tasks(shares)
    assert section_markdown(section, "figures") in PAGE.read_text(encoding="utf-8")
    said, every, asked, memories = section.tables
    cells = {str(row[0]): [cell for cell in row if isinstance(cell, float)] for row in said.rows}
    wanted = published()["contention"]
    for mean_of_din in cells["DeepInterest, mean of its mixes (fitted)"]:
        assert mean_of_din == pytest.approx(wanted["din"] / 100, abs=0.002)
    # The page's verdict rests on this: far below the measured loss, and below any task's bound.
    beside = cells["DeepInterest beside seven ResNet-50s"]
    limits = [row[4] for row in asked.rows]
    for loss, limit in zip(beside, limits, strict=True):
        assert isinstance(limit, float)
        assert loss < limit < wanted["din_beside_seven"] / 100
    # With the data sheet's memory nothing changes; less of it slows all down.
    assert memories.rows[0][2:4] == tuple(every.rows[1][at] for at in (2, 1))
    losses = [float(row[2]) for row in memories.rows if row[2] is not None]
    assert losses == sorted(losses)
    for row in every.rows[1:-1]:
        resnet, din, other_resnet, other_din = (float(cell) for cell in row[1:] if cell is not None)
        assert din > resnet
        assert other_din > other_resnet


def test_a_task_that_only_copies_loses_no_more_than_others_ask_for() -> None:
    server = SERVERS[1]
    on = server.system()
    tasks = tasks_of(on, 32, 0.999, speed=4.0)
    kinds = [DIN, *[RESNET] * (TASKS - 1)]
    loss = max(slowdown(on, tasks, kinds, draw)[0] for draw in range(3))
    # Of the end of a window, a copy's part that falls into it is not counted apart.
    assert 0.1 < loss < bound(server.sharing * tasks[RESNET].copying) + 0.03


def test_losses_hang_on_the_share_of_copying_and_not_on_the_length_of_iterations(
    shares: dict[Server, float],
) -> None:
    for server, share in shares.items():
        on = server.system()
        whole, tenth = (
            [
                by
                for mix in mixes(on, tasks_of(on, 32, share, length=length), [1, 6])
                for by in mix.slower
            ]
            for length in (1.0, 0.1)
        )
        for one, other in zip(whole, tenth, strict=True):
            assert one == pytest.approx(other, abs=0.03)


def test_copies_as_flows_lose_what_they_lose_in_packets() -> None:
    on = SERVERS[0].system()
    # A hundredth of a step, so that there are few packets.
    tasks = (Trained(150_000, 150e-6, 160.9e-6), Trained(1_200_000, 80e-6, 163.9e-6))
    kinds = [DIN, DIN, DIN, RESNET, RESNET, RESNET, DIN, DIN]
    flows, packets = (slowdown(on, tasks, kinds, 0, fidelity) for fidelity in ("flow", "packet"))
    for flow, packet in zip(flows, packets, strict=True):
        assert flow == pytest.approx(packet, abs=0.01)
    assert max(flows) > 0.1


def test_a_faster_resnet_is_as_on_the_page() -> None:
    found = rows_of(PAGE.read_text("utf-8"), "Slower than alone, if ResNet-50 computes faster")
    row = next(row for row in found if row[0].strip() == SERVERS[1].name and row[1].strip() == "8")
    again = resnet_at(SERVERS[1], 8.0, float(row[3].strip(" %")) / 100)
    table = StudyTable("", ("",) * len(again), (again,), formats=("", "g", *(".1%",) * 5))
    assert [cell.strip() for cell in row] == table.printed()[0]
    # As the page says, no row has both.
    said = published()["contention"]
    for _, _, _, _, resnet, _, beside in found:
        both = float(beside.strip(" %")) > said["din_beside_seven"]
        assert not (both and float(resnet.strip(" %")) < 2 * said["resnet"])
