"""Compares steps of training under Blink with those under NCCL, on every unique allocation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import geometric_mean

from linkwright import System
from linkwright.recipes import Recipe
from linkwright.runs.training.play import play_step
from linkwright.studies.blink.allocations import MACHINES, unique
from linkwright.studies.blink.epochs import BATCH, NETWORKS
from linkwright.studies.blink.measure import BASELINES, OF_ITS_TIME, Progress, named, timed
from linkwright.studies.blink.published import published
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.summaries.steps import collectives_of
from linkwright.training import NeuralNetwork

__all__ = ["Saved", "Step", "end_to_end", "saved", "step_on"]

# Blink's own way to trees, which the paper measured.
BLINK = "blink"
# How frameworks reduce gradients: in buckets while others are computed, or all at the end.
READINGS = {"while computing": True, "after computing": False}
# A quick study plays each sixteenth allocation.
QUICK_EVERY = 16


@dataclass(frozen=True)
class Step:
    """Holds what a step takes, in seconds.

    Attributes:
        time: From its start to its end.
        communication: In which an all-reduce runs, in the mean over GPUs.
    """

    time: float
    communication: float

    @property
    def share(self) -> float:
        """Gives the part of the step in which an all-reduce runs."""
        return self.communication / self.time


@dataclass(frozen=True)
class Saved:
    """Compares steps under Blink with the same under a baseline. Means are geometric.

    Attributes:
        most: Times less communication.
        mean: The same.
        most_of_step: Part of a step's time.
        mean_of_step: The same.
    """

    most: float
    mean: float
    most_of_step: float
    mean_of_step: float


@cache
def step_on(
    network: str, preset: str, gpus: tuple[int, ...], communication: str, overlap: bool
) -> Step:
    """Plays a step on these GPUs of a machine."""
    recipe = Recipe(NeuralNetwork.find(network), BATCH * len(gpus), overlap=overlap)
    played = play_step(recipe, System(preset), gpus, communication)
    return Step(played.time, collectives_of(played.run).running)


def saved(pairs: Iterable[tuple[Step, Step]]) -> Saved:
    """Sums up pairs of a baseline's step and ours."""
    found = list(pairs)
    communication = [theirs.communication / ours.communication for theirs, ours in found]
    steps = [ours.time / theirs.time for theirs, ours in found]
    return Saved(
        max(communication),
        geometric_mean(communication),
        1 - min(steps),
        1 - geometric_mean(steps),
    )


def end_to_end(*, quick: bool = False, progress: Progress | None = None) -> Section:
    """Makes the section on training end to end.

    Args:
        quick: One network and few allocations.
        progress: Called with the stage, the allocations done, and those in all.
    """
    networks = NETWORKS[:1] if quick else NETWORKS
    every = {preset: unique(preset)[:: QUICK_EVERY if quick else 1] for preset in MACHINES}
    places = [(preset, gpus) for preset, found in every.items() for gpus in found]
    for done, (preset, gpus) in enumerate(places, 1):
        for network in networks:
            for overlap in READINGS.values():
                for communication in (BLINK, *BASELINES):
                    step_on(network, preset, gpus, communication, overlap)
        if progress is not None:
            progress("training end to end", done, len(places))
    counts = " and ".join(f"{len(found)} of `{preset}`" for preset, found in every.items())
    return Section(
        title="Training end to end on every unique allocation",
        text=[
            f"`linkwright train` plays each step, with {BATCH} pictures on each GPU and 32-bit "
            f"numbers, on {counts}. Communication is the time in which an all-reduce runs. "
            "Gradients go in buckets while others are computed, as PyTorch sends them, or all "
            "after computing. The savings are those of `blink`.",
        ],
        tables=[_claims(networks, every), _by_network(networks, every), _steps(networks, every)],
    )


_Places = Mapping[str, Sequence[tuple[int, ...]]]


