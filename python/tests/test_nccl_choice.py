"""Tests the choices of NCCL and RCCL, and the options that they can be told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Unpack

import pytest
from commands import linkwright

from linkwright import System, expect
from linkwright.collectives import choice_doubts, nccl_choices, nccl_explanation, nccl_release
from linkwright.errors import CollectiveError
from linkwright.names import CollectiveName, ProcessesName
from linkwright.nccl_tests import ExpectOptions, read_nccl_log, version_of
from linkwright.network import read_system

EIGHT = list(range(8))
MIB = 1 << 20
LOG = Path(__file__).parents[2] / "examples/measurements/dgx1-v100-gpus-0-3.nccl-tests.txt"


def test_a_release_is_that_of_the_machine_and_says_where_it_stands_in() -> None:
    h100, mi300x = System("hgx-h100"), System("mi300x-8")
    assert nccl_release(h100, EIGHT) == ("NCCL 2.30", None)
    assert nccl_release(mi300x, EIGHT) == ("RCCL 2.22", None)
    assert nccl_release(h100, EIGHT, nccl="NCCL version 2.24.3+cuda12.4") == ("NCCL 2.24", None)
    library, note = nccl_release(h100, EIGHT, nccl="2.40.1")
    assert library == "NCCL 2.30"
    assert note is not None
    assert "2.40.1 is newer than all that is known" in note
    library, note = nccl_release(h100, EIGHT, nccl="2.15.5")
    assert library == "NCCL 2.10"
    assert note is not None
    assert "nearest older release" in note
    pair = read_system("mi300x-8", 2, network="400Gb/s")
    library, note = nccl_release(pair, list(range(16)))
    assert library == "RCCL 2.22"
    assert note is not None
    assert "between servers" in note
    with pytest.raises(CollectiveError, match="`latest` is not a version of NCCL 2"):
        nccl_release(h100, EIGHT, nccl="latest")


def test_all_choices_stand_beside_each_other() -> None:
    rows = list(nccl_choices(System("hgx-h100"), EIGHT, "all-reduce", 64 * MIB))
    times = [row["model_time"] for row in rows]
    assert times == sorted(times)
    assert (rows[0]["algorithm"], rows[0]["channels"]) == ("nvls", 16)
    without = list(nccl_choices(System("hgx-h100"), EIGHT, "all-reduce", 64 * MIB, nvls=False))
    assert {row["algorithm"] for row in without} == {"ring", "tree"}


def test_switches_reduce_no_numbers_of_eight_bits() -> None:
    machine = System("hgx-h100")

    def row(collective: CollectiveName, **options: Unpack[ExpectOptions]) -> dict[str, Any]:
        return next(iter(expect(machine, EIGHT, collective, [512 * MIB], **options)))

    half, byte = row("all-reduce", numbers="half"), row("all-reduce", numbers="int8")
    assert (half["algorithm"], byte["algorithm"]) == ("nvls", "ring")
    # Eight H100s took 2,112 and 2,668 us.
    assert 1.1 < byte["time"] / half["time"] < 1.45
    assert byte == row("all-reduce", nvls=False)
    assert row("all-gather", numbers="int8") == row("all-gather")


def test_a_process_of_each_server_launches_on_the_gpus_of_its_own() -> None:
    two = read_system("hgx-h100", 2)

    def time(processes: ProcessesName) -> float:
        found = expect(two, list(range(16)), "all-reduce", [8], processes=processes)
        return float(next(iter(found))["time"])

    def time_of_one(processes: ProcessesName) -> float:
        found = expect(System("hgx-h100"), EIGHT, "all-reduce", [8], processes=processes)
        return float(next(iter(found))["time"])

    assert time("one") - time("each") == pytest.approx(time_of_one("one") - time_of_one("each"))


def test_measured_bandwidths_count_for_the_time_and_not_for_the_choice() -> None:
    machine = System("dgx-a100")

    def row(**options: Unpack[ExpectOptions]) -> dict[str, Any]:
        return next(iter(expect(machine, EIGHT, "all-reduce", [1 << 30], **options)))

    usual, slow = row(), row(link_bandwidth=10.0)
    assert slow["protocol"] == usual["protocol"]
    # A link reaches 19.6; launch and hops are no link's.
    assert slow["bus_bandwidth"] == pytest.approx(usual["bus_bandwidth"] * 10 / 19.6, rel=0.05)
    with pytest.raises(CollectiveError, match="cannot be -1 GB/s; give a number above 0"):
        row(network_bandwidth=-1.0)


def test_without_peers_all_goes_over_the_host_but_what_switches_reduce() -> None:
    machine = System("hgx-h100")
    usual = next(iter(expect(machine, EIGHT, "all-reduce", [1 << 30])))
    assert next(iter(expect(machine, EIGHT, "all-reduce", [1 << 30], p2p=False))) == usual
    row = next(iter(expect(machine, EIGHT, "all-reduce", [1 << 30], p2p=False, nvls=False)))
    assert row["channels"] == 4
    assert row["bus_bandwidth"] < usual["bus_bandwidth"] / 5


def test_what_a_machine_cannot_have_says_what_would_work() -> None:
    for machine, options, words in [
        ("dgx1-v100", ["--env", "NCCL_ALGO=nvls"], "use one of ring, tree"),
        ("4x-l40s-pcie", ["--env", "NCCL_PROTO=LL128"], "use one of LL, Simple"),
        (
            "hgx-h100",
            ["--env", "NCCL_ALGO=nvls", "--env", "NCCL_NVLS_ENABLE=0"],
            "NVLS is switched off",
        ),
        ("hgx-h100", ["--env", "NCCL_ALGO=collnet"], "ring, tree, nvls"),
        (
            "hgx-h100",
            ["--env", "NCCL_ALGO=nvls", "--type", "int8"],
            "switches do not reduce int8 by sum",
        ),
        (
            "hgx-h100",
            ["--env", "NCCL_ALGO=nvls", "--reduction", "avg"],
            "do not reduce float by avg",
        ),
        ("hgx-h100", ["--type", "int9"], "int8"),
        ("hgx-h100", ["--reduction", "mean"], "mulsum"),
        ("hgx-h100", ["--nccl", "two"], "`two` is not a version of NCCL 2"),
        ("hgx-h100", ["--set", "link_bandwidth=0"], "give a number above 0"),
    ]:
        ran = linkwright("collective", "expect", "all-reduce", "-m", machine, *options)
        assert ran.exit_code != 0
        assert words in " ".join(ran.stderr.split()), ran.stderr


def test_the_command_takes_amds_gpus_and_names_the_library() -> None:
    words = ["collective", "expect", "all-reduce", "-m", "mi300x-8", "-b", "1G", "-e", "1G"]
    told = json.loads(linkwright(*words, "--json").stdout)
    assert told["nccl"] == "RCCL 2.22"
    row = told["sweep"][0]
    assert (row["algorithm"], row["protocol"], row["channels"]) == ("ring", "Simple", 56)
    assert row["chunk"] == 2 * MIB


def test_a_log_says_the_version_unless_it_is_told() -> None:
    log = read_nccl_log(LOG)
    machine = System("dgx1-v100")
    named = version_of(log, machine, [0, 3])
    words = ["collective", "expect", "all-reduce", "-m", "dgx1-v100", "--on", "0,3"]
    words += ["--measured", str(LOG), "--json"]
    of_log = json.loads(linkwright(*words).stdout)
    assert of_log["nccl"] == nccl_release(machine, [0, 3], nccl=named)[0]
    told = json.loads(linkwright(*words, "--nccl", "2.10.3").stdout)
    assert told["nccl"] == "NCCL 2.10"


def test_a_job_is_explained_as_nccl_prints_it() -> None:
    two = read_system("hgx-h100", 2, network="400Gb/s")
    lines, graphs, costs = nccl_explanation(two, list(range(16)), nccl="2.23.4")
    assert lines[0] == (
        "Pattern 4, crossNic 0, nChannels 8, bw 48.000000/48.000000, type NVL/PXN, sameChannels 0"
    )
    assert [row["algorithm"] for row in graphs] == ["ring", "tree", "nvls"]
    # 13 columns of NCCL's name, then 17 for each algorithm and protocol.
    table = [line for line in lines if line.startswith("    AllReduce |")]
    assert [len(line) for line in table] == [15 + 9 * 17, 15 + 9 * 17, 15 + 3 * 17]
    assert "   131.6/ 204.8 |" in table[0]
    simple = [row for row in costs if (row["algorithm"], row["protocol"]) == ("ring", "Simple")]
    reduced = next(row for row in simple if row["collective"] == "all-reduce")
    assert reduced["latency"] == pytest.approx(131.6)
    assert reduced["bandwidth"] == pytest.approx(204.8)


def test_the_command_explains_and_gives_the_same_as_data() -> None:
    words = ["collective", "expect", "all-reduce", "-m", "hgx-h100", "-b", "1M", "-e", "1M"]
    lines = nccl_explanation(System("hgx-h100"), EIGHT)[0]
    shown = linkwright(*words, "--explain").stdout.splitlines()
    assert shown[: len(lines)] == lines
    told = json.loads(linkwright(*words, "--explain", "--json").stdout)
    assert told["explanation"]["lines"] == lines
    assert {row["pattern"] for row in told["explanation"]["graphs"]} == {1, 4, 5}
    assert "explanation" not in json.loads(linkwright(*words, "--json").stdout)
    ran = linkwright(*words[:2], "-m", "dgx1-v100", "--explain", "--calibrate", str(LOG))
    assert ran.exit_code != 0


def test_a_doubtful_choice_is_said_with_both_times() -> None:
    system = System("hgx-h100")
    doubts = choice_doubts(system, EIGHT, "all-reduce", [1 << power for power in range(3, 34, 3)])
    for doubt in doubts:
        assert "ne of the two is wrong" in doubt
    with pytest.raises(CollectiveError, match="CollNet"):
        expect(system, EIGHT, "all-reduce", [8], algorithm="CollNetDirect")  # type: ignore[arg-type]


def test_parallel_trees_are_chosen_planned_and_said_not_to_run() -> None:
    four = read_system("hgx-h100", 4, network="400Gb/s")
    ids = [0, 8, 16, 24]
    row = next(iter(expect(four, ids, "all-gather", [1 << 20], algorithm="pat")))
    assert (row["algorithm"], row["protocol"]) == ("pat", "Simple")
    assert row["time"] > 0
    with pytest.raises(CollectiveError, match="servers of one GPU each"):
        expect(four, list(range(32)), "all-gather", [8], algorithm="pat")
    with pytest.raises(CollectiveError, match=r"came with NCCL 2\.23"):
        expect(four, ids, "all-gather", [8], algorithm="pat", nccl="2.22.3")
    with pytest.raises(CollectiveError, match="CollNet"):
        expect(four, list(range(32)), "all-reduce", [8], algorithm="nvls")


@pytest.mark.parametrize("algorithm", ["tree", "nvls-tree"])
def test_trees_of_thousands_of_gpus_cost_a_level_more_for_twice_the_servers(algorithm: str) -> None:
    def times(servers: int) -> list[float]:
        of_servers = ("--servers", str(servers), "--env", f"NCCL_ALGO={algorithm}")
        sizes = ("-b", "64KiB", "-e", "16MiB", "-f", "256")
        told = linkwright(
            "collective", "expect", "all-reduce", "-m", "hgx-h100", *of_servers, *sizes, "--json"
        )
        return [float(row["time"]) for row in json.loads(told.stdout)["sweep"]]

    for small, middle, large in zip(times(64), times(256), times(1024), strict=True):
        assert 0 < middle - small < 0.3 * small
        assert large - middle == pytest.approx(middle - small, rel=0.25)
