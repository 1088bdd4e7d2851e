"""`linkwright size`: the least hardware that keeps a share of the jobs' performance."""

from __future__ import annotations

from typing import Annotated

import typer

from linkwright.cli import runs
from linkwright.cli.options import Json, Prices, RunDirectory, WorkerCount, workers_of
from linkwright.cli.run import ScenarioFile, Settings
from linkwright.cli.settings import of_options, pairs


def size(
    scenario: ScenarioFile,
    vary: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=LOW..HIGH",
            help="Vary a setting by factors of two: system.network.bandwidth_scale=1/16..16. "
            "Or by a list from the least: system.server=dgx-a100,hgx-h100. Repeatable.",
        ),
    ],
    keep: Annotated[
        float,
        typer.Option(metavar="PERCENT", help="The share of performance that every job keeps."),
    ] = 90.0,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Compare with the scenario under this setting. Repeatable.  [default: the last "
            "value]",
        ),
    ] = None,
    setting: Settings = None,
    prices: Prices = None,
    workers: WorkerCount = None,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Find the least hardware that keeps a share of performance for a scenario's jobs.

    Bandwidths and interfaces, where more never hurts, are tried by bisection, and other settings
    value by value, which --workers share. Each value has its bill of materials, and with --prices
    its cost and energy.
    """
    from linkwright.runs.sizing.play import size_system

    where = workers_of(workers)
    wanted = runs.Wanted(to=to, json=json)
    wanted.check()
    with runs.watched() as watch, of_options():
        found = size_system(
            scenario,
            vary,
            keep=keep / 100.0,
            reference=pairs(baseline),
            settings=pairs(setting),
            prices=prices,
            workers=where,
            progress=watch.progress,
        )
    runs.show(found, wanted, watch)
