"""Tests the known facts of each model of GPU, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import linkwright

from linkwright.errors import InputError, MachineError
from linkwright.gpu import GpuModel, gpu_models
from linkwright.network import read_system

TOPOLOGIES = Path(__file__).resolve().parents[2] / "examples" / "topologies"
PASTES = sorted(path for path in TOPOLOGIES.iterdir() if path.suffix in (".txt", ".xml"))


def test_a_model_says_what_its_file_says() -> None:
    v100 = GpuModel.find("Tesla V100-SXM2-16GB")
    assert (v100.name, v100.vendor, v100.pcie) == ("v100-sxm2-16gb", "nvidia", "pcie3")
    assert "10de:1db1" in v100.pci_ids
    assert v100.processors == ["sm_70"]
    assert (v100.link_kind, v100.link_count, v100.link_bandwidth) == ("nvlink2", 6, 25.0)
    assert v100.vector_peak == {"fp64": 7.8, "fp32": 15.7, "fp16": 31.4}
    assert v100.matrix_peak == {"fp16": 125.0}
    assert (v100.memory_kind, v100.memory_capacity) == ("hbm2", 16 * 2**30)
    assert (v100.memory_bandwidth, v100.copy_engines) == (900.0, 5)
    assert (v100.units, v100.l2_cache) == (80, 6 * 2**20)
    assert v100 == GpuModel.find("v100-sxm2-16gb") != GpuModel.find("v100-sxm2-32gb")
    assert repr(v100) == "<GpuModel v100-sxm2-16gb>"


@pytest.mark.parametrize("model", gpu_models(), ids=repr)
def test_every_model_is_found_and_survives_its_file(model: GpuModel) -> None:
    assert GpuModel.find(model.name) == GpuModel.find(model.product) == model
    assert GpuModel.from_text(model.to_toml()) == model


def test_what_is_missing_or_wrong_is_named() -> None:
    with pytest.raises(MachineError, match=r"`h20` has no section \[memory\] in system/gpus/h20.t"):
        _ = GpuModel.find("h20").memory_capacity
    with pytest.raises(MachineError, match="no GPU model `v100-smx2-16gb`; did you mean `v100-sxm"):
        GpuModel.find("v100-smx2-16gb")
    text = GpuModel.find("t4").to_toml().replace('capacity = "16 GiB"', 'capacity = "16"')
    with pytest.raises(InputError, match=r"t4.toml:\d+:\d+: `16` is not a size"):
        GpuModel.from_text(text, "t4.toml")


@pytest.mark.parametrize("paste", PASTES, ids=lambda path: path.name)
def test_an_import_names_its_gpus_models_or_says_that_they_are_unknown(paste: Path) -> None:
    machine = read_system(paste)
    said = any("The model of the GPUs is not given" in it for it in machine.assumptions)
    for model in machine.gpu_models:
        assert (model is None) == said
        if model is not None:
            assert GpuModel.find(model).product == model
    # NCCL's XML has what tells a model, and so has a paste that begins with `nvidia-smi -L`.
    assert said == (paste.suffix != ".xml" and not paste.read_text().startswith("GPU 0:"))


def test_the_list_of_models_is_printed() -> None:
    rows = json.loads(linkwright("machine", "list", "--gpu-models", "--json").stdout)
    assert [row["name"] for row in rows] == [model.name for model in gpu_models()]
    row = next(row for row in rows if row["name"] == "a100-sxm4-80gb")
    assert (row["memory_capacity"], row["matrix_peak"]["bf16"]) == (80 * 2**30, 312.0)
    unknown = next(row for row in rows if row["name"] == "h20")
    assert (unknown["memory_capacity"], unknown["matrix_peak"]) == (None, {})
    table = linkwright("machine", "list", "--gpu-models").stdout
    assert "h20" in table
    assert "12 nvlink3" in table
