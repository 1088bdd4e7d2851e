"""What repeats a run: the version, the choices, the hash of every input.

It holds no clock and no folder, so that the same inputs give the same bytes anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwright import System, __version__
from linkwright.scenario import Job
from linkwright.files import PathOrName, portable_name, sha256
from linkwright.runs.scenarios import ScenarioFile

__all__ = ["manifest_of", "of_comparison", "of_programs", "of_trace"]

# The keys of a network that name files.
FILES = ("file", "routing_table")


def manifest_of(
    loaded: ScenarioFile, system: System, jobs: Sequence[Job], names: Sequence[str]
) -> dict[str, object]:
    """What repeats a run: the version, the choices, the hash of every input."""
    scenario = loaded.scenario
    servers: list[dict[str, object]] = [
        {kind: name} if kind == "preset" else loaded.file_facts(name)
        for name, kind, _ in scenario.servers
    ]
    machine = servers[0] | {"name": system.name, "toml_sha256": _sha256_of(system)}
    chosen: dict[str, object] = {}
    if system.server_count > 1:
        machine |= {"servers": system.server_count, "gpus": system.gpu_count}
        chosen = {"servers": scenario.server_choice}
    count: dict[str, object] = {"count": len(jobs)}
    listed = scenario.jobs
    of_jobs = loaded.file_facts(listed) if isinstance(listed, str) else {"seed": scenario.jobs_seed}
    played: dict[str, object] = {}
    if scenario.run_time == "played":
        played = {key: getattr(scenario, key) for key in ("run_time", "planner", "fidelity")}
        absent = {
            "host_copies": False,
            "gpu_speed": "reference",
            "precision": "fp32",
            "bucket": None,
        }
        chosen_steps = {key: getattr(scenario, key) for key in absent}
        played |= {key: value for key, value in chosen_steps.items() if value != absent[key]}
    profiles = scenario.bandwidth_profile or system.default_bandwidth_profile
    return {
        "linkwright": __version__,
        "scenario": loaded.facts,
        "machine": machine,
        "jobs": count | of_jobs,
        "unhealthy": scenario.unhealthy,
        "policies": list(names),
        "bandwidth_model": scenario.bandwidth_model,
        "bandwidth_profile": profiles,
        "ties": scenario.ties,
        "discipline": scenario.discipline,
        **chosen,
        **played,
    }


def _sha256_of(system: System) -> str:
    return sha256(system.to_toml().encode())


def of_trace(
    trace: PathOrName,
    system: System,
    choices: Mapping[str, object],
    inputs: Sequence[tuple[str, str, bytes]],
) -> dict[str, object]:
    """Of a trace or an application, how it was played, and the files that were read for it."""
    return {
        "linkwright": __version__,
        "trace": portable_name(str(trace)),
        "system": _portable(system.settings),
        **choices,
        "files": [
            {"input": of, "file": name, "sha256": sha256(content)} for of, name, content in inputs
        ],
    }


def of_programs(loaded: ScenarioFile, system: System, fidelity: str) -> dict[str, object]:
    """Of a scenario of programs."""
    return {
        "linkwright": __version__,
        "scenario": loaded.facts,
        # Two files may have one name in two folders: the scenario's line tells which is which.
        "files": [
            {"file": portable_name(name), "line": loaded.lines[name], "sha256": sha256(content)}
            for name, content in loaded.files.items()
        ],
        "seed": loaded.scenario.seed,
        "system": system.name,
        "fidelity": fidelity,
    }


def of_comparison(
    loaded: ScenarioFile,
    settings: Mapping[str, object],
    seeds: Mapping[str, object],
    compared: Sequence[str],
    reference: str,
) -> dict[str, object]:
    """Of variants of a scenario, what was put over it, the seed or the seeds, and the reference."""
    return {
        "linkwright": __version__,
        "scenario": loaded.facts,
        "files": [loaded.file_facts(name) for name in loaded.files],
        **seeds,
        "settings": dict(settings),
        "compared": list(compared),
        "reference": reference,
    }


def _portable(settings: dict[str, Any]) -> dict[str, Any]:
    """A system's settings, in which files have names without this computer's folders."""
    network = settings.get("network")
    if not isinstance(network, dict):
        return settings
    files = {key: portable_name(network[key]) for key in FILES if key in network}
    return {**settings, "network": {**network, **files}}
