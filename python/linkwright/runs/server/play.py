"""A server's scenario from its file to its run.

A run is repeatable: its manifest names the version and the hash of every input, and holds no
clock and no folder, so that the same inputs give the same bytes anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linkwright import (
    AllocationError,
    Job,
    Scenario,
    System,
    __version__,
    policy_names,
    read_jobs,
    read_scenario,
    simulate,
)
from linkwright.errors import InputError, printable
from linkwright.files import (
    LARGEST_TEXT,
    decode,
    portable_name,
    read_bytes,
    read_named,
    sha256,
)
from linkwright.runs.run import Progress
from linkwright.runs.server.run import ScenarioRun
from linkwright.systems import load_server

__all__ = ["run_scenario"]


def run_scenario(
    path: str | Path,
    *,
    policies: Sequence[str] | None = None,
    timeline: int = 0,
    progress: Progress | None = None,
) -> ScenarioRun:
    """Reads a scenario and plays its jobs under each policy.

    Args:
        path: The scenario's TOML file; the files that it names are relative to it.
        policies: Instead of the scenario's own; at least one.
        timeline: How many jobs of each policy the run's timeline holds at most.
        progress: Called about every 100 ms with a policy, its jobs done, its jobs in all, the
            simulated seconds and the events of the network, which are none here.

    Raises:
        FileError: If the scenario cannot be read.
        InputError: If it or a file that it names is not what it should be or cannot be read,
            with line and column.
        AllocationError: If there is no policy of a given name, or `policies` is empty.
        SimulationError: If a job can never start.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    path = Path(path)
    content = read_bytes(path, LARGEST_TEXT)
    scenario = read_scenario(decode(str(path), content), printable(str(path)))
    if policies is not None and not policies:
        known = ", ".join(policy_names())
        raise AllocationError(f"`policies` is empty; name some of {known}, or leave it out")
    chosen = list(dict.fromkeys(scenario.policies if policies is None else policies))
    for policy in chosen:
        if policy not in policy_names():
            known = ", ".join(policy_names())
            raise AllocationError(f"there is no policy `{policy}`; the policies are {known}")
    machine, machine_facts = _machine_of(scenario, path)
    _check_unhealthy(scenario, path, machine)
    healthy = machine.gpu_count - len(set(scenario.unhealthy))
    jobs, job_facts = _jobs_of(scenario, path, healthy)
    results = []
    for policy in chosen:

        def report(done: int, total: int, time: float, policy: str = policy) -> None:
            if progress is not None:
                progress(policy, done, total, time, 0)

        report(0, len(jobs), 0.0)
        results.append(
            simulate(
                machine,
                jobs,
                policy,
                bandwidth_model=scenario.bandwidth_model,
                bandwidth_profile=scenario.bandwidth_profile,
                ties=scenario.ties,
                discipline=scenario.discipline,
                unhealthy=scenario.unhealthy,
                progress=report,
            )
        )
        report(len(jobs), len(jobs), results[-1].makespan)
    manifest: dict[str, object] = {
        "linkwright": __version__,
        "scenario": {"file": path.name, "sha256": sha256(content)},
        "machine": machine_facts,
        "jobs": job_facts,
        "unhealthy": scenario.unhealthy,
        "policies": chosen,
        "bandwidth_model": scenario.bandwidth_model,
        "bandwidth_profile": scenario.bandwidth_profile or machine.default_bandwidth_profile,
        "ties": scenario.ties,
        "discipline": scenario.discipline,
    }
    run = ScenarioRun(scenario, path, machine, jobs, results, manifest, timeline)
    if run.warnings:
        manifest["warnings"] = run.warnings
    return run


def _machine_of(scenario: Scenario, path: Path) -> tuple[System, dict[str, object]]:
    kind, name = scenario.machine
    facts: dict[str, object] = {}
    if kind == "preset":
        machine = System(name)
        facts["preset"] = name
    else:
        content = read_named(path, scenario.machine_position, name, LARGEST_TEXT)
        facts |= {"file": portable_name(name), "sha256": sha256(content)}
        machine = load_server(path.parent / name)
    facts |= {"name": machine.name, "toml_sha256": sha256(machine.to_toml().encode())}
    return machine, facts


def _check_unhealthy(scenario: Scenario, path: Path, machine: System) -> None:
    for gpu, place in zip(scenario.unhealthy, scenario.unhealthy_positions, strict=True):
        if gpu >= machine.gpu_count:
            problem = f"`{machine.name}` has no such GPU"
            remedy = f"its GPUs are 0 to {machine.gpu_count - 1}"
            raise InputError(printable(str(path)), *place, problem, str(gpu), remedy)


def _jobs_of(
    scenario: Scenario, path: Path, healthy_gpus: int
) -> tuple[list[Job], dict[str, object]]:
    jobs = scenario.jobs
    if isinstance(jobs, str):
        content = read_named(path, scenario.jobs_position, jobs)
        file = printable(str(path.parent / jobs))
        read = read_jobs(decode(file, content), file, healthy_gpus=healthy_gpus)
        return read, {"count": len(read), "file": portable_name(jobs), "sha256": sha256(content)}
    large = next((job for job in jobs if job.gpus > healthy_gpus), None)
    if large is not None:
        problem = (
            f"the mix has a job of {large.gpus} GPUs, and {healthy_gpus} of the machine are healthy"
        )
        remedy = f"set max_gpus to {healthy_gpus} or less"
        raise InputError(printable(str(path)), *scenario.jobs_position, problem, "", remedy)
    return jobs, {"count": len(jobs), "seed": scenario.jobs_seed}
