"""Writes the sections of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from linkwright.studies.pcie.charts import by_pair
from linkwright.studies.pcie.kernels import preset
from linkwright.studies.pcie.layouts import POLICIES, QUICK, Layout
from linkwright.studies.pcie.published import published
from linkwright.studies.pcie.runs import Pair, Progress, alone, perform, workload_names
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = [
    "LARGE",
    "SMALL",
    "each_layout",
    "each_pair",
    "gains",
    "longer",
    "pair_name",
    "pair_table",
    "statements",
    "totals",
    "workloads",
]

Found = Mapping[Layout, Sequence[Pair]]
# These policies are compared with serving in turn.
RIVALS = tuple(policy for policy in POLICIES if policy != "round-robin")
SMALL, LARGE = 0, 1


def workloads(window: float) -> Section:
    """Table 1, with what the study adds to it."""
    rows: list[tuple[Cell, ...]] = []
    for name in workload_names():
        each = alone(QUICK[0], name, preset()[name])
        full = published()["workload_names"][name]
        within = window / each.iteration
        microseconds = [each.kernel, each.copy * 1e6, each.iteration * 1e6]
        rows.append((name, full, each.size / 1000, *microseconds, each.demand, within))
    return Section(
        title="The workloads (Table 1)",
        text=[
            "Each workload runs on one GPU, with the bus to itself. An iteration copies its bytes "
            "in the time that it takes alone. The table has this rate as a share of the 26 GB/s "
            "that copies reach."
        ],
        tables=[
            StudyTable(
                title=("Sizes are published; kernel times are from the R9 Nano of MGPUSim v4.2.0"),
                columns=(
                    "",
                    "workload",
                    "copied (KB)",
                    "kernel (µs)",
                    "copy (µs)",
                    "iteration (µs)",
                    "asked of a link",
                    "iterations in the window",
                ),
                rows=tuple(rows),
                formats=("", "", ".1f", ".1f", ".2f", ".2f", ".0%", ".1f"),
                note=(
                    "k-means is one round of it. Max-pooling takes the time of ReLU's kernel. "
                    "That time is not known on 64 KB, so the time on 32 KB stands for it."
                ),
            )
        ],
    )


def _percent(ratios: Sequence[float]) -> float:
    return fmean(ratios) - 1.0


def totals(pairs: Sequence[Pair], policy: str) -> float:
    """Returns the gain of both tasks over round-robin, the mean of the pairs."""
    return _percent([pair.throughput(policy) for pair in pairs])


def gains(pairs: Sequence[Pair], policy: str, task: int) -> float:
    """Returns the gain of one of them, likewise."""
    return _percent([pair.gain(policy, task) for pair in pairs])


def _in_time(pairs: Sequence[Pair], policy: str) -> float:
    return fmean(pair.by_policy[policy][LARGE].in_time for pair in pairs)


def _idle(pairs: Sequence[Pair], policy: str) -> float:
    return fmean(task.idle for pair in pairs for task in pair.by_policy[policy])


def statements(found: Found, window: float) -> Section:
    """Compares the paper's sentences with both readings of its Fig. 2."""
    said = published()["throughput"]
    readings = [found[layout] for layout in QUICK]

    def row(what: str, value: float | None, each: Sequence[float]) -> tuple[Cell, ...]:
        return (what, None if value is None else value / 100, *each)

    rows = [
        row("both tasks, small first", said["small_first"], _each(readings, "small first")),
        row("both tasks, QoS", said["qos"], _each(readings, "QoS")),
        row("both tasks, large first", None, _each(readings, "large first")),
        row("small task, small first", said["small_task"], _each(readings, "small first", SMALL)),
        row("large task, small first", said["large_task"], _each(readings, "small first", LARGE)),
        row("small task, QoS", None, _each(readings, "QoS", SMALL)),
        row("large task, QoS", None, _each(readings, "QoS", LARGE)),
        row("small task, large first", None, _each(readings, "large first", SMALL)),
        row("large task, large first", None, _each(readings, "large first", LARGE)),
    ]
    iterations = [
        fmean(sum(task.iterations for task in pair.by_policy["round-robin"]) for pair in pairs)
        for pairs in readings
    ]
    mean = published()["window"]["iterations"]
    return Section(
        title="Throughput over round-robin (Figs. 5 and 6)",
        text=[
            "The throughput of a task is its iterations in the window over those of one GPU "
            "alone. The throughput of a pair is the sum of both. The numbers are means of the 28 "
            "pairs, with two GPUs a task and each task on both switches. The published column has "
            "the numbers of the text. The text says, too, that large first is worse than "
            "round-robin for both tasks, and QoS better for both.",
            "Small first gains in both readings, as much as QoS or more, and the published 7.6 % "
            "lies between them. The large task of a pair loses nothing here. The bus serves its "
            "two GPUs one after the other instead of both at half speed. That is worth more to it "
            "than the short copies cost. It is an artefact of PCIe 4 with the given kernels: over "
            "PCIe 3 the task does lose (Readings, in the full study). One result does not come "
            "out. Large first makes only the small task slower, as its copies wait for those of "
            "the large, never the other way round. The paper says that both lose. This model "
            "cannot show that: strict priority takes nothing from the task that has it.",
        ],
        tables=[
            StudyTable(
                title="Throughput over round-robin, mean of 28 pairs",
                columns=(
                    "",
                    "published",
                    "one x16 to the root",
                    "a port for each switch",
                ),
                rows=tuple(rows),
                formats=("", *("+.1%",) * 3),
                note=(
                    f"In {window * 1e3:g} ms, the GPUs of a pair do {iterations[0]:.1f} and "
                    f"{iterations[1]:.1f} iterations under round-robin in the mean. The "
                    f"paper has {mean}."
                ),
            )
        ],
    )