def _claims(networks: Sequence[str], every: _Places) -> StudyTable:
    entry = published()["training"]
    rows: list[tuple[Cell, ...]] = []
    for preset, places in every.items():
        for reading, overlap in READINGS.items():
            for baseline in BASELINES:
                it = saved(
                    (step_on(network, preset, gpus, baseline, overlap), ours)
                    for network in networks
                    for gpus in places
                    for ours in [step_on(network, preset, gpus, BLINK, overlap)]
                )
                said: list[Cell] = [None, None, None]
                if preset == MACHINES[0] and baseline == OF_ITS_TIME:
                    said = [entry["maximum"], entry["mean"], entry["step_maximum"]]
                cells = [said[0], it.most, said[1], it.mean, said[2], it.most_of_step]
                rows.append((preset, reading, baseline, *cells, it.mean_of_step))
    return StudyTable(
        title="Savings of training: most and geometric mean, published beside reproduced",
        columns=(
            "machine",
            "gradients",
            "against",
            "communication, most, published",
            "reproduced",
            "mean, published",
            "reproduced ",
            "of a step, most, published",
            "reproduced  ",
            "mean, reproduced",
        ),
        rows=tuple(rows),
        formats=("", "", "", *(".2f",) * 4, *(".1%",) * 3),
        note=_note(networks, every),
    )


def _note(networks: Sequence[str], every: _Places) -> str:
    preset = MACHINES[0]
    by_links: dict[bool, list[float]] = {True: [], False: []}
    shares = []
    for gpus in every[preset]:
        for network in networks:
            theirs, ours = (
                step_on(network, preset, gpus, name, True) for name in (OF_ITS_TIME, BLINK)
            )
            less = theirs.communication / ours.communication
            by_links[_goes_over_pcie(preset, gpus)].append(less)
            shares.append(theirs.share)
    told = "; ".join(
        f"{'without' if over_pcie else 'with'} a ring of NVLinks {geometric_mean(values):.2f}"
        for over_pcie, values in by_links.items()
        if values
    )
    return (
        f"Against `{OF_ITS_TIME}` on `{preset}` we find less communication. The factors in the "
        f"mean are these: {told}. A step gains no more than the communication that computing does "
        f"not hide. Under `{OF_ITS_TIME}` an all-reduce runs in {min(shares):.0%} to "
        f"{max(shares):.0%} of a step. The paper does not say its batches, and fewer pictures on "
        "a GPU leave a greater share to communication. Over PCIe NCCL reached less than the model "
        "gives it, as the tables on all-reduce show."
    )


@cache
def _goes_over_pcie(preset: str, gpus: tuple[int, ...]) -> bool:
    [found] = timed(System(preset), gpus, "all-reduce", OF_ITS_TIME)
    return found.links == "pcie"


def _by_network(networks: Sequence[str], every: _Places) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for network in networks:
        for preset, places in every.items():
            for reading, overlap in READINGS.items():
                pairs = [
                    (
                        step_on(network, preset, gpus, OF_ITS_TIME, overlap),
                        step_on(network, preset, gpus, BLINK, overlap),
                    )
                    for gpus in places
                ]
                theirs = [step.share for step, _ in pairs]
                it = saved(pairs)
                mean = sum(theirs) / len(theirs)
                cells = (mean, max(theirs), it.most, it.mean, it.most_of_step, it.mean_of_step)
                rows.append((network, preset, reading, *cells))
    return StudyTable(
        title=f"The same by network, against {OF_ITS_TIME}, reproduced",
        columns=(
            "network",
            "machine",
            "gradients",
            f"communication's share under {OF_ITS_TIME}, mean",
            "most",
            "times less communication, most",
            "mean",
            "step's time saved, most",
            "mean ",
        ),
        rows=tuple(rows),
        formats=("", "", "", ".0%", ".0%", ".2f", ".2f", ".1%", ".1%"),
    )


def _steps(networks: Sequence[str], every: _Places) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for preset, places in every.items():
        for gpus in places:
            cells: list[Cell] = []
            for network in networks:
                theirs, ours = (
                    step_on(network, preset, gpus, name, True).time for name in (OF_ITS_TIME, BLINK)
                )
                cells += [theirs * 1e3, 1 - ours / theirs]
            rows.append((preset, named(gpus), *cells))
    heads = [
        head for network in networks for head in (f"{network} (ms)", f"{network}, saved by {BLINK}")
    ]
    return StudyTable(
        title=f"Time of a step under {OF_ITS_TIME}, gradients while computing, on each allocation",
        columns=("machine", "GPUs", *heads),
        rows=tuple(rows),
        formats=("", "", *(".1f", ".1%") * len(networks)),
    )
