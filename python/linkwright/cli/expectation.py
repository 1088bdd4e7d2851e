"""`linkwright collective expect`: is my bus bandwidth right?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer

from linkwright import System, expect, names
from linkwright.cli import output
from linkwright.cli.calibration import print_calibration, read_log
from linkwright.cli.degraded import degraded
from linkwright.cli.error_bars import error_bars, print_legend, shown
from linkwright.cli.nccl_options import (
    BANDWIDTH_KEYS,
    LISTED,
    VARIABLES,
    Environment,
    Nccl,
    Processes,
    read_environment,
)
from linkwright.cli.options import (
    Json,
    MachineName,
    NetworkName,
    Servers,
    Without,
    among,
    written,
)
from linkwright.cli.panels import JOB, OUTPUT, Rare, described_by
from linkwright.cli.schedules import (
    COLLECTIVE,
    Factor,
    Gpus,
    LeastSize,
    MostSize,
    On,
    Plot,
    Root,
    gpus_of,
    job_text,
    named_gpus,
    network_notes,
    save_plot,
)
from linkwright.cli.sizes import parse_size
from linkwright.cli.standard_input import machine_of
from linkwright.cli.verdicts import print_look, print_verdict, verdict_fields
from linkwright.collectives import choice_doubts, nccl_explanation, nccl_interfaces, nccl_release
from linkwright.doctor import Diagnosed, LogFiles, Question
from linkwright.errors import printable
from linkwright.nccl_tests import (
    ExpectOptions,
    LogComparison,
    compare_log,
    version_of,
)
from linkwright.scenario import choice_names

__all__ = ["expected"]

NUMBERS = choice_names()["number_type"]
REDUCTIONS = choice_names()["nccl_operation"]
# A collective, its size in bytes, and its root.
Asked: TypeAlias = "tuple[names.CollectiveName, int, int | None]"
# The collective of the command; a log may say it.
if TYPE_CHECKING:
    OptionalCollective = names.CollectiveName | None
else:
    OptionalCollective = Annotated[str | None, COLLECTIVE]
Measured = Annotated[
    Path | None,
    typer.Option(
        "--measured",
        metavar="FILE",
        help="Read the output of nccl-tests, and tell the time that each size should take.",
    ),
]
CalibrateLog = Annotated[
    Path | None,
    typer.Option(
        "--calibrate",
        metavar="FILE",
        help="Fit the machine to the output of nccl-tests; --output keeps it.",
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        rich_help_panel=OUTPUT,
        help="First print NCCL's lines of GRAPH and TUNING.",
    ),
]
OfNumbers = Annotated[
    names.NumberTypeName | None,
    typer.Option(
        "--type",
        metavar="NAME",
        rich_help_panel=Rare(JOB),
        help=f"The type of the numbers (-d of nccl-tests): {', '.join(NUMBERS)}.  [default: float]",
        callback=among("type", NUMBERS),
        autocompletion=lambda: NUMBERS,
    ),
]
OfReduction = Annotated[
    names.NcclOperationName | None,
    typer.Option(
        "--reduction",
        metavar="NAME",
        rich_help_panel=Rare(JOB),
        help=f"Reduce by this (-o of nccl-tests): {', '.join(REDUCTIONS)}.  [default: sum]",
        callback=among("reduction", REDUCTIONS),
        autocompletion=lambda: REDUCTIONS,
    ),
]
# The variables of NCCL that this command heeds.
HEEDED = [variable.option for variable in VARIABLES.values()]


@described_by(BANDWIDTH_KEYS, LISTED)
def expected(
    machine: MachineName,
    collective: OptionalCollective = None,
    on: On = None,
    gpus: Gpus = None,
    root: Root = None,
    least: LeastSize = "8",
    most: MostSize = "8GiB",
    factor: Factor = 2,
    servers: Servers = 1,
    network: NetworkName = None,
    without: Without = None,
    nccl: Nccl = None,
    environment: Environment = None,
    processes: Processes = None,
    numbers: OfNumbers = None,
    reduction: OfReduction = None,
    setting: Annotated[list[str] | None, BANDWIDTH_KEYS.option()] = None,
    explain: Explain = False,
    measured: Measured = None,
    calibrate: CalibrateLog = None,
    output_file: Annotated[Path | None, written("the machine of --calibrate")] = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Say what nccl-tests should show on a machine.

    NCCL's own cost model chooses algorithm, protocol and channels, as RCCL's does on AMD's GPUs.
    The choice is played as any plan is. The collective may be left out where --measured or
    --calibrate names it.
    """
    gpus = named_gpus(on, gpus)
    down = degraded(machine_of(machine, servers, network), without, gpus, root)
    left = down.system
    ids = gpus_of(left, down.gpus)
    settings = BANDWIDTH_KEYS.read(setting)
    options: ExpectOptions = {
        "nccl": nccl,
        "nvls": True,
        "p2p": True,
        "algorithm": None,
        "protocol": None,
        "link_bandwidth": settings.get("link_bandwidth"),
        "network_bandwidth": settings.get("network_bandwidth"),
        "processes": processes,
        "numbers": numbers,
        "operation": reduction,
        "cross_nic": 2,
        "pxn": True,
        "gpudirect": True,
    }
    options.update(cast("ExpectOptions", read_environment(environment, HEEDED)))
    if calibrate is not None:
        if measured is not None:
            raise typer.BadParameter("--calibrate reads a log by itself; leave out --measured.")
        if plot is not None:
            raise typer.BadParameter("--calibrate draws nothing; plot its file with --measured.")
        if explain:
            raise typer.BadParameter(
                "--calibrate explains nothing; give --measured or a collective."
            )
        if down.parts:
            raise typer.BadParameter("--calibrate is of a whole machine; leave out --without.")
        print_calibration(calibrate, left, ids, collective, root, options, output_file, json=json)
        return
    if output_file is not None:
        raise typer.BadParameter("--output is the machine of --calibrate; give a log with that.")
    if measured is not None:
        _print_log(
            measured, left, ids, collective, root, options, network, explain, json=json, plot=plot
        )
        return
    if collective is None:
        raise typer.BadParameter("Name the collective, or give the output of a run as --measured.")
    sizes = _sizes(parse_size(least), parse_size(most), factor)
    rows = [dict(row) for row in expect(left, ids, collective, sizes, root=root, **options)]
    taken: list[float | None] = [None] * len(rows)
    if down.parts:
        of_whole = gpus_of(down.whole, gpus)
        before = expect(down.whole, of_whole, collective, sizes, root=root, **options)
        taken = [float(row["time"]) for row in before]
    for row, whole in zip(rows, taken, strict=True):
        row["whole_time"] = whole
    library, note = nccl_release(left, ids, nccl=nccl)
    notes = ([note] if note else []) + down.notes + network_notes(left, ids, network)
    notes += choice_doubts(left, ids, collective, sizes, root=root, **_chosen(options))
    ran = [row["algorithm"] for row in rows]
    bars = error_bars(left, ids, sizes, collective, ran, p2p=options["p2p"])
    if plot is not None:
        from linkwright.collective_plot import bandwidth_by_size

        title = f"{collective} on {job_text(ids, left)}"
        save_plot(bandwidth_by_size({f"{library}'s choice": rows}, title), plot)
    if json:
        rows = [row | {"error": bar} for row, bar in zip(rows, bars, strict=True)]
        fields = {"machine": left.name, "collective": collective, "gpus": ids, "nccl": library}
        fields["without"] = down.parts
        explained = _explained(left, ids, (collective, sizes[-1], root), options) if explain else {}
        output.print_json(fields | explained | {"notes": notes, "sweep": rows})
    else:
        titles = ["size\nB", "time\nus", "algbw\nGB/s", "busbw\nGB/s", "algorithm", "protocol"]
        titles += ["channels", *(["whole\nus", "times\nas long"] if down.parts else []), "±"]
        made = output.table(titles, kept=["±"])
        for row, bar in zip(rows, bars, strict=True):
            whole = row["whole_time"]
            made.add_row(
                str(row["size"]),
                f"{row['time'] * 1e6:.1f}",
                f"{row['algorithm_bandwidth']:.2f}",
                f"{row['bus_bandwidth']:.2f}",
                row["algorithm"],
                row["protocol"],
                str(row["channels"]),
                *([f"{whole * 1e6:.1f}", f"{row['time'] / whole:.2f}x"] if whole else []),
                shown(bar),
            )
        if explain:
            _print_explanation(left, ids, (collective, sizes[-1], root), options)
        console = output.console()
        console.print(_title(collective, ids, left, library, down.title()), style="bold")
        output.print_table(made)
        print_legend(bars)
        output.notes("Notes", notes, stderr=True)


