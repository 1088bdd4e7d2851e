"""Tells where a name of the package stands, for callers who look for it in the wrong place."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

__all__ = ["whereabouts"]

# Names that texts about earlier states of the package still have, and the present ones.
NOW = {
    "compare_scenario": "compare",
    "find_heat": "gpu.steady_heat",
    "gpu_model": "gpu.GpuModel.find",
    "load_fabric": "network.read_fabric",
    "load_floorplan": "gpu.read_floorplan",
    "load_machine": "network.read_system",
    "load_program": "network.read_program",
    "load_system": "network.read_system",
    "read_jobs": "scenario.jobs_from_text",
    "read_mapping": "network.mapping_from_text",
    "read_nccl_graph_file": "collectives.nccl_graph_from_text",
    "read_nccl_tests": "collectives.NcclTestsLog.from_text",
    "read_scenario": "scenario.Scenario.from_text",
    "replay_scenario": "play",
    "replay_trace": "network.play_trace",
    "run_scenario": "play",
    "simulate": "scenario.play_jobs",
}


def whereabouts(name: str, subjects: Sequence[str]) -> str:
    """Names the place of a public name, or the nearest name; empty where nothing is near."""
    from difflib import get_close_matches

    if name in NOW:
        return f"; use `linkwright.{NOW[name]}`"
    homes: dict[str, str] = {}
    for subject in subjects:
        for found in import_module(f"linkwright.{subject}").__all__:
            homes.setdefault(found, f"linkwright.{subject}.{found}")
    near = [name] if name in homes else get_close_matches(name, homes, n=1)
    return f"; use `{homes[near[0]]}`" if near else ""
