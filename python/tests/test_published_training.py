"""Tests that the published numbers of training are whole, and derived ones follow."""

from __future__ import annotations

from itertools import groupby

import pytest

from linkwright import System
from linkwright.studies.training.numbering import numberings, nvlinks, preset_gpus
from linkwright.studies.training.published import (
    contradictions,
    epochs,
    memory,
    published,
    rows,
)

COUNTS = {
    "table_2_2": 4,
    "table_2_3": 4,
    "table_2_4": 30,
    "table_2_5": 30,
    "table_2_6": 24,
    "table_2_7": 5,
    "table_2_8": 15,
    "table_2_9": 12,
    "table_2_10": 15,
    "fig_1_3": 2,
    "fig_2_2": 10,
    "fig_2_4_gpus": 6,
    "fig_2_4_batch": 2,
    "fig_2_4_nccl": 6,
    "fig_2_8": 4,
    "numbering": 10,
}


def test_the_file_is_whole() -> None:
    tables = {name: len(entry["rows"]) for name, entry in published().items() if "rows" in entry}
    assert tables == COUNTS
    for name in tables:
        assert "source" in published()[name]
        for row in rows(name):
            first = list(row.values())[: len(row) - 1]
            assert None not in first, f"only the last column of {name} may lack a value"
    assert len(epochs()) == 84
    assert len(memory()) == 15
    for entry in contradictions():
        assert all((entry.place, entry.says, entry.against, entry.taken, entry.why))


def agrees(printed: float, exact: float) -> bool:
    """Whether a ratio, rounded or cut to one or two decimals, is what is printed."""
    return any(
        abs(printed - value) < 1e-9
        for digits in (1, 2)
        for value in (round(exact, digits), int(exact * 10**digits) / 10**digits)
    )


def test_scaling_follows_from_times_but_where_it_is_listed() -> None:
    parted = []
    for block, group in groupby(epochs(), key=lambda row: row.block):
        one, *more = group
        assert (one.gpus, one.scaling) == (1, 1), block
        for row in more:
            if not agrees(row.scaling, one.run / row.run):
                parted.append((row.table, row.dataset, row.network, row.system, row.gpus))
    assert parted == [("2.5", "CIFAR-10", "ResNet", "kepler", 2)]
    assert any(entry.place == "Table 2.5, scaling" for entry in contradictions())


def test_parts_of_an_epoch_are_no_longer_than_all_of_it() -> None:
    profiled = [row for row in epochs() if row.table == "2.4"]
    assert len(profiled) == 30
    for row in profiled:
        assert row.computing is not None
        assert row.communication is not None
        assert (row.peer_copies is None) == (row.gpus == 1)
        assert (row.peer_copies or 0) < row.communication
        # One row is a hundredth above: the epochs were timed and profiled apart.
        assert row.computing + row.communication < 1.01 * row.run, row


def test_ratios_of_figure_2_2_follow_from_table_2_4_but_where_it_is_listed() -> None:
    times = {
        (row.network, row.system): row
        for row in epochs()
        if row.table == "2.4" and row.dataset == "MNIST" and row.gpus == 2
    }
    parted = []
    for said in rows("fig_2_2"):
        name = said["time"].replace(" ", "_")
        slow, fast = (times[said["network"], said[end]] for end in ("over", "system"))
        if not agrees(said["ratio"], getattr(slow, name) / getattr(fast, name)):
            parted.append(said["ratio"])
    assert parted == [1.4, 1.06, 2.63, 1.87, 2.22]
    (entry,) = (each for each in contradictions() if each.place.endswith("on Fig. 2-2"))
    assert all(str(ratio) in entry.says for ratio in parted)


def test_the_largest_share_of_communication_is_not_the_published_one() -> None:
    shares = {
        row.block[1:]: row.communication / (row.communication + row.computing)
        for row in epochs()
        if row.communication is not None and row.computing is not None and row.gpus == 2
    }
    said = published()["communication_share"]["value"]
    assert shares["MNIST", "MLP", 64, "kepler"] == pytest.approx(said, abs=5e-4)
    assert max(shares.values()) == shares["CIFAR-10", "MLP", 64, "kepler"] > said + 0.2


def test_shares_of_memory_follow_from_gigabytes_but_where_it_is_listed() -> None:
    parted = []
    for _, group in groupby(memory(), key=lambda row: row.network):
        sixteen, *_ = of_network = list(group)
        for row in of_network:
            ratios = [(row.additional, row.first, row.others)]
            if row.increase is not None:
                ratios.append((row.increase, row.first, sixteen.first))
            for said, upper, lower in ratios:
                # Gigabytes are rounded to hundredths, percent to tenths.
                least = 100 * ((upper - 0.005) / (lower + 0.005) - 1) - 0.05
                most = 100 * ((upper + 0.005) / (lower - 0.005) - 1) + 0.05
                if not least <= said <= most:
                    parted.append((row.network, row.batch, said))
    assert parted == [("ResNet", 32, 6.2), ("Inception-v3", 64, 2.4)]
    places = [entry.place for entry in contradictions()]
    assert {"Table 2.10, ResNet", "Table 2.10, Inception-v3"} <= set(places)


def test_weights_of_the_synthetic_network_follow_from_inputs() -> None:
    said = published()["section_2_3_1"]
    first, second, outputs = said["layers"]

    def weights(inputs: int) -> float:
        return 4.0 * int(inputs * first + first * second + second * outputs)

    assert round(weights(32 * 32) / 1024) == said["CIFAR-10"]
    assert round(weights(20 * 20) / 1024) == said["MNIST"]
    assert round(weights(28 * 28) / 1024) == 674
    assert round(weights(21400) / 1000, 1) == said["ImageNet"]


def test_the_texts_numbers_of_gpus_fit_the_preset_in_ways_that_are_alike() -> None:
    links = nvlinks(System("dgx1-v100"))
    ways = numberings(rows("numbering"), links)
    assert ways
    first = preset_gpus()
    assert first == ways[0]
    for pair in rows("numbering"):
        ends = frozenset((first[pair["gpu"]], first[pair["other"]]))
        assert links.get(ends, 0) == pair["links"]

    # A job on the first n GPUs of the text has the same links whichever way is taken.
    def joined(way: tuple[int, ...], gpus: int) -> list[int]:
        return [links.get(frozenset((way[a], way[b])), 0) for a in range(gpus) for b in range(a)]

    for gpus in (2, 4, 8):
        assert all(sorted(joined(way, gpus)) == sorted(joined(first, gpus)) for way in ways)
    assert joined(first, 2) == [2]