def _print_log(
    path: Path,
    machine: System,
    gpus: list[int],
    collective: names.CollectiveName | None,
    root: int | None,
    options: ExpectOptions,
    network: str | None,
    explain: bool,
    *,
    json: bool,
    plot: Path | None,
) -> None:
    log, collective = read_log(path, collective)
    nccl = options["nccl"] or version_of(log, machine, gpus)
    told: ExpectOptions = {**options, "nccl": nccl}
    told["numbers"] = options["numbers"] or log.numbers
    told["operation"] = options["operation"] or log.operation
    compared = compare_log(log, machine, gpus, collective, root=root, **options)
    library, note = nccl_release(machine, gpus, nccl=nccl)
    notes = [f"{printable(str(path))}:{line}: {text}" for line, text in log.notes]
    notes += [note] if note else []
    notes += network_notes(machine, gpus, network)
    if plot is not None:
        from linkwright.collective_plot import bandwidth_by_size

        curves = {"measured": "measured", f"{library}'s choice": "expected"}
        series = {
            name: [
                {
                    "size": row.size,
                    "bus_bandwidth": getattr(row, f"{which}_bus_bandwidth"),
                    "time": getattr(row, f"{which}_time"),
                }
                for row in compared.rows
            ]
            for name, which in curves.items()
        }
        save_plot(bandwidth_by_size(series, f"{collective} on {job_text(gpus, machine)}"), plot)
    largest = max(row.size for row in compared.rows)
    verdict = _verdict(path, Question(machine, gpus=gpus, collective=collective, options=options))
    if json:
        fields = {"machine": machine.name, "collective": collective, "gpus": gpus, "nccl": library}
        found: dict[str, Any] = {"log": str(path), "measured_nccl": log.version}
        found |= {"meaning": compared.meaning, "verdict": verdict_fields(verdict)}
        bars = _bars_of_log(machine, gpus, collective, compared, options)
        rows = [
            vars(row) | {"ratio": row.ratio, "error": bar}
            for row, bar in zip(compared.rows, bars, strict=True)
        ]
        stated = [vars(finding) for finding in compared.findings]
        explained = _explained(machine, gpus, (collective, largest, root), told) if explain else {}
        found |= explained
        output.print_json(fields | found | {"findings": stated, "notes": notes, "sweep": rows})
    else:
        if explain:
            _print_explanation(machine, gpus, (collective, largest, root), told)
        # An answer to another question than was meant is no answer: this comes first.
        for finding in compared.findings:
            output.say(f"{printable(path.name)}:{finding.line}: {finding.text}")
        bars = _bars_of_log(machine, gpus, collective, compared, options)
        _print_comparison(compared, bars, _title(collective, gpus, machine, library))
        # The shape of a difference says nothing where the doctor knows its cause.
        if verdict.kind != "cause":
            output.say(compared.meaning)
        print_verdict(verdict)
        print_look(verdict)
        output.notes("Notes on the log", notes, stderr=True)


