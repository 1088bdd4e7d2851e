"""Tests the live state of several servers: `allocate`, `state` and `Allocator` on a fabric."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from commands import fails, linkwright, parsed, program

import linkwright as lw

HERE = Path(__file__).parent
FOUR = ["-m", "hgx-h100", "--servers", 4, "--network", "fat-tree"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Names a state's file."""
    return tmp_path / "state.json"


def at(file: Path) -> list[object]:
    """Gives the options of four servers with their state in the file."""
    return [*FOUR, "--state", file]


def placed(*words: object) -> dict[str, list[int]]:
    """The GPUs of each server that a job is given."""
    found = parsed("allocate", *words)
    return {row["name"]: row["gpus"] for row in found["servers"]}


def test_standard_output_has_a_line_for_each_server(file: Path) -> None:
    result = linkwright("allocate", *FOUR, "-k", 12, "--server-choice", "pack")
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "node0 CUDA_VISIBLE_DEVICES=0,7,6,5,4,3,2,1 CUDA_DEVICE_ORDER=PCI_BUS_ID\n"
        "node1 CUDA_VISIBLE_DEVICES=0,3,2,1 CUDA_DEVICE_ORDER=PCI_BUS_ID\n"
    )
    assert "Near node1's GPUs 0,3,2,1: NICs mlx5_0" in result.stderr
    one = linkwright("allocate", *at(file), "-k", 2, "--job", "a")
    assert one.stdout == "node0 CUDA_VISIBLE_DEVICES=0,1 CUDA_DEVICE_ORDER=PCI_BUS_ID\n"


def test_json_says_what_the_job_has_of_each_server() -> None:
    found = parsed("allocate", *FOUR, "-k", 12, "--servers-wanted", 3, "--explain")
    assert [row["server"] for row in found["servers"]] == [0, 1, 2]
    assert [len(row["gpus"]) for row in found["servers"]] == [4, 4, 4]
    first = found["servers"][1]
    assert first["machine"] == "hgx-h100"
    assert first["environment"]["CUDA_VISIBLE_DEVICES"] == ",".join(map(str, first["gpus"]))
    assert [place["gpu"] for place in first["places"]] == first["gpus"]
    assert found["gpus"][4:8] == [8 + gpu for gpu in first["gpus"]]
    assert found["effective_bandwidth"] is None
    assert found["aggregated_bandwidth"] == 3 * first["aggregated_bandwidth"]
    assert found["links"] == {"NV18": 12}
    assert "3 servers evenly" in found["why_servers"]
    assert first["explanation"]["ranking"][0]["gpus"] == first["gpus"]


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("first-fit", "node0 is the first of 4 servers that have 4 GPUs free."),
        ("pack", "node0 has the fewest free, 8 of 4 servers that have 4 GPUs free."),
        ("spread", "node0 has the most free, 8 of 4 servers that have 4 GPUs free."),
        ("whole", "node0 has the fewest free, 8 of 4 servers that have 4 GPUs free."),
    ],
)
def test_an_explanation_says_why_these_servers(choice: str, said: str) -> None:
    result = linkwright("allocate", *FOUR, "-k", 4, "--server-choice", choice, "--explain")
    assert f"Servers: {said}" in " ".join(result.stderr.split())
    assert "On node0: " in result.stderr
    split = linkwright("allocate", *FOUR, "-k", 20, "--server-choice", choice, "--explain")
    assert split.exit_code == 0, split.output
    # Servers on which all is the same are told once.
    assert split.stderr.count("Decided by") <= 2


