"""Chooses GPUs for jobs: patterns, policies, and the bandwidth of their links.

Example:
    >>> from linkwright.allocation import Allocator, Pattern, policy_names
    >>> from linkwright.network import System
    >>> server = Allocator(System("dgx1-v100"), "preserve")
    >>> server.allocate("train-1", Pattern("ring", 4)).gpus
"""

from __future__ import annotations

from linkwright._core import (
    MOST_PROFILED_GPUS,
    SENSITIVE_ABOVE,
    Allocator,
    BandwidthFit,
    Explanation,
    Match,
    Owner,
    Pattern,
    pattern_names,
    policy_names,
    profile_sensitivity,
    published_effective_bandwidth,
    tie_names,
)
from linkwright.lazily import lazily

__all__ = [
    "MOST_PROFILED_GPUS",
    "SENSITIVE_ABOVE",
    "Allocator",
    "BandwidthFit",
    "Explanation",
    "Match",
    "Owner",
    "Pattern",
    "pattern_names",
    "policy_names",
    "profile_sensitivity",
    "published_effective_bandwidth",
    "tie_names",
]

__getattr__, __dir__ = lazily(__name__, __all__, {})
