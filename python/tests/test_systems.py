"""Tests `System`: each way to make one, its facts about itself, and the inputs that it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from commands import linkwright

from linkwright import Allocator, Pattern, System, plan
from linkwright.errors import FileError, InputError, MachineError
from linkwright.network import (
    ClusterJob,
    Fabric,
    Program,
    fabric_names,
    preset_names,
    read_fabric,
    read_system,
)
from linkwright.scenario import Scenario

DGX1 = System("dgx1-v100")
RINGS = Path(__file__).resolve().parents[2] / "examples" / "fabrics"
PING = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n"


def test_one_server_stands_alone() -> None:
    for alone in (System("dgx1-v100"), System(DGX1), System("dgx1-v100", 1), read_system(DGX1)):
        assert alone == DGX1
        assert (alone.fabric, alone.routing, alone.nic) == (None, None, None)
        assert (alone.gpu_count, alone.server_count, len(alone.ports())) == (8, 1, 0)
    assert DGX1.settings == {"server": "dgx1-v100"}
    assert [(server, count) for server, count in DGX1.servers()] == [(DGX1, 1)]


@pytest.mark.parametrize("speed", ["400G", "400Gb", "400Gbps", "400Gb/s", "50GB/s"])
def test_a_speed_has_several_spellings_and_bits_are_no_bytes(speed: str) -> None:
    [spelled, plain, bytes_] = [
        System("hgx-h100", servers=2, network=network)
        for network in (speed, "400 Gb/s", "400 GB/s")
    ]
    assert spelled == plain
    assert spelled != bytes_
    words = ("collective", "plan", "all-reduce", "-m", "hgx-h100", "--algorithm", "nccl-ring")
    said = linkwright(*words, "--servers", 2, "--network", speed)
    assert said.exit_code == 0, said.output
    assert "network: links of 400 Gb/s, which is 50 GB/s each way\n" in said.stderr


@pytest.mark.parametrize("network", [None, *fabric_names(), "100 Gb/s"])
def test_servers_are_on_a_network_by_name_and_size(network: str | None) -> None:
    system = System("dgx1-v100", servers=4, network=network)
    assert (system.server_count, system.gpu_count, system.nic_count) == (4, 32, 16)
    assert system.fabric is not None
    assert system.fabric.kind == (network if network in fabric_names() else system.fabric.kind)
    assert system.fabric.ports >= 16
    assert system.gpus_per_server == [8] * 4
    assert system.server_of(8) == 1
    assert read_system("dgx1-v100", 4, network=network) == system
    assert System(system.servers(), network=system.fabric) == system


def test_a_network_is_a_dictionary_a_fabric_or_a_file() -> None:
    keys = {"kind": "torus", "dimensions": [4, 4]}
    system = System(DGX1, 2, network=keys)
    assert system.fabric == Fabric("torus", dimensions=[4, 4], bandwidth="100 Gb/s")
    assert System(DGX1, 2, network=Fabric("torus", dimensions=[4, 4])) == system
    routed = System(DGX1, 2, network={**keys, "nic": "rr-4", "port_order": "rails"})
    assert routed != system
    assert routed.nic == "rr-4"
    ring = RINGS / "ring.dot"
    by_file = read_system(DGX1, 2, network=ring)
    assert by_file.fabric == read_fabric(ring)
    text = {"ring": ring.read_bytes()}
    assert System(DGX1, 2, network={"file": "ring"}, files=text).fabric == by_file.fabric
    faster = System(DGX1, 2, network={"kind": "fat-tree", "bandwidth_scale": "2x"})
    assert faster.fabric is not None
    assert faster.fabric.parameters["bandwidth"] == "25 GB/s"
    twice = System(DGX1, 2, network={"file": "ring", "bandwidth_scale": 2}, files=text)
    assert twice.fabric is not None
    assert twice.fabric != by_file.fabric


def test_servers_may_differ() -> None:
    mine = System.from_text(DGX1.to_toml().replace("count = 2", "count = 1"), name="dgx1-v100")
    system = System([("dgx-a100", 2), mine, "dgx1-v100", (mine, 2)], network="torus")
    assert system.gpus_per_server == [8] * 6
    names = [(server.name, count) for server, count in system.servers()]
    assert names == [("dgx-a100", 2), ("dgx1-v100", 1), ("dgx1-v100", 1), ("dgx1-v100", 2)]
    # Two servers of one name keep both descriptions.
    assert system.servers()[1][0] == mine != system.servers()[2][0]
    assert [system.server_of(gpu) for gpu in (0, 15, 16, 47)] == [0, 1, 2, 5]
    uneven = System(["hgx-h100", "pcie-tree-4"], network="fat-tree")
    assert uneven.gpus_per_server == [8, 4]
    assert uneven.gpu_names[8] == "node1/GPU0"
    assert any("lists no network interface" in text for text in uneven.assumptions)


def test_nodes_of_gpus_are_at_every_port() -> None:
    system = System({"gpus": 4, "bandwidth": "150 GB/s"}, network="dragonfly")
    assert (system.gpu_count, system.server_count) == (8192, 2048)
    assert system.name == "dragonfly-2048"
    assert system.servers() == []
    assert read_system({"gpus": 4}, gpus=32).server_count == 16
    run = System({"gpus": 4}, network="torus").play([ClusterJob(Program.from_goal(PING))])
    assert run.makespan > 0


def test_ports_are_taken_server_by_server_or_rail_by_rail() -> None:
    def interfaces(order: str) -> list[str]:
        network: dict[str, Any] = {"kind": "fat-tree", "port_order": order}
        ports = list(System("dgx1-v100", 4, network=network).ports())
        assert [row["port"] for row in ports] == list(range(16))
        assert {row["switch"] for row in ports} >= {"leaf0", "leaf3"}
        return [row["interface"] for row in ports[:5]]

    plain = ["node0/mlx5_0", "node0/mlx5_1", "node0/mlx5_2", "node0/mlx5_3", "node1/mlx5_0"]
    assert interfaces("plain") == plain
    rails = ["node0/mlx5_0", "node1/mlx5_0", "node2/mlx5_0", "node3/mlx5_0", "node0/mlx5_1"]
    assert interfaces("rails") == rails


def test_tables_hold_every_device_and_link_of_the_system() -> None:
    system = System("dgx1-v100", 4, network="fat-tree")
    devices, links = list(system.devices()), list(system.links())
    assert len(devices) == 4 * 18 + 20
    assert len(links) == 4 * 33 + 16 + 2 * 16
    assert {row["kind"] for row in devices[-20:]} == {"network-switch"}
    names = {row["name"] for row in devices}
    assert names >= {"node3/GPU7", "leaf0", "core3"}
    assert all({row["a"], row["b"]} <= names for row in links)
    for row in devices[:20]:
        assert all(row["name"] in (links[at]["a"], links[at]["b"]) for at in row["links"])
    text = system.to_dot()
    assert (text.count(" shape="), text.count(" -- ")) == (len(devices), len(links))


def test_what_was_for_a_server_works_on_servers() -> None:
    system = System("dgx1-v100", 2, network="fat-tree")
    schedule = plan(system, range(16), "all-reduce")
    assert schedule.check().steps > 0
    assert "leaf0" in {row["to"] for row in schedule.time(1 << 20).links()}
    assert len(system.gpu_places()) == len(system.gpu_models) == 16
    [(server, count)] = system.servers()
    assert count == 2
    for allocator in (Allocator(system), Allocator(server)):
        assert allocator.decide("a", Pattern("ring", 4))


def test_its_scenario_makes_it_again() -> None:
    for system in (
        System("dgx1-v100", 4, network={"kind": "fat-tree", "nic": "rr-4"}),
        System([("dgx-a100", 2), "dgx1-v100"], network={"kind": "torus", "port_order": "rails"}),
        System({"gpus": 4}, network={"kind": "dragonfly", "groups": 5}),
    ):
        job = '\n[[job]]\nprogram = "laghos"\nranks = 8\n'
        scenario = Scenario.from_text(system.to_toml() + job)
        again, _, _ = scenario.build()
        assert again == system
        assert System(**again.settings) == system


def test_how_jobs_are_played_is_said_where_they_are() -> None:
    system = System(network={"kind": "fat-tree", "pods": 2})
    job = ClusterJob(Program.skeleton("laghos", 32))
    packets, flows = (system.play([job], fidelity=name) for name in ("packet", "flow"))
    assert (packets.fidelity, flows.fidelity) == ("packet", "flow")
    assert packets.packet_hops > flows.packet_hops == 0
    slow = system.play([job], protocol={"send_overhead": "1 ms"})
    assert slow.makespan > packets.makespan
    mapped = [system.play([job], mapping="random", seed=seed).mapping for seed in (1, 1, 2)]
    assert mapped[0] == mapped[1] != mapped[2]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "name a server, such as `dgx1-v100`, or a network"),
    ({"server": "dgx1-v10"}, "dgx1-v100"),
    ({"server": "dgx1-v100", "servers": 0}, "servers is 0"),
    ({"server": DGX1, "network": "fast"}, "no network `fast`; use one of fat-tree"),
    ({"servers": 4}, "name a server"),
    ({"servers": 4, "network": "torus"}, "name a server, such as `dgx1-v100`, or give the"),
    ({"server": [], "network": "torus"}, "list some"),
    ({"server": ["dgx2"], "servers": 2}, "leave out `servers`"),
    ({"server": [("dgx2", -1)]}, "-1 servers"),
    ({"server": {"gpus": 0}, "network": "torus"}, "gpus: a node cannot have 0 GPUs"),
    ({"server": {"gpu": 4}, "network": "torus"}, "`gpu` says nothing of a server; its keys are"),
    ({"network": {"kind": "torus", "gpus_per_node": 2}}, 'give `server={"gpus": ...}`'),
    ({"network": {"kind": "torus", "machine": "dgx2"}}, "give `server` and `servers`"),
    ({"network": {"kind": "torus", "fidelity": "flow"}}, "give it to `System.play`"),
    ({"network": {"kind": "tree"}}, "unknown kind of network"),
    (
        {
            "server": DGX1,
            "servers": 9,
            "network": {"kind": "torus", "dimensions": [2, 2], "nodes_per_switch": 1},
        },
        "36",
    ),
    ({"server": System(DGX1, 2), "network": "torus"}, "give one of its `servers()`"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_makes_no_system_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises((MachineError, InputError)) as refused:
        System(**arguments)
    assert said in str(refused.value)


def test_names_of_files_are_looked_for() -> None:
    with pytest.raises(FileError, match="did you mean `dgx1-v100`"):
        read_system("dgx1-v10")
    with pytest.raises(FileError, match="did you mean `fat-tree`"):
        read_system("dgx1-v100", 2, network="fattree")
    with pytest.raises(FileError, match="routing table names the switches of a file's network"):
        read_system(network={"kind": "torus", "routing_table": RINGS / "ring.dot"})


def test_as_many_servers_as_gpus_are_wanted() -> None:
    for gpus, servers in ((1, 1), (8, 1), (9, 2), (64, 8)):
        assert read_system("dgx1-v100", gpus=gpus).server_count == servers


@pytest.mark.parametrize("servers", [2, 16, 64, 2000])
@pytest.mark.parametrize("network", fabric_names())
def test_systems_draw_themselves(servers: int, network: str) -> None:
    drawing = System("dgx1-v100", servers, network=network)._repr_html_()
    root = ElementTree.fromstring(drawing)
    assert root.tag.endswith("svg")
    assert len(drawing) < 3_000_000
    assert f"{servers} servers" in drawing
    one_by_one = sum(f">node{server} dgx1-v100<" in drawing for server in range(servers))
    assert one_by_one == (servers if servers <= 64 else 0)
    assert "in short" in drawing or servers <= 64


def test_every_preset_goes_onto_a_network_or_says_why_not() -> None:
    for name, _ in preset_names():
        system = System(name, 3, network="fat-tree")
        assert repr(system).startswith(f'<System "3x{name} on fat-tree-')
        assert system.gpu_count == 3 * System(name).gpu_count
