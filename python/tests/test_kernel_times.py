"""Holds kernels that are timed alone: the command to Python, and refusals to what works."""

from __future__ import annotations

import pyarrow as pa
import pytest
from commands import fails, linkwright, parsed
from test_cli_json import check, schema

from linkwright.errors import InputError, MachineError, SimulationError
from linkwright.gpu import gpu_models
from linkwright.scenario import choice_names
from linkwright.training import kernel_fields, kernel_time_terms, kernel_times

SHAPES = {
    "gemm": "4096x4096x8192",
    "attention": "batch=1,tokens=8192,heads=32,kv-heads=8,head=128",
    "decode": "batch=64,tokens=4096,heads=32,kv-heads=8,head=128,cache=fp8",
    "experts": "tokens=8192,hidden=7168,inner=2048,top=8,experts=256,ep=8",
}


def seconds(kernel: str, *shapes: str, gpu: str = "h100", precision: str = "bf16") -> list[float]:
    times = kernel_times(kernel, shapes, gpu, precision)  # type: ignore[arg-type]
    return [float(row["time"]) for row in pa.table(times).to_pylist()]


@pytest.mark.parametrize("kernel", SHAPES)
def test_the_command_says_what_python_says(kernel: str) -> None:
    shape = SHAPES[kernel]
    words = ("train", "--kernel", kernel, "--shape", shape, "--gpu", "h200")
    found = parsed(*words)
    check(found, "", schema("train of kernels alone"))
    assert found["gpu"] == "h200-sxm5-141gb"
    [row] = found["times"]
    assert [row["time"]] == seconds(kernel, shape, gpu="h200")
    assert row["time"] == max(row["kernel"] + row["cast"], row["host"])
    assert "TFLOP/s" in linkwright(*words).stdout


def test_every_kernel_and_precision_is_timed_on_a_gpu_that_has_it() -> None:
    assert set(SHAPES) == set(choice_names()["kernel"])
    for precision in choice_names()["kernel_precision"]:
        [slow, fast] = [
            seconds("gemm", "64x1024x1024", "8192x8192x8192", gpu="b200", precision=precision)[at]
            for at in (0, 1)
        ]
        assert 0 < slow < fast
    known = [gpu for gpu in gpu_models() if "l40s" in gpu.name]
    assert pa.table(kernel_times("gemm", ["8x8x8"], known[0]))["kernel"][0].as_py() > 0


def test_many_shapes_take_what_each_takes_alone() -> None:
    shapes = ["1x1x1", "128x4096x512", "100000x512x512"]
    assert seconds("gemm", *shapes) == [seconds("gemm", shape)[0] for shape in shapes]
    assert kernel_fields("gemm") == ["m", "n", "k"]
    named = ",".join(f"{name}=8" for name in kernel_fields("experts"))
    assert seconds("experts", "8x8x8x8x8") == seconds("experts", named)


def test_what_is_no_kernel_is_refused_with_what_works() -> None:
    with pytest.raises(SimulationError, match="above 0"):
        seconds("gemm", "0x8x8")
    with pytest.raises(SimulationError, match="bf16 or fp16 or tf32 or fp8"):
        seconds("gemm", "8x8x8", precision="nvfp4")
    with pytest.raises(SimulationError, match="kernel"):
        seconds("convolution", "8x8x8")
    with pytest.raises(MachineError):
        seconds("gemm", "8x8x8", gpu="h1000")
    with pytest.raises(InputError):
        kernel_times("gemm", ["8x8x8"], "h100", "bf16", "[ampere]\nenergy = 1")
    assert pa.table(kernel_times("gemm", [], "h100", terms=kernel_time_terms())).num_rows == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--kernel gemm --gpu h100", "which shape"),
        ("--kernel gemm --shape 8x8x8", "which GPU"),
        ("--kernel gemm --shape 8x8 --gpu h100", "m x n x k"),
        ("lenet --kernel gemm --shape 8x8x8 --gpu h100", "leave it out"),
        ("lenet --shape 8x8x8", "--kernel"),
    ],
)
def test_mistakes_on_the_command_line_take_one_line(words: str, told: str) -> None:
    assert told in fails(1, "train", *words.split())


def test_a_command_of_nothing_says_what_it_could_train() -> None:
    result = linkwright("train")
    assert result.exit_code == 2
    assert "--kernel" in result.stderr
