"""Holds the measurements, the time of every job in every run, and derives figures from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import pyarrow
import pyarrow.parquet

from linkwright.studies.network.placements import LINEAR, Placement
from linkwright.studies.network.settings import Setting, bandwidth_factors, requirement_settings

__all__ = ["JobTime", "Measured", "read_times", "times_table"]

COLUMNS: dict[str, pyarrow.DataType] = {
    "network": pyarrow.string(),
    "gpus_per_node": pyarrow.int64(),
    "bandwidth": pyarrow.float64(),
    "nic": pyarrow.string(),
    "mix": pyarrow.int64(),
    "job": pyarrow.int64(),
    "application": pyarrow.string(),
    "ranks": pyarrow.int64(),
    "iterations": pyarrow.int64(),
    "time": pyarrow.float64(),
}
# Where not all jobs are placed linearly.
PLACED: dict[str, pyarrow.DataType] = {"mapping": pyarrow.string(), "seed": pyarrow.int64()}
# Table II asks for 90 % of the performance.
ENOUGH = 0.9


@dataclass(frozen=True)
class JobTime:
    """Says how long a job took.

    Attributes:
        setting: On which system.
        mix: In which mix, by its number.
        job: Its place in the mix.
        application: Its application.
        ranks: How many processes it has.
        iterations: How often its main loop ran.
        time: Seconds from its start to its end.
        placement: How the jobs of its mix found their nodes.
    """

    setting: Setting
    mix: int
    job: int
    application: str
    ranks: int
    iterations: int
    time: float
    placement: Placement = LINEAR


def times_table(times: Sequence[JobTime]) -> pyarrow.Table:
    """One row per job and run; bandwidth is a factor, and time in seconds.

    Columns of the placement are there where any is not the linear one.
    """
    rows = [vars(each.setting) | vars(each) | vars(each.placement) for each in times]
    placed = any(each.placement != LINEAR for each in times)
    columns = {**COLUMNS, **PLACED} if placed else COLUMNS
    return pyarrow.Table.from_pylist(rows, schema=pyarrow.schema(columns))


def read_times(file: Path) -> list[JobTime]:
    """The times that a study has written as Parquet."""
    rows = pyarrow.parquet.read_table(file).to_pylist()
    fields = ("network", "gpus_per_node", "bandwidth", "nic")
    times = []
    for row in rows:
        setting = Setting(*(row.pop(field) for field in fields))
        placed = {field: row.pop(field) for field in PLACED if field in row}
        times.append(JobTime(setting, **row, placement=Placement(**placed)))
    return times


class Measured:
    """Compares the times of all jobs.

    Args:
        times: The times, of the same mixes in every setting, under one placement.
    """

    def __init__(self, times: Sequence[JobTime]) -> None:
        self.times = times
        by_run = {(each.setting, each.mix, each.job): each.time for each in times}
        speedups: dict[tuple[Setting, str, int], list[float]] = defaultdict(list)
        for each in times:
            before = by_run[each.setting.default, each.mix, each.job]
            key = each.setting, each.application, each.ranks
            speedups[key].append(before / each.time)
        self._speedups = dict(speedups)

    @property
    def mixes(self) -> int:
        """How many mixes there are."""
        return len({each.mix for each in self.times})

    def occurrences(self, setting: Setting, application: str, ranks: int) -> list[float]:
        """Returns each such job's speed-up over itself on the network's default system."""
        return self._speedups.get((setting, application, ranks), [])

    def speedup(self, setting: Setting, application: str, ranks: int) -> float | None:
        """The mean of these over all occurrences; None if no mix has such a job."""
        found = self.occurrences(setting, application, ranks)
        return fmean(found) if found else None

    def median_over_sizes(
        self, setting: Setting, application: str, sizes: Sequence[int]
    ) -> float | None:
        """The median of the speed-ups of those sizes that there are."""
        found = [self.speedup(setting, application, ranks) for ranks in sizes]
        known = [each for each in found if each is not None]
        return median(known) if known else None

    def least_bandwidth(self, application: str, ranks: int, gpus_per_node: int) -> float | None:
        """The least factor of bandwidth that keeps 90 % of the performance on the fat-tree.

        Returns:
            It; infinity if none does; None if no mix has such a job.
        """
        for factor, setting in zip(
            bandwidth_factors(), requirement_settings(gpus_per_node), strict=True
        ):
            speedup = self.speedup(setting, application, ranks)
            if speedup is None:
                return None
            if speedup >= ENOUGH:
                return factor
        return float("inf")
