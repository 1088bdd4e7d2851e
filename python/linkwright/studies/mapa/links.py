"""Computes Figs. 2 and 5: the worth of links, and the data that networks send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow

from linkwright import System, expect
from linkwright.scenario import Job, workloads
from linkwright.studies.mapa.charts import LinkPoint, bandwidth_by_size
from linkwright.studies.mapa.published import published
from linkwright.studies.mapa.readings import Reading, as_read, networks
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["all_reduce_by_size", "data_of_networks", "speedup_by_link"]

MACHINE = "dgx1-v100"
SIZES = tuple(10**power for power in range(3, 10))
# A link is made use of from half of what it reaches in the end.
USED = 0.5


def pairs() -> dict[str, list[int]]:
    """Returns two GPUs for each class of links, counted from zero."""
    return {
        name: [number - 1 for number in gpus]
        for name, gpus in published()["all_reduce"]["pairs"].items()
    }


def _bus_bandwidths(sizes: Sequence[int]) -> dict[str, list[float]]:
    """Returns the bus bandwidth of an all-reduce in GB/s by class of links, one for each size."""
    machine, release = System(MACHINE), published()["all_reduce"]["nccl"]
    return {
        name: [
            row["bus_bandwidth"] for row in expect(machine, gpus, "all-reduce", sizes, nccl=release)
        ]
        for name, gpus in pairs().items()
    }


def all_reduce_by_size() -> Section:
    """Writes the section on Fig. 2(a)."""
    entry = published()["all_reduce"]
    found = _bus_bandwidths(SIZES)
    rows = [(size, *(found[name][at] for name in found)) for at, size in enumerate(SIZES)]
    ordered = [size for size, double, single, pcie in rows if double > single > pcie]
    used = {
        name: next(s for s, value in zip(SIZES, values, strict=True) if value > USED * values[-1])
        for name, values in found.items()
    }
    bound = int(entry["data_beyond"])
    at = SIZES.index(bound)
    double, single = found["double"][at], found["single"][at]
    statements: list[tuple[Cell, ...]] = [
        ("2.1", "smaller sizes have less bandwidth", _all_rise(found), "at every step, each link"),
        (
            "2.1",
            "links keep their order at every size",
            "yes" if len(ordered) == len(SIZES) else "no",
            f"at {len(ordered)} of {len(SIZES)} sizes, from {_power(min(ordered))} B on",
        ),
        (
            "2.3",
            f"data must exceed {_power(bound)} B to make use of fast links",
            "yes"
            if double / single < 1.1 and min(used["double"], used["single"]) > bound
            else "no",
            f"there two links are {double / single - 1:.1%} ahead of one; half of what they reach "
            f"comes by {_power(used['double'])} B",
        ),
    ]
    points = [
        LinkPoint(name, size, value)
        for name, values in found.items()
        for size, value in zip(SIZES, values, strict=True)
    ]
    return Section(
        title="Fig. 2a: all-reduce by size and link",
        text=[
            f"An all-reduce runs on two GPUs of `{MACHINE}`. It takes the algorithm and protocol "
            f"that NCCL {entry['nccl']}, the paper's, would choose. The clock of collectives "
            "times it, as `linkwright collective expect` does. The figure draws its values and "
            "prints none.",
        ],
        tables=[
            StudyTable(
                title="Bus bandwidth of an all-reduce, reproduced (GB/s)",
                columns=("size (B)", "two NVLinks", "one NVLink", "PCIe"),
                rows=tuple((_power(size), *values) for size, *values in rows),
                formats=("", ".2f", ".2f", ".2f"),
                note=(
                    "The clock's terms are fitted to other measurements, of nccl-tests: see "
                    "[how far off it is](../concepts/calibration.md). Nothing here is the paper's."
                ),
            ),
            StudyTable(
                title="The paper's sentences on Fig. 2a",
                columns=("source", "statement", "holds", "reproduced"),
                rows=tuple(statements),
            ),
        ],
        figures={"all-reduce-by-link": bandwidth_by_size(points)},
    )


def _all_rise(found: dict[str, list[float]]) -> str:
    rises = all(values == sorted(values) for values in found.values())
    return "yes" if rises else "no"


def _power(size: int) -> str:
    return f"10^{len(str(size)) - 1}"


def speedup_by_link(chosen: Reading) -> Section:
    """Writes the section on Fig. 2(b): two GPUs on each class of links."""
    entry = published()["link_speedup"]
    catalogue = {row["workload"]: row for row in pyarrow.table(workloads()).to_pylist()}
    at = {name: values[0] for name, values in _bus_bandwidths([SIZES[-1]]).items()}
    rows: list[tuple[Cell, ...]] = []
    felt: dict[str, float] = {}
    for name in networks():
        job = as_read(Job(name, name, 2), chosen)
        pcie, single, double = (job.run_time(at[link]) for link in ("pcie", "single", "double"))
        said = f"at most {entry['most']:g}" if name == entry["network"] else None
        kind = "sensitive" if catalogue[name]["sensitive"] else "insensitive"
        rows.append((name, kind, said, pcie / double, single / double, double))
        if kind == "sensitive":
            felt[name] = pcie / double
    return Section(
        title="Fig. 2b: networks by link",
        text=[
            "Two GPUs on each class of links, at the bus bandwidths of large all-reduces above. "
            + (
                "In this reading one factor calibrates the computing times of all networks. With "
                "it VGG-16 has the published slope at MAPA's own bandwidths of two GPUs. So the "
                "row of VGG-16 is no check. Insensitive networks are taken to be flat."
                if chosen.by_slope
                else "Computing times are calibrated on seconds, not on this figure."
            ),
        ],
        tables=[
            StudyTable(
                title="Times as long as on two NVLinks",
                columns=(
                    "network",
                    "",
                    "PCIe, published",
                    "PCIe",
                    "one NVLink",
                    "on two NVLinks (s)",
                ),
                rows=tuple(rows),
                formats=("", "", "", ".2f", ".2f", ".0f"),
                note=(
                    "By Section 2.3 sensitive networks slow down by more than "
                    f"{entry['slower_by_more_than']:.0%} on a fragmented allocation. "
                    + _slower(felt, 1 + entry["slower_by_more_than"])
                ),
            )
        ],
    )


def _slower(felt: Mapping[str, float], bound: float) -> str:
    enough = [name for name, factor in felt.items() if factor > bound]
    return f"Over PCIe {len(enough)} of {len(felt)} do: {', '.join(enough)}."


def data_of_networks() -> Section:
    """Writes the section on Fig. 5."""
    calls, sizes = published()["collective_calls"], published()["data_sizes"]
    catalogue = {row["workload"]: row for row in pyarrow.table(workloads()).to_pylist()}
    rows: list[tuple[Cell, ...]] = []
    for name in networks():
        each = (calls[name] - 1) / calls["iterations"]
        mean = catalogue[name]["bytes_per_iteration"] / each
        said, holds = "", ""
        if name in sizes["above"]:
            said, holds = "at least 10^5", "yes" if mean >= sizes["bound"] else "no"
        if name in sizes["below"]:
            said, holds = "below 10^5", "yes" if mean < sizes["bound"] else "no"
        rows.append((name, calls[name], each, mean, said, holds))
    return Section(
        title="Fig. 5: sizes and calls",
        text=[
            "Five of the six counts of calls are exactly 10,000 times the layers with parameters, "
            "plus one. We read them as calls of a run of 10,000 iterations. Each iteration calls "
            "once a layer, and the run once at its start "
            "([why](../decisions/0011-iterations.md)). The mean size is all gradients over the "
            "calls of an iteration.",
        ],
        tables=[
            StudyTable(
                title="Collectives of the six networks",
                columns=(
                    "network",
                    "calls, published",
                    "in an iteration",
                    "mean size (B)",
                    "mean size, published (B)",
                    "holds",
                ),
                rows=tuple(rows),
                formats=("", ",", ",.1f", ",.0f", "", ""),
                note=(
                    "GoogLeNet's mean is above 10^5 bytes, too, with its auxiliary heads or "
                    "without them (437 kB). The paper says that the network does not feel its "
                    "links because its mean is below that. CaffeNet has AlexNet's layers and "
                    "gradients, and yet reads as insensitive."
                ),
            )
        ],
    )
