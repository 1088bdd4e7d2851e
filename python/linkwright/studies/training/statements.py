"""Checks the statements of chapter 2 in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.training import shared, volta
from linkwright.studies.training.constants import constants
from linkwright.studies.training.epochs import Found
from linkwright.studies.training.predicted import Predicted, predict
from linkwright.studies.training.published import Epoch, contradictions, memory, published, rows
from linkwright.studies.training.workloads import WORKLOADS, loaded
from linkwright.training import training_terms

__all__ = ["against_itself", "statements", "weights"]


class Row(NamedTuple):
    """A statement, as it is published, as it comes out, and whether it holds."""

    what: str
    published: str
    ours: str
    holds: str


def statements(found: Found, networks: tuple[str, ...], batches: tuple[int, ...]) -> Section:
    """All statements that the networks and batches can tell."""
    table = [
        *_first_systems(found),
        *_saturation(),
        *_by_copies(networks, batches),
        *_by_nccl(networks, batches),
        *_stages(networks, batches),
        *_sharing(),
    ]
    holding = sum(row.holds == "yes" for row in table)
    return Section(
        title="What the text says",
        text=[
            f"{holding} of {len(table)} statements hold. A number holds within a quarter of the "
            "published one; an order or a limit holds as the text says it.",
        ],
        reasons=[
            "**Small kernels.** The MLP computes almost as long on a P100 as on a K20c. Here a "
            "kernel's least time is one number for all GPUs. On real GPUs it falls with the "
            "clock. For the same reason its computing has not saturated at batch 128.",
            "**Copies hide too well.** Here copies go while the backward pass computes, and the "
            "large networks scale almost linearly. MXNet's engine hides less, so its 2 GPUs stay "
            "below 1.8 and NCCL, which hides more, gets ahead. As in MXNet's source, NCCL is "
            "called for 16 arrays at a time. LeNet and AlexNet have no more, so they hide "
            "nothing. NCCL still scales far worse there (2.77 on 8 GPUs) than its rings on NVLink "
            "do here. That loss is not in the links, and no number of the text tells where it is.",
            "**True shared memory.** Its prototype moves as much over the same links as copies "
            "do, and starts fewer of them. That is worth up to a quarter here, not a factor of "
            "two to four. The section on ways to share memory tries three causes, each alone. The "
            "host's time for a copy comes near on MNIST on the two older systems, as the other "
            "two do. Faults of pages come near on ImageNet.",
            "**AlexNet on eight GPUs.** With fast convolutions the difference between its epochs "
            "remains. At batch 32 the text's grow again from four P100s to eight, from 10.1 to "
            "13.7 s. Ours do not (8.5 to 8.3 s). Nor do fast convolutions turn the order of "
            "copies and NCCL of Fig. 2-4.",
            "**Weak scaling.** It gains because a run's start is spread over more images. The "
            "start's length follows from Table 2.9, and nothing from the figure. On 8 GPUs it is "
            "too long for GoogLeNet, whose epochs are short.",
        ],
        tables=[
            StudyTable(
                title="Statements, published and ours",
                columns=("", "published", "ours", "holds"),
                rows=tuple(table),
            )
        ],
    )


def _near(what: str, said: float, ours: float, unit: str = "") -> Row:
    holds = abs(ours / said - 1) <= 0.25
    return Row(what, f"{said:.3g}{unit}", f"{ours:.3g}{unit}", "yes" if holds else "no")


def _said(what: str, said: str, ours: str, holds: bool) -> Row:
    return Row(what, said, ours, "yes" if holds else "no")


def _row(found: Found, network: str, system: str, gpus: int = 2) -> Predicted:
    for row, ours in found.items():
        what = row.table, row.dataset, row.network, row.system, row.gpus
        if what == ("2.4", "MNIST", network, system, gpus):
            return ours
    raise KeyError(network)


def _first_systems(found: Found) -> Iterator[Row]:
    for row in rows("fig_2_2"):
        part = "computing" if row["time"] == "computing" else "peer_copies"
        slow, fast = (
            getattr(_row(found, row["network"], system), part)
            for system in (row["over"], row["system"])
        )
        what = f"Fig. 2-2: {row['network']}, {row['time']}, {row['system']} over {row['over']}"
        yield _near(what, row["ratio"], slow / fast)
    lenet, mlp = _row(found, "LeNet", "dgx1-p100"), _row(found, "MLP", "dgx1-p100")
    said = published()["lenet_over_mlp"]
    yield _near(
        "LeNet's computing over the MLP's, 2 P100",
        said["computing"],
        lenet.computing / mlp.computing,
    )
    yield _near(
        "LeNet's communication over the MLP's, 2 P100",
        said["communication"],
        lenet.communication / mlp.communication,
    )
    shares = {
        row: ours.communication / (ours.communication + ours.computing)
        for row, ours in found.items()
        if row.table == "2.4"
    }
    most = max(shares, key=lambda row: shares[row])
    holds = (most.network, most.dataset, most.system) == ("MLP", "CIFAR-10", "kepler")
    yield _said(
        "most communication in Table 2.4",
        "61 % (CIFAR-10's MLP, kepler, 2 GPUs), where the text has 40.6 %",
        f"{shares[most]:.0%} ({most.dataset}'s {most.network}, {most.system}, {most.gpus} GPUs)",
        holds,
    )


def _saturation() -> Iterator[Row]:
    terms = training_terms()
    for network in ("MLP", "LeNet"):
        times = {}
        for batch in (64, 128, 256):
            row = Epoch("2.4", "MNIST", network, batch, "dgx1-p100", 2, 1.0, 1.0)
            times[batch] = predict(row, terms, constants()).computing
        before, after = times[64] / times[128], times[128] / times[256]
        yield _said(
            f"Fig. 2-2: computing of {network} saturates at batch 128",
            "after it the same",
            f"from 64 to 128 {before:.2f} times as fast, from 128 to 256 {after:.2f}",
            after < before and after < 1.25,
        )


def _by_copies(networks: tuple[str, ...], batches: tuple[int, ...]) -> Iterator[Row]:
    for row in rows("fig_2_4_batch"):
        if {16, row["batch"]} <= set(batches):
            first, ours = (volta.step("LeNet", batch, 4, volta.P2P) for batch in (16, row["batch"]))
            faster = first.time / 16 / (ours.time / row["batch"])
            what = f"Fig. 2-4: LeNet's epoch on 4 GPUs, batch {row['batch']} over 16"
            yield _near(what, row["ratio"], faster)
    most = max(volta.speed_up(each, batch, 2, volta.P2P) for each in networks for batch in batches)
    said = published()["fig_2_4_two"]["at_most"]
    yield _said(
        "Fig. 2-4: speed-up of 2 GPUs by copies", f"{said} at most", f"{most:.2f} at most",
        most <= said * 1.02,
    )  # fmt: skip


def _by_nccl(networks: tuple[str, ...], batches: tuple[int, ...]) -> Iterator[Row]:
    entry = published()["fig_2_4_nccl"]
    for names, gpus, wanted, way in (
        (entry["p2p_ahead"], (2, 4, 8), False, "copies are ahead of NCCL"),
        (entry["nccl_ahead"], (4, 8), True, "NCCL is ahead of copies"),
    ):
        for network in names:
            if network not in networks:
                continue
            found = [
                volta.step(network, batch, count, volta.P2P).time
                / volta.step(network, batch, count, volta.NCCL).time
                for batch in batches
                for count in gpus
            ]
            held = sum((ratio > 1) == wanted for ratio in found)
            yield _said(
                f"Fig. 2-4: {way} for {network}",
                f"at every batch on {', '.join(map(str, gpus))} GPUs",
                f"in {held} of {len(found)}; NCCL ahead by {min(found):.2f} to {max(found):.2f}",
                held == len(found),
            )


def _update(network: str, gpus: int) -> float:
    """Returns the seconds of a step's update with NCCL that no computation hides."""
    played = volta.step(network, 16, gpus, volta.NCCL)
    [model] = played.step.models
    forward, backward, _ = played.step.computing(model)
    return played.time - played.parts.framework - forward - backward


