"""Logs of nccl-tests: what is read, and what is expected beside it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import linkwright
from hypothesis import given
from hypothesis import strategies as st

from linkwright import System, expect
from linkwright.collectives import NcclTestsLog
from linkwright.errors import InputError
from linkwright.nccl_tests import calibrate_log, collective_of, compare_log, read_nccl_log

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/measurements/dgx1-v100-gpus-0-3.nccl-tests.txt"
HEADING = "# size count type redop root time algbw busbw #wrong"
SIZES = [2**power for power in range(3, 31)]


def log_of(system: System, gpus: list[int], latency: float, share: float) -> str:
    """A log that is what is expected, but for seconds more and a share of the bandwidth."""
    rows = list(expect(system, gpus, "all-reduce", SIZES))
    lines = ["# Collective test starting: all_reduce_perf", HEADING]
    for row in rows:
        time = row["time"] / share + latency
        algorithm = row["size"] / time / 1e9
        bus = algorithm * row["bus_bandwidth"] / row["algorithm_bandwidth"]
        bandwidths = f"{algorithm:.3f} {bus:.3f}"
        lines.append(
            f"{row['size']} {row['size'] // 4} float sum -1 {time * 1e6:.3f} {bandwidths} 0"
        )
    return "\n".join([*lines, "# Avg bus bandwidth : 1"])


def test_a_log_stands_beside_what_is_expected() -> None:
    log = read_nccl_log(EXAMPLE)
    assert (len(log.rows()), len(log.gpus), log.hosts) == (11, 2, 1)
    compared = compare_log(log, System("dgx1-v100"), [0, 3], "all-reduce")
    assert [row.size for row in compared.rows] == [row["size"] for row in log.rows()]
    assert compared.rows[0].measured_time == pytest.approx(68.87e-6, rel=1e-3)
    assert compared.meaning.endswith(".")


@pytest.mark.parametrize(
    ("latency", "share", "words"),
    [
        (0.0, 1.0, "about as long as expected"),
        (0.0, 0.5, "Every size takes about 2.00 times"),
        (100e-6, 1.0, "Small sizes take 100.0 us longer"),
    ],
)
def test_each_shape_has_its_sentence(latency: float, share: float, words: str) -> None:
    system = System("dgx-a100")
    gpus = list(range(8))
    log = NcclTestsLog.from_text(log_of(system, gpus, latency, share))
    assert collective_of(log) == "all-reduce"
    assert words in compare_log(log, system, gpus, "all-reduce").meaning


@given(st.sampled_from(["dgx1-v100", "dgx-a100", "hgx-h100"]))
def test_what_is_expected_compares_as_expected(name: str) -> None:
    system = System(name)
    log = NcclTestsLog.from_text(log_of(system, list(range(8)), 0.0, 1.0))
    ratios = [row.ratio for row in compare_log(log, system, list(range(8)), "all-reduce").rows]
    assert ratios == pytest.approx([1.0] * len(SIZES), rel=1e-2)


def test_another_collective_or_other_gpus_are_refused() -> None:
    log = read_nccl_log(EXAMPLE)
    system = System("dgx1-v100")
    with pytest.raises(InputError, match=":7:1: the log is of 2 GPUs, and 8 are asked about"):
        compare_log(log, system, list(range(8)), "all-reduce")
    with pytest.raises(InputError, match=r":12:1: the row has a bus bandwidth of 1\.00 times"):
        compare_log(log, system, [0, 3], "all-gather")


def test_the_command_says_what_the_difference_means() -> None:
    arguments = ["collective", "expect", "all-reduce", "-m", "dgx1-v100", "--on", "0,3"]
    ran = linkwright(*arguments, "--log", EXAMPLE)
    assert ran.exit_code == 0, ran.output
    assert "measured" in ran.stdout
    told = json.loads(linkwright(*arguments, "--log", EXAMPLE, "--json").stdout)
    assert told["meaning"] in " ".join(ran.stdout.split())
    assert {"measured_time", "expected_time", "ratio"} <= told["sweep"][0].keys()


def test_a_log_that_does_not_say_its_collective_needs_one(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(f"{HEADING}\n8 2 float sum -1 10.0 0.0 0.0 0\n")
    ran = linkwright("collective", "expect", "-m", "dgx1-v100", "--log", path)
    assert ran.exit_code == 2
    assert "does not say which collective" in " ".join(ran.stderr.split())
    path.write_text("no log")
    with pytest.raises(InputError, match="nothing that nccl-tests prints"):
        read_nccl_log(path)
    ran = linkwright("collective", "expect", "-m", "dgx1-v100")
    assert ran.exit_code == 2


CALIBRATE = ["collective", "expect", "all-reduce", "-m", "dgx1-v100", "--on", "0,3"]


def test_a_machine_is_calibrated_by_its_log_and_every_command_counts_on_its_file(
    tmp_path: Path,
) -> None:
    file = tmp_path / "own.toml"
    ran = linkwright(*CALIBRATE, "--calibrate", EXAMPLE, "-o", file, "--json")
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    assert told["median_error_after"] < 0.05 < told["median_error_before"]
    assert {term["name"] for term in told["terms"]} == {"reached.nvlink2", "launch.each"}
    times = [row["after"] for row in told["sweep"]]
    found = calibrate_log(read_nccl_log(EXAMPLE), System("dgx1-v100"), [0, 3], "all-reduce")
    assert found.server.to_toml() == file.read_text()
    assert [row.after for row in found.rows] == times
    assert pickle.loads(pickle.dumps(found)).server.to_toml() == file.read_text()
    on = ["-m", file, "--on", "0,3", "--json", "--algorithm", "nccl-ring"]
    size = told["sweep"][6]["size"]
    bounds = ["--min-bytes", size, "--max-bytes", size]
    of_time = linkwright("collective", "time", "all-reduce", *on, *bounds).stdout
    of_plan = linkwright("collective", "plan", "all-reduce", *on, "--size", size).stdout
    of_comparison = linkwright("collective", "compare", "all-reduce", *on, "--size", size).stdout
    assert json.loads(of_time)["sweep"][0]["time"] == times[6]
    assert json.loads(of_plan)["timing"]["time"] == times[6]
    assert json.loads(of_plan)["timing"]["error"]["basis"] == "own-log"
    assert json.loads(of_plan)["timing"]["error"]["ninetieth"] < 0.12
    assert json.loads(of_comparison)["algorithms"][0]["time"] == times[6]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda log: log + "h: Test NCCL failure common.cu:958 'error'\n", ":24:1: the run failed"),
        (lambda log: log + log.splitlines()[11] + "\n", ":24:1: this size was measured before"),
        (lambda log: "\n".join(log.splitlines()[:13]) + "\n", ":13:1: the run failed here"),
        (lambda log: "\n".join(log.splitlines()[3:7]), "the table has no row"),
    ],
)
def test_a_log_that_is_no_guide_is_refused_and_nothing_is_written(
    tmp_path: Path, changed: Callable[[str], str], words: str
) -> None:
    log, file = tmp_path / "a.log", tmp_path / "own.toml"
    log.write_text(changed(EXAMPLE.read_text()))
    file.write_text("as it was")
    ran = linkwright(*CALIBRATE, "--calibrate", log, "-o", file)
    assert ran.exit_code != 0
    assert words in " ".join(ran.stderr.split()) or "no row" in words
    assert file.read_text() == "as it was"


def test_options_that_a_calibration_cannot_have_are_refused() -> None:
    for options in (
        ["--calibrate", EXAMPLE, "--link-bandwidth", "20"],
        ["--calibrate", EXAMPLE, "--log", EXAMPLE],
        ["-o", "own.toml"],
    ):
        assert linkwright(*CALIBRATE, *options).exit_code == 2
