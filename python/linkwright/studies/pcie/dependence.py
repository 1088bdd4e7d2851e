"""How the answer depends on the times of kernels, which the paper does not give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, geometric_mean

from linkwright.studies.pcie.kernels import (
    SIMULATED,
    Kernels,
    Simulated,
    launch_time,
    preset,
    simulated,
)
from linkwright.studies.pcie.layouts import QUICK, Layout
from linkwright.studies.pcie.published import published
from linkwright.studies.pcie.runs import Pair, Progress, perform
from linkwright.studies.pcie.sections import LARGE, SMALL, gains, pair_table, totals
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["dependence", "own_kernels"]

Found = Mapping[Layout, Sequence[Pair]]

# As `_headline` has them.
HEADS = (
    "both, small first",
    "both, QoS",
    "both, large first",
    "small, small first",
    "large, small first",
)


def own_kernels() -> Section:
    """Shows the preset times beside those inside our GPU."""
    before, ours = preset(), simulated()
    rows: list[tuple[Cell, ...]] = [
        (name, _run(each), before[name], ours[name], ours[name] / before[name])
        for name, each in SIMULATED.items()
    ]
    mean = geometric_mean(float(ours[name] / before[name]) for name in SIMULATED)
    return Section(
        title="Kernels inside our own GPU",
        text=[
            "The same kernels run in [Linkwright's model inside GPUs](../concepts/gpu-memory.md), "
            "on one R9 Nano alone. Their sizes copy as many bytes as Table 1 says, or nearly as "
            "many. "
            'The call is `linkwright.GpuSystem("r9-nano", gpus=1, code=False).play("relu", 8000)`. '
            "Only the steps of kind `kernel` count, without copies, and with code that earlier "
            "launches have brought in. The convolution has no size near Table 1's. We take its "
            "time between those of two sizes, by the bytes that they copy.",
            f"Ours are all shorter, {mean:.2f} times the preset in the geometric mean. A kernel "
            f"takes at least {launch_time():.1f} µs, as ReLU of 64 elements shows, and most of "
            "that is the launch. k-means is two launches. Both models order the workloads alike "
            "but for MT, FIR and SC, which lie close together in either.",
        ],
        tables=[
            StudyTable(
                title="Times of kernels, preset and ours",
                columns=("", "run as", "preset (µs)", "ours (µs)", "ours over preset"),
                rows=tuple(rows),
                formats=("", "", ".1f", ".2f", ".2f"),
                note="Both are models; neither was measured on a GPU.",
            )
        ],
    )


def _run(kernel: Simulated) -> str:
    sizes = " and ".join(f"{size:,}" for size in kernel.sizes)
    return f"{kernel.benchmark}, {sizes} {kernel.unit}"


def dependence(found: Found, window: float, progress: Progress | None) -> Section:
    """Shows the headline once more, with other times of kernels.

    Args:
        found: The results of both readings of Fig. 2 with the preset times.
        window: Seconds in which iterations are counted.
        progress: Called with the stage, the pairs done, and the pairs in all.
    """
    ours = _perform(simulated(), window, progress, "our kernels")
    doubled = {name: 2 * time for name, time in preset().items()}
    longer = _perform(doubled, window, progress, "kernels twice as long")
    said = published()["throughput"]
    numbers = [said["small_first"], said["qos"], None, said["small_task"], said["large_task"]]
    rows: list[tuple[Cell, ...]] = [
        ("published", "", None, None, *(None if it is None else it / 100 for it in numbers))
    ]
    for layout in QUICK:
        times = (("preset", found), ("ours", ours), ("preset, doubled", longer))
        rows += [(name, layout.link, *_headline(which[layout])) for name, which in times]
    return Section(
        title="How the answer depends on the kernels",
        text=[
            _sentence(found, ours, longer),
            "The table has throughput over round-robin with the preset times, with ours, and with "
            "the preset times doubled. The numbers are means of the 28 pairs, with two GPUs a "
            "task on both switches.",
        ],
        tables=[
            StudyTable(
                title="Throughput over round-robin, by the times of kernels",
                columns=("kernels", "link", "mean demand", "pairs above 1, of 28", *HEADS),
                rows=tuple(rows),
                formats=("", "", ".2f", "", *("+.1%",) * len(HEADS)),
            ),
            pair_table("Throughput of every pair over round-robin, with our kernels", ours),
        ],
    )


def _perform(kernels: Kernels, window: float, progress: Progress | None, stage: str) -> Found:
    return {
        layout: perform(layout, window, kernels=kernels, progress=progress, stage=stage)
        for layout in QUICK
    }


def _headline(pairs: Sequence[Pair]) -> list[Cell]:
    return [
        fmean(pair.demand for pair in pairs),
        sum(pair.demand > 1 for pair in pairs),
        totals(pairs, "small first"),
        totals(pairs, "QoS"),
        totals(pairs, "large first"),
        gains(pairs, "small first", SMALL),
        gains(pairs, "small first", LARGE),
    ]


def _sentence(found: Found, ours: Found, longer: Found) -> str:
    root, ports = QUICK
    first = [totals(which[root], "small first") for which in (ours, found, longer)]
    asked = [fmean(pair.demand for pair in which[root]) for which in (ours, found, longer)]
    large = [gains(ours[layout], "small first", LARGE) for layout in (root, ports)]
    said = published()["throughput"]
    return (
        "The shorter the kernels, the more they ask of the bus, and the more it matters who goes "
        f"first. Take one link to the root. Tasks ask for {asked[0]:.2f} of it with our kernels, "
        f"{asked[1]:.2f} with the preset and {asked[2]:.2f} with twice that. Small first gains "
        f"{first[0]:.1%}, {first[1]:.1%} and {first[2]:.1%}. The order of the policies stays, and "
        f"the published {said['small_first']} % lies between both readings of Fig. 2 with each. "
        "So sharing decides more than the length of kernels. Kernels decide whether the large "
        f"task of a pair pays. With ours it loses {-large[0]:.1%} and {-large[1]:.1%} under small "
        f"first, where the paper has {-said['large_task']} %. With longer ones the bus has idle "
        "times, and the task makes up for its waits then."
    )
