"""Tests summaries and speed-ups."""

from __future__ import annotations

import math
from statistics import quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwright import System
from linkwright.allocation import policy_names
from linkwright.errors import SimulationError
from linkwright.quartiles import Quartiles
from linkwright.scenario import SimulationResult, generate_jobs, play_jobs
from linkwright.summaries.policies import (
    Speedup,
    job_rows,
    speedups,
    summarise,
)

numbers = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40)


@given(numbers)
def test_quartiles_are_ordered_and_within_the_values(values: list[float]) -> None:
    five = Quartiles.of(values)
    assert five.minimum == min(values)
    assert five.maximum == max(values)
    assert five.minimum <= five.lower <= five.median <= five.upper <= five.maximum


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=40))
def test_quartiles_are_interpolated_linearly(values: list[int]) -> None:
    five = Quartiles.of(values)
    expected = quantiles(values, n=4, method="inclusive")
    assert [five.lower, five.median, five.upper] == pytest.approx(expected, abs=1e-9)


@given(numbers)
def test_quartiles_do_not_depend_on_the_order(values: list[float]) -> None:
    assert Quartiles.of(values) == Quartiles.of(reversed(values))


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_what_has_no_quartiles_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="quartiles need"):
        Quartiles.of(values)


def results_of(count: int = 60, max_gpus: int = 5) -> list[SimulationResult]:
    machine = System("dgx1-v100")
    jobs = generate_jobs(3, count, max_gpus)
    return [play_jobs(machine, jobs, policy) for policy in policy_names()]


def test_a_summary_says_what_the_rows_say() -> None:
    result = play_jobs(System("dgx1-v100"), generate_jobs(3, 60), "greedy")
    rows = job_rows(result)
    summary = summarise(result)
    assert (summary.policy, summary.jobs) == ("greedy", 60)
    assert summary.one_gpu_jobs == sum(row["gpu_count"] == 1 for row in rows) > 0
    assert summary.makespan == max(row["finish"] for row in rows)
    assert summary.throughput == pytest.approx(60 / summary.makespan * 3600)
    felt = [row for row in rows if row["sensitive"] and row["gpu_count"] > 1]
    assert summary.run_time == Quartiles.of(row["run_time"] for row in felt)
    assert summary.wait == Quartiles.of(row["wait"] for row in rows)
    assert summary.effective_bandwidth == summary.sound_bandwidth


def test_jobs_of_one_gpu_have_no_bandwidth_to_sum_up() -> None:
    results = results_of(count=5, max_gpus=1)
    summaries = [summarise(result) for result in results]
    assert {summary.one_gpu_jobs for summary in summaries} == {5}
    assert {summary.run_time for summary in summaries} == {None}
    assert {summary.effective_bandwidth for summary in summaries} == {None}
    assert speedups(results) == []


def test_the_baseline_is_as_fast_as_itself() -> None:
    results = results_of()
    found = speedups(results)
    assert [each.policy for each in found] == policy_names()
    assert found[0] == Speedup("baseline", 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    preserve, reference = found[-1], results[0]
    assert preserve.throughput == pytest.approx(reference.makespan / results[-1].makespan)
    before, after = summarise(reference).run_time, summarise(results[-1]).run_time
    assert before is not None
    assert after is not None
    assert preserve.median == before.median / after.median


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(SimulationError, match=r"no run of policy `best`; use one of baseline, "):
        speedups(results_of(), "best")
    empty = play_jobs(System("dgx1-v100"), [], "greedy")
    with pytest.raises(SimulationError, match="no job ran"):
        summarise(empty)
    with pytest.raises(SimulationError, match="no job ran"):
        speedups([empty], "greedy")
