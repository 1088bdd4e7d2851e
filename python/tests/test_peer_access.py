"""GPUs that do not reach each other over PCIe copy through the host, whichever command asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from commands import parsed

from linkwright import Allocator, Pattern, System, expect, plan
from linkwright.errors import MachineError
from linkwright.gpu import GpuModel
from linkwright.network import ClusterJob, ProgramBuilder

if TYPE_CHECKING:
    from linkwright.names import AlgorithmName

SIZE = 512 << 20


def in_pairs(product: str) -> System:
    """Four GPUs of a product below two switches of one socket, as `nvidia-smi` prints them."""
    names = [f"GPU{at}" for at in range(4)]
    listed = [f"GPU {at}: NVIDIA {product} (UUID: GPU-{at})" for at in range(4)]
    rows = [
        "\t".join(
            [
                name,
                *(" X " if a == b else "PIX" if a // 2 == b // 2 else "NODE" for b in range(4)),
                "0-23",
                "0",
            ]
        )
        for a, name in enumerate(names)
    ]
    head = "\t".join(["", *names, "CPU Affinity", "NUMA Affinity"])
    return System.from_text("\n".join([*listed, head, *rows]) + "\n")


def bus(machine: System, gpus: list[int], *, p2p: bool = True) -> float:
    [row] = expect(machine, gpus, "all-reduce", [SIZE], p2p=p2p)
    bandwidth: float = row["bus_bandwidth"]
    return bandwidth


def replayed(machine: System, gpus: list[int]) -> float:
    """How long a program of two ranks runs that call one all-reduce."""
    program = ProgramBuilder(2)
    program.collective("all-reduce", SIZE)
    job = ClusterJob(program.build(), mapping=gpus)
    run = machine.play([job], fidelity="flow", collectives={"protocol": "nccl"})
    return run.makespan


def test_two_gpus_of_one_switch_have_half_of_its_way_to_the_host() -> None:
    geforce, professional = in_pairs("GeForce RTX 4090"), in_pairs("RTX 6000 Ada Generation")
    for machine, p2p in [(geforce, True), (geforce, False), (professional, False)]:
        assert bus(machine, [0, 1], p2p=p2p) == pytest.approx(11.0, rel=0.05)
        assert bus(machine, [0, 2], p2p=p2p) == pytest.approx(21.7, rel=0.05)
    assert bus(professional, [0, 1]) == pytest.approx(21.7, rel=0.05)


def test_plans_days_and_allocations_follow() -> None:
    geforce, professional = in_pairs("GeForce RTX 4090"), in_pairs("RTX 6000 Ada Generation")
    algorithms: tuple[AlgorithmName, ...] = ("nccl-ring", "packing", "auto")
    for algorithm in algorithms:
        near, apart = (
            plan(geforce, gpus, "all-reduce", algorithm=algorithm, size=SIZE).time(SIZE).time
            for gpus in ([0, 1], [0, 2])
        )
        assert near > 1.8 * apart
    assert replayed(geforce, [0, 1]) > 1.8 * replayed(geforce, [0, 2])
    assert replayed(professional, [0, 1]) == pytest.approx(replayed(professional, [0, 2]), rel=0.1)
    for machine, gpus in [(geforce, [0, 2]), (professional, [0, 1])]:
        match = Allocator(machine).allocate("job", Pattern("ring", 2))
        assert match is not None
        assert sorted(match.gpus) == gpus


def test_expect_says_why() -> None:
    words = ("collective", "expect", "all-reduce", "-m", "8x-rtx-4090", "--on", "0,1")
    assert parsed(*words, "-b", "1M", "-e", "1M")["notes"] == [
        "RTX 4090 has no peer access over PCIe, so that NCCL copies through the host's memory"
    ]


def test_models_say_whether_they_reach_others() -> None:
    assert not GpuModel.find("NVIDIA GeForce RTX 5090").pcie_peer_access
    assert GpuModel.find("NVIDIA L40S").pcie_peer_access
    with pytest.raises(MachineError, match=r"`rtx-3090` has no section \[peer_access\]"):
        _ = GpuModel.find("GeForce RTX 3090").pcie_peer_access
