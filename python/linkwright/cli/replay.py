"""Has `linkwright replay`: one trace or application, played on a cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli import runs, traces
from linkwright.cli.options import Json, NetworkName, RunDirectory, Timeline, machine_option
from linkwright.cli.panels import JOB, OUTPUT, SYSTEM, Rare, described_by
from linkwright.cli.replay_systems import Settings
from linkwright.cli.settings import default_of, keys_of, of_options, of_setting, value_of
from linkwright.errors import ApplicationError
from linkwright.network import applications

CHARTS = (".html", ".png", ".svg", ".json")
Trace = Annotated[
    str,
    typer.Argument(
        metavar="TRACE",
        help="An OTF2 archive, a GOAL file, or an application: "
        f"{', '.join(name for name, _, _ in applications())}.",
        autocompletion=lambda: [name for name, _, _ in applications()],
    ),
]
# The core reads these values from texts.
TEXTS = ("SIZE", "TIME", "BANDWIDTH", "FACTOR", "NAME", "FILE")
# The keys of a scenario that `--set` takes.
KEYS = keys_of("system.server", "system.network", "protocol", "collectives")


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
            found[key] = _value(key, value)
    return found


def _value(key: str, text: str) -> object:
    """A value as its key takes it: a size such as 0 is a text, too."""
    value = value_of(text)
    known = {each.name: each.value for each in KEYS}
    return text if known.get(key) in TEXTS and not isinstance(value, str) else value


def _chart_file(path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in CHARTS:
        raise typer.BadParameter(f"`{path}` is no chart's file; end it in {', '.join(CHARTS)}.")
    return path


@described_by(KEYS)
def replay(
    trace: Trace,
    ranks: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=JOB,
            help="The ranks of an application, each on a GPU.",
        ),
    ] = None,
    iterations: Annotated[
        int, of_setting("job.iterations", defaults=True, heading=JOB)
    ] = default_of("job.iterations"),
    mapping: Annotated[
        str, of_setting("job.mapping", metavar="NAME|FILE", defaults=True, heading=JOB)
    ] = default_of("mapping"),
    seed: Annotated[int, of_setting("seed", defaults=True, heading=Rare(JOB))] = default_of("seed"),
    machine: Annotated[
        str | None,
        machine_option("The servers.  [default: nodes of gpus_per_node]"),
    ] = None,
    servers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=SYSTEM,
            help="Join N of the machine by a network.  [default: as the job needs]",
        ),
    ] = None,
    network: NetworkName = None,
    routing: Annotated[str | None, of_setting("system.network.routing", heading=SYSTEM)] = None,
    fidelity: Annotated[str | None, of_setting("fidelity", heading=SYSTEM)] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            rich_help_panel=SYSTEM,
            help="Change a setting, such as nic=rr-4, bandwidth_scale=2x, gpus_per_node=4, "
            "parameters.message='64 KiB' or collectives.all_reduce=planned. Repeatable.",
            autocompletion=KEYS.completed,
        ),
    ] = None,
    timeline: Timeline = None,
    trace_of: traces.What = None,
    events: traces.Events = None,
    only: traces.Only = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Draw a heat map of the links: .html, .png, .svg or .json.",
            callback=_chart_file,
        ),
    ] = None,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Play a recorded trace, or an application, on a cluster that need not exist.

    It prints the job's time, how its ranks spent it, how long messages took, and the busiest
    links. Times are of a model.
    """
    typed = {"routing": routing, "fidelity": fidelity}
    given: dict[str, object] = {name: it for name, it in typed.items() if it is not None}
    for key, value in pairs_of(setting).items():
        if key in (*given, "seed"):
            raise typer.BadParameter(f"`{key}` is set twice; leave out `--set {key}={value}`.")
        given[key] = value
    no_parameters: dict[str, object] = {}
    parameters = given.pop("parameters", no_parameters)
    if not isinstance(parameters, dict):
        raise typer.BadParameter("`parameters` has no key; write parameters.KEY=VALUE.")
    computation_scale = given.pop("computation_scale", default_of("job.computation_scale"))
    if not isinstance(computation_scale, int | float) or not computation_scale >= 0:
        raise typer.BadParameter(
            f"computation_scale: `{computation_scale}` is no number from 0 on."
        )
    settings = Settings.of(given)
    _check_program(trace, ranks, parameters)
    if servers is not None and machine is None:
        raise typer.BadParameter("--servers says how many of a machine; give --machine, too.")
    wanted = runs.Wanted(to=to, timeline=timeline, plot=plot, json=json)
    wanted.check()
    traced = traces.Traced(trace_of, events, traces.read_only(trace_of, only))
    traced.check(to)
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
            # The typed words ask for it.
            raise typer.BadParameter(str(error)) from error
    played = replace(played, notes=(*where.told, *played.notes))
    if plot is not None:
        from linkwright.plot import save_chart

        save_chart(played.link_heat_map(), plot)
    runs.show(played, wanted, watch)
    traced.write(played.run, to)


def _check_program(trace: str, ranks: int | None, parameters: dict[str, object]) -> None:
    """Refuses an application without ranks, and settings that a trace does not need.

    Raises:
        typer.BadParameter: If it is so.
    """
    names = [name for name, _, _ in applications()]
    if trace not in names:
        # A name of no file is refused where it is looked for.
        if Path(trace).exists() and (ranks is not None or parameters):
            what = "`parameters`" if ranks is None else "--ranks"
            raise typer.BadParameter(
                f"`{trace}` is a trace, which has its own; leave out {what}, which is for "
                f"{', '.join(names)}."
            )
        return
    if ranks is None:
        raise typer.BadParameter(f"`{trace}` needs a number of ranks; give --ranks, such as 64.")
