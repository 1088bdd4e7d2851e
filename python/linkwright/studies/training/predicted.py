"""What Linkwright says of a row: the parts of an epoch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from linkwright.network import ClusterRun
from linkwright.recipes import Recipe
from linkwright.runs.training.play import Played, play_step
from linkwright.studies.training.constants import Constants
from linkwright.studies.training.published import Epoch
from linkwright.studies.training.terms import changed
from linkwright.studies.training.workloads import WORKLOADS, gpus_of, loaded, machine

__all__ = ["FIRST", "SECOND", "Predicted", "play", "predict", "steps_of"]

# What the first three systems were measured with, and dgx1-v100.
FIRST = "mxnet-0-11"
SECOND = "mxnet-18-04"


@dataclass(frozen=True)
class Predicted:
    """An epoch, in seconds.

    Attributes:
        run: From its start to its end.
        computing: Kernels of the GPU that has most of them.
        communication: Copies, those from and to the host included, one after another.
        peer_copies: Those between GPUs.
    """

    run: float
    computing: float
    communication: float
    peer_copies: float


@lru_cache(maxsize=4096)
def play(
    workload: tuple[str, str],
    batch: int,
    system: str,
    gpus: int,
    way: str,
    framework: str,
    terms: str,
    overlap: bool = True,
) -> Played:
    """A step with so many samples on each GPU."""
    recipe = Recipe(
        loaded(*workload),
        batch * gpus,
        optimizer="momentum",
        framework=framework,
        overlap=overlap,
        terms=terms,
    )
    return play_step(recipe, machine(system), gpus_of(system, gpus), way)


def steps_of(row: Epoch, constants: Constants) -> float:
    """Steps of a row's epoch."""
    workload = WORKLOADS[row.dataset, row.network]
    samples: float | None = workload.samples
    if samples is None:
        batches = constants.batches[row.network] if row.table == "2.5" else constants.synthetic
        samples = batches * row.batch
    return samples / (row.batch * row.gpus)


def predict(row: Epoch, terms: str, constants: Constants) -> Predicted:
    """The epoch of a row of Tables 2.4 to 2.6."""
    what = (row.dataset, row.network), row.batch, row.system, row.gpus, "p2p", FIRST
    played = play(*what, terms)
    # A profiler counts how long kernels run, not how long a GPU waits for the next.
    alone = play(*what, changed(terms, {f"framework.{FIRST}": {"launch": 0.0}}))
    steps = steps_of(row, constants)
    copies = list(alone.run.copies())
    peer = sum(copy["end"] - copy["start"] for copy in copies if copy["direction"] == "peer")
    every = sum(copy["end"] - copy["start"] for copy in copies)
    run = steps * played.time
    if WORKLOADS[row.dataset, row.network].is_decoded:
        run += constants.decode * steps * row.batch * row.gpus
    return Predicted(run, steps * _kernels(alone.run), steps * every, steps * peer)


def _kernels(run: ClusterRun) -> float:
    """Seconds of kernels of the rank that has most."""
    ranks = [0.0] * run.ranks().num_rows
    for table in (run.computation(), run.kernels()):
        for row in table:
            ranks[row["rank"]] += row["end"] - row["start"]
    return max(ranks)
