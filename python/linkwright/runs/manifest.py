"""Holds the facts that repeat a run: the version, the choices, the hash of every input.

It holds no clock and no folder, so that the same inputs give the same bytes anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwright import System, __version__
from linkwright.files import PathOrName, portable_name, sha256
from linkwright.plug_ins import facts_of
from linkwright.runs.scenarios import ScenarioFile
from linkwright.scenario import Job

__all__ = ["manifest_of", "of_comparison", "of_programs", "of_trace", "plug_ins_of"]

# The keys of a network that name files.
FILES = ("file", "routing_table")


def manifest_of(
    loaded: ScenarioFile, system: System, jobs: Sequence[Job], names: Sequence[str]
) -> dict[str, object]:
    """Holds the facts that repeat a run: the version, the choices, the hash of every input."""
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
        **facts_of([*names, *scenario.plug_ins]),
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
        **facts_of(_chosen(system)),
        "files": [
            {"input": of, "file": name, "sha256": sha256(content)} for of, name, content in inputs
        ],
    }


def of_programs(loaded: ScenarioFile, system: System, fidelity: str) -> dict[str, object]:
    """Returns the manifest of a scenario of programs."""
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
        **facts_of(loaded.scenario.plug_ins),
    }


def _chosen(system: System) -> list[str]:
    """Gives the names that a system's network is made by."""
    network = system.settings.get("network")
    chosen = network if isinstance(network, dict) else {}
    return [str(chosen[key]) for key in ("nic", "routing") if key in chosen]


def plug_ins_of(loaded: ScenarioFile) -> list[str]:
    """Lists the classes of one's own of a scenario and of all its variants."""
    scenario = loaded.scenario
    each = [scenario, *map(scenario.variant, scenario.variants)]
    return sorted({name for one in each for name in one.plug_ins})


def of_comparison(
    loaded: ScenarioFile,
    settings: Mapping[str, object],
    seeds: Mapping[str, object],
    compared: Sequence[str],
    reference: str,
    plug_ins: Sequence[str] | None = None,
) -> dict[str, object]:
    """Of variants of a scenario, what was put over it, the seed or the seeds, and the reference.

    `plug_ins` are the classes of one's own, where they are not those of the scenario's variants.
    """
    return {
        "linkwright": __version__,
        "scenario": loaded.facts,
        "files": [loaded.file_facts(name) for name in loaded.files],
        **seeds,
        "settings": dict(settings),
        "compared": list(compared),
        "reference": reference,
        **facts_of(plug_ins_of(loaded) if plug_ins is None else plug_ins),
    }


def _portable(settings: dict[str, Any]) -> dict[str, Any]:
    """A system's settings, in which files have names without this computer's folders."""
    network = settings.get("network")
    if not isinstance(network, dict):
        return settings
    files = {key: portable_name(network[key]) for key in FILES if key in network}
    return {**settings, "network": {**network, **files}}
