"""Blink's published numbers, and what others measured, from the data files of `validation/`."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Any

from linkwright.studies.published import read_published

__all__ = ["measured_pcie", "published"]


@cache
def published() -> dict[str, Any]:
    """The numbers by entry: value, unit, source and remark."""
    return read_published(__package__)


@cache
def measured_pcie() -> tuple[float, str]:
    """The bus bandwidth that NCCL reached over a DGX-1V's PCIe, in GB/s, and who says so.

    It is that of an all-reduce on four GPUs that no ring of NVLinks joins.
    """
    text = files(__package__).joinpath("nccl-tests.csv").read_text(encoding="utf-8")
    [row] = [row for row in csv.DictReader(text.splitlines()) if "no ring" in row["system"]]
    return float(row["busbw_GBps"]), row["source"]
