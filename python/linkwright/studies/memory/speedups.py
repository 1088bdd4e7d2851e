"""Computes Fig. 3-3 and Table 3.3: shared memory beside memories apart."""

from __future__ import annotations

from collections.abc import Mapping

from linkwright.studies.memory.charts import figure
from linkwright.studies.memory.measured import Measured, mean
from linkwright.studies.memory.published import published
from linkwright.studies.memory.settings import BENCHMARKS, SYSTEMS
from linkwright.studies.memory.speedup_statements import transactions
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["speedups", "strides", "systems", "transaction_counts"]

SHARED = "tsm-wb-nc-rc"
PART_HEADS = (
    "benchmark",
    "size",
    "speed-up",
    "kernels alone",
    "gain by copies",
    "RDMA: kernels (µs)",
    "RDMA: copies (µs)",
    "RDMA: write-backs (µs)",
    "shared: kernels (µs)",
)
PART_FORMATS = ("", ",", ".2f", ".2f", ".0%", ",.1f", ",.1f", ",.1f", ",.1f")

_FOOTPRINTS = (
    "{} of the nine ran at the footprints of Table 3.2. Two take longest on each memory system. "
    "The product of 4,096 rows has 1.4 billion instructions of wavefronts and takes five to six "
    "minutes of a core. The search bfs on 16,777,216 nodes has 0.6 billion and takes nine to ten."
)