def _verdict(path: Path, question: Question) -> Diagnosed:
    """The doctor's of a log: of several runs in it, of the first that is not healthy."""
    files = LogFiles()
    files.read(path)
    found = files.diagnose(question)
    return next((one for one in found if one.kind != "healthy"), found[0])


def _bars_of_log(
    machine: System,
    gpus: list[int],
    collective: names.CollectiveName,
    compared: LogComparison,
    options: ExpectOptions,
) -> list[dict[str, Any]]:
    sizes = [row.size for row in compared.rows]
    ran = [row.algorithm for row in compared.rows]
    return error_bars(machine, gpus, sizes, collective, ran, p2p=options["p2p"])


def _chosen(options: ExpectOptions) -> dict[str, Any]:
    """Leaves out what was measured of links."""
    measured = ("link_bandwidth", "network_bandwidth")
    return {name: value for name, value in options.items() if name not in measured}


def _explained(
    machine: System, gpus: list[int], asked: Asked, options: ExpectOptions
) -> dict[str, Any]:
    lines, graphs, costs = nccl_explanation(
        machine, gpus, nccl=options["nccl"], nvls=options["nvls"], p2p=options["p2p"]
    )
    collective, size, root = asked
    chosen = _chosen(options)
    del chosen["processes"]
    ends = nccl_interfaces(machine, gpus, collective, size, root=root, **chosen)
    tables = {"graphs": graphs, "costs": costs, "interfaces": ends}
    rows = {name: [dict(row) for row in table] for name, table in tables.items()}
    return {"explanation": {"lines": lines, **rows}}


