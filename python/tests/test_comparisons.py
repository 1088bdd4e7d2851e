"""Tests `compare` of any scenario: its variants, on the same seeds, through a sweep."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from commands import fails, linkwright, parsed

from linkwright import System, compare
from linkwright.errors import InputError, SimulationError
from linkwright.plot import rounded
from linkwright.runs.scenarios import read_scenario_file
from linkwright.scenario import (
    Comparison,
    Scenario,
    ScenarioRun,
    play_programs,
    program_speedups,
    settings,
)

PROGRAMS = """\
seed = 3
[network]
kind = "fat-tree"
radix = 4
pods = 4
gpus_per_node = 2
routing = "adaptive"
nic = "rr-4"
[[job]]
name = "a"
program = "stencil4d"
ranks = 16
parameters = { message = "16 KiB" }
mapping = "random"
[[job]]
program = "laghos"
ranks = 8
start = "1 ms"
[compare.static]
network.routing = "static"
[compare.fcfs]
nic-of = 1
""".replace("nic-of = 1", 'network.nic = "fcfs"')
SHARED = """\
seed = 7
[system]
server = "dgx1-v100"
servers = 2
network = "fat-tree"
[jobs]
generate = { count = 12, max_gpus = 4, workloads = ["gmm", "jacobi"] }
run_time = "formula"
[allocation]
policies = ["preserve", "greedy"]
[compare.one]
system.servers = 1
"""
DAY = """\
seed = 3
fidelity = "fluid"
[system]
server = "dgx1-v100"
[jobs]
generate = { count = 4, max_gpus = 3 }
[allocation]
policies = ["preserve"]
[compare]
reference = "default"
[compare.default]
allocation.policies = ["baseline"]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_programs_are_compared_with_the_scenario_as_written(tmp_path: Path) -> None:
    path = written(tmp_path, PROGRAMS)
    with ThreadPoolExecutor(2) as pool:
        found = compare(path, workers=pool)
    assert isinstance(found, Comparison)
    names = ["as-written", "static", "fcfs"]
    assert [outcome.variant for outcome in found.outcomes] == names
    assert found.reference == "as-written"
    base = [row for row in found.rows if row["variant"] == "as-written"]
    assert [row["job"] for row in base] == ["a", "laghos", None]
    assert [row["speedup"] for row in base] == [1.0, 1.0, 1.0]
    for row in found.rows:
        before = next(it for it in base if it["job"] == row["job"])
        assert row["speedup"] == before["time"] / row["time"]
    # The times are those of the same scenario played alone.
    alone = written(tmp_path, PROGRAMS.replace("adaptive", "static").split("[compare")[0])
    times = parsed("run", alone)["jobs"]
    of_static = [row["time"] for row in found.rows if row["variant"] == "static"][:-1]
    assert [job["time"] for job in times] == of_static


def test_jobs_of_gpus_are_compared_under_policies_and_what_differs(tmp_path: Path) -> None:
    path = written(tmp_path, SHARED)
    with ThreadPoolExecutor(2) as pool:
        found = compare(path, workers=pool)
    assert isinstance(found, ScenarioRun)
    assert [result.policy for result in found.results] == ["preserve", "greedy", "one"]
    assert found.reference == "preserve"
    preserve, _, one = found.results
    # The same jobs wait longer for one server than for two.
    assert one.makespan > preserve.makespan
    jobs = [list(result.jobs()) for result in found.results]
    assert [row["job"] for row in jobs[0]] == [row["job"] for row in jobs[2]]


def test_the_workers_of_a_dask_cluster_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import LocalCluster

    path = written(tmp_path, PROGRAMS)
    day = tmp_path / "day.toml"
    day.write_text(DAY, encoding="utf-8")
    kept, half = tmp_path / "kept.jsonl", tmp_path / "half.jsonl"
    monkeypatch.chdir(tmp_path)
    over_seeds = ["compare", day.name, "--seeds", "2", "--checkpoint"]
    with LocalCluster(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    ) as cluster:
        there = parsed("compare", path, "--workers", cluster.scheduler_address)
        seeds = parsed(*over_seeds, kept, "--workers", cluster.scheduler_address)
        lines = kept.read_text("utf-8").splitlines(keepends=True)
        # As if it had been killed.
        half.write_text("".join(lines[:3]), encoding="utf-8")
        assert parsed(*over_seeds, half, "--workers", cluster.scheduler_address) == seeds
    assert there == parsed("compare", path, "--workers", "1")
    with ThreadPoolExecutor(1) as pool:
        assert compare(day, seeds=2, workers=pool).summary() == seeds
    for file in (kept, half):
        runs = [json.loads(line)["parameters"] for line in file.read_text("utf-8").splitlines()[1:]]
        assert sorted((run["variant"], run["draw"]) for run in runs) == [
            (variant, draw) for variant in ("as-written", "default") for draw in (0, 1)
        ]
        # Workers need not stand in the folder of the command, but a checkpoint may move.
        assert str(tmp_path) not in file.read_text("utf-8")


