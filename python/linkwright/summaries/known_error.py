"""How far a model's times of jobs were from those of a more exact one, where both were measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from linkwright import System
from linkwright.names import FidelityName
from linkwright.scenario import Job, Scenario
from linkwright.summaries.measured_days import Interval, JobKind, interval

__all__ = ["KnownError", "error_of_programs", "known_errors"]


@dataclass(frozen=True)
class KnownError:
    """How far times of jobs were from those of a more exact model where both were measured.

    Attributes:
        model: Whose times they are.
        exact: The model that they were set against.
        least: The least error, as part of that model's time. None where nothing alike was measured.
        most: The largest.
        programs: The programs that were measured; another program's error may lie beyond. Nine of
            ten jobs of a day lie between the two.
        median: Of a day, the median size of the errors that were measured.
        half_width: Of a day, the median of half the width of its jobs' intervals.
    """

    model: FidelityName
    exact: FidelityName
    least: float | None
    most: float | None
    programs: str
    median: float | None = None
    half_width: float | None = None

    def __str__(self) -> str:
        if self.least is None or self.most is None:
            return f"error of the {self.model} model: not known, for {self.programs}"
        told = (
            f"known error of the {self.model} model: times of jobs {self.least:+.0%} to "
            f"{self.most:+.0%} of the {self.exact} model's"
        )
        if self.median is None or self.half_width is None:
            return f"{told}, for {self.programs}"
        return (
            f"{told}, nine of ten (median error {self.median:.1%}, median half-width "
            f"{self.half_width:.1%}), for {self.programs}"
        )


# These are the least and the largest error, by the policy of the network interfaces.
# `examples/flow_error.py` finds them, and they are rounded outward. The page
# docs/concepts/network.md tells them apart.
_Errors = dict[str, tuple[float, float]]
ONE_GPU: _Errors = {"fcfs": (-0.20, 0.38), "rr": (-0.05, 0.34)}
SEVERAL_GPUS: _Errors = {"fcfs": (-0.22, 0.62), "rr": (-0.20, 0.34)}
OTHER_NETWORKS: _Errors = {"fcfs": (-0.27, 0.14), "rr": (-0.41, 0.01)}
LONE_SERVERS: _Errors = {"": (-0.02, 0.01)}
OF_ONE_GPU = (
    "one to eight iterations of the six applications on 32 to 256 ranks, and of three on 512, each "
    "alone on a fat-tree and a dragonfly with one GPU per node"
)
OF_SEVERAL_GPUS = (
    "one to eight iterations of four applications on 64 and 256 ranks, and of three on 512, each "
    "alone on a fat-tree and a dragonfly with four and eight GPUs per node"
)
OF_OTHER_NETWORKS = (
    "one to eight iterations of four applications on 64 and 256 ranks, each alone on a torus and "
    "on Quartz with one GPU per node"
)
OF_LONE_SERVERS = (
    "one to eight iterations of the six applications that fit, each alone on one of six servers"
)


def error_of_programs(system: System, fidelity: str, protocol: str) -> KnownError | None:
    """Returns the measured error of programs as flows, on the systems that are most like one.

    Args:
        system: The system that they are played on.
        fidelity: How; None is known of packets.
        protocol: The kind of their collectives; no error is known of kernels.
    """
    if fidelity != "flow" or protocol == "nccl":
        return None
    if system.fabric is None:
        errors, programs = LONE_SERVERS, OF_LONE_SERVERS
    elif system.fabric.kind not in ("fat-tree", "dragonfly"):
        errors, programs = OTHER_NETWORKS, OF_OTHER_NETWORKS
    elif system.gpu_count > system.nic_count:
        errors, programs = SEVERAL_GPUS, OF_SEVERAL_GPUS
    else:
        errors, programs = ONE_GPU, OF_ONE_GPU
    any_policy = (min(it[0] for it in errors.values()), max(it[1] for it in errors.values()))
    return KnownError("flow", "packet", *errors.get(system.nic or "", any_policy), programs)


def known_errors(played: Iterable[tuple[System, Scenario, Sequence[Job]]]) -> list[KnownError]:
    """Returns the measured errors of jobs as these scenarios play them on their systems, each once.

    Where all follow a formula or are played as packets there are none.
    """
    found = [_error_of(*each) for each in played]
    return list(dict.fromkeys(error for error in found if error is not None))


def _error_of(system: System, scenario: Scenario, jobs: Sequence[Job]) -> KnownError | None:
    if scenario.kind == "programs":
        protocol = scenario.play_options.get("collectives", {}).get("protocol", "mpi")
        return error_of_programs(system, scenario.fidelity, protocol)
    if scenario.run_time != "played" or scenario.fidelity == "packet":
        return None
    model, fabric = scenario.fidelity, system.fabric
    kind = "" if fabric is None or system.server_count == 1 else fabric.kind
    found = [
        interval(JobKind(kind, scenario.planner, job.gpus), model) for job in jobs if job.gpus > 1
    ]
    unlike = next((it for it in found if isinstance(it, str)), None)
    if unlike is not None:
        return KnownError(model, "packet", None, None, unlike)
    known = [it for it in found if not isinstance(it, str)]
    if not known:
        return None
    return KnownError(
        model,
        "packet",
        min(it.least for it in known),
        max(it.most for it in known),
        _of_jobs(known),
        median=median(it.median for it in known),
        half_width=median(it.half_width for it in known),
    )


def _of_jobs(known: Sequence[Interval]) -> str:
    jobs = max(it.jobs for it in known)
    systems = max(it.systems for it in known)
    return f"jobs of several GPUs, by {jobs} that are like these on {systems} systems"
