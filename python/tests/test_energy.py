"""The energy of GPUs, which every command tells alike, and the heat of a package over a day."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.parquet as pq
import pytest
from commands import fails
from commands import linkwright as run
from test_cli_json import check, schema

from linkwright import System, train
from linkwright.errors import InputError
from linkwright.gpu import GpuModel, steady_heat
from linkwright.runs.comparison import compare
from linkwright.runs.sizing.play import size_system
from linkwright.runs.worth.run import Worth
from linkwright.scenario import gpu_energy, play_mix, write_run
from linkwright.sweeps.workers import local_processes

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DAY = EXAMPLES / "package-day.toml"
PACKAGE = EXAMPLES / "mgpu-tsm-package.toml"

# A step of LeNet on a DGX-1V as `train` plays it.
STEP = """
fidelity = "flow"
[system]
server = "dgx1-v100"
[collectives]
protocol = "nccl"
[protocol]
send_overhead = "{copy} ns"
copy_per_byte = "0 ns"
rendezvous_delay = "0 ns"
[[job]]
name = "a"
train = "lenet"
ranks = 8
parameters = {{ batch = 512 }}
[compare.slower]
job.a.computation_scale = 2
"""

PRICES = """
[server]
price = 0
watts = 500
[gpu]
price = 0
"""


def test_a_model_says_what_it_draws() -> None:
    assert GpuModel.find("v100-sxm2-16gb").busy_power == 300.0
    assert GpuModel.find("mi250x").busy_power == 250.0
    text = GpuModel.find("t4").to_toml()
    for wrong, told in (("-70", "`-70`"), ('"70 W"', '`"70 W"`'), ("0", "give a value above 0")):
        with pytest.raises(InputError) as error:
            GpuModel.from_text(text.replace("busy = 70", f"busy = {wrong}"), "t4.toml")
        assert told in str(error.value)
        assert len(str(error.value).splitlines()) == 1
    with pytest.raises(InputError, match="unknown key: `rest`"):
        GpuModel.from_text(text.replace("busy = 70", "busy = 70\nrest = 9"), "t4.toml")
    rows = json.loads(run("machine", "list", "--gpu-models", "--json").stdout)
    assert {row["name"]: row["busy_power"] for row in rows}["h20"] is None
    assert sum(row["busy_power"] is not None for row in rows) > 60


def test_energy_is_that_by_hand() -> None:
    machine = System("dgx1-v100")
    jobs = [([0, 1], 0.0, 3600.0), ([1], 3600.0, 7200.0)]
    found = gpu_energy(machine, jobs)
    assert found == {"whole": pytest.approx(0.9), "jobs": [0.6, 0.3], "has_rest": False}
    found = gpu_energy(machine, jobs, {"": (200.0, 50.0), "v100-sxm2-16gb": (250.0, None)})
    # Three GPU-hours of 16 are busy.
    assert found["whole"] == pytest.approx((3 * 250 + 13 * 50) / 1000)
    assert found["has_rest"]
    assert gpu_energy(System("pcie-tree-4"), jobs)["whole"] is None


@pytest.mark.parametrize(
    ("gpu", "watts"), [("", 300.0), ("watts = 250\nrest = 40\n", 250.0)], ids=["sheet", "file"]
)
def test_size_compare_and_train_tell_one_energy(gpu: str, watts: float, tmp_path: Path) -> None:
    prices, scenario = tmp_path / "prices.toml", tmp_path / "step.toml"
    prices.write_text(f"{PRICES}{gpu}", encoding="utf-8")
    trained: Any = train("lenet", "dgx1-v100", batch=512, scaling=False, prices=prices)
    copy = round(trained.best.step.copy_cost * 1e9)
    scenario.write_text(STEP.format(copy=copy), encoding="utf-8")
    compared: Any = compare(scenario, prices=prices)
    sized = size_system(scenario, ["job.a.computation_scale=1,2"], prices=prices)
    step = trained.best.time
    assert compared.outcomes[0].makespan == pytest.approx(step, rel=1e-12)
    expected = 8 * watts * step / 3.6e6
    told = [
        trained.tables()["steps"]["gpu_energy"][0].as_py(),
        compared.outcomes[0].energy.whole,
        compared.rows[0]["gpu_energy"],
        *(of.bills.table()["gpu_energy_of_a_job"][0].as_py() for of in (trained, compared)),
        sized.tables()["values"]["gpu_energy_of_a_job"][0].as_py(),
    ]
    assert told == [pytest.approx(expected, rel=1e-9)] * len(told)
    # It is apart from the other parts, and both are in the whole.
    row = sized.tables()["values"].to_pylist()[0]
    assert row["other_energy_of_a_job"] == pytest.approx(500 * step / 3.6e6)
    both = row["gpu_energy_of_a_job"] + row["other_energy_of_a_job"]
    assert row["energy_of_a_job"] == pytest.approx(both)


def test_a_comparison_of_policies_tells_energy(tmp_path: Path) -> None:
    printed = run("compare", EXAMPLES / "dgx1-v100-mix.toml").stdout
    assert "kWh" in printed
    assert "their power at rest is unknown and not in it" in " ".join(printed.split())
    prices = tmp_path / "prices.toml"
    prices.write_text(f"{PRICES}watts = 300\nrest = 50\n", encoding="utf-8")
    words = ["compare", EXAMPLES / "dgx1-v100-mix.toml", "--prices", prices, "--json"]
    found = json.loads(run(*words).stdout)
    for parts, system in zip(found["parts"], found["hardware"]["systems"], strict=True):
        played = play_mix(EXAMPLES / "dgx1-v100-mix.toml", policies=[parts["policy"]])
        busy = parts["gpu_seconds"]
        rest = 8 * played.results[0].makespan - busy
        assert parts["gpu_energy"] == pytest.approx((300 * busy + 50 * rest) / 3.6e6)
        whole = system["gpu_energy_of_a_job"] * len(played.jobs)
        assert whole == pytest.approx(parts["gpu_energy"])
    seeds = run("compare", EXAMPLES / "dgx1-v100-mix.toml", "--seeds", 2, "--prices", prices)
    assert "kWh" in seeds.stdout, seeds.output


def test_rest_is_of_gpus_alone(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[server]\nrest = 3\n", encoding="utf-8")
    told = fails(2, "train", "lenet", "--gpus", 2, "--prices", prices)
    assert "unknown part or key of server: `rest`" in told


@pytest.fixture(scope="module")
def day() -> Any:
    return play_mix(DAY)


def test_energy_in_is_heat_out(day: Any) -> None:
    assert set(day.heats) == {"preserve"}
    for policy, energy in zip(day.heats, day.energies, strict=True):
        heat = day.heats[policy]
        assert heat.heat == pytest.approx(heat.energy, rel=1e-9)
        rows = list(heat.gpus)
        assert sum(row["gpu_energy"] for row in rows) == pytest.approx(energy.whole, rel=1e-9)
        for row in rows:
            by_hand = 180 * row["busy_share"] + 30 * (1 - row["busy_share"])
            assert row["mean_power"] == pytest.approx(by_hand)


def test_a_gpu_that_is_always_busy_is_as_warm_as_its_package(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("job,workload,gpus\na,alexnet,1\nb,alexnet,1\n", encoding="utf-8")
    scenario = tmp_path / "day.toml"
    scenario.write_text(
        f'[system]\nserver = "{EXAMPLES}/mgpu-tsm-server.toml"\n[jobs]\nfile = "jobs.csv"\n'
        'run_time = "formula"\n[allocation]\npolicies = ["baseline"]\n'
        f'[thermal]\npackage = "{PACKAGE}"\ncells = 24\nbusy = 180\nrest = 0\n',
        encoding="utf-8",
    )
    heat = play_mix(scenario).heats["baseline"]
    shares = {row["name"]: row["busy_share"] for row in heat.gpus}
    assert sorted(shares.values()) == [0.0, 0.0, 1.0, 1.0]
    text = PACKAGE.read_text(encoding="utf-8")
    for name, share in shares.items():
        head, _, tail = text.partition(f'name = "{name}"')
        text = f'{head}name = "{name}"' + tail.replace("power = 180", f"power = {180 * share}", 1)
    package = tmp_path / "package.toml"
    package.write_text(text, encoding="utf-8")
    alone = steady_heat(package, cells=24).map
    assert heat.map is not None
    assert alone.maximum == heat.map.maximum
    assert list(alone.blocks()) == list(heat.map.blocks())


def test_a_day_of_a_package_is_written_and_printed(day: Any, tmp_path: Path) -> None:
    write_run(day, tmp_path / "day")
    table = pq.read_table(tmp_path / "day" / "heat.parquet")
    assert table.num_rows == 4
    assert table.schema.field("mean_power").metadata == {b"unit": b"W"}
    jobs = pq.read_table(tmp_path / "day" / "jobs.parquet")
    assert jobs.schema.field("gpu_energy").metadata == {b"unit": b"kWh"}
    page = (tmp_path / "day" / "report.html").read_text(encoding="utf-8")
    assert "How hot the package became" in page
    for command, policies in (("run", ["preserve"]), ("compare", ["baseline", "preserve"])):
        found = json.loads(run(command, DAY, "--json").stdout)
        assert [row["policy"] for row in found["heat"]] == policies
        check(found, "", schema(command))
    printed = " ".join(run("run", DAY).stdout.split())
    assert "Heat of MGPU-TSM: at most" in printed
    assert "without transients" in printed
    assert "CPU, HBM0, HBM1, HBM2, HBM3 draw all the time as much as in the floorplan" in printed
    printed = " ".join(run("run", DAY, "--set", "thermal.busy=200").stdout.split())
    assert "Heat of MGPU-TSM" in printed


def test_programs_warm_their_package_too(tmp_path: Path) -> None:
    scenario = tmp_path / "programs.toml"
    scenario.write_text(
        f'[system]\nserver = "{EXAMPLES}/mgpu-tsm-server.toml"\n'
        '[[job]]\nname = "a"\nprogram = "laghos"\nranks = 2\n'
        f'[thermal]\npackage = "{PACKAGE}"\ncells = 12\nbusy = 180\n',
        encoding="utf-8",
    )
    found = json.loads(run("run", scenario, "--json").stdout)
    assert [row["busy_share"] for row in found["heat"][0]["gpus"]] == [1, 1, 0, 0]
    assert any("at rest is unknown" in note for note in found["heat"][0]["notes"])
    check(found, "", schema("replay"))


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("system.server=dgx1-v100", "are boards of their own, and no package holds both"),
        (
            "thermal.busy=-5",
            "thermal.busy: a power below zero: `-5`; write watts from 0 to 1000000",
        ),
        ("thermal.package=nowhere.toml", "there is no file"),
        ("thermal.bussy=5", "thermal.bussy: unknown key; did you mean `busy`?"),
    ],
)
def test_what_is_no_package_is_refused_in_a_line(setting: str, told: str) -> None:
    error = fails(2, "run", DAY, "--set", setting)
    assert told in error
    assert len(error.splitlines()) == 1


def test_a_comparison_over_seeds_observes_heat(tmp_path: Path) -> None:
    settings = {
        "jobs.generate.count": 8,
        "thermal.cells": 12,
        "allocation.policies": ["preserve", "baseline"],
    }
    found = compare(DAY, settings=settings, seeds=3, workers=local_processes(1))
    assert isinstance(found, Worth)
    days = [
        play_mix(DAY, settings={**settings, "seed": seed, "jobs.generate.seed": seed})
        for seed in found.seeds
    ]
    for told in found.summary()["heat"]:  # type: ignore[attr-defined]
        heats = [day.heats[told["variant"]] for day in days]
        assert told["maximum"]["mean"] == pytest.approx(fmean(it.maximum for it in heats))
        assert told["maximum"]["low"] < told["maximum"]["mean"] < told["maximum"]["high"]
        assert told["heat"] == pytest.approx(told["energy"], rel=1e-9)
        for at, row in enumerate(told["gpus"]):
            means = fmean(list(it.gpus)[at]["mean_power"] for it in heats)
            assert row["mean_power"] == pytest.approx(means)
    write_run(found, tmp_path / "seeds")
    table = pq.read_table(tmp_path / "seeds" / "heat.parquet")
    assert table.num_rows == 2 * 3 * 4
    page = (tmp_path / "seeds" / "report.html").read_text(encoding="utf-8")
    assert "Temperatures of" in page
    words = [f"--set={key}={json.dumps(value)}" for key, value in settings.items()]
    told = json.loads(run("compare", DAY, *words, "--seeds", 2, "--json").stdout)
    assert len(told["heat"]) == 2
    check(told, "", schema("compare --seeds"))


def test_machines_of_a_package_are_compared_and_others_refused(tmp_path: Path) -> None:
    other = tmp_path / "narrow.toml"
    text = (EXAMPLES / "mgpu-tsm-server.toml").read_text(encoding="utf-8")
    other.write_text(text.replace('name = "mgpu-tsm"', 'name = "narrow"', 1), encoding="utf-8")
    words = ["compare", DAY, "--set", "jobs.generate.count=6", "--set", "thermal.cells=8"]
    of = ["--machine", EXAMPLES / "mgpu-tsm-server.toml", "--machine"]
    printed = run(*words, *of, other).stdout
    assert "Heat of MGPU-TSM: means over 1 seed" in printed
    assert printed.count("the package") == 2
    error = fails(2, *words, *of, "dgx1-v100")
    assert "are boards of their own, and no package holds both" in error
    assert len(error.splitlines()) == 1


def test_compared_programs_observe_heat(tmp_path: Path) -> None:
    scenario = tmp_path / "programs.toml"
    scenario.write_text(
        f'[system]\nserver = "{EXAMPLES}/mgpu-tsm-server.toml"\n'
        '[[job]]\nname = "a"\nprogram = "laghos"\nranks = 2\n'
        f'[thermal]\npackage = "{PACKAGE}"\ncells = 12\nbusy = 180\nrest = 20\n'
        "[compare.warmer]\nthermal.busy = 240\n",
        encoding="utf-8",
    )
    found = json.loads(run("compare", scenario, "--json").stdout)
    check(found, "", schema("compare of programs"))
    written, warmer = found["heat"]
    assert [row["mean_power"] for row in written["gpus"]] == [180, 180, 20, 20]
    assert [row["mean_power"] for row in warmer["gpus"]] == [240, 240, 20, 20]
    assert warmer["maximum"] > written["maximum"]
    alone = json.loads(run("run", scenario, "--json").stdout)["heat"][0]
    assert alone["maximum"] == written["maximum"]
    printed = run("compare", scenario).stdout
    assert "Heat of MGPU-TSM: at most" in printed
