"""Tests where the time of a day's jobs goes, in the words of `compare`; the core has it by hand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import pytest
from commands import linkwright, parsed
from test_cli_json import check, schema

from linkwright import compare
from linkwright.runs.server.run import ScenarioRun
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


def test_compare_prints_the_parts_of_every_policy(tmp_path: Path) -> None:
    path = tmp_path / "day.toml"
    path.write_text(DAY, encoding="utf-8")
    played = compare(path)
    assert isinstance(played, ScenarioRun)
    found = parsed("compare", path)
    check(found, "", schema("compare"))
    assert [it["policy"] for it in found["parts"]] == ["baseline", "preserve"]
    for told, result, energy in zip(found["parts"], played.results, played.energies, strict=True):
        # One of the eight GPUs is out of order.
        wanted = {"policy": result.policy, **asdict(time_parts(result, 7))}
        assert told == {**wanted, "gpu_energy": energy.whole}
    shown = linkwright("compare", path).stdout
    above, below = next(
        (above.split(), below.split())
        for above, below in pairwise(shown.splitlines())
        if below.startswith("policy")
    )
    assert above == ["wait", "run", "job", "time", "jobs", "GPU"]
    assert below[-3:] == ["GPU-s", "kWh", "load"]
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
        played = compare(path, workers=pool)
    assert isinstance(played, ScenarioRun)
    last = max(job.arrival for job in played.jobs)
    for parts, gpus in zip(played.parts, (8, 16), strict=True):
        assert parts.load == pytest.approx(parts.gpu_seconds / (gpus * last))
