"""The memory study: complete, what its page says, and that its runs are those of today's model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from linkwright.gpu import GpuModel
from linkwright.scenario import choice_names
from linkwright.studies.memory.checks import Statement, ViewOf, change, ratio
from linkwright.studies.memory.measured import Measured, Run, View, read_runs, runs_csv
from linkwright.studies.memory.published import published
from linkwright.studies.memory.runs import measure, model_with, perform
from linkwright.studies.memory.settings import (
    ABLATION,
    BASE,
    BENCHMARKS,
    LEASES,
    SYSTEMS,
    XTREME,
    Setting,
    plan,
    wired,
)
from linkwright.studies.memory.statements import STATEMENTS, statements
from linkwright.studies.memory.study import NEEDS, sections_of, study_of
from linkwright.studies.memory.wirings import HOPS, wirings
from linkwright.sweeps import local_threads

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "docs" / "studies" / "data" / "memory.csv"
PAGE = ROOT / "docs" / "studies" / "memory.md"


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return read_runs(RUNS)


def test_a_section_alone_is_that_of_the_page_by_the_runs_that_it_plays(runs: list[Run]) -> None:
    for name, parts in NEEDS.items():
        played = set(plan(parts=parts))
        own = [(setting, result) for setting, result in runs if setting in played]
        assert sections_of(own, name) == sections_of(runs, name) != [], name


def test_the_page_is_what_the_runs_say(runs: list[Run]) -> None:
    assert study_of(runs).to_markdown() == PAGE.read_text(encoding="utf-8")
    assert runs_csv(runs) == RUNS.read_text(encoding="utf-8")


def test_each_section_of_a_figure_draws_it(runs: list[Run]) -> None:
    sections = study_of(runs).sections
    of_figures = [it for it in sections if it.title.startswith("Fig")]
    assert len(of_figures) == 7
    assert [it.title for it in of_figures if len(it.figures) != 1] == []
    drawn = [name for it in sections for name in it.figures]
    assert len(set(drawn)) == len(drawn)
    assert [name for name in drawn if not (PAGE.parent / "figures" / f"{name}.svg").exists()] == []
    assert [it.title for it in study_of([]).sections if it.figures] == []


def test_statements_are_told_apart_and_each_was_checked(runs: list[Run]) -> None:
    says = Counter(statement.says for statement in STATEMENTS)
    assert max(says.values()) == 1
    rows = statements(Measured(runs)).tables[0].rows
    assert [row for row in rows if row[5] == "not run"] == []
    assert {row[5] for row in rows} == {"yes", "no"}
    # Whatever parts is explained.
    parted = [row[1] for row in rows if "no" in (row[5], row[7])]
    text = "\n".join(statements(Measured(runs)).reasons)
    assert [says for says in parted if str(says) not in text] == []


def test_without_runs_nothing_is_said_to_hold() -> None:
    rows = statements(Measured([])).tables[0].rows
    at_rest = [row for row in rows if str(row[0]) in ("section 4.2.7", "section 1.4.3")]
    assert len(at_rest) == 10
    assert {row[5] for row in rows if row not in at_rest} == {"not run"}
    assert {row[2] for row in rows} == {""}


def test_a_statement_is_of_the_larger_size_that_was_run(runs: list[Run]) -> None:
    def told(kept: list[Run], says: str) -> tuple[str, ...]:
        rows = statements(Measured(kept)).tables[0].rows
        return next(tuple(map(str, row[2:5])) for row in rows if row[1] == says)

    of_mt = "DRAM over RDMA transactions of mt"
    assert told(runs, of_mt) == ("4,096", "2.66", "5.33")
    slow = "mean speed-up of shared memory over RDMA"
    # Without one benchmark's footprint under one of the two systems, its smaller size counts.
    left = [
        (setting, result)
        for setting, result in runs
        if (setting.part, setting.benchmark, setting.memory) != ("footprints", "mt", "rdma")
    ]
    assert told(left, of_mt) == ("2,048", "2.66", "2.67")
    assert "mt 2,048" in told(left, slow)[0]
    assert "mt" not in told(runs, slow)[0]
    small = [(setting, result) for setting, result in runs if setting.part != "footprints"]
    assert told(small, slow)[0].startswith("bfs 524,288; fir 2,097,152; mm 1,024; mt 2,048; relu")


def test_a_number_holds_near_the_published_one_and_no_further() -> None:
    def verdict(statement: Statement) -> bool | None:
        return statement.check(View(Measured([]))).holds

    def found_to_be(value: float) -> ViewOf:
        return lambda _: value

    near = [verdict(ratio("", "", 2.0, found_to_be(value))) for value in (1.81, 2.19)]
    far = [verdict(ratio("", "", 2.0, found_to_be(value))) for value in (1.79, 2.21)]
    assert (near, far) == ([True, True], [False, False])
    changes = {1.2: 0.25, 1.31: 0.25, 1.33: 0.25, 0.8: 0.25, 0.992: -0.001, 1.02: -0.001}
    found = [verdict(change("", "", said, found_to_be(value))) for value, said in changes.items()]
    assert found == [True, True, False, False, True, False]


@pytest.mark.parametrize("quick", [True, False])
def test_the_plan_has_every_figure(quick: bool) -> None:
    settings = plan(quick=quick)
    assert len(settings) == len(set(settings))
    parts = {each.part for each in settings}
    assert parts >= {"systems", "bandwidth", "gpus", "xtreme", "leases", "ways"}
    assert (parts >= {"footprints", "strides", "small"}) is not quick
    systems = {(it.memory, it.benchmark) for it in settings if it.part == "systems"}
    assert systems == {(memory, name) for memory in SYSTEMS for name in BENCHMARKS}
    leases = {(each.read_lease, each.write_lease) for each in settings if each.part == "leases"}
    assert leases == set(LEASES)
    assert {each.gpus for each in settings if each.part == "gpus"} == {4, 8, 16}
    bandwidths = {4 * each.bandwidth for each in settings if each.part == "bandwidth"}
    assert bandwidths == {128, *published()["fig_4_6"]["bandwidths"]}
    assert all(each.data == (each.part == "xtreme") for each in settings)
    # Whatever memory systems there are come into Table 1.1 by their names.
    names = {each for each in choice_names()["memory_system"] if not each.endswith("-printed")}
    assert {each.memory for each in settings if each.part == "ways"} == names
    if not quick:
        sizes = {each.size for each in settings if each.part == "xtreme"}
        assert sizes == {192, 384, 768, 1536, 24576}


def test_a_sweep_of_runs_is_resumed_and_its_rows_are_those_of_the_page(
    runs: list[Run], tmp_path: Path
) -> None:
    kept = dict(runs)
    cheap = [
        Setting("ways", "chase", 4096, "rdma"),
        Setting("ways", "chase", 4096, "tsm-wt-c-rc"),
        Setting("xtreme", "xtreme3", 192, "tsm-wt-c-sc", data=True),
        Setting("xtreme", "xtreme3", 192, "tsm-wt-c-rc-printed", data=True),
        Setting("leases", "xtreme2", 384, "tsm-wt-c-rc", read_lease=20, write_lease=5),
    ]
    file = tmp_path / "runs.jsonl"
    done = perform(cheap[:1], workers=local_threads(1), checkpoint=file)
    assert dict(done.runs) == {cheap[0]: kept[cheap[0]]}
    for setting in cheap[1:]:
        fields = {name: value for name, value in vars(setting).items() if name != "part"}
        found = measure(**fields)
        assert found == vars(kept[setting]), setting
    again = perform(cheap[:1], workers=local_threads(1), checkpoint=file)
    assert again.runs == done.runs


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_each_benchmark_runs_as_when_the_page_was_written(runs: list[Run], benchmark: str) -> None:
    small = [each for each, _ in runs if (each.part, each.benchmark) == ("small", benchmark)]
    assert [(each.memory, each.gpus) for each in small] == [("rdma", 4), ("tsm-wt-c-rc", 8)]
    kept = dict(runs)
    for setting in small:
        fields = {name: value for name, value in vars(setting).items() if name != "part"}
        assert measure(**fields) == vars(kept[setting]), setting


def test_all_switches_are_those_of_the_gpu_s_file(runs: list[Run]) -> None:
    together = "evictions tracker leases locks"
    assert model_with(together) == GpuModel.find("r9-nano")
    models = {switches: model_with(switches).to_toml() for switches in (*ABLATION, BASE)}
    assert len(set(models.values())) == len(models)
    # A run with other switches is played again.
    kept = dict(runs)
    setting = Setting("xtreme", "xtreme3", 384, "tsm-wt-c-rc", data=True, switches=together)
    fields = {name: value for name, value in vars(setting).items() if name != "part"}
    assert measure(**fields) == vars(kept[setting])


@pytest.mark.parametrize(("gpus", "columns"), [(4, 2), (8, 4), (16, 4)])
def test_hops_of_a_wiring_are_those_that_are_counted(gpus: int, columns: int) -> None:
    homes = [controller * gpus // 8 for controller in range(8)]

    def counted(links: Callable[[int, int], int]) -> float:
        return fmean(links(gpu, home) for gpu in range(gpus) for home in homes)

    def around(gpu: int, home: int) -> int:
        return 2 + min((gpu - home) % gpus, (home - gpu) % gpus)

    def across(gpu: int, home: int) -> int:
        rows, sides = abs(gpu // columns - home // columns), abs(gpu % columns - home % columns)
        return 2 + rows + sides

    assert counted(around) == HOPS[gpus]["ring"]
    assert counted(across) == HOPS[gpus]["mesh"]
    assert counted(lambda gpu, home: 2 if gpu == home else 4) == HOPS[gpus]["clos"]
    halves = counted(lambda gpu, home: 2 + (gpu * 2 // gpus != home * 2 // gpus))
    assert halves == HOPS[gpus]["interposers"]


def test_a_wiring_s_runs_are_those_of_today_and_shorter_ways_are_worth_more(
    runs: list[Run],
) -> None:
    kept = dict(runs)
    setting = Setting("wirings", "mm", 128, "tsm-wt-c-rc", switches=wired("ring", narrow=True))
    fields = {name: value for name, value in vars(setting).items() if name != "part"}
    assert measure(**fields) == vars(kept[setting])
    section = wirings(Measured(runs))
    assert section is not None
    rows = {(row[0], row[1]): float(str(row[4])) for row in section.tables[0].rows}
    assert rows["crossbar", ""] > rows["one switch", ""] > max(list(rows.values())[2:])
    # Fewer bytes across the middle of the package are never worth more.
    assert all(rows[name, "8"] < rows[name, "32"] for name, bandwidth in rows if bandwidth == "8")
    for table in section.tables[1:]:
        of = {(row[0], row[1]): float(str(row[4])) for row in table.rows}
        assert set(list(of)[:2]) == {("one switch", ""), ("crossbar", "")}
        assert of["crossbar", ""] > of["one switch", ""] > max(list(of.values())[2:])
        assert all(of[name, "8"] < of[name, "32"] for name, bandwidth in of if bandwidth == "8")
    # Without runs over a wiring nothing is said of any.
    assert wirings(Measured([run for run in runs if run[0].part != "wirings"])) is None
    with pytest.raises(ValueError, match="there is no switch 'star'; use one of evictions, tr"):
        model_with("locks star")


def test_numbers_come_back_as_they_were_measured(runs: list[Run]) -> None:
    measured = Measured(runs)
    over = measured.speedups("tsm-wb-nc-rc", "rdma")
    assert set(over) == set(BENCHMARKS)
    one = measured.result("systems", "relu", "rdma")
    assert one is not None
    # Each line is read, written, copied in and out once; three of four are another GPU's.
    assert one.dram_with_copies / one.remote == pytest.approx(8 / 3)
    slower = [
        (setting, replace(result, kernel_time=2 * result.kernel_time))
        if setting.memory == "tsm-wb-nc-rc"
        else (setting, result)
        for setting, result in runs
    ]
    twice = Measured(slower).speedups("tsm-wb-nc-rc", "rdma")
    assert twice["mm"] == pytest.approx(over["mm"] / 2)


def test_answers_are_right_where_memory_is_coherent(runs: list[Run]) -> None:
    stressed = {
        (each.benchmark, each.memory): result.correct
        for each, result in runs
        if each.part == "xtreme" and each.size == 192
    }
    for benchmark in XTREME:
        for kind in ("rc", "sc"):
            assert stressed[benchmark, f"tsm-wt-c-{kind}"] is True
    assert stressed["xtreme3", "tsm-wt-nc-rc"] is False
    assert stressed["xtreme3", "tsm-wt-c-rc-printed"] is False


def test_what_mending_costs_is_told_where_it_was_decided(runs: list[Run]) -> None:
    kept = dict(runs)

    def over_printed(part: str, order: str) -> dict[str, float]:
        mended = [
            each
            for each, _ in runs
            if (each.part, each.memory, each.switches) == (part, f"tsm-wt-c-{order}", BASE)
        ]
        printed = {each: replace(each, memory=f"{each.memory}-printed") for each in mended}
        return {
            f"{each.benchmark} {each.size}": kept[each].time / kept[printed[each]].time
            for each in mended
        }

    def ends(part: str, order: str) -> str:
        found = over_printed(part, order).values()
        return f"{min(found):.2f} to {max(found):.2f}"

    relaxed = over_printed("systems", "rc")
    least, most = (choose(relaxed, key=lambda name: relaxed[name]) for choose in (min, max))
    sentences = [
        f"take {fmean(relaxed.values()):.2f} times as long mended as printed in the mean under RC",
        f"({relaxed[least]:.2f}, {least.split()[0]}, to {relaxed[most]:.2f}, {most.split()[0]})",
        f"and {fmean(over_printed('systems', 'sc').values()):.2f} under SC",
        f"{ends('xtreme', 'rc')} times under RC and {ends('xtreme', 'sc')} under SC",
    ]
    decision = (ROOT / "docs" / "decisions" / "0045-mgcc-mended.md").read_text(encoding="utf-8")
    told = " ".join(decision.split())
    assert [sentence for sentence in sentences if sentence not in told] == []
