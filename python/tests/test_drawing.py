"""Machines drawn: every device and every bundle of links, where the core lays them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from linkwright import System
from linkwright.network import read_system, preset_names
from linkwright.drawing import machine_drawing
from linkwright.plot import save_chart
from linkwright.specification import chart_specification

PASTES = sorted((Path(__file__).resolve().parents[2] / "examples" / "topologies").glob("*.txt"))
MACHINES = [name for name, _ in preset_names()] + [str(paste) for paste in PASTES]


def drawn(machine: System) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The devices and the links that a drawing shows."""
    specification = chart_specification(machine_drawing(machine))
    shown = specification["datasets"]
    first, *_, last = (layer["data"]["name"] for layer in specification["layer"])
    return shown[last], shown[first]


@pytest.mark.parametrize("name", MACHINES, ids=lambda name: Path(name).stem)
def test_every_device_and_link_is_drawn_at_a_place_of_its_own(name: str) -> None:
    machine = read_system(name)
    devices, links = drawn(machine)
    rows = pa.table(machine.devices()).to_pylist()
    assert [device["name"] for device in devices] == [row["name"] for row in rows]
    assert len({(device["x"], device["y"]) for device in devices}) == len(devices)
    assert len(links) == machine.links().num_rows
    ends = {(device["x"], device["y"]) for device in devices}
    assert all({(link["x"], link["y"]), (link["x2"], link["y2"])} <= ends for link in links)
    assert all(1 <= link["width"] <= 7 for link in links)


def test_nvlinks_between_gpus_are_counted() -> None:
    _, links = drawn(System("dgx1-v100"))
    labels = [link["label"] for link in links if link["kind"].startswith("nvlink")]
    assert sorted(set(labels)) == ["NV1", "NV2"]
    assert {link["label"] for link in links if link["kind"].startswith("pcie")} == {""}


def test_a_drawing_is_saved_and_the_same_each_time(tmp_path: Path) -> None:
    machine = System("dgx1-v100")
    for name in ("a.svg", "b.svg"):
        save_chart(machine_drawing(machine, title="A server"), tmp_path / name)
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert svg == (tmp_path / "b.svg").read_text(encoding="utf-8")
    for word in ("A server", "GPU7", "NV2", "mlx5_0", "nvlink2, 25 GB/s"):
        assert word in svg


def test_names_cannot_move_the_devices() -> None:
    text = System("titan-z").to_toml().replace("GPU0", "GPU pos=9,9!")
    machine = System.from_text(text)
    devices, _ = drawn(machine)
    before, _ = drawn(System("titan-z"))
    assert [(a["x"], a["y"]) for a in devices] == [(b["x"], b["y"]) for b in before]
