"""Answers `linkwright collective all-to-allv`: an exchange whose messages differ in length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from linkwright.collectives import expect_all_to_allv
from linkwright.byte_matrices import read_byte_matrix
from linkwright.cli import output
from linkwright.cli.degraded import Without, degraded
from linkwright.cli.expectation import (
    LinkBandwidth,
    Nccl,
    NetworkBandwidth,
    NoGpudirect,
    NoP2p,
    NoPxn,
    OfRanks,
    OnlyProtocol,
)
from linkwright.cli.options import Json, MachineName, NetworkName, Servers
from linkwright.cli.schedules import Gpus, On, gpus_of, job_text, named_gpus, network_notes
from linkwright.cli.sizes import size_text
from linkwright.cli.standard_input import machine_of

__all__ = ["all_to_allv"]

# As many links of a bound as a person reads; JSON has all.
MOST_LINKS = 3


def all_to_allv(
    matrix: Annotated[
        Path,
        typer.Argument(
            metavar="MATRIX",
            help="Bytes from rank to rank: a file with a row for each sender (CSV), or NumPy's.",
        ),
    ],
    machine: MachineName,
    on: On = None,
    gpus: Gpus = None,
    servers: Servers = 1,
    network: NetworkName = None,
    without: Without = None,
    nccl: Nccl = None,
    no_p2p: NoP2p = False,
    protocol: OnlyProtocol = None,
    link_bandwidth: LinkBandwidth = None,
    network_bandwidth: NetworkBandwidth = None,
    processes: OfRanks = None,
    no_pxn: NoPxn = False,
    no_gpudirect: NoGpudirect = False,
    json: Json = False,
) -> None:
    """Say what NCCL takes for an all-to-all whose messages differ in length.

    It runs as a group of sends and receives; a pair without bytes sends nothing. Beside its time
    stands what no way of exchanging passes, with the links that set it. An even matrix takes what
    `collective expect all-to-all` says.
    """
    rows = read_byte_matrix(matrix)
    down = degraded(machine_of(machine, servers, network), without, named_gpus(on, gpus))
    ids = gpus_of(down.system, down.gpus)
    options: dict[str, Any] = {
        "nccl": nccl,
        "p2p": not no_p2p,
        "protocol": protocol,
        "link_bandwidth": link_bandwidth,
        "network_bandwidth": network_bandwidth,
        "processes": processes,
        "pxn": not no_pxn,
        "gpudirect": not no_gpudirect,
    }
    left = [at for at, gpu in enumerate(gpus_of(down.whole, named_gpus(on, gpus))) if gpu in ids]
    kept = rows
    if down.notes and len(rows) > len(ids):
        # Data that lost GPUs would have sent, or got, is lost with them.
        kept = [[rows[row][column] for column in left] for row in left]
    table, links, ranks, notes = expect_all_to_allv(down.system, ids, kept, **options)
    found = dict(table[0])
    whole_time = None
    if down.parts:
        of_whole = gpus_of(down.whole, named_gpus(on, gpus))
        whole_time = expect_all_to_allv(down.whole, of_whole, rows, **options)[0][0]["time"]
    notes += down.notes + network_notes(down.system, ids, network)
    ends = [(link["from"], link["to"]) for link in links]
    bound = None
    if ends:
        bound = {
            "time": found["bound_time"],
            "bytes": found["bound_bytes"],
            "bandwidth": found["bound_bandwidth"],
            "gpus": [ids[rank] for rank in ranks],
            "leaves": found["bound_leaves"],
            "links": [{"from": start, "to": end} for start, end in ends],
        }
    if json:
        output.print_json(
            {
                "machine": down.system.name,
                "gpus": ids,
                "without": down.parts,
                "nccl": found["nccl"],
                "moved": found["moved"],
                "longest": found["longest"],
                "protocol": found["protocol"] or None,
                "time": found["time"],
                "whole_time": whole_time,
                "bound": bound,
                "notes": notes,
            }
        )
        return
    console = output.console()
    job = f"{job_text(ids, down.system)}{down.title()}"
    console.print(f"all-to-allv on {job}; as {found['nccl']} runs it", style="bold")
    moved, longest = size_text(found["moved"]), size_text(found["longest"])
    console.print(f"moves  {moved} between ranks, {longest} in the longest message")
    how = f" ({found['protocol']})" if found["protocol"] else ""
    console.print(f"time   {found['time'] * 1e6:,.1f} us{how}")
    if bound is not None:
        over = found["time"] / bound["time"] if bound["time"] else float("inf")
        console.print(f"bound  {bound['time'] * 1e6:,.1f} us, which it takes {over:.2f} times")
        console.print(f"       {_cut(bound)}")
    if whole_time:
        more = found["time"] / whole_time
        console.print(f"whole  {whole_time * 1e6:,.1f} us: {more:.2f} times as long{down.title()}")
    output.notes("Notes", notes)


def _cut(bound: dict[str, Any]) -> str:
    """One line that names what has to cross, and the links that it crosses."""
    way = "leave" if bound["leaves"] else "enter"
    links = [f"{link['from']}-{link['to']}" for link in bound["links"]]
    rest = f" and {len(links) - MOST_LINKS} more" if len(links) > MOST_LINKS else ""
    return (
        f"{size_text(bound['bytes'])} {way} {_gpus(bound['gpus'])} over "
        f"{', '.join(links[:MOST_LINKS])}{rest}: {bound['bandwidth']:.1f} GB/s"
    )


def _gpus(ids: Sequence[int]) -> str:
    return f"GPU{'' if len(ids) == 1 else 's'} {','.join(map(str, ids))}"
