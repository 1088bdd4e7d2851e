"""One's own day of jobs: what a cluster recorded, as a scenario's jobs."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from commands import fails, linkwright, parsed

from linkwright.scenario import Scenario

EXAMPLES = Path(__file__).parents[2] / "examples"
OWN_DAY = EXAMPLES / "own-day.toml"

SCENARIO = """\
[system]
server = "dgx1-v100"
[jobs]
file = "day.csv"
workload = "vgg-16"
run_time = "formula"
[allocation]
policies = ["greedy"]
"""


def written(folder: Path, day: str, scenario: str = SCENARIO) -> Path:
    (folder / "day.csv").write_text(day, encoding="utf-8")
    path = folder / "scenario.toml"
    path.write_text(scenario, encoding="utf-8")
    return path


def test_a_run_of_a_recorded_day_says_what_it_assumes() -> None:
    result = linkwright("run", OWN_DAY)
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "it is assumed that its 52 jobs ran resnet-50" in told
    assert "65 steps of jobs, 1 job that never started, 1 job that had not ended" in told
    notes = parsed("run", OWN_DAY)["notes"]
    assert len(notes) == 2
    assert "assumed" in notes[0]
    assert parsed("compare", OWN_DAY, "--baseline", "default")["notes"] == notes


def test_the_report_says_it_too(tmp_path: Path) -> None:
    day = "submit,gpus,duration\n0,2,1:00\n30,1,45\n"
    path = written(tmp_path, day)
    assert linkwright("run", path, "-o", tmp_path / "out").exit_code == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "it is assumed that its 2 jobs ran vgg-16" in page


def test_a_recorded_job_runs_alone_as_long_as_it_did(tmp_path: Path) -> None:
    path = written(tmp_path, "submit,gpus,duration\n100,4,1:30:00\n50000,1,2-00:00:00\n")
    text = path.read_text(encoding="utf-8")
    _, jobs, _ = Scenario.from_text(text).build({"day.csv": (tmp_path / "day.csv").read_bytes()})
    assert [job.arrival for job in jobs] == [0.0, 49900.0]
    found = parsed("run", path)["policies"][0]
    # The second begins when the first has long ended.
    assert found["makespan"] == pytest.approx(49900 + 2 * 86400, rel=1e-5)


@pytest.mark.parametrize(
    ("day", "told"),
    [
        (
            "submit,gpus,duration\n0,9,60\n",
            "left out: 1 job of more GPUs than one can get; name a larger",
        ),
        ("submit,gpus,duration\n0,1,1:99\n", "day.csv:2:5: not a duration: `1:99`"),
        ("submit,gpu,duration\n0,1,1\n", "day.csv:1:1: no column says how many GPUs jobs had"),
        ("", "day.csv:1:1: the file has no header; begin with a header such as"),
        ("submit,gpus\n0,1\n", "day.csv:1:1: no column says how long jobs ran"),
        ("submit;gpus;duration\n0;1;1\n", "1:1: semicolons or tabs part the columns"),
        ("JobID  State\n------ -----\n1      x\n", "blanks part the columns: `JobID  State`; run"),
        ("workload,submit,gpus,duration\nvgg16,0,1,1\n", "`vgg16`; did you mean `vgg-16`?"),
    ],
)
def test_a_wrong_day_is_refused_with_its_place(tmp_path: Path, day: str, told: str) -> None:
    assert told in fails(2, "run", written(tmp_path, day))


def test_a_record_of_300_days_is_cut_and_then_runs(tmp_path: Path) -> None:
    start = date(2024, 1, 1)
    rows = [f"d{day},{start + timedelta(day)}T06:00:00,1,01:00:00\n" for day in range(300)]
    path = written(tmp_path, "job,submit,gpus,duration\n" + "".join(rows))
    refused = fails(2, "run", path)
    assert "day.csv:216:1: this is more than 213 days after the first job" in refused
    assert "`jobs.from` and `jobs.days`" in refused
    assert "simulated time ends after 213 days (2^64 ps)" in refused
    for begin in ("2024-03-01", "60"):
        cut = ["--set", f"jobs.from={begin}", "--set", "jobs.days=30"]
        found = parsed("run", path, *cut)
        # A job each day, at the same hour.
        assert 29 * 86_400 < found["policies"][0]["makespan"] < 29.1 * 86_400
        assumed, outside = found["notes"]
        assert "its 30 jobs ran vgg-16" in assumed
        assert "270 jobs outside of the part" in outside
    whole = fails(2, "run", path, "--set", "jobs.days=214")
    assert "jobs.days: simulated time ends after 213 days (2^64 ps)" in whole
    late = fails(2, "run", path, "--set", "jobs.from=2026-01-01")
    assert "300 jobs outside of the part; give another `jobs.from` or `jobs.days`" in late


def test_a_workload_is_told_the_nearest(tmp_path: Path) -> None:
    wrong = SCENARIO.replace("vgg-16", "vgg16")
    error = fails(2, "run", written(tmp_path, "submit,gpus,duration\n0,1,60\n", wrong))
    assert "scenario.toml:5:12: unknown workload" in error
    assert "did you mean `vgg-16`?" in error
