"""A replay as one HTML file: what was played, what it came to, and what that leaves out.

The file holds everything it shows, the scripts that draw its charts included. The same inputs
give the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import altair as alt

from linkwright.cluster_plot import job_times, link_heat_map, link_loads, message_latencies
from linkwright.page import embed, render
from linkwright.replay_summary import (
    Replay,
    busiest_links,
    job_summaries,
    level_summaries,
    link_rows,
)
from linkwright.writing import replace_file

__all__ = ["write_replay_report"]

BUSIEST = 10

LEFT_OUT = (
    "Computation takes what the trace or the application says, times the job's factor: it feels "
    "neither the network nor a neighbour.",
    "No packet is lost or damaged, and no link fails.",
    "What a message costs in software is a constant and a share of its size, the same on every "
    "rank.",
    "A replayed trace does what it did when it was recorded: it does not adapt to the new machine, "
    "and collectives whose messages the trace does not hold are laid out by size and ranks.",
)
OF_FLOWS = (
    "In the flow model messages share links by max-min fairness: no packet waits in a buffer, and "
    "switches do not hold one another up."
)


def write_replay_report(path: Path, replay: Replay) -> None:
    """Writes a report on a replay.

    Args:
        path: The HTML file; it appears whole or not at all.
        replay: What was played.

    Raises:
        OSError: If the file cannot be written.
    """
    rows = link_rows(replay)
    left_out = list(LEFT_OUT)
    if replay.known_error is not None:
        left_out.append(f"{OF_FLOWS} The {replay.known_error}.")
    content = render(
        "replay.html.j2",
        embed(_charts(replay)),
        title=f"{replay.name} on {replay.machine}",
        lead=_lead(replay),
        facts=_facts(replay),
        jobs=job_summaries(replay),
        latencies=list(replay.run.latencies()),
        levels=level_summaries(rows),
        busiest=busiest_links(rows, BUSIEST),
        notes=replay.notes,
        left_out=left_out,
    )
    replace_file(path, content)


def _charts(replay: Replay) -> dict[str, alt.TopLevelMixin]:
    charts: dict[str, alt.TopLevelMixin] = {"Time of each job": job_times(replay)}
    if len(replay.run.latencies()):
        charts["How long messages took"] = message_latencies(replay)
    charts["Load of the links, by level"] = link_loads(replay)
    charts["How busy every link was"] = link_heat_map(replay)
    return charts


def _lead(replay: Replay) -> str:
    ranks = sum(job.ranks for job in replay.jobs)
    jobs = len(replay.jobs)
    known = "" if replay.known_error is None else f" ({replay.known_error})"
    gpus = replay.system.gpu_count
    return (
        f"{jobs} {'job' if jobs == 1 else 'jobs'} with {ranks:,} ranks on {gpus:,} GPUs: "
        f"{replay.run.makespan * 1e3:,.3f} ms{known}."
    )


def _facts(replay: Replay) -> list[tuple[str, str]]:
    system, run = replay.system, replay.run
    work = f"{run.events:,} events, {run.operations:,} operations of ranks"
    if run.packet_hops:
        work += f", {run.packet_hops:,} packet hops"
    inputs = replay.manifest["files"]
    assert isinstance(inputs, list)
    files = ", ".join(held["file"] for held in inputs[:3])
    if len(inputs) > 3:
        files += f" and {len(inputs) - 3} more"
    return [
        (
            "System",
            f"{replay.machine}: {system.server_count:,} servers, {replay.switches:,} switches",
        ),
        ("GPUs per server", replay.gpus_per_server),
        ("Routing", system.routing or "none"),
        ("Network interfaces", system.nic or "none"),
        ("Model", run.fidelity),
        ("Simulated", work),
        ("Seed", str(replay.manifest["seed"])),
        ("Inputs", files or "none but the settings"),
        ("Version", str(replay.manifest["linkwright"])),
    ]
