"""Topologies and networks as people have them: read, warned of, or named with what to write."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import fails, linkwright, parsed

from linkwright import System
from linkwright.errors import InputError
from linkwright.network import Fabric, read_system

SYSTEM = Path(__file__).resolve().parents[2] / "crates" / "linkwright-system" / "src" / "system"
QUIRKS = SYSTEM / "import" / "quirks"
AMD_SMI = QUIRKS / "xgmi-mesh.amd-smi.txt"
SLOW_UPLINK = QUIRKS / "slow-uplink.nccl-topo.xml"
BOARD = QUIRKS / "board-without-nvlink.nvidia-smi.txt"
TRAYS = QUIRKS / "two-trays.nccl-topo.xml"
TOPOLOGY_CONF = SYSTEM / "fabric" / "strangers" / "topology.conf"


def test_amd_smi_shows_a_mesh_whose_gpus_have_addresses() -> None:
    machine = read_system(AMD_SMI)
    assert [machine.gpu_matrix()[0][gpu][0] for gpu in range(8)] == ["X", *["XGMI1"] * 7]
    gpus = [device for device in machine.devices() if device["kind"] == "gpu"]
    assert [gpu["pci_address"] for gpu in gpus][::7] == ["0000:0b:00.0", "0000:cb:00.0"]
    assert System.from_text(AMD_SMI.read_text(), format="amd-smi").gpu_count == 8
    assert "GPU7 XGMI1" in linkwright("machine", "show", AMD_SMI).stdout
    assert parsed("machine", "import", AMD_SMI, "--xgmi-links", 2)["name"] == "xgmi-mesh"


def test_a_slow_uplink_is_warned_of_until_it_is_stated(tmp_path: Path) -> None:
    shown = linkwright("machine", "show", SLOW_UPLINK)
    assert shown.stdout.startswith("Warning:\n- The PCIe uplink of PCIeSwitch0, PCIeSwitch1")
    stated = tmp_path / "stated.toml"
    linkwright("machine", "import", SLOW_UPLINK, "--pcie", "pcie5", "-o", stated)
    assert read_system(stated).warnings == []
    links = read_system(stated).links()
    assert {link["kind"] for link in links if link["a"].startswith("PCIeSwitch")} == {"pcie5"}


def test_a_board_without_nvlink_is_warned_of_until_it_is_stated() -> None:
    for words in (["machine", "show", BOARD], ["allocate", "-m", BOARD, "-k", 2]):
        result = linkwright(*words)
        said = result.stdout + result.stderr
        assert "H100 80GB HBM3 has 18 NVLinks, and the matrix shows none" in said
        assert "option `nvlink`, such as `nvlink4`" in said
    stated = System.from_text(BOARD.read_text(), nvlink="nvlink4")
    assert (stated.warnings, stated.gpu_matrix()[0][7]) == ([], ("NV18", 450.0))


def test_two_trays_of_one_nvlink_domain_are_one_machine() -> None:
    machine = read_system(TRAYS)
    assert (machine.gpu_count, machine.warnings) == (4, [])
    assert machine.gpu_matrix()[0][3] == ("NV18", 900.0)
    rack = System("gb200-nvl72")
    again = System.from_text(rack.to_text("nccl-xml"))
    assert again.gpu_count == 72
    between = [
        link
        for link in again.links()
        if link["a"].startswith("CPU") and link["b"].startswith("CPU")
    ]
    assert len(between) == 18


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (TOPOLOGY_CONF.read_text(), "Slurm's topology.conf"),
        ("- topology: a\n  block:\n    blocks:\n      - block: b1\n", "Slurm's topology.yaml"),
        ("topology: [Ring]\nnpus_count: [8]\nbandwidth: [50]\n", "a network of ASTRA-sim"),
        ("2 1 1\n2\n0 2 100Gbps 1us 0\n", "a network of ns-3"),
        ('<platform version="4.1"/>\n', "a platform of SimGrid"),
        ("a b\nb c\n", "an edge list"),
    ],
)
def test_networks_of_other_tools_are_named(text: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "network.txt"
    file.write_text(text)
    said = f"this looks like {what}"
    assert said in fails(2, "replay", "kripke", "--ranks", 4, "--network", file)
    with pytest.raises(InputError, match=said):
        Fabric.from_text(text)
    scenario = tmp_path / "day.toml"
    scenario.write_text(
        "[system]\nserver = { gpus = 1 }\nnetwork = { file = 'network.txt' }\n"
        "[[job]]\nprogram = 'kripke'\nranks = 4\n"
    )
    assert said in fails(2, "run", scenario)
    if what != "an edge list":
        assert what in fails(2, "machine", "show", file)


def test_nodes_of_a_graph_are_told_the_key_of_their_links() -> None:
    text = 'graph g { a [nodes=4] b [nodes=4] a -- b [bandwidth="10 GB/s", latency="50 ns"] }'
    with pytest.raises(InputError, match=r"no node_bandwidth for: `a`.*node_bandwidth="):
        Fabric.from_text(text)
    given = text.replace("nodes=4", 'nodes=4, node_bandwidth="10 GB/s"')
    with pytest.raises(InputError, match="no node_latency for"):
        Fabric.from_text(given)
    assert Fabric.from_text(given.replace("nodes=4", 'nodes=4, node_latency="1 ns"')).ports == 8


def test_a_size_that_nobody_set_is_not_to_blame() -> None:
    said = fails(2, "replay", "kripke", "--ranks", 4, "--network", "fat-tree", "--set", "radix=4")
    assert "`radix` = 4 cannot go with `pods`, which is 8 where it is not set" in said
