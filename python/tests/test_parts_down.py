"""Tests what collectives cost when parts of a system are down."""

import json
from typing import Any

import pytest
from commands import linkwright

from linkwright import System, expect, plan
from linkwright.errors import MachineError
from linkwright.network import preset_names

SIZE = 256 << 20


def best(system: System) -> float:
    """Seconds of the best plan on the GPUs that are left."""
    lost = set(system.lost_gpus)
    gpus = [gpu for gpu in range(system.gpu_count) if gpu not in lost]
    return plan(system, gpus, "all-reduce", size=SIZE).time(SIZE).time


def ring(system: System, size: int = 1 << 30) -> float:
    gpus = list(range(system.gpu_count))
    return float(expect(system, gpus, "all-reduce", [size], algorithm="ring")[0]["time"])


def said(*words: object) -> dict[str, Any]:
    ran = linkwright("collective", *words, "--json")
    assert ran.exit_code == 0, ran.output
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.parametrize("name", ["hgx-h100", "dgx-a100", "dgx1-v100", "mi300x-8"])
def test_an_interface_costs_no_more_than_its_share_and_a_tenth(name: str) -> None:
    whole = System(name, servers=2, network="200 Gb/s")
    names = [row["name"] for row in System(name).devices() if row["kind"] == "nic"]
    share = len(names) / (len(names) - 1)
    for nic in (names[0], names[-1]):
        on_one, on_all = whole.without([f"node1/{nic}"]), whole.without([nic])
        assert ring(on_one) <= 1.1 * share * ring(whole)
        assert ring(on_all) <= 1.1 * share * ring(whole)
        assert ring(on_all) >= 0.99 * ring(on_one)


@pytest.mark.parametrize("name", ["hgx-h100", "dgx1-v100", "mi300x-8", "8x-l40s"])
def test_less_is_never_faster(name: str) -> None:
    whole = System(name)
    taken = best(whole)
    links = {f"{row['a']}-{row['b']}" for row in whole.links() if "GPU" in f"{row['a']}{row['b']}"}
    parts = [row["name"] for row in whole.devices() if row["kind"] == "nvswitch"]
    for part in [*sorted(links)[:3], *parts[:2]]:
        left = whole.without([part])
        if not left.lost_gpus:
            assert best(left) >= taken * 0.999, part


def test_parts_are_named_on_every_server_or_on_one() -> None:
    two = System("hgx-h100", servers=2, network="400 Gb/s")
    assert two.without(["node0/GPU3"]).lost_gpus == [3]
    assert two.without(["GPU3"]).lost_gpus == [3, 11]
    assert two.without(["node1"]).lost_gpus == list(range(8, 16))
    assert two.without([]) == two
    assert two.without(["mlx5_3"]) == two.without(["node1/mlx5_3", "node0/mlx5_3"])
    with pytest.raises(MachineError, match="did you mean `mlx5_0`") as refused:
        two.without(["mlx5_8"])
    assert "mlx5_7" in str(refused.value)
    with pytest.raises(MachineError, match="node0 to node1"):
        two.without(["node2/mlx5_3"])


def test_a_plan_stands_beside_that_of_the_whole() -> None:
    found = said("plan", "all-reduce", "-m", "hgx-h100", "--without", "NVSW0")
    assert found["without"] == ["NVSW0"]
    assert found["whole"]["times_as_long"] == found["timing"]["time"] / found["whole"]["time"] > 1
    assert said("plan", "all-reduce", "-m", "hgx-h100")["whole"] is None


def test_comparisons_and_expectations_have_the_whole_time() -> None:
    words = ["all-reduce", "-m", "dgx1-v100", "--without", "GPU0-GPU3"]
    for row in said("compare", *words, "--algorithm", "packing")["algorithms"]:
        assert row["time"] >= row["whole_time"] > 0
    found = said("expect", *words, "-b", "1G", "-e", "1G")
    assert found["without"] == ["GPU0-GPU3"]
    assert all(row["whole_time"] > 0 for row in found["sweep"])


def test_a_job_runs_on_the_gpus_that_are_left() -> None:
    found = said("plan", "all-reduce", "-m", "hgx-h100", "--without", "GPU3")
    assert found["gpus"] == [0, 1, 2, 4, 5, 6, 7]
    assert "has lost GPU 3" in found["notes"][-1]
    for words, told in {
        ("broadcast", "--root", "3"): "the root, is lost",
        ("all-reduce", "--on", "3,4"): "1 of its 2 GPUs",
    }.items():
        ran = linkwright("collective", "plan", *words, "-m", "hgx-h100", "--without", "GPU3")
        assert ran.exit_code != 0
        assert told in ran.stderr


def test_a_part_that_is_not_there_names_those_that_are() -> None:
    for command in ("plan", "compare", "expect"):
        words = ["collective", command, "all-reduce", "-m", "hgx-h100", "--without", "NVSW9"]
        ran = linkwright(*words)
        assert ran.exit_code != 0
        assert "there is no part `NVSW9`" in ran.stderr
        assert "NVSW3" in ran.stderr


def test_every_preset_can_lose_its_first_gpu() -> None:
    for name, _ in preset_names():
        left = System(name).without(["GPU0"])
        assert left.lost_gpus == [0]
