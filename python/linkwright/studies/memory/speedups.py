"""Fig. 3-3, Table 3.3 and Fig. 4-5: shared memory beside memories apart."""

from __future__ import annotations

from linkwright.studies.memory.charts import bars
from linkwright.studies.memory.measured import Measured, mean
from linkwright.studies.memory.published import published
from linkwright.studies.memory.settings import BENCHMARKS, SYSTEMS
from linkwright.studies.memory.speedup_statements import transactions
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["footprints", "hmg", "speedups", "transaction_counts"]

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


def _parts(measured: Measured, part: str) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for name in sorted(BENCHMARKS):
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
    """Fig. 3-3, with copies and remote accesses apart."""
    rows = _parts(measured, "systems")
    found = {memory: measured.speedups(memory, "rdma") for memory in SYSTEMS if memory != "rdma"}
    kinds = {memory: by for memory, by in found.items() if by}
    each: list[tuple[Cell, ...]] = [
        (name, *(by.get(name) for by in kinds.values())) for name in sorted(BENCHMARKS)
    ]
    each.append(("mean", *(mean(by) for by in kinds.values())))
    said = {SHARED: published()["fig_3_3"]["mean"]}
    said |= {f"tsm-wt-c-{kind}": published()["over_rdma"][kind] for kind in ("rc", "sc")}
    said["hmg"] = published()["fig_4_5"]["over_rdma"]
    each.append(
        ("mean, published", *(said.get(memory.removesuffix("-printed")) for memory in kinds))
    )
    drawn = [
        {"benchmark": name, "memory": memory, "value": value}
        for memory, by in kinds.items()
        for name, value in sorted(by.items())
    ]
    return Section(
        title="Fig. 3-3: shared memory over RDMA",
        text=[
            "Under RDMA, and under HMG, copies from and to the host count; shared memory needs "
            "none. The gain by copies is their share of the time that shared memory saves; the "
            "rest is remote accesses, and how kernels fare without them.",
        ],
        tables=[
            StudyTable(
                title="Speed-up over RDMA, 4 GPUs",
                columns=("benchmark", *kinds),
                rows=tuple(each),
                formats=("", *(".2f",) * len(kinds)),
            ),
            StudyTable(
                title=f"Where the time of {SHARED} and RDMA goes",
                columns=PART_HEADS,
                rows=tuple(rows),
                formats=PART_FORMATS,
            ),
        ],
        figures={
            "memory-over-rdma": bars(
                drawn, "Speed-up over RDMA", "Simulated, 4 GPUs; copies count under RDMA and HMG."
            )
        }
        if drawn
        else {},
    )


def footprints(measured: Measured) -> Section | None:
    """The same at the dissertation's footprints, as far as they were run; None of none."""
    rows = _parts(measured, "footprints")
    if not rows:
        return None
    average = mean([row[2] for row in rows if isinstance(row[2], float)])
    return Section(
        title="The footprints of Table 3.2",
        text=[
            f"Those of the nine that were run at the dissertation's footprints, {len(rows)} of 9: "
            f"their mean speed-up is {average:.2f}. All other tables are of smaller sizes, which "
            "each names. The product of matrices of 4,096 rows is 1.4 billion instructions of "
            "wavefronts, five to six minutes of a core for each memory system.",
        ],
        tables=[
            StudyTable(
                title=f"Speed-up of {SHARED} over RDMA at Table 3.2's footprints",
                columns=PART_HEADS,
                rows=tuple(rows),
                formats=PART_FORMATS,
            )
        ],
    )


def transaction_counts(measured: Measured) -> Section:
    """Table 3.3, with what kernels, copies and write-backs are of it."""
    rows: list[tuple[Cell, ...]] = []
    for name in sorted(BENCHMARKS):
        found = measured.result("systems", name, "rdma")
        if found is None:
            continue
        per = 1e8 / found.instructions
        rows.append(
            (
                name,
                measured.size("systems", name),
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
            "Lines per 100 million instructions. The dissertation counts the instructions of "
            "work-items or wavefronts, it does not say which, and its compiler's; ours are those "
            "of wavefronts, so that the ratio of both counts is what can be compared. Its DRAM "
            "counts hold the host's copies: of relu's 8,192 lines of DRAM for kernels at 65,536 "
            "elements the open simulator counts 16,436, 2.67 times the 6,144 remote ones. Second "
            "levels write back, so that all that is written for kernels are write-backs.",
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


def hmg(measured: Measured) -> Section | None:
    """Fig. 4-5; None where there is no HMG."""
    found = {
        memory: measured.speedups("hmg", memory)
        for memory in ("tsm-wt-c-rc", "tsm-wt-c-rc-printed", "rdma")
    }
    if not found["rdma"]:
        return None
    said = published()["fig_4_5"]
    rows: list[tuple[Cell, ...]] = [
        (name, said.get(name), *(by.get(name) for by in found.values()))
        for name in sorted(BENCHMARKS)
    ]
    rows.append(("mean", said["mean"], *(mean(by) for by in found.values())))
    return Section(
        title="Fig. 4-5: HMG",
        text=["Performance of HMG, copies counted, over each of the others."],
        tables=[
            StudyTable(
                title="HMG over coherent shared memory, and over RDMA",
                columns=(
                    "benchmark",
                    "published, over tsm-wt-c-rc",
                    *(f"over {memory}" for memory in found),
                ),
                rows=tuple(rows),
                formats=("", *(".2f",) * 4),
                note=f"Over RDMA the text has {said['over_rdma']} in the mean.",
            )
        ],
    )
