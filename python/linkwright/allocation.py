"""Chooses GPUs for jobs: patterns, policies, and the bandwidth of their links.

Examples:
    >>> from linkwright.allocation import policy_names
    >>> policy_names()[:3]
    ['baseline', 'topology-aware', 'greedy']
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