def _print_explanation(
    machine: System, gpus: list[int], asked: Asked, options: ExpectOptions
) -> None:
    """Prints NCCL's lines of its search and of its cost model, and each channel's interfaces."""
    explanation = _explained(machine, gpus, asked, options)["explanation"]
    for line in explanation["lines"]:
        output.say(line)
    for end in explanation["interfaces"]:
        act = "sends" if end["sends"] else "receives"
        through = "" if end["through"] is None else f" through GPU {end['through']}"
        place = f"channel {end['channel']:02}, server {end['server']}"
        way = f"{end['interface']} (rail {end['rail']}){through}"
        memory = ", by the host's memory" if end["by_memory"] else ""
        output.say(f"{place}: GPU {end['gpu']} {act} by {way}{memory}")


def _print_comparison(compared: LogComparison, bars: list[dict[str, Any]], title: str) -> None:
    titles = ["size\nB", "measured\nus", "expected\nus", "ratio"]
    titles += ["measured\nbusbw GB/s", "expected\nbusbw GB/s", "algorithm", "protocol", "±"]
    made = output.table(titles, kept=["±"])
    for row, bar in zip(compared.rows, bars, strict=True):
        made.add_row(
            str(row.size),
            f"{row.measured_time * 1e6:.1f}",
            f"{row.expected_time * 1e6:.1f}",
            f"{row.ratio:.2f}",
            f"{row.measured_bus_bandwidth:.2f}",
            f"{row.expected_bus_bandwidth:.2f}",
            row.algorithm,
            row.protocol,
            shown(bar),
        )
    console = output.console()
    console.print(title, style="bold")
    output.print_table(made)
    print_legend(bars)


def _title(
    collective: names.CollectiveName,
    gpus: list[int],
    machine: System,
    library: str,
    without: str = "",
) -> str:
    job = job_text(gpus, machine) + without
    then = ";" if ", " in job else ","
    return f"{collective} on {job}{then} as {library} chooses"


def _sizes(least: int, most: int, factor: int) -> list[int]:
    sizes, size = [], least
    while size <= most:
        sizes.append(size)
        size *= factor
    if not sizes:
        raise typer.BadParameter("--min-bytes is above --max-bytes; swap them.")
    return sizes
