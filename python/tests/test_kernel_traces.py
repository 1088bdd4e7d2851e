"""Reads traces of PyTorch's profiler, and trains by them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from commands import linkwright
from test_cli_json import check, schema

from linkwright import System, train, train_model
from linkwright.errors import FileError, InputError, SimulationError
from linkwright.kernel_traces import MeasuredKernels, is_trace
from linkwright.training import KernelTrace, Model, ModelTraining

STEP = Path(__file__).resolve().parents[2] / "examples" / "traces" / "llama-3.2-1b-step.json"
TOLD: dict[str, Any] = {"machine": "hgx-h100", "tokens": 4096}


def test_a_trace_says_what_its_steps_went_into() -> None:
    trace = KernelTrace.read(str(STEP))
    assert (trace.steps, trace.rank, trace.ranks) == (2, 0, 8)
    assert trace.gpu == "NVIDIA H100 80GB HBM3"
    assert sum(row["time"] for row in trace.parts()) == pytest.approx(trace.time)
    events = [it for it in json.loads(STEP.read_text())["traceEvents"] if it["cat"] == "kernel"]
    assert sum(row["count"] for row in trace.kernels()) == len(events)
    whole = sum(it["dur"] for it in events) / 2e6
    assert sum(row["time"] for row in trace.kernels()) == pytest.approx(whole)
    [unknown] = trace.unknown()
    assert trace.recognised == pytest.approx(1 - unknown["time"] / whole)
    gathers = [row for row in trace.collectives() if row["collective"] == "_allgather_base"]
    assert [(row["ranks"], row["elements"], row["count"]) for row in gathers] == [(8, 121643008, 2)]


def test_a_step_by_the_trace_computes_as_long_as_was_measured() -> None:
    """The layout of the trace computes as long as was measured, kernel by kernel."""
    run = train_model("llama-3.2-1b", layout="fsdp=8", measured=STEP, **TOLD)
    assert run.timed is not None
    assert run.measured is not None
    trace = run.measured.trace
    measured = {"forward": 0.0, "backward": 0.0}
    for row in trace.kernels():
        if row["kind"] not in ("collective", "optimizer", "other"):
            measured[row["pass"]] += row["time"]
    parts = {row["part"]: row["time"] for row in run.timed.parts}
    for name, time in measured.items():
        assert parts[name] == pytest.approx(time, rel=1e-4)
    plain = train_model("llama-3.2-1b", layout="fsdp=8", **TOLD)
    assert plain.timed is not None
    assert plain.measured is None
    framework = [it["time"] for it in plain.timed.parts if it["part"] == "framework"]
    assert parts["framework"] == pytest.approx(framework[0] + 180e-6)


def test_a_trace_of_one_layout_serves_another() -> None:
    """Attention has no part that depends on a layout's sizes: its ratio stays."""
    told = {"measured": STEP, "measured_layout": "fsdp=8", **TOLD}
    run = train_model("llama-3.2-1b", layout="tp=2,fsdp=4", **told)
    assert run.measured is not None
    assert run.measured.run == {"layout": "fsdp=8", "batch": 8, "micro_batch": 1}
    found = run.summary()["measured"]
    assert isinstance(found, dict)
    ratios = {(row["name"], row["pass"]): row["ratio"] for row in found["ratios"]}
    own = ModelTraining(Model.find("llama-3.2-1b").with_tokens(4096), "fsdp=8", batch=8)
    of_run = own.ratios(KernelTrace.read(str(STEP)), System("hgx-h100"))
    rows = {(row["name"], row["pass"]): row["ratio"] for row in of_run.rows()}
    wanted = rows["attention", "backward"]
    assert ratios["attention", "backward"] == pytest.approx(wanted, rel=1e-3)
    best = train_model("llama-3.2-1b", layout="auto", gpus=8, **told)
    assert best.time is not None
    assert run.time is not None
    with pytest.raises(SimulationError, match="say --set measured_layout=PART=N"):
        train_model("llama-3.2-1b", layout="auto", gpus=8, measured=STEP, **TOLD)
    with pytest.raises(SimulationError, match="changes nothing without a trace"):
        train_model("llama-3.2-1b", gpus=1, measured_batch=8, **TOLD)


def test_ratios_of_a_model_divide_measured_by_modelled_times() -> None:
    training = ModelTraining(Model.find("llama-3.2-1b").with_tokens(4096), "fsdp=8", batch=8)
    ratios = training.ratios(KernelTrace.read(str(STEP)), System("hgx-h100"))
    rows = list(ratios.rows())
    assert {row["pass"] for row in rows} == {"forward", "backward", "update"}
    for row in rows:
        assert row["ratio"] == pytest.approx(row["measured"] / row["modelled"])
    assert ratios.rest == pytest.approx(180e-6)


