"""The network study: the paper's plan, checks that can fail, and a page that comes out again."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet
import pytest
from commands import fails
from frozen.captured import holds as captured_holds
from frozen.studies import QUICK_NETWORK, quick_network

from linkwright.scenario import random_mixes
from linkwright.studies.network import CHECKPOINT
from linkwright.studies.network.bandwidth import bandwidth
from linkwright.studies.network.jobs import (
    SPAN,
    MixJob,
    cluster_job,
    mixes,
    uses_the_network,
)
from linkwright.studies.network.measured import JobTime, Measured, read_times, times_table
from linkwright.studies.network.nic_statements import NIC_STATEMENTS
from linkwright.studies.network.placed import Placed
from linkwright.studies.network.placements import LINEAR
from linkwright.studies.network.published import published
from linkwright.studies.network.runs import (
    Run,
    neighbour_plan,
    perform,
    placed_jobs,
    placed_plan,
    plan,
    replay_mix,
)
from linkwright.studies.network.settings import (
    DENSITIES,
    NETWORKS,
    Setting,
    bandwidth_factors,
    cluster,
    factor_text,
    requirement_settings,
)
from linkwright.studies.network.statements import STATEMENTS, statements
from linkwright.studies.network.study import INTRODUCTION, coverage, sections_of
from linkwright.studies.tables import section_markdown
from linkwright.sweeps import local_threads

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "docs" / "studies"
QUICK = STUDIES / "data" / "network-quick.parquet"
FULL = STUDIES / "data" / "network-full.parquet"
PLACED = STUDIES / "data" / "network-placed.parquet"
PLACED_MIXES = STUDIES / "data" / "network-placed-mixes.parquet"


@cache
def all_mixes() -> list[list[MixJob]]:
    return mixes()


@cache
def quick_times() -> list[JobTime]:
    return read_times(QUICK)


def quick_placed() -> list[JobTime]:
    """Those times of jobs alone that the quick study plays."""
    runs = set(placed_plan(placed_jobs(), quick=True))
    return [it for it in read_times(PLACED) if Run(it.mix, it.setting, it.placement) in runs]


def invented(times: dict[Setting, dict[tuple[str, int], float]]) -> Measured:
    """Times of one job each."""
    places: dict[tuple[str, int], int] = {}
    return Measured(
        [
            JobTime(setting, 0, places.setdefault(job, len(places)), *job, 1, seconds)
            for setting, jobs in times.items()
            for job, seconds in jobs.items()
        ]
    )


def holds(measured: Measured, words: str) -> bool | None:
    [statement] = [each for each in STATEMENTS if words in each.says]
    return statement.check(measured).holds


def test_the_mixes_are_the_papers_in_number_and_size() -> None:
    entry = published()["workloads"]
    drawn = random_mixes(7)
    assert len(drawn) == entry["mixes"]
    assert all(sum(ranks for _, ranks in mix) == entry["processes"] for mix in drawn)
    assert random_mixes(7) == drawn != random_mixes(8)


def test_every_setting_has_2048_gpus_on_as_many_nodes_as_the_table_says() -> None:
    for setting in {run.setting for run in plan(all_mixes())}:
        system = cluster(setting)
        assert system.gpu_count == published()["machine"]["gpus"]
        assert system.server_count == system.gpu_count // setting.gpus_per_node


def test_the_full_plan_is_every_mix_in_every_setting_once() -> None:
    runs = plan(all_mixes())
    settings = {run.setting for run in runs}
    # Densities, bandwidths on both networks, Table II's second column, and policies.
    assert len(settings) == 2 * 4 + 2 * 8 + 8 + 2 * 3
    assert len(runs) == len(set(runs)) == 20 * len(settings)


def test_the_quick_plan_shows_every_application_at_every_size() -> None:
    runs = plan(all_mixes(), quick=True)
    kinds = {(job.application, job.ranks) for run in runs for job in all_mixes()[run.mix]}
    assert len(kinds) == 30
    assert set(runs) < set(plan(all_mixes()))
    assert {run.setting for run in runs} == {run.setting for run in plan(all_mixes())}


@pytest.mark.parametrize("application", ["stencil4d", "sw4lite"])
def test_a_job_alone_lasts_about_the_span(application: str) -> None:
    job = next(job for mix in all_mixes() for job in mix if job.application == application)
    alone = cluster(Setting("fat-tree")).play([cluster_job(job)]).makespan
    assert SPAN / 1.5 < alone < SPAN * 1.5


def test_factors_are_written_as_in_the_paper() -> None:
    written = ["x/16", "x/8", "x/4", "x/2", "x", "2x", "4x", "8x", "16x"]
    assert [factor_text(factor) for factor in bandwidth_factors()] == written


def test_speedups_are_means_over_all_occurrences() -> None:
    default, dense = Setting("fat-tree"), Setting("fat-tree", 4)
    times = [
        JobTime(setting, mix, 3, "amg", 64, 1, seconds)
        for setting, pair in ((default, (2.0, 3.0)), (dense, (4.0, 4.0)))
        for mix, seconds in enumerate(pair)
    ]
    measured = Measured(times)
    assert measured.speedup(dense, "amg", 64) == pytest.approx((0.5 + 0.75) / 2)
    assert measured.speedup(dense, "amg", 128) is None
    assert measured.median_over_sizes(dense, "amg", [64, 128]) == pytest.approx(0.625)


@pytest.mark.parametrize(("enough", "least"), [(0, 0.0625), (5, 2.0), (9, float("inf"))])
def test_the_least_bandwidth_is_the_first_that_is_enough(enough: int, least: float) -> None:
    times = {Setting("fat-tree"): {("sw4lite", 32): 0.9}}
    for place, setting in enumerate(requirement_settings(8)):
        times[setting] = {("sw4lite", 32): 1.0 if place >= enough else 1.01}
    assert invented(times).least_bandwidth("sw4lite", 32, 8) == least


def test_a_finding_holds_or_not_by_what_was_measured() -> None:
    for slow, expected in ((1.0, True), (1.2, False)):
        times = {
            Setting(network, gpus): {("kripke", 64): slow if gpus == 8 else 1.0}
            for network in NETWORKS
            for gpus in DENSITIES
        }
        assert holds(invented(times), "Kripke is indifferent") is expected
    policies = {
        Setting("dragonfly", nic=name): {("stencil4d", 64): seconds}
        for name, seconds in (("fcfs", 1.0), ("rr-2", 0.9), ("rr-4", 0.8), ("rr", 0.7))
    }
    assert holds(invented(policies), "the more messages are considered") is True
    policies[Setting("dragonfly", nic="rr-4")] = {("stencil4d", 64): 0.95}
    assert holds(invented(policies), "the more messages are considered") is False


def test_the_numbers_of_figures_8_and_9_are_all_that_are_printed() -> None:
    [statement] = [each for each in STATEMENTS if "numbers of Figs. 8 and 9" in each.says]
    printed = statement.check(Measured(quick_times())).measured.split(", ")
    assert statement.says == f"The {len(printed)} numbers of Figs. 8 and 9, within a tenth."
    assert len(printed) == sum(isinstance(v, float) for v in published()["nic_scheduling"].values())


def over_default(times: dict[tuple[str, int, int], float]) -> Measured:
    """Returns jobs that take a second at one GPU per node, and the given times at others."""
    jobs = {(name, ranks) for name, ranks, _ in times}
    settings = {Setting("fat-tree"): dict.fromkeys(jobs, 1.0)}
    for (name, ranks, gpus), seconds in times.items():
        settings.setdefault(Setting("fat-tree", gpus), {})[name, ranks] = seconds
    return invented(settings)


def test_a_loss_in_proportion_to_the_bandwidth_refutes() -> None:
    words = "Their loss is less than proportional"
    assert holds(over_default({("stencil4d", 64, 2): 1.8, ("stencil4d", 64, 8): 7.0}), words)
    assert holds(over_default({("stencil4d", 64, 2): 1.9}), words) is False
    # An application that sends nothing over the network does not count.
    assert holds(over_default({("subcomm3d", 64, 8): 0.1}), words) is None


def test_findings_on_jobs_that_use_no_network_are_empty() -> None:
    assert not uses_the_network("subcomm3d", 64, 8)
    assert uses_the_network("subcomm3d", 64, 4)
    assert uses_the_network("stencil4d", 64, 8)
    times = {
        Setting("dragonfly", gpus): {("subcomm3d", 64): 1 / gpus, ("subcomm3d", 32): 1 / gpus}
        for gpus in (1, 8)
    }
    [statement] = [each for each in STATEMENTS if "gains at 8 per node" in each.says]
    outcome = statement.check(invented(times))
    assert (outcome.holds, outcome.empty) == (None, True)
    [table] = statements(Measured(quick_times())).tables
    assert {row[2] for row in table.rows if row[1] == statement.says} == {"empty"}


def least(factors: dict[tuple[str, int, int], float]) -> Measured:
    """Returns jobs with a given least bandwidth, by application, processes and GPUs per node."""
    jobs = {(name, ranks) for name, ranks, _ in factors}
    times = {Setting("fat-tree"): dict.fromkeys(jobs, 1.0)}
    for (name, ranks, gpus), factor in factors.items():
        for setting in requirement_settings(gpus):
            enough = setting.bandwidth >= factor
            times.setdefault(setting, {})[name, ranks] = 1.0 if enough else 2.0
    return invented(times)


def test_amg_counts_among_those_that_need_less() -> None:
    factors = {("stencil4d", 512, 8): 8.0, ("subcomm3d", 512, 8): 4.0, ("amg", 512, 8): 2.0}
    words = "Subcomm3d need more than AMG and SW4lite"
    assert holds(least(factors), words) is True
    assert holds(least(factors | {("amg", 512, 8): 4.0}), words) is False


def test_less_on_eight_than_on_four_is_of_jobs_that_use_the_network() -> None:
    words = "sometimes needs less on 8 than on 4"
    without = {("subcomm3d", 64, 4): 2.0, ("subcomm3d", 64, 8): 0.125}
    assert holds(least(without), words) is None
    four = {("stencil4d", 64, 4): 2.0, ("stencil4d", 64, 8): 2.0}
    assert holds(least(without | four), words) is False
    assert holds(least(without | four | {("stencil4d", 64, 8): 1.0}), words) is True


def test_a_policy_is_best_only_where_it_is_clearly_better() -> None:
    def of(**speeds: float) -> Measured:
        return invented(
            {
                Setting("dragonfly", 8, nic=name.replace("_", "-")): {("amg", 64): 1 / speed}
                for name, speed in speeds.items()
            }
            | {Setting("dragonfly"): {("amg", 64): 1.0}}
        )

    words = "AMG of 64, 8 per node: FCFS is best."
    assert holds(of(fcfs=1.02, rr_2=1.0, rr_4=1.0, rr=1.0), words) is True
    assert holds(of(fcfs=1.002, rr_2=1.0, rr_4=1.0, rr=1.0), words) is False
    assert holds(of(fcfs=1.0, rr_2=1.0, rr_4=1.0, rr=1.0), words) is False
    assert holds(of(fcfs=1.0, rr_2=1.0, rr_4=1.0, rr=1.0), "Each policy is best") is False


def test_what_was_not_measured_holds_nowhere() -> None:
    nothing = invented({Setting("fat-tree"): {("kripke", 64): 1.0}})
    for statement in NIC_STATEMENTS:
        assert statement.check(nothing).holds is None, statement.says
    for statement in STATEMENTS:
        assert statement.check(Measured([])).holds is None, statement.says


def test_runs_that_are_finished_are_not_performed_again(tmp_path: Path) -> None:
    jobs = [[MixJob("kripke", 32, 1), MixJob("stencil4d", 64, 2)]]
    runs = [Run(0, Setting("dragonfly", 8)), Run(0, Setting("fat-tree", 8))]
    file = tmp_path / "runs.jsonl"
    first, second = (perform(jobs, runs, workers=local_threads(1), checkpoint=file) for _ in "ab")
    assert (first.resumed, second.resumed) == (0, 2)
    assert first.times == second.times
    assert {each.application for each in first.times} == {"kripke", "stencil4d"}
    table = times_table(first.times)
    pyarrow.parquet.write_table(table, tmp_path / "times.parquet")
    assert read_times(tmp_path / "times.parquet") == first.times


def test_a_run_of_the_page_comes_out_again() -> None:
    setting = Setting("dragonfly", 8)
    times = [each for each in quick_times() if each.setting == setting]
    mix = times[0].mix
    jobs = [asdict(job) for job in all_mixes()[mix]]
    assert replay_mix(asdict(setting), jobs) == [each.time for each in times if each.mix == mix]


def test_the_page_s_tables_are_those_that_were_captured() -> None:
    captured_holds(QUICK_NETWORK)


def test_the_pages_runs_are_those_of_the_quick_and_the_full_plan() -> None:
    for file, quick in ((QUICK, True), (FULL, False)):
        runs = {Run(each.mix, each.setting) for each in read_times(file)}
        assert runs == set(plan(all_mixes(), quick=quick))


def test_the_quick_study_s_times_are_among_the_full_one_s() -> None:
    assert set(quick_times()) <= set(read_times(FULL))


@pytest.mark.parametrize(
    ("name", "file", "figures"),
    [("network", QUICK, "figures"), ("network-full", FULL, "figures/full")],
)
def test_the_documentation_shows_what_the_study_gives(name: str, file: Path, figures: str) -> None:
    page = (STUDIES / f"{name}.md").read_text(encoding="utf-8")
    times = read_times(file)
    # The quick study plays no mix under any placement.
    placed, mixed = (
        (quick_placed(), []) if file == QUICK else (read_times(PLACED), read_times(PLACED_MIXES))
    )
    for paragraph in (*INTRODUCTION, coverage(times)):
        assert paragraph in page
    for section in sections_of(times, placed, mixed):
        assert section_markdown(section, figures) in page, section.title
        for figure in section.figures:
            assert (STUDIES / figures / f"{figure}.svg").exists()


def test_placement_decides_what_round_robin_gains() -> None:
    placed = read_times(PLACED)
    jobs = placed_jobs()
    known = {Run(each.mix, each.setting, each.placement) for each in placed}
    assert set(placed_plan(jobs, quick=True)) <= known == set(placed_plan(jobs))
    told = Placed(placed, STATEMENTS, read_times(PLACED_MIXES))
    words = "Subcomm3d, 1 per node: RR is faster than FCFS."
    assert told.holds_under(words) == "random-nodes"
    dense = "Kripke is indifferent to GPUs per node."
    assert Placed(quick_placed(), STATEMENTS).holds_under(dense) == "not measured"
    assert told.holds_under(dense) != "not measured"
    assert told.holds_under("The policy has no impact on Kripke.") == "all"
    brief = (STUDIES / "index.md").read_text(encoding="utf-8")
    assert told.counts() in " ".join(brief.split())


def test_what_neighbours_cost_is_told_by_mixes_under_every_placement() -> None:
    mixed = read_times(PLACED_MIXES)
    played = {Run(each.mix, each.setting, each.placement) for each in mixed}
    assert played == set(neighbour_plan(all_mixes()))
    # A linear placement with the first seed is that of the study's other tables.
    at_first = [each for each in mixed if each.placement == LINEAR]
    assert at_first
    assert set(at_first) <= set(quick_times())
    words = "At 8 per node AMG and Laghos lose more beside Stencil4d or Subcomm3d."
    alone = read_times(PLACED)
    assert Placed(alone, STATEMENTS).holds_under(words) == "not measured"
    assert Placed(alone, STATEMENTS, mixed).holds_under(words) != "not measured"
    inside = "On the dragonfly Subcomm3d of 32 and 64 gains at 8 per node, within one switch."
    assert Placed(alone, STATEMENTS, mixed).holds_under(inside) == "empty"


def test_a_placed_run_of_the_page_comes_out_again() -> None:
    each = next(it for it in read_times(PLACED) if it.placement.mapping == "random-nodes")
    jobs = [asdict(job) for job in placed_jobs()[each.mix]]
    assert replay_mix(asdict(each.setting), jobs, asdict(each.placement)) == [each.time]


def test_every_table_is_whole() -> None:
    for section in quick_network():
        for table in section.tables:
            assert table.rows, table.title
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
            assert len(set(table.columns)) == len(table.columns), table.title
            assert all(table.printed())


def test_the_findings_that_the_model_shows_hold() -> None:
    [table] = statements(Measured(quick_times())).tables
    verdicts = {row[1]: row[2] for row in table.rows}
    for words in (
        "Kripke is indifferent to GPUs per node.",
        "On the fat-tree Stencil4d and Subcomm3d are slower for most sizes at 4 and 8 per node.",
        "AMG slows down gradually, noticeably at 4 and 8.",
        "Stencil4d, 1 per node: the more messages are considered, the faster.",
        "The policy has no impact on Kripke.",
    ):
        assert verdicts[words] == "yes", words


def test_more_bandwidth_is_never_much_slower() -> None:
    for table in bandwidth(Measured(quick_times())).tables:
        for row in table.rows:
            numbers = [cell for cell in row if isinstance(cell, float)]
            steps = pairwise(numbers)
            assert all(more > 0.95 * less for less, more in steps), row


def test_a_place_for_runs_is_one_option() -> None:
    two = ("--workers", "2", "--dask", "tcp://127.0.0.1:1")
    assert "`--dask` is --workers ADDRESS now" in fails(2, "study", "network", "--quick", *two)


def test_the_runs_of_another_study_are_refused(tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_text('{"format":"linkwright sweep 1"}\n', encoding="utf-8")
    fails(2, "study", "network", "--quick", "--output", str(tmp_path))
