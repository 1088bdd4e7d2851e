"""Tests what the commands and Python tell of synthetic traffic and of the structure of networks."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from commands import linkwright, parsed

from linkwright import System
from linkwright.errors import SimulationError
from linkwright.network import Fabric
from linkwright.errors import InputError, MachineError

RING = ("--network", "torus", "--set", "dimensions=[8]")


def test_a_tornado_on_a_ring_of_eight_passes_a_third_by_age_and_less_in_turn() -> None:
    def accepted(*more: str) -> float:
        found = parsed("traffic", "tornado", *RING, "--load", "1", "--window", "500", *more)
        share: float = found["loads"][0]["accepted"]
        return share

    assert accepted("--arbitration", "age") == pytest.approx(1 / 3, abs=0.01)
    assert accepted() < 0.25


def test_a_sweep_prints_writes_and_draws(tmp_path: Path) -> None:
    table, chart = tmp_path / "loads.parquet", tmp_path / "loads.json"
    options = ("--load", "0.1..0.3", "--warm-up", "50", "--window", "100")
    shown = linkwright(
        "traffic", "neighbour", *RING, *options, "--parquet", str(table), "--plot", str(chart)
    ).stdout
    assert "neighbour on torus-8: 8 nodes" in shown
    rows = pyarrow.parquet.read_table(table).to_pylist()
    assert [row["load"] for row in rows] == pytest.approx([0.1, 0.2, 0.3])
    assert all(row["unfinished"] == 0 for row in rows)
    assert "vconcat" in json.loads(chart.read_text("utf-8"))
    assert parsed("traffic", "neighbour", *RING, *options)["loads"] == rows


def test_a_closed_loop_sends_no_more_than_it_has_under_way() -> None:
    system = System({"gpus": 1}, network={"kind": "single-switch", "ports": 4})
    rows = [dict(row) for row in system.traffic("permutation", in_flight=[1, 8], window=200)]
    assert rows[0]["load"] is None
    assert rows[0]["latency"] == pytest.approx(rows[0]["latency_alone"])
    assert rows[0]["accepted"] < rows[1]["accepted"] <= 1.0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("tornado", "--load", "1.5"), "`1.5` is no load"),
        (("tornado", "--load", "0.5..0.2"), "`0.5..0.2` is no load"),
        (("tornado", "--load", "much"), "`much` is no load"),
        (("storm",), "there is no pattern `storm`"),
        (("tornado", "--network", "torus", "--set", "dimensions=[2, 2]"), "a tornado goes nowhere"),
        (("uniform", "--set", "fidelity=flow"), "`fidelity` is of jobs"),
    ],
)
def test_traffic_that_cannot_be_is_refused_in_one_line(
    words: tuple[str, ...], problem: str
) -> None:
    ended = linkwright("traffic", *words)
    assert ended.exit_code != 0
    [line] = ended.stderr.splitlines()[-1:]
    assert problem in line


def test_a_system_of_several_gpus_a_node_has_no_synthetic_traffic() -> None:
    with pytest.raises(SimulationError, match="one GPU each"):
        System({"gpus": 4}, network="torus").traffic("uniform", loads=[0.1])
    with pytest.raises(SimulationError, match="there is no load"):
        System({"gpus": 1}, network="torus").traffic("uniform")


def test_a_network_tells_distances_paths_cables_and_bounds() -> None:
    torus = Fabric("torus", dimensions=[4, 4, 4], bandwidth="1 GB/s")
    assert torus.diameter == 6
    assert torus.mean_distance == pytest.approx(3 * 64 / 63)
    assert torus.bisection_bounds == (32.0, 32.0)
    assert torus.cables == (64, 192)
    count, paths = torus.paths(0, 21)
    assert (count, len(paths)) == (6, 6)
    assert Fabric.from_text(torus.to_dot()).bisection_bounds == torus.bisection_bounds
    with pytest.raises(MachineError, match="no node 64"):
        torus.paths(0, 64)


def test_networkx_graphs_are_read() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.petersen_graph()
    networkx.set_edge_attributes(graph, "12.5 GB/s", "bandwidth")
    networkx.set_edge_attributes(graph, "50 ns", "latency")
    networkx.set_node_attributes(graph, 1, "nodes")
    text = "\n".join(networkx.generate_graphml(graph))
    fabrics = [Fabric.from_text(text), Fabric.from_text(json.dumps(networkx.node_link_data(graph)))]
    for fabric in fabrics:
        assert fabric.diameter == 2
        assert fabric.mean_distance == pytest.approx(15 / 9)


def test_an_edge_list_is_a_network_s_file(tmp_path: Path) -> None:
    file = tmp_path / "triangle.edges"
    file.write_text(
        '# bandwidth="1 GB/s" latency="50 ns" nodes=2\na b\nb c count=3\nc a\n', "utf-8"
    )
    found = parsed("machine", "show", str(file))
    assert (found["ports"], found["diameter"], found["cables"]["between_switches"]) == (6, 1, 5)
    assert "2 shortest" not in linkwright("machine", "show", str(file), "--paths", "0,2").stdout
    with pytest.raises(InputError, match="no attribute"):
        Fabric.from_text('# bandwidth="1 GB/s"\na b 7\n')
