"""Tests the HTML report: whole, self-contained, the same each time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest

from linkwright import System
from linkwright.allocation import policy_names
from linkwright.errors import SimulationError
from linkwright.names import PolicyName
from linkwright.network import read_system
from linkwright.runs.report import write_report
from linkwright.runs.server.run import ScenarioRun
from linkwright.scenario import Job, Scenario, SimulationResult, generate_jobs, play_jobs
from linkwright.summaries.energy import energy_of, spans_of

MACHINE = System("dgx1-v100")
SCENARIO = """[machine]
preset = "dgx1-v100"
[jobs]
generate = { count = 1 }
"""


def runs(policies: Sequence[PolicyName], jobs: list[Job]) -> list[SimulationResult]:
    return [play_jobs(MACHINE, jobs, policy) for policy in policies]


def written(
    path: Path,
    results: list[SimulationResult],
    title: str = "forty.toml",
    compared_with: str | None = None,
    system: System = MACHINE,
    bandwidth_model: str = "sound",
) -> str:
    scenario = Scenario.from_text(
        f'{SCENARIO}[allocation]\nbandwidth_model = "{bandwidth_model}"\n', "forty.toml"
    )
    jobs = [Job(row["job"], row["workload"], row["gpu_count"]) for row in results[0].jobs()]
    manifest: dict[str, object] = {
        "jobs": {"count": len(jobs), "seed": 1},
        "bandwidth_profile": "a < b & c",
    }
    run = ScenarioRun(
        scenario,
        Path(title),
        system,
        jobs,
        results,
        manifest,
        compared_with=compared_with,
        energies=[energy_of(system, spans_of(result)) for result in results],
    )
    write_report(path, run)
    return path.read_text(encoding="utf-8")


class Sources(HTMLParser):
    """Collects the addresses that a page would fetch, and the headings and cells that it shows."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.scripts = 0
        self.figures = 0
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Counts what matters and keeps what would be fetched."""
        self.scripts += tag == "script"
        self.figures += tag == "figure"
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        """Keeps what a reader sees."""
        if self.lasttag not in ("script", "style"):
            self.text.append(data)


def test_a_report_needs_no_network_and_shows_everything(tmp_path: Path) -> None:
    results = runs(policy_names(), generate_jobs(1, 40))
    page = written(tmp_path / "report.html", results, compared_with="baseline")
    seen = Sources(page)
    text = " ".join(seen.text)
    assert seen.fetched == []
    assert "@import" not in page
    assert "url(" not in page[: page.index("</style>")]
    assert seen.scripts == 2, "the charts' scripts once, and their data"
    assert page.count("window.vegaEmbed") == 1
    assert seen.figures == page.count('vegaEmbed("#chart-') == 6 + len(policy_names())
    for part in (
        *policy_names(),
        "a < b & c",
        "Speed-up over baseline",
        "Jobs of one GPU",
        "GPU7",
        "NV2",
        "What the model leaves out",
    ):
        assert part in text, part


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    pages = [
        written(tmp_path / f"{name}.html", runs(["baseline", "preserve"], generate_jobs(1, 20)))
        for name in ("a", "b")
    ]
    assert pages[0] == pages[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_names_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    hostile = '</script><script>alert("x")</script>'
    jobs = [Job(hostile, "vgg-16", 2), Job("plain", "vgg-16", 1)]
    page = written(tmp_path / "report.html", runs(["greedy"], jobs), title=hostile)
    assert "<script>alert" not in page
    assert Sources(page).scripts == 2


def test_a_report_without_shared_links_says_so_little(tmp_path: Path) -> None:
    alone = [Job("alone", "gmm", 1)]
    results = runs(["greedy"], alone)
    page = written(tmp_path / "report.html", results, compared_with="greedy")
    seen = Sources(page)
    assert seen.figures == 4
    text = " ".join(seen.text)
    assert "<h2>Speed-up" not in page
    assert "no policy gains anything" in text


def test_a_comparison_opens_with_its_answer_and_a_run_compares_nothing(tmp_path: Path) -> None:
    results = runs(["greedy", "preserve"], generate_jobs(1, 20))
    compared = written(tmp_path / "compared.html", results, compared_with="greedy")
    assert "preserve has " in compared
    assert compared.index("times the throughput of greedy") < compared.index("What was run")
    assert compared.index("Speed-up over greedy") < compared.index("What was run")
    alone = written(tmp_path / "run.html", results)
    assert "Speed-up" not in alone
    assert "times the throughput" not in alone
    lonely = written(tmp_path / "one.html", results[:1], compared_with="greedy")
    assert "nothing to compare it with" in lonely
    with pytest.raises(SimulationError, match="no run of policy `baseline`"):
        written(tmp_path / "none.html", results, compared_with="baseline")


def test_a_dark_screen_gets_a_dark_page_and_paper_a_white_one(tmp_path: Path) -> None:
    page = written(tmp_path / "report.html", runs(["greedy"], generate_jobs(1, 5)))
    style = page[: page.index("</style>")]
    dark = style[style.index("@media screen and (prefers-color-scheme: dark)") :]
    colours = set(re.findall(r"--\w+(?=:)", style[: style.index("@media")]))
    assert colours == set(re.findall(r"--\w+(?=:)", dark))
    assert "figure svg { filter: invert" in dark


def test_nothing_to_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="no job ran"):
        written(tmp_path / "report.html", runs(["greedy"], []))
    assert not list(tmp_path.iterdir())


def test_the_style_prints(tmp_path: Path) -> None:
    page = written(tmp_path / "report.html", runs(["greedy"], generate_jobs(1, 5)))
    assert re.search(r"@media print", page)


def test_a_report_shows_no_mark_up_and_the_sound_model_once(tmp_path: Path) -> None:
    jobs = generate_jobs(1, 20)
    results = runs(["baseline", "greedy"], jobs)
    page = written(tmp_path / "sound.html", results, compared_with="baseline")
    text = page[: page.index("<script>")]
    assert "`" not in text
    assert "under `" not in page
    assert text.count("<th>sound") == 1
    assert "by the sound model" in text
    assert text.count("<th>minimum") == text.count("<th>maximum") == 2
    assert "<caption>" not in text
    published = [
        play_jobs(MACHINE, jobs, "preserve", bandwidth_model="published"),
        play_jobs(MACHINE, jobs, "greedy", bandwidth_model="published"),
    ]
    assert (
        written(tmp_path / "both.html", published, bandwidth_model="published").count(
            '<span class="unit">GB/s</span></th>'
        )
        == 2 + 5
    )


def test_code_in_assumptions_is_shown_as_code(tmp_path: Path) -> None:
    paste = Path(__file__).resolve().parents[2] / "examples" / "topologies"
    machine = read_system(paste / "dgx1-v100.nvidia-smi-topo-m.txt")
    results = [play_jobs(machine, generate_jobs(1, 5), "greedy")]
    written(tmp_path / "a.html", results, system=machine)
    assert "(option <code>nvlink</code>)" in (tmp_path / "a.html").read_text(encoding="utf-8")
