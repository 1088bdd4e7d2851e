"""Draws charts of a step of training: the parts of its time, how it scales, and its layers."""

from __future__ import annotations

import altair as alt

from linkwright.plot import BLUE, GREY, ORANGE, SKY_BLUE, inline_chart, rounded
from linkwright.plots.shapes import WIDTH, by_name, parts_of_times
from linkwright.runs.training.run import TrainingRun
from linkwright.runs.training.sheets import PASSES

__all__ = ["layer_times", "scaling_lines", "step_parts"]

PARTS = {
    "computing": BLUE,
    "exposed communication": ORANGE,
    "framework": SKY_BLUE,
    "idle": GREY,
}


def step_parts(run: TrainingRun) -> alt.Chart:
    """Shows the parts of a step's time, by each way to communicate."""
    times = {}
    for step in run.steps:
        parts = step.parts
        spent = parts.computing, parts.exposed, parts.framework, parts.idle
        times[step.communication] = dict(zip(PARTS, spent, strict=True))
    title = "What a step's time goes into"
    subtitle = "Means over the GPUs."
    return parts_of_times(times, "communication", PARTS, title=title, subtitle=subtitle)


def scaling_lines(run: TrainingRun) -> alt.Chart:
    """Draws the speed-up over one GPU, by GPUs; one line for each way and kind."""
    rows = [
        {
            "GPUs": row.gpus,
            "speed-up": rounded(row.speed_up),
            "communication": row.communication,
            "scaling": row.kind,
        }
        for row in run.scaling
    ]
    names = list(dict.fromkeys(row.communication for row in run.scaling))
    chart: alt.Chart = (
        inline_chart(rows, "Speed-up by GPUs", "Samples a second over those of one GPU.")
        .mark_line(point=True)
        .encode(
            x=alt.X("GPUs:Q", scale=alt.Scale(type="log", base=2)),
            y=alt.Y("speed-up:Q", scale=alt.Scale(type="log", base=2)),
            color=by_name("communication", names),
            strokeDash=alt.StrokeDash("scaling:N", title=None),
            tooltip=["communication:N", "scaling:N", "GPUs:Q", "speed-up:Q"],
        )
        .properties(width=WIDTH)
    )
    return chart


def layer_times(run: TrainingRun) -> alt.Chart:
    """How long each layer takes on the first model of GPU, in the order of the network."""
    [model, *_] = run.best.step.models
    rows = [
        {
            "layer": row["name"],
            "place": place,
            "part": part,
            "microseconds": rounded(row[part] * 1e6),
        }
        for place, row in enumerate(run.best.step.layers(model))
        for part in PASSES
    ]
    chart: alt.Chart = (
        inline_chart(rows, "Time of each layer", f"On {model}, in the order of the network.")
        .mark_bar()
        .encode(
            x=alt.X("place:O", title=None, axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("microseconds:Q", title="time (µs)"),
            color=by_name("part", PASSES),
            tooltip=["layer:N", "part:N", "microseconds:Q"],
        )
        .properties(width=WIDTH)
    )
    return chart
