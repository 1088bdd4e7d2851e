"""`linkwright run`, `compare` and `study`, and the files that a run leaves."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import SCENARIO, fails, linkwright, parsed, write_scenario
from interrupts import interrupt, running

from linkwright import System
from linkwright.allocation import policy_names
from linkwright.errors import AllocationError, FileError
from linkwright.network import read_system
from linkwright.scenario import Job, generate_jobs, play_mix, write_jobs, write_run
from linkwright.studies.tables import StudyTable

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TABLES = ["fragments.parquet", "jobs.parquet"]
FILES = [*TABLES, "manifest.json", "report.html", "summary.json", "timeline.json"]


def test_a_run_sums_up_each_policy(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path)
    document = parsed("run", scenario)
    assert [policy["policy"] for policy in document["policies"]] == ["baseline", "preserve"]
    assert document["jobs"] == 40
    shown = linkwright("run", scenario)
    assert "40 jobs of scenario.toml on dgx1-v100" in shown.stdout
    assert shown.stderr == ""
    only = parsed("run", scenario, "--policy", "greedy")["policies"]
    assert [policy["policy"] for policy in only] == ["greedy"]


def test_a_comparison_is_with_the_baseline_even_if_nobody_asked_for_it(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path)
    rows = parsed("compare", scenario, "--policy", "preserve")["speedups"]
    assert [row["policy"] for row in rows] == ["baseline", "preserve"]
    assert rows[0]["median"] == rows[0]["throughput"] == 1
    assert "Speed-up over greedy" in linkwright("compare", scenario, "--baseline", "greedy").stdout


def test_what_compare_writes_is_the_comparison_that_it_prints(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path)
    compared = parsed("compare", scenario, "--baseline", "preserve", "-o", tmp_path / "compared")
    summary = json.loads((tmp_path / "compared" / "summary.json").read_text())
    assert summary["baseline"] == compared["baseline"] == "preserve"
    assert summary["speedups"] == compared["speedups"]
    assert "Speed-up over preserve" in (tmp_path / "compared" / "report.html").read_text()
    linkwright("run", scenario, "-o", tmp_path / "run")
    assert "Speed-up" not in (tmp_path / "run" / "report.html").read_text()


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path)
    for name in ("first", "second"):
        result = linkwright("run", scenario, "--output", tmp_path / name)
        assert result.exit_code == 0, result.output
        assert sorted(path.name for path in (tmp_path / name).iterdir()) == FILES
    for name in FILES:
        first, second = (tmp_path / run / name for run in ("first", "second"))
        assert first.read_bytes() == second.read_bytes(), name
        if name.endswith(".json"):
            assert str(tmp_path) not in first.read_text(encoding="utf-8")


def test_the_jobs_keep_their_units_and_know_their_policy(tmp_path: Path) -> None:
    run = play_mix(write_scenario(tmp_path))
    write_run(run, tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "jobs.parquet")
    assert table.num_rows == 80
    assert set(table["policy"].to_pylist()) == {"baseline", "preserve"}
    for column, unit in (("wait", b"s"), ("sound_bandwidth", b"GB/s"), ("policy", b"")):
        assert (table.schema.field(column).metadata or {})[b"unit"] == unit


def test_the_gpus_that_jobs_held_in_a_server_are_counted_under_each_policy(tmp_path: Path) -> None:
    run = play_mix(write_scenario(tmp_path))
    write_run(run, tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "fragments.parquet")
    assert table.schema.names == ["policy", "gpu_count", "whole", "parts", "share"]
    rows = table.to_pylist()
    jobs = pq.read_table(tmp_path / "out" / "jobs.parquet").to_pylist()
    for policy in ("baseline", "preserve"):
        found = {row["gpu_count"]: row["whole"] for row in rows if row["policy"] == policy}
        sizes = [job["gpu_count"] for job in jobs if job["policy"] == policy]
        assert found == {
            gpus: sizes.count(gpus) if gpus > 1 else 0 for gpus in range(1, max(sizes) + 1)
        }
        assert sum(row["share"] for row in rows if row["policy"] == policy) == pytest.approx(1)
    assert not any(row["parts"] for row in rows)
    # On a lone server the report has nothing to say of it.
    assert "held in a server" not in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_a_job_on_two_servers_leaves_a_part_in_each(tmp_path: Path) -> None:
    jobs = [Job("a", "vgg-16", 6), Job("b", "vgg-16", 6), Job("c", "vgg-16", 2), Job("d", "gmm", 1)]
    (tmp_path / "jobs.csv").write_text(write_jobs(jobs), encoding="utf-8")
    system = '[system]\nserver = "pcie-tree-4"\nservers = 4\nnetwork = { kind = "fat-tree" }\n'
    rest = '[jobs]\nfile = "jobs.csv"\nrun_time = "played"\n[allocation]\nservers = "pack"\n'
    rest += 'policies = ["preserve"]\n[collectives]\nplanner = "nccl-ring"\n'
    run = play_mix(write_scenario(tmp_path, f'fidelity = "fluid"\n{system}{rest}'))
    found = pa.table(run.tables()["fragments"]).to_pylist()
    counts = {row["gpu_count"]: (row["whole"], row["parts"]) for row in found}
    assert counts == {1: (0, 0), 2: (1, 2), 3: (0, 0), 4: (0, 2)}
    assert [row["share"] for row in found] == pytest.approx([0, 0.6, 0, 0.4])
    write_run(run, tmp_path / "out")
    report = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "How many GPUs jobs held in a server" in report


def test_a_run_that_kept_a_part_of_its_jobs_says_of_how_many(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path)
    for kept in (0, 2, 40):
        told = [note for note in play_mix(scenario, timeline=kept).notes if "timeline" in note]
        assert told == (["the timeline holds the first 2 of 40 jobs"] if kept == 2 else [])


def test_the_manifest_hashes_every_input(tmp_path: Path) -> None:
    machine = tmp_path / "machine.toml"
    machine.write_text(System("summit-node").to_toml(), encoding="utf-8")
    jobs = tmp_path / "jobs.csv"
    jobs.write_text(write_jobs(generate_jobs(3, 10, 4)), encoding="utf-8")
    text = '[machine]\nfile = "machine.toml"\n[jobs]\nfile = "jobs.csv"\n'
    scenario = write_scenario(tmp_path, text)
    seen: list[tuple[object, ...]] = []
    run = play_mix(scenario, progress=lambda *at: seen.append(at))
    facts = json.loads(json.dumps(run.manifest))
    for name, file in (("scenario", scenario), ("machine", machine), ("jobs", jobs)):
        assert facts[name]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert facts["policies"] == policy_names()
    assert seen[0] == ("baseline", 0, 10, 0.0, 0)
    assert seen[-1] == ("preserve", 10, 10, run.results[-1].makespan, 0)
    seeded = play_mix(write_scenario(tmp_path)).manifest["jobs"]
    assert seeded == {"count": 40, "seed": 7}


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (SCENARIO.replace("preserve", "preserv"), 2, "scenario.toml:6:"),
        (SCENARIO.replace("dgx1-v100", "dgx9"), 2, "scenario.toml:2:10: unknown preset"),
        ('jobs = { file = "a" }\nmachine = { preset = "dgx9" }', 2, "scenario.toml:2:22:"),
        (SCENARIO.replace("preset", "file"), 2, "scenario.toml:2:8: there is no file"),
        (SCENARIO.replace("count = 40", "conut = 40"), 2, "did you mean `count`?"),
        (
            SCENARIO.replace("max_gpus = 4", "max_gpus = 20"),
            2,
            "scenario.toml:4:47: the mix has a job of ",
        ),
        ("", 2, "scenario.toml:1:1"),
    ],
)
def test_a_scenario_that_cannot_run_is_refused(
    text: str, code: int, said: str, tmp_path: Path
) -> None:
    assert said in fails(code, "run", write_scenario(tmp_path, text))


def test_mistakes_of_a_job_file_are_placed(tmp_path: Path) -> None:
    text = '[machine]\npreset = "titan-z"\nunhealthy = [1]\n[jobs]\nfile = "jobs.csv"\n'
    scenario = write_scenario(tmp_path, text)
    assert "scenario.toml:5:8: there is no file" in fails(2, "run", scenario)
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("job,workload,gpus\n", encoding="utf-8")
    assert "jobs.csv:1:18: the file has no jobs" in fails(2, "run", scenario)
    jobs.write_text("job,workload,gpus\na,gmm,1\nb,gmm,2\n", encoding="utf-8")
    assert "jobs.csv:3:7: the job asks for more GPUs" in fails(2, "run", scenario)
    with pytest.raises(AllocationError, match="`policies` is empty"):
        play_mix(scenario, policies=[])


def test_what_does_not_fit_the_machine_is_placed_in_the_scenario(tmp_path: Path) -> None:
    text = '[machine]\npreset = "titan-z"\nunhealthy = [1, 5]\n[jobs]\n'
    jobs = "generate = { seed = 1, count = 20, max_gpus = 2 }\n"
    said = fails(2, "run", write_scenario(tmp_path, text + jobs))
    assert "scenario.toml:3:17: `titan-z` has no such GPU: `5`; its GPUs are 0 to 1" in said
    said = fails(2, "run", write_scenario(tmp_path, text.replace(", 5", "") + jobs))
    assert "scenario.toml:5:47: the mix has a job of 2 GPUs, and 1 of the machine" in said
    assert said.endswith("set max_gpus to 1 or less")


def test_mistakes_with_files_and_policies(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path)
    assert "there is no file" in fails(2, "run", tmp_path / "none.toml")
    assert "is a directory" in fails(2, "compare", tmp_path)
    assert "did you mean `greedy`" in fails(2, "run", scenario, "--policy", "greedi")
    assert "there is no policy" in fails(2, "compare", scenario, "--baseline", "none")
    assert "is no directory" in fails(2, "run", scenario, "--output", scenario)
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.toml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes anywhere")
def test_a_read_only_directory_is_refused_before_the_run(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert "read-only" in fails(2, "run", scenario, "--output", closed)


def test_a_run_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = play_mix(write_scenario(tmp_path))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("linkwright.runs.report.write_report", full)
    with pytest.raises(FileError, match="no space left"):
        write_run(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to another process")
def test_ctrl_c_ends_a_long_run_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    # A long queue that is searched for each GPU that falls free takes minutes.
    text = SCENARIO.replace("dgx1-v100", "torus2d-16").replace("count = 40", "count = 100000")
    text = text.replace('"baseline", ', "") + '[queue]\ndiscipline = "backfill"\n'
    scenario = write_scenario(tmp_path, text)
    sign = tmp_path / "sign-of-life"
    # The program as it is, but for a file that appears when the run itself first reports.
    code = f"""