@pytest.mark.parametrize("options", [[], ["--seeds", "2"]])
def test_a_checkpoint_moves_with_its_scenario(tmp_path: Path, options: list[str]) -> None:
    here, there = tmp_path / "here", tmp_path / "there" / "deeper"
    here.mkdir()
    written(here, DAY.replace('"dgx1-v100"', '"machine.toml"'))
    (here / "machine.toml").write_text(System("pcie-tree-4").to_toml(), encoding="utf-8")

    def arguments(folder: Path) -> list[object]:
        kept = folder / "kept.jsonl"
        return ["compare", folder / "scenario.toml", *options, "--checkpoint", kept]

    first = parsed(*arguments(here), "--workers", "1")
    content = (here / "kept.jsonl").read_bytes()
    assert str(tmp_path).encode() not in content
    shutil.copytree(here, there)
    shutil.rmtree(here)
    assert parsed(*arguments(there), "--workers", "1") == first
    # Nothing was played again.
    assert (there / "kept.jsonl").read_bytes() == content
    changed = "the files that its runs read have changed"
    for name in ("scenario.toml", "machine.toml"):
        before = (there / name).read_bytes()
        (there / name).write_bytes(before + b"# another\n")
        assert changed in fails(2, *arguments(there))
        (there / name).write_bytes(before)
    assert parsed(*arguments(there)) == first


def test_a_comparison_is_printed_written_and_gone_on_with(tmp_path: Path) -> None:
    path = written(tmp_path, PROGRAMS)
    kept = tmp_path / "kept.jsonl"
    first = parsed("compare", path, "--checkpoint", kept, "--workers", "1")
    assert [variant["variant"] for variant in first["variants"]] == ["as-written", "static", "fcfs"]
    assert len(kept.read_text().splitlines()) == 4
    again = parsed("compare", path, "--checkpoint", kept, "--workers", "1", "-o", tmp_path / "out")
    assert again == first
    assert len(kept.read_text().splitlines()) == 4
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == first
    table = pq.read_table(tmp_path / "out" / "comparison.parquet")
    assert table.num_rows == 9
    assert (table.schema.field("time").metadata or {})[b"unit"] == b"s"
    chart = (tmp_path / "out" / "report.html").read_text("utf-8")
    speedups = [row["speedup"] for variant in first["variants"][1:] for row in variant["jobs"]]
    assert "Times as fast as under as-written" in chart
    assert all(f'"speedup":{rounded(speedup)}' in chart.replace(" ", "") for speedup in speedups)
    shown = linkwright("compare", path, "--checkpoint", kept, "--baseline", "static")
    assert "Speed-up over static: scenario.toml on" in shown.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "system.network.nic=rr5"], "system.network.nic: there is no NIC policy `rr5`"),
        (["--set", "sytem.servers=3"], "sytem: unknown key; did you mean `system`?"),
        (["--baseline", "statc"], "there is no variant `statc`; did you mean `static`?"),
        (["--policy", "greedy"], "runs programs, which no policy places"),
        (["--workers", "some"], "`some` is neither a number of processes nor an address"),
        (["--set", "seed"], "`seed` is no setting; write key=value"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path: Path, options: list[str], said: str) -> None:
    assert said in fails(
        2 if "--policy" not in options else 1,
        "compare",
        written(tmp_path, PROGRAMS),
        *options,
    )


def test_what_settings_make_the_same_is_refused_only_where_it_is_compared() -> None:
    bus = Path(__file__).parents[2] / "examples" / "shared-bus.toml"
    played = linkwright("run", bus, "--set", "fidelity=flow", "--set", "job.small.iterations=2")
    assert played.exit_code == 0, played.stderr
    said = fails(2, "compare", bus, "--set", "fidelity=flow")
    assert "this changes nothing of the scenario: `flow`; leave out the settings that" in said


