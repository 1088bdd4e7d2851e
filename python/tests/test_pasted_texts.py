"""Text pasted where a path or a name is expected is one clear error, which shows its start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sweep_runs import note

import linkwright as lw
from linkwright import LinkwrightError
from linkwright.errors import ArgumentError, FileError
from linkwright.errors import brief
from linkwright.nccl_tests import read_nccl_log
from linkwright.sweeps import Sweep, play_sweep
from linkwright.traces import write_otf2

SECRET = "the last line"
PASTED = "\tGPU0\tGPU1\n" + "GPU0\tX\tNV12\n" * 500 + SECRET
PROGRAM = lw.network.Program.skeleton("kripke", 2)
SYSTEM = lw.System("dgx1-v100")

# Calls that take a path, and the reader of texts that their error names.
PATHS: dict[str, tuple[Callable[[Any], object], str | None]] = {
    "read_system": (lw.network.read_system, "System.from_text"),
    "read_system of a list": (lambda it: lw.network.read_system([it]), "System.from_text"),
    "read_system.network": (lambda it: lw.network.read_system(network=it), "Fabric.from_text"),
    "read_fabric": (lw.network.read_fabric, "Fabric.from_text"),
    "read_floorplan": (lw.gpu.read_floorplan, "Floorplan.from_text"),
    "steady_heat": (lw.gpu.steady_heat, "Floorplan.from_text"),
    "read_program": (lambda it: lw.network.read_program(it, ranks=2), "Program.from_goal"),
    "play_trace": (lw.network.play_trace, "Program.from_goal"),
    "play_trace.mapping": (
        lambda it: lw.network.play_trace("kripke", ranks=2, mapping=it),
        "mapping_from_text",
    ),
    "play_programs": (lw.scenario.play_programs, "read_scenario"),
    "play_mix": (lw.scenario.play_mix, "read_scenario"),
    "compare": (lw.compare, "read_scenario"),
    "train": (lw.train, "NeuralNetwork.from_text"),
    "train_model": (lw.train_model, "Model.from_text"),
    "train.machine": (lambda it: lw.train("resnet-50", it), "System.from_text"),
    "train.fabric": (lambda it: lw.train("resnet-50", servers=2, fabric=it), "Fabric.from_text"),
    "read_text": (lw.scenario.read_text, None),
    "read_trace_files": (lw.network.read_trace_files, None),
    "write_run": (lambda it: lw.scenario.write_run(lw.train("alexnet", gpus=1), it), None),
    "read_nccl_log": (read_nccl_log, "read_nccl_tests"),
    "write_otf2": (lambda it: write_otf2(PROGRAM, it), None),
    "play_sweep.checkpoint": (lambda it: play_sweep(Sweep(note, []), checkpoint=it), None),
}
NAMES: dict[str, Callable[[Any], object]] = {
    "System": lw.System,
    "System.network": lambda it: lw.System(network=it),
    "Fabric": lw.network.Fabric,
    "Pattern": lambda it: lw.Pattern(it, 2),
    "Allocator.policy": lambda it: lw.Allocator(SYSTEM, it),
    "Job.workload": lambda it: lw.scenario.Job("a", it, 1),
    "plan": lambda it: lw.plan(SYSTEM, [0, 1], it),
    "plan.algorithm": lambda it: lw.plan(SYSTEM, [0, 1], "broadcast", algorithm=it),
    "gpu_model": lw.gpu_model,
    "NeuralNetwork.find": lw.training.NeuralNetwork.find,
    "Program.skeleton": lambda it: lw.network.Program.skeleton(it, 2),
    "System.from_text.format": lambda it: lw.System.from_text("x", format=it),
    "System.from_text.nvlink": lambda it: lw.System.from_text("x", nvlink=it),
}


def check_brief(error: LinkwrightError) -> None:
    told = str(error)
    assert SECRET not in told
    assert len(error.problem) < 200
    assert "GPU0" in told
    assert "\n" not in told
    # Another process is sent no more.
    assert SECRET not in repr(error)


@pytest.mark.parametrize("name", PATHS)
def test_a_pasted_text_is_refused_as_a_path(name: str) -> None:
    call, reader = PATHS[name]
    with pytest.raises(FileError, match=r"a text of several lines is no path: `.*GPU0") as refused:
        call(PASTED)
    check_brief(refused.value)
    assert reader is None or f"{reader} reads a text" in str(refused.value)


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("bad", ["a\0b", "x" * 5_000, "y/" * 4_000, b"dgx1-v100", 3.5])
def test_what_no_file_is_named_is_refused(name: str, bad: object) -> None:
    with pytest.raises(LinkwrightError) as refused:
        PATHS[name][0](bad)
    told = str(refused.value)
    assert len(told) < 600
    if not isinstance(bad, str):
        assert isinstance(refused.value, ArgumentError)
        assert refused.value.argument


@pytest.mark.parametrize("name", NAMES)
def test_a_pasted_text_is_refused_as_a_name(name: str) -> None:
    with pytest.raises(LinkwrightError) as refused:
        NAMES[name](PASTED)
    check_brief(refused.value)


@pytest.mark.parametrize(
    "name", ["read_system", "read_fabric", "read_floorplan", "read_text", "play_mix", "train"]
)
def test_a_folder_is_no_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a directory; name a file in it"):
        PATHS[name][0](tmp_path)


def test_the_start_of_a_text_is_that_of_its_first_line_with_words() -> None:
    assert brief("dgx1-v100") == "dgx1-v100"
    assert brief("\n\n  GPU0 GPU1\nGPU0 X") == "GPU0 GPU1…"
    assert brief("x" * 100) == "x" * 60 + "…"