def _each(readings: Sequence[Sequence[Pair]], policy: str, task: int | None = None) -> list[float]:
    if task is None:
        return [totals(pairs, policy) for pairs in readings]
    return [gains(pairs, policy, task) for pairs in readings]


def each_layout(found: Found) -> Section:
    """The answer for each reading of what is shared."""
    times = published()["deadline"]["times_alone"]
    demands = [
        (layout.name, fmean(pair.demand for pair in pairs), sum(it.demand > 1 for it in pairs))
        for layout, pairs in found.items()
    ]
    rows: list[tuple[Cell, ...]] = []
    for layout, pairs in found.items():
        for policy in POLICIES:
            numbers = [
                totals(pairs, policy),
                gains(pairs, policy, SMALL),
                gains(pairs, policy, LARGE),
                _in_time(pairs, policy),
                _idle(pairs, policy),
            ]
            rows.append((layout.name, policy, *numbers))
    return Section(
        title="What is shared decides",
        text=[
            "The paper says neither whether a task has one GPU or two, nor which, nor whether the "
            "switches share a link. Each row has the demand on the link that most of the tasks' "
            "GPUs share. It is the sum of the rates that the tasks ask for when alone, over the "
            "rate of the link. Above 1 the bus decides how much is done, below 1 only who waits.",
            f"A copy of the large task is in time if it takes at most {times} times what it takes "
            "alone. QoS keeps that wherever possible. The table has the mean over the pairs. A "
            "GPU is idle while it does not compute.",
        ],
        tables=[
            StudyTable(
                title="The demand of both tasks on the link that they share",
                columns=("layout", "mean demand", "pairs above 1, of 28"),
                rows=tuple(demands),
                formats=("", ".2f", ""),
            ),
            StudyTable(
                title="Throughput over round-robin, copies in time, and idle GPUs",
                columns=(
                    "layout",
                    "policy",
                    "both tasks",
                    "small task",
                    "large task",
                    "large task's copies in time",
                    "GPUs idle",
                ),
                rows=tuple(rows),
                formats=("", "", "+.1%", "+.1%", "+.1%", ".1%", ".1%"),
            ),
        ],
    )


def each_pair(found: Found) -> Section:
    """Shows Fig. 5: every pair."""
    bars = [
        {"pair": pair_name(pair), "policy": policy, "throughput": pair.throughput(policy)}
        for pair in found[QUICK[0]]
        for policy in RIVALS
    ]
    title = "Throughput of every pair over round-robin, two GPUs a task on both switches"
    return Section(
        title="Every pair (Fig. 5)",
        text=[
            "The table has the throughput over round-robin, with one link to the root and with a "
            "port for each switch. The task that copies less is named first. The chart shows one "
            "link to the root."
        ],
        tables=[pair_table(title, found)],
        figures={"pcie-pairs": by_pair(bars)},
    )


def pair_table(title: str, found: Found) -> StudyTable:
    """Lists every pair in both readings of Fig. 2, one row each.

    Args:
        title: The title of the table.
        found: The results of both readings, and maybe of others.
    """
    rows: list[tuple[Cell, ...]] = []
    for shared, apart in zip(*(found[layout] for layout in QUICK), strict=True):
        cells = [pair.throughput(policy) for pair in (shared, apart) for policy in RIVALS]
        rows.append((pair_name(shared), shared.demand, apart.demand, *cells))
    heads = [f"{policy}, {link}" for link in ("root", "ports") for policy in RIVALS]
    return StudyTable(
        title=title,
        columns=("pair", "demand, root", "demand, ports", *heads),
        rows=tuple(rows),
        formats=("", ".2f", ".2f", *(".3f",) * len(heads)),
    )


def pair_name(pair: Pair) -> str:
    """Names both tasks of a pair, that which copies less first.

    Args:
        pair: Both.
    """
    return " + ".join(task.alone.name for task in pair.by_policy["round-robin"])


def longer(window: float, progress: Progress | None) -> Section:
    """Shows the effect of a longer window."""
    times = 4
    rows: list[tuple[Cell, ...]] = []
    for layout in QUICK:
        pairs = perform(layout, times * window, progress=progress, stage="a longer window")
        for policy in RIVALS:
            each = [gains(pairs, policy, task) for task in (SMALL, LARGE)]
            rows.append((layout.name, policy, totals(pairs, policy), *each))
    return Section(
        title="A longer window",
        text=[
            "All tasks start at once, so the start weighs more in a short window. The table is "
            f"over {times * window * 1e3:g} ms."
        ],
        tables=[
            StudyTable(
                title="Throughput over round-robin in a longer window",
                columns=("layout", "policy", "both tasks", "small task", "large task"),
                rows=tuple(rows),
                formats=("", "", "+.1%", "+.1%", "+.1%"),
            )
        ],
    )
