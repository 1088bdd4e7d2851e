"""Measures sensitivity, and shows the labels of Fig. 5(b) beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkwright import Allocator, Pattern, System
from linkwright.allocation import profile_sensitivity
from linkwright.recipes import LIBRARY, Recipe, read_network
from linkwright.runs.training.play import play_step
from linkwright.scenario import Job, workload_names
from linkwright.sensitivity import ends_of
from linkwright.studies.mapa.published import published
from linkwright.studies.mapa.readings import Reading, as_read
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["labels_of_sensitivity"]

MACHINE = "dgx1-v100"
SIZES = range(2, 6)
# Where steps are played, sets of this size differ the most.
PLAYED_SIZE = 4
# Samples of each GPU, from few to as many as users train with on 16 GB.
SAMPLES = (16, 32, 64)
# The layers that each workload counts its parameters from.
LAYERS = {
    "alexnet": "alexnet:caffe",
    "vgg-16": "vgg-16",
    "resnet-50": "resnet-50:paper",
    "inception-v3": "inception-v3",
    "caffenet": "caffenet",
    "googlenet": "googlenet:heads",
}


def labels_of_sensitivity(chosen: Reading) -> Section:
    """Makes the section on the labels of Fig. 5(b)."""
    machine = System(MACHINE)
    bound = published()["sensitivity"]["gain_below"]
    return Section(
        title="Fig. 5b: labels of sensitivity, measured",
        text=[
            "The paper labels its workloads, and Section 3.5 names profiling of times by links as "
            "a way to a label. Here both are beside each other. A job is measured sensitive where "
            f"its time on the worst set of `{MACHINE}` exceeds that on the best by more than "
            f"{bound:.0%}. That is the figure of Section 4 for Jacobi. The sets are those with the "
            "least and the most bandwidth by the sound model.",
        ],
        tables=[_formula_table(machine, chosen), _played_table(machine, bound)],
    )


def _label(name: str) -> bool:
    return bool(published()["sensitivity"][name])


def _formula_table(machine: System, chosen: Reading) -> StudyTable:
    # A reading that has insensitive jobs flat would answer by their label.
    free = replace(chosen, flat=False)
    rows: list[tuple[Cell, ...]] = []
    parted = []
    for name in workload_names():
        jobs = [as_read(Job(name, name, size), free) for size in SIZES]
        found = [profile_sensitivity(machine, job) for job in jobs]
        excess: list[Cell] = [worst / best - 1 for best, worst, _ in found]
        measured = any(sensitive for _, _, sensitive in found)
        if measured != _label(name):
            parted.append(name)
        rows.append((name, _word(_label(name)), *excess, _word(measured), measured == _label(name)))
    return StudyTable(
        title="By the formula of run times, as `measured` in a job file has it",
        columns=(
            "workload",
            "label, published",
            *(f"{size} GPUs" for size in SIZES),
            "measured",
            "agrees",
        ),
        rows=tuple(rows),
        formats=("", "", *("+.1%",) * len(SIZES), "", ""),
        note=_disagreement(parted),
    )


def _word(sensitive: bool) -> str:
    return "sensitive" if sensitive else "insensitive"


def _disagreement(parted: Sequence[str]) -> str:
    if not parted:
        return "Every label comes out."
    return (
        "The table has the excess of the time on the worst set, with the computing times of the "
        "reading. No network is taken to be flat. These part from the paper: "
        f"{', '.join(parted)}. CaffeNet has AlexNet's gradients and computes as long here. So any "
        "measure finds both sensitive or neither. The paper says that CaffeNet makes too few "
        "calls. Fig. 5b gives it more than AlexNet, which it labels sensitive. Of GoogLeNet it "
        "says that its data are small, and their mean is above the paper's own bound. The formula "
        "hides no communication behind computing."
    )


def _played_table(machine: System, bound: float) -> StudyTable:
    allocator = Allocator(machine)
    ring = Pattern("ring", PLAYED_SIZE)
    best, worst = (
        allocator.best_placement(ring, gpus).gpus for gpus in ends_of(machine, PLAYED_SIZE)
    )
    rows: list[tuple[Cell, ...]] = []
    for name, layers in LAYERS.items():
        network, _ = read_network(layers)
        excess = []
        for samples in SAMPLES:
            recipe = Recipe(network, batch=samples * PLAYED_SIZE)
            fast, slow = (play_step(recipe, machine, on, LIBRARY).time for on in (best, worst))
            excess.append(slow / fast - 1)
        measured = [_word(each > bound) for each in excess]
        agree = [word == _word(_label(name)) for word in measured]
        agreeing = f"{sum(agree)} of {len(agree)}"
        rows.append((name, _word(_label(name)), *excess, agreeing))
    heads = (f"{samples} samples" for samples in SAMPLES)
    return StudyTable(
        title=f"By a played step of {PLAYED_SIZE} GPUs, as `--sensitivity measured` has it",
        columns=("network", "label, published", *heads, "batches that agree"),
        rows=tuple(rows),
        formats=("", "", *("+.1%",) * len(SAMPLES), ""),
        note=(
            "`linkwright allocate --program NETWORK --sensitivity measured` plays a step of "
            "PyTorch, layer by layer. It reduces gradients while others are computed. The samples "
            "are per GPU. The more samples, the more of the communication hides behind computing. "
            "So sensitivity depends on the batch, and the paper does not print it. CaffeNet is "
            "measured sensitive with each of these, against its label, and Inception-v3 "
            "insensitive."
        ),
    )
