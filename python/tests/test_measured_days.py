"""Intervals of days hold what they say, of systems that were left out of them, too."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path

import pytest

from linkwright.names import FidelityName
from linkwright.summaries.measured_days import Interval, JobKind, interval, measured_jobs

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("model", ["fluid", "flow"])
def test_of_systems_left_out_in_turn_nine_of_ten_jobs_lie_inside(model: FidelityName) -> None:
    inside: Counter[tuple[str, int, str]] = Counter()
    systems = Counter(job.system for job in measured_jobs())
    for job in measured_jobs():
        others = [it for it in measured_jobs() if it.system != job.system]
        found = interval(JobKind(job.fabric, job.planner, job.gpus), model, others)
        assert isinstance(found, Interval), found
        inside[job.system] += found.least <= job.error(model) <= found.most
    assert 0.85 <= inside.total() / systems.total() <= 0.95
    assert all(inside[it] >= 0.6 * count for it, count in systems.items() if count >= 20)


def test_a_mix_that_was_measured_comes_out_again() -> None:
    """Two whose packets are few; other numbers mean that all are to be measured anew."""
    script = runpy.run_path(str(ROOT / "scripts" / "measure_days.py"))
    for server, servers, mix in (("dgx1-v100", 1, 0), ("pcie-tree-4", 3, 1)):
        of = next(it for it in script["GRID"] if (it.server, it.servers) == (server, servers))
        found = list(script["measured"](of, mix))
        stored = [it for it in measured_jobs() if (it.system, it.mix) == (of.name, mix)]
        assert len(found) == len(stored) > 0
        for one, other in zip(found, stored, strict=True):
            for model in ("fluid", "flow"):
                assert one.error(model) == pytest.approx(other.error(model), abs=0.02)
