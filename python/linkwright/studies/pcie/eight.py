"""Writes the section on Fig. 3: eight tasks on eight GPUs, published beside predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from linkwright.studies.pcie.charts import by_mix
from linkwright.studies.pcie.contention import (
    BATCH,
    DATA_SHEET,
    DIN,
    RESNET,
    SERVERS,
    TASKS,
    Mix,
    Server,
    Trained,
    bound,
    fitted,
    mean,
    mixes,
    tasks_of,
)
from linkwright.studies.pcie.published import published
from linkwright.studies.pcie.runs import Progress
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["eight_tasks", "faster_resnet", "fit", "resnet_at"]

# Gigabytes per second of each socket's memory: the data sheet's, and much less.
MEMORIES = (DATA_SHEET, 9.6, 4.8, 2.4, 1.2)
# How many times as fast ResNet-50 computes, where more is asked of the links.
SPEEDS = (1.0, 4.0, 8.0, 16.0)

# DeepInterest's share of copying, on each server.
Shares = Mapping[Server, float]


def fit(batch: int = BATCH, progress: Progress | None = None) -> dict[Server, float]:
    """The one number that is fitted, on each server.

    Args:
        batch: Images of a step of ResNet-50.
        progress: Called with the stage, the servers done, and all.
    """
    shares = {}
    for done, server in enumerate(SERVERS, 1):
        shares[server] = fitted(server.system(), batch)
        if progress is not None:
            progress("DeepInterest's share of copying", done, len(SERVERS))
    return shares


def eight_tasks(shares: Shares, batch: int = BATCH) -> Section:
    """Shows the nine mixes on each server.

    Args:
        shares: DeepInterest's share of copying, on each server.
        batch: Images of a step of ResNet-50.
    """
    tasks: dict[Server, tuple[Trained, Trained]] = {}
    found: dict[Server, list[Mix]] = {}
    for server, share in shares.items():
        on = server.system()
        tasks[server] = tasks_of(on, batch, share)
        found[server] = mixes(on, tasks[server])
    memories = _memories(shares[SERVERS[0]], batch)
    kinds = (("ResNet-50", RESNET), ("DeepInterest", DIN))
    lines = [
        {"mix": _name(mix), "task": f"{task}, {server.name}", "slower": by}
        for server, each in found.items()
        for task, kind in kinds
        for mix in each
        if (by := mix.slower[kind]) is not None
    ]
    return Section(
        title="Eight tasks on eight V100s (Fig. 3)",
        text=[
            "The paper starts from a measurement: eight tasks, each on a GPU of its own, train "
            "ResNet-50 or DeepInterest in all nine mixes, and lose time beside each other. Here "
            f"ResNet-50 computes as in `linkwright train resnet-50 --gpus 1 --batch {batch}` on a "
            "`dgx1-v100` and copies its images first (`--batch` asks for other steps). Of "
            "DeepInterest the paper says nothing, so that the share of its time alone that copies "
            "take is fitted to one point, its mean of "
            f"{published()['contention']['din']} %; all else is predicted. Copies go in turn over "
            "the same bus as above, as flows. Who has which GPU and who starts when is drawn, the "
            "same for each mix. Known error of the flow model: where a mix of the two was played "
            "in packets, too, each task lost the same within one point.",
            _verdict(tasks, found),
            _of_memory(memories),
        ],
        tables=[
            _said(shares, found),
            _every_mix(found),
            _asked(tasks),
            _memory_table(memories),
        ],
        figures={"pcie-mixes": by_mix(lines)},
    )


def _name(mix: Mix) -> str:
    return f"{TASKS - mix.din} + {mix.din}"


def _verdict(
    tasks: Mapping[Server, tuple[Trained, Trained]], found: Mapping[Server, Sequence[Mix]]
) -> str:
    ports, root = SERVERS
    said = published()["contention"]
    beside = [found[server][1].slower[DIN] for server in (ports, root)]
    least, most = (f"{by:.1%}" for by in beside if by is not None)
    asked = tasks[ports][RESNET].copying
    limits = [bound(server.sharing * asked) for server in (ports, root)]
    return (
        "**Shared links alone do not give the published picture.** That DeepInterest is the more "
        "sensitive of the two comes out in every mix. But ResNet-50 copies in "
        f"{asked:.1%} of its time, so that beside seven of it DeepInterest loses {least} to {most} "
        f"here, and more than {said['din_beside_seven']:g} % there; even a task that does nothing "
        f"but copy could not lose more than {limits[0]:.1%} with a link for each two GPUs, or "
        f"{limits[1]:.1%} if one link led to all eight. In this model DeepInterest suffers from "
        "other DeepInterests, the more of them there are; as published it loses as much beside "
        "ResNet-50s."
    )


def _memories(share: float, batch: int) -> dict[float, tuple[float, Mix]]:
    """Plays seven ResNet-50s beside one DeepInterest, by the memory of each socket."""
    found = {}
    for memory in MEMORIES:
        on = replace(SERVERS[0], memory=memory).system()
        tasks = tasks_of(on, batch, share)
        found[memory] = tasks[RESNET].copying, mixes(on, tasks, [1])[0]
    return found


def _of_memory(found: Mapping[float, tuple[float, Mix]]) -> str:
    said = published()["contention"]["din_beside_seven"] / 100
    beside = {memory: mix.slower[DIN] or 0.0 for memory, (_, mix) in found.items()}
    enough = max(memory for memory, by in beside.items() if by > said)
    return (
        "**The host's memory does not explain it either.** It is a channel that copies "
        f"share. A socket's carries {DATA_SHEET:g} GB/s by the data sheet of its CPU. With it "
        f"DeepInterest loses {beside[DATA_SHEET]:.1%} beside seven ResNet-50s, as with "
        "links alone. Four GPUs on two links of PCIe 3 ask for a third of it at most. For "
        f"the published loss a socket would have to copy from memory at {enough:g} GB/s, a "
        f"{_ordinal(DATA_SHEET / enough)} of that. So neither PCIe, which the paper blames, nor "
        "memory holds the tasks up by what they copy. The rest of what a host does for training, "
        "such as decoding images on cores that share caches and memory, is not modelled."
    )


def _ordinal(times: float) -> str:
    return f"{round(times)}th"


def _memory_table(found: Mapping[float, tuple[float, Mix]]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = [
        (memory, copying, mix.slower[DIN], mix.slower[RESNET])
        for memory, (copying, mix) in found.items()
    ]
    return StudyTable(
        title="Slower than alone, by what each socket's memory carries",
        columns=(
            "memory (GB/s)",
            "ResNet-50 copies",
            "DeepInterest beside seven",
            "seven ResNet-50s beside one",
        ),
        rows=tuple(rows),
        formats=("g", ".1%", ".1%", ".1%"),
        note=(
            f"A port for each switch. {DATA_SHEET:g} GB/s are the data sheet's; DeepInterest "
            "copies for the same share of its time alone in each row."
        ),
    )


def _said(shares: Shares, found: Mapping[Server, Sequence[Mix]]) -> StudyTable:
    said = published()["contention"]

    def row(what: str, value: str, each: Sequence[float | None]) -> tuple[Cell, ...]:
        return (what, value, *each)

    all_mixes = [found[server] for server in SERVERS]
    rows = [
        row("DeepInterest copies, of its time alone", "", [shares[server] for server in SERVERS]),
        row(
            "DeepInterest, mean of its mixes (fitted)",
            f"{said['din']} %",
            [mean(each, DIN) for each in all_mixes],
        ),
        row(
            "DeepInterest beside seven ResNet-50s",
            f"over {said['din_beside_seven']:g} %",
            [each[1].slower[DIN] for each in all_mixes],
        ),
        row(
            "seven ResNet-50s beside one DeepInterest",
            f"about {said['resnet']:g} %",
            [each[1].slower[RESNET] for each in all_mixes],
        ),
        row(
            "ResNet-50, mean of its mixes",
            f"about {said['resnet']:g} %",
            [mean(each, RESNET) for each in all_mixes],
        ),
    ]
    return StudyTable(
        title="Slower than alone, published and predicted",
        columns=("", "published", *(server.name for server in SERVERS)),
        rows=tuple(rows),
        formats=("", "", *(".1%",) * len(SERVERS)),
    )


def _every_mix(found: Mapping[Server, Sequence[Mix]]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for each in zip(*(found[server] for server in SERVERS), strict=True):
        cells = [by for mix in each for by in mix.slower]
        rows.append((_name(each[0]), *cells))
    heads = [
        f"{task}, {server.name}" for server in SERVERS for task in ("ResNet-50", "DeepInterest")
    ]
    return StudyTable(
        title="Slower than alone in each mix",
        columns=("ResNet-50 + DeepInterest", *heads),
        rows=tuple(rows),
        formats=("", *(".1%",) * len(heads)),
        note=(
            "Iterations of DeepInterest are taken to be as long alone as ResNet-50's. If "
            "they take a tenth of that, and copy for the same share of it, no number moves by more "
            "than 3 percentage points."
        ),
    )


def _asked(tasks: Mapping[Server, tuple[Trained, Trained]]) -> StudyTable:
    least = published()["contention"]["din_beside_seven"] / 100
    rows: list[tuple[Cell, ...]] = []
    for server in SERVERS:
        asked = tasks[server][RESNET].copying
        others = server.sharing * asked
        # From this share, `bound` gives back the published loss.
        needed = least / (1.0 + least) / server.sharing
        rows.append((server.name, asked, server.sharing, others, bound(others), needed))
    return StudyTable(
        title="The load of ResNet-50s on a link, and its cost for others at most",
        columns=(
            "",
            "one asks",
            "others on a link",
            "all of them ask",
            "slower by at most",
            f"one would have to ask, for {least:.0%}",
        ),
        rows=tuple(rows),
        formats=("", ".1%", "", ".1%", ".1%", ".1%"),
    )


def resnet_at(server: Server, speed: float, share: float, batch: int = BATCH) -> tuple[Cell, ...]:
    """Returns the losses of both kinds if ResNet-50 computes faster, and so asks for more.

    Args:
        server: The server that the tasks share.
        speed: How many times as fast it computes.
        share: DeepInterest's share of copying.
        batch: Images of a step of ResNet-50.
    """
    on = server.system()
    tasks = tasks_of(on, batch, share, speed=speed)
    found = mixes(on, tasks)
    beside = found[1].slower[DIN]
    alike = mean(found, RESNET), mean(found, DIN)
    return (server.name, speed, tasks[RESNET].copying, share, *alike, beside)


def faster_resnet(batch: int = BATCH, progress: Progress | None = None) -> Section:
    """Whether more that ResNet-50 asks for would give the published picture.

    Args:
        batch: Images of a step of ResNet-50.
        progress: Called with the stage, the servers and speeds done, and all.
    """
    said = published()["contention"]
    cases = [(server, speed) for server in SERVERS for speed in SPEEDS]
    rows: list[tuple[Cell, ...]] = []
    for done, (server, speed) in enumerate(cases, 1):
        share = fitted(server.system(), batch, speed)
        rows.append(resnet_at(server, speed, share, batch))
        if progress is not None:
            progress("a faster ResNet-50", done, len(cases))
    return Section(
        title="If ResNet-50s asked for more",
        text=[
            "Frameworks differ, numbers of 16 bits are faster, and the paper names neither. With "
            "ResNet-50 computing up to sixteen times as fast, and DeepInterest's share fitted to "
            "its mean once more, no row has both of what was published: where ResNet-50 loses "
            f"about {said['resnet']:g} %, DeepInterest beside seven of it loses less than "
            f"{said['din_beside_seven']:g} %, and where that loses more, so does ResNet-50."
        ],
        tables=[
            StudyTable(
                title="Slower than alone, if ResNet-50 computes faster",
                columns=(
                    "",
                    "times as fast",
                    "ResNet-50 asks of a link",
                    "DeepInterest copies",
                    "ResNet-50, mean",
                    "DeepInterest, mean (fitted)",
                    "DeepInterest beside seven",
                ),
                rows=tuple(rows),
                formats=("", "g", *(".1%",) * 5),
            )
        ],
    )
