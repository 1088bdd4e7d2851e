"""Holds the training of language models by layouts to its answers, in Python and the shell."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from commands import linkwright

from linkwright import train, train_model
from linkwright.errors import (
    ArgumentError,
    FileError,
    InputError,
    MachineError,
    OutOfMemoryError,
    SimulationError,
)
from linkwright.network import read_system
from linkwright.scenario import write_run
from linkwright.training import Model, ModelTraining, models

PARTS = ("weights", "gradients", "optimizer", "activations", "passing", "collectives")
# Llama 3.1 8B as torchtitan trains it on eight H100s with 96 GB.
TITAN: dict[str, Any] = {
    "layout": "fsdp=8",
    "batch": 16,
    "recompute": "selective-op",
    "gpu_memory": "96GiB",
}
SMALL = {
    "model_type": "qwen3_moe",
    "hidden_size": 256,
    "intermediate_size": 512,
    "moe_intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": 1000,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "mlp_only_layers": [0],
}


def written(folder: Path, **fields: object) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(SMALL | fields))
    return path


def test_a_step_of_fully_sharded_llama_takes_memory_and_time() -> None:
    run = train_model("llama-3.1-8b", **TITAN)
    [row] = run.memory
    assert sum(row[part] for part in PARTS) == row["total"]
    assert row["total"] + row["reserve"] == row["reserved"] == run.reserved
    # torchtitan measured 82.4 GiB.
    assert run.reserved / 2**30 == pytest.approx(82.4, rel=0.08)
    assert run.time is not None
    assert run.tokens_per_second == pytest.approx(16 * 8192 / run.time / 8)
    assert run.timed is not None
    assert [row["group"] for row in run.groups] == ["fsdp"]


def test_what_is_computed_again_takes_time_and_saves_memory() -> None:
    kept, again, all_again = (
        train_model("llama-3.2-1b", layout="fsdp=8", batch=8, tokens=2048, recompute=recompute)
        for recompute in ("none", "selective-op", "full")
    )
    assert kept.reserved > again.reserved > all_again.reserved
    assert kept.time is not None
    assert again.time is not None
    assert all_again.time is not None
    assert kept.time < again.time < all_again.time


def test_what_does_not_fit_is_refused_with_what_does() -> None:
    with pytest.raises(OutOfMemoryError) as refused:
        train_model("llama-3.1-8b", layout="fsdp=8", batch=16, recompute="selective-op")
    assert "the largest part is activations" in str(refused.value)
    assert "recompute full, or micro-batches of 1" in str(refused.value)
    train_model("llama-3.1-8b", layout="fsdp=8", batch=16, recompute="full")


def test_time_that_is_not_predicted_says_why() -> None:
    run = train_model("llama-3.2-1b", layout="dp=8", precision="mxfp8")
    assert run.time is None
    assert "fp4" in run.untimed
    assert run.headline.endswith(f"is not predicted: {run.untimed}.")


@pytest.mark.parametrize(
    ("model", "layout", "wanted"),
    [
        ("llama-3.2-1b", "fsdp=4,tp=2", {"sequence_parallel": True}),
        ("llama-3.2-1b", "tp=8", {"lora": 16}),
        ("llama-3.2-1b", "dp=8", {"zero": 1}),
        ("llama-3.2-1b", "pp=4,vp=2,tp=2", {"batch": 8, "recompute": "full"}),
        ("llama-3.2-1b", "cp=8", {"context": "all-to-all"}),
        ("deepseek-v2-lite", "dp=8,ep=8", {"zero": 1, "imbalance": "zipf:0.5"}),
    ],
)
def test_what_a_step_s_time_goes_into_sums_to_it(
    model: str, layout: str, wanted: dict[str, Any]
) -> None:
    run = train_model(model, "hgx-h100", layout=layout, tokens=4096, **wanted)
    assert run.time is not None
    assert run.timed is not None
    parts = {row["part"]: row["time"] for row in run.timed.parts}
    assert sum(parts.values()) == pytest.approx(run.time, rel=1e-9)
    assert all(time > 0.0 for time in parts.values())
    assert run.time >= run.timed.step.bound
    assert ("recomputation" in parts) == (wanted.get("recompute") == "full")


def test_options_of_execution_only_speed_a_step_up() -> None:
    wanted: dict[str, Any] = {"tokens": 4096, "batch": 4}
    tensor = {"layout": "tp=8", "sequence_parallel": True, **wanted}
    whole, parted = (train_model("llama-3.1-8b", async_tensor=it, **tensor) for it in (False, True))
    assert parted.time is not None
    assert whole.time is not None
    assert parted.time < whole.time
    behind, ahead = (
        train_model("llama-3.1-8b", layout="fsdp=8", batch=8, tokens=512, prefetch=it).time
        for it in (0, 2)
    )
    assert ahead is not None
    assert behind is not None
    assert ahead < behind


def test_more_of_a_gpu_never_slows_a_step_and_its_data_sheet_s_changes_nothing() -> None:
    own, same, slower, slowest = (
        train_model("llama-3.1-8b", **TITAN, gpu_power=power, gpu_bandwidth=bandwidth).time or 0.0
        for power, bandwidth in ((None, None), ("700 W", 3352), (500, None), (500, "2.4 TB/s"))
    )
    assert 0.0 < own == same < slower < slowest
    faster = train_model("llama-3.1-8b", **TITAN, gpu_bandwidth="5TB/s", gpu_power="1kW").time
    assert faster is not None
    assert faster < own
    locked = train_model("llama-3.1-8b", **TITAN, gpu_clock="990 MHz")
    assert locked.time is not None
    assert own < locked.time < 2 * own
    assert locked.facts["gpu_clock"] == "990 MHz"


def test_what_a_gpu_s_file_lacks_is_given_from_outside(tmp_path: Path) -> None:
    machine = read_system("hgx-h100").to_toml().replace("H100-SXM5-80GB", "H20")
    (tmp_path / "own.toml").write_text(machine)
    model: dict[str, Any] = {
        "model": "llama-3.2-1b",
        "machine": tmp_path / "own.toml",
        "layout": "dp=8",
    }
    known: dict[str, Any] = {"gpu_memory": "96GiB", "gpu_bandwidth": "4TB/s"}
    run = train_model(**model, gpu=None)
    assert "H20" not in run.untimed
    assert "h20" in run.untimed
    with pytest.raises(MachineError, match=r"in a file of your own \(`--gpu FILE`\)"):
        train_model(**model, **known)
    gpu = tmp_path / "h20.toml"
    gpu.write_text(
        """
        [peak]
        source = "my order"
        matrix = { bf16 = "148 TFLOP/s" }
        [memory]
        kind = "hbm3"
        capacity = "96 GiB"
        bandwidth = "4 TB/s"
        source = "my order"
        [caches]
        units = 78
        l2 = "60 MiB"
        source = "my order"
        """
    )
    assert train_model(**model, gpu=gpu).time is not None
    gpu.write_text("[peaks]")
    with pytest.raises(InputError, match="peaks"):
        train_model(**model, gpu=gpu)


def test_machines_with_changed_gpus_are_systems() -> None:
    own = read_system("hgx-h100")
    changed = own.with_gpus(power=500, memory="96 GB")
    assert changed != own
    assert pickle.loads(pickle.dumps(changed)) == changed
    [memory] = {row["memory"] for row in changed.devices() if row["is_gpu"]}
    assert memory == 96e9
    two = read_system("hgx-h100", 2).with_gpus(power=500)
    assert pickle.loads(pickle.dumps(two)) == two != read_system("hgx-h100", 2)
    step = train("lenet", changed, gpus=1, scaling=False)
    slow = train("lenet", own, gpus=1, scaling=False, gpu_power="500W")
    assert step.steps[0].time == slow.steps[0].time
    assert step.energies == slow.energies != train("lenet", own, gpus=1, scaling=False).energies
    with pytest.raises(ArgumentError, match="`gpu_power` is '5X'"):
        train_model("llama-3.1-8b", **TITAN, gpu_power="5X")
    with pytest.raises(MachineError, match="a GPU's bandwidth cannot be zero"):
        own.with_gpus(bandwidth=0)


def test_products_of_eight_and_four_bits_take_less_time() -> None:
    wide, eight, four = (
        train_model("llama-3.1-8b", "hgx-b200", layout="fsdp=8", precision=precision).time or 0.0
        for precision in ("bf16", "mxfp8", "nvfp4")
    )
    assert wide / 2 < eight < wide
    assert wide / 4 < four < eight


def test_groups_lie_within_servers_where_the_order_says_so() -> None:
    run = train_model("llama-3.1-8b", layout="dp=2,tp=8,pp=2", sequence_parallel=True)
    spans = {row["group"]: row["servers_most"] for row in run.groups}
    assert spans == {"tp": 1, "pp": 2, "dp": 2}
    assert len(run.memory) == 2
    within = train_model("llama-3.1-8b", layout="dp=8,tp=2,pp=2", order="tp-pp-cp-fsdp-dp")
    spans = {row["group"]: row["servers_most"] for row in within.groups}
    assert spans == {"tp": 1, "pp": 1, "dp": 4}


def test_a_configuration_is_a_model(tmp_path: Path) -> None:
    path = written(tmp_path)
    run = train_model(path, layout="dp=8,ep=4")
    assert run.model.family == "Qwen"
    kinds = [(row["blocks"], row["kind"]) for row in run.model.blocks()]
    assert kinds == [(1, "dense"), (3, "experts")]
    assert run.model.active_parameters < run.model.parameters
    with pytest.raises(InputError, match=r"`num_experts`: impossible value: `1000000000000`"):
        train_model(written(tmp_path, num_experts=10**12))
    with pytest.raises(InputError, match=r"`num_hiden_layers`: unknown field"):
        train_model(written(tmp_path, num_hiden_layers=4))
    with pytest.raises(FileError, match=r"there is no file `none\.json`"):
        train_model("none.json")
    with pytest.raises(FileError, match=r"llama-3\.1-8b"):
        train_model("llama-3.1-8")


def test_the_busiest_gpu_decides_where_experts_are_wanted_unevenly() -> None:
    layout = {"layout": "dp=8,ep=8", "batch": 8, "zero": 1, "recompute": "moe_act"}
    even, uneven, bound = (
        ModelTraining(Model.find("mixtral-8x7b"), **layout, **options).memory()[0]  # type: ignore[arg-type]
        for options in (
            {},
            {"imbalance": "zipf:1", "seed": 7},
            {"imbalance": "zipf:1", "seed": 7, "capacity_factor": 1.0},
        )
    )
    assert even["activations"] < uneven["activations"]
    assert bound["activations"] <= even["activations"]
    for wrong, told in (
        ({"imbalance": "zipf:x"}, "from 0 to 10"),
        ({"imbalance": "normal"}, "use one of uniform, zipf:S"),
        ({"capacity_factor": -1.0}, "above 0"),
    ):
        with pytest.raises(SimulationError, match=told):
            ModelTraining(Model.find("mixtral-8x7b"), **layout, **wrong)  # type: ignore[arg-type]
    dense = Model.find("llama-3.1-8b")
    with pytest.raises(SimulationError, match="has no experts"):
        ModelTraining(dense, "dp=8", batch=8, imbalance="zipf:1")


def test_eight_bits_are_kept_where_they_are_wanted() -> None:
    # MLPerf's LoRA on eight B200s, one replica each: it ran by Megatron's store of eight bits.
    wanted = {
        "layout": "dp=8",
        "batch": 8,
        "tokens": 8192,
        "zero": 1,
        "precision": "fp8",
        "lora": 16,
    }
    with pytest.raises(OutOfMemoryError):
        train_model("llama-2-70b", "hgx-b200", **wanted)  # type: ignore[arg-type]
    run = train_model("llama-2-70b", "hgx-b200", fp8_activations=True, **wanted)  # type: ignore[arg-type]
    assert "Kept in eight bits: activations." in run.context[0]
    with pytest.raises(SimulationError, match="weights in eight bits with bf16"):
        train_model("llama-3.1-8b", fp8_weights=True)


def test_what_is_not_represented_is_refused_by_name() -> None:
    with pytest.raises(SimulationError, match="moving them to the host is not represented"):
        train_model("llama-3.1-8b", recompute="cpu-offload")
    with pytest.raises(FileError, match="`tpu-v5e`: TPUs are not represented"):
        train_model("llama-3.1-8b", "tpu-v5e")


def test_layouts_that_are_not_sound_are_refused() -> None:
    model = Model.find("llama-3.1-8b")
    with pytest.raises(SimulationError, match=r"the nearest that is sound is dp=2,tp=32"):
        ModelTraining(model, "tp=64", batch=64)
    with pytest.raises(SimulationError, match=r"has 16 GPUs, and 8 train"):
        train_model(model, gpus=8, layout="tp=16")


def test_every_model_has_memory_on_many_gpus() -> None:
    for name, _, parameters in models():
        training = ModelTraining(Model.find(name), "fsdp=64", batch=64, recompute="full")
        [row] = training.memory()
        assert row["weights"] == pytest.approx(4 * parameters / 64, rel=0.01)


def test_the_shell_says_the_same(tmp_path: Path) -> None:
    said = linkwright(
        "train", "llama-3.1-8b", "--machine", "hgx-h100", "--layout", "fsdp=8", "--batch", "16",
        "--recompute", "selective-op", "--set", "gpu_memory=96GiB", "--json",
    )  # fmt: skip
    run = train_model("llama-3.1-8b", **TITAN)
    assert json.loads(said.stdout)["time"] == run.time
    assert json.loads(said.stdout)["memory"] == [dict(row) for row in run.memory]
    short = linkwright(
        "train", "llama-3.2-1b", "--machine", "hgx-h100", "--gpus", "8", "--communication", "fsdp",
        "--json",
    )  # fmt: skip
    assert json.loads(short.stdout)["layout"] == "fsdp=8"
    for options, told in (
        (["lenet", "--layout", "dp=8"], "--layout changes nothing here"),
        (["llama-3.1-8b", "--set", "size=3"], "--set size changes nothing here"),
        (["llama-3.1-8b", "--communication", "p2p"], "`p2p` is no layout"),
    ):
        refused = linkwright("train", *options)
        assert refused.exit_code == 1
        assert told in refused.stderr
    write_run(run, tmp_path / "run")
    assert (tmp_path / "run" / "model_memory.parquet").is_file()


def test_gradients_are_summed_over_micro_batches() -> None:
    def time(layout: str, batch: int, micro_batch: int) -> float:
        run = train_model(
            "llama-3.2-1b", layout=layout, batch=batch, micro_batch=micro_batch, tokens=4096
        )
        assert run.time is not None
        return run.time

    for layout, replicas in (("dp=8", 8), ("fsdp=8", 8), ("tp=8", 1)):
        one, four = (time(layout, replicas * count, 1) for count in (1, 4))
        # An update and, with replicas, a reduction are done once.
        assert 3 * one < four <= 4 * one
        assert four > time(layout, replicas * 4, 4)


def test_a_network_s_function_names_that_of_models() -> None:
    with pytest.raises(FileError, match=r"`llama-3\.1-8b` is a language model; train it with"):
        train("llama-3.1-8b")


def test_tensors_of_a_block_sum_to_its_activations() -> None:
    model = Model.find("llama-3.1-8b")
    for recompute in ("none", "layernorm", "selective-op", "full"):
        training = ModelTraining(model, "dp=1", batch=1, recompute=recompute)
        kept = sum(row["bytes"] for row in training.tensors() if row["kept"])
        [row] = training.memory()
        assert row["activations"] == 32 * kept
