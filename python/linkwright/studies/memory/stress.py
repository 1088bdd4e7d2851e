"""Computes Figs. 4-8 to 4-11, the cost of coherence at rest, and Table 1.1."""

from __future__ import annotations

from linkwright.studies.memory.charts import figure
from linkwright.studies.memory.cost_statements import costs
from linkwright.studies.memory.measured import Measured, View
from linkwright.studies.memory.published import published
from linkwright.studies.memory.settings import LEASES, LOCAL, SHARED, XTREME
from linkwright.studies.memory.way_statements import way
from linkwright.studies.memory.xtreme_statements import lease_times
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["leases", "storage", "ways", "xtreme"]

PLAIN = "tsm-wt-nc-rc"
FIGURES = {"xtreme1": "4-8", "xtreme2": "4-9", "xtreme3": "4-10"}


def xtreme(measured: Measured) -> Section:
    """Figs. 4-8 to 4-10: times, misses, latencies, and whether answers are right."""
    rows: list[tuple[Cell, ...]] = []
    drawn: dict[str, dict[str, float]] = {}
    for benchmark in XTREME:
        for size in measured.sizes("xtreme"):
            base = measured.result("xtreme", benchmark, PLAIN, size=size)
            for memory in (PLAIN, *SHARED):
                found = measured.result("xtreme", benchmark, memory, size=size)
                if found is None or base is None:
                    continue
                over = found.time / base.time
                answer = "right" if found.correct else "wrong"
                latency = [found.l1_latency, found.l2_latency]
                rows.append(
                    (
                        benchmark,
                        size,
                        memory,
                        over - 1,
                        found.l1_miss_rate,
                        found.l2_miss_rate,
                        *(None if each is None else each * 1e9 for each in latency),
                        found.dram,
                        answer,
                    )
                )
                if memory != PLAIN:
                    name = f"{benchmark}, {size:,} KB"
                    drawn.setdefault(memory, {})[name] = over
    return Section(
        title="Figs. 4-8 to 4-10: Xtreme",
        text=[
            "Compute units add three vectors again and again, and read values that others wrote. "
            "Sizes are of the three together, for each GPU. The table has the run time over "
            "shared memory without coherence. Where that gives a wrong answer, its time is the "
            "time of the wrong run.",
        ],
        tables=[
            StudyTable(
                title=f"Xtreme over {PLAIN}, 4 GPUs",
                columns=(
                    "benchmark",
                    "KB",
                    "memory",
                    "run time",
                    "L1 misses",
                    "L2 misses",
                    "L1 latency (ns)",
                    "L2 latency (ns)",
                    "DRAM lines",
                    "answer",
                ),
                rows=tuple(rows),
                formats=("", ",", "", "+.1%", ".0%", ".0%", ",.0f", ",.0f", ",", ""),
            )
        ],
        figures=figure(
            "memory-xtreme", drawn, f"Run time over {PLAIN}", "Simulated, 4 GPUs.", axis="run time"
        ),
    )


def leases(measured: Measured) -> Section:
    """Computes Fig. 4-11: read and write leases."""
    views = [(kind, printed) for kind in ("rc", "sc") for printed in (False, True)]
    heads = [f"{kind.upper()}{', as printed' if printed else ''}" for kind, printed in views]
    rows: list[tuple[Cell, ...]] = []
    drawn: dict[str, dict[str, float]] = {}
    for benchmark in XTREME:
        found = [lease_times(View(measured, printed), benchmark, kind) for kind, printed in views]
        for read, write in LEASES:
            rows.append((benchmark, read, write, *(by.get((read, write)) for by in found)))
            for head, by in zip(heads, found, strict=True):
                if (over := by.get((read, write))) is not None:
                    drawn.setdefault(head, {})[f"{benchmark}, {read} and {write}"] = over
    size = measured.size("leases", XTREME[0])
    return Section(
        title="Fig. 4-11: leases",
        text=[
            "The dissertation calls the pair of its evaluation {RdLease, WrLease} = {5, 10} once "
            "and {WrLease, RdLease} = {5, 10} elsewhere. Its argument is for the second, which is "
            "read here. The text does not say which other pairs its chart has."
        ],
        tables=[
            StudyTable(
                title=f"Run time over {PLAIN} by leases, {size} KB",
                columns=("benchmark", "read lease", "write lease", *heads),
                rows=tuple(rows),
                formats=("", "", "", *(".3f",) * 4),
            )
        ],
        figures=figure(
            "memory-leases",
            drawn,
            f"Run time over {PLAIN} by read and write leases",
            f"Simulated, 4 GPUs, {size} KB.",
            axis="run time",
        ),
    )


