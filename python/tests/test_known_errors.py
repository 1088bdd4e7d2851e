"""Results of fluids and flows say what is known of their error, wherever they are shown."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from commands import linkwright, parsed
from test_cli_json import check, schema

DAY = """\
[system]
server = "pcie-tree-4"
servers = {servers}
[jobs]
generate = {{ count = 3, max_gpus = 4, iterations = 1, workloads = ["jacobi"] }}
run_time = "played"
[allocation]
policies = ["baseline"]
[compare.packets]
fidelity = "packet"
"""
PROGRAMS = """\
fidelity = "flow"
[system]
network = { kind = "fat-tree", radix = 4, pods = 2, nic = "rr" }
[[job]]
program = "laghos"
ranks = 4
[compare.packets]
fidelity = "packet"
[compare.denser]
system.server = "dgx1-v100"
"""


def scenario(folder: Path, servers: int) -> Path:
    """A day's file."""
    path = folder / "day.toml"
    path.write_text(DAY.format(servers=servers), encoding="utf-8")
    return path


@pytest.mark.parametrize(("servers", "least", "most"), [(1, -0.01, 0.01), (2, -0.13, 0.17)])
@pytest.mark.parametrize("command", [["run"], ["compare"], ["compare", "--seeds", "2"]])
def test_a_fluid_says_how_far_it_and_flows_are_off(
    command: list[str], servers: int, least: float, most: float, tmp_path: Path
) -> None:
    words = [command[0], scenario(tmp_path, servers), *command[1:], "--set", "fidelity=fluid"]
    fluid, flow = parsed(*words)["known_errors"]
    assert (fluid["model"], fluid["exact"], fluid["least"], fluid["most"]) == (
        *("fluid", "flow"),
        *(least, most),
    )
    assert (flow["model"], flow["exact"]) == ("flow", "packet")
    result = linkwright(*words, "--output", tmp_path / "out")
    said = (
        f"known error of the fluid model: times of jobs {least:+.0%} to {most:+.0%} of the flow "
        f"model's, for {fluid['programs']}"
    )
    assert said in " ".join(result.stdout.split())
    assert said in html.unescape((tmp_path / "out" / "report.html").read_text("utf-8"))


def test_a_flow_says_its_own_and_packets_and_formulas_none(tmp_path: Path) -> None:
    path = scenario(tmp_path, 1)
    path.write_text(path.read_text("utf-8").split("[compare")[0], encoding="utf-8")
    [flow] = parsed("run", path, "--set", "fidelity=flow")["known_errors"]
    assert (flow["model"], flow["exact"]) == ("flow", "packet")
    for exact in ("fidelity=packet", "jobs.run_time=formula"):
        assert parsed("run", path, "--set", exact)["known_errors"] == []
        assert "known error" not in linkwright("run", path, "--set", exact).stdout


def test_programs_as_flows_say_it_of_each_kind_of_network(tmp_path: Path) -> None:
    path = tmp_path / "programs.toml"
    path.write_text(PROGRAMS, encoding="utf-8")
    shown = linkwright("compare", path, "--workers", "1", "--output", tmp_path / "out")
    assert shown.exit_code == 0, shown.output
    found = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    check(found, "", schema("compare of programs"))
    sparse, dense = found["known_errors"]
    assert all((it["model"], it["exact"]) == ("flow", "packet") for it in (sparse, dense))
    assert (sparse["least"], sparse["most"]) == (-0.05, 0.34)
    assert (dense["least"], dense["most"]) == (-0.20, 0.34)
    page = html.unescape((tmp_path / "out" / "report.html").read_text("utf-8"))
    for error in (sparse, dense):
        said = f"to {error['most']:+.0%} of the packet model's, for {error['programs']}"
        assert said in " ".join(shown.stdout.split())
        assert said in page
    alone = path.read_text("utf-8").split("[compare")[0]
    [network] = re.findall("network = .*", alone)
    path.write_text(alone, encoding="utf-8")
    for exact in ("fidelity=packet", "collectives.protocol=nccl"):
        assert parsed("run", path, "--set", exact)["known_error"] is None
    path.write_text(alone.replace(network, 'server = "dgx1-v100"'), encoding="utf-8")
    lone = parsed("run", path)["known_error"]
    assert (lone["least"], lone["most"]) == (-0.02, 0.01)
    assert "six servers" in lone["programs"]
