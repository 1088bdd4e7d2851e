"""Tests the worth of choices by load: the guide says what is stored, the model plays a point of it.

All points take minutes, which `scripts/load_curve.py` plays.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from linkwright.files import sha256

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def curve() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "load_curve.py"))


@pytest.fixture(scope="module")
def stored(curve: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(curve["STORED"].read_text("utf-8"))
    return found


def test_the_guide_says_what_is_stored(curve: dict[str, Any], stored: dict[str, Any]) -> None:
    page = curve["GUIDE"].read_text("utf-8")
    assert curve["with_blocks"](page, stored) == page
    # The first paragraph says that the saving is less waiting.
    assert "less waiting" in page.partition("\n## ")[0]


def test_what_is_stored_is_of_the_examples_as_they_are(
    curve: dict[str, Any], stored: dict[str, Any]
) -> None:
    for name, digest in stored["scenarios"].items():
        assert sha256((ROOT / "examples" / name).read_bytes()) == digest
    assert stored["stacks"] == curve["STACKS"]
    loads = [curve["mean"](point["runs"]["2018"], "load") for point in stored["curve"]]
    assert loads == sorted(loads)
    assert loads[0] < 0.1
    assert loads[-1] > 1.2
    for point in stored["curve"]:
        assert all(len(runs) == 20 for runs in point["runs"].values())


@pytest.mark.parametrize(("stack", "at"), [("papers", 0), ("2018", 7), ("nccl-2.18", 9)])
def test_the_model_plays_a_point_that_is_stored(
    curve: dict[str, Any], stored: dict[str, Any], stack: str, at: int
) -> None:
    point = stored["curve"][at]
    settings = curve["STACKS"][stack] | curve["every"](point["mean_interarrival"])
    seed = stored["seeds"]["curve"].index(3)
    assert curve["play"](curve["SERVER"], settings, 3) == pytest.approx(
        point["runs"][stack][seed], rel=1e-12
    )


def test_the_model_plays_a_day_of_training_that_is_stored(
    curve: dict[str, Any], stored: dict[str, Any]
) -> None:
    [day, *_] = [it for it in stored["training"] if it["network"] == "resnet-50"]
    settings = curve["STACKS"]["2018"] | curve["every"](day["mean_interarrival"])
    played = curve["play"](curve["SERVER"], settings | {"jobs.generate.train": ["resnet-50"]}, 2)
    assert played == pytest.approx(day["runs"]["2018"][1], rel=1e-12)