def test_layers_of_a_network_take_ratios_by_their_family(tmp_path: Path) -> None:
    """A trace that is of convolutions alone leaves no time to anything else."""
    events = [
        {"name": "sm80_xmma_fprop", "dur": 1000.0, "ts": 10.0},
        {"name": "sm80_xmma_wgrad", "dur": 3000.0, "ts": 2000.0},
    ]
    own = {"ph": "X", "cat": "kernel", "tid": 7, "args": {"stream": 7}}
    text = json.dumps({"traceEvents": [{**event, **own} for event in events]})
    packed = tmp_path / "t.json.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    run = train("resnet-50", "dgx-a100", gpus=1, batch=32, measured=packed)
    layers = list(run.best.step.layers(run.best.step.models[0]))
    assert sum(row["forward"] for row in layers) == pytest.approx(1e-3, rel=1e-4)
    assert sum(row["backward"] for row in layers) == pytest.approx(3e-3, rel=1e-4)
    assert {row["kind"] for row in layers if row["forward"] > 0} == {"convolution"}
    # Twice the samples take about twice as long by the same trace.
    told = {"gpus": 1, "batch": 64, "measured": packed, "measured_batch": 32}
    more = train("resnet-50", "dgx-a100", **told)  # type: ignore[arg-type]
    assert 1.5 < more.best.time / run.best.time < 2.5


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    text = STEP.read_bytes()
    cases = {
        "cut.json": (text[: len(text) // 2], "the trace is cut off here"),
        "cut.json.gz": (gzip.compress(text)[:900], "the compressed trace is cut off here"),
        "nsys.json": (b"SQLite format 3\0", "Nsight Systems"),
        "host.json": (b'{"traceEvents": []}', "no event is a kernel"),
    }
    for name, (written, said) in cases.items():
        path = tmp_path / name
        path.write_bytes(written)
        assert is_trace(path)
        with pytest.raises(InputError, match=said) as refused:
            KernelTrace.read(str(path))
        assert "\n" not in str(refused.value)
    forward = tmp_path / "forward.json"
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1.0, "dur": 1.0}
    forward.write_text(json.dumps([kernel]), encoding="utf-8")
    for network in ("llama-3.2-1b", "lenet"):
        train_it = train_model if network != "lenet" else train
        with pytest.raises(SimulationError, match="belong to a backward pass"):
            train_it(network, "hgx-h100", gpus=1, measured=forward)
    with pytest.raises(FileError, match="there is no trace"):
        train_model("llama-3.2-1b", gpus=1, measured="none.json")
    with pytest.raises(InputError, match="cannot be opened"):
        KernelTrace.read(str(tmp_path / "none.json"))


def test_collectives_stand_beside_the_model_where_their_sizes_are_known() -> None:
    trace = KernelTrace.read(str(STEP))
    found = MeasuredKernels(trace, "t.json", system=System("hgx-h100")).collectives()
    assert len(found) == 2
    assert all(row["modelled"] > 0 for row in found)
    alone = MeasuredKernels(trace, "t.json").collectives()
    assert [row["modelled"] for row in alone] == [None, None]


def test_a_trace_of_another_gpu_is_told() -> None:
    trace = KernelTrace.read(str(STEP))
    [unknown] = MeasuredKernels(trace, "t.json", system=System("hgx-h100")).notes()
    for machine, model in {"dgx-a100": "A100-SXM4-40GB", "hgx-h200": "H200-SXM5-141GB"}.items():
        told = MeasuredKernels(trace, "t.json", system=System(machine)).notes()
        said = f"it is of NVIDIA H100 80GB HBM3, and the machine has {model}"
        assert told == [said, unknown]


def test_the_page_knows_what_a_trace_adds() -> None:
    trace = ["--measured", str(STEP), "--json"]
    model = ["llama-3.2-1b", "-m", "hgx-h100", "--tokens", "4096", "--layout", "fsdp=8"]
    of_model = schema("train of a language model")
    check(json.loads(linkwright("train", *model, *trace).stdout), "", of_model)
    network = ["resnet-50", "-m", "hgx-h100", "--gpus", "1", "--batch", "32"]
    check(json.loads(linkwright("train", *network, *trace).stdout), "", schema("train"))
    alone = json.loads(linkwright("train", *trace).stdout)
    assert set(alone) == {"headline", "measured"}
    check(alone["measured"], "measured", of_model)
