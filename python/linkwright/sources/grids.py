"""Answers the calls of MPI that put ranks into a grid (MPI 4, Chapter 8.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from linkwright.sources.statements import UNKNOWN
from linkwright.sources.values import NOBODY, PART, Grid, numbers_of

__all__ = ["balanced", "given_by_a_grid", "grid_of", "shifted"]


def grid_of(sizes: object, periods: object, ranks: int) -> object:
    """Gives the communicator of a grid; of some ranks where its sizes are not known."""
    found = numbers_of(sizes)
    if found is None or prod(found) != ranks:
        return PART
    wraps = numbers_of(periods)
    if wraps is None or len(wraps) != len(found):
        return PART
    return Grid(tuple(found), tuple(map(bool, wraps)))


def balanced(ranks: object, given: object) -> object:
    """Fills the sizes that are zero as evenly as MPI_Dims_create has to, the largest first."""
    sizes = numbers_of(given)
    if sizes is None or not isinstance(ranks, int) or ranks < 1:
        return UNKNOWN
    left, odd = divmod(ranks, prod(size for size in sizes if size > 0))
    open_ = [place for place, size in enumerate(sizes) if size <= 0]
    if odd or not open_:
        return UNKNOWN if odd else sizes
    best = min(_factors(left, len(open_), left), key=lambda parts: parts[0] - parts[-1])
    for place, size in zip(open_, best, strict=True):
        sizes[place] = size
    return sizes


def _factors(number: int, count: int, most: int) -> list[tuple[int, ...]]:
    """Gives all ways to write a number as `count` factors in falling order."""
    if count == 1:
        return [(number,)] if number <= most else []
    return [
        (first, *rest)
        for first in range(min(number, most), 0, -1)
        if number % first == 0
        for rest in _factors(number // first, count - 1, first)
    ]


def _coordinates(grid: Grid, rank: int) -> list[int]:
    found = []
    for size in reversed(grid.sizes):
        rank, place = divmod(rank, size)
        found.append(place)
    return found[::-1]


def _rank_at(grid: Grid, coordinates: Sequence[int]) -> object:
    """The rank at coordinates; nobody beyond an end that does not wrap."""
    rank = 0
    for place, size, wraps in zip(coordinates, grid.sizes, grid.periods, strict=True):
        if not wraps and not 0 <= place < size:
            return NOBODY
        rank = rank * size + place % size
    return rank


def shifted(grid: object, rank: int, dimension: object, by: object) -> list[object]:
    """Gives from whom and to whom a shift goes, as MPI_Cart_shift does."""
    if not (isinstance(grid, Grid) and isinstance(dimension, int) and isinstance(by, int)):
        return [UNKNOWN, UNKNOWN]
    if not 0 <= dimension < len(grid.sizes):
        return [UNKNOWN, UNKNOWN]
    found = []
    for step in (-by, by):
        coordinates = _coordinates(grid, rank)
        coordinates[dimension] += step
        found.append(_rank_at(grid, coordinates))
    return found


def given_by_a_grid(
    name: str, arguments: Sequence[object], rank: int, ranks: int
) -> Mapping[int, object] | None:
    """Says what a call of MPI in C writes, by the place of the argument; None of another call."""
    found = [*arguments, *[UNKNOWN] * 6]
    grid, second = found[0], found[1]
    if name == "MPI_Dims_create":
        return {2: balanced(grid, found[2])}
    if name == "MPI_Cart_create":
        return {5: grid_of(found[2], found[3], ranks)}
    if name == "MPI_Cart_shift":
        source, target = shifted(grid, rank, second, found[2])
        return {3: source, 4: target}
    if name == "MPI_Cart_coords":
        if isinstance(grid, Grid) and isinstance(second, int) and 0 <= second < ranks:
            return {3: _coordinates(grid, second)}
        return {3: UNKNOWN}
    if name == "MPI_Cart_rank":
        at = numbers_of(second)
        if isinstance(grid, Grid) and at is not None and len(at) == len(grid.sizes):
            return {2: _rank_at(grid, at)}
        return {2: UNKNOWN}
    return None
