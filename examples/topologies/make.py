"""Writes the texts of this folder, each as a server's own tool would print it.

The known facts of each server stand here as data. They say which links join its GPUs, which switch
holds a device, and which cores and NUMA node are near. `System.to_text` makes the text of it. The
README tells where the facts come from.

    python examples/topologies/make.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from linkwright import System

if TYPE_CHECKING:
    from collections.abc import Iterable

    from linkwright.names import ExportFormatName

Pairs = dict[tuple[str, str], int]


def names(prefix: str, count: int, first: int = 0) -> list[str]:
    """Numbers names from `first`, such as `GPU0`, `GPU1`."""
    return [f"{prefix}{number}" for number in range(first, first + count)]


def device(kind: str, names: Iterable[str], **known: str | list[str]) -> str:
    """Describes devices that are alike, in a machine's file."""
    keys = {"kind": kind, "names": list(names), **known}
    lines = (f"{key} = {value!r}".replace("'", '"') for key, value in keys.items())
    return "\n[[device]]\n" + "\n".join(lines) + "\n"


def links(kind: str, pairs: Iterable[tuple[str, str]], count: int = 1) -> str:
    """Describes links that are alike, in a machine's file."""
    joined = ", ".join(f'["{a}", "{b}"]' for a, b in pairs)
    return f'\n[[link]]\nkind = "{kind}"\ncount = {count}\nbetween = [{joined}]\n'


def bundles(kind: str, pairs: Pairs) -> str:
    """Describes links between GPUs, of each pair as many as `pairs` says."""
    return "".join(
        links(kind, [pair for pair, of_pair in pairs.items() if of_pair == count], count)
        for count in sorted(set(pairs.values()))
    )


