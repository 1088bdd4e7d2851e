"""Computes Figs. 6, 11 and 16: run time against GPUs, scores of allocations and bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import correlation, fmean

from linkwright import Allocator, Pattern, System, expect
from linkwright.names import WorkloadName
from linkwright.scenario import Job
from linkwright.studies.mapa.mix import Run
from linkwright.studies.mapa.published import published
from linkwright.studies.mapa.readings import Reading, as_read
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["by_bandwidth", "by_gpus", "by_scores", "rank_correlation"]

MACHINE = "dgx1-v100"
SHOWN: tuple[WorkloadName, ...] = ("vgg-16", "googlenet")
SIZES = range(2, 6)
ITERATIONS = (5_000, 10_000, 20_000)
# GB/s, where the classes of bandwidth end.
CLASSES = (12.5, 25.0, 50.0)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's: 1 where both rise together, -1 where one falls as the other rises."""
    return correlation(_ranks(first), _ranks(second))


def _ranks(values: Sequence[float]) -> list[float]:
    """Returns each value's rank, equal values sharing the mean of theirs."""
    order = sorted(values)
    counts = {value: order.count(value) for value in set(order)}
    return [order.index(value) + (counts[value] - 1) / 2 for value in values]


def by_gpus(chosen: Reading) -> Section:
    """Writes the section on Fig. 6: the best and worst allocation, by GPUs and iterations."""
    machine = System(MACHINE)
    allocator = Allocator(machine)
    ends: dict[int, tuple[float, float]] = {}
    for size in SIZES:
        values = [
            allocator.sound_bandwidth(gpus) for gpus in combinations(range(machine.gpu_count), size)
        ]
        ends[size] = max(values), min(values)
    cases = [(size, ITERATIONS[1]) for size in SIZES]
    cases += [(3, count) for count in ITERATIONS if count != ITERATIONS[1]]
    rows: list[tuple[Cell, ...]] = []
    for size, iterations in cases:
        cells: list[Cell] = [size, iterations, *ends[size]]
        for name in SHOWN:
            job = as_read(Job(name, name, size), chosen)
            share = iterations / job.iterations
            best, worst = (job.run_time(bandwidth) * share for bandwidth in ends[size])
            cells += [best, worst, worst / best]
        rows.append(tuple(cells))
    return Section(
        title="Fig. 6: run time by GPUs and iterations",
        text=[
            "The paper shows VGG-16 for the sensitive networks and GoogLeNet for the insensitive "
            "ones. It says for both that more GPUs or iterations do not change which networks "
            "feel the links. The table has the best and the worst set of GPUs of an idle "
            f"`{MACHINE}` by the sound model.",
        ],
        tables=[
            StudyTable(
                title="Run time on the best and the worst GPUs, reproduced",
                columns=(
                    "GPUs",
                    "iterations",
                    "best (GB/s)",
                    "worst (GB/s)",
                    "VGG-16, best (s)",
                    "worst (s)",
                    "times as long",
                    "GoogLeNet, best (s)",
                    "worst (s) ",
                    "times as long ",
                ),
                rows=tuple(rows),
                formats=("", ",", ".1f", ".1f", ".0f", ".0f", ".2f", ".0f", ".0f", ".2f"),
                note=(
                    "This reading takes a flat GoogLeNet from the paper. It is no result."
                    if chosen.flat
                    else "Here GoogLeNet feels its links, against the paper."
                ),
            )
        ],
    )


