"""Lets parts of a system fail, and reads what commands, tables and the report tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from linkwright.scenario import play_mix
from linkwright.cli.commands import app

DAY = """
fidelity = "fluid"
system.server = "dgx1-v100"
jobs.generate = { count = 6, max_gpus = 4, workloads = ["gmm"], iterations = 2000 }
collectives.planner = "nccl-ring"
allocation.policies = ["preserve"]
"""
FAILING = f"""{DAY}
[[failure]]
part = "GPU0"
from = "5 s"
to = "10 s"
"""


def scenario(folder: Path, text: str) -> str:
    """Writes a scenario; gives its name."""
    path = folder / "day.toml"
    path.write_text(text)
    return str(path)


def run(*arguments: str) -> str:
    """Runs a command that is to succeed."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_failure_is_told_wherever_a_day_is(tmp_path: Path) -> None:
    path = scenario(tmp_path, FAILING)
    printed = run("run", path, "--attribute")
    assert "What failures cost" in printed
    assert "failure" in printed
    told = json.loads(run("run", path, "--attribute", "--json"))
    [costs] = told["failures"]
    day = play_mix(path, attribute=True)
    rows = list(day.results[0].jobs())
    assert costs["restarts"] == sum(row["restarts"] for row in rows) > 0
    assert costs["lost"] == pytest.approx(sum(row["lost"] for row in rows))
    [attribution] = told["attribution"]
    assert attribution["failure"] > 1
    tries = list(day.results[0].tries())
    assert len(tries) == len(rows) + costs["restarts"]
    held = [(row["start"], row["finish"]) for row in tries if 0 in row["gpus"]]
    assert all(finish <= 5 + 1e-6 or start >= 10 - 1e-6 for start, finish in held)
    run("run", path, "--attribute", "-o", str(tmp_path / "out"))
    assert "What failures cost" in (tmp_path / "out" / "report.html").read_text()


def test_where_nothing_fails_nothing_is_told(tmp_path: Path) -> None:
    path = scenario(tmp_path, DAY)
    printed = run("run", path, "--attribute")
    assert "failure" not in printed
    assert "failures" not in json.loads(run("run", path, "--json"))
    [row, *_] = play_mix(path).results[0].jobs()
    assert "restarts" not in row


def test_parts_that_are_absent_all_day(tmp_path: Path) -> None:
    path = scenario(tmp_path, DAY)
    run("run", path, "--without", "GPU0", "--without", "GPU1", "-o", str(tmp_path / "out"))
    day = play_mix(path, settings={"system.without": ["GPU0", "GPU1"]})
    assert all({0, 1}.isdisjoint(row["gpus"]) for row in day.results[0].jobs())
    compared = json.loads(run("compare", path, "--without", "GPU0", "--json"))
    assert "preserve" in [it["policy"] for it in compared["parts"]]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--without", "GPU9"], "there is no part `GPU9`"),
        (["--without", "GPU0-GPU5"], "no link joins `GPU0` and `GPU5`"),
        (
            ["--without", "GPU0", "--set", 'system.without=["GPU1"]'],
            "`system.without` is set beside --without",
        ),
    ],
)
def test_what_cannot_be_absent_is_one_line(tmp_path: Path, arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(app, ["run", scenario(tmp_path, DAY), *arguments])
    assert result.exit_code == 2
    assert told in result.output.replace("\n", " ")
