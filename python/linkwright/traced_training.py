"""Compares a trace with the step of a model's training that it is of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from linkwright import System
from linkwright.errors import SimulationError
from linkwright.files import PathOrName
from linkwright.kernel_traces import MeasuredKernels, name_of, read_kernel_trace
from linkwright.training import KernelTrace, Model, ModelTraining

__all__ = ["AUTO", "TracedTraining", "batches_of", "check_unmeasured"]

# The layout that is searched for.
AUTO = "auto"
# Micro-batches for each stage of a pipeline where nobody says how many.
FOR_EACH_STAGE = 4


@dataclass(frozen=True)
class TracedTraining:
    """Holds a trace, and the run that it is of."""

    measured: KernelTrace | PathOrName
    layout: str | None
    batch: int | None
    micro_batch: int | None

    def compared(
        self,
        model: Model,
        asked: tuple[str, int | None, int | None],
        settings: Mapping[str, Any],
        sequence_parallel: bool,
        context: str,
        system: System,
    ) -> MeasuredKernels:
        """Compares the trace with the model's step of its run.

        Raises:
            FileError: If there is no such trace.
            InputError: If it is none.
            SimulationError: If its layout is not said, or is not sound.
        """
        layout, batch, micro_batch = asked
        run = layout if self.layout is None else self.layout
        if run == AUTO:
            raise SimulationError(
                "the trace does not give its layout", "say --set measured_layout=PART=N,..."
            )
        micro_batch = micro_batch if self.micro_batch is None else self.micro_batch
        if self.batch is not None:
            batch = self.batch
        elif batch is not None and run != layout:
            # Each replica computes as much, where that is known.
            replicas = None if layout == AUTO else ModelTraining.counts(layout)[1]
            batch = None if replicas is None else batch * ModelTraining.counts(run)[1] // replicas
        batch, micro_batch = batches_of(run, batch, micro_batch)
        training = ModelTraining(
            model,
            run,
            batch=batch,
            micro_batch=micro_batch,
            sequence_parallel=sequence_parallel and part_of(run, "tp") > 1,
            **settings,
        )
        measured = self.measured
        trace = measured if isinstance(measured, KernelTrace) else read_kernel_trace(measured)
        ratios = training.ratios(trace, system, context=cast("Any", context))
        said = {"layout": training.layout, "batch": batch, "micro_batch": micro_batch}
        return MeasuredKernels(trace, name_of(measured), ratios, said, system)


def check_unmeasured(layout: str | None, batch: int | None, micro_batch: int | None) -> None:
    """Refuses what is said of a trace where there is none.

    Raises:
        SimulationError: If anything is.
    """
    said = {"layout": layout, "batch": batch, "micro_batch": micro_batch}
    for name, value in said.items():
        if value is not None:
            problem = f"measured_{name} changes nothing without a trace"
            raise SimulationError(problem, "name one by measured, or leave it out")


def batches_of(layout: str, batch: int | None, micro_batch: int | None) -> tuple[int, int]:
    """Gives the samples of a step and of a micro-batch; usual ones where they are not said."""
    replicas = ModelTraining.counts(layout)[1]
    stages = part_of(layout, "pp")
    if batch is None:
        batch = replicas * (micro_batch or 1) * (FOR_EACH_STAGE * stages if stages > 1 else 1)
    if micro_batch is None:
        micro_batch = 1 if stages > 1 else max(1, batch // replicas)
    return batch, micro_batch


def part_of(layout: str, name: str) -> int:
    """Gives the number of a layout's parts of a kind."""
    parts = dict(part.strip().split("=") for part in layout.split(","))
    return int(parts.get(name, "1"))
