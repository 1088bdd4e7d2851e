"""`linkwright collective expect`: is my bus bandwidth right?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from linkwright import System, expect, names
from linkwright.collectives import choice_doubts, nccl_explanation, nccl_interfaces, nccl_release
from linkwright.cli import output
from linkwright.cli.calibration import print_calibration, read_log
from linkwright.cli.degraded import Without, degraded
from linkwright.cli.error_bars import error_bars, print_legend, shown
from linkwright.cli.options import Json, MachineName, NetworkName, Servers
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
from linkwright.doctor import Diagnosed, LogFiles, Question
from linkwright.errors import printable
from linkwright.nccl_tests import (
    ExpectOptions,
    LogComparison,
    compare_log,
    version_of,
)

__all__ = ["expected"]

# A collective, its size in bytes, and its root.
Asked: TypeAlias = "tuple[names.CollectiveName, int, int | None]"
# The collective of the command; a log may say it.
if TYPE_CHECKING:
    OptionalCollective = names.CollectiveName | None
else:
    OptionalCollective = Annotated[str | None, COLLECTIVE]
LogFile = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="What nccl-tests printed: say what each of its sizes should have taken.",
    ),
]
CalibrateLog = Annotated[
    Path | None,
    typer.Option(
        "--calibrate",
        metavar="FILE",
        help="What nccl-tests printed: fit what differs on the machine (a link's share, launch).",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="With --calibrate, write the machine with what was fitted to this file.",
    ),
]
Nccl = Annotated[
    str | None,
    typer.Option(
        "--nccl",
        metavar="VERSION",
        help="The version of NCCL, or of RCCL on AMD's GPUs, such as 2.21.5; with --log that which "
        "the log names, else the newest that is known.",
    ),
]
NoNvls = Annotated[
    bool,
    typer.Option("--no-nvls", help="NVSwitches do not reduce, as with NCCL_NVLS_ENABLE=0."),
]
NoP2p = Annotated[
    bool,
    typer.Option(
        "--no-p2p", help="GPUs do not reach each other directly, as with NCCL_P2P_DISABLE=1."
    ),
]
OnlyAlgorithm = Annotated[
    names.NcclAlgorithmName | None,
    typer.Option(
        "--algorithm", help="The only algorithm, as with NCCL_ALGO; CollNet is not modelled."
    ),
]
OnlyProtocol = Annotated[
    names.ProtocolName | None,
    typer.Option("--protocol", help="The only protocol, as with NCCL_PROTO."),
]
LinkBandwidth = Annotated[
    float | None,
    typer.Option(
        "--link-bandwidth",
        metavar="GB/s",
        help="What one link between GPUs (NVLink or xGMI, else PCIe) was measured to reach in a "
        "direction.",
    ),
]
NetworkBandwidth = Annotated[
    float | None,
    typer.Option(
        "--network-bandwidth",
        metavar="GB/s",
        help="What a server's network interfaces were measured to reach together.",
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="First print NCCL's lines of NCCL_DEBUG_SUBSYS=GRAPH,TUNING, to lay them beside.",
    ),
]
OfRanks = Annotated[
    names.ProcessesName | None,
    typer.Option(
        "--processes",
        help="Whether each rank is a process or one has all GPUs (nccl-tests -g), as it has on a "
        "lone server if absent.",
    ),
]
OfNumbers = Annotated[
    names.NumberTypeName | None,
    typer.Option(
        "--type",
        help="The type of the numbers (nccl-tests -d); float if absent.",
        show_choices=False,
    ),
]
OfOperation = Annotated[
    names.NcclOperationName | None,
    typer.Option("--operation", help="How numbers are reduced (nccl-tests -o); sum if absent."),
]
CrossNic = Annotated[
    int,
    typer.Option(
        "--cross-nic",
        min=0,
        max=2,
        help="Whether rings and trees may change interfaces in a server, as NCCL_CROSS_NIC: "
        "0 never, 1 always, 2 where that carries more.",
    ),
]
NoPxn = Annotated[
    bool,
    typer.Option(
        "--no-pxn",
        help="GPUs far from an interface do not send by one that is near, as with "
        "NCCL_PXN_DISABLE=1.",
    ),
]
NoGpudirect = Annotated[
    bool,
    typer.Option(
        "--no-gpudirect",
        help="Data between GPUs and interfaces goes by the host's memory, as with "
        "NCCL_NET_GDR_LEVEL=LOC.",
    ),
]


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
    no_nvls: NoNvls = False,
    no_p2p: NoP2p = False,
    algorithm: OnlyAlgorithm = None,
    protocol: OnlyProtocol = None,
    link_bandwidth: LinkBandwidth = None,
    network_bandwidth: NetworkBandwidth = None,
    processes: OfRanks = None,
    numbers: OfNumbers = None,
    operation: OfOperation = None,
    cross_nic: CrossNic = 2,
    no_pxn: NoPxn = False,
    no_gpudirect: NoGpudirect = False,
    explain: Explain = False,
    log: LogFile = None,
    calibrate: CalibrateLog = None,
    output_file: Output = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Say what nccl-tests should show on a machine, to compare with what it does show.

    NCCL's own cost model, with the constants of its version, chooses algorithm, protocol and
    channels, as RCCL's does on AMD's GPUs; the time is that of the choice, played as any plan is.
    docs/concepts/calibration.md has its errors by size. With --log, the sizes are those of a run,
    each beside what it took, and a sentence says what the difference means; COLLECTIVE may be left
    out where the log names its test. With --calibrate, what differs on the machine is fitted to a
    run, and every command counts on it that is given the file of --output as its machine. With
    --without, parts are down, and each size stands beside what it takes on the whole system.
    """
    gpus = named_gpus(on, gpus)
    down = degraded(machine_of(machine, servers, network), without, gpus, root)
    left = down.system
    ids = gpus_of(left, down.gpus)
    options: ExpectOptions = {
        "nccl": nccl,
        "nvls": not no_nvls,
        "p2p": not no_p2p,
        "algorithm": algorithm,
        "protocol": protocol,
        "link_bandwidth": link_bandwidth,
        "network_bandwidth": network_bandwidth,
        "processes": processes,
        "numbers": numbers,
        "operation": operation,
        "cross_nic": cross_nic,
        "pxn": not no_pxn,
        "gpudirect": not no_gpudirect,
    }
    if calibrate is not None:
        if log is not None:
            raise typer.BadParameter("--calibrate reads a log by itself; leave out --log.")
        if plot is not None:
            raise typer.BadParameter("--calibrate draws nothing; plot its file with --log.")
        if explain:
            raise typer.BadParameter("--calibrate explains nothing; give --log or a collective.")
        if down.parts:
            raise typer.BadParameter("--calibrate is of a whole machine; leave out --without.")
        print_calibration(calibrate, left, ids, collective, root, options, output_file, json=json)
        return
    if output_file is not None:
        raise typer.BadParameter("--output is the machine of --calibrate; give a log with that.")
    if log is not None:
        _print_log(
            log, left, ids, collective, root, options, network, explain, json=json, plot=plot
        )
        return
    if collective is None:
        raise typer.BadParameter("Name the collective, or give the --log of a run.")
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
    bars = error_bars(left, ids, sizes, collective, ran, p2p=not no_p2p)
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
