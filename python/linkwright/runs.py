"""A scenario from its file to its results on disk.

A run is repeatable: its manifest names the version and the hash of every input, and holds no
clock and no folder, so that the same inputs give the same bytes anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright import (
    AllocationError,
    Job,
    Scenario,
    SimulationResult,
    System,
    __version__,
    policy_names,
    read_jobs,
    read_scenario,
    simulate,
)
from linkwright.documents import write_json
from linkwright.errors import InputError, printable
from linkwright.files import (
    LARGEST_TEXT,
    decode,
    portable_name,
    read_bytes,
    read_named,
    sha256,
)
from linkwright.systems import load_server
from linkwright.writing import staged

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ScenarioRun",
    "run_scenario",
    "run_summary",
    "write_run",
]

# pyarrow and the charts take longer to import than most commands take to run, so they are
# imported where a run is written.


@dataclass(frozen=True)
class ScenarioRun:
    """A scenario played under each of its policies.

    Attributes:
        scenario: The scenario as written.
        path: Its file.
        system: The server that the jobs ran on.
        jobs: The jobs, read or generated.
        results: One result per policy, in the order in which they were played.
        manifest: What repeats the run: the version, the choices, the hash of every input.
    """

    scenario: Scenario
    path: Path
    system: System
    jobs: Sequence[Job]
    results: Sequence[SimulationResult]
    manifest: dict[str, object]

    @property
    def warnings(self) -> list[str]:
        """What probably makes the machine or the times another's, and what to do about it."""
        found = list(self.system.warnings)
        models = sorted({model or "" for model in self.system.gpu_models})
        others = [model for model in models if "V100" not in model.upper()]
        if not others:
            return found
        are = "is not known" if others == [""] else f"is {', '.join(filter(None, others))}"
        unknown = " or is not known" if "" in others and len(others) > 1 else ""
        return [
            *found,
            f"The workloads compute at the speed of a V100, but the GPU of {self.system.name} "
            f"{are}{unknown}: run times and what waits for them are not this machine's. Compare "
            "policies by bandwidth, or give measured times.",
        ]


def run_scenario(
    path: str | Path,
    *,
    policies: Sequence[str] | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> ScenarioRun:
    """Reads a scenario and plays its jobs under each policy.

    Args:
        path: The scenario's TOML file; the files that it names are relative to it.
        policies: Instead of the scenario's own; at least one.
        progress: Called about every 100 ms with a policy, its jobs done and its jobs in all.

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

        def report(done: int, total: int, _time: float, policy: str = policy) -> None:
            if progress is not None:
                progress(policy, done, total)

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
        report(len(jobs), len(jobs), 0.0)
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
    run = ScenarioRun(scenario, path, machine, jobs, results, manifest)
    if run.warnings:
        manifest["warnings"] = run.warnings
    return run


def run_summary(run: ScenarioRun, *, compared_with: str | None = None) -> dict[str, object]:
    """What `summary.json` holds: each policy's summary and its speed-up over another.

    Args:
        run: The run.
        compared_with: The policy that the speed-ups are over; if not given, `baseline` where
            it was played, else the first policy.

    Raises:
        SimulationError: If the run had no jobs, or that policy was not played.
    """
    from linkwright.summary import speedups, summarise

    summaries = [summarise(result) for result in run.results]
    names = [summary.policy for summary in summaries]
    baseline = compared_with or ("baseline" if "baseline" in names else names[0])
    document: dict[str, object] = {
        "scenario": run.path.name,
        "machine": run.system.name,
        "jobs": len(run.jobs),
        "warnings": run.warnings,
        "policies": [asdict(summary) for summary in summaries],
        "baseline": baseline,
        "speedups": [asdict(speedup) for speedup in speedups(summaries, baseline)],
    }
    return document


def write_run(
    run: ScenarioRun, directory: str | Path, *, compared_with: str | None = None
) -> list[Path]:
    """Writes `jobs.parquet`, `summary.json`, `manifest.json` and `report.html`.

    They are written aside and renamed when all are whole, so that a run that is interrupted
    leaves the directory as it was.

    Args:
        run: The run.
        directory: Where to; made if it is not there.
        compared_with: One of the run's policies: then the report is of a comparison with it,
            opens with what that found, and the summary's speed-ups are over it.

    Returns:
        The files.

    Raises:
        FileError: If the directory cannot be written to.
        SimulationError: If the run had no jobs, or that policy was not played.
    """
    import pyarrow.parquet as pq

    from linkwright.report import write_report

    with staged(Path(directory)) as (aside, written):
        pq.write_table(_jobs_table(run), aside / "jobs.parquet")
        write_json(aside / "summary.json", run_summary(run, compared_with=compared_with))
        write_json(aside / "manifest.json", run.manifest)
        write_report(
            aside / "report.html",
            title=f"{'Policies compared: ' if compared_with else ''}{run.path.stem} on "
            f"{run.system.name}",
            system=run.system,
            results=run.results,
            facts=_report_facts(run),
            compared_with=compared_with,
        )
    return written


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
    return jobs, {"count": len(jobs), "seed": scenario.seed}


def _jobs_table(run: ScenarioRun) -> pa.Table:
    import pyarrow as pa

    tables = []
    for result in run.results:
        table = pa.table(result.jobs())
        policy = pa.array([result.policy] * table.num_rows, pa.string())
        field = pa.field("policy", pa.string(), nullable=False, metadata={"unit": ""})
        tables.append(table.add_column(0, field, policy))
    return pa.concat_tables(tables)


def _report_facts(run: ScenarioRun) -> dict[str, str]:
    jobs = run.manifest["jobs"]
    assert isinstance(jobs, dict)
    origin = f"from {jobs['file']}" if "file" in jobs else f"generated with seed {jobs['seed']}"
    facts = {"Warning": " ".join(run.warnings)} if run.warnings else {}
    facts |= {
        "Scenario": run.path.name,
        "Machine": run.system.name,
        "Jobs": f"{jobs['count']}, {origin}",
        "Policies": ", ".join(result.policy for result in run.results),
        "Bandwidth model": run.scenario.bandwidth_model,
        "Bandwidth profile": str(run.manifest["bandwidth_profile"]),
        "Ties": run.scenario.ties,
        "Queue": run.scenario.discipline,
        "Version": __version__,
    }
    if run.scenario.unhealthy:
        facts["Unhealthy GPUs"] = ", ".join(str(gpu) for gpu in run.scenario.unhealthy)
    return facts
