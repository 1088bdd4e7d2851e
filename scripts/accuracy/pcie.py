"""Holds copies over PCIe against measured ones and against theory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

from accuracy.insides import HOST_COPIES, grouped
from accuracy.rows import Row, Series
from accuracy.runs import stored_run
from accuracy.tables import STORED, table
from linkwright import System, names
from linkwright.network import ClusterJob, ProgramBuilder
from linkwright.studies.pcie.contention import (
    BATCH,
    DIN,
    RESNET,
    SERVERS,
    Mix,
    Server,
    fitted,
    mean,
    mixes,
    tasks_of,
)
from linkwright.studies.pcie.published import published

COPIES = "PCIe copies"
THEORY = "PCIe packets, by theory"
SHARED = "PCIe shared by tasks"
# Which tasks the paper speaks of, as its published figures call them.
TASKS = {
    "DeepInterest, mean of its mixes (fitted)": "din",
    "DeepInterest beside seven ResNet-50s": "din_beside_seven",
    "ResNet-50, mean of its mixes": "resnet",
}
PAGEABLE = "no preset has an MI300A; pageable memory"

# Servers whose GPUs have a link.
LINKS = {"PCIe 3": "pcie-tree-4", "PCIe 4": "pcie4-tree-4"}
PAYLOADS = (64, 128, 256, 512, 1024, 4096)
HEADER = 24
BUSES: dict[str, dict[str, object]] = {"with [pcie]": {"pcie": {}}, "without": {}}
THEORY_BYTES = 4 << 20


def series() -> Iterator[Series]:
    """Lists copies, copies of tasks beside each other, and copies by theory."""
    for row in table(STORED / "pcie-copies.csv"):
        name = f"{row['gpu']}, {row['direction']}, {row['bytes']} B"
        yield Series(COPIES, name, partial(copy, row))
    for kernel, rows in grouped("gpu-kernels.csv", "kernel").items():
        if kernel in HOST_COPIES:
            yield Series(COPIES, f"MI300A, {kernel}", partial(unaskable, rows))
    for server in SERVERS:
        for what, of in TASKS.items():
            name = f"{what}, {server.name}"
            ask = partial(slowed, server, of, partial(stored_run, name))
            play = partial(slowed, server, of, partial(by_tasks, server, of))
            yield Series(SHARED, name, ask, repeat=play)
    for link in LINKS:
        yield Series(THEORY, link, partial(by_theory, link))


def copy(row: dict[str, str]) -> list[Row]:
    """Asks about a copy twice: with a bus of packets, and without one."""
    seconds = int(row["bytes"]) / (float(row["rate"]) * 1e9)
    found = []
    for words, network in BUSES.items():
        facets = {"copies": f"{row['gpu']}, {words}", "direction": f"{row['direction']}, {words}"}
        time = copy_time(row["machine"], row["direction"], int(row["bytes"]), network, "flow")
        found.append(Row(seconds, time, facets))
    return found


def copy_time(
    machine: str,
    direction: str,
    size: int,
    network: dict[str, object],
    fidelity: names.FidelityName,
) -> float:
    """Gives the seconds of a copy to or from the first GPU of a machine."""
    builder = ProgramBuilder(1)
    builder.copy(0, direction, size)  # type: ignore[arg-type]
    system = System(machine, network=network) if network else System(machine)
    return system.play([ClusterJob(builder.build(), mapping=[0])], fidelity=fidelity).makespan


def slowed(server: Server, of: str, ask: Callable[[], float]) -> list[Row]:
    """Asks how many times as long tasks take beside each other as alone."""
    return [Row(1 + published()["contention"][of] / 100, ask(), {"bus": server.name})]


def by_tasks(server: Server, of: str) -> float:
    """Plays the mixes of eight tasks, and gives how many times as long one kind takes."""
    found = played(server)
    slower = {"din": mean(found, DIN), "din_beside_seven": found[1].slower[DIN]}
    slower["resnet"] = mean(found, RESNET)
    by = slower[of]
    assert by is not None
    return 1 + by


@cache
def played(server: Server) -> list[Mix]:
    """Plays all mixes on a server, with the share of copying that is fitted to one figure."""
    on = server.system()
    return mixes(on, tasks_of(on, BATCH, fitted(on, BATCH)))


def unaskable(rows: list[dict[str, str]]) -> list[Row]:
    """Counts copies of pageable memory."""
    return [
        Row(float(row["microseconds"]) * 1e-6, None, {"copies": "MI300A"}, refusal=PAGEABLE)
        for row in rows
    ]


def by_theory(link: str) -> list[Row]:
    """Asks how many times as long copies take with headers: a link carries P of P + 24 bytes."""
    machine = LINKS[link]

    def time(payload: int, header: int) -> float:
        pcie = {"payload": f"{payload} B", "header": f"{header} B"}
        return copy_time(machine, "host-to-device", THEORY_BYTES, {"pcie": pcie}, "packet")

    return [
        Row((payload + HEADER) / payload, time(payload, HEADER) / time(payload, 0), {"link": link})
        for payload in PAYLOADS
    ]
