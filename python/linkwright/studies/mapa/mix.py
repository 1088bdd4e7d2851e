"""The job mixes that the study plays, and what their jobs felt.

The paper's list of 300 jobs is unpublished. Seed 0 stands for it; further seeds say how much
of a result is chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from linkwright import System
from linkwright.scenario import Job, SimulationResult, generate_jobs, play_jobs
from linkwright.names import PolicyName
from linkwright.studies.mapa.readings import LARGEST, Reading, as_read, jobs_of, networks
from linkwright.summaries.policies import job_rows

__all__ = [
    "MODELS",
    "POLICIES",
    "Model",
    "Progress",
    "Run",
    "bandwidths",
    "fragmentation_jobs",
    "play",
    "played",
    "under_model",
]

Model = Literal["published", "sound"]
Progress = Callable[[str, int, int], object]

MODELS: tuple[Model, ...] = ("published", "sound")
POLICIES: tuple[PolicyName, ...] = ("baseline", "topology-aware", "greedy", "preserve")


@dataclass(frozen=True)
class Run:
    """One mix under one policy, ranked by one model, with its rows at hand."""

    machine: str
    seed: int
    policy: str
    model: Model
    result: SimulationResult
    rows: Sequence[dict[str, Any]]

    def sensitive(self, *, one_gpu: bool = False) -> list[dict[str, Any]]:
        """The rows of sensitive jobs, those of one GPU only where asked for."""
        smallest = 1 if one_gpu else 2
        return [row for row in self.rows if row["sensitive"] and row["gpu_count"] >= smallest]


def play(
    machine_name: str,
    seeds: Sequence[int],
    chosen: Reading,
    progress: Progress | None = None,
    *,
    mean_interarrival: float | None = None,
) -> list[Run]:
    """The paper's mix under every policy, by each seed, with preserve ranked by each model.

    The other policies never look at effective bandwidth, so that one run serves both models.

    Args:
        machine_name: The machine, a preset.
        seeds: A mix per seed.
        chosen: How the mix is read.
        progress: Called after each seed.
        mean_interarrival: Mean seconds between arrivals; all wait from the start where absent.
    """
    machine = System(machine_name)
    choices: list[tuple[PolicyName, Model]] = [(policy, "published") for policy in POLICIES]
    choices.append(("preserve", "sound"))
    runs: list[Run] = []
    for seed in seeds:
        jobs = jobs_of(seed, chosen, mean_interarrival=mean_interarrival)
        for policy, model in choices:
            result = played(machine, jobs, policy, chosen, model)
            runs.append(Run(machine_name, seed, policy, model, result, job_rows(result)))
        if progress is not None:
            progress(f"job mixes on {machine_name}", len(runs) // len(choices), len(seeds))
    return runs


def played(
    machine: System,
    jobs: Sequence[Job],
    policy: PolicyName,
    chosen: Reading,
    model: Model = "published",
) -> SimulationResult:
    """Jobs in a reading under a policy that ranks by a model."""
    return play_jobs(
        machine,
        jobs,
        policy,
        bandwidth_model=model,
        ties="published",
        discipline=chosen.discipline,
        run_time=chosen.run_time,
    )


def under_model(runs: Sequence[Run], model: Model) -> list[Run]:
    """The runs, one per policy and seed, where preserve ranks by this model."""
    return [run for run in runs if run.policy != "preserve" or run.model == model]


def bandwidths(run: Run, model: Model, *, one_gpu: bool = False) -> list[float | None]:
    """Effective bandwidths of sensitive jobs by a model, in GB/s; None for one GPU.

    A run that was ranked by the sound model has no values of the published one.
    """
    column = "effective_bandwidth" if model == "published" else "sound_bandwidth"
    return [row[column] for row in run.sensitive(one_gpu=one_gpu)]


def fragmentation_jobs(seed: int, count: int, chosen: Reading) -> list[Job]:
    """Training jobs of two to five GPUs, uniform over the paper's six networks (Fig. 4)."""
    # A fifth of a mix has one GPU; twice the number is left with enough for any seed.
    drawn = generate_jobs(seed, 2 * count, LARGEST, workloads=networks())
    return [as_read(job, chosen) for job in drawn if job.gpus > 1][:count]
