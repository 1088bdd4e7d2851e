"""Links between servers run as fast as the interfaces, and every answer says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import linkwright, parsed

from linkwright import System, plan
from linkwright.collectives import planning_seconds
from linkwright.errors import InputError
from linkwright.network import Fabric, fabric_names, read_system
from linkwright.network_training import train
from linkwright.scenario import Scenario, play_mix

ALL_REDUCE = ("all-reduce", "-m", "hgx-h100")
EIGHT = ("-b", "8G", "-e", "8G")
RING = ("--algorithm", "nccl-ring")
COMMANDS = [
    ("collective", "expect", "all-reduce", *EIGHT),
    ("collective", "plan", "all-reduce", *RING),
    ("collective", "time", "all-reduce", *RING, *EIGHT),
    ("collective", "compare", "all-reduce", *RING),
]
UNKNOWN = "nothing says how fast"
UNUSED = "the network counts for nothing here"
GIGABIT = 125_000_000
# A matrix of two GPUs and their interfaces, which says nothing of speeds.
PASTE = """\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV18\tPIX\tNODE\t0-31\t0
GPU1\tNV18\t X \tNODE\tPIX\t0-31\t0
NIC0\tPIX\tNODE\t X \tNODE
NIC1\tNODE\tPIX\tNODE\t X
"""


def speeds(system: System) -> tuple[set[int], set[int]]:
    """Gives Gb/s of the links of ports, and of those between switches."""
    kinds = {row["name"]: row["kind"] for row in system.devices()}
    of_ports: set[int] = set()
    between: set[int] = set()
    for row in system.links():
        ends = [kinds[row["a"]], kinds[row["b"]]]
        if "network-switch" in ends:
            (of_ports if "nic" in ends else between).add(row["bandwidth"] * 8 // 10**9)
    return of_ports, between


def port_speeds(system: System) -> dict[str, float]:
    return {row["interface"]: row["bandwidth"] / GIGABIT for row in system.ports()}


def networks(folder: Path) -> dict[str, Any]:
    """A kind alone, however it is said."""
    file = folder / "kind.toml"
    file.write_text('kind = "dragonfly"\ngroups = 9\n')
    return {
        "nothing": None,
        **{kind: kind for kind in fabric_names()},
        "a dictionary": {"kind": "torus", "nic": "rr-4"},
        "a file": file,
        "a `Fabric`": Fabric("fat-tree"),
    }


def test_a_kind_alone_has_the_speed_of_the_interfaces_on_every_link(tmp_path: Path) -> None:
    for what, network in networks(tmp_path).items():
        for server, gigabits in [("hgx-h100", 400), ("dgx-a100", 200), ("dgx1-v100", 100)]:
            system = read_system(server, 2, network=network)
            of_ports, between = speeds(system)
            assert of_ports == {gigabits}, (what, server)
            assert between <= {gigabits}, (what, server)
            assert system.network_words is not None
            assert system.network_words.endswith(f" of {gigabits} Gb/s, as the interfaces")
            assert system.assumed_speed is None
            assert system.fabric == System(server, 2, network=system.fabric).fabric


def test_a_speed_that_is_named_counts_for_what_it_is_of() -> None:
    def of(**keys: object) -> tuple[set[int], set[int]]:
        return speeds(System("hgx-h100", 2, network={"kind": "fat-tree", **keys}))

    assert of(bandwidth="100 Gb/s") == ({100}, {100})
    assert of(node_bandwidth="100 Gb/s") == ({100}, {400})
    assert of(bandwidth_scale=2) == ({800}, {800})
    named = System("hgx-h100", 2, network={"kind": "fat-tree", "bandwidth": "400 Gb/s"})
    assert named.network_words == "fat-tree of 400 Gb/s"


def test_where_interfaces_differ_each_port_has_its_own() -> None:
    for order in ("plain", "rails"):
        network = {"kind": "fat-tree", "port_order": order}
        mixed = System(["hgx-h100", "dgx1-v100", "pcie-tree-4"], network=network)
        known = {"node0": 400, "node1": 100, "node2": 95.2}
        assert {
            interface.split("/")[0]: speed for interface, speed in port_speeds(mixed).items()
        } == known
        assert speeds(mixed)[1] == {400}
        assert mixed.network_words == "fat-tree of 95.2 Gb/s to 400 Gb/s, assumed"
        assert "the interfaces of pcie-tree-4 are" in (mixed.assumed_speed or "")
    both = System(["hgx-h100", "dgx1-v100"])
    [said] = [text for text in both.assumptions if "as the interfaces" in text]
    assert "each port as its own, and those between switches at 400 Gb/s" in said
    halved = System(["hgx-h100", "dgx1-v100"], network={"bandwidth_scale": "1/2"})
    assert set(port_speeds(halved).values()) == {200, 50}


def test_what_is_not_known_keeps_its_speed_and_is_said(tmp_path: Path) -> None:
    pasted = System.from_text(PASTE, name="pasted")
    nodes = read_system({"gpus": 4}, network="fat-tree")
    for system, whose in [
        (System(pasted, 2), "the interfaces of pasted"),
        (System("pcie-tree-4", 2), "the interfaces of pcie-tree-4"),
        (nodes, "the nodes' interfaces"),
    ]:
        assert set(port_speeds(system).values()) == {95.2}
        assert speeds(system)[1] == {95}
        said = system.assumed_speed or ""
        assert said.startswith(f"{UNKNOWN} {whose} are: links of 95.2 Gb/s are assumed;")
        assert "--network 400Gb/s" in said
        assert said in system.assumptions
    file = tmp_path / "pasted.txt"
    file.write_text(PASTE)
    for command in COMMANDS:
        words = (*command, "-m", file, "--servers", 2)
        done = linkwright(*words)
        assert done.exit_code == 0, done.output
        assert f"- {UNKNOWN} the interfaces of pasted are" in done.output
        assert "fat-tree of 95.2 Gb/s, assumed" in done.output
    assert any(UNKNOWN in note for note in parsed(*words, "--json")["notes"])
    assert UNKNOWN not in linkwright(*words, "--network", "400Gb/s").output
    for words in (
        ("replay", "stencil4d", "--ranks", 16),
        ("machine", "show", file, "--servers", 2),
    ):
        assert UNKNOWN in linkwright(*words).output


def test_a_topology_file_s_speeds_survive_and_count() -> None:
    written = System("hgx-h100").to_text("nccl-xml")
    # Without its products' ids the file knows the interfaces by their ports alone.
    for speed, gigabits in [("400000", 400), ("200000", 200)]:
        text = written.replace('speed="400000"', f'speed="{speed}"')
        read = System.from_text(text, name="read")
        assert set(port_speeds(System(read, 2)).values()) == {gigabits}
        assert System.from_text(read.to_toml()) == read
        assert f'speed="{speed}"' in read.to_text("nccl-xml")
    unsaid = System.from_text(written.replace(' speed="400000"', ""), name="unsaid")
    assert set(port_speeds(System(unsaid, 2)).values()) == {95.2}
    with pytest.raises(InputError, match="no network interface has this speed"):
        System.from_text(written.replace('speed="400000"', 'speed="fast"', 1))


def bus_bandwidth(*words: object) -> float:
    """Gives that of a ring, which crosses each interface with all of its data."""
    ring = ("--env", "NCCL_ALGO=ring")
    [row] = parsed("collective", "expect", *ALL_REDUCE, *EIGHT, *ring, *words, "--json")["sweep"]
    return float(row["bus_bandwidth"])


def test_two_hgx_h100_reach_what_their_interfaces_do_and_the_heading_says_so() -> None:
    assert bus_bandwidth("--servers", 2) == pytest.approx(353.1, abs=0.05)
    assert bus_bandwidth("--servers", 2, "--network", "400Gb/s") == bus_bandwidth("--servers", 2)
    assert bus_bandwidth("--servers", 2, "--network", "95.2Gb/s") == pytest.approx(87.3, abs=0.05)
    said = linkwright("collective", "expect", *ALL_REDUCE, "--servers", 2, *EIGHT).output
    assert "of 2xhgx-h100 on fat-tree of 400 Gb/s, as the interfaces; as NCCL" in said
    said = linkwright("collective", "plan", *ALL_REDUCE, *RING, "--servers", 2).output
    assert "of 2xhgx-h100 on fat-tree of 400 Gb/s, as the interfaces: " in said


def test_training_and_days_run_at_the_interfaces_speed(tmp_path: Path) -> None:
    def step(fabric: str | None = None) -> Any:
        return train("vgg-16", "hgx-h100", servers=2, fabric=fabric, batch=64, scaling=False)

    unsaid = step()
    # At 95 Gb/s NCCL takes other algorithms than at 400, which hide as well behind computing.
    assert unsaid.best.time == step("400Gb/s").best.time < step("20Gb/s").best.time
    assert "2xhgx-h100 on fat-tree of 400 Gb/s, as the interfaces" in unsaid.title
    scenario = tmp_path / "day.toml"
    (tmp_path / "jobs.csv").write_text("job,arrival,workload,gpus,iterations\na,0 s,vgg-16,16,2\n")
    day = """[system]