def test_a_variant_that_does_not_fit_is_refused_before_any_is_played(tmp_path: Path) -> None:
    text = SHARED.replace("max_gpus = 4", "max_gpus = 8") + "unhealthy = []\n"
    text = text.replace("system.servers = 1\nunhealthy = []", "system.unhealthy = [0, 8]")
    with pytest.raises(InputError, match=r"scenario\.toml:7:37: the mix has a job of 8 GPUs"):
        compare(written(tmp_path, text))
    bare = written(tmp_path, PROGRAMS.split("[compare")[0])
    with pytest.raises(SimulationError, match="nothing to compare"):
        compare(bare)


def test_a_run_of_programs_comes_to_what_their_replay_does(tmp_path: Path) -> None:
    loaded = read_scenario_file(written(tmp_path, PROGRAMS)).variant("static")
    system, jobs, _ = loaded.build()
    run = system.play(jobs, **loaded.scenario.play_options)
    times = [[job.name, time] for job, time in zip(jobs, run.times, strict=True)]
    # Nobody says what GPUs of nodes draw.
    energy = {"whole": None, "jobs": [None] * len(jobs), "has_rest": False}
    assert loaded.outcome() == {"makespan": run.makespan, "jobs": times, "energy": energy}
    endless = written(tmp_path, '[[job]]\nname = "never"\ngoal = "one.goal"\n')
    (tmp_path / "one.goal").write_text(
        "num_ranks 2\nrank 0 {\nrecv 8b from 1 tag 0\n}\nrank 1 {\n}\n", encoding="utf-8"
    )
    with pytest.raises(SimulationError, match="rank 0") as refused:
        read_scenario_file(endless).outcome()
    with pytest.raises(SimulationError) as same:
        play_programs(endless)
    assert str(refused.value) == str(same.value)


def test_programs_are_compared_by_their_names() -> None:
    rows = program_speedups([(4.0, [("a", 1.0), ("b", 4.0)]), (2.0, [("b", 2.0), ("d", 1.0)])], 0)
    assert rows[:3] == [(0, "a", 1.0, 1.0), (0, "b", 4.0, 1.0), (0, None, 4.0, 1.0)]
    assert rows[3:] == [(1, "b", 2.0, 2.0), (1, "d", 1.0, None), (1, None, 2.0, 2.0)]
    with pytest.raises(SimulationError, match="there is nothing to compare"):
        program_speedups([], 0)
    with pytest.raises(SimulationError, match="reference is 1"):
        program_speedups([(4.0, [])], 1)


def test_settings_are_put_over_a_scenario() -> None:
    scenario = Scenario.from_text(PROGRAMS, "s.toml")
    assert (scenario.kind, scenario.job_count, scenario.reference) == ("programs", 2, "as-written")
    other = scenario.with_settings({"fidelity": "flow"}).with_settings({"seed": 4})
    assert (other.fidelity, other.seed, other.play_options["seed"]) == ("flow", 4, 4)
    assert scenario.variant("fcfs").build()[0].nic == "fcfs"
    with pytest.raises(InputError, match="did you mean `fcfs`"):
        scenario.variant("fcf")
    described = {setting.path: setting for setting in settings()}
    assert described["system.network.nic"].absent == "fcfs"
    assert described["system.network.buffer_packets"].range == (1, 1024)
    assert described["fidelity"].names == ["packet", "flow", "fluid"]
    assert described["system.network.router_delay"].unit == "s"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("deadline = 0", "4:12: no deadline: `0`; write how many times a copy's time alone it may"),
        ('arbitration = "qoss"', 'unknown arbitration of PCIe: `"qoss"`; did you mean `qos`?'),
        ('payload = "0 B"', "4:11: "),
        ("frist = 1", "4:1: unknown key: `frist`; did you mean `first`?"),
    ],
)
def test_a_bus_that_cannot_be_is_refused_where_it_stands(
    text: str, said: str, tmp_path: Path
) -> None:
    bus = f'[system]\nserver = "pcie4-tree-4"\n[pcie]\n{text}\n'
    path = written(tmp_path, f'{bus}[[job]]\nprogram = "copy-execute"\nranks = 2\n')
    assert said in fails(2, "run", path)
