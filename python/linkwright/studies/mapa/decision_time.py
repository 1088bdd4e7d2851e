"""Fig. 19: how long one decision takes on an idle machine, beside other programs.

Wall-clock times differ from run to run and from computer to computer. So nothing here enters the
files of a study that must be the same each time.
"""

from __future__ import annotations

from linkwright import Allocator, Pattern, System
from linkwright.studies.mapa.charts import DecisionTime, decision_times
from linkwright.studies.mapa.mix import Progress
from linkwright.studies.mapa.published import published
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["decision_time"]

MACHINES = ("summit-node", "dgx1-v100", "torus2d-16", "cubemesh-16")


def decision_time(repeats: int, progress: Progress | None = None) -> Section:
    """Writes the section on Fig. 19: preserve, a sensitive job with a ring, the published model."""
    points: list[DecisionTime] = []
    for done, name in enumerate(MACHINES, start=1):
        machine = System(name)
        allocator = Allocator(machine, "preserve", bandwidth_model="published", ties="published")
        for size in range(1, machine.gpu_count + 1):
            seconds = allocator.measure_decision(Pattern("ring", size), repeats=repeats)
            points.append(DecisionTime(name, size, seconds))
        if progress is not None:
            progress("decision times", done, len(MACHINES))
    return Section(
        title="Fig. 19: time of a decision",
        text=[
            "The table has one decision of `preserve` for a sensitive job on an idle machine, "
            f"which is the worst case. The numbers are the minimum of {repeats}, on the computer "
            "that ran the study.",
        ],
        tables=[_time_table(points), _comparison_table(points)],
        figures={"decision-time": decision_times(points)},
    )


def _time_table(points: list[DecisionTime]) -> StudyTable:
    seconds = {(point.machine, point.gpus): point.seconds for point in points}
    sizes = sorted({point.gpus for point in points})
    rows: list[tuple[Cell, ...]] = []
    for size in sizes:
        times = (seconds.get((machine, size)) for machine in MACHINES)
        rows.append((size, *(None if time is None else time * 1e6 for time in times)))
    return StudyTable(
        title="Time of one decision",
        columns=("GPUs of the job", *(f"{machine} (µs)" for machine in MACHINES)),
        rows=tuple(rows),
        formats=("", *("#.3g",) * len(MACHINES)),
    )


def _comparison_table(points: list[DecisionTime]) -> StudyTable:
    entry = published()["overhead"]
    slowest = max(points, key=lambda point: point.seconds)
    typical = sum(point.seconds <= entry["typical_at_most"] for point in points)
    rows: list[tuple[Cell, ...]] = [
        ("the paper, Section 5.4", "6 to 16 GPUs", "any", "milliseconds, typically"),
    ]
    rows += [
        (each["program"], each["machine"], each["gpus"], f"{each['seconds']} s")
        for each in entry["measured"]
    ]
    rows.append(
        (
            "Linkwright, slowest of all above",
            slowest.machine,
            str(slowest.gpus),
            f"{slowest.seconds * 1e3:.3g} ms",
        )
    )
    return StudyTable(
        title="Beside other programs",
        columns=("program", "machine", "GPUs of the job", "one decision"),
        rows=tuple(rows),
        note=(
            f"{typical} of {len(points)} decisions take at most "
            f"{entry['typical_at_most'] * 1e3:.0f} ms. Rings on machines of up to 16 GPUs are "
            "looked up in tables that are made once per machine. The time to make them is not in "
            "these numbers. Others measured the other programs' times, on machines that they do "
            "not state."
        ),
    )
