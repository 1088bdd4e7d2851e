"""Maps the dissertation's numbers of a DGX-1V's GPUs to the preset's.

They differ: the text joins GPU 0 to GPU 1 by two NVLinks, `nvidia-smi` by one. The text names ten
pairs of 28. It is assumed that the first four GPUs are on one CPU. Then all remaining ways to
number the preset have the same links for the first two, four and eight GPUs. Without it there are
more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import permutations

from linkwright import System
from linkwright.studies.training.published import rows

__all__ = ["numberings", "nvlinks", "preset_gpus"]

MACHINE = "dgx1-v100"


def nvlinks(machine: System) -> dict[frozenset[int], int]:
    """How many NVLinks join two GPUs of one server, by pair; pairs without any are left out."""
    names = {name: gpu for gpu, name in enumerate(machine.gpu_names)}
    counts: dict[frozenset[int], int] = {}
    for link in machine.links():
        ends = [names.get(link["a"]), names.get(link["b"])]
        if None not in ends and link["kind"].startswith("nvlink"):
            counts[frozenset(end for end in ends if end is not None)] = link["count"]
    return counts


def numberings(
    said: Sequence[Mapping[str, int]], links: Mapping[frozenset[int], int]
) -> list[tuple[int, ...]]:
    """All ways to number eight GPUs, four on each CPU, that give pairs the links that are said.

    Args:
        said: Pairs: `gpu`, `other`, and `links` that join them.
        links: The links of each joined pair.

    Returns:
        Each way as the machine's GPU for each GPU of the text.
    """
    return [
        way
        for way in permutations(range(8))
        if set(way[:4]) in ({0, 1, 2, 3}, {4, 5, 6, 7})
        and all(
            links.get(frozenset((way[pair["gpu"]], way[pair["other"]])), 0) == pair["links"]
            for pair in said
        )
    ]


@cache
def preset_gpus() -> tuple[int, ...]:
    """Returns the preset's GPU for each GPU of the text: the first of all ways, by ids."""
    return numberings(rows("numbering"), nvlinks(System(MACHINE)))[0]
