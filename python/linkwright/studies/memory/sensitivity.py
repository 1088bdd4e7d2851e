"""Computes Figs. 4-4 to 4-7: the cost of coherence, and the worth of bandwidth and GPUs."""

from __future__ import annotations

from linkwright.studies.memory.charts import figure, lines
from linkwright.studies.memory.coherence_statements import METRICS
from linkwright.studies.memory.measured import Measured, View, mean
from linkwright.studies.memory.published import published
from linkwright.studies.memory.sensitivity_statements import over_bandwidth, over_gpus
from linkwright.studies.memory.settings import BENCHMARKS, SHARED
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["bandwidths", "coherence", "hmg", "scaling"]

BASE = "tsm-wb-nc-rc"
VIEWS = (("rc", False), ("rc", True), ("sc", False), ("sc", True))


def _head(consistency: str, printed: bool) -> str:
    return f"{consistency.upper()}{', as printed' if printed else ''}"


def coherence(measured: Measured) -> Section:
    """Computes Fig. 4-4: shared memory written through, coherent, and sequentially consistent."""
    kinds = ("tsm-wt-nc-rc", *SHARED)
    performance: list[tuple[Cell, ...]] = []
    by_kind = {memory: measured.speedups(memory, BASE) for memory in kinds}
    for name in sorted(BENCHMARKS):
        size = measured.size("systems", name)
        performance.append((name, size, *(by.get(name) for by in by_kind.values())))
    performance.append(("mean", None, *(mean(by) for by in by_kind.values())))
    said = published()["fig_4_4"]
    told = (said["write_through"], *(said["coherent_rc"], said["coherent_sc"]) * 2)
    performance.append(("mean, published", None, *told))
    means: list[tuple[Cell, ...]] = [
        (metric, *(mean(measured.ratios(of, memory, BASE)) for memory in kinds))
        for metric, of in METRICS.items()
    ]
    return Section(
        title="Fig. 4-4: written through, coherent, sequential",
        text=[
            f"All numbers are over {BASE}. Latencies are means of all answers of a level, "
            "waiting included."
        ],
        tables=[
            StudyTable(
                title=f"Performance over {BASE}",
                columns=("benchmark", "size", *kinds),
                rows=tuple(performance),
                formats=("", ",", *(".3f",) * len(kinds)),
            ),
            StudyTable(
                title=f"Counts and latencies over {BASE}, means of the nine",
                columns=("", *kinds),
                rows=tuple(means),
                formats=("", *(".3f",) * len(kinds)),
            ),
        ],
        figures=figure(
            "memory-coherence",
            {memory: dict(sorted(by.items())) for memory, by in by_kind.items()},
            f"Performance over {BASE}",
            "Simulated, 4 GPUs.",
            axis="performance",
        ),
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
        text=["The table has the performance of HMG over each of the others. Copies count."],
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
        figures=figure(
            "memory-hmg",
            {f"over {memory}": dict(sorted(by.items())) for memory, by in found.items()},
            "Performance of HMG",
            "Simulated, 4 GPUs; copies count.",
            axis="performance",
        ),
    )


def bandwidths(measured: Measured) -> Section:
    """Computes Fig. 4-6: bandwidth to shared memory."""
    said = published()["fig_4_6"]
    rows: list[tuple[Cell, ...]] = []
    drawn = []
    for at, whole in enumerate(said["bandwidths"]):
        cells: list[Cell] = [whole, said["rc"][at], said["sc"][at]]
        for consistency, printed in VIEWS:
            found = over_bandwidth(View(measured, printed), consistency, whole)
            cells.append(mean(found))
            if not printed:
                drawn += [
                    {"benchmark": name, "of": consistency.upper(), "at": whole, "value": value}
                    for name, value in sorted(found.items())
                ]
        rows.append(tuple(cells))
    last = said["bandwidths"][-1]
    views = {_head(*each): over_bandwidth(View(measured, each[1]), each[0], last) for each in VIEWS}
    size = {name: measured.size("bandwidth", name) for name in BENCHMARKS}
    heads = tuple(views)
    return Section(
        title="Fig. 4-6: bandwidth to shared memory",
        text=[
            "The tables have the speed-up over 128 GB/s of all four GPUs together, each way, at "
            "the same latency."
        ],
        tables=[
            StudyTable(
                title="Mean speed-up over 128 GB/s",
                columns=("GB/s", "RC, published", "SC, published", *heads),
                rows=tuple(rows),
                formats=("", *(".2f",) * 6),
            ),
            StudyTable(
                title=f"Speed-up at {last:,} GB/s",
                columns=("benchmark", "size", *heads),
                rows=tuple(
                    (name, size[name], *(by.get(name) for by in views.values()))
                    for name in sorted(BENCHMARKS)
                ),
                formats=("", ",", *(".2f",) * 4),
            ),
        ],
        figures={
            "memory-bandwidth": lines(
                drawn,
                ("GB/s of all GPUs", "speed-up"),
                "Speed-up over 128 GB/s",
                "Simulated, 4 GPUs, MGCC mended.",
            )
        }
        if drawn
        else {},
    )


def scaling(measured: Measured) -> Section:
    """Computes Fig. 4-7: more GPUs for the same work."""
    said = published()["fig_4_7"]
    rows: list[tuple[Cell, ...]] = []
    heads = [f"{_head(*each)}, {gpus}" for gpus in said["gpus"] for each in VIEWS]
    found = [
        over_gpus(View(measured, each[1]), each[0], gpus) for gpus in said["gpus"] for each in VIEWS
    ]
    for name in sorted(BENCHMARKS):
        rows.append((name, measured.size("gpus", name), *(by.get(name) for by in found)))
    rows.append(("mean", None, *(mean(by) for by in found)))
    told = [said[each[0]][at] for at in range(len(said["gpus"])) for each in VIEWS]
    rows.append(("mean, published", None, *told))
    return Section(
        title="Fig. 4-7: 8 and 16 GPUs",
        text=[
            "The table has the speed-up over 4 GPUs on the same work. Each GPU brings 32 GB/s "
            "to shared memory."
        ],
        tables=[
            StudyTable(
                title="Speed-up over 4 GPUs",
                columns=("benchmark", "size", *heads),
                rows=tuple(rows),
                formats=("", ",", *(".2f",) * len(heads)),
            )
        ],
        figures=figure(
            "memory-gpus",
            {
                f"{head} GPUs": dict(sorted(by.items()))
                for head, by in zip(heads, found, strict=True)
                if "printed" not in head
            },
            "Speed-up over 4 GPUs",
            "Simulated, the same work, MGCC mended.",
        ),
    )
