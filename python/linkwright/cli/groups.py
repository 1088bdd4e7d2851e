"""Groups long lists of names by what they are, for the help."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["GROUPS", "grouped"]

# Names of planners and of ways to communicate begin so, by what they are.
GROUPS = {
    "NCCL's": ("nccl", "nvls"),
    "planners by the links": ("packing", "blink", "one-hop", "three-phase", "auto"),
    "MPI's": ("mpi-",),
    "by two steps": ("all-reduce-broadcast", "reduce-broadcast"),
    "by copies": ("p2p", "zero-copy", "unified-memory", "shared-memory", "tsm"),
    "by parts of a model": ("fsdp", "tensor", "pipeline"),
}


def grouped(what: str, names: Iterable[str]) -> dict[str, list[str]]:
    """Gives long lists of names by kind; names of no group are others."""
    groups: dict[str, list[str]] = {}
    for name in names:
        kind = next((kind for kind, begins in GROUPS.items() if name.startswith(begins)), "others")
        groups.setdefault(f"{what} ({kind})", []).append(name)
    return groups