def by_scores(chosen: Reading) -> Section:
    """The section on Fig. 11: which score of an allocation tells the run time of VGG-16."""
    entry = published()["pattern_scores"]
    machine = System(MACHINE)
    allocator = Allocator(machine, bandwidth_model="published", ties="published")
    release = published()["all_reduce"]["nccl"]
    rows: list[tuple[Cell, ...]] = []
    statements: list[tuple[Cell, ...]] = []
    for size in entry["gpus"]:
        job = as_read(Job("job", entry["network"], size), chosen)
        pattern = Pattern("ring", size)
        scores: dict[str, list[float]] = {"Eq. 1": [], "Eq. 2": [], "sound model": []}
        times: list[float] = []
        for gpus in combinations(range(machine.gpu_count), size):
            match = allocator.best_placement(pattern, gpus)
            scores["Eq. 1"].append(match.aggregated_bandwidth)
            scores["Eq. 2"].append(match.effective_bandwidth or 0.0)
            scores["sound model"].append(allocator.sound_bandwidth(gpus))
            data = job.bytes_per_iteration or 0
            [reached] = expect(machine, gpus, "all-reduce", [data], nccl=release)
            times.append(job.run_time(reached["bus_bandwidth"]))
        rows.append(
            (size, len(times), *(rank_correlation(values, times) for values in scores.values()))
        )
        statements.append(_inverted(size, scores["Eq. 1"], times))
    return Section(
        title="Fig. 11: scores of allocations",
        text=[
            "VGG-16 runs on every set of four and of five GPUs of an idle machine. Its gradients "
            f"are reduced as NCCL {release} would on exactly these. The times come from the clock "
            "of collectives, which knows none of the scores. A score that predicts the run time "
            "has a rank correlation of -1 with it.",
        ],
        tables=[
            StudyTable(
                title="Rank correlation of scores with run time",
                columns=(
                    "GPUs",
                    "sets",
                    "aggregated bandwidth (Eq. 1)",
                    "regression (Eq. 2)",
                    "sound model",
                ),
                rows=tuple(rows),
                formats=("", "", "+.2f", "+.2f", "+.2f"),
                note=(
                    "The paper says that effective bandwidth correlates well with run time, and "
                    "aggregated bandwidth does not. It plots the bandwidth that it measured, "
                    "which follows from the same all-reduce as the time. The table has "
                    "predictions."
                ),
            ),
            StudyTable(
                title="More aggregated bandwidth, and yet slower",
                columns=("GPUs", "published", "pairs of sets", "the most, reproduced"),
                rows=tuple(statements),
            ),
        ],
    )


def _inverted(size: int, aggregated: Sequence[float], times: Sequence[float]) -> tuple[Cell, ...]:
    entry = published()["pattern_scores"]
    said = f"{entry['slower']:.0f} GB/s is much slower than {entry['faster']:.0f}"
    both = sorted(set(zip(aggregated, times, strict=True)))
    gap = entry["slower"] - entry["faster"]
    found = [
        (slow / fast, more, less)
        for less, fast in both
        for more, slow in both
        if more - less >= gap and slow > fast
    ]
    if not found:
        return size, said, 0, "none"
    ratio, more, less = max(found)
    measured = f"{more:.0f} GB/s takes {ratio:.2f} times as long as {less:.0f}"
    return size, said, len(found), measured


def by_bandwidth(runs: Sequence[Run], chosen: Reading) -> Section:
    """Writes the section on Fig. 16: run time against effective bandwidth in the mix of Table 3."""
    felt: dict[str, list[tuple[float, float]]] = {}
    kinds: dict[str, str] = {}
    for run in runs:
        if run.model != "published":
            continue
        for row in run.rows:
            if row["gpu_count"] > 1:
                values = row["sound_bandwidth"], row["run_time"]
                felt.setdefault(row["workload"], []).append(values)
                kinds[row["workload"]] = "sensitive" if row["sensitive"] else "insensitive"
    rows: list[tuple[Cell, ...]] = []
    last: list[float | None] = []
    for name in sorted(felt, key=lambda name: (kinds[name] != "sensitive", name)):
        classes: list[list[float]] = [[] for _ in range(len(CLASSES) + 1)]
        for bandwidth, time in felt[name]:
            classes[sum(bandwidth > end for end in CLASSES)].append(time)
        best = fmean(classes[-1])
        factors = [fmean(each) / best if each else None for each in classes[:-1]]
        rows.append((name, kinds[name], *factors))
        if kinds[name] == "sensitive":
            last.append(factors[-1])
    little = published()["proxy"]["little_beyond"]
    most = max(value for value in last if isinstance(value, float))
    return Section(
        title="Fig. 16: run time against effective bandwidth",
        text=[
            "The table has all jobs of two or more GPUs of Table 3's mix, under every policy and "
            "seed. It sorts them by the bandwidth that the sound model gives their GPUs. The "
            "paper says that insensitive workloads do not feel it, that sensitive ones do, and "
            f"that more than {little:.0f} GB/s change little.",
        ],
        tables=[
            StudyTable(
                title=f"Mean run time over that above {CLASSES[-1]:g} GB/s",
                columns=(
                    "workload",
                    "",
                    f"up to {CLASSES[0]:g} GB/s",
                    f"to {CLASSES[1]:g}",
                    f"to {CLASSES[2]:g}",
                ),
                rows=tuple(rows),
                formats=("", "", ".2f", ".2f", ".2f"),
                note=(
                    f"From 25 to {little:.0f} GB/s sensitive jobs take at most {most:.2f} times "
                    "as long as beyond. Jobs of more GPUs have more bandwidth and more to send, "
                    "so an insensitive row need not be 1.00 throughout."
                    + (
                        " The reading takes from this figure that insensitive jobs are flat."
                        if chosen.flat
                        else ""
                    )
                ),
            )
        ],
    )