def _stages(networks: tuple[str, ...], batches: tuple[int, ...]) -> Iterator[Row]:
    said = published()["fig_2_5"]
    scales = {}
    for network in networks:
        # An epoch has a quarter of the steps on four times the GPUs.
        scales[network] = 4 * _update(network, 2) / _update(network, 8)
    linear = [network for network, scale in scales.items() if scale > 4 * 0.85]
    yield _said(
        "Fig. 2-5: the update scales linearly from 2 to 8 GPUs",
        f"only for {', '.join(said['update_linear'])}",
        ", ".join(f"{network} {scale:.2f} of 4" for network, scale in scales.items()),
        linear == said["update_linear"],
    )
    ordered = [network for network in said["update_order"] if network in scales]
    if len(ordered) > 1:
        ours = sorted(ordered, key=lambda network: scales[network])
        yield _said(
            "Fig. 2-5: order of that scaling, worst first",
            ", ".join(ordered),
            ", ".join(ours),
            ours == ordered,
        )
    yield from _weak(networks, batches)


def _weak(networks: tuple[str, ...], batches: tuple[int, ...]) -> Iterator[Row]:
    said = published()["fig_2_6"]
    limit = said["large_below"]
    for network in (each for each in said["large"] if each in networks):
        found = [
            volta.weak_beyond_strong(network, batch, gpus)
            for batch in batches
            for gpus in (2, 4, 8)
        ]
        ours = f"{min(found):.0%} to {max(found):.0%}"
        what = f"Fig. 2-6: weak scaling of {network} beyond strong, with NCCL"
        yield _said(what, f"less than {limit:.0%}", ours, max(found) < limit)


