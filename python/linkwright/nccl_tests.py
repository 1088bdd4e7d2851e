"""What nccl-tests measured, beside what NCCL should take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

from linkwright import (
    CollectiveError,
    NcclTestsLog,
    System,
    bus_factor,
    collective_names,
    expect,
    explain_difference,
    nccl_release,
    read_nccl_tests,
)
from linkwright.errors import printable
from linkwright.files import read_text
from linkwright.names import (
    CollectiveName,
    NcclAlgorithmName,
    ProcessesName,
    ProtocolName,
)

__all__ = [
    "ExpectOptions",
    "LogComparison",
    "LogRow",
    "collective_of",
    "compare_log",
    "load_log",
    "version_of",
]

# Of what a log prints with two decimals, and of what of it is too small to divide by.
BUS_FACTOR_TOLERANCE = 0.02
LEAST_BANDWIDTH = 1.0


class ExpectOptions(TypedDict, total=False):
    """What `expect` can be told beside the job, as it takes it."""

    nccl: str | None
    nvls: bool
    p2p: bool
    algorithm: NcclAlgorithmName | None
    protocol: ProtocolName | None
    link_bandwidth: float | None
    network_bandwidth: float | None
    processes: ProcessesName | None


@dataclass(frozen=True)
class LogRow:
    """One size.

    Attributes:
        size: Bytes, as nccl-tests counts them.
        measured_time: Seconds, with a result buffer of its own.
        expected_time: Seconds.
        measured_bus_bandwidth: GB/s.
        expected_bus_bandwidth: GB/s.
        algorithm: What NCCL is expected to run.
        protocol: With which protocol.
        channels: On how many channels.
        chunk: In chunks of so many bytes.
        line: The log's line, from one.
    """

    size: int
    measured_time: float
    expected_time: float
    measured_bus_bandwidth: float
    expected_bus_bandwidth: float
    algorithm: str
    protocol: str
    channels: int
    chunk: int
    line: int

    @property
    def ratio(self) -> float:
        """Measured over expected time."""
        return self.measured_time / self.expected_time


@dataclass(frozen=True)
class LogComparison:
    """A log beside what is expected.

    Attributes:
        rows: One row per row of the log.
        meaning: One sentence on the shape of the difference.
    """

    rows: Sequence[LogRow]
    meaning: str


def load_log(path: str | Path) -> NcclTestsLog:
    """The log in a file.

    Raises:
        FileError: If the file cannot be read.
        InputError: If it is no log of nccl-tests, with the line.
    """
    return read_nccl_tests(read_text(path), printable(str(path)))


def collective_of(log: NcclTestsLog) -> CollectiveName | None:
    """The collective that a log's test is of, where the log names it."""
    known: dict[str, CollectiveName] = {name.replace("-", "_"): name for name in collective_names()}
    test = (log.test or "").removesuffix("_mpi").removesuffix("_perf")
    return known.get(test, known.get(test.replace("alltoall", "all_to_all")))


def version_of(log: NcclTestsLog, system: System, gpus: Sequence[int]) -> str | None:
    """The version that a log names, where it is one that can be read."""
    try:
        nccl_release(system, list(gpus), nccl=log.version)
    except CollectiveError:
        return None
    return log.version


def compare_log(
    log: NcclTestsLog,
    system: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    *,
    root: int | None = None,
    **options: Unpack[ExpectOptions],
) -> LogComparison:
    """Each size of a log beside what is expected of it.

    Args:
        log: What was measured.
        system: Where.
        gpus: On which GPUs, by their ids.
        collective: One of `collective_names`.
        root: As for `plan`.
        options: As `expect` takes them; without `nccl`, the version that the log names, where it
            names one that can be read.

    Raises:
        CollectiveError: If the log is of another number of GPUs or of another collective, or
            nothing can be expected.
    """
    if log.gpus and len(log.gpus) != len(gpus):
        raise CollectiveError(
            f"the log is of {len(log.gpus)} GPUs, and {len(gpus)} are asked about; name the GPUs "
            "that it ran on"
        )
    measured = list(log.rows())
    _check_factor(measured, collective, len(gpus))
    told: ExpectOptions = {"nccl": version_of(log, system, gpus)}
    told.update(options)
    sizes = [row["size"] for row in measured]
    expected = expect(system, list(gpus), collective, sizes, root=root, **told)
    rows = [
        LogRow(
            size=of_log["size"],
            measured_time=of_log["time"],
            expected_time=of_model["time"],
            measured_bus_bandwidth=of_log["bus_bandwidth"],
            expected_bus_bandwidth=of_model["bus_bandwidth"],
            algorithm=of_model["algorithm"],
            protocol=of_model["protocol"],
            channels=of_model["channels"],
            chunk=of_model["chunk"],
            line=of_log["line"],
        )
        for of_log, of_model in zip(measured, expected, strict=True)
    ]
    meaning = explain_difference([(row.size, row.measured_time, row.expected_time) for row in rows])
    return LogComparison(rows, meaning)


def _check_factor(
    measured: Sequence[dict[str, float]], collective: CollectiveName, gpus: int
) -> None:
    """A log's two bandwidths differ by a factor that tells its collective and number of GPUs."""
    factor = bus_factor(collective, gpus)
    for row in measured:
        if row["algorithm_bandwidth"] < LEAST_BANDWIDTH:
            continue
        found = row["bus_bandwidth"] / row["algorithm_bandwidth"]
        if abs(found - factor) > BUS_FACTOR_TOLERANCE:
            raise CollectiveError(
                f"line {row['line']:.0f} of the log has a bus bandwidth of {found:.2f} times its "
                f"algorithm bandwidth, and {collective} on {gpus} GPUs has {factor:.2f}; name the "
                "collective and the GPUs that the log is of"
            )
