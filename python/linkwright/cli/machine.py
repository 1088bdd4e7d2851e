"""`linkwright machine` lists presets, shows machines and reads what other tools say of one."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

import typer

from linkwright import System
from linkwright.cli import matrix, output
from linkwright.cli.fabric import fabric_text, print_fabric, print_paths
from linkwright.cli.keys import Keys, number, text
from linkwright.cli.options import BandwidthProfile, Json, NetworkName, among, named, written
from linkwright.cli.panels import OUTPUT, SYSTEM, described_by
from linkwright.cli.standard_input import given_machine_or_fabric, standard_input
from linkwright.documents import json_text
from linkwright.errors import FileError, MachineError, printable
from linkwright.files import read_text
from linkwright.gpu import GpuModel, gpu_models
from linkwright.names import ImportFormatName
from linkwright.network import (
    Fabric,
    export_format_names,
    fabric_names,
    import_format_names,
    preset_names,
    read_system,
)
from linkwright.texts import counted

# The forms of a machine's text; a machine that is shown has a table, too.
Form: TypeAlias = Literal["toml", "json", "dot", "nvidia-smi", "rocm-smi", "nccl-xml"]
ShownForm: TypeAlias = Literal["table", "toml", "json", "dot", "nvidia-smi", "rocm-smi", "nccl-xml"]

app = typer.Typer(help="List, show and import machines.", no_args_is_help=True)


@app.command("list")
def list_machines(
    models: Annotated[
        bool, typer.Option("--gpu-models", help="List models of GPUs instead.")
    ] = False,
    json: Json = False,
) -> None:
    """List the built-in machines, and the kinds of network between servers."""
    if models:
        _list_gpus(json)
        return
    rows: list[dict[str, object]] = [
        {
            "name": name,
            "kind": "server",
            "gpus": System(name).gpu_count,
            "ports": None,
            "description": description,
        }
        for name, description in preset_names()
    ]
    for name in fabric_names():
        fabric = Fabric(name)
        switches = counted(fabric.switches, "switch", "switches")
        description = f"a network between servers: {switches} where nothing else is said"
        rows.append(
            {
                "name": name,
                "kind": "network",
                "gpus": None,
                "ports": fabric.ports,
                "description": description,
            }
        )
    if json:
        output.print_json(rows)
        return
    heads = ["name", "GPUs", "ports", "description"]
    made = output.table(heads, left=["name", "description"], whole=["name"])
    for row in rows:
        cells = [row[key] for key in ("name", "gpus", "ports", "description")]
        made.add_row(
            *(
                "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
                for value in cells
            )
        )
    output.print_table(made)


def _list_gpus(json: bool) -> None:
    """Prints what data sheets say of each model of GPU; empty where they are not at hand."""
    rows = [_gpu(model) for model in gpu_models()]
    if json:
        output.print_json(rows)
        return
    heads = [
        "name",
        "product",
        "memory\nGiB",
        "GB/s",
        "vector fp32\nTFLOP/s",
        "matrix fp16",
        "power\nW",
        "links",
    ]
    made = output.table(heads, left=["name", "product", "links"], whole=["name"])
    for row in rows:
        links = f"{row['link_count']} {row['link_kind']}" if row["link_kind"] else None
        memory = row["memory_capacity"]
        cells = [
            row["name"],
            row["product"],
            None if memory is None else memory // 2**30,
            row["memory_bandwidth"],
            row["vector_peak"].get("fp32"),
            row["matrix_peak"].get("fp16"),
            None if row["busy_power"] is None else f"{row['busy_power']:g}",
            links,
        ]
        made.add_row(*("" if cell is None else str(cell) for cell in cells))
    output.print_table(made)


def _gpu(model: GpuModel) -> dict[str, Any]:
    def or_none(name: str) -> Any:
        try:
            return getattr(model, name)
        except MachineError:
            return None

    known = ("name", "product", "vendor", "pci_ids", "pcie", "link_kind", "link_count")
    sections = (
        "memory_kind",
        "memory_capacity",
        "memory_bandwidth",
        "copy_engines",
        "units",
        "l2_cache",
        "busy_power",
    )
    peaks = ("vector_peak", "matrix_peak")
    return (
        {name: getattr(model, name) for name in known}
        | {name: or_none(name) for name in sections}
        | {name: or_none(name) or {} for name in peaks}
    )


@app.command()
def show(
    machine: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE|-",
            help="The name or file of a machine or a network; - is the input.",
            autocompletion=lambda: [*(name for name, _ in preset_names()), *fabric_names()],
        ),
    ],
    servers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=SYSTEM,
            help="Join N of the machine by a network.",
        ),
    ] = None,
    network: NetworkName = None,
    devices: Annotated[
        bool, typer.Option("--devices", help="List every device instead, with its facts.")
    ] = False,
    bandwidth_profile: BandwidthProfile = None,
    paths: Annotated[
        str | None,
        typer.Option(
            metavar="FROM,TO", help="List the shortest paths of two nodes of a network instead."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="List N paths.")] = 16,
    form: Annotated[
        ShownForm,
        typer.Option(
            "--as",
            metavar="FORMAT",
            rich_help_panel=OUTPUT,
            help=f"Print it as {', '.join(get_args(ShownForm))}.",
        ),
    ] = "table",
    to: Annotated[Path | None, written("the text of --as")] = None,
    json: Json = False,
) -> None:
    """Show a machine: the link of every pair of GPUs, the devices, and the assumptions.

    A network shows its ports, cables, bisection, distances, switches and links. Servers on a
    network show both. nvidia-smi and rocm-smi write as these tools print. nccl-xml is a file for
    NCCL_TOPO_FILE.
    """
    if json and form not in ("table", "json"):
        raise typer.BadParameter(f"--json and --as {form} both say what to print; give one.")
    as_table = not json and form == "table"
    if to is not None and (as_table or paths is not None):
        raise typer.BadParameter("--output writes a form; give --as, such as --as toml.")
    write = output.document if to is None else partial(output.save, to)
    if devices and not as_table:
        raise typer.BadParameter("--devices is a table; the other forms list all devices anyway.")
    loaded = given_machine_or_fabric(machine, warn=not as_table)
    asked = servers is not None or network is not None
    if paths is not None:
        if not isinstance(loaded, Fabric):
            raise typer.BadParameter("--paths is of a network, such as torus, and not of a server.")
        _show_paths(loaded, paths, limit, json)
        return
    if asked and isinstance(loaded, Fabric):
        raise typer.BadParameter(
            f"`{loaded.name}` is a network; --servers and --network go with a server, such as "
            "dgx1-v100."
        )
    if not isinstance(loaded, Fabric) and (asked or loaded.fabric is not None):
        from linkwright.cli.settings import of_options
        from linkwright.cli.system import print_system, system_text
        from linkwright.systems import read_system

        if bandwidth_profile is not None:
            raise typer.BadParameter("a profile is of one server's links; leave out the option.")
        with of_options():
            whole = read_system(loaded, servers, network=network) if asked else loaded
        if as_table:
            matrix.print_devices(whole) if devices else print_system(whole)
        else:
            write(_exported(whole, form) or system_text(whole, "json" if json else form))
        return
    if isinstance(loaded, Fabric):
        if bandwidth_profile is not None:
            raise typer.BadParameter("a network has no bandwidth profiles; leave out the option.")
        if devices:
            raise typer.BadParameter("a network has no devices but switches; leave out --devices.")
        if form in export_format_names():
            raise typer.BadParameter(
                f"--as {form} is what a server prints, and `{loaded.name}` is a network."
            )
        if as_table:
            print_fabric(loaded)
        else:
            write(fabric_text(loaded, "json" if json else form))
        return
    if devices:
        matrix.print_devices(loaded)
    elif as_table:
        matrix.print_machine(loaded, bandwidth_profile)
    else:
        write(_text(loaded, "json" if json else form))


def _show_paths(fabric: Fabric, pair: str, most: int, json: bool) -> None:
    ends = [end.strip() for end in pair.split(",")]
    if len(ends) != 2 or not all(end.isdecimal() and len(end) < 10 for end in ends):
        raise typer.BadParameter(f"`{pair}` is no pair of nodes; write 0,5.")
    source, destination = map(int, ends)
    if not json:
        print_paths(fabric, source, destination, most)
        return
    count, paths = fabric.paths(source, destination, most=most)
    output.print_json({"count": count, "paths": [dict(row) for row in paths]})


IMPORT_KEYS = Keys(
    text("nvlink", "KIND", "The generation of NVLink, such as nvlink3"),
    text("pcie", "KIND", "The generation of PCIe, such as pcie4"),
    number("xgmi_links", "N", "The xGMI links of a pair of AMD GPUs", least=1, most=1000),
)


@app.command("import")
@described_by(IMPORT_KEYS)
def import_machine(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The text; - is the input.")],
    format: Annotated[
        ImportFormatName | None,
        typer.Option(
            metavar="NAME",
            help=f"The text's format: {', '.join(import_format_names())}.  [default: as it looks]",
            callback=among("format", import_format_names()),
            autocompletion=import_format_names,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The machine's name.", callback=named),
    ] = None,
    setting: Annotated[list[str] | None, IMPORT_KEYS.option()] = None,
    measured: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take bandwidths from p2pBandwidthLatencyTest, nvbandwidth or "
            "rocm-bandwidth-test.",
        ),
    ] = None,
    form: Annotated[
        Form | None,
        typer.Option(
            "--as",
            metavar="FORMAT",
            rich_help_panel=OUTPUT,
            help=f"Print it as {', '.join(get_args(Form))}.  [default: toml]",
        ),
    ] = None,
    to: Annotated[Path | None, written("the text of --as")] = None,
    json: Json = False,
) -> None:
    """Turn what nvidia-smi, rocm-smi, amd-smi or NCCL says of a machine into a machine's file.

    --as turns it into what another of them would say. Standard error tells what the text leaves
    open and was assumed. With --measured, FILE may be a preset's name, and slow pairs are named.
    """
    if json and to is None and form not in (None, "json"):
        raise typer.BadParameter(f"--json and --as {form} both say what to print; give one.")
    remarks: dict[str, list[str]] = {}
    try:
        if measured is not None and file in {preset for preset, _ in preset_names()}:
            machine = System.from_text(System(file).to_toml(), file, name=name)
        else:
            machine = _imported(file, format, name, IMPORT_KEYS.read(setting))
        if measured is not None:
            machine, remarks = _measured(machine, measured)
    except MachineError as error:
        # A bad text is an InputError: this is an option that no machine can have.
        raise typer.BadParameter(str(error)) from error
    written_as = _text(machine, form or "toml")
    if to is not None:
        output.save(to, written_as)
    if json:
        output.document(_text(machine, "json"))
    elif to is None:
        output.document(written_as)
    output.notes("Warning", machine.warnings, stderr=True)
    output.notes("Assumed", machine.assumptions, stderr=True)
    for title, lines in remarks.items():
        output.notes(title, lines, stderr=True)


def _measured(machine: System, file: Path) -> tuple[System, dict[str, list[str]]]:
    """Gives a machine with what a file measured, and remarks on it by their titles."""
    text, named = read_text(file), printable(str(file))
    links, slow, notes = machine.measured_links(text, named)
    count = counted(len(links), "link")
    taken = [f"{count} of {len(machine.links())} have what {named} measured."]
    return machine.with_measured(text, named), {
        "Measured": taken + notes,
        "Far below its like": [f"{row['sentence']}." for row in slow],
    }


def _imported(
    file: str,
    format: ImportFormatName | None,
    name: str | None,
    settings: dict[str, Any],
) -> System:
    if file == "-":
        return System.from_text(
            standard_input(),
            "<stdin>",
            format=format,
            name=name,
            **settings,
        )
    if Path(file).exists():
        return read_system(
            Path(file),
            format=format,
            name=name,
            **settings,
        )
    raise FileError(f"there is no file `{file}`", "write - to read standard input")


def _text(machine: System, form: str) -> str:
    if form == "json":
        return json_text(json.loads(machine.to_json()))
    exported = _exported(machine, form)
    if exported is not None:
        return exported
    text = machine.to_toml() if form == "toml" else machine.to_dot()
    return text if text.endswith("\n") else text + "\n"


def _exported(machine: System, form: str) -> str | None:
    """Gives the text that the machine's own tools would print, where that is the form.

    The program says on standard error what the text leaves out or makes up.
    """
    if form not in export_format_names():
        return None
    text = machine.to_text(form)
    output.notes("Note", machine.text_notes(form), stderr=True)
    return text