def test_a_state_goes_through_a_day_of_a_cluster(file: Path) -> None:
    whole = ["--server-choice", "whole"]
    assert placed(*at(file), "-k", 2, "--job", "a", *whole) == {"node0": [0, 1]}
    assert list(placed(*at(file), "-k", 16, "--job", "b", *whole)) == ["node1", "node2"]
    assert list(placed(*at(file), "-k", 3, "--job", "c", "--exclusive")) == ["node3"]
    # Six GPUs are free beside the first, and five beside one that is alone.
    said = fails(3, "allocate", *at(file), "-k", 8, "--job", "d", *whole)
    assert said == (
        "error: 8 GPUs are asked for and 11 are free on 2 servers, 6 at most on one; 0 servers "
        "without a job; try later"
    )
    shown = parsed("state", "show", *at(file))
    assert shown["held"]["b"][8] == 16
    assert shown["exclusive"] == ["b", "c"]
    assert [row["held"] for row in shown["servers"]][3] == {"c": shown["servers"][3]["held"]["c"]}
    text = linkwright("state", "show", *at(file)).stdout
    assert "node0    2-7         none   a" in text
    assert "node1: 0-7; node2: 0-7 (exclusive)" in text
    assert linkwright("state", "release", "b", *at(file)).stdout == (
        "job b released node1: 0-7; node2: 0-7\n"
    )
    assert list(placed(*at(file), "-k", 9, "--job", "d", *whole)) == ["node1", "node2"]
    told = linkwright("state", "reconcile", *at(file), stdin="a\nd\n").stdout
    assert told.startswith("released job c: node3: 0-2 (process ")
    assert "already" in fails(1, "allocate", *at(file), "-k", 1, "--job", "a")


def test_the_file_names_the_server_of_every_gpu(file: Path) -> None:
    parsed("allocate", *at(file), "-k", 9, "--job", "a", "--server-choice", "whole")
    saved = json.loads(file.read_text())
    assert saved["system"] == "4xhgx-h100 on fat-tree-128"
    assert list(saved["servers"]) == ["0", "1", "2", "3"]
    assert [len(row["jobs"].get("a", [])) for row in saved["servers"].values()] == [5, 4, 0, 0]
    # A state of one server is what it was, and none for a cluster.
    alone = file.with_name("alone.json")
    parsed("allocate", "-m", "hgx-h100", "--state", alone, "-k", 2, "--job", "a")
    assert list(json.loads(alone.read_text())) == [
        *("machine", "gpus", "fingerprint", "unhealthy", "jobs", "owners", "wiring")
    ]
    said = fails(2, "state", "show", *FOUR, "--state", alone)
    assert f"{alone}:2:3: the state is of one server; `4xhgx-h100 on" in said
    said = fails(2, "state", "show", "-m", "hgx-h100", "--state", file)
    assert "the state is of several servers; `hgx-h100` is one" in said
    said = fails(2, "state", "show", "-m", "hgx-h100", "--servers", 5, "--state", file)
    assert "the state is of 4 servers, numbered from 0; `5xhgx-h100 on" in said


def test_a_server_that_is_down_gets_no_job(file: Path) -> None:
    down = parsed("state", "mark-unhealthy", "--server", 0, *at(file))
    assert down["unhealthy"] == list(range(8))
    parsed("state", "mark-unhealthy", 2, 5, "--server", 1, *at(file))
    whole = ["--server-choice", "whole"]
    assert list(placed(*at(file), "-k", 16, "--job", "a", *whole)) == ["node2", "node3"]
    assert placed(*at(file), "-k", 6, "--job", "b") == {"node1": [0, 7, 6, 4, 3, 1]}
    up = parsed("state", "mark-healthy", "--server", 0, *at(file))
    assert up["unhealthy"] == [10, 13]
    for words, said in (
        (["--server", 4], "there is no server 4; `4xhgx-h100 on fat-tree-128` has servers 0 to 3"),
        ([8, "--server", 1], "node1 has no GPU 8; it has GPUs 0 to 7"),
        ([], "name GPUs by their ids, or --server for all of one"),
    ):
        assert said in fails(2, "state", "mark-unhealthy", *words, *at(file))
    assert "there is no GPU 32" in fails(1, "state", "mark-unhealthy", 32, *at(file))


