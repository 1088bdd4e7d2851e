"""Holds values that the text leaves open: the amount of training, the time of decoding."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

__all__ = ["Constants", "constants"]


@dataclass(frozen=True)
class Constants:
    """Holds the values that the text leaves open.

    Attributes:
        synthetic: Batches of an epoch on one GPU in Table 2.6.
        batches: The same in Table 2.5, by network.
        decode: Seconds that the host takes to decode a picture of CIFAR-10.
        nccl: By what share more time everything takes with NCCL.
    """

    synthetic: int
    batches: Mapping[str, float]
    decode: float
    nccl: float


@cache
def constants() -> Constants:
    """Returns the constants that the calibration wrote."""
    text = resources.files(__package__).joinpath("constants.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return Constants(table["synthetic"], table["batches"], table["decode"] * 1e-6, table["nccl"])
