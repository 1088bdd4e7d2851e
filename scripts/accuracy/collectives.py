"""Holds NCCL's and RCCL's collectives against the times that nccl-tests printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from accuracy.rows import Row, Series
from accuracy.tables import ROOT, STORED, table
from linkwright import System, expect, names
from linkwright.collectives import time_errors
from linkwright.network import read_system
from linkwright.errors import LinkwrightError
from nccl_rows import DECADES, machines, rows_of_tests

SEVERAL = "NCCL on several servers"
NO_PRESET = "no preset is such a server"


@dataclass(frozen=True)
class Measured:
    """Holds a run of nccl-tests: its GPUs, and the microseconds that it printed for each size."""

    label: str
    machine: str
    gpus: tuple[int, ...]
    collective: str
    times: tuple[tuple[int, float], ...]
    # The type of its numbers.
    numbers: str = ""
    servers: int = 1
    network: str | None = None
    nccl: str | None = None
    processes: str = "each"
    algorithm: str | None = None

    @property
    def name(self) -> str:
        """Names the run as no other is named."""
        version = f"NCCL {self.nccl}" if self.nccl else "release unknown"
        return ", ".join(
            part for part in (self.label, self.collective, self.numbers, version) if part
        )

    @property
    def subject(self) -> str:
        """Names the subject that it counts in."""
        return SEVERAL if self.servers > 1 else one_server(self.collective)

    def ask(self) -> list[Row]:
        """Asks the model about every size."""
        sizes = [size for size, _ in self.times]
        try:
            found = self._expected(sizes)
        except LinkwrightError as error:
            refusal = error.problem if self.machine else NO_PRESET
            return [
                Row(time * 1e-6, None, self._facets(size), refusal=refusal)
                for size, time in self.times
            ]
        return [
            Row(time * 1e-6, told, self._facets(size), bar, basis=basis)
            for (size, time), (told, bar, basis) in zip(self.times, found, strict=True)
        ]

    def _facets(self, size: int) -> dict[str, str]:
        decade = next(name for least, name in reversed(DECADES) if size >= least)
        return {"GPUs": self.label, "size": decade}

    def _expected(self, sizes: Sequence[int]) -> list[tuple[float, float, str]]:
        """Gives the time of each size, its bar, and the basis of that."""
        system = loaded(self.machine, self.servers, self.network)
        found = expect(
            system,
            list(self.gpus),
            cast(names.CollectiveName, self.collective),
            list(sizes),
            nccl=self.nccl,
            processes=cast(names.ProcessesName, self.processes),
            algorithm=cast(names.NcclAlgorithmName | None, self.algorithm),
            numbers=cast(names.NumberTypeName | None, self.numbers or None),
        )
        # A bar that its own rows set would tell little.
        bars = time_errors(
            system,
            list(self.gpus),
            list(sizes),
            collective=cast(names.CollectiveName, self.collective),
            algorithms=[row["algorithm"] for row in found],
            without=self.label,
        )
        return [
            (row["time"], bar["ninetieth"], bar["basis"])
            for row, bar in zip(found, bars, strict=True)
        ]


@cache
def loaded(machine: str, servers: int, network: str | None) -> System:
    """Loads a preset, a file of this repository, or several servers of a preset."""
    name = str(ROOT / machine) if machine.endswith(".toml") else machine
    return read_system(name, servers, network=network) if servers > 1 else read_system(name)


def one_server(collective: str) -> str:
    """Names the subject of a collective on one server."""
    return f"NCCL on one server: {collective}"


def series() -> list[Series]:
    """Lists every measurement of a collective."""
    measured = [*fitted(), *one_process(), *logs()]
    return [Series(each.subject, each.name, each.ask) for each in measured]


def fitted() -> Iterator[Measured]:
    """Reads the rows to which the terms of NCCL's kernels are fitted, and those beside them."""
    found = rows_of_tests()
    for machine in machines().values():
        own = [row for row in found if row.machine == machine]
        for collective in dict.fromkeys(row.collective for row in own):
            yield Measured(
                label=machine.label,
                machine=machine.machine,
                gpus=machine.gpus,
                collective=collective,
                nccl=machine.nccl,
                processes=machine.processes,
                times=tuple(
                    (row.size, row.time * 1e6) for row in own if row.collective == collective
                ),
            )


def one_process() -> Iterator[Measured]:
    """Reads the rows of one process with a thread for each GPU; threads launch as processes do."""
    for row in table(STORED / "nccl-threads.csv"):
        yield Measured(
            label=row["label"],
            machine=row["machine"],
            gpus=tuple(range(int(row["gpus"]))),
            collective=row["collective"],
            numbers=row["numbers"],
            nccl=row["nccl"],
            times=tuple(
                (int(size), float(time)) for size, time in row.items() if size.isdigit() and time
            ),
        )


def logs() -> Iterator[Measured]:
    """Reads the rows of public logs, of one server and of several."""
    groups: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    for row in table(STORED / "nccl-logs.csv"):
        *what, size, time, _ = row.values()
        groups.setdefault(tuple(what), []).append((int(size), float(time)))
    for known, times in groups.items():
        label, machine, servers, network, gpus, collective, nccl, processes, algorithm = known
        yield Measured(
            label=label,
            machine=machine,
            gpus=tuple(range(int(gpus))),
            collective=collective,
            servers=int(servers),
            network=network or None,
            nccl=nccl or None,
            processes=processes,
            algorithm=algorithm or None,
            times=tuple(times),
        )