def test_what_can_never_be_is_no_wait(file: Path) -> None:
    parsed("state", "mark-unhealthy", "--server", 0, *at(file))
    # All servers must be up for this one: it waits.
    assert "32 GPUs are asked for and 24 are free" in fails(
        3, "allocate", *at(file), "-k", 32, "--job", "a", "--server-choice", "whole"
    )
    for words, said in (
        (["-k", 33], "asks for 33 GPUs; the machine has 32, so it can never start"),
        (
            ["-k", 4, "--servers-wanted", 5],
            "on 5 servers, and the 4 servers have at most 8 healthy GPUs; ask for 1 to 4",
        ),
    ):
        assert said in fails(1, "allocate", *at(file), "--job", "a", *words)
    said = fails(2, "allocate", *FOUR, "-k", 2, "--server-choice", "hole")
    assert "there is no choice of servers `hole`; did you mean `whole`?" in said


def test_servers_may_be_unlike_and_lose_gpus(tmp_path: Path, file: Path) -> None:
    whole = lw.System("dgx1-v100").to_toml()
    (tmp_path / "node.toml").write_text(whole)
    listed = (
        '[[system.server]]\nkind = "hgx-h100"\n[[system.server]]\nkind = "node.toml"\ncount = 2\n'
    )
    unlike = tmp_path / "unlike.toml"
    unlike.write_text(listed)
    where = ["-m", unlike, "--state", file]
    packed = ["--server-choice", "pack"]
    first = placed(*where, "-k", 12, "--job", "a", *packed)
    assert {name: len(gpus) for name, gpus in first.items()} == {"node0": 8, "node1": 4}
    assert list(placed(*where, "-k", 4, "--job", "b", *packed)) == ["node1"]
    assert list(placed(*where, "-k", 2, "--job", "c", *packed)) == ["node2"]
    held = parsed("state", "show", *where)["servers"][2]["held"]["c"]
    gone = next(gpu for gpu in range(8) if gpu not in held)
    (tmp_path / "left.toml").write_text(_without(whole, gone))
    unlike.write_text(listed.replace("count = 2\n", "") + '[[system.server]]\nkind = "left.toml"\n')
    result = linkwright("state", "mark-lost", gone, "--server", 2, *where)
    assert result.exit_code == 0, result.output
    assert (
        f"warning: node2 has lost 1 GPU: GPU {gone} is gone by the ids of the state"
        in result.stderr
    )
    shown = parsed("state", "show", *where)
    assert shown["lost"] == [16 + gone]
    assert len(shown["servers"][2]["free"]) == 5
    assert "has no server 7" in fails(2, "state", "mark-lost", 1, "--server", 7, *where)


def _without(text: str, gpu: int) -> str:
    """Writes a server as its tools show it without a GPU, with the others counted anew."""
    system = lw.System.from_text(text)
    matrix = system.to_text("nvidia-smi")
    rows = matrix.splitlines()
    head = rows[0].split("\t")
    kept = rows[:1] + [row for row in rows[1:] if not row.lstrip().startswith(f"GPU{gpu}\t")]
    column = next(at for at, name in enumerate(head) if name.strip().endswith(f"GPU{gpu}"))
    cut = [
        "\t".join(cell for at, cell in enumerate(row.split("\t")) if at != column) for row in kept
    ]
    shown = "\n".join(cut) + "\n"
    for number in range(gpu + 1, 8):
        shown = shown.replace(f"GPU{number}", f"GPU{number - 1}")
    return lw.System.from_text(shown, name=system.name).to_toml()


def test_gpus_that_others_have_are_counted_by_the_system() -> None:
    assert placed(*FOUR, "-k", 8, "--busy", "3,9-10") == {"node2": [0, 7, 6, 5, 4, 3, 2, 1]}
    assert placed(*FOUR, "-k", 2, "--on", "14,15,16") == {"node1": [6, 7]}
    # Somebody is on the first two, so that whole servers are those behind.
    taken = placed(*FOUR, "-k", 16, "--busy", "3,9", "--server-choice", "whole")
    assert list(taken) == ["node2", "node3"]


