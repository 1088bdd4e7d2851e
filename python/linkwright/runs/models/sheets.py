"""The tables of a model's training, as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from linkwright.runs.run import Sheet
from linkwright.texts import data, duration, energy, percent, ranges, span

if TYPE_CHECKING:
    from linkwright.runs.models.run import ModelRun

__all__ = ["checkpoints", "exchanges", "groups", "layouts", "memory", "step", "tensors"]

# Says what a GPU's memory is for, by the heads of columns, in the order in which it is summed.
PARTS = {
    "weights": "weights",
    "gradients": "gradients",
    "state": "optimizer",
    "activations": "activations",
    "passing": "passing",
    "buffers": "collectives",
    "total": "total",
    "gaps": "reserve",
    "reserved": "reserved",
}
# How many ranks of a group are printed.
PRINTED = 8

NOTE = (
    "GiB of each GPU. State is the optimizer's, with master copies. A block's backward pass or the "
    "loss needs passing memory. Buffers are those of collectives, with gathered weights. Total is "
    "what tensors take (PyTorch's max_memory_allocated), reserved what the "
    "allocator holds, gaps and all (max_memory_reserved)."
)

LAYOUTS_NOTE = (
    "Micro counts samples of a micro-batch. GiB are what the allocator holds on the GPU that needs "
    "the most. At last comes what takes the most of a step beside computing, with its share."
)
STEP_NOTE = (
    "Of the stage that computes longest. An exchange's part is the time that the step would save "
    "without it, one after another in this order. Time that computing hides is in none. "
    "Nine of ten measured steps lie between {low} and {high}."
)


def groups(run: ModelRun) -> list[Sheet]:
    """Who exchanges data with whom; nothing where every GPU is alone."""
    rows = [
        [
            row["group"],
            row["moves"],
            f"{row['groups']:,} of {row['size']:,}",
            _some(row["first"]),
            _where(row),
        ]
        for row in run.groups
    ]
    heads = ["groups", "exchange", "how many", "first ranks", "lie"]
    return [Sheet(heads, rows, heads)] if rows else []


def layouts(run: ModelRun) -> list[Sheet]:
    """The best layouts of a search, and why the second is slower; nothing without a search."""
    searched = run.searched
    if searched is None:
        return []
    rows = []
    for found in searched.first:
        lost, share = found.lost
        training = found.training
        rows.append(
            [
                training.layout,
                str(training.micro_batch),
                str(training.zero),
                training.recompute,
                duration(found.time),
                f"{found.reserved / 2**30:.2f}",
                f"{lost} {percent(share)}" if lost else "",
            ]
        )
    heads = ["layout", "micro", "zero", "recompute", "step", "GiB", "lost most to"]
    title = (
        f"Of {searched.sound:,} sound layouts {searched.fitting:,} fit, {searched.looked_at:,} "
        f"may win, and {searched.played:,} were played."
    )
    if searched.within > 0:
        title += f" No other is faster by more than {percent(searched.within)}."
    words = [*heads[:1], *heads[3:4], *heads[6:]]
    sheet = Sheet(heads, rows, words, title=title, note=LAYOUTS_NOTE)
    return [sheet, *_explanation(run)] if run.explained else [sheet]


def _explanation(run: ModelRun) -> list[Sheet]:
    searched = run.searched
    other = None if searched is None else searched.second
    if searched is None or other is None:
        return []
    one = searched.best
    rows = [
        [
            row["part"],
            duration(row["first"]),
            duration(row["second"]),
            _signed(row["more"]),
        ]
        for row in searched.explanation()
    ]
    whole = [duration(one.time), duration(other.time), _signed(other.time - one.time)]
    heads = ["a step's time", "first", "second", "more"]
    title = f"Why {other.training.layout} is slower than {one.training.layout}"
    return [Sheet(heads, [*rows, ["all", *whole]], heads[:1], title=title)]


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{duration(abs(seconds))}" if abs(seconds) >= 1e-9 else "0"


def memory(run: ModelRun, title: str = "") -> Sheet:
    """Gives a line for each stage."""
    is_staged = len(run.memory) > 1
    heads = ["stage (layers)", *(["in flight"] if is_staged else []), *PARTS]
    rows = [
        [
            f"{row['stage']} ({row['layers']})",
            *([str(row["in_flight"])] if is_staged else []),
            *(f"{row[part] / 2**30:.2f}" for part in PARTS.values()),
        ]
        for row in run.memory
    ]
    return Sheet(heads, rows, heads[:1], title=title, note=NOTE)


def tensors(run: ModelRun) -> Sheet:
    """Gives a line for each tensor that a block makes for its backward pass."""
    heads = ["tensor", "of blocks", "kept", "size"]
    rows = [
        [
            row["tensor"],
            f"{row['blocks']} {row['kind']}",
            "yes" if row["kept"] else "computed again",
            data(row["bytes"]),
        ]
        for row in run.training.tensors()
    ]
    note = "On one GPU, of one micro-batch."
    return Sheet(heads, rows, heads[:3], note=note)


def step(run: ModelRun) -> list[Sheet]:
    """Gives the parts of a step's time; nothing where it is not timed."""
    timed = run.timed
    if timed is None:
        return []
    rows = [
        [row["part"], duration(row["time"]), percent(row["time"] / timed.time)]
        for row in timed.parts
    ]
    if run.measured_step is not None and run.unexplained is not None:
        last = {
            "predicted": timed.time,
            "unexplained": run.unexplained,
            "measured": run.measured_step,
        }
        rows += [[name, _told(time), percent(time / timed.time)] for name, time in last.items()]
    heads = ["a step's time", "takes", "share"]
    low, high = map(duration, timed.interval)
    note, whole = STEP_NOTE.format(low=low, high=high), timed.energy.whole
    if whole is not None:
        tokens = run.training.batch * run.model.tokens
        note += f" The GPUs take {energy(whole)} a step, {energy(whole / tokens)} a token."
    return [Sheet(heads, rows, heads[:1], note=note)]


