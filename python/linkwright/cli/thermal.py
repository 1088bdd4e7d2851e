"""`linkwright thermal`: how hot a package becomes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli import output, runs
from linkwright.cli.keys import Keys, number, text
from linkwright.cli.options import Json, RunDirectory
from linkwright.cli.panels import described_by
from linkwright.cli.schedules import Plot
from linkwright.errors import FileError
from linkwright.runs.thermal.run import LIMIT, steady_heat

KEYS = Keys(
    number("cells", "N", "Cells of the interposer each way", "256", least=1, most=2048),
    number("sink", "K/W", "The resistance of the sink", "the file's", kind=float),
    number("ambient", "CELSIUS", "The temperature of the air", "the file's", kind=float),
    number("target", "CELSIUS", "Seek the sink that keeps the hottest place at this", kind=float),
    number("limit", "CELSIUS", "The temperature that the package stands", f"{LIMIT:g}", kind=float),
    text("layer", "NAME", "The layer that the plot draws", "the hottest block's"),
)


@described_by(KEYS)
def thermal(
    floorplan: Annotated[
        Path, typer.Argument(metavar="FLOORPLAN", help="The package's file (TOML).")
    ],
    setting: Annotated[list[str] | None, KEYS.option()] = None,
    plot: Plot = None,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Tell how hot a package becomes: the steady state of its layers, blocks and sink.

    The file has the interposer's size, the layers from the board up, the place and power of
    blocks, and the sink's resistance to the air. Heat flows between cells (finite volumes).
    """
    settings = KEYS.read(setting)
    if "sink" in settings and "target" in settings:
        raise typer.BadParameter("target seeks the sink that sink gives; leave one out.")
    wanted = runs.Wanted(to=to, plot=plot, json=json)
    wanted.check()
    with runs.watched() as watch, output.working("finding the temperatures"):
        found = steady_heat(
            floorplan,
            **settings,
        )
    if plot is not None:
        from linkwright.plot import save_chart
        from linkwright.runs.thermal.charts import temperature_map

        try:
            save_chart(temperature_map(found.map, found.layer), plot)
        except OSError as error:
            raise FileError(f"cannot write `{plot}`: {error.strerror or error}") from error
    runs.show(found, wanted, watch)
