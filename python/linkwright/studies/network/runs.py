"""The runs of the study: every mix in every setting, as a sweep that can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from linkwright.studies.network.jobs import (
    APPLICATIONS,
    SEED,
    MixJob,
    cluster_job,
    ranks_of_jobs,
)
from linkwright.studies.network.measured import JobTime
from linkwright.studies.network.placements import LINEAR, Placement, placements
from linkwright.studies.network.settings import (
    DENSITIES,
    NETWORKS,
    NIC_DENSITIES,
    REQUIREMENT_DENSITIES,
    Setting,
    bandwidth_settings,
    cluster,
    density_settings,
    nic_settings,
    requirement_settings,
)
from linkwright.sweeps import Sweep, Workers, play_sweep

__all__ = [
    "Performed",
    "Progress",
    "Run",
    "neighbour_plan",
    "perform",
    "placed_jobs",
    "placed_plan",
    "plan",
    "replay_mix",
]

Progress = Callable[[str, int, int], object]
Mixes = Sequence[Sequence[MixJob]]

# As few as show, of seed 1, each application at each size.
QUICK_MIXES = 5
# Of the jobs of Figs. 8 to 11, of Fig. 7, and of what is said of Table II.
NIC_RANKS = (64, 512)
BANDWIDTH_RANKS = 128
REQUIREMENT_RANKS = (32, 64, 512)
# Of a main loop, where placements are compared.
PLACED_ITERATIONS = 2


@dataclass(frozen=True)
class Run:
    """Is one mix, by its number, in one setting, placed in one way."""

    mix: int
    setting: Setting
    placement: Placement = LINEAR


@dataclass(frozen=True)
class Performed:
    """Holds the results of all runs.

    Attributes:
        times: The time of every job of every run.
        runs: How many runs there were.
        resumed: How many of them had been performed before.
        cpu_seconds: The processor time of all runs.
        notes: The oddities that were found and mended.
    """

    times: Sequence[JobTime]
    runs: int
    resumed: int
    cpu_seconds: float
    notes: Sequence[str]


def settings_by_section() -> dict[str, list[Setting]]:
    """Lists the settings that each section on mixes needs, with those that it compares with."""
    dense = {f"density-{network}": density_settings(network) for network in NETWORKS}
    found = {
        **dense,
        "bandwidth": [each for network in NETWORKS for each in bandwidth_settings(network)],
        "requirement": [it for gpus in REQUIREMENT_DENSITIES for it in requirement_settings(gpus)],
        "interfaces": [each for gpus in NIC_DENSITIES for each in nic_settings(gpus)],
    }
    # Whatever is compared is compared with its network's default.
    return {
        name: [*dict.fromkeys([*(each.default for each in settings), *settings])]
        for name, settings in found.items()
    }


def plan(
    mixes: Mixes, *, quick: bool = False, settings: Sequence[Setting] | None = None
) -> list[Run]:
    """Every mix in every setting, or in those that are given.

    Args:
        mixes: All mixes.
        quick: Only those mixes that together show the most applications at the most sizes.
        settings: Those of all sections if absent.
    """
    if settings is None:
        settings = [
            *(setting for network in NETWORKS for setting in density_settings(network)),
            *(setting for network in NETWORKS for setting in bandwidth_settings(network)),
            *(setting for gpus in REQUIREMENT_DENSITIES for setting in requirement_settings(gpus)),
            *(setting for gpus in NIC_DENSITIES for setting in nic_settings(gpus)),
        ]
    chosen = covering(mixes, QUICK_MIXES) if quick else range(len(mixes))
    return [Run(mix, setting) for mix in chosen for setting in dict.fromkeys(settings)]


def placed_jobs() -> list[list[MixJob]]:
    """Lists every application at every size, each alone in a mix, to tell placements by.

    Their loops run twice, where one iteration may still overlap the next.
    """
    sizes = ranks_of_jobs()
    return [[MixJob(name, ranks, PLACED_ITERATIONS)] for name in APPLICATIONS for ranks in sizes]


def placed_plan(jobs: Mixes, *, quick: bool = False) -> list[Run]:
    """Lists every job alone in every setting that a finding looks at, under every placement.

    The first seed comes first, and of it Figs. 8 to 11, in case that the study is stopped.

    Args:
        jobs: Come from `placed_jobs`.
        quick: Only what Figs. 8 to 11 show.
    """
    of_policies = [setting for gpus in NIC_DENSITIES for setting in nic_settings(gpus)]
    runs = [
        Run(at, setting, placement)
        for placement in placements()
        for at, [job] in enumerate(jobs)
        for setting in dict.fromkeys(_placed_settings(job.ranks, of_policies, quick=quick))
    ]
    return sorted(runs, key=lambda run: (run.placement.seed, run.setting not in of_policies))


def neighbour_plan(mixes: Mixes) -> list[Run]:
    """Lists the runs that tell, under every placement, what a job loses beside another.

    They are those of a quick study's mixes, with one GPU and with eight in a node.
    """
    settings = [
        Setting(network, gpus) for network in NETWORKS for gpus in (DENSITIES[0], DENSITIES[-1])
    ]
    played = plan(mixes, quick=True, settings=settings)
    return [replace(run, placement=placement) for placement in placements() for run in played]


def _placed_settings(ranks: int, of_policies: Sequence[Setting], *, quick: bool) -> list[Setting]:
    """Gives the settings in which some finding looks at jobs of a size."""
    settings = [*of_policies] if ranks in NIC_RANKS else []
    if quick:
        return settings
    settings += [setting for network in NETWORKS for setting in density_settings(network)]
    if ranks == BANDWIDTH_RANKS:
        settings += [it for network in NETWORKS for it in bandwidth_settings(network)]
    if ranks in REQUIREMENT_RANKS:
        settings += [it for gpus in REQUIREMENT_DENSITIES for it in requirement_settings(gpus)]
    return settings


def covering(mixes: Mixes, count: int) -> list[int]:
    """Picks `count` mixes, each the one that adds most applications at sizes not yet seen."""
    kinds = [{(job.application, job.ranks) for job in mix} for mix in mixes]
    seen: set[tuple[str, int]] = set()
    chosen: list[int] = []
    for _ in range(count):
        left = [mix for mix in range(len(mixes)) if mix not in chosen]
        chosen.append(max(left, key=lambda mix: len(kinds[mix] - seen)))
        seen |= kinds[chosen[-1]]
    return chosen


def perform(
    mixes: Mixes,
    runs: Sequence[Run],
    *,
    workers: Workers | None = None,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Performed:
    """Performs the runs that the checkpoint does not hold.

    Args:
        mixes: All mixes.
        runs: The runs to perform.
        workers: Where; processes on this computer where absent.
        checkpoint: A file that keeps every finished run.
        progress: Called with what is done, the runs done, and the runs in all.
    """
    parameters = [
        {
            "setting": asdict(run.setting),
            "jobs": [asdict(job) for job in mixes[run.mix]],
            "placement": asdict(run.placement),
        }
        for run in runs
    ]
    sweep = Sweep(replay_mix, parameters, SEED)
    done = play_sweep(
        sweep, workers, checkpoint=checkpoint, progress=progress, what="mixes on networks"
    )
    times = [
        JobTime(
            run.setting,
            run.mix,
            place,
            job.application,
            job.ranks,
            job.iterations,
            seconds,
            run.placement,
        )
        for run, result in zip(runs, done.results, strict=True)
        for place, (job, seconds) in enumerate(zip(mixes[run.mix], result, strict=True))
    ]
    return Performed(times, len(runs), done.resumed, done.cpu_seconds, done.notes)


def replay_mix(
    setting: Mapping[str, Any],
    jobs: Sequence[Mapping[str, Any]],
    placement: Mapping[str, Any] | None = None,
) -> list[float]:
    """One run: how long each job of a mix takes in a setting, in seconds.

    Args:
        setting: The fields of a `Setting`.
        jobs: The fields of each `MixJob`. They take GPUs in this order.
        placement: The fields of a `Placement`. It is linear where absent.
    """
    system = cluster(Setting(**setting))
    placed = LINEAR if placement is None else Placement(**placement)
    programs = [cluster_job(MixJob(**job)) for job in jobs]
    return system.play(programs, mapping=placed.mapping, seed=placed.seed).times
