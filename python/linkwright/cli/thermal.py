"""`linkwright thermal`: how hot a package becomes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.errors import FileError
from linkwright.cli import output, runs
from linkwright.cli.options import Json
from linkwright.cli.schedules import Plot
from linkwright.runs.thermal.run import LIMIT, steady_heat


def thermal(
    floorplan: Annotated[
        Path, typer.Argument(metavar="FLOORPLAN", help="The package's file (TOML).")
    ],
    cells: Annotated[
        int, typer.Option(metavar="N", min=1, max=2048, help="Cells of the interposer each way.")
    ] = 256,
    sink: Annotated[
        float | None,
        typer.Option(metavar="K/W", help="The sink's resistance; the file's if absent."),
    ] = None,
    ambient: Annotated[
        float | None,
        typer.Option(metavar="CELSIUS", help="The air's temperature; the file's if absent."),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            metavar="CELSIUS", help="Seek the sink under which the hottest place is so hot."
        ),
    ] = None,
    limit: Annotated[
        float, typer.Option(metavar="CELSIUS", help="What the hottest place may come to.")
    ] = LIMIT,
    layer: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The layer to draw; that of the hottest block."),
    ] = None,
    plot: Plot = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIRECTORY",
            help="Write tables, summary.json, manifest.json and report.html here.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Tell how hot a package becomes: the steady state of its layers, blocks and sink.

    The file has the interposer's size, layers from the board up, blocks with their place and
    power, and the sink's resistance to the air. Heat is conducted between cells (finite volumes).
    """
    if sink is not None and target is not None:
        raise typer.BadParameter("--target seeks the sink that --sink gives; leave one out.")
    wanted = runs.Wanted(to=to, plot=plot, json=json)
    wanted.check()
    with runs.watched() as watch, output.working("finding the temperatures"):
        found = steady_heat(
            floorplan,
            cells=cells,
            sink=sink,
            ambient=ambient,
            target=target,
            limit=limit,
            layer=layer,
        )
    if plot is not None:
        from linkwright.plot import save_chart
        from linkwright.runs.thermal.charts import temperature_map

        try:
            save_chart(temperature_map(found.map, found.layer), plot)
        except OSError as error:
            raise FileError(f"cannot write `{plot}`: {error.strerror or error}") from error
    runs.show(found, wanted, watch)