@pytest.mark.skipif(os.name == "nt", reason="no such locks")
def test_programs_that_allocate_at_once_take_turns(file: Path) -> None:
    started = [
        program("allocate", *at(file), "-k", 6, "--job", f"job-{number}", "-q")
        for number in range(5)
    ]
    codes = [process.wait(timeout=60) for process in started]
    for process in started:
        process.communicate()
    # Six of a server's eight GPUs: four find room, and the fifth waits or has them of none.
    assert sorted(codes) == [0, 0, 0, 0, 3]
    held = parsed("state", "show", *at(file))["held"]
    given = [gpu for gpus in held.values() for gpu in gpus]
    assert len(given) == len(set(given)) == 24
    assert {gpu // 8 for gpu in given} == {0, 1, 2, 3}


def test_an_allocator_of_a_cluster_is_a_value() -> None:
    system = lw.System([("dgx1-v100", 2), "hgx-h100"], network="fat-tree")
    allocator = lw.Allocator(system, "greedy", servers="whole")
    match = allocator.allocate("a", lw.Pattern("ring", 9), exclusive=True)
    assert match is not None
    assert match.servers == [0, 1]
    assert [(server, len(part.gpus)) for server, part in match.by_server()] == [(0, 5), (1, 4)]
    assert match.gpus == allocator.held["a"]
    assert system.by_server(match.gpus)[1][1] == match.by_server()[1][1].gpus
    assert allocator.decide("b", lw.Pattern("ring", 9)) is None
    again = lw.Allocator(system, "greedy", servers="whole", state=allocator.save())
    assert (again.held, again.exclusive) == (allocator.held, ["a"])
    assert repr(again) == repr(allocator)
    assert "node1/GPU0" in again._repr_html_()
    again.release("a")
    assert again.free == list(range(24))
    why = allocator.explain("b", lw.Pattern("ring", 4))
    assert why is not None
    assert why.servers is not None
    assert why.servers.startswith("node2 has the fewest free")
    assert why.verdict.startswith("node2: GPUs ")
    assert min(why.chosen.gpus) >= 16
    [(server, there)] = why.by_server()
    assert (server, max(there.chosen.gpus) < 8) == (2, True)
    allocator.hold("slurm-9", [16, 17])
    assert allocator.held["slurm-9"] == [16, 17]


def test_larger_jobs_than_any_server_have_patterns() -> None:
    system = lw.System("hgx-h100", 32, network="fat-tree")
    match = lw.Allocator(system, servers="whole").decide("a", lw.Pattern("ring", 256))
    assert match is not None
    assert match.gpus != list(range(256))
    assert sorted(match.gpus) == list(range(256))
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (0, 8), (0, 4)]
    own = lw.Allocator(system, servers="pack").decide("b", lw.Pattern.from_edges(9, edges))
    assert own is not None
    assert [len(part.gpus) for _, part in own.by_server()] == [8, 1]


def test_a_decision_on_sixty_four_servers_takes_less_than_five_milliseconds() -> None:
    system = lw.System("hgx-h100", 64, network="fat-tree")
    for choice in lw.scenario.choice_names()["server_choice"]:
        allocator = lw.Allocator(system, servers=choice)  # type: ignore[arg-type]
        for pattern in (lw.Pattern("ring", 4), lw.Pattern("chain", 20), lw.Pattern("ring", 512)):
            assert allocator.measure_decision(pattern, repeats=20) < 5e-3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--edges", "{edges}", "--sensitivity", "measured"], "nothing says how long it computes"),
        (
            ["-k", 16, "--program", "lenet", "--sensitivity", "measured"],
            "--sensitivity looks at one server of 8 GPUs, and the job asks for 16; leave it out",
        ),
    ],
)
def test_what_looks_at_one_server_says_so(words: list[Any], said: str, tmp_path: Path) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_text("0 1\n1 2\n")
    asked = [str(word).replace("{edges}", str(edges)) for word in words]
    told = linkwright("allocate", *FOUR, *asked)
    assert told.exit_code != 0
    assert said in told.stderr
