"""Shows a job's part of each of several servers, and who holds which GPUs there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import typer

from linkwright import Allocator, System
from linkwright.allocation import Explanation, Match
from linkwright.cli import output
from linkwright.cli.tables import Table
from linkwright.cli.worth import (
    cells,
    competition,
    environment,
    explained,
    fields_of,
    heads,
    ids_of,
    near,
    places_of,
    print_legend,
    ranking_table,
)
from linkwright.errors import printable
from linkwright.texts import counted

__all__ = ["answer", "described", "free_text", "gpus_text", "one_for", "remarks", "state_tables"]


def one_for(machine: System, size: int, option: str) -> System:
    """The server that stands for any of a system, where an option looks at one.

    Raises:
        typer.BadParameter: If its servers are unlike, or none has room for the job.
    """
    if machine.fabric is None:
        return machine
    kinds = {server.name: server for server, _ in machine.servers()}
    one = next(iter(kinds.values()))
    if len(kinds) > 1:
        raise typer.BadParameter(
            f"{option} looks at one server, and `{machine.name}` has {len(kinds)} kinds; name one "
            "with --machine."
        )
    if size > one.gpu_count:
        raise typer.BadParameter(
            f"{option} looks at one server of {counted(one.gpu_count, 'GPU')}, and the job asks "
            f"for {size}; leave it out."
        )
    return one


def servers_of(machine: System) -> list[System]:
    """Gives each server by itself."""
    return [server for server, count in machine.servers() for _ in range(count)]


def answer(
    given: dict[str, object],
    machine: System,
    match: Match,
    why: Explanation | None,
    program: dict[str, object],
    json: bool,
) -> Callable[[], None]:
    """Makes a function that prints the answer: a line for each server, or all of it as JSON."""
    if not json:
        lines = []
        for server, part in match.by_server():
            words = [f"{name}={value}" for name, value in environment(part).items()]
            lines.append(f"node{server} {' '.join(words)}\n")
        return lambda: output.document("".join(lines))
    alone = servers_of(machine)
    why_there = {} if why is None else dict(why.by_server())
    rows: list[dict[str, object]] = [
        {
            "server": server,
            "name": f"node{server}",
            "machine": alone[server].name,
            **fields_of(part, alone[server]),
            **places_of(part, alone[server]),
            **explained(why_there.get(server), alone[server]),
        }
        for server, part in match.by_server()
    ]
    whole = {
        "gpus": match.gpus,
        "links": match.joined_by,
        "aggregated_bandwidth": match.aggregated_bandwidth,
        "effective_bandwidth": match.effective_bandwidth,
        "preserved_bandwidth": match.preserved_bandwidth,
        "candidates": match.candidates,
        "optimal": match.optimal,
        "gap": match.gap,
    }
    because = {} if why is None else {"why_servers": why.servers}
    told = {"program": program} if program else {}
    document = {**given, **whole, **because, "servers": rows, **told}
    return lambda: output.print_json(document)


def remarks(
    match: Match, why: Explanation | None, machine: System, by_edges: bool
) -> Callable[[], None]:
    """Makes a function that tells why the job has its servers and GPUs, with their worth."""
    alone = servers_of(machine)
    made = output.table(["server", *heads(by_edges)], left=["server", "GPUs", "links"])
    for server, part in match.by_server():
        made.add_row(f"node{server}", *cells(part, alone[server]))
    reasons = [] if why is None else _reasons(why, alone, by_edges)

    def tell() -> None:
        console = output.console(stderr=True)
        if why is not None and why.servers is not None:
            console.print(f"Servers: {why.servers}.")
            console.print()
        output.print_table(made, stderr=True)
        console.print("Bandwidths in GB/s; preserved is what the server's free GPUs keep.")
        print_legend(max(len(part.gpus) for _, part in match.by_server()), by_edges)
        for server, part in match.by_server():
            if sits := near(part, alone[server]):
                console.print(f"Near node{server}'s GPUs {ids_of(part)}: {sits}.")
        for names, there, table in reasons:
            console.print()
            console.print(f"On {names}: {there.rule}")
            console.print(f"Decided by {there.decided_by}: {there.verdict}")
            output.print_table(table, stderr=True)
            console.print(f"{competition(there.ranking)}.")

    return tell


def _reasons(
    why: Explanation, alone: Sequence[System], by_edges: bool
) -> list[tuple[str, Explanation, Table]]:
    """Why the job has its GPUs of each server; servers on which all is the same are told once."""
    told: list[tuple[list[str], Explanation, System]] = []
    for server, there in why.by_server():
        for names, known, of in told:
            if known == there and of == alone[server]:
                names.append(f"node{server}")
                break
        else:
            told.append(([f"node{server}"], there, alone[server]))
    return [
        (", ".join(names), there, ranking_table(there.ranking, of, by_edges))
        for names, there, of in told
    ]


def free_text(allocator: Allocator) -> str:
    """How many GPUs are free, and where."""
    free = allocator.free
    if not free:
        return "none is free"
    are = "is" if len(free) == 1 else "are"
    system = allocator.system
    if system.fabric is None:
        return f"{len(free)} {are} free ({','.join(map(str, free))})"
    rows = system.by_server(free)
    most = max(len(gpus) for _, gpus in rows)
    held = [gpu for gpus in allocator.held.values() for gpu in gpus]
    busy = {server for server, _ in system.by_server(held)}
    idle = counted(sum(server not in busy for server, _ in rows), "server")
    on = counted(len(rows), "server")
    return f"{len(free)} {are} free on {on}, {most} at most on one; {idle} without a job"


def gpus_text(system: System, gpus: Sequence[int]) -> str:
    """GPUs by the servers that they are in: `node0: 0-3; node2: 1`, in the ids that each counts."""
    if system.fabric is None:
        return ",".join(map(str, gpus)) or "none"
    parts = [f"node{server}: {ranges(ids)}" for server, ids in system.by_server(gpus)]
    return "; ".join(parts) or "none"


def ranges(ids: Iterable[int]) -> str:
    """Ids as ranges: `0-3,6`; none where there is none."""
    ordered = sorted(ids)
    if not ordered:
        return "none"
    starts = [ordered[0], *(b for a, b in pairwise(ordered) if b > a + 1)]
    ends = [*(a for a, b in pairwise(ordered) if b > a + 1), ordered[-1]]
    spans = zip(starts, ends, strict=True)
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def described(allocator: Allocator) -> list[dict[str, object]]:
    """The state of each server as data, in the ids that it counts."""
    system = allocator.system
    free, ill = dict(system.by_server(allocator.free)), dict(system.by_server(allocator.unhealthy))
    held = _held(allocator)
    return [
        {
            "server": number,
            "name": f"node{number}",
            "machine": server.name,
            "free": free.get(number, []),
            "unhealthy": ill.get(number, []),
            "held": held.get(number, {}),
        }
        for number, server in enumerate(servers_of(system))
    ]


def state_tables(allocator: Allocator, owner: Callable[[str], str]) -> list[Table]:
    """Who holds what: a row for each server, then one for each job."""
    system = allocator.system
    free, ill = dict(system.by_server(allocator.free)), dict(system.by_server(allocator.unhealthy))
    held = _held(allocator)
    servers = output.table(["server", "free", "unhealthy", "jobs"], left=["server", "free", "jobs"])
    for number in range(system.server_count):
        names = ", ".join(printable(job) for job in held.get(number, {}))
        servers.add_row(
            f"node{number}", ranges(free.get(number, [])), ranges(ill.get(number, [])), names
        )
    jobs = output.table(["job", "GPUs", "owner"], left=["job", "GPUs", "owner"])
    alone = set(allocator.exclusive)
    for job, gpus in allocator.held.items():
        where = gpus_text(system, gpus) + (" (exclusive)" if job in alone else "")
        jobs.add_row(printable(job), where, owner(job))
    return [servers, jobs] if allocator.held else [servers]


def _held(allocator: Allocator) -> dict[int, dict[str, list[int]]]:
    """Gives each job's GPUs of each server."""
    all_held: dict[int, dict[str, list[int]]] = {}
    for job, gpus in allocator.held.items():
        for server, ids in allocator.system.by_server(gpus):
            all_held.setdefault(server, {})[job] = ids
    return all_held
