"""Results of fluids and flows say what is known of their error, wherever they are shown."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from commands import linkwright, parsed
from test_cli_json import check, schema

from linkwright.names import FidelityName
from linkwright.summaries.measured_days import Interval, JobKind, interval

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
    """Writes a day's file."""
    path = folder / "day.toml"
    path.write_text(DAY.format(servers=servers), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("fidelity", "command", "servers"),
    [
        ("fluid", ["run"], 1),
        ("flow", ["run"], 2),
        ("fluid", ["compare"], 2),
        ("flow", ["compare", "--seeds", "2"], 1),
    ],
)
def test_a_day_says_how_far_it_is_off(
    fidelity: FidelityName, command: list[str], servers: int, tmp_path: Path
) -> None:
    words = [command[0], scenario(tmp_path, servers), *command[1:], "--set", f"fidelity={fidelity}"]
    [error] = parsed(*words)["known_errors"]
    fabric = "fat-tree" if servers > 1 else ""
    expected = [interval(JobKind(fabric, "packing", gpus), fidelity) for gpus in (2, 3, 4)]
    assert (error["model"], error["exact"]) == (fidelity, "packet")
    assert error["least"] >= min(it.least for it in expected if isinstance(it, Interval))
    assert error["least"] < error["most"]
    assert 0 < error["median"] < error["half_width"]
    result = linkwright(*words, "--output", tmp_path / "out")
    said = (
        f"known error of the {fidelity} model: times of jobs {error['least']:+.0%} to "
        f"{error['most']:+.0%} of the packet model's, nine of ten (median error "
        f"{error['median']:.1%}, median half-width {error['half_width']:.1%}), for "
        f"{error['programs']}"
    )
    assert said in " ".join(result.stdout.split())
    assert said in html.unescape((tmp_path / "out" / "report.html").read_text("utf-8"))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"system.network.kind": "torus"}, "a torus"),
        ({"collectives.planner": "mpi-ring"}, "mpi-ring"),
        (
            {
                "jobs.generate.max_gpus": 64,
                "system.servers": 20,
                "collectives.planner": "nccl-ring",
            },
            "GPUs",
        ),
    ],
)
def test_where_nothing_alike_was_measured_the_answer_says_so(
    settings: dict[str, object], why: str, tmp_path: Path
) -> None:
    path = scenario(tmp_path, 2)
    words = ["run", path, "--set", "fidelity=fluid"]
    words += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    [error] = parsed(*words)["known_errors"]
    assert [error[key] for key in ("least", "most", "median", "half_width")] == [None] * 4
    assert why in error["programs"]
    shown = " ".join(linkwright(*words).stdout.split())
    assert f"error of the fluid model: not known, for {error['programs']}" in shown


def test_packets_and_formulas_have_no_error(tmp_path: Path) -> None:
    path = scenario(tmp_path, 1)
    path.write_text(path.read_text("utf-8").split("[compare")[0], encoding="utf-8")
    for exact in ("fidelity=packet", "jobs.run_time=formula"):
        assert parsed("run", path, "--set", exact)["known_errors"] == []
        assert "error of the" not in linkwright("run", path, "--set", exact).stdout


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
