"""The systems that the study compares: networks of 2048 GPUs and how they are run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from linkwright import System
from linkwright.studies.network.published import published

__all__ = [
    "DENSITIES",
    "NETWORKS",
    "NICS",
    "Setting",
    "bandwidth_factors",
    "bandwidth_settings",
    "cluster",
    "density_settings",
    "factor_text",
    "nic_settings",
    "requirement_settings",
]

NETWORKS = ("fat-tree", "dragonfly")
DENSITIES = (1, 2, 4, 8)
NICS = ("fcfs", "rr-2", "rr-4", "rr")
# Of Fig. 7; of Table II; and of Figs. 8 to 11.
BANDWIDTH_DENSITY = 4
REQUIREMENT_DENSITIES = (4, 8)
NIC_DENSITIES = (1, 8)


@dataclass(frozen=True, order=True)
class Setting:
    """Describes a system of 2048 GPUs.

    Attributes:
        network: `fat-tree` or `dragonfly`.
        gpus_per_node: 1, 2, 4 or 8; the more, the fewer nodes.
        bandwidth: The factor on the links' bandwidth.
        nic: The policy of the network interfaces.
    """

    network: str
    gpus_per_node: int = 1
    bandwidth: float = 1.0
    nic: str = "fcfs"

    @property
    def default(self) -> Setting:
        """The system that it is compared with."""
        return Setting(self.network)


def cluster(setting: Setting) -> System:
    """Builds the system as a simulation."""
    entry = published()
    machine, density = entry["machine"], str(setting.gpus_per_node)
    if setting.network == "fat-tree":
        own = {
            "radix": entry["fat_tree"]["switch_radix"],
            "pods": entry["fat_tree"]["pods_by_gpus_per_node"][density],
            "routing": "adaptive",
        }
    else:
        own = {
            "nodes_per_switch": entry["dragonfly"]["nodes_per_switch"],
            "switches_per_group": entry["dragonfly"]["switches_per_group"],
            "global_links_per_switch": entry["dragonfly"]["global_links_per_switch"],
            "groups": entry["dragonfly"]["groups_by_gpus_per_node"][density],
            "routing": "progressive",
            # As the paper's simulator does: packets within a group go the direct way.
            "intra_group_detours": False,
        }
    return System(
        {"gpus": setting.gpus_per_node},
        network={
            "kind": setting.network,
            "bandwidth": machine["link_bandwidth"],
            "bandwidth_scale": setting.bandwidth,
            "packet_size": machine["packet_size"],
            "buffer_packets": machine["buffer_packets"],
            "nic": setting.nic,
            **own,
        },
    )


def bandwidth_factors() -> list[float]:
    """Returns the paper's factors on the bandwidth, from least to most."""
    return [float(factor) for factor in published()["machine"]["bandwidth_factors"]]


def factor_text(factor: float) -> str:
    """A factor of bandwidth as the paper writes it: `x/4`, `x`, `8x`."""
    exact = Fraction(factor)
    if exact == 1:
        return "x"
    return f"{exact}x" if exact > 1 else f"x/{1 / exact}"


def density_settings(network: str) -> list[Setting]:
    """Returns the settings of Fig. 5 or 6, in the order of GPUs per node."""
    return [Setting(network, gpus) for gpus in DENSITIES]


def bandwidth_settings(network: str) -> list[Setting]:
    """Returns the settings of Fig. 7, in the order of bandwidths."""
    return [Setting(network, BANDWIDTH_DENSITY, factor) for factor in bandwidth_factors()]


def requirement_settings(gpus_per_node: int) -> list[Setting]:
    """Returns the settings of a column of Table II, in the order of bandwidths."""
    base = Setting("fat-tree", gpus_per_node)
    return [replace(base, bandwidth=factor) for factor in bandwidth_factors()]


def nic_settings(gpus_per_node: int) -> Sequence[Setting]:
    """Returns the settings of one half of Figs. 8 to 11."""
    return [Setting("dragonfly", gpus_per_node, nic=nic) for nic in NICS]
