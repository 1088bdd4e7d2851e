"""Plays training on two servers with parts of a job and one network interface each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from linkwright import System
from linkwright.recipes import Recipe
from linkwright.runs.training.play import play_step
from linkwright.studies.blink.end_to_end import Step
from linkwright.studies.blink.epochs import BATCH, NETWORKS
from linkwright.studies.blink.measure import THREE_PHASE, Progress
from linkwright.studies.blink.published import published
from linkwright.studies.blink.servers import MACHINE, PLACEMENTS, RIVALS
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.summaries.steps import collectives_of
from linkwright.training import NeuralNetwork

__all__ = ["one_interface", "training_on_two_servers"]

PLANNERS = (THREE_PHASE, *RIVALS)


@cache
def one_interface() -> System:
    """Makes the server with the first of its network interfaces alone."""
    text = System(MACHINE).to_toml()
    text = re.sub(r', "mlx5_[1-9]"', "", text)
    text = re.sub(r'\["mlx5_[1-9]", "PCIE\d"\],?\s*', "", text)
    return System.from_text(text, name=f"{MACHINE} with one interface")


def step_between(network: str, rate: str, planner: str) -> Step:
    """Plays a step on the lowest ids of two servers that a network of that rate joins."""
    server = one_interface()
    system = System(server, 2, network=rate)
    first, second = PLACEMENTS["lowest ids"]
    gpus = [*first, *(gpu + server.gpu_count for gpu in second)]
    recipe = Recipe(NeuralNetwork.find(network), BATCH * len(gpus))
    played = play_step(recipe, system, gpus, planner)
    return Step(played.time, collectives_of(played.run).running)


def training_on_two_servers(*, quick: bool = False, progress: Progress | None = None) -> Section:
    """Makes the section on training on two servers.

    Args:
        quick: One network and the first and the last rate.
        progress: Called with the stage, the networks done, and those in all.
    """
    rates: Sequence[str] = published()["servers"]["rates"]
    rates = [rates[0], rates[-1]] if quick else rates
    networks = NETWORKS[:1] if quick else NETWORKS
    rows: list[tuple[Cell, ...]] = []
    for done, network in enumerate(networks, 1):
        for rate in rates:
            found = {planner: step_between(network, rate, planner) for planner in PLANNERS}
            ours = found[THREE_PHASE]
            pictures = BATCH * sum(map(len, PLACEMENTS["lowest ids"])) / ours.time
            times = [step.time * 1e3 for step in found.values()]
            saved = [1 - ours.time / found[rival].time for rival in RIVALS]
            rows.append((network, rate, pictures, ours.share, *times, *saved))
        if progress is not None:
            progress("training on two servers", done, len(networks))
    interfaces = published()["servers"]["interfaces"]
    return Section(
        title="Training on two DGX-1V with five and three GPUs",
        text=[
            f"Steps are as above, with {BATCH} pictures on each GPU. The GPUs are the lowest ids "
            f"of two `{MACHINE}` that have {interfaces} network interface each, as the authors' "
            "had. Gradients are reduced in buckets while others are computed.",
        ],
        tables=[
            StudyTable(
                title="A step on two servers, reproduced",
                columns=(
                    "network",
                    "rate",
                    f"{THREE_PHASE} (pictures/s)",
                    "its all-reduces, of a step",
                    *(f"{planner} (ms)" for planner in PLANNERS),
                    *(f"saved against {rival}" for rival in RIVALS),
                ),
                rows=tuple(rows),
                formats=("", "", ".0f", ".0%", *(".1f",) * len(PLANNERS), *(".1%",) * len(RIVALS)),
                note=(
                    "Only a figure shows the published gain. The authors measured 40 Gb/s and "
                    "projected 100 and 400. Here PCIe 3 between a GPU and its interface limits "
                    "rates beyond 100 Gb/s, so nothing gains from 400."
                ),
            )
        ],
    )
