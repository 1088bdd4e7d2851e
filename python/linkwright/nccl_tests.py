"""Sets measurements of nccl-tests beside the times that NCCL should take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from statistics import median
from typing import TypedDict, Unpack

from linkwright import System, expect
from linkwright.collectives import (
    NcclTestsLog,
    calibrate,
    collective_names,
    explain_log,
    nccl_release,
    time_errors,
)
from linkwright.errors import CollectiveError, printable
from linkwright.files import PathOrName, path_of, read_text
from linkwright.names import (
    CollectiveName,
    NcclAlgorithmName,
    NcclOperationName,
    NumberTypeName,
    ProcessesName,
    ProtocolName,
)

__all__ = [
    "CalibratedRow",
    "CalibratedTerm",
    "Calibration",
    "ExpectOptions",
    "LogComparison",
    "LogFinding",
    "LogRow",
    "calibrate_log",
    "collective_of",
    "compare_log",
    "read_nccl_log",
    "version_of",
]


class ExpectOptions(TypedDict, total=False):
    """Holds the options of `expect` beside the job, as it takes them."""

    nccl: str | None
    nvls: bool
    p2p: bool
    algorithm: NcclAlgorithmName | None
    protocol: ProtocolName | None
    link_bandwidth: float | None
    network_bandwidth: float | None
    processes: ProcessesName | None
    numbers: NumberTypeName | None
    operation: NcclOperationName | None
    cross_nic: int
    pxn: bool
    gpudirect: bool


@dataclass(frozen=True)
class LogRow:
    """Holds one size.

    Attributes:
        size: Bytes, as nccl-tests counts them.
        measured_time: Seconds, with a result buffer of its own.
        expected_time: Seconds.
        measured_bus_bandwidth: GB/s.
        expected_bus_bandwidth: GB/s.
        algorithm: The algorithm that NCCL is expected to run.
        protocol: With which protocol.
        channels: On how many channels.
        chunk: The bytes of each chunk.
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
        """Returns measured over expected time."""
        return self.measured_time / self.expected_time


@dataclass(frozen=True)
class LogFinding:
    """Holds a statement of a log that the question does not have.

    `line` counts the log's lines from one. `text` is a sentence. `option` is the option that asks
    rightly, and None where there is none. `means` is `asked-otherwise` where another question was
    asked than the log answers. It is `not-modelled` where the model lacks what ran, or may have. It
    is `transport` where data took another way.
    """

    line: int
    means: str
    text: str
    option: str | None


@dataclass(frozen=True)
class LogComparison:
    """A log beside what is expected.

    Attributes:
        rows: One row per row of the log.
        meaning: A sentence on the shape of the difference.
        findings: Its statements that the question lacks.
    """

    rows: Sequence[LogRow]
    meaning: str
    findings: Sequence[LogFinding] = ()


def read_nccl_log(path: PathOrName) -> NcclTestsLog:
    """Reads the log in a file.

    Raises:
        FileError: If the file cannot be read.
        InputError: If it is no log of nccl-tests, with the line.
    """
    path = path_of("path", path, "read_nccl_tests")
    return NcclTestsLog.from_text(read_text(path), printable(str(path)))


