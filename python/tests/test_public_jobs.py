"""Jobs as people record them, in files that were written after public reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import linkwright

from linkwright.errors import InputError
from linkwright.scenario import jobs_from_text

CASES = Path(__file__).parent / "cases"


def test_a_trace_without_queue_times_is_played(tmp_path: Path) -> None:
    found = linkwright("run", CASES / "no-queue-times.toml", "--output", tmp_path / "out")
    assert found.exit_code == 0, found.output
    assert "3 jobs ran resnet-50" in " ".join(found.output.split())


SWF = "; Version: 2.2\n1 0 5 60 4 -1 -1 4 60 -1 1 7 3 -1 1 -1 -1 -1\n"


def test_a_log_of_swf_is_no_list_of_jobs_and_is_played(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Standard Workload") as refused:
        jobs_from_text(SWF, "jobs.txt")
    assert "`file` in `[jobs]`" in str(refused.value)
    assert "submit,gpus,duration" in str(refused.value)
    (tmp_path / "day.txt").write_text(SWF, encoding="utf-8")
    day = tmp_path / "day.toml"
    jobs = '[system]\nserver = "dgx1-v100"\n[jobs]\nfile = "day.txt"\n'
    day.write_text(jobs + 'workload = "gmm"\n')
    told = linkwright("run", day)
    assert told.exit_code == 0, told.output
    assert "each processor is taken for one" in " ".join(told.output.split())
    day.write_text(jobs)
    told = linkwright("run", day)
    assert told.exit_code == 2
    assert "nobody says what the jobs ran" in told.stderr


@pytest.mark.parametrize(
    ("text", "looks"), [('{"jobs": [{"job_id": 1}]}\n', "this looks like JSON")]
)
def test_a_format_of_jobs_that_is_not_read_is_named(tmp_path: Path, text: str, looks: str) -> None:
    with pytest.raises(InputError, match=looks):
        jobs_from_text(text, "jobs.txt")
    (tmp_path / "day.txt").write_text(text, encoding="utf-8")
    day = tmp_path / "day.toml"
    for workload in ("", 'workload = "gmm"\n'):
        day.write_text(f'[system]\nserver = "dgx1-v100"\n[jobs]\nfile = "day.txt"\n{workload}')
        told = linkwright("run", day)
        assert told.exit_code == 2
        assert looks in told.stderr
        assert "submit,gpus,duration" in told.stderr
