"""Tests Python's reference: its examples, its names by subject, and its page."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
from public import SUBJECTS

import linkwright
from linkwright.moved import NOW

ROOT = Path(__file__).resolve().parents[2]
TOP = [name for name in linkwright.__all__ if not name.startswith("__")]
MODULES = [f"linkwright.{subject}" for subject in (*SUBJECTS, "plots")]


def run_examples(of: object, name: str) -> int:
    """Runs the examples of a docstring where the examples' files are; returns their number."""
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(of) or "", {}, name, None, 0)
    lines: list[str] = []
    ran = doctest.DocTestRunner(verbose=False).run(test, out=lines.append)
    assert not ran.failed, "".join(lines)
    return ran.attempted


@pytest.mark.parametrize("name", TOP)
def test_the_example_of_a_name_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert run_examples(getattr(linkwright, name), name) > 0


@pytest.mark.parametrize("module", [it for it in MODULES if it != "linkwright.errors"])
def test_the_example_of_a_subject_runs(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert run_examples(import_module(module), module) > 0


@pytest.mark.parametrize("module", ["linkwright", *MODULES])
def test_a_module_lists_its_public_names_and_no_other(module: str) -> None:
    code = f"import {module} as it; print(*dir(it)); print(*sorted(it.__all__))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    listed, offered = (line.split() for line in ran.stdout.splitlines())
    more = set(listed) - set(offered)
    assert set(offered) <= set(listed)
    assert more == (set() if module != "linkwright" else {*SUBJECTS, "plots", "contracts"})


def test_the_package_offers_about_ten_names_and_its_subjects() -> None:
    assert len(TOP) <= 12
    assert set(linkwright.__all__) <= set(dir(linkwright))


def test_every_name_that_a_module_lists_is_there() -> None:
    for module in map(import_module, MODULES):
        for name in module.__all__:
            assert getattr(module, name) is not None


@pytest.mark.parametrize(
    ("name", "told"),
    [
        *((old, f"use `linkwright.{new}`") for old, new in NOW.items()),
        ("Job", "use `linkwright.scenario.Job`"),
        ("Schedul", "use `linkwright.collectives.Schedule`"),
        ("zzz", "has no attribute 'zzz'$"),
    ],
)
def test_a_name_that_is_elsewhere_is_told_with_its_place(name: str, told: str) -> None:
    with pytest.raises(AttributeError, match=told):
        getattr(linkwright, name)


@pytest.mark.parametrize("place", sorted(set(NOW.values())))
def test_the_place_of_an_old_name_is_there(place: str) -> None:
    assert attrgetter(place)(linkwright) is not None


def test_the_page_is_as_it_would_be_written() -> None:
    script = ROOT / "scripts" / "write_reference.py"
    subprocess.run([sys.executable, script, "--check"], check=True)
