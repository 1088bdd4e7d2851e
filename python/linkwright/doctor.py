"""Why a collective is slow on a cluster: from logs to a cause."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from linkwright import System
from linkwright.collectives import Evidence
from linkwright.errors import FileError, LinkwrightError, MachineError, printable
from linkwright.files import PathOrName, is_read_once, path_of, read_bytes
from linkwright.names import CollectiveName
from linkwright.nccl_tests import ExpectOptions
from linkwright.network import read_system

__all__ = [
    "Diagnosed",
    "DiagnosedCause",
    "DiagnosedRow",
    "LogFiles",
    "ProofLine",
    "Question",
    "diagnose",
]

# Where to look for a pair that is slow, and the command that shows it.
PAIR_ADVICE = (
    "the link between the two, its bridge or cable, and both GPUs",
    "nvidia-smi nvlink -s; nvidia-smi topo -m; sudo lspci -vv | grep -E 'LnkCap:|LnkSta:'",
)

# A diagnosis says one of these.
Kind: TypeAlias = Literal["healthy", "cause", "no-verdict"]


@dataclass(frozen=True)
class ProofLine:
    """Names a line of a file that states a fact.

    Attributes:
        file: The file's name.
        number: The line's, from one.
        text: The line without colours and a launcher's prefix; empty where the table's row tells.
    """

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        """The place, and the line where it is known."""
        place = f"{self.file}:{self.number}"
        return f"{place}: {self.text}" if self.text else place


@dataclass(frozen=True)
class DiagnosedRow:
    """Holds one size, measured and expected.

    Attributes:
        size: Bytes, as nccl-tests counts them.
        measured: Seconds. None where nothing was measured.
        expected: Seconds that it should take.
        expected_bus_bandwidth: GB/s that it should reach.
        error: A part of `expected`. The time may be off by it.
        fits: Whether the measured time is as it should be.
        algorithm: Its name. NCCL should run it.
        protocol: The protocol that it should run with.
        line: The row of the table.
    """

    size: int
    measured: float | None
    expected: float
    expected_bus_bandwidth: float
    error: float
    fits: bool
    algorithm: str
    protocol: str
    line: ProofLine | None

    @property
    def measured_bus_bandwidth(self) -> float | None:
        """GB/s that were reached."""
        if self.measured is None:
            return None
        return self.expected_bus_bandwidth * self.expected / self.measured


@dataclass(frozen=True)
class DiagnosedCause:
    """Holds a cause beside the measured times.

    Attributes:
        cause: Its name, such as `gpudirect-off`.
        text: A sentence on what is at work.
        line: The line that states it. None where only times tell.
        cost: Time at the largest size over the sound system's. None where the model lacks it.
        bus_bandwidth: GB/s at the largest size with it. None likewise.
        explains: The part of the gap that it explains, 0 to 1. None where nothing was measured.
        look: The setting or the part to look at.
        command: The command that shows it.
    """

    cause: str
    text: str
    line: ProofLine | None
    cost: float | None
    bus_bandwidth: float | None
    explains: float | None
    look: str
    command: str


@dataclass(frozen=True)
class Diagnosed:
    """Says what the files tell of one run.

    Attributes:
        kind: `healthy`, `cause` or `no-verdict`.
        headline: The verdict in a sentence or two.
        machine: The system that was asked. None where the files do not give it.
        collective: The one that ran. None where nothing says it.
        ranks: How many GPUs ran.
        library: The library and the release that was asked.
        rows: The table. Each row is a size.
        causes: Those that were looked at, the first one first.
        notes: Say what was assumed or skipped.
    """

    kind: Kind
    headline: str
    machine: str | None
    collective: str | None
    ranks: int
    library: str
    rows: Sequence[DiagnosedRow]
    causes: Sequence[DiagnosedCause]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Question:
    """Says what is known beside the files.

    Attributes:
        machine: The server or the system. If absent, the files tell it.
        servers: How many servers there are. If absent, the run's hosts are counted.
        network: The network that joins them, as `read_system` takes it.
        gpus: The job's GPUs by their ids. If absent, they are the run's.
        collective: The one that ran. If absent, it is the log's own test.
        without: Parts that are known to be down. `System.without` takes the same.
        threshold: A run is healthy that reaches this part of the expected bandwidth at every large
            size. If absent, the expected time's own error decides.
        options: The settings of NCCL, as `expect` takes them.
    """

    machine: System | PathOrName | None = None
    servers: int | None = None
    network: PathOrName | None = None
    gpus: Sequence[int] | None = None
    collective: CollectiveName | None = None
    without: Sequence[str] = ()
    threshold: float | None = None
    options: ExpectOptions | None = None


class LogFiles:
    """Files of a cluster, as they are read one after another.

    Attributes:
        evidence: The facts that they state.
    """

    def __init__(self) -> None:
        self.evidence = Evidence()
        self._paths: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def read(self, path: PathOrName) -> None:
        """Reads a file of any known format.

        Raises:
            FileError: If there is no such file.
            InputError: If it cannot be opened, or is of no known format, with its line.
        """
        path = path_of("path", path, "LogFiles.read_text")
        name = printable(str(path))
        if is_read_once(path):
            # A pipe gives what it holds once, and a log may hold bytes that are no text.
            self.read_text(read_bytes(path).decode("utf-8", "replace"), name)
            return
        if not path.is_file():
            raise FileError(f"there is no file `{path}`", "look at the path")
        self._paths[name] = str(path)
        self.evidence.read(str(path), name)

    def read_text(self, text: str, name: str = "<text>") -> None:
        """Reads a text as `read` reads a file.

        Raises:
            InputError: If it is of no known format, with its line.
        """
        self._texts[name] = text
        self.evidence.read_text(text, name)

    def machine(self) -> System | None:
        """The machine of the first topology; None where there is none."""
        for name in self.evidence.machines:
            if name in self._texts:
                return System.from_text(self._texts[name], name)
            # A preset comes before a file of its name, and this is a file.
            return read_system(Path(self._paths[name]).resolve())
        return None

    def diagnose(self, question: Question | None = None) -> list[Diagnosed]:
        """Judges every run that was read.

        Args:
            question: Facts that are known beside the files.

        Returns:
            A diagnosis for each run; of files without one, that of their machine.

        Raises:
            LinkwrightError: If the system that is named cannot be had.
        """
        asked = question or Question()
        runs = [_run(self, run, asked) for run in range(self.evidence.runs)]
        return runs or [_without_run(self, asked)]


def diagnose(
    files: Sequence[PathOrName] | PathOrName, question: Question | None = None
) -> list[Diagnosed]:
    """Finds why the collectives of some logs are slow.

    Args:
        files: Outputs of nccl-tests, logs of `NCCL_DEBUG=INFO`, NCCL's topology, `nvidia-smi topo
            -m`, and files of NCCL Inspector, in any order.
        question: Facts known beside them.

    Returns:
        A diagnosis for each run in the files; logs without a table belong to the runs with one.

    Raises:
        FileError: If there is no such file.
        InputError: If a file cannot be read or is of no known format, with its line.
        LinkwrightError: If the system that is named cannot be had.

    Examples:
        >>> from linkwright import diagnose
        >>> [found] = diagnose("examples/logs/gpudirect-off.log")
        >>> found.kind, found.causes[0].cause
        ('cause', 'gpudirect-off')
    """
    read = LogFiles()
    for path in [files] if isinstance(files, str | os.PathLike) else files:
        read.read(path)
    return read.diagnose(question)


def _run(files: LogFiles, run: int, question: Question) -> Diagnosed:
    evidence = files.evidence
    hints = json.loads(evidence.hints(run))
    notes = list(evidence.notes)
    collective = question.collective or hints["collective"]
    if question.collective is None and collective and hints["is_implied"]:
        notes.append(f"The log does not name its test; by its bandwidths it is {collective}.")
    system, assumed = _system(files, hints, question)
    notes += assumed
    if system is None:
        headline = "No verdict: the files do not give the machine; name it with --machine."
        return _none(headline, None, collective, hints, notes)
    if collective is None and hints["sizes"]:
        headline = "No verdict: the log does not say which collective ran; name it."
        return _none(headline, system, None, hints, notes)
    if collective is None:
        collective = "all-reduce"
        notes.append("Nothing says which collective runs: costs are those of all-reduce.")
    try:
        gpus = list(question.gpus) if question.gpus else _gpus(system, hints)
    except LinkwrightError as error:
        return _none(f"No verdict: {error}.", system, collective, hints, notes)
    whole = system.without(list(question.without)) if question.without else system
    try:
        text = evidence.judge(
            run,
            whole,
            gpus,
            collective,
            threshold=question.threshold,
            **(question.options or {}),
        )
    except LinkwrightError as error:
        return _none(f"No verdict: {error}", whole, collective, hints, notes)
    return _beside_pairs(_read(json.loads(text), whole, notes), _slow_pairs(files, system))


def _slow_pairs(files: LogFiles, system: System | None) -> list[DiagnosedCause]:
    """Finds pairs of a server that reach far less than their like, by matrices among the files."""
    if system is None or system.server_count > 1:
        system = files.machine()
    if system is None:
        return []
    found = []
    for name, text in files.evidence.pairs:
        for row in system.measured_links(text, name)[1]:
            line = ProofLine(name, row["line"], "")
            text_of = row["sentence"].rstrip(".")
            found.append(DiagnosedCause("slow-pair", text_of, line, None, None, None, *PAIR_ADVICE))
    return found


def _beside_pairs(found: Diagnosed, slow: Sequence[DiagnosedCause]) -> Diagnosed:
    """Names a slow pair first where no line of a log explains a gap."""
    if not slow:
        return found
    is_stated = found.kind == "cause" and found.causes and found.causes[0].line is not None
    if found.kind == "healthy" or is_stated:
        return replace(found, causes=[*found.causes, *slow])
    headline = f"{slow[0].text}. {found.headline.removeprefix('No verdict: ')}"
    return replace(found, kind="cause", headline=headline, causes=[*slow, *found.causes])


def _none(
    headline: str,
    system: System | None,
    collective: str | None,
    hints: dict[str, Any],
    notes: list[str],
) -> Diagnosed:
    name = None if system is None else system.name
    return Diagnosed(
        "no-verdict", headline, name, collective, sum(hints["of_hosts"]), "", (), (), notes
    )


def _without_run(files: LogFiles, question: Question) -> Diagnosed:
    """Judges files that hold no run: a topology, or matrices of pairs, alone."""
    named = question.machine
    machine = files.machine() if named is None else read_system(named)
    narrow = [] if machine is None else json.loads(Evidence.narrow_links(machine))
    causes = [_cause(cause) for cause in narrow] + _slow_pairs(files, machine)
    name = None if machine is None else machine.name
    notes = files.evidence.notes
    if causes:
        headline = f"{causes[0].text}. Nothing was measured."
        return Diagnosed("cause", headline, name, None, 0, "", (), causes, notes)
    if machine is not None and files.evidence.pairs:
        headline = "Healthy: every pair reaches about the bandwidth of similar pairs."
        return Diagnosed("healthy", headline, name, None, 0, "", (), (), notes)
    if files.evidence.pairs:
        headline = "No verdict: the files do not give the machine; name it with --machine."
    else:
        headline = (
            "No verdict: the files hold no run of a collective and no part slower than similar "
            "parts."
        )
    return Diagnosed("no-verdict", headline, name, None, 0, "", (), (), notes)


def _system(
    files: LogFiles, hints: dict[str, Any], question: Question
) -> tuple[System | None, list[str]]:
    """Gives the system that should have run, and notes on what was assumed of it."""
    notes: list[str] = []
    server = question.machine or files.machine()
    if server is None and hints["preset"] is not None:
        server = hints["preset"]
        notes.append(f"The machine is taken to be {server}, by its GPUs ({hints['gpu']}).")
    if server is None:
        return None, notes
    named = read_system(server)
    servers = question.servers or max(len(hints["of_hosts"]), 1)
    if named.server_count > 1 or (servers == 1 and question.network is None):
        return named, notes
    network = question.network
    if network is None and hints["speed"] is not None:
        network = f"{hints['speed'] / 1000:g}Gb/s"
        notes.append(f"The network is taken to be one switch at {network}, as the log says.")
    return read_system(named, servers, network=network), notes


def _gpus(system: System, hints: dict[str, Any]) -> list[int]:
    """Gives the GPUs of the run by their ids.

    Raises:
        MachineError: If the system has fewer.
    """
    of_hosts: list[int] = hints["of_hosts"] or [system.gpu_count]
    each = system.gpu_count // max(system.server_count, 1)
    if len(of_hosts) > system.server_count or max(of_hosts) > each:
        # A rack of one NVLink domain is one server here, of several hosts.
        if sum(of_hosts) <= system.gpu_count:
            return list(range(sum(of_hosts)))
        raise MachineError(
            f"the log is of {sum(of_hosts)} GPUs on {len(of_hosts)} hosts, and {system.name} has "
            f"{system.gpu_count} on {system.server_count}",
            "name the machine and the number of its servers",
        )
    devices: list[list[int]] = hints["devices"]
    if len(devices) != len(of_hosts) or any(max(one) >= each for one in devices):
        devices = [list(range(count)) for count in of_hosts]
    return [at * each + device for at, own in enumerate(devices) for device in own]


def _read(found: dict[str, Any], system: System, notes: list[str]) -> Diagnosed:
    rows = [DiagnosedRow(**{**row, "line": _line(row["line"])}) for row in found["rows"]]
    causes = [_cause(cause) for cause in found["causes"]]
    return Diagnosed(
        found["kind"],
        found["headline"],
        system.name,
        found["collective"],
        found["ranks"],
        found["library"],
        rows,
        causes,
        notes,
    )


def _cause(cause: dict[str, Any]) -> DiagnosedCause:
    return DiagnosedCause(**{**cause, "line": _line(cause["line"])})


def _line(line: dict[str, Any] | None) -> ProofLine | None:
    return None if line is None else ProofLine(**line)
