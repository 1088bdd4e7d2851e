"""Plays Fig. 3: three mixes on Quartz. Only errors against the machine were published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwright.network import Fabric
from linkwright.studies.network.published import published
from linkwright.studies.network.quartz_findings import findings, names
from linkwright.studies.network.quartz_measured import QuartzMeasured, QuartzTime
from linkwright.studies.network.quartz_runs import SPAN, TREES
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["quartz"]

NOT_COMPARABLE = "cannot be told"
# All trees but Quartz.
STANDARD = tuple(name for name in TREES if name != "quartz")


def quartz(times: Sequence[QuartzTime]) -> Section:
    """Writes the section on Fig. 3."""
    measured = QuartzMeasured(times)
    return Section(
        title="Fig. 3: three mixes on Quartz",
        text=[
            "The paper ran three mixes on LLNL's Quartz and predicted them. These cannot be "
            "compared. Fig. 3 is a chart of errors against the machine's run times, which are not "
            "published, and has no table. So no error of ours can be told, and this page only "
            "repeats the text's. The text does not give the mixes, the processes of a node, or "
            "the length of jobs. Nor does it say how packets are routed, or how computation was "
            "scaled from the traced machine to Quartz.",
            "The model of that very tree answers three questions. How long do such mixes take? "
            "How much does sharing the tree cost? Would a standard tree do? The mixes are the "
            "first three of this study that fit the text without AMG and SW4lite. Each process "
            "has a node, computes as on the CPUs of the traces, and repeats its loop for about "
            f"{SPAN * 1e3:g} ms, once at least. Jobs take nodes in their order, as in the text; "
            "or, scattered, by chance. Alone means on the same nodes with nothing else on the "
            "tree. The standard trees have leaves of 32 nodes, too. The tapered one is 2:1, of "
            "switches of 48 ports, as the text names it. The full one has switches of 64. All "
            "route by `shortest-path`, one way for each destination, so only the wiring differs.",
            *findings(measured),
        ],
        tables=[_said(measured), _shared(measured), _wirings(measured)],
    )


def _said(measured: QuartzMeasured) -> StudyTable:
    """Lists the statements of the text, and those that can be held against our results."""
    entry, machine = published()["validation"], published()["quartz"]
    fabric = Fabric("quartz")
    own: dict[str, Any] = dict(fabric.parameters)
    levels = {row["level"]: row for row in fabric.levels()}
    joined = {(row["from"], row["to"]): row["links"] for row in fabric.links()}
    pods = -(-own["leaves"] // own["leaves_per_pod"])
    # Each leaf reaches every aggregate of its pod; only in full pods is that the text's number.
    double = own["uplinks"] / own["leaves_per_pod"]
    rows: list[tuple[Cell, ...]] = [
        ("leaf switches", machine["leaf_switches"], levels["leaf"]["switches"]),
        ("aggregate switches", machine["aggregate_switches"], levels["aggregate"]["switches"]),
        ("core switches", machine["core_switches"], levels["core"]["switches"]),
        ("pods", machine["pods"], pods),
        ("nodes of a leaf", machine["nodes_per_leaf"], own["nodes_per_leaf"]),
        (
            "nodes of a leaf for each of its links up",
            machine["tapering"],
            joined["node", "leaf"] / joined["leaf", "aggregate"],
        ),
        ("links from a leaf to an aggregate", machine["links_between_two_switches"], double),
        (
            "ports of an aggregate, and of a core, in use",
            f"under {machine['radix']}",
            f"{levels['aggregate']['most_ports']} and {levels['core']['most_ports']}",
        ),
        ("mixes", entry["workloads"], len({each.mix for each in measured.times})),
        (
            "Subcomm3d of 128 in all mixes",
            entry["subcomm3d_128_occurrences"],
            len(measured.found(("subcomm3d", 128))),
        ),
        ("mean error, Subcomm3d of 128", f"{entry['subcomm3d_128']:.2%}", NOT_COMPARABLE),
        ("mean error beyond 20 %", names(entry["beyond_20_percent"]), NOT_COMPARABLE),
        ("mean error beyond 15 %", names(entry["beyond_15_percent"]), NOT_COMPARABLE),
    ]
    return StudyTable(
        title="The text on Quartz and on Fig. 3, beside ours",
        columns=("", "published", "here"),
        rows=tuple(rows),
        formats=("", "g", "g"),
        note=machine["remark"],
    )


def _shared(measured: QuartzMeasured) -> StudyTable:
    """Shows the cost of sharing the tree."""
    rows: list[tuple[Cell, ...]] = []
    for kind in measured.kinds:
        found = measured.found(kind)
        cells: list[Cell] = []
        for placement in ("linear", "scattered"):
            place = "quartz", placement
            cells += [measured.together(kind, *place), measured.alone(kind, *place)]
            cells.append(measured.cost(kind, *place))
        rows.append((*kind, len(found), found[0].iterations, *cells))
    return StudyTable(
        title="Predicted run times on Quartz, in the mixes and alone",
        columns=(
            "application",
            "processes",
            "occurrences",
            "iterations",
            "in the mix (ms)",
            "alone (ms)",
            "sharing costs",
            "scattered, in the mix (ms)",
            "scattered, alone (ms)",
            "scattered, sharing costs",
        ),
        rows=tuple(rows),
        formats=("", "", "", "", ".2f", ".2f", "+.1%", ".2f", ".2f", "+.1%"),
        note="Means over the occurrences, as in Fig. 3.",
    )


def _wirings(measured: QuartzMeasured) -> StudyTable:
    """Shows the same on standard trees."""
    rows: list[tuple[Cell, ...]] = []
    for kind in measured.kinds:
        cells: list[Cell] = [measured.together(kind)]
        for name in STANDARD:
            cells += [measured.together(kind, name), measured.cost(kind, name)]
            cells.append(measured.over_quartz(kind, name))
        rows.append((*kind, *cells))
    heads = [
        head
        for name in STANDARD
        for head in (f"{name} (ms)", f"{name}, sharing costs", f"{name}, over Quartz")
    ]
    return StudyTable(
        title="The same mixes on standard fat-trees of as many nodes",
        columns=("application", "processes", "Quartz (ms)", *heads),
        rows=tuple(rows),
        formats=("", "", ".2f", *(".2f", "+.1%", "+.1%") * 2),
        note="Times are those in the mixes, in the order of nodes.",
    )