def below(parent: str, children: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs each child with `parent`, from which it hangs in the tree of links."""
    return [(child, parent) for child in children]


def mesh(gpus: list[str]) -> Pairs:
    """Joins each pair by one link."""
    return {(a, b): 1 for at, a in enumerate(gpus) for b in gpus[at + 1 :]}


def dgx1_v100() -> str:
    """Describes a DGX-1 with one interface in use, on the switch of GPU2 and GPU3."""
    double = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)]
    single = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)]
    nvlinks = {(f"GPU{a}", f"GPU{b}"): 2 for a, b in double}
    nvlinks |= {(f"GPU{a}", f"GPU{b}"): 1 for a, b in single}
    switches = names("PCIE", 4)
    tree = [(f"GPU{gpu}", switches[gpu // 2]) for gpu in range(8)]
    tree += [("mlx5_0", "PCIE1"), *((name, f"CPU{at // 2}") for at, name in enumerate(switches))]
    return (
        device("gpu", names("GPU", 4), cpu_affinity="0-11,24-35")
        + device("gpu", names("GPU", 4, 4), cpu_affinity="12-23,36-47")
        + device("cpu", names("CPU", 2))
        + device("pcie-switch", switches)
        + device("nic", ["mlx5_0"])
        + bundles("nvlink2", nvlinks)
        + links("pcie3", tree)
        + links("qpi", [("CPU0", "CPU1")], 2)
    )


def dgx_a100() -> str:
    """Describes a DGX A100 whose firmware makes four NUMA nodes of a socket.

    Two GPUs and two interfaces are on four switches below one; two pairs of further interfaces are
    on nodes without GPUs.
    """
    nodes = {3: "48-63,176-191", 1: "16-31,144-159", 7: "112-127,240-255", 5: "80-95,208-223"}
    nics = [(0, 1), (2, 3), (6, 7), (8, 9)]
    text, tree, switches = "", [], []
    for place, (node, cores) in enumerate(nodes.items()):
        gpus = names("GPU", 2, 2 * place)
        text += device("gpu", gpus, cpu_affinity=cores, numa_affinity=str(node))
        ends = gpus + [f"mlx5_{nic}" for nic in nics[place]]
        lower = [f"PCIE-{end}" for end in ends]
        switches += [f"PCIE{place}", *lower]
        tree += [*zip(ends, lower, strict=True), *below(f"PCIE{place}", lower)]
        tree.append((f"PCIE{place}", f"CPU{place}"))
    for cpu, pair in (("CPU4", (4, 5)), ("CPU5", (10, 11))):
        switches.append(f"PCIE-{cpu}")
        tree += [*below(f"PCIE-{cpu}", (f"mlx5_{nic}" for nic in pair)), (f"PCIE-{cpu}", cpu)]
    cpus = names("CPU", 6)
    return (
        text
        + device("cpu", cpus)
        + device("pcie-switch", switches)
        + device("nvswitch", ["NVSW0"])
        + device("nic", names("mlx5_", 12))
        + links("nvlink3", below("NVSW0", names("GPU", 8)), 12)
        + links("pcie4", tree)
        + links("infinity-fabric", mesh(cpus))
    )


def sockets(cores: Iterable[str], device_id: str) -> str:
    """Describes a socket of Intel for each range of cores, with a NUMA node of its own."""
    return "".join(
        device(
            "cpu",
            [f"CPU{socket}"],
            vendor_id="GenuineIntel",
            device_id=device_id,
            cpu_affinity=near,
            numa_affinity=str(socket),
        )
        for socket, near in enumerate(cores)
    )


def two_sockets(nvlink: str | None, cores: tuple[str, str], near: list[list[list[str]]]) -> str:
    """Puts half of the GPUs on each socket, behind NVSwitches where they have NVLinks.

    `near` has for each socket the groups of devices that share one switch. A device alone in its
    group hangs from the socket itself.
    """
    gpus = [
        [name for group in socket for name in group if name.startswith("GPU")] for socket in near
    ]
    nics = [name for socket in near for group in socket for name in group if name[0] == "N"]
    text, tree, switches = "", [], []
    for socket, of_socket in enumerate(near):
        text += device("gpu", gpus[socket], cpu_affinity=cores[socket], numa_affinity=str(socket))
        for group in of_socket:
            if len(group) == 1:
                tree.append((group[0], f"CPU{socket}"))
                continue
            switches.append(f"PCIE{len(switches)}")
            tree += [*below(switches[-1], group), (switches[-1], f"CPU{socket}")]
    text += device("cpu", names("CPU", len(near)))
    text += device("pcie-switch", switches) if switches else ""
    text += device("nvswitch", ["NVSW0"]) if nvlink else ""
    text += device("nic", sorted(nics, key=lambda name: int(name[3:]))) if nics else ""
    if nvlink:
        text += links(nvlink, below("NVSW0", [gpu for socket in gpus for gpu in socket]), 18)
    return text + links("pcie5", tree) + links("upi", [("CPU0", "CPU1")])


def hgx_h100() -> str:
    """Describes eight H100 behind NVSwitches, and no interface in sight."""
    near = [[[gpu] for gpu in names("GPU", 4, first)] for first in (0, 4)]
    return two_sockets("nvlink4", ("0-51,104-155", "52-103,156-207"), near)


def rtx6000ada() -> str:
    """Puts four workstation cards in their own slots, two interfaces on a switch at each socket."""
    near = [
        [["GPU0"], ["GPU1"], ["NIC0", "NIC1"]],
        [["GPU2"], ["GPU3"], ["NIC2", "NIC3"]],
    ]
    return two_sockets(None, ("0-31", "32-63"), near)


def b200() -> str:
    """Describes eight B200 with an interface each, and eight more.

    PCIe switches are split in two.
    """
    alone = [["NIC0", "NIC1", "NIC2", "NIC3"], ["NIC5", "NIC6"], ["NIC11", "NIC12"]]
    own = [4, 7, 8, 9, 10, 13, 14, 15]
    text, tree, switches = "", [], []
    for socket, cores in enumerate(("0-55,112-167", "56-111,168-223")):
        gpus = range(4 * socket, 4 * socket + 4)
        text += device(
            "gpu", [f"GPU{gpu}" for gpu in gpus], cpu_affinity=cores, numa_affinity=str(socket)
        )
        for gpu in gpus:
            top, lower = f"PCIE{gpu}", [f"PCIE{gpu}-GPU", f"PCIE{gpu}-NIC"]
            switches += [top, *lower]
            tree += [(f"GPU{gpu}", lower[0]), (f"NIC{own[gpu]}", lower[1])]
            tree += [*below(top, lower), (top, f"CPU{socket}")]
    for at, group in enumerate(alone):
        switches.append(f"PCIE{8 + at}")
        tree += [*below(switches[-1], group), (switches[-1], f"CPU{at // 2}")]
    return (
        text
        + device("cpu", names("CPU", 2))
        + device("pcie-switch", switches)
        + device("nvswitch", ["NVSW0"])
        + device("nic", names("NIC", 16))
        + links("nvlink5", below("NVSW0", names("GPU", 8)), 18)
        + links("pcie5", tree)
        + links("upi", [("CPU0", "CPU1")])
    )


def h100_virtual() -> str:
    """Describes eight H100 of a virtual machine that shows two NUMA nodes as one socket."""
    switches = {0: ["NIC0", "NIC1"], 3: ["NIC2"], 4: ["NIC3", "NIC4"], 6: ["NIC5"]}
    tree = []
    for gpu in range(8):
        parent = f"PCIE{gpu}" if gpu in switches else "CPU0"
        tree.append((f"GPU{gpu}", parent))
        if gpu in switches:
            tree += [*below(parent, switches[gpu]), (parent, "CPU0")]
    return (
        device("gpu", names("GPU", 4), numa_affinity="0")
        + device("gpu", names("GPU", 4, 4), numa_affinity="1")
        + device("cpu", ["CPU0"])
        + device("pcie-switch", [f"PCIE{gpu}" for gpu in switches])
        + device("nvswitch", ["NVSW0"])
        + device("nic", names("NIC", 6))
        + links("nvlink4", below("NVSW0", names("GPU", 8)), 18)
        + links("pcie5", tree)
    )


def mi210() -> str:
    """Describes four MI210, each on a NUMA node of its own, each joined to each."""
    gpus, cpus = names("GPU", 4), names("CPU", 4)
    return (
        "".join(
            device("gpu", [gpu], vendor_id="1002", numa_affinity=str(node))
            for node, gpu in enumerate(gpus)
        )
        + device("cpu", cpus)
        + bundles("xgmi", mesh(gpus))
        + links("pcie4", zip(gpus, cpus, strict=True))
        + links("infinity-fabric", mesh(cpus))
    )


def mi300x() -> str:
    """Describes eight MI300X, each behind two switches and the bridge on its own module.

    The interface of each GPU is on the outermost of the three.
    """
    first = ["05", "0e", "17", "62", "98", "a8", "b8", "d8"]
    cores = ["0-55,112-167", "56-111,168-223"]
    gpus, nics = names("GPU", 8), names("mlx5_", 8)
    outer, inner, own = names("PCIE", 8), names("PCIE", 8, 8), names("PCIE", 8, 16)

    def at(after: int) -> list[str]:
        return [f"0000:{int(bus, 16) + after:02x}:00.0" for bus in first]

    amd = {"vendor_id": "1002", "device_id": "74a1", "subsystem_id": "1002:74a1"}
    bridge = {"vendor_id": "1022", "device_id": "1500", "subsystem_id": "1022:1500"}
    broadcom = {"vendor_id": "15b3", "device_id": "1979"}
    mellanox = {"vendor_id": "15b3", "device_id": "1021", "subsystem_id": "15b3:0101"}
    tree = [
        *zip(gpus, own, strict=True),
        *zip(own, inner, strict=True),
        *zip(inner, outer, strict=True),
        *zip(nics, outer, strict=True),
        *((switch, f"CPU{at // 4}") for at, switch in enumerate(outer)),
    ]
    return (
        device("gpu", gpus, model="MI300X", pci_addresses=at(7), **amd)
        + sockets(cores, "6:143")
        + device("pcie-switch", outer, pci_addresses=at(0), **broadcom)
        + device("pcie-switch", inner, pci_addresses=at(3), **broadcom)
        + device("pcie-switch", own, pci_addresses=at(5), **bridge)
        + device("nic", nics, model="ConnectX-7 NDR", pci_addresses=at(2), **mellanox)
        + bundles("xgmi-mi300", mesh(gpus))
        + links("pcie5", tree)
        + links("upi", [("CPU0", "CPU1")])
    )


def cloud_a100() -> str:
    """Describes eight A100 of a virtual machine.

    It shows no NVLink, though GPUs meet at NVSwitches.
    """
    cores = ["0-23,48-71", "24-47,72-95"]
    buses = ["10", "20", "90", "a0"]
    gpus, nics, switches = names("GPU", 8), names("NIC", 4), names("PCIE", 4)
    tree = [(gpu, switches[at // 2]) for at, gpu in enumerate(gpus)]
    tree += [*zip(nics, switches, strict=True)]
    tree += [(switch, f"CPU{at // 2}") for at, switch in enumerate(switches)]
    addresses = [f"0000:{bus}:{place}.0" for bus in buses for place in ("1c", "1d")]
    a100 = {"vendor_id": "10de", "device_id": "20b0", "subsystem_id": "10de:134f"}
    adapter = {"vendor_id": "1d0f", "device_id": "efa0", "subsystem_id": "1d0f:efa0"}
    return (
        device("gpu", gpus, model="A100-SXM4-40GB", pci_addresses=addresses, **a100)
        + sockets(cores, "6:85")
        + device("pcie-switch", switches, pci_addresses=[f"ffff:ff:0{n}.0" for n in range(1, 5)])
        + device(
            "nic",
            nics,
            model="EFA 100 Gb/s",
            pci_addresses=[f"0000:{bus}:1b.0" for bus in buses],
            **adapter,
        )
        + links("pcie3", tree)
        + links("upi", [("CPU0", "CPU1")])
    )


SERVERS: dict[str, tuple[str, ExportFormatName]] = {
    "4x-mi210.rocm-smi-showtopo.txt": (mi210(), "rocm-smi"),
    "4x-rtx6000ada-pcie.nvidia-smi-topo-m.txt": (rtx6000ada(), "nvidia-smi"),
    "b200-16-nics.nvidia-smi-topo-m.txt": (b200(), "nvidia-smi"),
    "cloud-8x-a100-nvswitch.nccl-topo.xml": (cloud_a100(), "nccl-xml"),
    "dgx-a100-12-nics.nvidia-smi-topo-m.txt": (dgx_a100(), "nvidia-smi"),
    "dgx1-v100.nvidia-smi-topo-m.txt": (dgx1_v100(), "nvidia-smi"),
    "h100-6-nics.nvidia-smi-topo-m.txt": (h100_virtual(), "nvidia-smi"),
    "hgx-h100.nvidia-smi-topo-m.txt": (hgx_h100(), "nvidia-smi"),
    "mi300x-8.nccl-topo.xml": (mi300x(), "nccl-xml"),
}


def listed(product: str, count: int) -> str:
    """Lists GPUs as `nvidia-smi -L` does, which alone names their model."""
    return "".join(
        f"GPU {gpu}: {product} (UUID: GPU-{gpu:08d}-0000-4000-8000-000000000000)\n"
        for gpu in range(count)
    )


def texts() -> dict[str, str]:
    """Makes the text of every file here, by its name."""
    made = {
        file: System.from_text(f'name = "{file}"\n{facts}', file).to_text(format)
        for file, (facts, format) in SERVERS.items()
    }
    matrix = made["dgx1-v100.nvidia-smi-topo-m.txt"]
    return made | {"dgx1-v100.nvidia-smi.txt": listed("Tesla V100-SXM2-16GB", 8) + matrix}


if __name__ == "__main__":
    for file, text in texts().items():
        Path(__file__).with_name(file).write_text(text, encoding="utf-8")
