"""Tests where the time of a day's jobs goes, by hand and in the words of `compare`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import pytest
from commands import linkwright, parsed
from hypothesis import given
from hypothesis import strategies as st
from test_cli_json import check, schema

from linkwright import compare_scenario
from linkwright.runs.server.run import ScenarioRun
from linkwright.summaries.policies import job_rows
from linkwright.summaries.time_parts import time_parts

DAY = """\
seed = 5
[system]
server = "dgx1-v100"
unhealthy = [7]
[jobs]
generate = { count = 30, max_gpus = 4, mean_interarrival = "20 s" }
[allocation]
policies = ["baseline", "preserve"]
"""


def row(arrival: float, start: float, finish: float, gpus: int) -> dict[str, float]:
    return {
        "arrival": arrival,
        "wait": start - arrival,
        "run_time": finish - start,
        "finish": finish,
        "gpu_count": gpus,
    }


def test_two_jobs_by_hand() -> None:
    # On four GPUs the second job waits 6 s for the first, which has two of them. The last
    # arrival is at 4 s.
    rows = [row(0.0, 0.0, 10.0, 2), row(4.0, 10.0, 16.0, 3)]
    parts = time_parts(rows, 4)
    assert asdict(parts) == {
        "wait": 3.0,  # (0 + 6) / 2
        "run_time": 8.0,  # (10 + 6) / 2
        "job_time": 11.0,  # (10 + 12) / 2
        "throughput": 450.0,  # 2 jobs in 16 s
        "gpu_seconds": 38.0,  # 2 * 10 + 3 * 6
        "load": 2.375,  # 38 / (4 GPUs * 4 s)
    }
    assert time_parts(rows, 2).load == 4.75
    at_once = time_parts([row(0.0, 0.0, 0.0, 1)], 4)
    assert (at_once.load, at_once.throughput) == (None, None)


times = st.floats(0, 1e6)


@given(st.lists(st.tuples(times, times, times, st.integers(1, 8)), min_size=1, max_size=20))
def test_job_time_is_waiting_and_running(jobs: list[tuple[float, float, float, int]]) -> None:
    rows = [row(at, at + wait, at + wait + run, gpus) for at, wait, run, gpus in jobs]
    parts = time_parts(rows, 8)
    assert parts.job_time == pytest.approx(parts.wait + parts.run_time, rel=1e-9, abs=1e-6)
    if parts.load is not None:
        assert time_parts(rows, 16).load == pytest.approx(parts.load / 2)


def test_compare_prints_the_parts_of_every_policy(tmp_path: Path) -> None:
    path = tmp_path / "day.toml"
    path.write_text(DAY, encoding="utf-8")
    played = compare_scenario(path)
    assert isinstance(played, ScenarioRun)
    found = parsed("compare", path)
    check(found, "", schema("compare"))
    assert [it["policy"] for it in found["parts"]] == ["baseline", "preserve"]
    for told, result in zip(found["parts"], played.results, strict=True):
        # One of the eight GPUs is out of order.
        assert told == {"policy": result.policy, **asdict(time_parts(job_rows(result), 7))}
    shown = linkwright("compare", path).stdout
    above, below = next(
        (above.split(), below.split())
        for above, below in pairwise(shown.splitlines())
        if below.startswith("policy")
    )
    assert above == ["wait", "run", "job", "time", "jobs"]
    assert below[-2:] == ["GPU-s", "load"]
    for parts in played.parts:
        assert f"{parts.gpu_seconds:,.0f}" in shown
        assert f"{parts.load:.3f}" in shown


def test_a_variant_of_another_system_has_the_load_of_that_system(tmp_path: Path) -> None:
    path = tmp_path / "day.toml"
    text = DAY.replace("unhealthy = [7]\n", "")
    path.write_text(
        text.replace('"baseline", ', "")
        + '[compare]\nreference = "preserve"\n[compare.larger.system]\nserver = "dgx2"\n',
        encoding="utf-8",
    )
    with ThreadPoolExecutor(1) as pool:
        played = compare_scenario(path, workers=pool)
    assert isinstance(played, ScenarioRun)
    last = max(job.arrival for job in played.jobs)
    for parts, gpus in zip(played.parts, (8, 16), strict=True):
        assert parts.load == pytest.approx(parts.gpu_seconds / (gpus * last))
