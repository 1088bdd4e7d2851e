"""Sections of studies alone: their names, their stored times, and that they are the study's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from commands import fails, linkwright

from linkwright import LinkwrightError
from linkwright.studies import blink, mapa, memory, network, pcie, thermal, training
from linkwright.studies.memory.settings import plan
from linkwright.studies.network.jobs import mixes
from linkwright.studies.network.runs import plan as plan_of_mixes
from linkwright.studies.network.runs import settings_by_section
from linkwright.studies.parts import STUDIES, costs
from linkwright.studies.study import Study

RUNS: Mapping[str, Callable[..., Study]] = {
    "mapa": mapa.run,
    "blink": blink.run,
    "network": network.run,
    "pcie": pcie.run,
    "memory": memory.run,
    "thermal": thermal.run,
    "training": training.run,
}


@pytest.mark.parametrize("study", STUDIES)
def test_an_unknown_section_is_refused_with_the_names_that_the_list_has(study: str) -> None:
    with pytest.raises(LinkwrightError) as refused:
        RUNS[study](only="colour")
    assert f"the study {study} has no section `colour`" in str(refused.value)
    names = ", ".join(each.section for each in costs(study))
    assert str(refused.value).endswith(f"use one of {names}")


def test_a_section_alone_is_the_one_of_the_whole_study() -> None:
    whole = thermal.run(quick=True)
    alone = thermal.run(quick=True, only="package")
    assert [section.title for section in alone.sections] == [whole.sections[0].title]
    assert alone.tables == whole.sections[0].tables
    assert alone.introduction == whole.introduction


def test_a_section_of_a_sweep_needs_no_more_than_its_runs() -> None:
    assert {each.part for each in plan(parts=("leases",))} == {"leases"}
    assert plan(parts=()) == []
    drawn = mixes()
    every = plan_of_mixes(drawn, quick=True)
    for settings in settings_by_section().values():
        assert {each.default for each in settings} <= set(settings)
        assert set(plan_of_mixes(drawn, quick=True, settings=settings)) < set(every)


def test_the_command_says_how_long_a_section_takes() -> None:
    done = linkwright("study", "thermal", "--only", "package", "--quick")
    assert "package takes about " in done.stderr
    assert "Parts, published and as described" in done.stdout
    refused = fails(1, "study", "thermal", "--only", "packages")
    assert "\n" not in refused
    assert "did you mean `package`?" in refused
