"""Lists the compared servers and places: the part of the bus that two tasks share."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright import System
from linkwright.studies.pcie.published import published

__all__ = ["LAYOUTS", "POLICIES", "QUICK", "Layout", "system"]

# Each policy's settings, by the name that the paper gives it.
POLICIES: dict[str, dict[str, str]] = {
    "round-robin": {"arbitration": "round-robin"},
    "small first": {"arbitration": "throughput"},
    "large first": {"arbitration": "throughput", "first": "large"},
    "QoS": {"arbitration": "qos"},
}

# Packets of 256 B have 24 B more that are no data. A link has to carry both for copies to reach
# their rate.
PAYLOAD, HEADER = 256, 24
# Copies by full packets reach this part of a link's peak, as the model has it of PCIe 4.
COPIED = 0.82
# Nanoseconds from the host bridge to its CPU, as a link on a die has them.
ON_DIE = 50


@dataclass(frozen=True)
class Layout:
    """Says which links two tasks share.

    Attributes:
        root: Whether one link leads from the root to both switches; else each has its own.
        gpus: The GPUs of each task.
        split: Whether each task's GPUs (or, of one each, the tasks) are below different switches.
        copied: Gigabytes that copies reach in a second; where absent, those of PCIe 4.
    """

    root: bool
    gpus: int
    split: bool
    copied: float | None = None

    @property
    def rate(self) -> float:
        """Gives the bytes that copies reach in a second."""
        known: float = published()["copies"]["bandwidth"]
        return (known if self.copied is None else self.copied) * 1e9

    @property
    def link(self) -> str:
        """Says in words what leads to the host."""
        return "one x16 to the root" if self.root else "a port for each switch"

    @property
    def name(self) -> str:
        """Names the layout in words."""
        if self.gpus == 2:
            place = "each task on both switches" if self.split else "each task on its switch"
        else:
            place = "on two switches" if self.split else "on one switch"
        return f"{self.link}; {self.gpus} GPU{'s' if self.gpus > 1 else ''} a task, {place}"

    @property
    def mappings(self) -> tuple[list[int], list[int]]:
        """Lists the GPUs of both tasks."""
        if self.gpus == 2:
            return ([0, 2], [1, 3]) if self.split else ([0, 1], [2, 3])
        return ([0], [2]) if self.split else ([0], [1])

    @property
    def sharing(self) -> tuple[int, int]:
        """Counts the GPUs of each task that cross the link that most of them share."""
        if self.root:
            return self.gpus, self.gpus
        if self.split:
            return (1, 1) if self.gpus == 2 else (1, 0)
        return (2, 0) if self.gpus == 2 else (1, 1)


LAYOUTS = tuple(
    Layout(root=root, gpus=gpus, split=split)
    for gpus in (2, 1)
    for root in (True, False)
    for split in (True, False)
)
# The two readings of Fig. 2, with two GPUs a task: all four links of the figure are used.
QUICK = (Layout(root=True, gpus=2, split=True), Layout(root=False, gpus=2, split=True))


def system(layout: Layout, policy: str) -> System:
    """Builds the server under a policy."""
    copies = published()["copies"]
    rate = round(layout.rate / COPIED)
    # The latency of a copy, over as many links as lead to a GPU.
    steps = 3 if layout.root else 2
    latency = round((copies["latency"] * 1e3 - ON_DIE) / steps)
    kind = f'kind = "pcie4"\nbandwidth = "{rate} B/s"\nlatency = "{latency} ns"\n'
    top = '["PCIE0", "ROOT"], ["PCIE1", "ROOT"], ["ROOT", "HB0"]'
    ways = top if layout.root else '["PCIE0", "HB0"], ["PCIE1", "HB0"]'
    switches = '"PCIE0", "PCIE1"' + (', "ROOT"' if layout.root else "")
    server = System.from_text(f"""
name = "pcie-study"
source = "Priority-Based PCIe Scheduling for Multi-Tenant Multi-GPU Systems, Figure 2"
device = [
  {{ kind = "gpu", names = ["GPU0", "GPU1", "GPU2", "GPU3"] }},
  {{ kind = "cpu", names = ["CPU0"] }},
  {{ kind = "host-bridge", names = ["HB0"] }},
  {{ kind = "pcie-switch", names = [{switches}] }},
]

[[link]]
{kind}between = [
  ["GPU0", "PCIE0"], ["GPU1", "PCIE0"], ["GPU2", "PCIE1"], ["GPU3", "PCIE1"], {ways},
]

[[link]]
kind = "on-die"
between = [["HB0", "CPU0"]]
""")
    times = published()["deadline"]["times_alone"]
    sizes = {"payload": f"{PAYLOAD} B", "header": f"{HEADER} B"}
    bus = {**POLICIES[policy], **sizes, "deadline": times}
    return System(server, network={"pcie": bus})
