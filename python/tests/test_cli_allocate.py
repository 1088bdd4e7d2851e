"""Tests `linkwright allocate` and `linkwright state`: decisions, and the file that keeps them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from commands import fails, linkwright, parsed, program

from linkwright import Allocator, Pattern, System

EXAMPLES = Path(__file__).parents[2] / "examples"
FULL = Path("/dev/full")
FULL_LINE = "error: cannot write to standard output: no space left on device\n"
ALLOCATE = ["allocate", "--machine", "dgx1-v100"]


def test_standard_output_is_the_environment_for_the_shell() -> None:
    result = linkwright(*ALLOCATE, "--gpus", 3)
    assert result.stdout == "CUDA_VISIBLE_DEVICES=0,3,2\nCUDA_DEVICE_ORDER=PCI_BUS_ID\n"
    assert "candidates" in result.stderr


def test_the_decision_is_the_library_s() -> None:
    decision = Allocator(System("dgx1-v100")).decide("job", Pattern("ring", 4))
    assert decision is not None
    found = parsed(*ALLOCATE, "--gpus", 4)
    assert found["gpus"] == decision.gpus
    assert found["effective_bandwidth"] == decision.effective_bandwidth
    assert parsed(*ALLOCATE, "--gpus", 1)["effective_bandwidth"] is None


@pytest.mark.parametrize("policy", ["baseline", "topology-aware", "greedy", "preserve"])
def test_every_policy_explains_itself(policy: str) -> None:
    words = [*ALLOCATE, "--gpus", 2, "--policy", policy, "--explain", "--limit", 3]
    why = parsed(*words, "--sensitivity", "no", "--bandwidth-model", "published")["explanation"]
    assert why["rule"]
    assert 1 <= len(why["ranking"]) <= 3
    shown = linkwright(*words)
    assert shown.exit_code == 0
    assert "preserved" in shown.stderr


def test_the_key_that_decided_is_named() -> None:
    words = ["allocate", "-m", "hgx-h100", "-k", 4, "--busy", 0]
    found = parsed(*words, "--explain")
    assert sorted(found["gpus"]) == [4, 5, 6, 7]
    assert found["explanation"]["decided_by"] == "host proximity"
    assert "Decided by host proximity: " in linkwright(*words, "--explain").stderr
    published = parsed(*words, "--ties", "published", "--explain")
    assert sorted(published["gpus"]) == [1, 2, 3, 4]
    assert published["explanation"]["decided_by"] == "lowest ids"
    assert "did you mean `published`?" in fails(2, *words, "--ties", "publishd")


def test_links_have_the_machine_s_names() -> None:
    assert parsed("allocate", "-m", "hgx-h100", "-k", 4)["links"] == {"NV18": 4}
    assert "4 NV18" in linkwright("allocate", "-m", "hgx-h100", "-k", 4).stderr
    mixed = parsed(*ALLOCATE, "--gpus", 2, "--busy", "0,2,3,4,5,7")
    assert mixed["links"] == {"SYS": 1}


def test_both_bandwidths_of_a_row_are_bus_bandwidths() -> None:
    found = parsed("allocate", "-m", "hgx-h100", "-k", 4)
    assert found["packing_bus_bandwidth"] == pytest.approx(found["packing_rate"] * 1.5)
    assert found["effective_bandwidth"] <= found["packing_bus_bandwidth"]
    shown = linkwright("allocate", "-m", "hgx-h100", "-k", 4).stderr
    assert shown.count("busbw") == 3
    assert f"{found['packing_rate']:.1f}" not in shown


def test_places_come_with_the_answer() -> None:
    paste = EXAMPLES / "topologies" / "hgx-h100.nvidia-smi-topo-m.txt"
    found = parsed("allocate", "-m", paste, "-k", 4, "--busy", 0)
    assert found["cpuset"] == "52-103,156-207"
    assert found["numa_nodes"] == "1"
    assert found["environment"]["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert [place["cpus"] for place in found["places"]] == ["52-103,156-207"] * 4
    near = parsed("allocate", "-m", "dgx-a100", "-k", 2)
    assert near["nics"]
    assert all(set(place["nics"]) <= set(near["nics"]) for place in near["places"])
    assert near["cpuset"] is None
    assert (
        "cores 52-103,156-207; NUMA nodes 1"
        in linkwright("allocate", "-m", paste, "-k", 4, "--busy", 0).stderr
    )


def test_busy_gpus_are_not_given() -> None:
    assert not {0, 3} & set(parsed(*ALLOCATE, "--gpus", 3, "--busy", "0,3")["gpus"])
    assert "2 are free (6,7)" in fails(3, *ALLOCATE, "--gpus", 3, "--busy", "0,1,2,3,4,5")


def test_a_pattern_may_come_from_a_file(tmp_path: Path) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_text("0 1\n1 2\n", encoding="utf-8")
    assert len(parsed(*ALLOCATE, "--gpus", 3, "--pattern", edges)["gpus"]) == 3
    assert "--gpus asks for 4" in fails(2, *ALLOCATE, "--gpus", 4, "--pattern", edges)
    edges.write_text("0 1\n1 x\n", encoding="utf-8")
    assert f"{edges}:2:" in fails(2, *ALLOCATE, "--gpus", 3, "--pattern", edges)


def test_a_pattern_may_come_from_traffic(tmp_path: Path) -> None:
    snapshots = EXAMPLES / "counters" / "before.txt", EXAMPLES / "counters" / "after.txt"
    assert len(parsed(*ALLOCATE, "--counters", *snapshots)["gpus"]) == 3
    assert "of 3 GPUs and --gpus asks for 4" in fails(
        2, *ALLOCATE, "--gpus", 4, "--counters", *snapshots
    )
    backwards = fails(2, *ALLOCATE, "--counters", *reversed(snapshots))
    assert f"{snapshots[0]}:" in backwards
    edges = tmp_path / "edges.txt"
    edges.write_text("0 1\n", encoding="utf-8")
    assert "give one" in fails(2, *ALLOCATE, "--pattern", edges, "--counters", *snapshots)
    assert "Say how many GPUs" in fails(2, *ALLOCATE)


def test_a_job_larger_than_the_machine_can_never_start() -> None:
    said = fails(1, *ALLOCATE, "--gpus", 9)
    assert "asks for 9 GPUs; ask for at most 8, which is all that the machine has" in said


@pytest.mark.parametrize(
    "words",
    [
        ["--gpus", 0],
        ["--gpus", 10**30],
        ["--gpus", 2, "--policy", "preserv"],
        ["--gpus", 2, "--pattern", "rings"],
        ["--gpus", 2, "--bandwidth-model", "nice"],
        ["--gpus", 2, "--busy", "0;3"],
        ["--gpus", 2, "--busy", "9" * 30],
        ["--gpus", 2, "--job", "a"],
        ["--gpus", 2, "--state", "state.json"],
        ["--gpus", 2, "--state", "state.json", "--job", ""],
        ["--gpus", 2, "--state", "state.json", "--job", "a\nb"],
        ["--gpus", 2, "--state", "state.json", "--job", "a\x1b"],
        ["--gpus", 2, "--job", ""],
        ["--gpus", 2, "--state", "state.json", "--job", "a", "--busy", "0"],
        ["--gpu", 2],
        [],
    ],
    ids=lambda words: " ".join(map(str, words))[:40],
)
def test_bad_usage_is_code_two(words: list[object]) -> None:
    fails(2, *ALLOCATE, *words)


def test_a_state_file_goes_through_a_job_s_life(tmp_path: Path) -> None:
    at = ["--machine", "dgx1-v100", "--state", tmp_path / "state.json"]
    first = parsed("allocate", *at, "--gpus", 5, "--job", "a")["gpus"]
    assert parsed("state", "show", *at)["held"] == {"a": first}
    assert "3 are free" in fails(3, "allocate", *at, "--gpus", 4, "--job", "b")
    assert "already" in fails(1, "allocate", *at, "--gpus", 1, "--job", "a")
    shown = [line.split() for line in linkwright("state", "show", *at).stdout.splitlines()]
    assert ["job", "a", ",".join(map(str, first))] in [line[:3] for line in shown]
    released = parsed("state", "release", "a", *at)
    assert (released["released"], len(released["free"])) == (first, 8)
    assert "job `a` holds no GPU; release each job once" in fails(1, "state", "release", "a", *at)
    assert parsed("state", "mark-unhealthy", 2, 5, *at)["unhealthy"] == [2, 5]
    assert "6 are free" in fails(3, "allocate", *at, "--gpus", 7, "--job", "c")
    assert parsed("state", "mark-healthy", 2, 5, *at)["unhealthy"] == []
    assert os.listdir(tmp_path) == ["state.json"]  # noqa: PTH208


def test_a_refusal_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    at = ["--machine", "dgx1-v100", "--state", file]
    parsed("allocate", *at, "--gpus", 2, "--job", "a")
    before = file.read_bytes()
    fails(1, "state", "mark-unhealthy", 3, 99, *at)
    fails(3, "allocate", *at, "--gpus", 7, "--job", "b")
    assert file.read_bytes() == before


def test_a_state_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    at = ["--machine", "dgx1-v100", "--state", file]
    for words in (["show"], ["release", "a"], ["mark-healthy", 0]):
        assert "there is no state" in fails(2, "state", *words, *at)
    file.write_text("{\n]", encoding="utf-8")
    assert f"{file}:2:" in fails(2, "state", "show", *at)
    parsed("state", "mark-unhealthy", 0, "-m", "dgx2", "--state", tmp_path / "other.json")
    other = fails(2, "state", "show", "-m", "dgx1-v100", "--state", tmp_path / "other.json")
    assert "other.json:2:3: the state is of another machine" in other
    lost = tmp_path / "none" / "state.json"
    assert "make it first" in fails(2, *ALLOCATE, "-k", 1, "--job", "a", "--state", lost)


def test_programs_that_allocate_at_once_take_turns(tmp_path: Path) -> None:
    at = ["--machine", "dgx1-v100", "--state", tmp_path / "state.json", "--json"]
    started = [program("allocate", *at, "--gpus", 2, "--job", f"job-{n}") for n in range(4)]
    given = [json.loads(process.communicate()[0])["gpus"] for process in started]
    assert sorted(gpu for gpus in given for gpu in gpus) == list(range(8))


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize("json", [[], ["--json"]])
def test_gpus_of_which_nobody_was_told_are_not_given(tmp_path: Path, json: list[str]) -> None:
    file = tmp_path / "state.json"
    at = ["--machine", "dgx1-v100", "--state", file]
    allocate = ["allocate", *at, "--gpus", 2, "--job", "a", *json]
    assert ended(*allocate, stdout=FULL) == (2, FULL_LINE)
    assert list(tmp_path.iterdir()) == []
    assert ended(*allocate, stdout=None) == (141, "")
    assert list(tmp_path.iterdir()) == []
    given = parsed("allocate", *at, "--gpus", 2, "--job", "a")["gpus"]
    for words in (["release", "a"], ["mark-unhealthy", 7], ["mark-healthy", 7]):
        before = file.read_bytes()
        assert ended("state", *words, *at, *json, stdout=FULL) == (2, FULL_LINE)
        assert file.read_bytes() == before
    assert parsed("state", "show", *at)["held"] == {"a": given}


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_remarks_that_nobody_reads_cost_nothing(tmp_path: Path) -> None:
    words = ["allocate", "-m", "dgx1-v100", "-k", 2, "--state", tmp_path / "s", "--job", "a"]
    with FULL.open("wb") as full:
        process = program(*words, stderr=full)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (
        0,
        b"CUDA_VISIBLE_DEVICES=2,3\nCUDA_DEVICE_ORDER=PCI_BUS_ID\n",
    )
    assert (tmp_path / "s").exists()


def ended(*words: object, stdout: Path | None) -> tuple[int, str]:
    """Returns the program's exit code and remarks; its output goes to a file or to nobody."""
    if stdout is not None:
        with stdout.open("wb") as stream:
            process = program(*words, stdout=stream)
            _, said = process.communicate(timeout=60)
        return process.returncode, said.decode()
    reader, writer = os.pipe()
    os.close(reader)
    process = program(*words, stdout=writer)
    os.close(writer)
    _, said = process.communicate(timeout=60)
    return process.returncode, said.decode()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--policy", "baseline"], "The one set of GPUs that the policy's rule leaves;"),
        (["--policy", "topology-aware", "--explain"], "the others are shown beside it;"),
        (["--policy", "greedy"], "The best of 28 candidates by the policy's rule;"),
    ],
)
def test_a_rule_that_compares_nothing_is_not_called_the_best(words: list[str], said: str) -> None:
    shown = linkwright(*ALLOCATE, "--gpus", 2, *words).stderr
    assert said in shown
    assert "best of 1" not in shown


