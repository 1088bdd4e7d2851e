"""The least that is enough, bills of materials and prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from commands import fails

from linkwright import System
from linkwright.errors import InputError
from linkwright.hardware import bill_of, read_prices
from linkwright.runs.run import write_run
from linkwright.runs.sizing.play import size_system
from linkwright.runs.sizing.search import least_enough
from linkwright.runs.sizing.values import in_step, more_never_hurts, varied
from linkwright.studies.network.jobs import APPLICATIONS
from linkwright.studies.network.measured import Measured, read_times
from linkwright.studies.network.published import published
from linkwright.studies.network.settings import Setting, cluster, requirement_settings
from linkwright.sweeps import Workers, local_processes
from linkwright.sweeps.workers import local_threads

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "python" / "linkwright" / "examples"
QUICK = ROOT / "docs" / "studies" / "data" / "network-quick.parquet"

# By hand, of Table I and Section V.B: switches and cables of radix 32 and of p = h = 8, a = 16.
TREES = {1: (128 + 128 + 64, 3 * 2048), 2: (64 + 64 + 32, 3 * 1024), 8: (16 + 16, 2 * 256)}
FLIES = {groups: (16 * groups, 128 * groups + 120 * groups) for groups in (16, 8, 4, 2)}


@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_table_i_has_the_parts_that_are_counted_by_hand(gpus: int) -> None:
    switches, cables = TREES[gpus]
    bill = bill_of(cluster(Setting("fat-tree", gpus)))
    assert bill.count("server") == bill.count("interface") == 2048 // gpus
    assert (bill.count("gpu"), bill.count("switch"), bill.count("cable")) == (
        2048,
        switches,
        cables,
    )


@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
def test_a_dragonfly_has_the_switches_and_local_links_that_are_counted_by_hand(gpus: int) -> None:
    groups = published()["dragonfly"]["groups_by_gpus_per_node"][str(gpus)]
    switches, cables = FLIES[groups]
    bill = bill_of(cluster(Setting("dragonfly", gpus)))
    assert bill.count("switch") == switches
    # Every switch has at most eight links to other groups, each between two switches.
    assert cables < bill.count("cable") <= cables + 4 * switches


def shares_of(
    measured: Measured, application: str, ranks: int, gpus: int, at: int
) -> dict[str, float]:
    """Gives the share that an application keeps at the bandwidth at a place."""
    speedup = measured.speedup(requirement_settings(gpus)[at], application, ranks)
    return {application: speedup or 0.0}


def test_bisection_finds_the_least_bandwidths_of_table_ii() -> None:
    measured = Measured(read_times(QUICK))
    for gpus in (4, 8):
        settings = requirement_settings(gpus)
        for application in APPLICATIONS:
            for ranks in (32, 512):
                shares = partial(shares_of, measured, application, ranks, gpus)
                found = least_enough(len(settings), shares, 0.9, more_never_hurts=True)
                least = found.least[application]
                assert least is not None
                assert settings[least].bandwidth == measured.least_bandwidth(
                    application, ranks, gpus
                )


# It takes some seconds of CPU: each process imports Linkwright anew.
def test_a_grid_has_the_same_bytes_whoever_plays_it(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        '[system.server]\ngpus = 2\n[system.network]\nkind = "fat-tree"\nradix = 8\n'
        '[[job]]\nprogram = "stencil4d"\nranks = 16\nparameters = { message = "64 KiB" }\n',
        encoding="utf-8",
    )
    vary = ["system.network.nic=fcfs,rr-4,rr"]
    baseline = {"system.server.gpus": 1}

    def files(name: str, workers: Workers, reference: Mapping[str, object]) -> dict[str, bytes]:
        counts: list[int] = []
        sized = size_system(
            scenario,
            vary,
            reference=reference,
            workers=workers,
            progress=lambda _, done, *__: counts.append(done),
        )
        assert len(sized.tried) == counts[-1] == 3
        assert not sized.found.bisected
        return {it.name: it.read_bytes() for it in write_run(sized, tmp_path / name)}

    alone = files("alone", local_threads(1), {})
    assert files("threads", local_threads(3), {}) == alone
    assert files("processes", local_processes(2), {}) == alone
    compared = files("compared", local_threads(1), baseline)
    assert files("compared-by-threads", local_threads(3), baseline) == compared
    assert compared["least.parquet"] != alone["least.parquet"]


def test_where_more_hurts_the_others_are_played_together() -> None:
    bumpy, asked = [0.1, 0.95, 0.3, 0.2, 0.91], []

    def together(places: Sequence[int]) -> None:
        asked.append(list(places))

    least_enough(5, lambda at: {"a": bumpy[at]}, 0.7, more_never_hurts=True, ahead_of_all=together)
    assert asked == []
    falling = [0.95, 0.2, 0.9, 0.2, 0.91]
    found = least_enough(
        5,
        lambda at: {"a": falling[at], "b": at / 4},
        0.7,
        more_never_hurts=True,
        ahead_of_all=together,
    )
    assert found.is_refuted
    assert asked == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize("enough", [0.0, 0.3, 0.5, 0.99, 1.0])
def test_bisection_finds_what_a_grid_finds(enough: float) -> None:
    def rising(at: int) -> dict[str, float]:
        return {"slow": at / 40, "fast": min(1.0, at / 10)}

    fast, grid = (
        least_enough(33, rising, enough, more_never_hurts=never) for never in (True, False)
    )
    assert dict(fast.least) == dict(grid.least)
    assert fast.bisected
    assert len(fast.shares) < len(grid.shares) == 33


def test_where_more_hurts_all_are_tried() -> None:
    falling = [0.95, 0.2, 0.3, 0.4, 0.91]

    def shares(at: int) -> dict[str, float]:
        return {"a": falling[at], "b": at / 4}

    found = least_enough(5, shares, 0.7, more_never_hurts=True)
    assert found.least == {"a": 4, "b": 3}
    bumpy = [0.1, 0.95, 0.3, 0.2, 0.91]
    found = least_enough(
        5, lambda at: {"a": bumpy[at], "b": (0, 0.1, 0.2, 0.8, 1)[at]}, 0.7, more_never_hurts=True
    )
    assert (found.is_refuted, found.least["a"]) == (True, 1)


def test_a_range_doubles_and_settings_change_together() -> None:
    nics, pods = varied("system.server.nics=1..8"), varied("system.network.pods=2..16")
    assert list(nics.values) == [1, 2, 4, 8]
    assert in_step([nics, pods])[-1] == {"system.server.nics": 8, "system.network.pods": 16}
    assert more_never_hurts([nics])
    assert not more_never_hurts([nics, pods])
    assert varied("system.network.bandwidth=10 GB/s..40 GB/s").values[1] == "20 GB/s"
    assert varied("system.network.bandwidth_scale=1/4..2").values[0] == 0.25


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ("x", "says not what to vary"),
        ("system.network.bandwith=1..8", "did you mean `system.network.bandwidth`"),
        ("system.server.nics=8..1", "has no values"),
        ("system.server.nics=1", "varies nothing"),
    ],
)
def test_what_varies_nothing_is_refused(vary: str, words: str) -> None:
    assert words in fails(1, "size", str(EXAMPLES / "nodes-to-size.toml"), "--vary", vary)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[gpu]\nprice = -3", ":2:1: a negative `price`: `-3`"),
        ("[gpus]\nprice = 3", "unknown part or key: `gpus`; did you mean `gpu`"),
        ("[gpu]\nprize = 3", ":2:1: unknown part or key of gpu: `prize`; did you mean `price`"),
        ("lifetime = 0", "the file does not give the time in which parts are paid off"),
        ("[gpu]\nprice = inf", "no number as `price`"),
    ],
)
def test_prices_that_are_none_are_refused(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_prices(file)
    assert words in str(error.value)


def test_costs_are_those_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(
        "electricity = 0.5\nlifetime = 2\n[server]\nprice = 1000\nwatts = 200\n"
        "[gpu]\nprice = 100\nwatts = 100\n",
        encoding="utf-8",
    )
    # Eight GPUs work for the whole two hours.
    cost = read_prices(file).cost(bill_of(System("dgx1-v100")), 7200.0, 4, 1.6)
    assert (cost.price, cost.power) == (1800.0, 1000.0)
    assert cost.other_energy_of_a_job == pytest.approx(0.1)
    assert cost.energy_of_a_job == pytest.approx(0.5)
    assert cost.cost_of_a_job == pytest.approx(1800 * 0.5 / (2 * 8760) + 0.25)


def test_a_part_without_a_price_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text("[gpu]\nprice = 1\nwatts = 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="no price of the server"):
        read_prices(file).check([bill_of(System("dgx1-v100"))])
