"""Machines that are compared before they are bought: how many servers, how fast, for how much."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from commands import fails, parsed
from commands import linkwright as run_cli
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_cli_json import check, schema

import linkwright
from linkwright import System
from linkwright.scenario import Job
from linkwright.errors import InputError, LinkwrightError, SimulationError
from linkwright.hardware import bill_of, read_prices
from linkwright.names import PolicyName
from linkwright.runs.scenarios import read_scenario_file
from linkwright.runs.worth.machines import Equal, bought, machine_of
from linkwright.runs.worth.run import Worth

DAY = """
fidelity = "fluid"
[system]
server = "hgx-h100"
servers = 3
network = { kind = "fat-tree", bandwidth = "400 Gb/s" }
[jobs]
generate = { count = 4, max_gpus = 4, iterations = 20, workloads = ["vgg-16", "jacobi"] }
precision = "bf16"
[allocation]
policies = ["preserve"]
"""

PRICES = """
currency = "EUR"
server = { price = 100, watts = 0 }
gpu = { price = 10, watts = 700 }
switch = { price = 5, watts = 0 }
interface = { price = 1, watts = 0 }
cable = { price = 1, watts = 0 }
"""


@pytest.fixture
def day(tmp_path: Path) -> Path:
    path = tmp_path / "day.toml"
    path.write_text(DAY, encoding="utf-8")
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    return path


def compared(path: Path, **more: Any) -> Worth:
    found = linkwright.compare(path, workers=ThreadPoolExecutor(1), **more)
    assert isinstance(found, Worth)
    return found


def counts(equal: Equal | None) -> list[int]:
    assert equal is not None
    return [each.servers for each in equal.taken]


@given(
    base=st.sampled_from(["hgx-h100", "dgx1-v100", "gb200-nvl72", "pcie-tree-4"]),
    other=st.sampled_from(["hgx-b200", "dgx2", "gb200-nvl72", "4x-l40s-pcie"]),
    servers=st.integers(1, 400),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_equal_gpus_are_at_most_the_base_s_and_more_than_those_without_a_server(
    day: Path, base: str, other: str, servers: int
) -> None:
    loaded = read_scenario_file(day)
    chosen, equal = bought(loaded, {}, [f"{base}={servers}", other], "gpus", None)
    taken = counts(equal)
    assert [it.servers for it in chosen] == taken
    of, each = servers * System(base).gpu_count, System(other).gpu_count
    assert taken[0] == servers
    assert taken[1] >= 1
    assert taken[1] == 1 or of - each < taken[1] * each <= of
    assert equal is not None
    assert equal.taken[1].over == of - taken[1] * each


def test_servers_are_equal_by_number_gpus_and_price(day: Path) -> None:
    prices = read_prices(day.parent / "prices.toml")
    loaded = read_scenario_file(day)

    def taken(by: str) -> list[int]:
        return counts(bought(loaded, {}, ["hgx-h100", "dgx2"], by, prices)[1])

    assert taken("servers") == [3, 3]
    assert taken("gpus") == [3, 1]
    _, equal = bought(loaded, {}, ["hgx-h100", "dgx2"], "price", prices)
    assert equal is not None
    first, second = equal.taken
    assert first.value == equal.of
    assert second.value <= equal.of
    # One server more would cost more.
    more = {"system.server": "dgx2", "system.servers": second.servers + 1}
    system = read_scenario_file(day, more).system()
    assert prices.price(bill_of(system)) > equal.of
    assert second.over == pytest.approx(equal.of - second.value)


def test_a_machine_that_is_named_alone_is_compared_with_the_scenario_s_own(day: Path) -> None:
    found = compared(day, machines=["hgx-b200"], equal="servers")
    assert list(found.machines) == ["hgx-h100", "hgx-b200"]
    summary: Mapping[str, Any] = json.loads(json.dumps(found.summary()))
    assert [row["servers"] for row in summary["hardware"]["systems"]] == [3, 3]
    assert [row["gpus"] for row in summary["hardware"]["systems"]] == [24, 24]
    assert [row["gpu_power"] for row in summary["hardware"]["systems"]] == [16_800, 24_000]
    assert summary["equal"]["by"] == "servers"
    assert "3 servers taken by equal servers" in found.notes[0]


def test_jobs_compute_by_the_peaks_of_their_numbers(day: Path) -> None:
    found = compared(day, machines=["hgx-h100", "hgx-b200"])
    speeds = {it.number: it for it in found.speeds}
    assert speeds["bf16"].least == pytest.approx(2250 / 989.4)
    assert speeds["fp32"].least == pytest.approx(75 / 66.9)
    [line] = [note for note in found.notes if note.startswith("Computing on hgx-b200")]
    assert "b200-sxm6-180gb" in line
    assert "2.27 times" in line
    assert "dense bf16" in line
    assert "fp32 of plain cores" in line
    told = found.summary()["speeds"]
    assert isinstance(told, list)
    assert {row["basis"] for row in told} == {"matrix", "vector"}


def test_the_same_machine_computes_exactly_as_fast_and_comes_to_the_same(day: Path) -> None:
    found = compared(day, machines=["hgx-h100", "hgx-h100=3"])
    assert {it.least for it in found.speeds} == {it.most for it in found.speeds} == {1.0}
    first, second = found.found.values()
    assert first == second


def test_measured_times_stand_before_peaks(day: Path) -> None:
    measured = {"jobs.measured": {"b200-sxm6-180gb": {"vgg-16": "1 ms"}}}
    found = compared(day, machines=["hgx-h100", "hgx-b200"], settings=measured)
    [row] = [it for it in found.speeds if it.basis == "measured"]
    assert list(row.workloads) == ["vgg-16"]
    of = linkwright.scenario.Scenario.from_text(DAY).with_settings({"jobs.gpu_speed": "own", **measured})
    system, jobs, _ = of.build()
    own = {it["workload"]: it for it in of.speeds(system, jobs)}
    assert own["vgg-16"]["basis"] == "matrix"
    assert row.least == pytest.approx(own["vgg-16"]["computing"] / 1e-3)


def test_networks_are_trained_on_gpus_of_unknown_multiprocessors(day: Path) -> None:
    trained = DAY.replace('workloads = ["vgg-16", "jacobi"]', 'train = ["resnet-18"]')
    day.write_text(trained, encoding="utf-8")
    found = compared(day, machines=["hgx-h100", "hgx-b200"])
    [row] = found.speeds
    assert row.basis == "layers"
    # Memory bounds some layers, arithmetic others, and starts of kernels the rest.
    assert 1 < row.least < 2250 / 989.4
    assert not any("multiprocessors" in it for it in found.notes)
    machine = day.with_name("own.toml")
    text = linkwright.network.read_system("4x-l40s-pcie").to_toml()
    machine.write_text(text.replace("L40S-48GB", "GeForce RTX 3090 Ti"), encoding="utf-8")
    # Its data sheet says one peak.
    day.write_text(trained.replace("bf16", "fp32"), encoding="utf-8")
    found = compared(day, machines=["hgx-h100", str(machine)])
    assert any("says how many multiprocessors a rtx-3090-ti has" in it for it in found.notes)
    step = linkwright.train("resnet-18", machine, batch=32)
    assert any("multiprocessors a rtx-3090-ti" in note for note in step.notes)


def test_who_computes_as_the_reference_is_not_told_a_speed(day: Path) -> None:
    found = compared(
        day, machines=["hgx-h100", "hgx-b200"], settings={"jobs.gpu_speed": "reference"}
    )
    assert {it.basis for it in found.speeds} == {"reference"}
    assert not any(note.startswith("Computing") for note in found.notes)


def test_a_job_computes_in_the_numbers_that_it_says_itself() -> None:
    times = []
    for keys in ("", 'precision = "tf32"', 'precision = "bf16"'):
        own = f'gpu_speed = "own"\n{keys}\n'
        text = f'system.server = "hgx-h100"\n[[job]]\nworkload = "vgg-16"\nranks = 1\n{own}'
        scenario = linkwright.scenario.Scenario.from_text(text)
        system, jobs, _ = scenario.build()
        times.append(system.play(jobs).makespan)
    fp32, tf32, bf16 = times
    assert fp32 / tf32 == pytest.approx(494.7 / 66.9, rel=1e-6)
    assert tf32 / bf16 == pytest.approx(989.4 / 494.7, rel=1e-6)


@pytest.mark.parametrize("precision", ["fp32", "tf32", "fp16", "bf16"])
def test_a_higher_peak_never_computes_longer(precision: str) -> None:
    machines = ["dgx-a100", "hgx-h100", "hgx-b200", "gb200-nvl72"]
    text = DAY.replace('"bf16"', f'"{precision}"\ngpu_speed = "own"')
    times = []
    for machine in machines:
        scenario = linkwright.scenario.Scenario.from_text(text).with_settings({"system.server": machine})
        system, jobs, _ = scenario.build()
        times.append([row["computing"] for row in scenario.speeds(system, jobs)])
    for slower, faster in pairwise(times):
        assert all(a > b for a, b in zip(slower, faster, strict=True))


def test_what_comes_to_exactly_the_same_says_why(tmp_path: Path, day: Path) -> None:
    def told(server: str, policies: list[PolicyName]) -> list[str]:
        text = DAY.replace(
            'servers = 3\nnetwork = { kind = "fat-tree", bandwidth = "400 Gb/s" }', ""
        )
        path = tmp_path / "one.toml"
        path.write_text(text.replace("hgx-h100", server).replace('precision = "bf16"', ""))
        crowd = {"jobs.generate.mean_interarrival": "1 ms", "jobs.generate.count": 12}
        found = linkwright.compare(path, policies=policies, settings=crowd)
        return [note for note in found.notes if "exactly the same" in note]

    [note] = told("hgx-h100", ["preserve", "baseline", "greedy"])
    assert "every GPU reaches every other over links that are alike (NV18)" in note or (
        "every job got the same GPUs" in note
    )
    assert told("dgx1-v100", ["preserve", "baseline"]) == []
    seeded = compared(day, seeds=2, policies=["preserve", "baseline"])
    assert any("preserve and baseline come to exactly the same" in it for it in seeded.notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hgx-h100=0", "`hgx-h100=0` has no number of servers behind `=`; write a machine"),
        ("hgx-h100=x", "`hgx-h100=x` has no number of servers behind `=`"),
        ("=3", "`=3` has no number of servers"),
        ("hgx-h100=-1", "such as hgx-h100=4"),
        ("hgx-h100=99999999", "no number of servers"),
    ],
)
def test_what_is_no_count_is_refused(text: str, said: str) -> None:
    with pytest.raises(SimulationError) as error:
        machine_of(text)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_machines_are_read_with_and_without_counts() -> None:
    read = [machine_of(text) for text in ("dgx2", "dgx2=12", "./a=b.toml", "./a=b.toml=2")]
    assert [(it.machine, it.servers) for it in read] == [
        ("dgx2", None),
        ("dgx2", 12),
        ("./a=b.toml", None),
        ("./a=b.toml", 2),
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"machines": ["hgx-h100", "hgx-b200"], "equal": "price"}, "an equal price needs the"),
        ({"machines": ["hgx-h100", "hgx-b200"], "equal": "gpu"}, "did you mean `gpus`?"),
        ({"machines": ["hgx-h100", "hgx-b200=2"], "equal": "gpus"}, "beside equal gpus, which"),
        ({"machines": ["hgx-h100", "hgx-b20"]}, "did you mean `hgx-b200`"),
        ({"equal": "gpus"}, "`equal` is of machines; name machines"),
        ({"machines": ["hgx-h100"], "equal": "gpus"}, "a machine is named twice"),
    ],
)
def test_what_cannot_be_compared_is_refused(day: Path, more: dict[str, Any], said: str) -> None:
    with pytest.raises(LinkwrightError) as error:
        compared(day, **more)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_price_has_a_place(day: Path) -> None:
    prices = day.parent / "prices.toml"
    prices.write_text(PRICES.replace("cable =", "# cable ="), encoding="utf-8")
    with pytest.raises(InputError) as error:
        compared(day, machines=["hgx-h100", "hgx-b200"], equal="price", prices=prices)
    assert "no price of the cable" in str(error.value)
    assert "write `price = NUMBER` in `[cable]`" in str(error.value)


def test_the_command_says_what_was_taken(day: Path) -> None:
    asked = ("--machine", "hgx-h100=2", "--machine", "gb200-nvl72", "--equal", "gpus")
    shown = run_cli("compare", day, *asked, "--workers", 1)
    assert shown.exit_code == 0, shown.stderr
    text = " ".join((shown.stdout + shown.stderr).split())
    assert "gb200-nvl72: 1 server taken by equal gpus: 72 GPUs, against 16 GPUs" in text
    assert "56 GPUs too many, as there is one server at least" in text
    own = ("--machine", "hgx-b200", "--equal", "gpus", "--prices", day.parent / "prices.toml")
    document = parsed("compare", day, *own, "--workers", 1)
    check(document, "", schema("compare --seeds"))
    assert document["equal"]["machines"][1]["servers"] == 3
    alone = fails(2, "compare", day, "--equal", "gpus")
    assert "--equal is of machines; name some with --machine" in alone


RECORD = """JobID|JobName|Submit|ElapsedRaw|AllocTRES
1|vgg-a|2024-03-04T07:00:00|400|gres/gpu=4
2|vgg-b|2024-03-04T07:00:01|500|gres/gpu=8
3|solve|2024-03-04T07:00:02|300|gres/gpu=2
4|misc|2024-03-04T07:00:03|200|gres/gpu=1
"""

NAMED = """
fidelity = "fluid"
[system]
server = "hgx-h100"
[jobs]
file = "jobs.txt"
workload = "resnet-50"
[[jobs.named]]
name = "vgg-*"
train = "vgg-16"
precision = "bf16"
[[jobs.named]]
name = "solve"
workload = "jacobi"
"""


def named(text: str = NAMED, record: str = RECORD) -> tuple[list[Job], list[str]]:
    _, jobs, notes = linkwright.scenario.Scenario.from_text(text).build({"jobs.txt": record.encode()})
    return jobs, notes


def test_names_of_recorded_jobs_say_what_they_ran() -> None:
    jobs, notes = named()
    assert [job.workload for job in jobs] == ["vgg-16", "vgg-16", "jacobi", "resnet-50"]
    told, assumed = notes[:2]
    assert "3 jobs ran what `[[jobs.named]]` says: vgg-16 (2 of `vgg-*`), jacobi (1 of" in told
    assert "No entry fits 1 job, of names such as `misc`." in told
    assert "it is assumed that these 1 jobs ran resnet-50" in assumed
    # A job fills its recorded time on as many GPUs of the idle system.
    scenario = linkwright.scenario.Scenario.from_text(NAMED)
    system, built, _ = scenario.build({"jobs.txt": RECORD.encode()})
    for job, seconds in zip(built, (400, 500, 300, 200), strict=True):
        alone = scenario.play_jobs(system, [job], "greedy")
        [row] = alone.jobs()
        assert row["run_time"] == pytest.approx(seconds, rel=0.01), job


def test_the_first_entry_that_fits_counts_and_ids_stand_for_names() -> None:
    first = NAMED.replace(
        "[[jobs.named]]", '[[jobs.named]]\nname = "vgg-b"\nworkload = "gmm"\n[[jobs.named]]', 1
    )
    assert [job.workload for job in named(first)[0]] == ["vgg-16", "gmm", "jacobi", "resnet-50"]
    ids = RECORD.replace("|JobName", "|Other")
    only = NAMED.replace('"vgg-*"', '"1"')
    assert [job.workload for job in named(only, ids)[0]] == ["vgg-16", *["resnet-50"] * 3]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "solve"\n', "", "an entry without a name of jobs"),
        ('workload = "jacobi"', 'workload = "jacoby"', "did you mean `jacobi`?"),
        ('train = "vgg-16"', 'train = "vgg"', "vgg-16"),
        ('workload = "jacobi"', "", "nobody says what these jobs ran"),
        ('workload = "jacobi"', 'workload = "jacobi"\nsamples_per_gpu = 2', "of a workload, which"),
        ('train = "vgg-16"', 'train = "vgg-16"\nworkload = "gmm"', "`train` beside a workload"),
        ('workload = "resnet-50"\n', "", "or an entry of `[[jobs.named]]` that fits its name"),
        ('"resnet-50"\n', '"resnet-50"\nrun_time = "formula"\n', "which knows no layers"),
        ('file = "jobs.txt"\nworkload = "resnet-50"', "generate = {}", "jobs that a file says ran"),
    ],
)
def test_what_names_nothing_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        named(NAMED.replace('fidelity = "fluid"\n', "").replace(old, new))
    assert said in str(error.value)
    assert "\n" not in str(error.value)
