"""Shows a server in a report: its drawing, and the best link between each pair of its GPUs."""

from __future__ import annotations

from collections.abc import Mapping

from linkwright import System
from linkwright.drawing import machine_drawing
from linkwright.runs.run import Section

__all__ = ["machine_section"]

# Light to dark blue, for links from the slowest to the fastest of a machine.
FILLS = ("#eff3fb", "#d3e0f2", "#9ec4e6", "#4d95cc", "#0b5394")

DRAWING = "The machine: its devices and links"


def machine_section(system: System) -> Section:
    """The part of a report that shows a server; of several, the first."""
    if system.fabric is not None:
        listed = system.servers()
        if not listed:
            return Section("The machine")
        system = listed[0][0]
    return Section(
        "The machine",
        text=[system.source] if system.source else [],
        charts={DRAWING: machine_drawing(system)},
        matrix=_matrix(system),
        points=system.assumptions,
        points_are="Assumed, since the source does not say it",
    )


def _matrix(system: System) -> Mapping[str, object]:
    matrix = system.gpu_matrix()
    links = {cell: None for index, row in enumerate(matrix) for cell in row[:index]}
    ordered = sorted(links, key=lambda link: (link[1], link[0]))
    levels = sorted({bandwidth for _, bandwidth in ordered})

    def cell(label: str, bandwidth: float, on_diagonal: bool) -> Mapping[str, object]:
        position = levels.index(bandwidth) if bandwidth in levels else 0
        at = round(position * (len(FILLS) - 1) / max(1, len(levels) - 1))
        return {
            "label": "" if on_diagonal else label,
            "self": on_diagonal,
            "bandwidth": f"{bandwidth:g}",
            "fill": FILLS[at],
            "ink": "#ffffff" if at >= len(FILLS) - 2 else "#1c2430",
        }

    shades = "; ".join(f"{label} {bandwidth:g} GB/s" for label, bandwidth in ordered)
    return {
        "names": system.gpu_names,
        "rows": [
            [cell(*link, row == column) for column, link in enumerate(links_of)]
            for row, links_of in enumerate(matrix)
        ],
        "note": "The best link between each pair of GPUs; the darker, the more bandwidth: "
        f"{shades}.",
    }
