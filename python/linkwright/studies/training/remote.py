"""Fig. 1-3: a product of matrices on one GPU, some of them in another's memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from linkwright import GpuSystem
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.training.published import published, rows

__all__ = ["EDGES", "PLACEMENTS", "Product", "product", "remote_matrices"]

# Rows of the matrices.
EDGES = (256, 512, 768, 1024)
# Which matrices the other GPU holds, as the text has them.
PLACEMENTS = ((), ("c",), ("b", "c"), ("a", "b", "c"))


@dataclass(frozen=True)
class Product:
    """A product of two matrices.

    Attributes:
        time: Seconds of the kernel.
        remote: Lines that went over the link between the GPUs.
    """

    time: float
    remote: int


@cache
def product(edge: int, remote: tuple[str, ...]) -> Product:
    """A product on the first of two GPUs, with some matrices in the other's memory."""
    # Of code no GPU reads another's copy, and the memory study leaves it out, too.
    system = GpuSystem(gpus=2, memory="rdma", distribution="first", remote=remote, code=False)
    run = system.run("mm", edge, data=False)
    return Product(run.kernel_time, run.remote_accesses)


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
    return Section(
        title="Matrices in another GPU's memory (Fig. 1-3)",
        text=[
            "SGEMM of cuBLAS on one of two V100s, A, B and C in its own memory or in the other's, "
            "read by direct access. Ours is the product of the [memory study](memory.md) on the "
            "first of two R9 Nanos, access by access. Their link carries 27 GB/s each way beside "
            "512 GB/s of memory, a nineteenth; of the V100s' 900 GB/s two NVLinks' 50 are an "
            "eighteenth. At 4,096 rows and more, as in the text, such a run would take hours.",
            "With all three remote the link is busy throughout, and the kernel takes as long as "
            "what crosses it: each line of A and B again for each row or column of tiles that "
            "needs it. "
            "How many times as long that is depends on what the kernel takes alone. Up to 768 rows "
            "work-groups share what they read in the second level of 2 MiB; at 1,024 it holds too "
            "little, the local kernel takes many times as long, and the ratio falls, as the "
            "published one does from 4k to 32k. The text gives another reason, a fixed cost of "
            "access that larger matrices make up for, which ours does not have. Heights cannot be "
            "compared: cuBLAS's tiles are larger than our 32 x 32, and a V100's second level is "
            "three times as large.",
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
            )
        ],
    )
