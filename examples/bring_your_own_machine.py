"""Imports what `nvidia-smi topo -m` printed and finds the islands that NVLink joins."""

from pathlib import Path

from linkwright import Allocator, System

# Four PCIe cards, each two joined by a bridge.
BRIDGED = """\
        GPU0    GPU1    GPU2    GPU3    CPU Affinity    NUMA Affinity
GPU0     X      NV12    NODE    NODE    0-31            0
GPU1    NV12     X      NODE    NODE    0-31            0
GPU2    NODE    NODE     X      NV12    0-31            0
GPU3    NODE    NODE    NV12     X      0-31            0
"""


def nvlink_islands(machine: System) -> list[list[int]]:
    """Returns the GPUs in groups that NVLinks join, lowest ids first."""
    labels = [[label for label, _ in row] for row in machine.gpu_matrix()]
    islands: list[list[int]] = []
    unseen = set(range(machine.gpu_count))
    while unseen:
        island = [min(unseen)]
        unseen.remove(island[0])
        for gpu in island:
            joined = {other for other in unseen if labels[gpu][other].startswith("NV")}
            island += sorted(joined)
            unseen -= joined
        islands.append(sorted(island))
    return islands


topologies = Path(__file__).with_name("topologies")
pastes = {"bridged cards": BRIDGED}
for file in sorted(topologies.glob("*.nvidia-smi-topo-m.txt")):
    pastes[file.name.split(".")[0]] = file.read_text(encoding="utf-8")

for name, text in pastes.items():
    machine = System.from_text(text, name)
    allocator = Allocator(machine)
    print(f"{name}, {len(machine.assumptions)} assumptions")
    for island in nvlink_islands(machine):
        if len(island) > 1:
            print(f"  island {island}: {allocator.sound_bandwidth(island):.1f} GB/s")
    everyone = list(range(machine.gpu_count))
    print(f"  all GPUs together: {allocator.sound_bandwidth(everyone):.1f} GB/s")
