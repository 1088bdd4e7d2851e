"""Options that are made of what the core says of settings."""

from __future__ import annotations

import re

import pytest
from commands import fails, linkwright

from linkwright.scenario import settings
from linkwright.cli.settings import default_of, describe

OPTIONS = {
    "--gpus-per-node": "system.server.gpus",
    "--nic": "system.network.nic",
    "--routing": "system.network.routing",
    "--routing-table": "system.network.routing_table",
    "--fidelity": "fidelity",
    "--packet-size": "system.network.packet_size",
    "--buffer-packets": "system.network.buffer_packets",
    "--arbitration": "system.network.arbitration",
    "--ranks": "job.ranks",
    "--iterations": "job.iterations",
    "--computation-scale": "job.computation_scale",
    "--mapping": "job.mapping",
    "--seed": "seed",
}


def help_of(*words: str) -> dict[str, str]:
    """What the help of a command says of each option, in one line."""
    text = linkwright(*words, "--help").stdout
    parts = re.split(r"\n  (?=-)", text.split("Options:\n", 1)[1])
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
    if setting.range is not None:
        assert f"{setting.range[0]}<=x" in said or f"x>={setting.range[0]}" in said
    absent = setting.absent.partition(";")[0].replace("`", "")
    default = {"job.mapping": "linear"}.get(setting.path, absent)
    assert f"{default} if absent" in said or f"default: {default}" in said or not default


def test_an_option_takes_the_range_and_the_names_of_its_setting() -> None:
    least, most = describe("system.network.buffer_packets").range or (0, 0)
    stencil = ["replay", "stencil4d", "--ranks", "16", "--fidelity", "flow"]
    assert f"{most + 1} is not from {least} to {most:,}" in fails(
        2, *stencil, "--buffer-packets", str(most + 1)
    )
    linkwright(*stencil, "--buffer-packets", str(most), "--json")
    said = fails(2, *stencil, "--arbitration", "ages")
    assert "there is no arbitration `ages`; did you mean `age`?" in said
    # Of what is open, the core decides.
    assert linkwright(*stencil, "--nic", "rr-7", "--json").exit_code == 0
    assert "there is no NIC policy `rr-0`" in fails(2, *stencil, "--nic", "rr-0")


def test_what_an_option_is_given_is_what_a_set_key_is_given() -> None:
    run = ["replay", "stencil4d", "--ranks", "16", "--json"]
    for option, key, value in [
        ("--buffer-packets", "buffer_packets", "1"),
        ("--packet-size", "packet_size", "256 B"),
        ("--gpus-per-node", "gpus_per_node", "4"),
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
    for name in ("count", "max_gpus"):
        path = f"jobs.generate.{name}"
        option = said[f"--{name.replace('_', '-')}"]
        assert f"[default: {default_of(path)};" in option
        assert describe(path).help[1:] in option


def test_every_setting_has_a_kind_and_names_where_it_is_of_names() -> None:
    for setting in settings():
        assert bool(setting.names) == setting.kind.startswith("name"), setting.path
        assert (setting.range is not None) == (setting.kind == "whole"), setting.path
