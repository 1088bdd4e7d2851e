"""Fig. 3 of the network study: its mixes fit the text, and its times come out again."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import pytest

from linkwright.network import Fabric
from linkwright.studies.network.jobs import MixJob
from linkwright.studies.network.published import published
from linkwright.studies.network.quartz import quartz
from linkwright.studies.network.quartz_findings import in_pods
from linkwright.studies.network.quartz_measured import (
    QuartzMeasured,
    QuartzTime,
    quartz_csv,
    read_quartz,
)
from linkwright.studies.network.quartz_runs import (
    PLACES,
    SPAN,
    TREES,
    iterations_of,
    quartz_mixes,
    replay_on_tree,
)
from linkwright.studies.tables import section_markdown

STUDIES = Path(__file__).resolve().parents[2] / "docs" / "studies"
FILE = STUDIES / "data" / "network-quartz.csv"


@cache
def times() -> list[QuartzTime]:
    return read_quartz(FILE)


def test_the_mixes_have_what_the_text_says_of_them() -> None:
    entry = published()["validation"]
    count = Counter(job for mix in quartz_mixes().values() for job in mix)
    assert count["subcomm3d", 128] == entry["subcomm3d_128_occurrences"]
    assert {name for name, _ in count} == set(entry["applications"])
    assert all(count[name, ranks] for name, ranks in entry["beyond_15_percent"])
    assert len(quartz_mixes()) == entry["workloads"]


def test_the_trees_have_room_for_quartz_and_not_much_more() -> None:
    ports = {name: Fabric(**settings).ports for name, settings in TREES.items()}
    assert ports["quartz"] == 2688
    assert all(2688 <= each <= 3072 for each in ports.values())


def test_the_file_has_every_job_of_every_mix_at_every_place() -> None:
    keys = [(it.tree, it.placement, it.mix, it.job, it.application, it.ranks) for it in times()]
    assert keys == [
        (*place, mix, at, *job)
        for place in PLACES
        for mix, jobs in quartz_mixes().items()
        for at, job in enumerate(jobs)
    ]
    assert quartz_csv(times()) == FILE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "placement", "kind"),
    [("quartz", "scattered", ("kripke", 32)), ("tapered", "linear", ("laghos", 64))],
)
def test_a_job_alone_comes_out_as_in_the_file(
    name: str, placement: str, kind: tuple[str, int]
) -> None:
    of_place = [each for each in times() if (each.tree, each.placement) == (name, placement)]
    [one, *_] = [each for each in of_place if each.kind == kind]
    jobs = [
        asdict(MixJob(each.application, each.ranks, each.iterations))
        for each in of_place
        if each.mix == one.mix
    ]
    assert replay_on_tree(name, placement, jobs, one.job) == [one.alone]


def test_iterations_fill_the_span() -> None:
    [one] = QuartzMeasured(times()).found(("stencil4d", 32))
    assert iterations_of("stencil4d", 32) == one.iterations
    assert 0.8 * SPAN < one.alone < 1.2 * SPAN


def test_both_pages_show_what_the_times_say() -> None:
    section = section_markdown(quartz(times()), "figures")
    for page in ("network.md", "network-full.md"):
        assert section in (STUDIES / page).read_text(encoding="utf-8")


def test_what_the_pages_say_of_sharing_and_wiring_is_so() -> None:
    measured = QuartzMeasured(times())
    for kind in measured.kinds:
        assert all(abs(measured.cost(kind, name)) < 5e-4 for name in TREES)
        scattered = measured.cost(kind, placement="scattered")
        assert -2e-3 < scattered < (0.07 if kind[0] in ("kripke", "laghos") else 0.9)
        slower_on_quartz = measured.over_quartz(kind, "tapered") < -0.05
        assert slower_on_quartz is (kind[0] == "stencil4d" and kind[1] > 32)
    quartz_pods, tapered = (in_pods(name, ("stencil4d", 256)) for name in ("quartz", "tapered"))
    assert tapered.busiest == pytest.approx(1, abs=1e-3)
    assert tapered.most < quartz_pods.least < quartz_pods.most
    assert 1.2 < quartz_pods.busiest < 1.5


def test_sharing_costs_what_a_job_takes_longer_in_the_mix() -> None:
    slower = [replace(each, together=1.25 * each.alone) for each in times()]
    measured = QuartzMeasured(slower)
    assert {round(measured.cost(kind), 9) for kind in measured.kinds} == {0.25}
    assert measured.over_quartz(("kripke", 32), "full") == pytest.approx(0, abs=1e-3)