def test_one_is_not_counted_as_many() -> None:
    line = fails(3, *ALLOCATE, "--gpus", 1, "--busy", "0,1,2,3,4,5,6,7")
    assert "1 GPU is asked for and none is free" in line
    assert "1 is free (7)" in fails(3, *ALLOCATE, "--gpus", 2, "--busy", "0,1,2,3,4,5,6")


@pytest.mark.parametrize(
    ("gpus", "said"),
    [
        (16, r"no other order of them is more than ([0-9.]+) % better"),
        (12, r"candidates; none there is can be more than ([0-9.]+) % better by the rule"),
    ],
)
def test_what_is_not_proven_says_how_far_from_the_best_it_may_be(gpus: int, said: str) -> None:
    words = ("-m", "torus2d-16", "-k", gpus, "--pattern", "ring+tree", "--policy", "greedy")
    given = parsed("allocate", *words)
    assert given["optimal"] is False
    assert 0 < given["gap"] < 0.15
    found = re.search(said, linkwright("allocate", *words).stderr.replace("\n", " "))
    assert found is not None
    # Rounded up, so that it stays a bound.
    assert 0 <= float(found[1]) - 100 * given["gap"] < 0.1001


def test_any_gpus_of_an_nvl72_are_known_to_be_the_best() -> None:
    for policy in ("greedy", "preserve"):
        for gpus in (4, 18, 36, 72):
            given = parsed("allocate", "-m", "gb200-nvl72", "-k", gpus, "--policy", policy)
            assert (given["optimal"], given["gap"]) == (True, 0.0), (policy, gpus)
            assert given["gpus"][0] == 0
