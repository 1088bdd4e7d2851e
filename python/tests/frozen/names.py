"""What there was to choose from when the tables were captured.

So that what is added later moves no table; it gets tables of its own.
"""

from __future__ import annotations

from linkwright.names import AlgorithmName, CollectiveName, PatternName, PolicyName

__all__ = [
    "ALGORITHMS",
    "APPLICATIONS",
    "COLLECTIVES",
    "NETWORKS",
    "PATTERNS",
    "POLICIES",
    "PRESETS",
]

PRESETS = (
    "dgx1-p100",
    "dgx1-v100",
    "dgx2",
    "dgx-a100",
    "hgx-h100",
    "hgx-b200",
    "gb200-nvl72",
    "mi300x-8",
    "4x-l40s-pcie",
    "summit-node",
    "torus2d-16",
    "cubemesh-16",
    "titan-z",
    "kepler-pair",
    "pcie-tree-4",
)
NETWORKS = ("fat-tree", "dragonfly", "torus", "quartz")
POLICIES: tuple[PolicyName, ...] = ("baseline", "topology-aware", "greedy", "preserve")
PATTERNS: tuple[PatternName, ...] = ("ring", "chain", "tree", "star", "all-to-all", "ring+tree")
ALGORITHMS: tuple[AlgorithmName, ...] = (
    "packing",
    "blink",
    "one-hop",
    "three-phase",
    "nccl-classic",
    "nccl-ring",
    "nccl-tree",
)
COLLECTIVES: tuple[CollectiveName, ...] = (
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
)
APPLICATIONS = ("stencil4d", "subcomm3d", "kripke", "laghos", "amg", "sw4lite")
