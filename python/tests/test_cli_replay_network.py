"""How fast messages go over a network that `linkwright replay` is told: buffers and routings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import parsed

from linkwright import System
from linkwright.network import Fabric
from linkwright.runs.cluster.play import play_trace

RING = Path(__file__).resolve().parents[2] / "examples" / "fabrics" / "ring.dot"
SIZE = 16 << 20
ONE = f"num_ranks 2\nrank 0 {{\nsend {SIZE}b to 1\n}}\nrank 1 {{\nrecv {SIZE}b from 0\n}}\n"


@pytest.fixture
def lone(tmp_path: Path) -> list[Any]:
    """Gives the words that replay one message between two HGX H100."""
    goal, mapping = tmp_path / "one.goal", tmp_path / "one.map"
    goal.write_text(ONE, "utf-8")
    mapping.write_text("0\n8\n", "utf-8")
    return ["replay", goal, "-m", "hgx-h100", "--servers", 2, "--mapping", mapping]


@pytest.mark.parametrize("speed", ["100Gb/s", "400Gb/s", "800Gb/s"])
def test_a_lone_message_takes_as_long_in_packets_as_by_flow(lone: list[Any], speed: str) -> None:
    packets, flow = (
        parsed(*lone, "--network", speed, "--fidelity", fidelity) for fidelity in ("packet", "flow")
    )
    assert packets["makespan"] == pytest.approx(flow["makespan"], rel=0.02)
    assert not any("Buffers of" in note for note in packets["notes"])


def test_a_small_buffer_is_noted_with_the_rate_that_it_allows(lone: list[Any]) -> None:
    told = parsed(*lone, "--network", "400Gb/s", "--buffer-packets", 4)
    # Of 18 packets that are needed; 4,096 B each, and a round trip of 1.42 us.
    [note] = [note for note in told["notes"] if note.startswith("Buffers of 4 packets")]
    assert "a link of 50.0 GB/s carry 11.5 GB/s" in note
    assert "leave out `buffer_packets`, or give 18" in note
    assert SIZE / told["makespan"] == pytest.approx(11.5e9, rel=0.03)
    enough = parsed(*lone, "--network", "400Gb/s", "--buffer-packets", 18)
    assert not any(note.startswith("Buffers of") for note in enough["notes"])


@pytest.mark.parametrize("routing", ["ecmp", "adaptive"])
def test_every_command_takes_the_routings_of_any_network(routing: str, tmp_path: Path) -> None:
    job = ["replay", "stencil4d", "--ranks", 16]
    shown = parsed(*job, "--network", RING, "--routing", routing)
    assert shown["system"]["routing"] == routing
    assert not any("shortest ways" in note for note in shown["notes"])
    system = System(
        network={"file": "ring.dot", "routing": routing}, files={"ring.dot": RING.read_bytes()}
    )
    played = play_trace("stencil4d", system, ranks=16)
    assert played.run.makespan == shown["makespan"]
    scenario = tmp_path / "ring.toml"
    scenario.write_text(
        f'[system.network]\nfile = "{RING}"\nrouting = "{routing}"\n'
        '[[job]]\nprogram = "stencil4d"\nranks = 16\n',
        "utf-8",
    )
    assert parsed("run", scenario)["makespan"] == shown["makespan"]
    small = {"torus": "dimensions=[4, 4]", "dragonfly": "groups=2", "fat-tree": "radix=8"}
    for kind, sizes in small.items():
        words = ["--network", kind, "--set", sizes, "--set", f"routing={routing}"]
        assert parsed(*job, *words)["makespan"] > 0


def test_a_graph_whose_routing_nobody_chose_gets_a_note() -> None:
    job = ["replay", "stencil4d", "--ranks", 16, "--network", RING]
    [note] = [note for note in parsed(*job)["notes"] if "shortest ways" in note]
    assert "`shortest-path`" in note
    assert "adaptive" in note
    chosen = parsed(*job, "--routing", "shortest-path")
    assert not any("shortest ways" in note for note in chosen["notes"])


def test_the_bisection_of_a_dragonfly_is_the_least_over_its_groups() -> None:
    sizes = {"nodes_per_switch": 2, "switches_per_group": 4, "global_links_per_switch": 2}
    assert Fabric("dragonfly", **sizes, groups=8).bisection_bandwidth == pytest.approx(190.4)
    assert Fabric("dragonfly", **sizes, groups=9).bisection_bandwidth == pytest.approx(20 * 11.9)
