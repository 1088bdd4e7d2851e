"""Shows how switches of the controller and the caches change the study, alone and together."""

from __future__ import annotations

from collections.abc import Callable

from linkwright.studies.memory.measured import Measured, mean
from linkwright.studies.memory.settings import ABLATION, BASE, LOCAL
from linkwright.studies.memory.statements import verdicts
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["ablation"]

_NAMES = {
    BASE: "as in the tables",
    "evictions locks": "write-backs that wait",
    "tracker locks": "tracker, merging under SC",
    "tracker merging locks": "tracker, merging everywhere",
    "leases locks": "valid leases spared",
    "": "no locks",
    "evictions tracker leases locks": "all together, as the GPU's file has them",
}


def ablation(measured: Measured) -> Section | None:
    """Writes the section on the switches; None if no variant was run."""
    variants = [BASE, *(each for each in ABLATION if _was_run(measured, each))]
    if variants == [BASE]:
        return None
    views = {each: Measured(measured.all.items(), each) for each in variants}
    before = verdicts(views[BASE])
    told: list[tuple[Cell, ...]] = []
    for switches in variants:
        after = verdicts(views[switches])
        turned = [name for name in before if before[name] is False and after[name] is True]
        lost = [name for name in before if before[name] is True and after[name] is False]
        told.append(
            (
                _NAMES[switches],
                _told_runs(switches),
                sum(holds is True for holds in after.values()),
                "; ".join(turned),
                "; ".join(lost),
            )
        )
    return Section(
        title="Sections 3.1, 4.2 and 4.4: switches of the controller",
        text=[
            "The text's controller has a request tracker. Its second levels first write back the "
            "line that a miss evicts, and spare lines whose lease is valid. They lock a line from "
            "a write until its answer. The tables above have the locks alone, which the model "
            "always had.",
            "Here are runs with each of the others, and without the locks. The next table names "
            "whose. The nine benchmarks have the sizes that all memory systems ran; Xtreme has 384 "
            "and 768 KB. Statements that need other runs count as above.",
        ],
        tables=[
            StudyTable(
                title="Statements that hold, and that turn",
                columns=("switches", "runs of", "hold", "turn true", "turn false"),
                rows=tuple(told),
            ),
            StudyTable(
                title="What moves",
                columns=("switches", *_MEASURES),
                rows=tuple(
                    (_NAMES[switches], *_moved(views[switches], switches)) for switches in variants
                ),
            ),
        ],
    )


def _moved(view: Measured, switches: str) -> list[str]:
    """Each measure, and blanks where its runs were not repeated."""
    nine, has_xtreme = ((LOCAL,), True) if switches == BASE else ABLATION[switches]
    return [
        of(view) if (has_xtreme if name.startswith("Xtreme") else nine) else ""
        for name, of in _MEASURES.items()
    ]


def _told_runs(switches: str) -> str:
    if switches == BASE:
        return "all"
    systems, has_xtreme = ABLATION[switches]
    return ", ".join((*systems, *(("Xtreme",) if has_xtreme else ())))


def _was_run(measured: Measured, switches: str) -> bool:
    return any(setting.switches == switches for setting in measured.all)


def _change(value: float | None) -> str:
    return "" if value is None else f"{value - 1:+.1%}"


def _latency(measured: Measured, above: str, below: str) -> str:
    return _change(mean(measured.ratios(lambda result: result.l2_latency, above, below)))


def _dram(measured: Measured) -> str:
    found = measured.ratios(lambda result: result.dram, "tsm-wt-c-sc", "tsm-wt-c-rc")
    return _change(mean(found))


def _xtreme(measured: Measured, size: int) -> str:
    plain, coherent = (
        measured.result("xtreme", "xtreme1", memory, size=size)
        for memory in ("tsm-wt-nc-rc", "tsm-wt-c-rc")
    )
    return _change(coherent.time / plain.time) if plain and coherent else ""


def _speedup(measured: Measured, memory: str) -> str:
    found = mean(measured.speedups(memory, "rdma"))
    return "" if found is None else f"{found:.2f}"


_MEASURES: dict[str, Callable[[Measured], str]] = {
    "tsm-wb-nc-rc over rdma": lambda of: _speedup(of, "tsm-wb-nc-rc"),
    "tsm-wt-c-rc over rdma": lambda of: _speedup(of, "tsm-wt-c-rc"),
    "L2 latency, WT against WB": lambda of: _latency(of, "tsm-wt-nc-rc", "tsm-wb-nc-rc"),
    "L2 latency, SC against RC": lambda of: _latency(of, "tsm-wt-c-sc", "tsm-wt-c-rc"),
    "DRAM, SC against RC": _dram,
    "Xtreme1 of 768 KB, RC": lambda of: _xtreme(of, 768),
}
