"""Computes Fig. 4: how far below the ideal the lowest free ids leave training jobs on a DGX-1V."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from linkwright import Allocator, Pattern, System
from linkwright.plots.jobs import allocation_quality
from linkwright.quartiles import Quartiles
from linkwright.studies.mapa.mix import Progress, fragmentation_jobs, played
from linkwright.studies.mapa.published import published
from linkwright.studies.mapa.readings import Reading
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.summaries.policies import job_rows

__all__ = ["fragmentation"]

MACHINE = "dgx1-v100"


def fragmentation(
    seeds: Sequence[int], chosen: Reading, progress: Progress | None = None
) -> Section:
    """The section on Fig. 4; the first seed's jobs are drawn."""
    machine = System(MACHINE)
    count = published()["fragmentation"]["jobs"]
    results = []
    for done, seed in enumerate(seeds, start=1):
        jobs = fragmentation_jobs(seed, count, chosen)
        results.append(played(machine, jobs, "baseline", chosen))
        if progress is not None:
            progress("fragmentation", done, len(seeds))
    by_seed = [_qualities(job_rows(result)) for result in results]
    return Section(
        title="Fig. 4: fragmentation under the lowest free ids",
        text=[
            f"{count} training jobs of two to five GPUs, uniform over six networks, run "
            f"({chosen.discipline}) on `{MACHINE}` under `baseline`. The quality of an allocation "
            "is the bandwidth of its ring's pairs, as a share of the best ring on the idle "
            f"machine. The tables have seed {seeds[0]}, and the range over {len(seeds)} seeds.",
        ],
        tables=[
            _example_table(machine),
            _statement_table(by_seed),
            _size_table(by_seed[0]),
        ],
        figures={"fragmentation": allocation_quality(results[:1])},
    )


def _qualities(rows: Sequence[dict[str, float]]) -> dict[int, list[float]]:
    """Sorts quality by job size."""
    by_size: dict[int, list[float]] = {}
    for row in rows:
        quality = row["aggregated_bandwidth"] / row["ideal_aggregated_bandwidth"]
        by_size.setdefault(int(row["gpu_count"]), []).append(quality)
    return dict(sorted(by_size.items()))


def _example_table(machine: System) -> StudyTable:
    entry = published()["fragmentation"]
    allocator = Allocator(machine, bandwidth_model="published", ties="published")
    rows: list[tuple[Cell, ...]] = []
    for kind in ("example", "ideal"):
        gpus = [number - 1 for number in entry[f"{kind}_gpus"]]
        match = allocator.best_placement(Pattern("ring", len(gpus)), gpus)
        double, single, pcie = match.links
        links = f"{double} double, {single} single, {pcie} PCIe"
        named = ", ".join(str(gpu) for gpu in entry[f"{kind}_gpus"])
        reproduced = match.aggregated_bandwidth
        rows.append((kind, named, links, entry[f"{kind}_bandwidth"], reproduced))
    return StudyTable(
        title="The example of Section 2.2: three GPUs on a DGX-1V",
        columns=(
            "allocation",
            "GPUs, from one",
            "links, reproduced",
            "published (GB/s)",
            "reproduced (GB/s)",
        ),
        rows=tuple(rows),
        formats=("", "", "", ".0f", ".0f"),
    )


def _statement_table(by_seed: Sequence[dict[int, list[float]]]) -> StudyTable:
    entry = published()["fragmentation"]
    size = entry["gpus"]
    quartiles = [Quartiles.of(qualities[size]) for qualities in by_seed]
    suboptimal = [
        sum(quality < 1 for of_size in qualities.values() for quality in of_size)
        / sum(map(len, qualities.values()))
        for qualities in by_seed
    ]
    upper = [each.upper for each in quartiles]
    lower = [each.lower for each in quartiles]
    most, least = entry["upper_quartile_at_most"], entry["lower_quartile_at_most"]
    return StudyTable(
        title="The paper's sentences on Fig. 4",
        columns=("statement", "published", "reproduced", "over the seeds", "holds in"),
        rows=(
            _row(
                f"upper quartile of {size}-GPU jobs",
                f"at most {most:.0%}",
                upper,
                [value <= most for value in upper],
            ),
            _row(
                f"lower quartile of {size}-GPU jobs",
                f"at most {least:.0%}",
                lower,
                [value <= least for value in lower],
            ),
            _row(
                "jobs below the ideal",
                "a large majority",
                suboptimal,
                [value > 0.5 for value in suboptimal],
            ),
        ),
        note=(
            "The model's machine is less fragmented than the paper's. Three GPUs have one of "
            "seven qualities, between 100 % (125 GB/s) and 39 % (49 GB/s), so a quartile jumps. "
            "The upper one is 80 %, as published, with about every second seed, and the lower one "
            "mostly a step or two above. Fragments depend on which jobs end when. The paper's run "
            "times were measured, and its list is unpublished."
        ),
    )


def _row(what: str, said: str, values: Sequence[float], holds: Sequence[bool]) -> tuple[Cell, ...]:
    spread = f"{min(values):.0%} to {max(values):.0%}, median {median(values):.0%}"
    return what, said, f"{values[0]:.0%}", spread, f"{sum(holds)} of {len(holds)}"


def _size_table(qualities: dict[int, list[float]]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for size, values in qualities.items():
        five = Quartiles.of(values)
        below = sum(value < 1 for value in values) / len(values)
        rows.append((size, len(values), five.minimum, five.lower, five.median, five.upper, below))
    return StudyTable(
        title="Share of the ideal aggregated bandwidth by job size, reproduced",
        columns=("GPUs", "jobs", "minimum", "25 %", "median", "75 %", "jobs below the ideal"),
        rows=tuple(rows),
        formats=("", "", ".0%", ".0%", ".0%", ".0%", ".0%"),
    )
