"""This writes a product of matrices whose work-groups have tiles of any size, and fetch ahead."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from linkwright import GpuSystem
from linkwright.gpu import GpuKernel

__all__ = ["PLAYED", "tiled", "tiled_time"]

# Rows, a tile each way, terms of the sums that are fetched at once.
PLAYED = ((512, 32, 16), (512, 64, 16), (1024, 64, 32), (1024, 128, 16))
WAVEFRONTS = 4
LANES = 64
NUMBER = 4
LINE = 64
# One piece of a line brings all of it; a load's work-items take 16 bytes each.
PIECE = 16


def tiled(edge: int, tile: int, depth: int) -> GpuKernel:
    """Makes a product whose wavefronts fetch the next terms while they calculate.

    Args:
        edge: Rows of the matrices.
        tile: Results of a work-group, each way.
        depth: Terms that it fetches at once, by whole lines.
    """
    return GpuKernel.from_text("\n".join(_lines(edge, tile, depth)) + "\n")


def _lines(edge: int, tile: int, depth: int) -> Iterator[str]:
    size = edge * edge * NUMBER
    yield f"kernel product-by-{tile}"
    yield from (
        f"buffer {name} {size} {way}" for name, way in zip("abc", ("in", "in", "out"), strict=True)
    )
    yield f"launch product {2 * 2 * tile * depth * NUMBER}"
    tiles = edge // tile
    for group in range(tiles * tiles):
        top, left = (group // tiles * tile, group % tiles * tile)
        for own in range(WAVEFRONTS):
            who = f"{group}.{own}"
            done = (f"{who} wait", f"{who} barrier")
            yield from _fetched(who, own, (edge, tile, depth), (top, left, 0))
            yield from done
            for terms in range(depth, edge + depth, depth):
                if terms < edge:
                    yield from _fetched(who, own, (edge, tile, depth), (top, left, terms))
                yield f"{who} compute {tile * tile * depth // LANES // WAVEFRONTS}"
                yield from done
            rows = tile // WAVEFRONTS
            for row in range(top + own * rows, top + (own + 1) * rows):
                yield f"{who} store c+{(row * edge + left) * NUMBER} {tile * NUMBER}"


def _fetched(
    who: str, own: int, sizes: tuple[int, int, int], at: tuple[int, int, int]
) -> Iterator[str]:
    """Gives a wavefront's part of the terms that its group fetches from both matrices."""
    (edge, tile, depth), (top, left, terms) = sizes, at
    rows, pitch = tile // WAVEFRONTS, edge * NUMBER
    for line in range(0, depth * NUMBER, LINE):
        start = (top + own * rows) * pitch + terms * NUMBER + line
        yield f"{who} load a+{start}:{pitch}x{rows} {PIECE}"
    each = depth // WAVEFRONTS
    for row in range(terms + own * each, terms + (own + 1) * each):
        yield f"{who} load b+{row * pitch + left * NUMBER} {tile * NUMBER}"


@cache
def tiled_time(edge: int, tile: int, depth: int, remote: tuple[str, ...]) -> tuple[float, int]:
    """Gives the seconds of the kernel on the first of two GPUs, and lines that cross its link."""
    system = GpuSystem(gpus=2, memory="rdma", distribution="first", remote=remote, code=False)
    run = system.run(tiled(edge, tile, depth), data=False)
    return run.kernel_time, run.remote_accesses
