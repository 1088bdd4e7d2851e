"""How fast GPUs compute: as the V100 that workloads are timed on, or at their own speed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence

from linkwright import System
from linkwright.errors import MachineError
from linkwright.gpu import GpuModel
from linkwright.runs.scenarios import ScenarioFile
from linkwright.runs.variants import path_values
from linkwright.scenario import Job, Scenario
from linkwright.systems import read_system

__all__ = ["OWN_SPEED", "are_known", "own_speed_of", "warnings_of"]

# The setting under which GPUs compute at their own speed, and as what people write it.
OWN_SPEED: Mapping[str, object] = {"jobs.gpu_speed": "own"}
WRITTEN = '`jobs.gpu_speed = "own"`'
TOLD = (
    f"GPUs compute at their own speed, as {WRITTEN} says; write `reference` to compare them all at "
    "that of a V100."
)


def are_known(system: System, precision: str = "fp32") -> bool:
    """Whether the own speed of each GPU is known: its model's peaks in fp32 and in a precision."""
    try:
        models = [GpuModel.find(model or "") for model in set(system.gpu_models)]
        return all(
            "fp32" in it.vector_peak and (precision in {**it.vector_peak, **it.matrix_peak})
            for it in models
        )
    except MachineError:
        return False


def warnings_of(scenario: Scenario, system: System, jobs: Sequence[Job]) -> list[str]:
    """That GPUs compute as V100s, where they are others and nobody asks for their own speed."""
    models = sorted({model or "" for model in system.gpu_models})
    others = [model for model in models if "V100" not in model.upper()]
    # A job trained layer by layer, or by a layout, computes at the speed of the GPUs that it got.
    are_trained = all(job.samples_per_gpu is not None or job.trains_model for job in jobs)
    if not others or scenario.gpu_speed == "own" or are_trained:
        return []
    are = "is not known" if others == [""] else f"is {', '.join(filter(None, others))}"
    unknown = " or is not known" if "" in others and len(others) > 1 else ""
    remedy = (
        f"Let it compute at its own speed ({WRITTEN}), compare policies by bandwidth, or give "
        "measured times."
        if are_known(system, scenario.precision)
        else "Compare policies by bandwidth, give measured times, or name a model whose speed is "
        f"known and write {WRITTEN}."
    )
    return [
        f"The workloads compute at the speed of a V100, but the GPU of {system.name} "
        f"{are}{unknown}: run times and what waits for them are not this machine's. {remedy}"
    ]


def own_speed_of(
    loaded: ScenarioFile, settings: Mapping[str, object], machines: Sequence[str]
) -> Sequence[str]:
    """Tells that machines are compared at their own speeds; nothing where they cannot be.

    They are where jobs are played, nobody says how fast GPUs compute, and the speeds of all are
    known. For recorded jobs, the speed of the system on which they ran must be known, too.

    Args:
        loaded: The scenario, with the settings.
        settings: The values that replaced those of its file.
        machines: Presets' names, or files.

    Raises:
        FileError: If there is neither such a preset nor such a file.
        InputError: If a file is no machine.
    """
    systems = [read_system(machine) for machine in machines]
    scenario = loaded.scenario
    if scenario.run_time != "played" or _is_said(loaded, settings):
        return []
    if isinstance(scenario.jobs, str):
        for name, kind, _ in scenario.servers:
            systems.append(read_system(loaded.path.parent / name if kind == "file" else name))
    return [TOLD] if all(are_known(it, scenario.precision) for it in systems) else []


def _is_said(loaded: ScenarioFile, settings: Mapping[str, object]) -> bool:
    written = tomllib.loads(loaded.content.decode())
    paths = [path for table in (written, settings) for path, _ in path_values(table)]
    return any(path.replace("-", "_") in OWN_SPEED for path in paths)