def collective_of(log: NcclTestsLog) -> CollectiveName | None:
    """The collective that a log's test is of, where the log names it."""
    return next((name for name in collective_names() if name == log.collective), None)


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
        log: The measurements.
        system: Where.
        gpus: On which GPUs, by their ids.
        collective: One of `collective_names`.
        root: As for `plan`.
        options: The options of `expect`. Without `nccl`, it takes the version that the log names,
            where it can be read. Without `processes`, `numbers` or `operation`, it takes what the
            log tells.

    Raises:
        InputError: If the log is of another number of GPUs or of another collective, with the
            line that tells.
        CollectiveError: If nothing can be expected.
    """
    log.check(collective, len(gpus))
    measured = list(log.rows())
    told: ExpectOptions = {**options}
    told["nccl"] = options.get("nccl") or version_of(log, system, gpus)
    told["processes"] = options.get("processes") or _processes(log)
    told["numbers"] = options.get("numbers") or log.numbers
    told["operation"] = options.get("operation") or log.operation
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
    errors = time_errors(
        system,
        list(gpus),
        sizes,
        collective=collective,
        algorithms=[row.algorithm for row in rows],
        p2p=options.get("p2p", True),
    )
    stated, meaning = explain_log(
        log,
        [(row.size, row.measured_time, row.expected_time) for row in rows],
        system,
        list(gpus),
        errors=[row["ninetieth"] for row in errors],
        nccl=options.get("nccl"),
        nvls=options.get("nvls", True),
        p2p=options.get("p2p", True),
        algorithm=options.get("algorithm"),
        protocol=options.get("protocol"),
        network_bandwidth=options.get("network_bandwidth"),
        processes=options.get("processes"),
        numbers=options.get("numbers"),
        operation=options.get("operation"),
        cross_nic=options.get("cross_nic", 2),
        pxn=options.get("pxn", True),
        gpudirect=options.get("gpudirect", True),
    )
    findings = [
        LogFinding(row["line"], row["means"], row["text"], row["option"] or None) for row in stated
    ]
    return LogComparison(rows, meaning, findings)


@dataclass(frozen=True)
class CalibratedTerm:
    """A term of a collective's time that a machine may have of its own.

    Attributes:
        name: The term's name in the machine's file. `reached.nvlink4` is the share of the peak that
            long transfers reach on such links. `in_switch.nvlink4` is the share that reductions in
            its switches reach. `launch.alone`, `launch.each` and `launch.group` are the times of a
            launch.
        is_time: Whether its values are seconds; else they are parts of a peak.
        before: The value that it had.
        after: The value that it has now; None where the log does not tell it, so that it stays.
        uncertainty: How uncertain that is, as a part of it, where each time is off by 5 %.
        reason: Why the log does not tell it.
    """

    name: str
    is_time: bool
    before: float
    after: float | None
    uncertainty: float | None
    reason: str


@dataclass(frozen=True)
class CalibratedRow:
    """One size of a log that a machine was calibrated by.

    Attributes:
        size: Bytes, as nccl-tests counts them.
        measured: Seconds.
        before: Seconds that were expected of the machine as it was.
        after: Seconds that are expected of it now.
        line: The log's line, from one.
    """

    size: int
    measured: float
    before: float
    after: float
    line: int


@dataclass(frozen=True)
class Calibration:
    """Holds the facts about a machine that a run of nccl-tests tells.

    Attributes:
        server: The server with what was measured of it; `to_toml` writes its file, and every
            time that is asked of it counts on that.
        terms: First those that the log told.
        rows: One row per row of the log.
    """

    server: System
    terms: Sequence[CalibratedTerm]
    rows: Sequence[CalibratedRow]

    @property
    def median_errors(self) -> tuple[float, float]:
        """The median of how far off times were and are, as parts of what was measured."""
        before = median(abs(row.before / row.measured - 1) for row in self.rows)
        return before, median(abs(row.after / row.measured - 1) for row in self.rows)


def calibrate_log(
    log: NcclTestsLog,
    system: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    *,
    root: int | None = None,
    nccl: str | None = None,
    nvls: bool = True,
    p2p: bool = True,
    algorithm: NcclAlgorithmName | None = None,
    protocol: ProtocolName | None = None,
    processes: ProcessesName | None = None,
    numbers: NumberTypeName | None = None,
    operation: NcclOperationName | None = None,
    cross_nic: int = 2,
    pxn: bool = True,
    gpudirect: bool = True,
) -> Calibration:
    """Fits a machine's rates of links and its time of a launch to a log.

    Only what the log's sizes tell is fitted; all else stays, what an earlier log told included.

    Args:
        log: One run that went well, of three sizes or more; best from 8 B to 1 GiB.
        system: The machine, as it is known.
        gpus: On which GPUs, by their ids.
        collective: One of `collective_names`.
        root: As for `plan`.
        nccl: As for `expect`; the version that the log names if absent, where it can be read.
        nvls: As for `expect`.
        p2p: As for `expect`.
        algorithm: As for `expect`.
        protocol: As for `expect`.
        processes: As for `expect`; as the log tells if absent.
        numbers: As for `expect`; that of the log if absent.
        operation: As for `expect`; that of the log if absent.
        cross_nic: As for `expect`.
        pxn: As for `expect`.
        gpudirect: As for `expect`.

    Raises:
        InputError: If the log is of a run that failed, of several runs or of too few sizes. Also if
            it is no answer to the question, or if the model lacks what ran. The error names the
            line.
        CollectiveError: If it tells nothing of the machine, or nothing can be expected.
    """
    server, terms, rows = calibrate(
        system,
        log,
        gpus,
        collective,
        root=root,
        nccl=nccl or version_of(log, system, gpus),
        nvls=nvls,
        p2p=p2p,
        algorithm=algorithm,
        protocol=protocol,
        processes=processes,
        numbers=numbers,
        operation=operation,
        cross_nic=cross_nic,
        pxn=pxn,
        gpudirect=gpudirect,
    )
    fitted = [
        CalibratedTerm(
            name=term["term"],
            is_time=term["is_time"],
            before=term["before"],
            after=None if isnan(term["after"]) else term["after"],
            uncertainty=None if isnan(term["uncertainty"]) else term["uncertainty"],
            reason=term["reason"],
        )
        for term in terms
    ]
    return Calibration(server, fitted, [CalibratedRow(**row) for row in rows])


def _processes(log: NcclTestsLog) -> ProcessesName | None:
    """How the log's ranks were processes, by the name that `expect` takes."""
    known: dict[str, ProcessesName] = {"each": "each", "one": "one"}
    return known.get(log.processes or "")
