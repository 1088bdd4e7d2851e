"""`linkwright collective expect --calibrate`: what a run tells of one's own machine."""

from __future__ import annotations

from pathlib import Path

import typer

from linkwright import System, names
from linkwright.collectives import NcclTestsLog, nccl_release
from linkwright.cli import output
from linkwright.cli.schedules import job_text
from linkwright.errors import printable
from linkwright.nccl_tests import (
    CalibratedTerm,
    Calibration,
    ExpectOptions,
    calibrate_log,
    collective_of,
    read_nccl_log,
    version_of,
)

__all__ = ["print_calibration", "read_log"]


def read_log(
    path: Path, collective: names.CollectiveName | None
) -> tuple[NcclTestsLog, names.CollectiveName]:
    """A log, and the collective that it is of: the one that was named, else the log's own."""
    log = read_nccl_log(path)
    collective = collective or collective_of(log)
    if collective is None:
        raise typer.BadParameter(
            f"{printable(str(path))} does not say which collective it is of; name it."
        )
    return log, collective


def print_calibration(
    path: Path,
    machine: System,
    gpus: list[int],
    collective: names.CollectiveName | None,
    root: int | None,
    options: ExpectOptions,
    target: Path | None,
    *,
    json: bool,
) -> None:
    """Fits a machine to a log, prints before and after, and writes the machine where asked."""
    for name in ("link_bandwidth", "network_bandwidth"):
        if options.get(name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"{option} is what --calibrate finds; leave one of them out.")
    log, collective = read_log(path, collective)
    nccl = options["nccl"] or version_of(log, machine, gpus)
    with output.working("calibrating"):
        found = calibrate_log(
            log,
            machine,
            gpus,
            collective,
            root=root,
            nccl=nccl,
            nvls=options["nvls"],
            p2p=options["p2p"],
            algorithm=options["algorithm"],
            protocol=options["protocol"],
            processes=options["processes"],
            numbers=options["numbers"],
            operation=options["operation"],
            cross_nic=options["cross_nic"],
            pxn=options["pxn"],
            gpudirect=options["gpudirect"],
        )
    library, note = nccl_release(machine, gpus, nccl=nccl)
    notes = [f"{printable(str(path))}:{line}: {text}" for line, text in log.notes]
    notes += [note] if note else []
    notes += [f"{term.name} stays: {term.reason}" for term in found.terms if term.after is None]
    if target is not None:
        output.save(target, found.server.to_toml())
    if json:
        fields = {"machine": machine.name, "collective": collective, "gpus": gpus, "nccl": library}
        before, after = found.median_errors
        errors = {"median_error_before": before, "median_error_after": after}
        told = {"log": str(path), "output": None if target is None else str(target)}
        tables = {
            "terms": [vars(it) for it in found.terms],
            "sweep": [vars(it) for it in found.rows],
        }
        output.print_json(fields | told | errors | {"notes": notes} | tables)
        return
    title = f"{collective} on {job_text(gpus, machine)}, calibrated by {printable(path.name)}"
    output.console().print(title, style="bold")
    _print_tables(found)
    before, after = found.median_errors
    output.say(f"Half of the times were off by {before:.1%} or more, and are by {after:.1%}.")
    if target is None:
        output.say("Nothing was written; give --output FILE for the machine's file.")
    else:
        output.say(f"Wrote {printable(str(target))}; give it as --machine to any command.")
    output.notes("Notes", notes, stderr=True)


def _print_tables(found: Calibration) -> None:
    made = output.table(["term", "before", "after", "known to"], left=["term"], whole=["term"])
    for term in found.terms:
        if term.after is not None:
            known = f"{term.uncertainty:.0%}" if term.uncertainty is not None else ""
            made.add_row(term.name, _value(term, term.before), _value(term, term.after), known)
    output.print_table(made)
    made = output.table(
        ["size\nB", "measured\nus", "before\nus", "after\nus", "off by\nbefore", "off by\nafter"]
    )
    for row in found.rows:
        times = [row.measured, row.before, row.after]
        off = [f"{time / row.measured - 1:+.1%}" for time in times[1:]]
        made.add_row(str(row.size), *(f"{time * 1e6:.1f}" for time in times), *off)
    output.print_table(made)


def _value(term: CalibratedTerm, value: float) -> str:
    return f"{value * 1e6:.2f} us" if term.is_time else f"{value:.1%}"
