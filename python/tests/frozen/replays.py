"""Jobs replayed on networks: what became of jobs, ranks and channels, and how many events."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from frozen.captured import Captured, Case
from frozen.names import APPLICATIONS
from frozen.plays import EVERYTHING, TRACE, Play, Work, tables_of_run
from frozen.tables import ROOT, of_table
from linkwright.network import ClusterRun, play_trace
from linkwright.scenario import play_programs

__all__ = ["cases"]

ROUTINGS = {
    "fat-tree": ("static", "adaptive", "shortest-path"),
    "fat-tree-2-levels": ("static", "adaptive"),
    "fat-tree-tapered": ("static", "adaptive"),
    "dragonfly": ("minimal", "valiant", "ugal", "progressive", "shortest-path"),
    "torus": ("dimension-order", "shortest-path"),
    "torus-2-nodes": ("dimension-order",),
    "quartz": ("shortest-path",),
    "graph": ("shortest-path",),
}
FIDELITIES = ("packet", "flow")


def cases() -> list[Case]:
    """Every replay."""
    plays = [*_routings(), *_settings(), *_applications(), *_mixes(), *_collectives(), *_large()]
    return [*(play.case() for play in plays), *_commands()]


def _routings() -> Iterator[Play]:
    for name, routings in ROUTINGS.items():
        for routing in routings:
            for fidelity in FIDELITIES:
                settings = {"routing": routing, "fidelity": fidelity}
                yield Play(f"{name}-{routing}-{fidelity}", name, settings)
    for routing in ("valiant", "ugal", "progressive"):
        for name, detours in (("no-detours", False), ("detours", True)):
            choice = {"routing": routing, "intra_group_detours": detours, "nic": "rr"}
            yield Play(f"dragonfly-{routing}-{name}", "dragonfly", choice)


def _settings() -> Iterator[Play]:
    two = (
        Work(settings={"name": "first", "priority": 1}),
        Work("stencil4d", 16, {}, {"name": "second", "mapping": "random", "start": 5e-5}),
    )
    protocols: dict[str, dict[str, str]] = {
        "all-eager": {"eager_limit": "1 MiB"},
        "all-rendezvous": {"eager_limit": "0 B", "rendezvous_delay": "3 us"},
        "overheads": {
            "send_overhead": "1 us",
            "receive_overhead": "700 ns",
            "copy_per_byte": "50 ps",
            "control_size": "64 B",
        },
    }
    for name in ("fat-tree", "dragonfly"):
        for fidelity in FIDELITIES:
            of = f"{name}-{fidelity}"
            base: dict[str, Any] = {"fidelity": fidelity}
            for nic in ("rr", "rr-2", "rr-4"):
                yield Play(f"{of}-nic-{nic}", name, {**base, "nic": nic})
            for gpus in (2, 4, 8):
                yield Play(f"{of}-{gpus}-gpus-a-node", name, {**base, "gpus_per_node": gpus})
            yield Play(f"{of}-cut-through", name, {**base, "switching": "cut-through"})
            for what, protocol in protocols.items():
                yield Play(f"{of}-{what}", name, {**base, "protocol": protocol})
            yield Play(
                f"{of}-slow-links",
                name,
                {**base, "bandwidth_scale": "x/8", "nic": "rr", "seed": 5},
                (Work(settings={"mapping": "random", "computation_scale": 0.5}),),
            )
    for name in ("fat-tree-tapered", "dragonfly"):
        for arbitration in ("round-robin", "age", "priority"):
            settings = {"arbitration": arbitration, "nic": "rr", "gpus_per_node": 2}
            yield Play(f"{name}-arbitration-{arbitration}", name, settings, two)
        for packets in (1, 2, 32):
            yield Play(f"{name}-{packets}-packets-a-buffer", name, {"buffer_packets": packets})
        settings = {"packet_size": "1500 B", "router_delay": "200 ns", "nic_delay": "1 us"}
        yield Play(f"{name}-delays", name, settings)
        settings = {"gpus_per_node": 4, "gpu_bandwidth": "150 GB/s", "gpu_latency": "2 us"}
        yield Play(f"{name}-links-of-gpus", name, settings)


def _applications() -> Iterator[Play]:
    for application in APPLICATIONS:
        work = Work(application, 32, {}, {"iterations": 2, "computation_scale": 0.1})
        for fidelity in FIDELITIES:
            settings = {"gpus_per_node": 2, "fidelity": fidelity, "nic": "rr-4"}
            yield Play(f"{application}-{fidelity}", "dragonfly", settings, (work,))


def _mixes() -> Iterator[Play]:
    works = (
        Work("stencil4d", 16, {"message": "64 KiB"}, {"iterations": 2, "name": "a"}),
        Work("laghos", 12, {}, {"mapping": "random", "name": "b", "priority": 9}),
        Work("kripke", 8, {}, {"mapping": [0, 5, 9, 14, 19, 24, 29, 31], "name": "c"}),
        Work("subcomm3d", 8, {}, {"start": 2e-5, "computation_scale": 0.1, "name": "d"}),
    )
    for name in ("fat-tree", "dragonfly", "torus", "quartz"):
        for fidelity in FIDELITIES:
            settings = {"gpus_per_node": 2, "fidelity": fidelity, "seed": 3}
            yield Play(f"mix-{name}-{fidelity}", name, settings, works)


def _collectives() -> Iterator[Play]:
    reduced = {"all_reduce": ("binary-tree", "recursive-halving", "ring", "planned")}
    exchanged = {"all_to_all": ("bruck", "blocked", "pairwise", "planned")}
    for program, choices in (("laghos", reduced), ("subcomm3d", exchanged)):
        for collective, algorithms in choices.items():
            for algorithm in algorithms:
                settings = {"gpus_per_node": 4, "collectives": {collective: algorithm}}
                yield Play(f"{program}-{algorithm}", "fat-tree", settings, (Work(program, 32),))
    settings = {
        "gpus_per_node": 4,
        "collectives": {"all_to_all": "planned", "planned_message_size": "16 KiB"},
        "fidelity": "flow",
    }
    work = Work("subcomm3d", 32, {"message_y": "128 KiB", "message_z": "64 KiB"})
    yield Play("subcomm3d-planned-small-messages", "fat-tree", settings, (work,))


def _large() -> Iterator[Play]:
    """On the networks that kinds are by name, where many events meet at one time."""
    for name, ranks, settings in (
        ("fat-tree", 512, {"nic": "fcfs"}),
        ("fat-tree", 256, {"nic": "rr", "gpus_per_node": 4}),
        ("dragonfly", 512, {"nic": "fcfs", "intra_group_detours": False}),
        ("dragonfly", 256, {"nic": "rr", "gpus_per_node": 2}),
        ("torus", 128, {"nic": "rr-4"}),
        ("quartz", 128, {"nic": "rr-4", "gpus_per_node": 2}),
    ):
        work = Work("stencil4d", ranks, {}, {"computation_scale": 1 / 15})
        name_of = f"large-{name}-{settings['nic']}"
        yield Play(name_of, f"{name} by name", settings, (work,))
    work = Work("stencil4d", 128, {}, {"computation_scale": 1 / 15})
    yield Play("large-fat-tree-flow", "fat-tree by name", {"fidelity": "flow"}, (work,))


def _commands() -> list[Case]:
    scenario = "examples/cluster-mix.toml"
    return [
        Case("replays/cluster-mix", f"linkwright run {scenario}", partial(_scenario, scenario)),
        Case("replays/stencil4d-32", f"linkwright replay {TRACE}", _trace),
    ]


def _scenario(path: str) -> Iterator[Captured]:
    return _whole(play_programs(ROOT / path, timeline=EVERYTHING).run)


def _trace() -> Iterator[Captured]:
    return _whole(play_trace(ROOT / TRACE, timeline=EVERYTHING).run)


def _whole(run: ClusterRun) -> Iterator[Captured]:
    """A run with every column of its tables, and with its histogram."""
    yield from tables_of_run(run)
    yield of_table("every column of the ranks", run.ranks())
    yield of_table("every column of the channels", run.links())
    yield of_table("histogram", run.latency_histogram())