server = "hgx-h100"
servers = 2
network = { kind = "fat-tree"BANDWIDTH }
[jobs]
file = "jobs.csv"
run_time = "played"
[allocation]
servers = "spread"
"""
    found = []
    for bandwidth in ("", ', bandwidth = "400 Gb/s"', ', bandwidth = "95.2 Gb/s"'):
        scenario.write_text(day.replace("BANDWIDTH", bandwidth))
        found.append(play_mix(scenario, settings={"collectives.planner": "nccl-ring"}))
    unsaid, named, slow = (run.results[0].makespan for run in found)
    assert unsaid == named < slow
    assert any("as the interfaces" in note for note in found[0].notes)
    assert not any("as the interfaces" in note for note in found[1].notes)
    assert "as the interfaces" in found[0].title


def test_a_question_that_no_network_decides_is_told_so(tmp_path: Path) -> None:
    for network in ("400Gb/s", "800Gb/s", "dragonfly"):
        said = linkwright("collective", "expect", *ALL_REDUCE, *EIGHT, "--network", network)
        assert f"- {UNUSED}: the job has all its GPUs in one server" in said.output
    within = ("--servers", 2, "--gpus", 8)
    for command in COMMANDS:
        document = parsed(*command, *ALL_REDUCE[1:], *within, "--json")
        assert any(UNUSED in note for note in document["notes"])
    for words in (("--servers", 2), ()):
        assert UNUSED not in linkwright("collective", "expect", *ALL_REDUCE, *EIGHT, *words).output
    step = ("train", "lenet", "-m", "hgx-h100", "--batch", 64, "--set", "scaling=false")
    assert UNUSED in linkwright(*step, "--gpus", 8, "--network", "800Gb/s").output
    assert UNUSED not in linkwright(*step, "--gpus", 16).output
    goal = tmp_path / "ping.goal"
    played = ("replay", goal, "-m", "hgx-h100", "--servers", 2, "--network", "400Gb/s")
    for last, is_unused in ((7, True), (8, False)):
        idle = "".join(f"rank {rank} {{\n}}\n" for rank in range(1, last))
        goal.write_text(
            f"num_ranks {last + 1}\nrank 0 {{\nsend 8b to {last}\n}}\n{idle}"
            f"rank {last} {{\nrecv 8b from 0\n}}\n"
        )
        assert (UNUSED in linkwright(*played).output) == is_unused


def test_a_network_wider_than_what_its_interfaces_hang_from_is_told_so() -> None:
    narrow = "a faster network counts for nothing here: each interface reaches 44.7 GB/s over"
    pair = ("collective", "expect", *ALL_REDUCE, "--servers", 2, *EIGHT)
    for network in ("400Gb/s", "800Gb/s", "dragonfly"):
        assert narrow in linkwright(*pair, "--network", network).output
        assert bus_bandwidth("--servers", 2, "--network", network) == pytest.approx(353.1, abs=0.05)
    assert narrow not in linkwright(*pair, "--network", "200Gb/s").output
    assert narrow not in linkwright(*pair).output


def test_a_day_whose_jobs_stay_within_servers_is_told_that_no_network_counts(
    tmp_path: Path,
) -> None:
    scenario = tmp_path / "day.toml"
    scenario.write_text(
        '[system]\nserver = "dgx1-v100"\nservers = 2\n'
        '[jobs]\nfile = "jobs.csv"\nrun_time = "played"\n'
    )
    for most, is_unused in ((4, True), (16, False)):
        jobs = f"job,arrival,workload,gpus,iterations\na,0 s,vgg-16,2,1\nb,0 s,vgg-16,{most},1\n"
        (tmp_path / "jobs.csv").write_text(jobs)
        notes = play_mix(scenario, settings={"collectives.planner": "nccl-ring"}).notes
        assert any(UNUSED in note for note in notes) == is_unused


def test_a_plan_is_the_fastest_unless_an_algorithm_is_named() -> None:
    machine = System("hgx-h100")
    by_default = plan(machine, range(8), "all-reduce", size="64MiB")
    assert by_default.tried
    told = parsed("collective", "plan", *ALL_REDUCE, "--json")
    assert by_default.algorithm == told["algorithm"] != "packing"
    assert planning_seconds(machine, range(8), "all-reduce") == planning_seconds(
        machine, range(8), "all-reduce", algorithm="auto"
    )
    # A setting of its own says who plans for jobs.
    text = '[machine]\npreset = "dgx1-v100"\n[jobs]\ngenerate = { count = 1 }\n'
    assert Scenario.from_text(text).planner == "packing"
