"""Plays Fig. 1-3: a product of matrices on one GPU, some of them in another's memory."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from linkwright import GpuSystem
from linkwright.gpu import GpuModel
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.training.published import published, rows
from linkwright.studies.training.tiles import PLAYED, tiled_time

__all__ = ["EDGES", "PLACEMENTS", "Product", "product", "remote_matrices"]

# Rows of the matrices.
EDGES = (256, 512, 768, 1024)
# Which matrices the other GPU holds, as the text has them.
PLACEMENTS = ((), ("c",), ("b", "c"), ("a", "b", "c"))


@dataclass(frozen=True)
class Product:
    """Describes a product of two matrices.

    Attributes:
        time: Seconds of the kernel.
        remote: Lines that went over the link between the GPUs.
    """

    time: float
    remote: int


@cache
def product(edge: int, remote: tuple[str, ...]) -> Product:
    """Plays a product on the first of two GPUs, with some matrices in the other's memory."""
    # Of code no GPU reads another's copy, and the memory study leaves it out, too.
    system = GpuSystem(gpus=2, memory="rdma", distribution="first", remote=remote, code=False)
    run = system.play("mm", edge, data=False)
    return Product(run.kernel_time, run.remote_accesses)


def _stored() -> list[tuple[Cell, ...]]:
    """Rows of `product` at more rows, which it takes minutes to play."""
    text = (files(__package__) / "remote.csv").read_text(encoding="utf-8")
    found = {(int(row["rows"]), row["remote"]): row for row in csv.DictReader(text.splitlines())}
    table: list[tuple[Cell, ...]] = []
    for (edge, remote), row in found.items():
        time, alone = float(row["seconds"]), float(found[edge, ""]["seconds"])
        share = len(remote) / 3
        names = ", ".join(remote.upper()) or "none"
        table.append((edge, names, share, None, time / alone, time * 1e6, int(row["remote_lines"])))
    return table


def _tiled(played: tuple[tuple[int, int, int], ...]) -> StudyTable:
    """Plays the product with larger tiles, near and from afar."""
    peak = GpuModel.find("r9-nano").vector_peak["fp32"] * 1e12
    table: list[tuple[Cell, ...]] = []
    for edge, tile, depth in played:
        near, _ = tiled_time(edge, tile, depth, ())
        afar, lines = tiled_time(edge, tile, depth, PLACEMENTS[-1])
        reached = 2 * edge**3 / near / peak
        table.append((edge, tile, reached, near * 1e6, afar * 1e6, lines, afar / near))
    return StudyTable(
        title="A product that fetches ahead, all matrices near and all in the other's memory",
        columns=(
            "rows", "tile each way", "of the peak, near", "near (µs)", "remote (µs)",
            "remote lines", "times as long",
        ),
        rows=tuple(table),
        formats=(",", "", ".0%", ",.0f", ",.0f", ",.0f", ".1f"),
    )  # fmt: skip


def remote_matrices(edges: tuple[int, ...] = EDGES) -> Section:
    """The figure, at sizes that a model of every access comes to the end of."""
    shares = published()["fig_1_3"]["remote_shares"]
    table: list[tuple[Cell, ...]] = [
        (row["matrix edge"], "A, B, C", shares[-1], row["ratio"], None, None, None)
        for row in rows("fig_1_3")
    ]
    for edge in edges:
        alone = product(edge, ()).time
        for share, remote in zip(shares, PLACEMENTS, strict=True):
            ours = product(edge, remote)
            names = ", ".join(name.upper() for name in remote) or "none"
            cells = (ours.time / alone, ours.time * 1e6, ours.remote)
            table.append((edge, names, share, None, *cells))
    if edges == EDGES:
        table += _stored()
    return Section(
        title="Matrices in another GPU's memory (Fig. 1-3)",
        text=[
            "The text runs SGEMM of cuBLAS on one of two V100s. A, B and C lie in its own memory "
            "or in the other's, and it reads them by direct access. We run the product of the "
            "[memory study](memory.md) on the first of two R9 Nanos, access by access. Their link "
            "carries 27 GB/s each way beside 512 GB/s of memory, a nineteenth. The V100s' two "
            "NVLinks carry 50 beside 900 GB/s, an eighteenth. Runs of 2,048 and 4,096 rows take "
            "minutes, and are stored.",
            "With all three remote the link is busy throughout, and the kernel takes as long as "
            "its data need to cross. Each line of A and B crosses again for each row or column of "
            "tiles that needs it. The ratio depends on the time of the local kernel. Up to 768 "
            "rows the second level of 2 MiB holds the lines that work-groups share. At 1,024 it "
            "holds too little, and the local kernel takes many times as long. So the ratio falls, "
            "as the published one does from 4k to 32k. The text gives another reason: a fixed "
            "cost of access, which larger matrices make up for. Ours has no such cost.",
            "**The height.** With all matrices near the product of the memory study reaches a "
            "ninth of the peak at 4,096 rows. The link has little to add. The second table has "
            "one that fetches the next terms of its sums while it calculates, as cuBLAS does. "
            "With tiles of 32 x 32 and 512 rows it reaches most of the peak, and takes 27 times "
            "as long from afar. The published one does so at 4,096 rows. That shows what such a "
            "height needs, and reproduces no row. Larger tiles move less, and the ratio falls. "
            "Tiles of 128 x 128 give each compute unit one work-group, which does not fill it.",
        ],
        tables=[
            StudyTable(
                title="SGEMM on one of two GPUs, over all matrices in its own memory",
                columns=(
                    "rows",
                    "remote matrices",
                    "remote",
                    "times as long, published",
                    "times as long",
                    "kernel (µs)",
                    "remote lines",
                ),
                rows=tuple(table),
                formats=(",", "", ".0%", ".1f", ".1f", ",.0f", ",.0f"),
            ),
            _tiled(PLAYED if edges == EDGES else PLAYED[:2]),
        ],
    )
