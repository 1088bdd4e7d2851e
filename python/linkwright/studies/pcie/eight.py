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
            "The paper starts from a measurement. Eight tasks, each on a GPU of its own, train "
            "ResNet-50 or DeepInterest in all nine mixes, and lose time beside each other. Here "
            f"ResNet-50 computes as in `linkwright train resnet-50 --gpus 1 --batch {batch}` on a "
            "`dgx1-v100` and copies its images first (`--set batch` asks for other steps). The "
            "paper says nothing of DeepInterest. So the share of copies in its time alone is "
            f"fitted to one point, its mean of {published()['contention']['din']} %. All else is "
            "predicted. Copies go in turn over the same bus as above, as flows. The GPU and the "
            "start of each task are drawn, the same for each mix. The error of the flow model is "
            "known. We played mixes of the two in packets, too, and each task lost the same "
            "within one point.",
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
        "**Shared links alone do not give the published picture.** DeepInterest is the more "
        f"sensitive of the two in every mix. But ResNet-50 copies in {asked:.1%} of its time. So "
        f"beside seven of it DeepInterest loses {least} to {most} here, and more than "
        f"{said['din_beside_seven']:g} % there. Even a task that only copies could not lose more "
        f"than {limits[0]:.1%} with a link for each two GPUs. With one link to all eight it could "
        f"lose {limits[1]:.1%}. In this model DeepInterest suffers from other DeepInterests, and "
        "more with each one. As published it loses as much beside ResNet-50s."
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
        "**The host's memory does not explain it either.** It is a channel that copies share. A "
        f"socket's carries {DATA_SHEET:g} GB/s by the data sheet of its CPU. With it DeepInterest "
        f"loses {beside[DATA_SHEET]:.1%} beside seven ResNet-50s, as with links alone. Four GPUs "
        "on two links of PCIe 3 ask for a third of it at most. For the published loss a socket "
        f"would have to copy from memory at {enough:g} GB/s, a {_ordinal(DATA_SHEET / enough)} of "
        "that. So copies hold the tasks up neither on PCIe, which the paper blames, nor in "
        "memory. The host's other work for training, such as decoding images on cores that share "
        "caches and memory, is not modelled."
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
            "We take an iteration of DeepInterest to be as long alone as one of ResNet-50. If it "
            "takes a tenth of that, and copies for the same share, no number moves by more than 3 "
            "percentage points."
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
            "Frameworks differ, numbers of 16 bits are faster, and the paper names neither. In "
            "this table ResNet-50 computes up to sixteen times as fast, and DeepInterest's share "
            "is fitted to its mean once more. No row has both published losses. Where ResNet-50 "
            f"loses about {said['resnet']:g} %, DeepInterest beside seven of it loses less than "
            f"{said['din_beside_seven']:g} %. Where DeepInterest loses more, so does ResNet-50."
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
