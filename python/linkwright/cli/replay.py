"""`linkwright replay`: one trace or application, played on a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from linkwright.network import applications, preset_names
from linkwright.cli import runs, traces
from linkwright.cli.options import Json, NetworkName, RunDirectory
from linkwright.cli.replay_systems import Settings
from linkwright.cli.settings import default_of, of_options, of_setting, taking, value_of
from linkwright.errors import ApplicationError

NOTHING: Mapping[str, object] = {}
CHARTS = (".html", ".png", ".svg", ".json")
Trace = Annotated[
    str,
    typer.Argument(
        metavar="TRACE",
        help="An OTF2 archive (traces.otf2 or its folder), a GOAL file, or an application: "
        f"{', '.join(name for name, _, _ in applications())}.",
    ),
]
ServerName = Annotated[
    str | None,
    typer.Option(
        "--machine",
        "-m",
        metavar="NAME|FILE|-",
        help="The servers: a preset's name or a machine's file; - is the input. Nodes of "
        "--gpus-per-node if absent.",
        autocompletion=lambda: [name for name, _ in preset_names()],
    ),
]


def pairs_of(texts: list[str] | None) -> dict[str, object]:
    """The settings in texts such as `key=value`; `a.b=value` is a key in a table.

    Raises:
        typer.BadParameter: If a text has no key or no value.
    """
    found: dict[str, object] = {}
    for text in texts or []:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise typer.BadParameter(f"`{text}` is no setting; write key=value.")
        outer, dot, inner = key.partition(".")
        if dot:
            table = found.setdefault(outer, {})
            if isinstance(table, dict):
                table[inner] = value_of(value)
        else:
            found[key] = value_of(value)
    return found


def _chart_file(path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in CHARTS:
        raise typer.BadParameter(f"`{path}` is no chart's file; end it in {', '.join(CHARTS)}.")
    return path


@taking(
    "system.server.gpus",
    "system.server.nics",
    "system.network.nic",
    "system.network.routing",
    "system.network.routing_table",
    "fidelity",
    "system.network.packet_size",
    "system.network.buffer_packets",
    "system.network.arbitration",
)
def replay(
    trace: Trace,
    machine: ServerName = None,
    servers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="How many of the machine there are; as many as the job needs if absent.",
        ),
    ] = None,
    network: NetworkName = None,
    bandwidth: Annotated[
        str | None,
        typer.Option(
            metavar="FACTOR|BANDWIDTH",
            help="Of every link: times its own (2x, x/4), or so much (25 GB/s).",
        ),
    ] = None,
    typed: Mapping[str, object] = NOTHING,
    ranks: Annotated[int | None, of_setting("job.ranks")] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help='An application\'s, as message="64 KiB"; repeatable.'
        ),
    ] = None,
    iterations: Annotated[int, of_setting("job.iterations", defaults=True)] = default_of(
        "job.iterations"
    ),
    computation_scale: Annotated[
        float, of_setting("job.computation_scale", defaults=True)
    ] = default_of("job.computation_scale"),
    mapping: Annotated[
        str, of_setting("job.mapping", metavar="NAME|FILE", defaults=True)
    ] = default_of("mapping"),
    seed: Annotated[int, of_setting("seed", defaults=True)] = default_of("seed"),
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Any other key of a scenario's [network], as pods=4, or protocol.eager_limit="
            "'8 KiB', or collectives.all_reduce=planned; repeatable.",
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what happened when, for ui.perfetto.dev."),
    ] = None,
    trace_of: traces.What = None,
    events: traces.Events = None,
    trace_limit: traces.Limit = traces.LIMIT,
    trace_link: traces.Link = None,
    trace_from: traces.Since = 0.0,
    trace_until: traces.Until = None,
    trace_window: traces.Window = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw a heat map of the links: .html, .png, .svg or .json.",
            callback=_chart_file,
        ),
    ] = None,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Play a recorded trace, or an application, on a cluster that need not exist.

    Prints the job's time, what its ranks spent it on, how long messages took, and which links
    were busiest. Times are of a model.
    """
    given = {**typed, **_bandwidth(bandwidth)}
    for key, value in pairs_of(setting).items():
        if key in (*given, "seed"):
            raise typer.BadParameter(f"`{key}` is set twice; leave out `--set {key}={value}`.")
        given[key] = value
    settings = Settings.of(given)
    parameters = pairs_of(parameter)
    _check_program(trace, ranks, parameters)
    if servers is not None and machine is None:
        raise typer.BadParameter("--servers says how many of a machine; give --machine, too.")
    wanted = runs.Wanted(to=to, timeline=timeline, plot=plot, json=json)
    wanted.check()
    traced = traces.Traced(
        trace_of, events, trace_limit, trace_link, trace_from, trace_until, trace_window
    )
    traced.check()
    from linkwright.runs.cluster.play import MAPPINGS, play_trace

    where = settings.place(machine, servers, network, sized=mapping in MAPPINGS)
    with runs.watched() as watch, of_options():
        try:
            played = play_trace(
                trace,
                where.system,
                ranks=ranks,
                parameters=parameters,
                iterations=iterations,
                computation_scale=computation_scale,
                mapping=mapping,
                seed=seed,
                timeline=max(wanted.spans, traced.spans),
                events=traced.keywords(),
                progress=watch.progress,
                **settings.play,
            )
        except ApplicationError as error:
            # What was typed asks for it.
            raise typer.BadParameter(str(error)) from error
    played = replace(played, notes=(*where.told, *played.notes))
    traced.write(played.run)
    if plot is not None:
        from linkwright.plot import save_chart

        save_chart(played.link_heat_map(), plot)
    runs.show(played, wanted, watch)


def _check_program(trace: str, ranks: int | None, parameters: dict[str, object]) -> None:
    """Refuses an application without ranks, and what a trace does not need.

    Raises:
        typer.BadParameter: If it is so.
    """
    names = [name for name, _, _ in applications()]
    if trace not in names:
        # A name of no file is refused where it is looked for.
        if Path(trace).exists() and (ranks is not None or parameters):
            what = "--parameter" if ranks is None else "--ranks"
            raise typer.BadParameter(
                f"`{trace}` is a trace, which has its own; leave out {what}, which is for "
                f"{', '.join(names)}."
            )
        return
    if ranks is None:
        raise typer.BadParameter(f"`{trace}` needs a number of ranks; give --ranks, such as 64.")


def _bandwidth(text: str | None) -> dict[str, object]:
    """The setting that a factor or a bandwidth is."""
    if text is None:
        return {}
    is_factor = not any(letter.isalpha() and letter != "x" for letter in text)
    return {"bandwidth_scale" if is_factor else "bandwidth": text}
