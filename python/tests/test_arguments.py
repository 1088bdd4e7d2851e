"""Every argument of the public API is refused by its name, in words, where it is of another kind.

The parameters are those of every public function, class and method, as `inspect` has them. A new
one needs a line here where the call needs a value that no line has.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from public import SUBJECTS, of_subjects

import linkwright as lw
from linkwright import LinkwrightError
from linkwright.errors import ArgumentError

DGX1 = lw.System("dgx1-v100")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROGRAM = lw.network.Program.skeleton("kripke", 2)
PLAN = lw.plan(DGX1, [0, 1, 2, 3], "all-reduce")
MIX = EXAMPLES / "dgx1-v100-mix.toml"
TRACE = lw.training.KernelTrace.read(str(EXAMPLES / "traces" / "llama-3.2-1b-step.json"))
LOG = EXAMPLES / "measurements" / "dgx1-v100-gpus-0-3.nccl-tests.txt"


def an_allocator() -> lw.Allocator:
    return lw.Allocator(DGX1)


def some_evidence() -> lw.collectives.Evidence:
    evidence = lw.collectives.Evidence()
    evidence.read_text(LOG.read_text(), LOG.name)
    return evidence


def a_builder() -> lw.network.ProgramBuilder:
    return lw.network.ProgramBuilder(2)


def a_kernel() -> lw.gpu.GpuKernel:
    kernel = lw.gpu.GpuKernel()
    kernel.buffer("a", 256)
    kernel.launch("l")
    return kernel


def one_gpu() -> lw.training.ModelTraining:
    """Gives a model on one GPU."""
    return lw.training.ModelTraining(lw.training.Model.find("llama-3.1-8b"), "dp=1", batch=1)


# An object of each class whose methods are called.
OBJECTS: dict[str, Callable[[], Any]] = {
    "Allocator": an_allocator,
    "ClusterJob": lambda: lw.network.ClusterJob(PROGRAM),
    "Fabric": lambda: lw.network.Fabric("fat-tree"),
    "Floorplan": lambda: lw.gpu.read_floorplan(EXAMPLES / "mgpu-tsm-package.toml"),
    "GpuKernel": a_kernel,
    "GpuSystem": lw.GpuSystem,
    "Job": lambda: lw.scenario.Job("a", "gmm", 1),
    "KernelTrace": lambda: TRACE,
    "LayoutSearch": lambda: lw.training.LayoutSearch(one_gpu(), lw.System("hgx-h100"), [0]),
    "LayoutStep": lambda: lw.training.LayoutStep(one_gpu(), lw.System("hgx-h100"), [0]),
    "Model": lambda: lw.training.Model.find("llama-3.1-8b"),
    "ModelTraining": one_gpu,
    "Evidence": some_evidence,
    "NcclTestsLog": lambda: lw.collectives.NcclTestsLog.from_text(LOG.read_text()),
    "NeuralNetwork": lambda: lw.training.NeuralNetwork.find("lenet"),
    "Owner": lambda: lw.allocation.Owner(1, "h", 1.0),
    "Pattern": lambda: lw.Pattern("ring", 2),
    "Program": lambda: PROGRAM,
    "ProgramBuilder": a_builder,
    "Scenario": lambda: lw.scenario.Scenario.from_text(MIX.read_text()),
    "Schedule": lambda: PLAN,
    "SimulationResult": lambda: lw.scenario.play_jobs(DGX1, [lw.scenario.Job("a", "gmm", 1)]),
    "System": lambda: DGX1,
    "ThermalMap": lambda: lw.gpu.read_floorplan(EXAMPLES / "mgpu-tsm-package.toml").solve(4),
    "TrainingStep": lambda: lw.training.TrainingStep(
        lw.training.NeuralNetwork.find("lenet"), DGX1, [0], batch=64
    ),
}
# Values that are given besides, by the parameter's name: of a function, or of any.
GIVEN: dict[str, Any] = {
    "algorithm": "packing",
    "application": "kripke",
    "arrays": [],
    "arrival": 0.0,
    "batch": 64,
    "before": ("", ""),
    "after": ("", ""),
    "benchmark": "relu",
    "buffer": "a",
    "collective": "all-reduce",
    "direction": "peer",
    "double": 1,
    "policy": "preserve",
    "duration": 1.0,
    "edges": [(0, 1)],
    "effective_bandwidth": 10.0,
    "gpu": 0,
    "gpus": [0, 1],
    "host": "h",
    "instructions": 1,
    "accesses": 1,
    "job": "a",
    "jobs": [],
    "kind": "fat-tree",
    "kind_or_path": "fat-tree",
    "kernel": "gemm",
    "living": [],
    "log": None,
    "model": "v100",
    "matrix": [[0, 1], [1, 0]],
    "name": "a",
    "name_or_path": "kripke",
    "network": "lenet",
    "now": 1.0,
    "operation": "add",
    "other": DGX1,
    "parts": ["mlx5_3"],
    "path": "none.toml",
    "pattern": lw.Pattern("ring", 2),
    "pcie": 1,
    "pid": 1,
    "program": PROGRAM,
    "rank": 0,
    "ranks": 2,
    "record": "a",
    "resistance": 0.1,
    "rows": [],
    "scenario": OBJECTS["Scenario"](),
    "schedule": PLAN,
    "seed": 0,
    "server": "dgx1-v100",
    "settings": {},
    "shape": "ring",
    "shapes": ["8x8x8"],
    "single": 1,
    "size": 2,
    "sizes": [8],
    "source": 1,
    "system": DGX1,
    "temperature": 50.0,
    "test": "iriw",
    "text": "",
    "time": 1.0,
    "times": [],
    "to": 1,
    "trace": "kripke",
    "values": [1],
    "wavefront": 0,
    "workload": "gmm",
    "layer": "a",
    "directory": "none",
    "run": None,
    "anchor": "none.otf2",
}
OF_ONE: dict[str, dict[str, Any]] = {
    "expect_all_to_allv": {"gpus": [0, 1]},
    "Fabric.paths": {"source": 0, "destination": 1},
    "Job": {"gpus": 1},
    "ClusterJob": {},
    "Evidence.judge": {"run": 0},
    "NcclTestsLog.check": {"gpus": 2},
    "bus_factor": {"gpus": 2},
    "kernel_times": {"gpu": "h100"},
    "mapping_from_text": {"ranks": [1], "gpus": 1},
    "GpuSystem": {"gpus": 1},
    "GpuSystem.shared_time": {"read": 64, "written": 64},
    "TrainingStep": {"network": lw.training.NeuralNetwork.find("lenet"), "gpus": [0]},
    "ModelTraining.ratios": {"trace": TRACE, "system": lw.System("hgx-h100")},
    "LayoutSearch": {"training": one_gpu(), "system": lw.System("hgx-h100"), "gpus": [0]},
    "LayoutSearch.closest": {"count": 1},
    "LayoutSearch.training": {
        "layout": "dp=1",
        "micro_batch": 1,
        "zero": 0,
        "recompute": "none",
    },
    "ModelTraining.flags": {"framework": "megatron"},
    "LayoutStep": {"training": one_gpu(), "system": lw.System("hgx-h100"), "gpus": [0]},
    "ModelTraining": {
        "model": lw.training.Model.find("llama-3.1-8b"),
        "layout": "dp=1",
        "batch": 1,
    },
    "Model.find": {"name": "llama-3.1-8b"},
    "ProgramBuilder.communicator": {"ranks": [0]},
    "ProgramBuilder.collective": {"kind": "barrier"},
    "ProgramBuilder.wait": {"after": []},
    "ProgramBuilder.reduce": {},
    "NeuralNetwork.find": {"name": "lenet"},
    "calibrate": {"log": lw.collectives.NcclTestsLog.from_text(LOG.read_text())},
    "explain_log": {"log": lw.collectives.NcclTestsLog.from_text(LOG.read_text())},
    "read_program": {"ranks": 2},
    "play_trace": {"ranks": 2},
    "GpuModel.find": {"name": "v100-sxm2-16gb"},
    "gpu_litmus": {"system": lw.GpuSystem()},
    "size_system": {"vary": ["system.network.bandwidth=10 GB/s..80 GB/s"]},
    "write_run": {"run": None},
    "System.server_of": {"gpu": 0},
    "comparison_gains": {"found": "[]", "names": [], "reference": "a", "choices": []},
    "policy_speedups": {"results": [], "reference": "baseline"},
    "program_speedups": {"found": [], "reference": 0},
    "share_saved": {"before": 1.0, "after": 1.0, "less_is_better": True},
}
PUBLIC: dict[str, Any] = of_subjects()
# Classes of the extension name their subject; Python's own are in modules below it.
OF_CORE = {f"linkwright.{subject}" for subject in SUBJECTS}
# No function takes these: an object of a class of its own, and a few that pass for others.
STRANGE = [object(), 3 + 4j, [object()], {"a": object()}]
# Raised by Python, and told by its own words.
JARGON = re.compile(
    r"PyO3|extract|\bVec\b|usize|i128|\bu64\b|enum |variant|Borrowed|PyRef|downcast"
)


def functions() -> Iterator[tuple[str, Callable[[], Any], list[str]]]:
    """Each public call, what gives it, and the names of its parameters."""
    for name, of in PUBLIC.items():
        if not inspect.isclass(of):
            if inspect.isbuiltin(of) or hasattr(of, "__wrapped__"):
                yield name, partial(PUBLIC.__getitem__, name), parameters(of)
            continue
        if issubclass(of, BaseException) or of.__module__ not in OF_CORE:
            continue
        yield name, partial(PUBLIC.__getitem__, name), parameters(of)
        for method in (it for it in dir(of) if not it.startswith("_")):
            member = inspect.getattr_static(of, method)
            make: Callable[[], Any] | None = OBJECTS.get(name)
            if isinstance(member, staticmethod | classmethod):
                make = partial(PUBLIC.__getitem__, name)
            if make is not None and callable(getattr(of, method)):
                yield f"{name}.{method}", partial(bound, make, method), parameters(member)


def bound(make: Callable[[], Any], method: str) -> Any:
    return getattr(make(), method)


def parameters(of: Any) -> list[str]:
    try:
        signature = inspect.signature(of)
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    named = [it.name for it in signature.parameters.values() if it.kind not in kinds]
    return [name for name in named if name not in ("self", "cls")]


CALLS = {name: (make, names) for name, make, names in functions() if names}
EACH = [(name, parameter) for name, (_, names) in CALLS.items() for parameter in names]
# They take every object.
OPEN = {
    ("write_run", "run"),
}


def needed(name: str, call: Any, parameter: str) -> dict[str, Any]:
    """Arguments for what has no default."""
    wanted = {}
    for it in inspect.signature(call).parameters.values():
        is_needed = it.default is inspect.Parameter.empty and it.kind in (
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            inspect.Parameter.KEYWORD_ONLY,
        )
        if is_needed and it.name not in (parameter, "self"):
            own = OF_ONE.get(name, {})
            wanted[it.name] = own[it.name] if it.name in own else GIVEN[it.name]
    if parameter not in ("ranks",):
        wanted |= {key: it for key, it in OF_ONE.get(name, {}).items() if key != parameter}
    return wanted


def test_the_whole_api_is_asked() -> None:
    assert len(EACH) > 330
    methods = {name.partition(".")[0] for name in CALLS if "." in name}
    assert methods >= set(OBJECTS) - {"ClusterJob"}


@pytest.mark.parametrize(("name", "parameter"), EACH)
def test_an_argument_of_another_kind_is_named(name: str, parameter: str) -> None:
    if (name, parameter) in OPEN:
        pytest.skip("every object is one")
    call = CALLS[name][0]()
    others = needed(name, call, parameter)
    told = next(filter(None, (refused(call, {**others, parameter: it}) for it in STRANGE)), None)
    assert told is not None, "nothing was refused"
    assert isinstance(told, LinkwrightError), told
    assert parameter in str(told)
    assert not JARGON.search(str(told))
    assert len(str(told)) < 400
    if isinstance(told, ArgumentError):
        assert told.argument.startswith(parameter)
        assert told.remedy.startswith("give ")


def refused(call: Callable[..., object], arguments: dict[str, Any]) -> Exception | None:
    """Why a call takes no such arguments; None where it does."""
    try:
        call(**arguments)
    except (LinkwrightError, TypeError) as error:
        return error
    return None
