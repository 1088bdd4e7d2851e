"""Tests the worth of each choice: variants and choices alone on several seeds, with intervals."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import fails, linkwright, parsed, program
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cli_json import check, schema

from linkwright import System, compare
from linkwright import plan as linkwright_plan
from linkwright.cli import runs
from linkwright.errors import InputError, SimulationError
from linkwright.runs.server.play import simulated
from linkwright.scenario import Scenario, Worth, play_jobs, share_saved
from linkwright.summaries.intervals import estimate
from linkwright.summaries.links import Day, Direction, could_carry, link_use
from linkwright.summaries.measures import MEASURES
from linkwright.sweeps import pace

EXAMPLES = Path(__file__).parents[2] / "examples"

# Begins the names of gains that no variant has by itself.
SUM, LEFT_OVER = "the sum of ", "left over: "

DAY = """\
seed = 3
fidelity = "fluid"
[system]
server = "dgx1-v100"
[jobs]
generate = { count = 14, max_gpus = 5, mean_interarrival = "60 s" }
[allocation]
policies = ["preserve"]
[compare]
reference = "default"
seeds = 3
[compare.default]
allocation.policies = ["baseline"]
collectives.planner = "nccl-classic"
[compare.backfilled]
queue.discipline = "backfill"
"""


def written(folder: Path, text: str = DAY) -> Path:
    path = folder / "day.toml"
    path.write_text(text, encoding="utf-8")
    return path


def compared(path: Path, **options: object) -> Worth:
    with ThreadPoolExecutor(1) as pool:
        found = compare(path, workers=pool, **options)  # type: ignore[arg-type]
    assert isinstance(found, Worth)
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Worth, Path]:
    """The comparison, and the checkpoint that has all of its runs."""
    folder = tmp_path_factory.mktemp("worth")
    kept = folder / "kept.jsonl"
    return compared(written(folder), checkpoint=kept), kept


@pytest.fixture(scope="module")
def worth(played: tuple[Worth, Path]) -> Worth:
    return played[0]


def test_each_choice_is_played_alone_and_all_together(worth: Worth) -> None:
    alone = ["allocation.policies = preserve", "collectives.planner = packing"]
    assert list(worth.found) == ["as-written", *alone, "default", "backfilled"]
    assert dict(worth.choices) == dict(
        zip(alone, ["allocation.policies", "collectives.planner"], strict=True)
    )
    assert (worth.reference, worth.together, list(worth.seeds)) == (
        "default",
        "as-written",
        [3, 4, 5],
    )
    for of_seeds in worth.found.values():
        assert len(of_seeds) == 3
        assert all(each[it.name] is not None for each in of_seeds for it in MEASURES[:7])


def test_a_choice_alone_is_the_reference_with_that_key_of_the_scenario(worth: Worth) -> None:
    text = DAY.replace("seed = 3", "seed = 4").split("[compare]")[0]
    for name, lines in {
        "default": ('["baseline"]', "nccl-classic"),
        "allocation.policies = preserve": ('["preserve"]', "nccl-classic"),
        "collectives.planner = packing": ('["baseline"]', "packing"),
        "as-written": ('["preserve"]', "packing"),
    }.items():
        policy, planner = lines
        alone = text.replace('["preserve"]', policy) + f'[collectives]\nplanner = "{planner}"\n'
        scenario = Scenario.from_text(alone)
        system, jobs, _ = scenario.build()
        result = simulated(scenario, system, jobs, scenario.policies[0])
        assert worth.found[name][1]["makespan"] == result.makespan, name
        rows = list(result.jobs())
        mean = sum(row["finish"] - row["arrival"] for row in rows) / len(rows)
        assert worth.found[name][1]["job_time"] == pytest.approx(mean), name


def test_choices_and_what_is_left_over_are_the_whole(worth: Worth) -> None:
    for measure in ("job_time", "wait", "makespan", "throughput"):
        share = {it.what: it.share.mean for it in worth.gains if it.measure == measure}
        [total] = [value for what, value in share.items() if what.startswith(SUM)]
        [left_over] = [value for what, value in share.items() if what.startswith(LEFT_OVER)]
        assert sum(share[name] for name in worth.choices) == pytest.approx(total)
        assert total + left_over == pytest.approx(share[worth.together])
        assert "backfilled" in share
        assert worth.reference not in share
    for gain in worth.gains:
        assert gain.share.low is not None
        assert gain.share.high is not None
        assert gain.share.low <= gain.share.mean <= gain.share.high


def test_the_answer_comes_first_with_its_interval(
    played: tuple[Worth, Path], tmp_path: Path
) -> None:
    worth, all_runs = played
    gain = worth.gain("as-written", "job_time")
    assert gain is not None
    assert gain.low is not None
    told = f"With all choices together jobs end {100 * gain.mean:.1f} % ({100 * gain.low:.1f} to"
    assert worth.headline.startswith(told)
    assert "(3 seeds, 95 % intervals)" in worth.headline
    path = written(tmp_path)
    kept = Path(shutil.copy(all_runs, tmp_path / "kept.jsonl"))
    options = ["--workers", "1", "--checkpoint", kept, "-o", tmp_path / "out"]
    shown = linkwright("compare", path, *options)
    assert shown.exit_code == 0, shown.output
    assert " ".join(shown.stdout.split()).count(worth.headline) == 1
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    first = page.split('<p class="answer"><strong>')[1].split("</strong>")[0]
    assert first == worth.headline
    for name in (
        "GPUs that a job of several holds",
        "Who held which GPU when: default",
        "used (%)",
    ):
        assert name in page
    runs = pq.read_table(tmp_path / "out" / "runs.parquet")
    assert runs.num_rows == 15
    assert (runs.schema.field("makespan").metadata or {})[b"unit"] == b"s"
    assert pq.read_table(tmp_path / "out" / "gains.parquet").num_rows == len(worth.gains)
    events = json.loads((tmp_path / "out" / "timeline.json").read_text())["traceEvents"]
    assert {"as-written", "default"} <= {
        event["args"]["name"] for event in events if event["name"] == "process_name"
    }
    # A kept run is not played again, and says the same.
    lines = all_runs.read_text().splitlines()
    assert kept.read_text().splitlines() == lines
    assert len(lines) == 16
    found = parsed("compare", path, "--workers", "1", "--checkpoint", kept)
    assert kept.read_text().splitlines() == lines
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == found
    check(found, "", schema("compare --seeds"))


def test_what_a_comparison_costs_is_said_once_every_variant_was_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = DAY.replace("count = 14", "count = 2")
    path = written(tmp_path, few)
    monkeypatch.setattr(runs, "LONG", math.inf)
    assert linkwright("compare", path, "--workers", "1").stderr == ""
    monkeypatch.setattr(runs, "LONG", 0.0)
    told = linkwright("compare", path, "--workers", "1").stderr
    assert re.fullmatch(r"All 15 runs take about \d+ s, going by the first \d+\.\n", told), told
    # Policies are played here, one after the other.
    alone = tmp_path / "alone.toml"
    alone.write_text(few.split("[compare]")[0], encoding="utf-8")
    monkeypatch.setattr(pace, "time", SimpleNamespace(monotonic=lambda: 0.0))
    monkeypatch.setattr(runs, "LONG", -1.0)
    told = linkwright("compare", alone).stderr
    assert told == "All 2 runs take about 0 s, going by the first.\n"


def test_a_killed_comparison_goes_on_with_nothing_lost_or_doubled(
    played: tuple[Worth, Path], tmp_path: Path
) -> None:
    path = written(tmp_path)
    kept = tmp_path / "kept.jsonl"
    words = ["compare", path, "--workers", "1", "--checkpoint", kept, "--json"]
    killed = program(*words, start_new_session=True)
    deadline = time.monotonic() + 60
    while not kept.exists() or kept.read_bytes().count(b"\n") < 4:
        assert killed.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(killed.pid, signal.SIGKILL)
    # Its pipes are closed, too.
    killed.communicate()
    before = kept.read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    assert whole.count(b"\n") < 16
    found = parsed("compare", path, "--workers", "1", "--checkpoint", kept)
    after = kept.read_bytes()
    assert after.startswith(whole)
    keys = [json.loads(line)["key"] for line in after.splitlines()[1:]]
    assert len(keys) == len(set(keys)) == 15
    # As if nothing had been killed.
    assert found == parsed("compare", path, "--workers", "1", "--checkpoint", played[1])


def test_machines_are_compared_for_who_buys(tmp_path: Path) -> None:
    text = DAY.split("[compare]")[0]
    mine = tmp_path / "elsewhere" / "mine.toml"
    mine.parent.mkdir()
    mine.write_text(System("dgx-a100").to_toml(), encoding="utf-8")
    path = written(tmp_path, text)
    found = parsed(
        "compare", path, "--machine", "dgx1-v100", "--machine", mine, "--seeds", 2, "--workers", 1
    )
    assert [it["variant"] for it in found["variants"]] == ["dgx1-v100", str(mine)]
    assert found["reference"] == "dgx1-v100"
    assert f"On {mine} jobs end" in found["headline"]
    one = compared(path, machines=["dgx1-v100", "dgx2"])
    assert "one seed: no interval" in one.headline
    both = compared(path, machines=["dgx1-v100", "dgx2"], seeds=1)
    assert both.found == one.found


def test_machines_are_compared_at_their_own_speeds(tmp_path: Path) -> None:
    path = written(tmp_path, DAY.split("[compare]")[0])
    machines = ["dgx1-v100", "hgx-h100"]
    few = {"jobs.generate.count": 4, "jobs.generate.max_gpus": 4}
    own = compared(path, machines=machines, settings=few)
    asked = compared(path, machines=machines, settings={**few, "jobs.gpu_speed": "own"})
    assert (own.found, own.manifest) == (asked.found, asked.manifest)
    assert own.warnings == asked.warnings == []
    note, computing = own.notes
    assert '`jobs.gpu_speed = "own"`' in note
    assert "h100-sxm5-80gb 4.26 times v100-sxm2-16gb: fp32 of plain cores (4 jobs" in computing
    assert asked.notes == [computing]
    [warning] = compared(
        path, machines=machines, settings={**few, "jobs.gpu_speed": "reference"}
    ).warnings
    assert "the GPU of hgx-h100 is H100" in warning
    assert '(`jobs.gpu_speed = "own"`)' in warning
    # Where one is not known, all compute as the workloads' own GPU does.
    unknown = compared(path, machines=["dgx1-v100", "hgx-h100", "pcie-tree-4"], settings=few)
    assert unknown.notes == []
    assert [" is not known: " in warning for warning in unknown.warnings] == [False, True]
    assert all("jobs.gpu_speed" in warning for warning in unknown.warnings)
    # By the formula no GPU has a speed.
    formula = path.read_text(encoding="utf-8").replace('fidelity = "fluid"\n', "")
    path.write_text(formula, encoding="utf-8")
    assert compared(path, machines=machines, settings=few).notes == []


def test_what_no_job_heeds_is_told(tmp_path: Path) -> None:
    few = {"jobs.generate.count": 2, "system.network.nic": "rr-4", "pcie.first": "large"}
    found = compared(written(tmp_path), settings=few, seeds=1)
    told = [note.partition(" count") for note in found.notes]
    assert [what for what, counts, _ in told if counts] == ["`system.network.nic`", "`pcie.first`"]


def test_recorded_jobs_are_compared_at_own_speeds_where_the_recording_system_s_is_known(
    tmp_path: Path,
) -> None:
    (tmp_path / "jobs.csv").write_text("submit,gpus,duration\n0,2,600\n9,1,500\n")
    day = DAY.split("[compare]")[0].replace(
        "generate = {", 'file = "jobs.csv"\nworkload = "gmm" # {'
    )
    for server, own in (("dgx1-v100", True), ("pcie-tree-4", False)):
        path = written(tmp_path, day.replace("dgx1-v100", server))
        found = compared(path, machines=["dgx-a100", "hgx-h100"])
        assert any("own speed" in note for note in found.notes) == own
        assert bool(found.warnings) != own


def test_the_days_of_a_file_are_drawn_from_it(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("submit,gpus,duration\n0,2,600\n9,3,500\n20,1,900\n")
    head = DAY.replace("generate = { count = 14", 'file = "jobs.csv"\nworkload = "vgg-16" # {')
    found = compared(written(tmp_path, head))
    assert found.job_count == 3
    spans = [each["makespan"] for each in found.found["default"]]
    assert len(set(spans)) > 1
    assert found.notes
    assert "assumed" in found.notes[0]


def test_links_carry_what_the_plans_move() -> None:
    scenario = Scenario.from_text(DAY)
    system, jobs, _ = scenario.build()
    result = simulated(scenario, system, jobs, "preserve")
    use = link_use(Day(scenario, system, jobs, result))
    could = could_carry(system)
    assert set(use) == set(could)
    assert all(0 <= share <= 1 for share in use.values())
    carried = sum(share * could[way] for way, share in use.items()) * result.makespan
    # An all-reduce of k GPUs moves 2 (k - 1) times its size over links at least.
    sizes = {"alexnet": 243860896, "vgg-16": 553430176}
    least = sum(2 * (job.gpus - 1) * sizes.get(job.workload, 0) * job.iterations for job in jobs)
    assert carried >= least > 0
    # On several servers each server's links carry what its jobs move.
    text = DAY.replace('server = "dgx1-v100"', 'server = "dgx1-v100"\nservers = 2')
    both = Scenario.from_text(text)
    system, jobs, _ = both.build()
    result = simulated(both, system, jobs, "preserve")
    use = link_use(Day(both, system, jobs, result))
    assert set(use) == set(could_carry(system))
    assert any(share > 0 for (start, _, _), share in use.items() if start.startswith("node0/GPU"))


# A V100's images of an iteration, and the points of each: as many 32-bit numbers for each colour.
IMAGES = {"resnet-50": 16 * 224 * 224 * 3 * 4, "vgg-16": 2 * 224 * 224 * 3 * 4}
GRADIENTS = {"resnet-50": 102_228_128, "vgg-16": 553_430_176}
BUCKET = 25_000_000


def test_links_carry_the_copies_and_every_bucket_of_each_job() -> None:
    text = DAY.replace(
        "generate = { count = 14, max_gpus = 5,",
        f'host_copies = true\nbucket = "{BUCKET} B"\ngenerate = {{ count = 5, max_gpus = 4, '
        'workloads = ["resnet-50", "vgg-16"],',
    )
    scenario = Scenario.from_text(text)
    system, jobs, _ = scenario.build()
    result = simulated(scenario, system, jobs, "preserve")
    brute: Counter[Direction] = Counter()
    for job, row in zip(jobs, pa.table(result.jobs()).to_pylist(), strict=True):
        for gpu in row["gpus"]:
            switch, cpu = f"PCIE{gpu // 2}", f"CPU{gpu // 4}"
            for start, end in ((cpu, switch), (switch, f"GPU{gpu}")):
                brute[Direction(start, end, "pcie3")] += job.iterations * IMAGES[job.workload]
        whole, rest = divmod(GRADIENTS[job.workload], BUCKET)
        for size, count in ((BUCKET, whole), (rest, 1)):
            if job.gpus > 1:
                plan = linkwright_plan(
                    system, row["gpus"], "all-reduce", algorithm="packing", size=size
                )
                for load in plan.time(size).links():
                    over = Direction(load["from"], load["to"], load["kind"])
                    brute[over] += load["bytes"] * count * job.iterations
    use, could = link_use(Day(scenario, system, jobs, result)), could_carry(system)
    carried = {of: share * could[of] * result.makespan for of, share in use.items() if share}
    assert set(carried) == set(brute)
    # Ways over NVLinks may be those of another allocation that is joined alike.
    for kind in ("pcie3", "nvlink2"):
        of_kind = [sum(of[it] for it in brute if it.kind == kind) for of in (carried, brute)]
        assert of_kind[0] == pytest.approx(of_kind[1], rel=1e-6)
    for link in brute:
        if link.kind == "pcie3":
            assert carried[link] == pytest.approx(brute[link], rel=1e-9)


def test_what_links_carried_is_asked_of_the_system_and_is_that_of_the_run() -> None:
    scenario = Scenario.from_text(DAY)
    system, jobs, _ = scenario.build()
    played = simulated(scenario, system, jobs, "preserve")
    with pytest.raises(SimulationError, match="not played on this system"):
        played.links(System("pcie-tree-4"))
    # Whichever planner made the plans, nobody has to tell it again.
    rings = play_jobs(system, jobs, "preserve", run_time="played", planner="nccl-ring")
    by_mpi = play_jobs(system, jobs, "preserve", run_time="played", planner="mpi")
    found = [
        {(row["from"], row["to"]): row["data"] for row in result.links(system)}
        for result in (played, rings, by_mpi)
    ]
    assert all(found)
    assert found[0] != found[1] != found[2]
    by_formula = play_jobs(system, jobs, "preserve")
    assert list(by_formula.links(system)) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seeds", "0"], "0 is not from 1 to 1,000"),
        (
            ["--set", "compare.seeds=2000"],
            "no number of seeds: `2000`; write a whole number from 1",
        ),
        (["--set", 'allocation.policies=["presrve"]'], "did you mean `preserve`?"),
        (["--set", "allocation.servers=pak"], "did you mean `pack`?"),
        (["--set", "pcie.arbitration=throughputs"], "did you mean `throughput`?"),
        (["--set", "pcie.deadline=0"], "no deadline: `0`; write how many times"),
        (["--machine", "dgx1-v10"], "nor a file `dgx1-v10`; did you mean `dgx1-v100` or"),
        (["--machine", "dgx2", "--machine", "dgx2"], "a machine is named twice; name each once"),
        (["--machine", "dgx2", "--baseline", "default"], "--machine compares machines"),
        (
            ["--set", "jobs.generate.max_gpus=9"],
            "job of 9 GPUs, and 8 of the machine are healthy; set",
        ),
        (
            [
                *("--set", "jobs.gpu_speed=own", "--set", "system.server=pcie-tree-4"),
                *("--set", "jobs.generate.max_gpus=4"),
            ],
            "jobs.gpu_speed: the speed of `GPU0` of `pcie-tree-4` is not known; name a known GPU",
        ),
        (["--machine", "4x-l40s-pcie"], "the mix has a job of 5 GPUs, and 4 of the machine are"),
    ],
)
def test_what_cannot_be_is_refused_before_any_run(
    tmp_path: Path, options: list[str], said: str
) -> None:
    result = linkwright("compare", written(tmp_path), *options)
    assert result.exit_code in (1, 2)
    assert said in " ".join(result.stderr.split()), result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('["preserve"]', '["presrve"]', 'day.toml:8:13: unknown policy: `"presrve"`; did you mean'),
        (
            "dgx1-v100",
            "dgx1-v10",
            "day.toml:4:10: there is no server of this name: `dgx1-v10`; did",
        ),
        (
            "max_gpus = 5",
            "max_gpus = 9",
            "day.toml:6:37: the mix has a job of 9 GPUs, and 8 of the",
        ),
        ("seeds = 3", "seeds = 0", "day.toml:11:9: no number of seeds: `0`; write a whole number"),
        ("[compare]", "[pcie]\ndeadline = 0\n[compare]", "day.toml:10:12: no deadline: `0`; write"),
        (
            "[compare]",
            '[pcie]\narbitration = "rond-robin"\n[compare]',
            'day.toml:10:15: unknown arbitration of PCIe: `"rond-robin"`; did you mean `round-',
        ),
    ],
)
def test_a_wrong_day_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert said in fails(2, "compare", written(tmp_path, DAY.replace(old, new, 1)))


def test_programs_have_no_seeds_and_no_machines(tmp_path: Path) -> None:
    text = '[[job]]\nprogram = "stencil4d"\nranks = 16\n[compare.a]\nseed = 4\n'
    for options in ({"seeds": 2}, {"machines": ["dgx2"]}):
        with pytest.raises(SimulationError, match="runs programs"):
            compare(written(tmp_path, text), **options)
    seeded = text.replace("[compare.a]", "[compare]\nseeds = 2\n[compare.a]")
    with pytest.raises(InputError, match="seeds of programs"):
        compare(written(tmp_path, seeded))


def test_intervals_are_those_of_the_bootstrap() -> None:
    random = Random(1)
    values = [random.gauss(10, 2) for _ in range(20)]
    known = estimate(values)
    assert known is not None
    assert known.low is not None
    assert known.high is not None
    mean = sum(values) / 20
    error = (sum((value - mean) ** 2 for value in values) / 20) ** 0.5 / 20**0.5
    # Of a mean of twenty the bootstrap is nearly the normal interval.
    assert known.mean == mean
    assert known.low == pytest.approx(mean - 1.96 * error, abs=0.15 * error)
    assert known.high == pytest.approx(mean + 1.96 * error, abs=0.15 * error)
    alone = estimate([4.0])
    assert alone is not None
    assert (alone.mean, alone.low, alone.high) == (4.0, None, None)
    assert estimate([1.0, None]) is None


@settings(max_examples=30)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12))
def test_an_interval_holds_its_mean_and_lies_among_the_values(values: list[float]) -> None:
    known = estimate(values)
    assert known is not None
    assert known.low is not None
    assert known.high is not None
    slack = 1e-6 * max(1.0, *map(abs, values))
    assert min(values) - slack <= known.low <= known.mean + slack
    assert known.mean - slack <= known.high <= max(values) + slack


def test_what_is_saved_is_a_share_of_what_was() -> None:
    assert share_saved(4.0, 3.0, True) == 0.25
    assert share_saved(4.0, 5.0, False) == 0.25
    assert share_saved(0.0, 0.0, True) == 0.0
    assert share_saved(0.0, 1.0, True) is None
    assert share_saved(None, 1.0, True) is None
