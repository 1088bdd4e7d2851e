"""Holds MAPA's study as a whole. Results that differ from run to run stand apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwright.studies.mapa.readings import ReadingName
from linkwright.studies.study import TimedStudy

__all__ = ["INTRODUCTION", "TITLE", "MapaStudy"]

TITLE = "GPUs whose links suit a job"
INTRODUCTION = (
    "MAPA (Ranganath et al., SC'21) gives jobs on a shared server the GPUs whose links suit them, "
    "and reports the gain. This study plays the paper's experiments on Linkwright's model of the "
    "same machines and puts each published number beside the reproduced one.",
    "The comparison is limited to published numbers. The job lists, the measured run times and "
    "the measured bandwidths are unpublished. The figures are box plots without a table, so the "
    "study checks the paper's sentences about them. The speed of computing is calibrated on the "
    "one slope that Fig. 2b's sentence prints. In another reading it is calibrated on the paper's "
    "run times on good links. So ratios between policies are results, and seconds are not. Where "
    "numbers part, the table shows both.",
)


@dataclass(frozen=True)
class MapaStudy(TimedStudy):
    """The outcome of MAPA's study; its timings are those of decisions.

    Attributes:
        seeds: The seeds of the job mixes; the first stands for the paper's list.
        reading: How the mixes were read.
    """

    seeds: Sequence[int]
    reading: ReadingName

    def fields(self) -> dict[str, Any]:
        """Returns the fields of the JSON, with the seeds and the reading."""
        return {**super().fields(), "seeds": list(self.seeds), "reading": self.reading}