def checkpoints(run: ModelRun) -> list[Sheet]:
    """Checkpoints and restarts take a share of all time; nothing where failures are not said."""
    kept = run.checkpoints
    if kept is None:
        return []
    rows = [
        ["a failure", f"every {span(kept.failures_every)}"],
        ["a checkpoint", f"every {span(kept.every)}, {span(kept.time)}"],
        ["a restart", span(kept.restart)],
        ["lost", percent(kept.lost)],
    ]
    if run.tokens_per_second is not None:
        rows.append(
            ["tokens a second on each GPU", f"{run.tokens_per_second * (1 - kept.lost):,.0f}"]
        )
    heads = ["checkpoints and restarts", "takes"]
    note = f"A checkpoint every {span(kept.best)} loses least (Daly, 2006)."
    return [Sheet(heads, rows, heads, note=note)]


def exchanges(run: ModelRun) -> list[Sheet]:
    """Gives a line for each kind of exchange of a stage; nothing where none is timed."""
    if run.timed is None:
        return []
    heads = ["exchange", "stage", "collective", "a rank gives", "calls", "one takes"]
    rows = [
        [
            row["group"],
            str(row["stage"]),
            row["collective"],
            data(row["size"]),
            f"{row['calls']:,}",
            duration(row["time"]),
        ]
        for row in run.timed.step.exchanges()
    ]
    return [Sheet(heads, rows, [*heads[:1], heads[2]])] if rows else []


def _told(seconds: float) -> str:
    """A time that may be less than nothing."""
    return f"-{duration(-seconds)}" if seconds < 0 else duration(seconds)


def _some(ranks: list[int]) -> str:
    """The first ranks, with their distance where they are many."""
    if len(ranks) <= PRINTED:
        return ranges(ranks)
    return f"{ranges(ranks[: PRINTED // 2])}, ..., {ranks[-1]}"


def _where(row: Mapping[str, Any]) -> str:
    least, most = row["servers_least"], row["servers_most"]
    if most == 1:
        return "within a server"
    return f"across {most:,} servers" if least == most else f"across {least:,} to {most:,} servers"
