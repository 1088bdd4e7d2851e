"""Options that are made of what the core says of settings."""

from __future__ import annotations

import re

import pytest
from commands import fails, linkwright

from linkwright.cli.settings import OF_OPTIONS, default_of, describe
from linkwright.scenario import settings

OPTIONS = {
    "--routing": "system.network.routing",
    "--fidelity": "fidelity",
    "--iterations": "job.iterations",
    "--mapping": "job.mapping",
    "--seed": "seed",
}


def help_of(*words: str) -> dict[str, str]:
    """Returns the help of a command on each option, in one line."""
    text = linkwright(*words, "--help-all").stdout
    parts = re.split(r"\n  (?=-)|\n\n", text)
    plain = {}
    for part in parts:
        name = re.search(r"--[a-z-]+", part)
        # A word that was broken at its hyphen is one.
        joined = re.sub(r"-\n\s+", "-", part)
        plain[name[0] if name else ""] = re.sub(r"\s+", " ", joined)
    return plain


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_says_of_a_setting_what_the_core_says(option: str) -> None:
    setting = describe(OPTIONS[option])
    said = help_of("replay")[option]
    assert setting.help.replace("`", "")[1:] in said
    assert all(name in said for name in setting.names)
    absent = setting.absent.partition(";")[0].replace("`", "")
    default = {"job.mapping": "linear"}.get(setting.path, absent)
    assert f"default: {default}" in said or not default


def test_the_whole_help_says_of_each_key_what_the_core_says() -> None:
    text = re.sub(r"\s+", " ", re.sub(r"-\n\s+", "-", linkwright("replay", "--help-all").stdout))
    for setting in settings():
        if setting.path.startswith("system.network.") and setting.path not in OF_OPTIONS:
            assert f" {setting.key}=" in text, setting.path
            assert setting.help.replace("`", "")[1:] in text, setting.path


def test_an_option_takes_the_range_and_the_names_of_its_setting() -> None:
    least, most = describe("system.network.buffer_packets").range or (0, 0)
    stencil = ["replay", "stencil4d", "--ranks", "16", "--fidelity", "flow"]
    assert (
        f"a buffer of {most + 1} packets is not possible; use {least} to {most} packets"
        in fails(2, *stencil, "--set", f"buffer_packets={most + 1}")
    )
    linkwright(*stencil, "--set", f"buffer_packets={most}", "--json")
    said = fails(2, *stencil, "--set", "arbitration=ages")
    assert "unknown arbitration: `ages`; did you mean `age`?" in said
    # Of what is open, the core decides.
    assert linkwright(*stencil, "--set", "nic=rr-7", "--json").exit_code == 0
    assert "there is no NIC policy `rr-0`" in fails(2, *stencil, "--set", "nic=rr-0")


def test_what_an_option_is_given_is_what_a_set_key_is_given() -> None:
    run = ["replay", "stencil4d", "--ranks", "16", "--json"]
    for option, key, value in [
        ("--routing", "routing", "static"),
        ("--fidelity", "fidelity", "flow"),
    ]:
        by_option = linkwright(*run, option, value).stdout
        by_key = linkwright(*run, "--set", f"{key}={value}").stdout
        assert _steady(by_option) == _steady(by_key)
        assert "is set twice" in fails(2, *run, option, value, "--set", f"{key}={value}")


def _steady(text: str) -> str:
    """The document without what the clock says."""
    return text.partition('"wall_clock"')[0]


def test_generated_jobs_default_to_a_scenario_s() -> None:
    said = help_of("jobs", "generate")
    assert f"[default: {default_of('jobs.generate.count')}]" in said["--count"]
    assert describe("jobs.generate.count").help[1:] in said["--count"]
    whole = linkwright("jobs", "generate", "--help-all").stdout
    most = default_of("jobs.generate.max_gpus")
    assert re.search(rf"max_gpus=N .*\[default: {most}\]", whole)


def test_every_setting_has_a_kind_and_names_where_it_is_of_names() -> None:
    for setting in settings():
        assert bool(setting.names) == setting.kind.startswith("name"), setting.path
        assert (setting.range is not None) == (setting.kind == "whole"), setting.path
