"""Every value of the package goes to another process, and is copied, without loss."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from public import of_subjects

from linkwright import (
    Allocator,
    GpuSystem,
    LinkwrightError,
    Pattern,
    System,
    compare,
    plan,
    train,
    train_model,
)
from linkwright.allocation import BandwidthFit, Owner
from linkwright.collectives import (
    Calibration,
    NcclTestsLog,
    Question,
    Schedule,
    Timing,
    TunerFile,
    Tuning,
    calibrate_log,
    compare_log,
    diagnose,
    tune_nccl,
)
from linkwright.errors import InputError
from linkwright.gpu import GpuKernel, GpuModel, ThermalMap, read_floorplan, steady_heat
from linkwright.nccl_tests import read_nccl_log
from linkwright.network import (
    ClusterJob,
    ClusterRun,
    Fabric,
    Program,
    Replay,
    play_trace,
    preset_names,
)
from linkwright.runs.scenarios import read_scenario_file
from linkwright.scenario import (
    Job,
    OverSeeds,
    Quartiles,
    Scenario,
    SimulationResult,
    Sweep,
    Table,
    generate_jobs,
    local_threads,
    play_jobs,
    play_mix,
    play_programs,
    play_sweep,
    settings,
    size_system,
)
from linkwright.training import (
    KernelRatios,
    KernelTrace,
    LayoutSearch,
    LayoutStep,
    Model,
    ModelTraining,
    NeuralNetwork,
    TrainingStep,
)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DGX1 = System("dgx1-v100")
TREE = EXAMPLES / "collectives" / "tree-all-reduce-4.xml"
MIX = EXAMPLES / "cluster-mix.toml"
STEP = str(EXAMPLES / "traces" / "llama-3.2-1b-step.json")
PACKAGE = EXAMPLES / "mgpu-tsm-package.toml"
FABRIC = EXAMPLES / "servers-on-a-fabric.toml"
NCCL_TESTS = EXAMPLES / "measurements" / "dgx1-v100-gpus-0-3.nccl-tests.txt"
SLOW_LOG = EXAMPLES / "logs" / "gpudirect-off.log"
PACKAGE_DAY = EXAMPLES / "package-day.toml"
TUNER = "allreduce,0,1048576,tree,ll128,12,2,16,-1,-1"
# Where a value of no words of its own stands in memory.
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
SERVER = EXAMPLES / "dgx1-v100-mix.toml"


def an_allocator() -> Allocator:
    allocator = Allocator(DGX1, "greedy", bandwidth_profile="data-sheet")
    allocator.allocate("a", Pattern("ring", 3))
    allocator.mark_unhealthy(7)
    return allocator


@cache
def mix() -> Replay:
    return play_programs(MIX)


def a_schedule() -> Schedule:
    return plan(DGX1, [1, 4, 5, 6], "all-reduce")


def a_run(timeline: int = 0) -> ClusterRun:
    system = System({"gpus": 2}, network={"kind": "fat-tree", "radix": 4, "pods": 4})
    jobs = [ClusterJob(Program.skeleton("stencil4d", 16), iterations=2)]
    return system.play(jobs, mapping="random", seed=5, timeline=timeline)


@cache
def a_calibration() -> Calibration:
    return calibrate_log(read_nccl_log(NCCL_TESTS), DGX1, [0, 3], "all-reduce")


@cache
def a_tuning() -> Tuning:
    return tune_nccl(System("hgx-h100", 2, network="400Gb/s"), range(16))


def a_study_over_seeds() -> OverSeeds:
    days = [read_scenario_file(SERVER, {"seed": seed}).outcome() for seed in (1, 2)]
    return OverSeeds({"plain": days, "both": days[::-1]}, [1, 2], "plain", "both", {})


def thirds(of: int) -> float:
    return of / 3


# One value or more of each public class; a new class needs one here.
VALUES: dict[str, Callable[[], list[Any]]] = {
    "Allocator": lambda: [an_allocator()],
    "BandwidthFit": lambda: [BandwidthFit([((0, 0, 1), 12.0), ((1, 0, 0), 45.0)])],
    "Certificate": lambda: [a_schedule().certificate()],
    "CheckReport": lambda: [a_schedule().check()],
    "ClusterJob": lambda: [
        ClusterJob(Program.skeleton("laghos", 4), start=0.25, priority=3, mapping=[3, 1, 0, 2])
    ],
    "ClusterRun": lambda: [a_run(), a_run(timeline=100)],
    "Comparison": lambda: [compare(FABRIC)],
    "Fabric": lambda: [
        Fabric("fat-tree", ports=17),
        Fabric.from_text(Fabric("torus", dimensions=[3, 3]).to_dot()),
    ],
    "GpuKernel": lambda: [
        GpuKernel.from_text("buffer a 256 in = 1:1\n0 load a 256 as x\nexpect a 4 = [1]\n"),
        GpuKernel("empty"),
    ],
    "Floorplan": lambda: [read_floorplan(PACKAGE), read_floorplan(PACKAGE).with_sink(1 / 3)],
    "GpuModel": lambda: [GpuModel.find("v100-sxm2-16gb"), GpuModel.find("a100-sxm4-40gb")],
    "GpuPlace": lambda: DGX1.gpu_places(),
    "Explanation": lambda: [Allocator(DGX1).explain("a", Pattern("ring", 3))],
    "Export": lambda: [a_schedule().to_msccl_xml()],
    "GpuRun": lambda: [GpuSystem(gpus=2).play("relu", 1024)],
    "GpuSystem": lambda: [GpuSystem("r9-nano", 4, "tsm-wt-c-rc", shared_bandwidth=64.0)],
    "Heat": lambda: [steady_heat(PACKAGE, cells=6)],
    "Job": lambda: [*generate_jobs(3, 20, mean_interarrival=86400.123456789)],
    "Match": lambda: [Allocator(DGX1).decide("a", Pattern("ring", 3))],
    "NcclTestsLog": lambda: [read_nccl_log(NCCL_TESTS)],
    "Owner": lambda: [Owner(17, "node1", 1.75e9), Owner(17, "node1", 1.75e9, lease=7200.0)],
    "Pattern": lambda: [Pattern("ring+tree", 5), Pattern.from_edges(4, [(0, 2), (2, 3), (1, 2)])],
    "Program": lambda: [
        Program.skeleton("amg", 32),
        Program.from_otf2(EXAMPLES / "traces" / "stencil4d-32" / "traces.otf2"),
    ],
    "Replay": lambda: [play_trace("laghos", ranks=8), mix()],
    "Scenario": lambda: [
        Scenario.from_text(SERVER.read_text(), "mix.toml"),
        Scenario.from_text(MIX.read_text(), "mix.toml").with_settings({"fidelity": "flow"}),
        Scenario.from_text(FABRIC.read_text(), "fabric.toml").variant("flow"),
    ],
    "Setting": lambda: settings()[:5],
    "ScenarioRun": lambda: [play_mix(SERVER, policies=["preserve"])],
    "Schedule": lambda: [
        a_schedule(),
        Schedule.from_msccl_xml(TREE.read_text(), "tree.xml"),
        Schedule.from_mscclpp_json(a_schedule().to_mscclpp_json().text),
    ],
    "SimulationResult": lambda: [play_jobs(DGX1, generate_jobs(1, 30), "preserve")],
    "System": lambda: [
        *(System(name) for name, _ in preset_names()),
        System(DGX1, 2, network="100 Gb/s"),
        System(DGX1, 2, network="100 Gb/s").without(["node1/mlx5_3", "GPU0-GPU3"]),
        System([("dgx-a100", 2), DGX1], network={"kind": "torus", "port_order": "rails"}),
        System({"gpus": 4}, network=Fabric("dragonfly", ports=50)),
        System("hgx-h100", network=Fabric.from_text(Fabric("torus", dimensions=[4, 4]).to_dot())),
        mix().system,
    ],
    "Model": lambda: [Model.find("deepseek-v3"), Model.find("mpt-7b").with_tokens(512)],
    "ModelTraining": lambda: [
        ModelTraining(Model.find("llama-3.1-8b"), "fsdp=4,tp=2", batch=8, recompute="full:3"),
        ModelTraining(Model.find("mixtral-8x7b"), "dp=8,ep=8", batch=8, lora=16),
    ],
    "KernelRatios": lambda: [
        ModelTraining(Model.find("llama-3.2-1b"), "fsdp=8", batch=8).ratios(
            KernelTrace.read(STEP), System("hgx-h100")
        )
    ],
    "KernelTrace": lambda: [KernelTrace.read(STEP)],
    "LayoutSearch": lambda: [
        LayoutSearch(
            ModelTraining(Model.find("llama-3.2-1b"), "dp=4", batch=8),
            System("hgx-h100"),
            [0, 1, 2, 3],
            capacity=80 << 30,
        )
    ],
    "LayoutStep": lambda: [
        LayoutStep(
            ModelTraining(Model.find("llama-3.2-1b"), "tp=2,pp=2", batch=4),
            System("hgx-h100"),
            [0, 1, 2, 3],
            prefetch=2,
        )
    ],
    "ModelRun": lambda: [train_model("llama-3.1-8b", layout="fsdp=8,tp=2")],
    "NeuralNetwork": lambda: [
        NeuralNetwork.find("lenet"),
        NeuralNetwork.find("vgg-16").with_input(size=64),
    ],
    "TrainingStep": lambda: [
        TrainingStep(NeuralNetwork.find("lenet"), DGX1, [0, 1], batch=64, way="p2p")
    ],
    "TrainingRun": lambda: [train("lenet", DGX1, gpus=2, batch=64)],
    "Table": lambda: [DGX1.devices(), DGX1.links(), a_run().ranks(), a_run().jobs()],
    "ThermalMap": lambda: [read_floorplan(PACKAGE).sink_for(80, 6)],
    "Timing": lambda: [a_schedule().time(1 << 20)],
    "Tried": lambda: (
        plan(System("dgx1-v100"), [0, 1, 3], "all-reduce", algorithm="auto", size=1 << 20).tried
    ),
    "Tree": lambda: a_schedule().trees,
    "Worth": lambda: [compare(SERVER, policies=["baseline", "preserve"], seeds=2)],
    "Calibration": lambda: [a_calibration()],
    "CalibratedRow": lambda: [*a_calibration().rows],
    "CalibratedTerm": lambda: [*a_calibration().terms],
    "Diagnosed": lambda: diagnose(SLOW_LOG),
    "DiagnosedCause": lambda: [*diagnose(SLOW_LOG)[0].causes],
    "DiagnosedRow": lambda: [*diagnose(SLOW_LOG)[0].rows],
    "LogComparison": lambda: [compare_log(read_nccl_log(NCCL_TESTS), DGX1, [0, 3], "all-reduce")],
    "OverSeeds": lambda: [a_study_over_seeds()],
    "PackageHeat": lambda: [*play_mix(PACKAGE_DAY).heats.values()],
    "ProofLine": lambda: [it.line for it in diagnose(SLOW_LOG)[0].causes if it.line is not None],
    "Quartiles": lambda: [Quartiles.of([3.0, 1.0, 0.1, 7.5])],
    "Question": lambda: [Question(), Question("hgx-h100", network="400Gb/s", without=["mlx5_3"])],
    "Sizing": lambda: [size_system(FABRIC, ["system.network.bandwidth=50 GB/s..100 GB/s"])],
    "Sweep": lambda: [Sweep(thirds, [{"of": 1}, {"of": 2}], seed=3, places={"a": "b"})],
    "SweepResult": lambda: [play_sweep(Sweep(thirds, [{"of": 1}, {"of": 2}]), local_threads(1))],
    "Timeline": lambda: [play_mix(SERVER, timeline=100).timeline()],
    "Tuning": lambda: [a_tuning()],
    "TunedRow": lambda: [*a_tuning().rows],
    "TunerAnswer": lambda: [
        TunerFile.from_text(TUNER).answer("all-reduce", size, 2, 16) for size in (1024, 1 << 30)
    ],
    "TunerFile": lambda: [TunerFile.from_text(TUNER)],
    "TunerRow": lambda: [*TunerFile.from_text(TUNER).rows],
}


# Callers write into some of these, and others stand in them; workers are a place, and no value.
PUBLIC: dict[str, Any] = of_subjects()
UNFINISHED = {"Evidence", "LogFiles", "ProgramBuilder", "ProgramOperation", "Workers"}


def is_value(name: str) -> bool:
    found = PUBLIC[name]
    if name in UNFINISHED:
        return False
    is_class = inspect.isclass(found) and not inspect.isabstract(found)
    return is_class and not issubclass(found, BaseException)


def seen(value: Any) -> Any:
    """Returns all that Python sees of a value. A copy must have all of it."""
    if isinstance(value, Table):
        return pa.table(value)
    if isinstance(value, Allocator):
        return value.policy, value.held, value.unhealthy, value.save()
    if isinstance(value, list | tuple):
        return [seen(each) for each in value]
    if isinstance(value, dict):
        return {key: seen(each) for key, each in value.items()}
    if type(value).__module__.partition(".")[0] != "linkwright":
        return value
    facts: dict[str, Any] = {"repr": ADDRESS.sub("", repr(value))}
    for name in dir(value):
        if name.startswith("_"):
            continue
        try:
            fact = getattr(value, name)
        except LinkwrightError as error:
            # A model of GPU may lack a fact that its file leaves out.
            fact = str(error)
        if not callable(fact):
            facts[name] = seen(fact)
    tables = {
        ClusterRun: ("jobs", "ranks", "links", "latencies", "messages", "computation"),
        KernelRatios: ("rows",),
        KernelTrace: ("kernels", "products", "collectives", "parts", "unknown"),
        LayoutStep: ("exchanges", "work"),
        NcclTestsLog: ("rows",),
        SimulationResult: ("jobs",),
        ThermalMap: ("blocks", "layers"),
        Timing: ("links",),
    }
    if isinstance(value, System) and value.fabric is None:
        tables[System] = ("devices", "links", "to_toml", "to_json")
    for name in tables.get(type(value), ()):
        facts[name] = seen(getattr(value, name)())
    return facts


def test_every_class_has_a_case() -> None:
    assert sorted(VALUES) == sorted(name for name in PUBLIC if is_value(name))


@pytest.mark.parametrize("name", VALUES)
def test_a_value_survives_pickling_and_copying(name: str) -> None:
    for value in VALUES[name]():
        facts = seen(value)
        for again in (
            pickle.loads(pickle.dumps(value)),
            pickle.loads(pickle.dumps(value, protocol=2)),
            copy.copy(value),
            copy.deepcopy(value),
        ):
            assert type(again) is type(value)
            assert seen(again) == facts
        assert seen(value) == facts


def test_a_copy_of_what_changes_is_its_own() -> None:
    allocator = an_allocator()
    again = copy.deepcopy(allocator)
    again.release("a")
    assert (list(allocator.held), list(again.held)) == (["a"], [])
    assert allocator.decide("b", Pattern("ring", 2)) == copy.copy(allocator).decide(
        "b", Pattern("ring", 2)
    )


def test_a_planned_schedule_is_timed_and_run_after_pickling() -> None:
    schedule = a_schedule()
    again = pickle.loads(pickle.dumps(schedule))
    assert again == schedule
    assert again.time(1 << 20).time == schedule.time(1 << 20).time
    data = [np.arange(again.shards * 96, dtype=np.float32) + rank for rank in range(4)]
    assert np.array_equal(again.execute(data)[0], schedule.execute(data)[0])


def test_a_scenario_is_read_again_by_another_process(tmp_path: Path) -> None:
    scenario = Scenario.from_text(MIX.read_text(), "mix.toml")
    file = tmp_path / "values"
    file.write_bytes(pickle.dumps([scenario, Job("a", "gmm", 2), DGX1]))
    code = f"import pickle; print(*map(repr, pickle.load(open({str(file)!r}, 'rb'))), sep='\\n')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [repr(scenario), repr(Job("a", "gmm", 2)), repr(DGX1)]


def test_errors_survive_pickling() -> None:
    errors: list[LinkwrightError] = [InputError("f", 1, 2, "problem", "value", "remedy")]
    errors += [
        error("what is wrong")
        for name, error in PUBLIC.items()
        if name.endswith("Error") and name != "InputError"
    ]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))


def test_a_pickle_of_another_version_is_refused() -> None:
    whole = pickle.dumps(Pattern("ring", 2))
    with pytest.raises(ValueError, match="not of this version of Linkwright"):
        pickle.loads(whole.replace(b'"size"', b'"bulk"'))