def storage() -> Section:
    """Computes Sections 4.2.7 and 1.4.3: messages and storage."""
    kinds = ("tsm-wt-nc-rc", "tsm-wt-c-rc", "tsm-wt-c-rc-printed", "g-tsc")
    found = {memory: costs(memory) for memory in kinds}
    said = {name: value for name, value in published()["storage"].items() if name != "source"}
    rows: list[tuple[Cell, ...]] = [
        (what, said.get(what), *(by[what][0] for by in found.values())) for what in found[kinds[0]]
    ]
    return Section(
        title="Sections 4.2.7 and 1.4.3: traffic and storage",
        text=[
            "The table has the bytes of each message, and the bytes that caches and memory keep "
            "for leases. They follow from the fields of each protocol and the sizes of the caches."
        ],
        tables=[
            StudyTable(
                title="Bytes of messages and of storage",
                columns=("", "published", *kinds),
                rows=tuple(rows),
                formats=("", *(",",) * (1 + len(kinds))),
            )
        ],
    )


# Table 1.1's words, by the memory systems that stand for its mechanisms.
MECHANISMS = {
    "rdma": ("P2P direct", "high", "low"),
    "zero-copy": ("zero-copy", "extremely high", "low"),
    "unified": ("unified memory", "extremely high", "low"),
}


def ways(measured: Measured) -> Section:
    """Computes Table 1.1: latency and bandwidth of each way to another's memory."""
    runs = {each.memory: each.gpus for each in measured.runs if each.part == "ways"}
    local = way(measured, LOCAL, 1)
    rows: list[tuple[Cell, ...]] = []
    copied = measured.result("ways", "stream", LOCAL, gpus=1)
    size = measured.size("ways", "stream") or 0
    if local is not None:
        rows.append(("local memory", LOCAL, None, None, local[0] * 1e9, 1.0, local[1] / 1e9, 1.0))
    if local is not None and copied is not None and copied.copy_time:
        # The host's copies go over the same PCIe as those between GPUs.
        bandwidth = size * 4 * 2 / copied.copy_time
        own = (local[0] * 1e9, 1.0, bandwidth / 1e9, bandwidth / local[1])
        rows.append(("P2P memcopy, then local", "copies of rdma", "high", "low", *own))
    for memory in runs:
        found = way(measured, memory)
        if found is None or local is None:
            continue
        mechanism = MECHANISMS.get(memory, ("", None, None))
        numbers = (found[0] * 1e9, found[0] / local[0], found[1] / 1e9, found[1] / local[1])
        rows.append((mechanism[0] or "beside them", memory, *mechanism[1:], *numbers))
    missing = [name for name in MECHANISMS if name not in runs]
    note = f"Not among the memory systems yet: {', '.join(missing)}." if missing else ""
    return Section(
        title="Table 1.1: ways to reach another's memory",
        text=[
            "The latency is measured on a chain of pointers, each line read once. The bandwidth "
            f"is measured by kernels of all GPUs that copy a vector of {size:,} elements. Read "
            "and written bytes count together, and the launch is included. One GPU has all lines "
            "in its memory. On four, three of four lines are another's, and four GPUs copy. A "
            "memcopy makes latency local, at the price of the copy itself. The table has its "
            "bandwidth."
        ],
        tables=[
            StudyTable(
                title="Latency and bandwidth beside local memory",
                columns=(
                    "way",
                    "memory",
                    "latency, published",
                    "bandwidth, published",
                    "latency (ns)",
                    "over local",
                    "bandwidth (GB/s)",
                    "over local ",
                ),
                rows=tuple(rows),
                formats=("", "", "", "", ",.0f", ".2f", ",.1f", ".2f"),
                note=note,
            )
        ],
    )