def _sharing() -> Iterator[Row]:
    for row in rows("fig_2_8"):
        what = f"Fig. 2-8: true shared memory over copies, {row['dataset']}, {row['system']}"
        yield _near(
            what, row["ratio"], shared.speed(row["dataset"], row["system"], "shared-memory")
        )
    for way, name in (("zero-copy", "zero-copy"), ("unified-memory", "unified memory")):
        ahead = [
            f"{dataset} on {system} ({ratio:.2f})"
            for system in shared.SYSTEMS
            for dataset in shared.DATASETS
            if (ratio := shared.speed(dataset, system, way)) > 1
        ]
        yield _said(
            f"Fig. 2-8: {name} is never ahead of copies", "never", ", ".join(ahead) or "never",
            not ahead,
        )  # fmt: skip
    worst = min(
        shared.SYSTEMS, key=lambda system: shared.speed("ImageNet", system, "unified-memory")
    )
    yield _said(
        "Fig. 2-8: unified memory is worst on ImageNet's workload", "dgx1-p100", worst,
        worst == "dgx1-p100",
    )  # fmt: skip


def weights() -> Section:
    """Which networks Table 2.10 is of, by the gradients that GPU 0 holds for the others."""
    table: list[tuple[Cell, ...]] = []
    for network in volta.NETWORKS:
        surplus = [row.first - row.others for row in memory() if row.network == network]
        if network == "ResNet":
            # Of batch 32 the others' number contradicts the row's own percentage.
            surplus = [surplus[0], surplus[2]]
        dataset = "ImageNet-299" if network in volta.LARGE else "ImageNet"
        ours = loaded(dataset, network)
        said = next(row["weights"] for row in rows("table_2_7") if row["network"] == network)
        middle = sorted(surplus)[len(surplus) // 2]
        table.append(
            (network, said / 1e6, middle / 3 / 4 * 1e3, ours.parameters / 1e6,
             WORKLOADS[dataset, network].network)
        )  # fmt: skip
    return Section(
        title="Which networks these are (Tables 2.7 and 2.10)",
        text=[
            "GPU 0 of four has room for the other three's gradients, and so has more memory than "
            "they have in Table 2.10. A third of the surplus, at four bytes a weight, tells how "
            "large the networks were. Table 2.7 contradicts that. LeNet had 70 and not 0.06 "
            "million weights, as its first fully connected layer sees 53 x 53 points of 50 "
            "channels. That is for a picture of 224 x 224. ResNet had the 26 million of 50 "
            "layers, not 55."
        ],
        tables=[
            StudyTable(
                title="Millions of weights",
                columns=("network", "Table 2.7", "by GPU 0's surplus", "ours", "taken as"),
                rows=tuple(table),
                formats=("", ".2f", ".1f", ".1f", ""),
            )
        ],
    )


def against_itself() -> Section:
    """Shows where the text contradicts itself, and the value that was taken."""
    table = tuple(
        (each.place, each.says, each.against, each.taken, each.why) for each in contradictions()
    )
    return Section(
        title="Where the text contradicts itself",
        text=["The table has each contradiction, and the reading that this study takes."],
        tables=[
            StudyTable(
                title="Contradictions",
                columns=("where", "it says", "against it", "taken", "why"),
                rows=table,
            )
        ],
    )
