"""The tables of what choices are worth, as they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwright.runs.run import Sheet
from linkwright.summaries.intervals import estimate, in_percent
from linkwright.summaries.measures import MEASURES
from linkwright.summaries.time_parts import PARTS_NOTE
from linkwright.texts import counted

if TYPE_CHECKING:
    from linkwright.runs.worth.run import Worth

__all__ = ["better_by", "came_to", "held"]


# The measures of a day's parts. The others follow in a table of their own.
PARTS = (
    "wait",
    "run_time",
    "job_time",
    "makespan",
    "throughput",
    "gpu_seconds",
    "gpu_energy",
    "load",
)


def came_to(worth: Worth) -> list[Sheet]:
    """Shows the means of each variant over seeds: where its time goes, then the rest."""
    count = counted(len(worth.seeds), "seed")
    parts = _means(
        worth,
        PARTS,
        title=f"Means over {count}",
        note=f"{PARTS_NOTE} {worth.energy_note}".strip(),
    )
    rest = _means(
        worth,
        [it.name for it in MEASURES if it.name not in PARTS],
        title="The slowest jobs and the use of GPUs and links",
        note="GPUs: the share given to jobs until the last one ended; links: the share of their "
        "capacity that copies from hosts and all-reduces used.",
    )
    return [parts, rest]


def _means(worth: Worth, names: Sequence[str], *, title: str, note: str) -> Sheet:
    """The means of some measures, of those that any variant has."""
    shown = [
        it
        for it in MEASURES
        if it.name in names
        and any(value is not None for name in worth.found for value in worth.values(name, it.name))
    ]
    rows = []
    for name in worth.found:
        cells = [worth.name_of(name)]
        for measure in shown:
            known = estimate(worth.values(name, measure.name))
            cells.append("none" if known is None else _cell(known.mean * measure.factor))
        rows.append(cells)
    return Sheet(["variant", *(it.head for it in shown)], rows, ["variant"], title, note)


def better_by(worth: Worth, names: Sequence[str]) -> Sheet:
    """By how much each is better than the reference, with its interval, in these measures."""
    measures = [it for it in MEASURES if it.name in names]
    gains = {(gain.what, gain.measure): gain.share for gain in worth.gains}
    rows = []
    for what in dict.fromkeys(gain.what for gain in worth.gains):
        cells = [worth.name_of(what)]
        for measure in measures:
            known = gains.get((what, measure.name))
            cells += ["none", ""] if known is None else [in_percent(known.mean), known.interval]
        rows.append(cells)
    heads = ["variant"]
    for measure in measures:
        short = measure.head.replace("\n", " ")
        name = measure.what if len(measures) < 2 else short.removesuffix(" h")
        heads += [f"{name}\n%", "95 % interval\n%"]
    return Sheet(
        heads,
        rows,
        ["variant"],
        title=f"Better than {worth.reference} by",
        note=f"Shares of what it is under {worth.reference}, paired by seed; below zero is "
        "worse. "
        + (
            "A choice alone is that key as the scenario has it, all else as in the reference. "
            if worth.choices
            else ""
        )
        + "Intervals: bootstrap over seeds.",
    )


def held(worth: Worth) -> list[Sheet]:
    """How many GPUs of a server jobs of several have, where there are such jobs."""
    counts = {name: worth.held(name) for name in worth.found}
    sizes = sorted({gpus for of in counts.values() for gpus in of})
    if not sizes:
        return []
    shares: dict[str, tuple[str, ...]] = {}
    for name, of in counts.items():
        whole = sum(of.values()) or 1
        shares[worth.name_of(name)] = tuple(
            f"{100 * of.get(gpus, 0) / whole:.1f}" for gpus in sizes
        )
    if len(set(shares.values())) == 1:
        shares = dict.fromkeys(["every variant"], next(iter(shares.values())))
    rows = [[name, *cells] for name, cells in shares.items()]
    return [
        Sheet(
            ["variant", *(f"{gpus}\n%" for gpus in sizes)],
            rows,
            ["variant"],
            title="GPUs held per server by jobs of several GPUs",
            note="Of these jobs and the servers of each, the share with this number of GPUs there.",
        )
    ]


def _cell(value: float) -> str:
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
