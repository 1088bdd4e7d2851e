"""Measures the cost of collectives in training on every unique allocation of a DGX-1V."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import pyarrow

from linkwright import System
from linkwright.names import AlgorithmName
from linkwright.scenario import workloads
from linkwright.studies.blink.allocations import MACHINES, unique
from linkwright.studies.blink.measure import (
    BASELINES,
    OF_ITS_TIME,
    Progress,
    Timed,
    maximum_and_mean,
    timed,
)
from linkwright.studies.blink.one_server import OnAllocation
from linkwright.studies.blink.published import measured_pcie, published
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["Network", "networks", "training"]

# The catalogue's first six workloads train a network; the others send no gradients.
TRAINED = 6
QUICK = 2


@dataclass(frozen=True)
class Network:
    """Describes a network in training.

    Attributes:
        name: Its name, and those of networks with the same gradients.
        gradient_bytes: The bytes that an iteration must reduce.
        compute: Seconds of computing in an iteration.
    """

    name: str
    gradient_bytes: int
    compute: float


def networks() -> list[Network]:
    """Returns the networks of the catalogue of workloads, those of equal numbers once."""
    found: dict[tuple[int, float], list[str]] = {}
    for row in pyarrow.table(workloads()).to_pylist()[:TRAINED]:
        key = row["bytes_per_iteration"], row["compute_per_iteration"]
        found.setdefault(key, []).append(row["workload"])
    return [Network(", ".join(names), *key) for key, names in found.items()]


def training(
    contestants: Sequence[AlgorithmName], *, quick: bool = False, progress: Progress | None = None
) -> Section:
    """Writes the section on data-parallel training."""
    preset = MACHINES[0]
    machine = System(preset)
    chosen = networks()[: QUICK if quick else None]
    sizes = [network.gradient_bytes for network in chosen]
    found: dict[str, list[OnAllocation]] = {network.name: [] for network in chosen}
    for done, gpus in enumerate(unique(preset), 1):
        by_algorithm: dict[str, list[Timed]] = {
            name: timed(machine, gpus, "all-reduce", name, sizes)
            for name in (*contestants, *BASELINES)
        }
        for at, network in enumerate(chosen):
            times = {name: timings[at] for name, timings in by_algorithm.items()}
            found[network.name].append(OnAllocation("all-reduce", gpus, times))
        if progress is not None:
            progress("training", done, len(unique(preset)))
    return Section(
        title="Communication in data-parallel training",
        text=[
            "Every iteration reduces all gradients at once, after computing, so nothing overlaps. "
            "Gradients and computing times come from the catalogue of workloads, on each of the "
            f"{len(unique(preset))} unique allocations of `{preset}`.",
        ],
        tables=[_reductions(chosen, found, contestants), _shares(chosen, found, contestants)],
    )


def _reductions(
    chosen: Sequence[Network],
    found: dict[str, list[OnAllocation]],
    contestants: Sequence[AlgorithmName],
) -> StudyTable:
    entry = published()["training"]
    rate, _ = measured_pcie()
    rows: list[tuple[Cell, ...]] = []
    for algorithm in contestants:
        for baseline in BASELINES:
            plain: list[float] = []
            measured: list[float] = []
            for network in chosen:
                for each in found[network.name]:
                    size = network.gradient_bytes
                    plain.append(each.speedup(algorithm, baseline))
                    measured.append(each.speedup_with_measured_pcie(algorithm, baseline, size))
            (most, mean), (real_most, real_mean) = map(maximum_and_mean, (plain, measured))
            cells: list[Cell] = [None, most, None, None, mean, None]
            if baseline == OF_ITS_TIME:
                cells = [entry["maximum"], most, real_most, entry["mean"], mean, real_mean]
            rows.append((algorithm, baseline, *cells))
    return StudyTable(
        title="Less communication time: most and geometric mean over networks and allocations",
        columns=(
            "algorithm",
            "against",
            "most, published",
            "reproduced",
            f"at {rate:g} GB/s PCIe",
            "mean, published",
            "reproduced ",
            f"at {rate:g} GB/s PCIe ",
        ),
        rows=tuple(rows),
        formats=("", "", *(".2f",) * 6),
        note=(
            "Ours part for the reason given above for all-reduce, since all gradients of an "
            "iteration go at once here. Frameworks send them in buckets, and the paper measured "
            "whole runs."
        ),
    )


def _shares(
    chosen: Sequence[Network],
    found: dict[str, list[OnAllocation]],
    contestants: Sequence[AlgorithmName],
) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for network in chosen:
        cells: list[Cell] = []
        for name in (*contestants, *BASELINES):
            shares = [
                each.found[name].seconds / (each.found[name].seconds + network.compute)
                for each in found[network.name]
            ]
            cells += [fmean(shares), max(shares)]
        size = network.gradient_bytes / 1e6
        rows.append((network.name, size, network.compute * 1e3, *cells))
    heads = [
        head for name in (*contestants, *BASELINES) for head in (f"{name}, mean", f"{name}, most")
    ]
    return StudyTable(
        title="Communication's share of an iteration, over all allocations, reproduced",
        columns=("network", "gradients (MB)", "computing (ms)", *heads),
        rows=tuple(rows),
        formats=("", ".0f", ".1f", *(".0%",) * len(heads)),
        note=(
            "Computing times are calibrated to MAPA's run times. So the shares are those of such "
            "runs, not of Blink's."
        ),
    )