def _parts(measured: Measured, parts: Mapping[str, str]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for name in sorted(BENCHMARKS):
        part = parts[name]
        apart = measured.result(part, name, "rdma")
        shared = measured.result(part, name, SHARED)
        if apart is None or shared is None:
            continue
        copies = apart.copy_time + apart.write_back_time
        gain = apart.time - shared.time
        rows.append(
            (
                name,
                measured.size(part, name),
                apart.time / shared.time,
                apart.kernel_time / shared.kernel_time,
                copies / gain if gain > 0 else None,
                apart.kernel_time * 1e6,
                apart.copy_time * 1e6,
                apart.write_back_time * 1e6,
                shared.kernel_time * 1e6,
            )
        )
    return rows


def speedups(measured: Measured) -> Section:
    """Fig. 3-3 at the larger sizes that were run, with copies and remote accesses apart."""
    parts = {name: measured.largest(name, SHARED, "rdma") for name in BENCHMARKS}
    rows = _parts(measured, parts)
    full = sum(part == "footprints" for part in parts.values())
    columns = {"with copies": "speed-up", "kernels alone": "kernels alone"}
    by_head = [dict(zip(PART_HEADS, row, strict=True)) for row in rows]
    drawn = {
        what: {str(row["benchmark"]): it for row in by_head if isinstance(it := row[head], float)}
        for what, head in columns.items()
    }
    average = mean([it for row in by_head if isinstance(it := row["speed-up"], float)])
    if average is not None:
        rows.append(("mean", None, average, *(None,) * 6))
        rows.append(("mean, published", None, published()["fig_3_3"]["mean"], *(None,) * 6))
    return Section(
        title="Fig. 3-3: shared memory over RDMA",
        text=[
            "Under RDMA copies from and to the host count. Shared memory needs none. The gain by "
            "copies is their share of the time that shared memory saves. The rest is the gain of "
            "kernels that have no remote accesses.",
            *([_FOOTPRINTS.format(full)] if full else []),
        ],
        tables=[
            StudyTable(
                title=f"Where the time of {SHARED} and RDMA goes, at the larger sizes run",
                columns=PART_HEADS,
                rows=tuple(rows),
                formats=PART_FORMATS,
            )
        ],
        figures=figure(
            "memory-shared-over-rdma",
            drawn,
            "Speed-up of shared memory over RDMA",
            f"Simulated, 4 GPUs; {SHARED}, at the larger sizes run.",
        ),
    )


def strides(measured: Measured) -> Section | None:
    """The transpose at Table 3.2's rows and at others; None where these were not run."""
    rows: list[tuple[Cell, ...]] = []
    parts = dict.fromkeys(measured.sizes("strides"), "strides")
    if not parts:
        return None
    if (full := measured.size("footprints", "mt")) is not None:
        parts[full] = "footprints"
    for size, part in sorted(parts.items()):
        apart = measured.result(part, "mt", "rdma", size=size)
        shared = measured.result(part, "mt", SHARED, size=size)
        if apart is None or shared is None:
            continue
        rows.append(
            (
                size,
                apart.time / shared.time,
                apart.kernel_time / shared.kernel_time,
                apart.remote / (apart.l1_hits + apart.l1_misses),
                transactions(apart),
                apart.kernel_time * 1e6,
                shared.kernel_time * 1e6,
            )
        )
    return Section(
        title="The transpose and its rows",
        text=[
            "A row of 4,096 numbers is 16 KB, four pages, and memory goes over GPUs and over "
            "banks by 4 KB. A GPU transposes a quarter of all tiles, and writes columns of one "
            "page of each row. Under RDMA that page is in the GPU's own memory, and no write is "
            "remote. Under shared memory all its writes cross the links of two of its eight "
            "banks, 4 GB/s each. So this footprint is the worst for shared memory and the best "
            "for RDMA. With a few rows less or more, kernels are faster under shared memory."
        ],
        tables=[
            StudyTable(
                title="The transpose by its rows",
                columns=(
                    "rows",
                    "speed-up",
                    "kernels alone",
                    "remote accesses",
                    "D/R",
                    "RDMA: kernels (µs)",
                    "shared: kernels (µs)",
                ),
                rows=tuple(rows),
                formats=(",", ".2f", ".2f", ".1%", ".2f", ",.1f", ",.1f"),
            )
        ],
    )


def systems(measured: Measured) -> Section:
    """All memory systems over RDMA, at the sizes at which all were run."""
    found = {memory: measured.speedups(memory, "rdma") for memory in SYSTEMS if memory != "rdma"}
    kinds = {memory: by for memory, by in found.items() if by}
    each: list[tuple[Cell, ...]] = [
        (name, measured.size("systems", name), *(by.get(name) for by in kinds.values()))
        for name in sorted(BENCHMARKS)
    ]
    each.append(("mean", None, *(mean(by) for by in kinds.values())))
    said = {f"tsm-wt-c-{kind}": published()["over_rdma"][kind] for kind in ("rc", "sc")}
    said["hmg"] = published()["fig_4_5"]["over_rdma"]
    each.append(
        ("mean, published", None, *(said.get(memory.removesuffix("-printed")) for memory in kinds))
    )
    return Section(
        title="Section 4.4.1: all memory systems over RDMA",
        text=[
            "The tables have the smaller sizes, which all memory systems ran. Copies count under "
            "HMG as under RDMA."
        ],
        tables=[
            StudyTable(
                title="Speed-up over RDMA, 4 GPUs",
                columns=("benchmark", "size", *kinds),
                rows=tuple(each),
                formats=("", ",", *(".2f",) * len(kinds)),
            ),
            StudyTable(
                title=f"Where the time of {SHARED} and RDMA goes, at these sizes",
                columns=PART_HEADS,
                rows=tuple(_parts(measured, dict.fromkeys(BENCHMARKS, "systems"))),
                formats=PART_FORMATS,
            ),
        ],
        figures=figure(
            "memory-over-rdma",
            {memory: dict(sorted(by.items())) for memory, by in kinds.items()},
            "Speed-up over RDMA",
            "Simulated, 4 GPUs; copies count under RDMA and HMG.",
        ),
    )


def transaction_counts(measured: Measured) -> Section:
    """Table 3.3, with what kernels, copies and write-backs are of it."""
    rows: list[tuple[Cell, ...]] = []
    for name in sorted(BENCHMARKS):
        part = measured.largest(name, "rdma")
        found = measured.result(part, name, "rdma")
        if found is None:
            continue
        per = 1e8 / found.instructions
        rows.append(
            (
                name,
                measured.size(part, name),
                published()["table_3_3"][name],
                transactions(found),
                published()["table_3_3_rdma"][name],
                found.remote * per,
                published()["table_3_3_dram"][name],
                found.dram_with_copies * per,
                found.dram_reads * per,
                found.dram_writes * per,
                (found.copied_in + found.copied_out) * per,
            )
        )
    return Section(
        title="Table 3.3: transactions under RDMA",
        text=[
            "The table counts lines per 100 million instructions. The dissertation counts the "
            "instructions of its compiler, for work-items or wavefronts; it does not say which. "
            "Ours are those of wavefronts, so only the ratio of both counts can be compared. Its "
            "DRAM counts hold the host's copies. At 65,536 elements relu's kernels need 8,192 "
            "lines of DRAM. The open simulator counts 16,436, which is 2.67 times the 6,144 "
            "remote ones. Second levels write back, so all writes for kernels are write-backs.",
        ],
        tables=[
            StudyTable(
                title="RDMA and DRAM transactions per 100 million instructions",
                columns=(
                    "benchmark",
                    "size",
                    "D/R, published",
                    "D/R",
                    "RDMA, published",
                    "RDMA",
                    "DRAM, published",
                    "DRAM",
                    "of it read by kernels",
                    "of it write-backs",
                    "of it copies",
                ),
                rows=tuple(rows),
                formats=("", ",", ".2f", ".2f", *(",.0f",) * 7),
            )
        ],
    )
