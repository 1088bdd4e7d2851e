"""Draws published times against ours."""

from __future__ import annotations

import altair as alt

from linkwright.plot import BLUE, GREY, ORANGE, inline_chart, rounded
from linkwright.studies.training.epochs import PARTS, Found
from linkwright.studies.training.halves import CALIBRATED, HELD_BACK, half

__all__ = ["published_against_ours"]

WIDTH = 420


def published_against_ours(found: Found) -> alt.LayerChart:
    """Every time of Tables 2.4 to 2.6, ours above what was published; on the line both agree."""
    rows = [
        {
            "published": rounded(getattr(row, part)),
            "ours": rounded(getattr(ours, part)),
            "half": half(row),
            "what": name,
            "row": f"{row.table}: {row.dataset}, {row.network}, {row.system}, {row.gpus} GPUs",
        }
        for row, ours in found.items()
        for part, name in PARTS.items()
        if getattr(row, part) is not None
    ]
    published = [float(str(row["published"])) for row in rows]
    ends = [min(published), max(published)]
    scale = alt.Scale(type="log")
    line = (
        inline_chart([{"published": end, "ours": end} for end in ends])
        .mark_line(color=GREY)
        .encode(x=alt.X("published:Q", scale=scale), y=alt.Y("ours:Q", scale=scale))
    )
    points = (
        inline_chart(rows, "Times of an epoch", "Tables 2.4 to 2.6; on the line both agree.")
        .mark_point(filled=True)
        .encode(
            x=alt.X("published:Q", scale=scale, title="published (s)"),
            y=alt.Y("ours:Q", scale=scale, title="ours (s)"),
            color=alt.Color(
                "half:N",
                title=None,
                scale=alt.Scale(domain=[CALIBRATED, HELD_BACK], range=[BLUE, ORANGE]),
            ),
            shape=alt.Shape("what:N", title=None),
            tooltip=["row:N", "what:N", "published:Q", "ours:Q"],
        )
    )
    chart = alt.LayerChart(layer=[line, points])
    return chart.properties(width=WIDTH, height=WIDTH)
