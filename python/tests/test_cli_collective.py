"""Tests `linkwright collective`: its output, the files that it writes, and its errors."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import typer
from commands import fails, linkwright, parsed, surroundings
from interrupts import interrupt, running

from linkwright import System, plan
from linkwright.cli import schedules
from linkwright.cli.sizes import parse_size, size_text
from linkwright.collectives import Schedule, algorithm_names, planning_seconds
from linkwright.errors import CollectiveError

ALGORITHMS = Path(__file__).resolve().parents[2] / "examples" / "collectives"
TREE = ALGORITHMS / "tree-all-reduce-4.xml"
FOUR = ("--machine", "dgx1-v100", "--on", "1,4,5,6")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8", 8),
        ("8B", 8),
        ("64MiB", 64 << 20),
        ("64M", 64 << 20),
        ("64m", 64 << 20),
        ("64 MiB", 64 << 20),
        ("64MB", 64_000_000),
        ("1G", 1 << 30),
        ("0.5K", 512),
        ("1kB", 1000),
    ],
)
def test_sizes_are_read_as_nccl_tests_reads_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "x", "-8", "8 apples", "0", "0.3", "1e9", "9" * 40])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"size|whole number|nothing to move"):
        parse_size(text)


def test_sizes_are_printed_in_binary_units() -> None:
    printed = [size_text(size) for size in (8, 1 << 10, 1536, 64 << 20, 3 << 30)]
    assert printed == ["8 B", "1 KiB", "1.5 KiB", "64 MiB", "3 GiB"]


def test_a_plan_prints_its_rate_its_trees_and_its_time() -> None:
    shown = linkwright("collective", "plan", "all-reduce", *FOUR).stdout
    assert "all-reduce on GPUs 1,4,5,6 of dgx1-v100: packing over NVLink" in shown
    assert "50.00 GB/s, the optimum of trees over NVLink" in shown
    assert "5 (1, 6 (4))" in shown
    assert "64 MiB take " in shown
    data = parsed("collective", "plan", "all-reduce", *FOUR, "--size", "8M")
    assert data["rate"] == data["optimum"] == 50.0
    assert data["timing"]["size"] == 8 << 20
    assert data["timing"]["chunk_trials"]
    assert [tree["depth"] for tree in data["trees"]] == [1, 2]


def test_a_root_is_a_gpu_of_the_job() -> None:
    words = ("collective", "plan", "broadcast", *FOUR)
    assert parsed(*words)["root"] == 1
    assert parsed(*words, "--root", 6)["root"] == 6
    assert "GPU 0, and the job has GPUs 1,4,5,6" in fails(1, *words, "--root", 0)
    for command in ("plan", "time", "compare", "expect"):
        refused = fails(1, "collective", command, "all-gather", *FOUR, "--root", 1)
        assert "all-gather has no root; leave the root out" in refused, command


def test_gpus_that_nvlink_does_not_join_are_named() -> None:
    words = ("collective", "plan", "all-reduce", "-m", "dgx1-v100", "--on", "1,4,6")
    # A ring over PCIe has the NVLink of GPUs 4 and 6, which packed trees over PCIe have not.
    assert "nccl-tree over PCIe" in linkwright(*words).stdout
    shown = linkwright(*words, "--algorithm", "packing").stdout
    notes = shown[shown.index("Notes:") :].splitlines()
    assert notes == [line.rstrip() for line in notes]
    assert all(line[:2] in ("- ", "  ") for line in notes[1:])
    assert "packing over PCIe" in shown
    assert "- NVLink does not join these GPUs: GPUs 4, 6" in shown
    assert "NVLink does not join" in fails(1, *words, "--links", "nvlink")


def test_servers_are_joined_by_a_network() -> None:
    words = ("collective", "plan", "all-reduce", "-m", "dgx1-v100", "--on", "0,1,8,9")
    data = parsed(*words, "--servers", 2, "--network", "100Gb/s")
    on = "2xdgx1-v100 on single-switch-8"
    assert (data["machine"], data["links"]) == (on, "network")
    assert parsed(*words, "--servers", 2)["machine"] == "2xdgx1-v100 on fat-tree-16"
    assert "no GPU 8" in fails(1, *words, "--network", "100Gb/s")
    assert "`fast`" in fails(2, *words, "--servers", 2, "--network", "fast")
    # On a fabric of many switches the servers and the speeds of its ports are the same system's.
    on_tree = parsed(*words, "--servers", 2, "--network", "fat-tree")
    assert on_tree["machine"] == "2xdgx1-v100 on fat-tree-16"
    assert on_tree["rate"] == parsed(*words, "--servers", 2, "--network", "100Gb/s")["rate"]


@pytest.mark.parametrize(
    ("form", "start"),
    [("msccl-xml", "<algo name="), ("msccl++-json", "{"), ("dot", "digraph ")],
)
def test_an_export_is_printed_or_written(form: str, start: str, tmp_path: Path) -> None:
    words = ("collective", "plan", "all-reduce", *FOUR, "--as", form)
    printed = linkwright(*words)
    assert printed.stdout.startswith(start)
    assert ("CUDA_VISIBLE_DEVICES=1,4,5,6" in printed.stderr) == (form != "dot")
    file = tmp_path / "schedule"
    written = linkwright(*words, "--output", file)
    assert written.exit_code == 0
    assert f"wrote {file}" in written.stderr
    assert "the optimum" in written.stdout
    assert file.read_text(encoding="utf-8") == printed.stdout
    assert json.loads(linkwright(*words, "-o", file, "--json").stdout)["rate"] == 50.0
    assert "give --output" in fails(2, *words, "--json")
    # A file that is no algorithm is named.
    if form == "dot":
        assert "this looks like a graph of Graphviz" in fails(2, "collective", "check", file)
    else:
        assert parsed("collective", "check", file)["sound"] is True
    assert "make it first" in fails(2, *words, "-o", tmp_path / "no" / "file")


def test_an_export_of_ours_is_checked_and_timed_like_the_plan(tmp_path: Path) -> None:
    file = tmp_path / "ours.xml"
    linkwright("collective", "plan", "all-reduce", *FOUR, "--as", "msccl-xml", "-o", file)
    data = parsed("collective", "check", file, *FOUR)
    planned = parsed("collective", "plan", "all-reduce", *FOUR)
    assert data["timing"]["time"] == planned["timing"]["time"]
    assert data["sound"] is True


def test_a_plan_of_msccl_plus_plus_is_checked_and_timed(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    words = ("collective", "plan", "all-reduce", "-m", "dgx1-v100")
    told = parsed(*words, "--as", "msccl++-json", "-o", file)
    assert any("multiple of" in note for note in told["notes"])
    data = parsed("collective", "check", file, "-m", "dgx1-v100")
    sizes = data["message_sizes"]
    assert (64 << 20) % sizes["multiple_of"] == 0
    assert sizes["least"] == 0
    assert 64 << 20 <= sizes["most"] < 1 << 32
    assert data["timing"]["time"] > 0
    text = linkwright("collective", "check", file, "--size", "1B").stdout
    assert f"MSCCL++ takes multiples of {sizes['multiple_of']} B, from 0 B" in text
    assert "and refuses 1 B" in text
    assert parsed("collective", "check", TREE)["message_sizes"] is None
    broken = tmp_path / "broken.json"
    broken.write_text(file.read_text(encoding="utf-8").replace('"put"', '"push"', 1))
    assert "the executor has no such operation: `push`" in fails(2, "collective", "check", broken)


def test_shares_are_rounded_to_what_the_executor_takes() -> None:
    words = ("collective", "plan", "all-reduce", "-m", "dgx1-v100", "--on", "0,1,2")
    plan = json.loads(linkwright(*words, "--as", "msccl++-json").stdout)
    assert (64 << 20) // 16 % plan["gpus"][0]["input_chunks"] == 0
    assert plan["max_message_size"] < 1 << 32
    gather = ("collective", "plan", "all-gather", *words[3:])
    refused = linkwright(*gather, "--as", "msccl++-json").stderr
    assert "It refuses 67108860 bytes" in " ".join(refused.split())


def test_a_check_needs_no_machine_and_reads_standard_input() -> None:
    text = TREE.read_text(encoding="utf-8")
    shown = linkwright("collective", "check", "-", stdin=text).stdout
    assert "<stdin>: `tree-all-reduce-4` is a sound all-reduce of 4 ranks" in shown
    assert "GB/s" not in shown
    assert "timing" not in parsed("collective", "check", TREE)
    assert "busbw" in linkwright("collective", "check", TREE, "-m", "dgx1-v100").stdout


def test_a_broken_algorithm_is_one_line_that_names_the_step() -> None:
    text = TREE.read_text(encoding="utf-8")
    said = fails(1, "collective", "check", "-", stdin=text.replace('type="rrc"', 'type="r"', 1))
    assert "rank " in said
    assert "block " in said
    assert fails(2, "collective", "check", "-", stdin=text[:200]).startswith("error: <stdin>:")
    bomb = '<!DOCTYPE a [<!ENTITY b "bb">]><algo name="&b;"/>'
    assert "<stdin>:1:" in fails(2, "collective", "check", "-", stdin=bomb)
    assert "no file" in fails(2, "collective", "check", "nowhere.xml")


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_a_run_proves_its_result_and_measures(dtype: str) -> None:
    words = ("collective", "run", "all-reduce", *FOUR, "--size", "256K", "--type", dtype)
    shown = linkwright(*words).stdout
    assert "equal to the reference" in shown or "off by rounding" in shown
    assert "a copy of as much by one thread" in shown
    data = parsed(*words, "--in-place", "--reduction", "max")
    assert data["run"]["worst_error"] == 0
    assert data["run"]["algorithm_bandwidth"] > 0


def test_sizes_that_do_not_divide_say_which_would() -> None:
    assert "512 MiB at most" in fails(
        1, "collective", "run", "all-reduce", "-m", "dgx1-v100", "--size", "1T"
    )
    three = ("all-gather", "-m", "dgx1-v100", "--on", "0,1,2")
    for command in ("plan", "run", "compare"):
        said = fails(1, "collective", command, *three, "--size", "8")
        assert "8 B do not divide into the 3 shards of all-gather; give 12 B" in said, command


@pytest.mark.parametrize("collective", ["all-gather", "reduce-scatter", "all-to-all", "gather"])
@pytest.mark.parametrize("gpus", ["0,1,2", "0,1,2,3,4", "0,1,2,3,4,5,6"])
def test_default_sizes_are_rounded_to_what_divides(collective: str, gpus: str) -> None:
    words = (collective, "-m", "dgx1-v100", "--on", gpus)
    count = gpus.count(",") + 1
    whole = (64 << 20) // (4 * count) * 4 * count
    planned = parsed("collective", "plan", *words)
    assert planned["timing"]["size"] == whole
    assert f"64 MiB do not divide into {count} shards" in planned["notes"][-1]
    shown = " ".join(linkwright("collective", "plan", *words).stdout.split())
    assert f"rounded down to {whole} B, as nccl-tests does" in shown
    compared = parsed("collective", "compare", *words, "--algorithm", "nccl-ring")
    assert compared["size"] == whole
    assert len(compared["notes"]) == 1
    run = parsed("collective", "run", *words, "--size", "1003")
    assert run["run"]["size"] == 1003 // (4 * count) * 4 * count
    assert "rounded down" in run["notes"][-1]


def test_the_first_line_says_what_is_faster() -> None:
    words = ("collective", "plan", "all-reduce", *FOUR)
    slow = linkwright(*words, "--algorithm", "nccl-ring").stdout.splitlines()[0]
    fields = parsed(*words, "--algorithm", "nccl-ring")["faster"]
    assert slow.startswith(f"{fields['algorithm']} is faster at 64 MiB: ")
    assert slow.endswith(f"--algorithm {fields['algorithm']}")
    planned = parsed(*words, "--algorithm", fields["algorithm"])
    assert planned["timing"]["time"] == fields["time"]
    assert planned["faster"] is None
    assert "is faster" not in linkwright(*words).stdout


def test_an_optimum_names_what_it_is_the_optimum_of() -> None:
    packing = ("--algorithm", "packing")
    h100 = ("collective", "plan", "all-reduce", "-m", "hgx-h100", *packing)
    assert parsed(*h100)["optimum_of"] == "trees over NVLink, without in-switch reduction"
    shown = linkwright(*h100).stdout
    assert "257.14 GB/s, the optimum of trees over NVLink, without in-switch reduction" in shown
    pairs = parsed("collective", "plan", "all-to-all", "-m", "dgx1-v100", *packing)
    assert pairs["rate"] == pairs["optimum"] == 75.0
    assert pairs["optimum_of"] == "paths over NVLink"
    ring = parsed("collective", "plan", "all-reduce", "-m", "hgx-h100", "--algorithm", "nccl-ring")
    assert ring["optimum_of"] is None


def test_the_fastest_is_taken_and_what_was_tried_is_told() -> None:
    words = ("collective", "plan", "all-reduce", *FOUR)
    for size in ("8", "64KiB", "64MiB"):
        data = parsed(*words, "--size", size)
        timed = [tried for tried in data["tried"] if tried["time"] is not None]
        assert data["algorithm"] == timed[0]["algorithm"]
        assert data["timing"]["time"] == timed[0]["time"] == min(each["time"] for each in timed)
        assert data["timing"]["protocol"] == timed[0]["protocol"]
        assert {"packing", "blink", "nccl-ring", "nccl-tree"} <= {
            each["algorithm"] for each in timed
        }
        assert all(tried["reason"] for tried in data["tried"] if tried["time"] is None)
        compared = parsed("collective", "compare", "all-reduce", *FOUR, "--size", size)
        assert data["timing"]["time"] <= compared["algorithms"][0]["time"]
    only = parsed(*words, "--protocol", "Simple", "--size", "64KiB")
    assert {each["protocol"] for each in only["tried"]} <= {"Simple", None}
    assert "Tried:\n- " in linkwright(*words).stdout
    named = parsed(*words, "--algorithm", "nccl-ring")
    assert named["tried"] == []
    schedule = plan(System("dgx1-v100"), range(4), "all-reduce", algorithm="auto")
    assert any("no size is given" in note for note in schedule.notes)
    assert next(tried.time for tried in schedule.tried) == schedule.time(64 << 20).time
    with pytest.raises(CollectiveError, match="for the choice of `auto`"):
        plan(System("dgx1-v100"), range(4), "all-reduce", algorithm="packing", protocol="LL")


def test_healthy_machines_lack_nothing() -> None:
    across = ("--servers", 2, "--network", "200Gb/s")
    for machine, extra in (("dgx-a100", across), ("pcie-tree-4", ()), ("pcie-tree-4", across)):
        data = parsed("collective", "plan", "all-reduce", "-m", machine, *extra)
        assert not any("does not join" in note for note in data["notes"]), machine
    apart = ("collective", "plan", "all-reduce", "-m", "dgx1-v100", "--on", "1,4,6,8,9")
    notes = parsed(*apart, *across)["notes"]
    assert any("NVLink does not join" in note and "GPUs 4, 6" in note for note in notes)


def test_amds_links_have_their_own_name() -> None:
    topologies = ALGORITHMS.parent / "topologies"
    file = topologies / "4x-mi210.rocm-smi-showtopo.txt"
    words = ("collective", "plan", "all-reduce", "-m", file, "--algorithm", "packing")
    data = parsed(*words)
    assert data["links"] == "xgmi"
    assert data["optimum_of"] is None or "xGMI" in data["optimum_of"]
    assert "packing over xGMI" in linkwright(*words).stdout
    assert parsed(*words, "--links", "xgmi")["rate"] == data["rate"]


def test_long_planning_is_announced_with_what_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = System("dgx-a100", 64, network="200 Gb/s")
    many = range(255)
    assert planning_seconds(machine, many, "all-gather") > 10
    assert planning_seconds(machine, range(256), "all-gather") == 0, "equal servers"
    assert planning_seconds(machine, many, "all-reduce") == 0
    assert planning_seconds(machine, range(64), "all-gather") == 0
    assert planning_seconds(machine, many, "all-gather", algorithm="nccl-ring") == 0
    words = ["collective", "plan", "all-gather", "-m", "dgx-a100", "--network", "200Gb/s"]
    words += ["--algorithm", "packing"]
    refused = fails(1, *words, "--servers", 128, "--gpus", 1023)
    assert "512 GPUs, but the job has 1023; use nccl-ring" in refused
    assert "takes about" not in linkwright(*words, "--servers", 2).stderr
    monkeypatch.setattr(schedules, "LONG_PLANNING", -1.0)
    said = linkwright(*words, "--servers", 2).stderr
    assert "packing trees through 16 GPUs takes about 0 s; Ctrl-C stops it" in said
    assert "--algorithm nccl-ring plans in seconds" in said


def test_an_exported_plan_of_msccl_plus_plus_says_what_it_reaches() -> None:
    words = ("collective", "plan", "all-reduce", "-m", "dgx1-v100", "--as", "msccl++-json")
    said = " ".join(linkwright(*words).stderr.split())
    assert "The executor runs the plan once, over the whole message" in said
    assert "pieces takes" in said
    assert "and the schedule as planned" in said
    schedule = plan(System("dgx1-v100"), range(8), "all-reduce", size=64 << 20)
    once = schedule.to_mscclpp_json(pieces=1)
    cut = schedule.to_mscclpp_json(pieces=4)
    assert len(cut.text) > 2 * len(once.text)


@pytest.mark.parametrize("suffix", ["html", "svg", "png"])
def test_a_sweep_is_nccl_tests_table_and_a_chart(suffix: str, tmp_path: Path) -> None:
    chart = tmp_path / f"sweep.{suffix}"
    words = ("collective", "time", "all-reduce", *FOUR, "-b", "8", "-e", "8M", "-f", "4")
    shown = linkwright(*words, "--plot", chart)
    assert shown.exit_code == 0, shown.output
    rows = parsed(*words)["sweep"]
    assert [row["size"] for row in rows] == [8 * 4**power for power in range(11)]
    assert str(rows[-1]["size"]) in shown.stdout
    assert chart.stat().st_size > 1000
    assert "no chart format" in fails(2, *words, "--plot", tmp_path / "sweep.gif")
    assert "make it first" in fails(2, *words, "--plot", tmp_path / "no" / "sweep.svg")
    assert "swap them" in fails(2, *words, "-e", "3")


def test_a_comparison_has_a_row_for_each_algorithm_that_can(tmp_path: Path) -> None:
    chart = tmp_path / "compare.svg"
    data = parsed("collective", "compare", "all-reduce", *FOUR)
    found = {row["algorithm"] for row in data["algorithms"]} | set(data["refused"])
    planners = {name for name in algorithm_names() if not name.startswith("mpi-")}
    assert found == planners - {"auto"}
    ring = parsed("collective", "compare", "all-reduce", *FOUR, "--algorithm", "mpi-ring")
    assert [row["algorithm"] for row in ring["algorithms"]] == ["mpi-ring"]
    times = [row["time"] for row in data["algorithms"]]
    assert times == sorted(times)
    nccl = {name for name in found if name.startswith("nccl")} - set(data["refused"])
    assert all(set(row["speedup_over"]) == nccl for row in data["algorithms"])
    words = ("collective", "compare", "all-reduce", *FOUR, "--algorithm", "packing")
    shown = linkwright(*words, "--plot", chart).stdout
    assert "packing: spanning trees" in shown
    assert "one-hop" not in shown
    assert chart.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "all-to-one", "-m", "dgx1-v100"),
        ("plan", "all-reduce"),
        ("plan", "all-reduce", "-m", "dgx9"),
        ("plan", "all-reduce", "-m", "dgx1-v100", "--gpus", "a"),
        ("plan", "all-reduce", "-m", "dgx1-v100", "--size", "many"),
        ("plan", "all-reduce", "-m", "dgx1-v100", "--algorithm", "nope"),
        ("plan", "all-reduce", "-m", "dgx1-v100", "-o", "file"),
        ("run", "all-reduce", "-m", "dgx1-v100", "--type", "bf16"),
        ("time", "all-reduce", "-m", "dgx1-v100", "--factor", "1"),
    ],
)
def test_bad_usage_is_one_line(words: tuple[str, ...]) -> None:
    fails(2, "collective", *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan", "all-reduce", "-m", "dgx1-v100", "--on", ""), "it is empty; write ids"),
        (("check", TREE, "--on", " "), "it is empty; write ids"),
        (("check", TREE, "--servers", 2, "--network", "100Gb/s"), "give --machine"),
        (
            ("plan", "all-reduce", "-m", "dgx1-v100", "--protocol", "ll"),
            "'--protocol': there is no protocol `ll`",
        ),
        (
            ("time", "all-reduce", "-m", "dgx1-v100", "-b", "2M", "-e", "1M"),
            "2 MiB and --max-bytes",
        ),
        (("time", "all-reduce", *FOUR, "-b", 1, "-e", 2), "from 1 B to 2 B holds a float32"),
    ],
)
def test_what_people_mistype_is_said(words: tuple[object, ...], said: str) -> None:
    assert said in fails(2, "collective", *words)


def test_numbers_and_names_stay_whole_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    size = ("-b", "64M", "-e", "64M")
    for words, shown in (
        (("compare", "all-reduce", *FOUR, "--algorithm", "packing"), ["packing", "1527.7"]),
        (
            ("expect", "all-reduce", "-m", "hgx-h100", *size),
            ["67108864", "356.0", "nvls", "Simple"],
        ),
        (("time", "all-reduce", *FOUR, *size), ["67108864", "1527.7", "65.89", "47.91 KiB"]),
        (("plan", "all-reduce", *FOUR), ["50.00%", "6 (4))"]),
    ):
        printed = linkwright("collective", *words, "--wide").stdout
        for text in shown:
            assert text in printed
        assert "…" not in printed


def test_columns_without_room_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("collective", "compare", "all-reduce", "-m", "dgx1-v100")
    monkeypatch.setenv("COLUMNS", "70")
    narrow = linkwright(*words).stdout.splitlines()
    [said] = [line for line in narrow if "left out" in line]
    assert said == "2 columns are left out (--wide): over nccl-classic; over nccl-tree."
    rows = [line for line in narrow if line.startswith(("packing", "nccl-", "blink", "one-hop"))]
    assert len(rows) == 6
    assert max(map(len, rows)) <= 70
    # An option before the command holds for it, too, and a pipe has no width.
    whole = linkwright(*words, "--wide").stdout.splitlines()
    assert linkwright("--wide", *words).stdout.splitlines() == whole
    monkeypatch.delenv("COLUMNS")
    piped = linkwright(*words).stdout.splitlines()
    for lines in (whole, piped):
        assert "left out" not in "\n".join(lines)
        [packing] = [line.split() for line in lines if line.startswith("packing")]
        assert packing[-3:] == ["1.02x", "1.06x", "1.54x"]


def test_what_is_printed_and_drawn_names_machine_and_gpus(tmp_path: Path) -> None:
    job = "GPUs 1,4,5,6 of dgx1-v100"
    one = ("-b", "1M", "-e", "1M")
    for words in (
        ("compare", "all-reduce", *FOUR, "--size", "1M"),
        ("time", "all-reduce", *FOUR, *one),
        ("expect", "all-reduce", *FOUR, *one),
    ):
        chart = tmp_path / f"{words[0]}.svg"
        assert job in linkwright("collective", *words, "--plot", chart).stdout
        assert job in chart.read_text(encoding="utf-8")
    shown = linkwright("collective", "check", TREE, *FOUR, "--size", "1M").stdout
    assert f"1 MiB on {job} take" in shown
    shown = linkwright("collective", "expect", "all-reduce", *FOUR, *one).stdout
    assert "as NCCL 2.30 chooses" in shown


def test_the_notes_of_a_comparison_say_which_algorithm_they_are_about() -> None:
    shown = linkwright("collective", "compare", "all-reduce", *FOUR).stdout
    assert "- nccl-ring, nccl-tree: no NVLink joins some neighbours" in shown
    assert "- one-hop: no NVLink joins some of the GPUs" in shown
    assert "- nccl-classic finds no ring" in shown


def test_a_hybrid_says_that_pcie_carries_part() -> None:
    words = ["collective", "plan", "broadcast", *FOUR, "--links", "hybrid", "--size", "1G"]
    words += ["--algorithm", "packing"]
    assert "packing over NVLink and PCIe" in linkwright(*words).stdout


def test_a_plan_across_servers_runs() -> None:
    words = ("collective", "run", "all-reduce", "-m", "dgx1-v100", "--on", "0,1,8", "--size", 960)
    network = ("--servers", 2, "--network", "100Gb/s", "--algorithm", "three-phase")
    shown = linkwright(*words, *network, "--type", "int32").stdout
    assert "on 3 ranks" in shown
    assert "equal to the reference" in shown


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to another process")
def test_ctrl_c_ends_a_long_timing_at_once() -> None:
    words = ("-m", "dgx1-v100", "--size", "2GiB", "--chunk", "5000")
    plan = [sys.executable, "-m", "linkwright", "collective", "plan", "all-reduce", *words]
    with running(*plan, env=surroundings()) as process:
        # The start takes a fifth of that; the timing takes many times as much.
        out, err = interrupt(process, after=2)
    assert (process.returncode, out) == (130, b"")
    assert err.decode().strip() == "error: interrupted"


def test_an_allocation_says_what_packing_reaches() -> None:
    words = ("allocate", "-m", "dgx1-v100", "--gpus", 4, "--explain")
    data = parsed(*words)
    assert data["packing_rate"] == pytest.approx(75.0)
    ranking = data["explanation"]["ranking"]
    assert all(row["packing_rate"] > 0 for row in ranking)
    assert "packing" in linkwright(*words).stderr
    assert parsed("allocate", "-m", "dgx1-v100", "--gpus", 1)["packing_rate"] is None


def test_our_own_export_reads_back() -> None:
    words = ("collective", "plan", "broadcast", *FOUR, "--as", "msccl-xml")
    assert Schedule.from_msccl_xml(linkwright(*words).stdout).collective == "broadcast"


def test_switches_reduce_where_they_can_and_say_why_not_elsewhere() -> None:
    eight = ("all-reduce", "--machine", "hgx-h100")
    packed = parsed("collective", "plan", *eight, "--algorithm", "packing")
    assert packed["optimum"] == pytest.approx(257.142857)
    assert packed["optimum_in_switch"] == pytest.approx(400.0)
    assert "without in-switch reduction; 400.00 GB/s with it" in (
        linkwright("collective", "plan", *eight, "--algorithm", "packing").stdout
    )
    scatter = linkwright("collective", "plan", "reduce-scatter", "--machine", "hgx-h100").stdout
    assert "without in-switch reduction, which does not raise it" in scatter
    reduced = parsed("collective", "plan", *eight, "--algorithm", "nvls")
    assert reduced["rate"] == reduced["optimum"] == pytest.approx(400.0)
    assert reduced["timing"]["time"] < packed["timing"]["time"]
    old = ("collective", "plan", "all-reduce", "--machine", "dgx-a100")
    assert parsed(*old)["optimum_in_switch"] is None
    refused = fails(1, *old, "--algorithm", "nvls")
    assert "nvlink3 only forward data" in refused
    assert "use packing or nccl-ring" in refused
    servers = fails(1, "collective", "plan", *eight, "--servers", "2", "--algorithm", "nvls")
    assert "on different servers" in servers
    ran = linkwright("collective", "run", *eight, "--size", "64KiB", "--algorithm", "nvls").stdout
    assert "120 steps" in ran
    xml = ("collective", "plan", *eight, "--algorithm", "nvls", "--as", "msccl-xml")
    assert "is switch-reduce-multicast, which MSCCL XML does not have" in fails(1, *xml)
    plan = json.loads(linkwright(*xml[:-1], "msccl++-json").stdout)
    assert plan["gpus"][7]["threadblocks"][15]["ops"][3]["name"] == "glres"