import pathlib, sys
import linkwright, linkwright.runs.server.play as runs
simulated = runs.simulated
def telling(*words, **named):
    *words, progress = words
    def report(policy, done, total, time, events):
        if time > 0:
            pathlib.Path({str(sign)!r}).touch()
        progress(policy, done, total, time, events)
    return simulated(*words, report, **named)
runs.simulated = telling
from linkwright.cli import main
main()
"""
    words = ["run", scenario, "--output", tmp_path / "out"]
    with running(sys.executable, "-c", code, *words) as process:
        out, err = interrupt(process, sign)
    assert process.returncode == 130
    assert out == b""
    assert err.decode().strip() == "error: interrupted"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scenario.toml", "sign-of-life"]


def test_numbers_stay_whole_on_a_narrow_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = write_scenario(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    wide = {row.split()[0]: row.split()[1:] for row in rows_of("run", scenario)}
    monkeypatch.setenv("COLUMNS", "30")
    narrow = {row.split()[0]: row.split()[1:] for row in rows_of("run", scenario, "--wide")}
    for policy in ("baseline", "preserve"):
        assert narrow[policy] == wide[policy]
        assert len(wide[policy]) == 6


def rows_of(*words: object) -> list[str]:
    return [line for line in linkwright(*words).stdout.splitlines() if line.strip()]


class FakeStudy:
    """A study of one table, which takes no time; the true one has tests of its own."""

    tables = (
        StudyTable("Table 9 [draft]", ("policy", "s"), (("greedy", 1.5), ("x", None)), "A note."),
    )

    def write(self, directory: Path) -> list[Path]:
        """Makes the directory."""
        directory.mkdir()
        return [directory / "study.json"]

    def fields(self) -> dict[str, object]:
        """Returns its tables."""
        return {"tables": [table.to_json() for table in self.tables]}


def test_a_study_is_printed_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def run(*, quick: bool, progress: object, reading: str, only: str | None) -> FakeStudy:
        assert only is None
        assert progress is None, "no terminal is there to see it"
        assert reading == "text"
        asked.append(quick)
        return FakeStudy()

    monkeypatch.setattr("linkwright.studies.mapa.run", run)
    assert parsed("study", "mapa", "--quick", "--output", tmp_path / "out")["tables"]
    assert (tmp_path / "out").is_dir()
    shown = linkwright("study", "mapa").stdout
    assert "Table 9 [draft]" in shown
    assert "greedy" in shown
    assert "A note." in shown
    assert asked == [True, False]
    assert "no directory" in fails(2, "study", "mapa", "-o", write_scenario(tmp_path))


def test_a_gpu_that_is_no_v100_is_warned_of(tmp_path: Path) -> None:
    def scenario(preset: str) -> Path:
        file = tmp_path / f"{preset}.toml"
        jobs = "generate = { count = 5, max_gpus = 2 }"
        text = f'[machine]\npreset = "{preset}"\n[jobs]\n{jobs}\n'
        file.write_text(text, encoding="utf-8")
        return file

    for command in ("run", "compare"):
        said = linkwright(command, scenario("hgx-h100")).stdout
        assert "speed of a V100, but the GPU of hgx-h100 is H100-SXM5-80GB" in " ".join(
            said.split()
        )
        assert parsed(command, scenario("hgx-h100"))["warnings"]
        assert "Warning" not in linkwright(command, scenario("dgx1-v100")).stdout
        assert parsed(command, scenario("dgx1-v100"))["warnings"] == []
    # A job that is trained layer by layer computes at the speed of the GPUs that it got.
    trained = scenario("hgx-h100")
    text = trained.read_text(encoding="utf-8").replace("max_gpus = 2", 'train = ["lenet"]')
    trained.write_text(f'fidelity = "fluid"\n{text}', encoding="utf-8")
    assert parsed("run", trained)["warnings"] == []
    out = tmp_path / "out"
    assert linkwright("run", scenario("hgx-h100"), "-o", out).exit_code == 0
    assert "speed of a V100" in (out / "manifest.json").read_text(encoding="utf-8")
    assert "speed of a V100" in (out / "report.html").read_text(encoding="utf-8")


def test_a_scenario_s_machine_warns_as_it_does_elsewhere(tmp_path: Path) -> None:
    machine = EXAMPLES / "topologies" / "cloud-8x-a100-nvswitch.nccl-topo.xml"
    [warning] = read_system(machine).warnings
    text = f"[machine]\nfile = '{machine}'\n[jobs]\ngenerate = {{ count = 5, max_gpus = 2 }}\n"
    scenario = write_scenario(tmp_path, text)
    for command in ("run", "compare"):
        said = " ".join(linkwright(command, scenario).stdout.split())
        assert f"Warning: {' '.join(warning.split())}" in said
        assert parsed(command, scenario)["warnings"][0] == warning


def test_the_demo_warns_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    makefile = (EXAMPLES.parent / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\ndemo: install\n")[2].partition("\n\n")[0]
    lines = recipe.replace("\\\n", " ").splitlines()
    commands = [line.split()[1:] for line in lines if "linkwright" in line]
    assert [words[0] for words in commands] == ["machine", "compare"]
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    for words in commands:
        # Warnings are printed as well as written, and a report takes longer.
        done = linkwright(*words[: words.index("--output")])
        assert done.exit_code == 0, done.output
        assert "warning" not in done.output.lower()
