"""A test sets products of matrices beside each other that fetch ahead, or do not."""

from __future__ import annotations

from linkwright.gpu import GpuModel
from linkwright.studies.training.remote import PLACEMENTS
from linkwright.studies.training.tiles import tiled, tiled_time


def test_a_product_that_fetches_ahead_comes_near_the_peak_and_loses_what_was_published() -> None:
    edge, tile, depth = 512, 32, 16
    near, none = tiled_time(edge, tile, depth, ())
    afar, lines = tiled_time(edge, tile, depth, PLACEMENTS[-1])
    peak = GpuModel.find("r9-nano").vector_peak["fp32"] * 1e12
    assert 0.8 < 2 * edge**3 / near / peak < 1
    assert none == 0
    # Each line of A and of B for each tile of its row or column, and C once.
    each = edge * edge * 4 // 64
    assert lines <= each * (2 * edge // tile + 1)
    # The link tells the time: 27 GB/s, 68 bytes for a line.
    assert 0.9 < afar / (lines * 68 / 27.2e9) < 1.3
    assert 20 < afar / near < 35


def test_a_tiled_product_writes_each_result_once() -> None:
    stores = [line for line in tiled(64, 32, 16).to_text().splitlines() if " store " in line]
    # Rows of each of four tiles, in two columns of tiles.
    assert len(stores) == 64 * 2
    assert len(set(stores)) == len(stores)
