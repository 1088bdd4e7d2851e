"""Tests that callers' mistakes are named in an error of the package, never an OverflowError."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from linkwright import Allocator, LinkwrightError, Pattern, System, plan
from linkwright.allocation import published_effective_bandwidth
from linkwright.errors import AllocationError, InputError, MachineError, SimulationError
from linkwright.network import ProgramBuilder, read_fabric, read_program, read_system
from linkwright.runs.scenarios import read_scenario_file
from linkwright.scenario import Job, Scenario, generate_jobs, jobs_from_text, play_jobs

DGX1 = System("dgx1-v100")
PAIRED = Pattern("ring", 2)
# No type checker lets a name through that no choice has.
UNKNOWN: Any = "none-such"
PAIR = """name = "pair"
[[device]]
kind = "gpu"
names = ["A", "B"]
[[link]]
kind = "nvlink2"
between = [["A", "B"]]
"""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Job("a", "gmm", -1), "gpus is -1; give 0 to 4294967295"),
        (lambda: Job("a", "gmm", 2**32), "gpus is 4294967296"),
        (lambda: Job("a", "gmm", 1, iterations=-3), "iterations is -3"),
        (lambda: generate_jobs(-7), "seed is -7"),
        (lambda: generate_jobs(count=-1), "count is -1"),
        (lambda: generate_jobs(max_gpus=-2), "max_gpus is -2"),
        (lambda: jobs_from_text("", healthy_gpus=-1), "healthy_gpus is -1"),
        (lambda: play_jobs(DGX1, [], unhealthy=[-1]), "an id of `unhealthy` is -1"),
        (lambda: Job("a", "gmm", 2).run_time(-1), "bandwidth is -1; give GB/s"),
        (lambda: Job("a", "gmm", 2).run_time(float("nan")), "bandwidth is NaN"),
        (lambda: Job("slow", "gmm", 2).run_time(0), "`slow` would run for more than 213 days"),
        (lambda: play_jobs(DGX1, [Job("a", "gmm", 1)] * 2), "two jobs are named `a`"),
    ],
)
def test_numbers_out_of_range_are_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises(SimulationError) as refused:
        call()
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Pattern("ring", -1), "a pattern of -1 GPUs cannot be placed; ask for 1 to 65536"),
        (lambda: Pattern("all-to-all", 2**70), "cannot be placed; ask for 1 to 1024"),
        (lambda: Pattern.from_edges(-1, []), "a pattern of -1 GPUs"),
        (lambda: Pattern.from_edges(2, [(-1, 0)]), "edge -1-0 does not join two"),
        (lambda: Pattern.from_edges(2, [(0, 2**65)]), "vertices from 0 to 1"),
        (lambda: Allocator(DGX1).score(PAIRED, [-1, 2]), "no GPU -1; the machine has GPUs 0 to 7"),
        (lambda: Allocator(DGX1).best_placement(PAIRED, [2**70, 2]), "the machine has GPUs 0 to 7"),
        (lambda: Allocator(DGX1).sound_bandwidth([-1, 2]), "there is no GPU -1"),
        (lambda: Allocator(DGX1).mark_unhealthy(-1), "there is no GPU -1"),
        (lambda: Allocator(DGX1).mark_healthy(8), "there is no GPU 8"),
        (lambda: Allocator(DGX1).explain("a", PAIRED, limit=-1), "limit is -1; give 0 to"),
        (lambda: Allocator(DGX1).measure_decision(PAIRED, repeats=-1), "repeats is -1"),
        (lambda: published_effective_bandwidth(-1, 0, 0), "double is -1"),
    ],
)
def test_ids_and_counts_of_allocation_are_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises(AllocationError) as refused:
        call()
    assert said in str(refused.value)


def test_several_servers_have_no_links_that_are_scored() -> None:
    pair = System(DGX1, 2, network="100 Gb/s")
    with pytest.raises(MachineError, match=r"on different servers.*give the machine of one"):
        pair.gpu_matrix()
    allocator = Allocator(pair)
    for call in (
        lambda: allocator.score(Pattern("ring", 2), [7, 8]),
        lambda: allocator.best_placement(Pattern("ring", 2), [7, 8]),
        lambda: allocator.sound_bandwidth([7, 8]),
    ):
        with pytest.raises(AllocationError, match=r"GPU 7 is in node0, and GPU 8 in node1; give"):
            call()
    with pytest.raises(AllocationError, match=r"servers_wanted is 0; give 1 or more, or None"):
        allocator.decide("a", Pattern("ring", 2), servers_wanted=0)
    nodes = System({"gpus": 4}, network="torus")
    with pytest.raises(MachineError, match=r"wiring nobody describes; give it a `server`"):
        Allocator(nodes)
    with pytest.raises(MachineError, match="xgmi_links is -1"):
        System.from_text("", xgmi_links=-1)


def test_a_gpu_named_twice_is_said_to_be() -> None:
    with pytest.raises(AllocationError, match="GPU 0 is named twice"):
        Allocator(DGX1).score(Pattern("ring", 3), [0, 0, 1])


def test_a_state_is_of_one_machine_s_links() -> None:
    allocator = Allocator(DGX1)
    allocator.allocate("a", Pattern("ring", 2))
    saved = allocator.save()
    assert Allocator(DGX1, bandwidth_profile="data-sheet", state=saved).held == allocator.held
    changed = System.from_text(DGX1.to_toml().replace("count = 2", "count = 1"))
    with pytest.raises(InputError) as refused:
        Allocator(changed, state=saved, state_file="state.json")
    assert str(refused.value).startswith("state.json:4:3: the state is of a machine whose GPUs")
    assert refused.value.value == json.loads(saved)["fingerprint"]


def test_gpus_on_nvlinks_alone_are_far_apart_over_the_host() -> None:
    machine = System.from_text(PAIR)
    assert machine.proximity() == [["X", "SYS"], ["SYS", "X"]]
    for policy in ("baseline", "topology-aware", "greedy", "preserve"):
        match = Allocator(machine, policy).decide("a", Pattern("ring", 2))
        assert match is not None
        assert match.gpus == [0, 1]


def test_errors_hold_no_control_characters() -> None:
    calls: list[Callable[[], object]] = [
        lambda: System.from_text("\x1b]0;title\x07 hello"),
        lambda: System("\x1b[2J"),
        lambda: Allocator(DGX1).release("a\x1b[2J"),
        lambda: Allocator(DGX1).allocate("a\nb", Pattern("ring", 9)),
        lambda: Pattern("\x07", 2),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(LinkwrightError) as refused:
            call()
        assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("call", "problem", "remedy"),
    [
        (lambda: System("dgx9"), "there is no preset `dgx9`", "use one of"),
        (lambda: System("dgx1-v100", servers=0), "servers is 0", "give 1 to"),
        (
            lambda: read_system("dgx9"),
            "there is neither a preset nor a file",
            "did you mean `dgx2`?",
        ),
        (
            lambda: read_fabric("tree"),
            "there is neither a kind of network",
            "did you mean `fat-tree`? the kinds are",
        ),
        (lambda: Job("a", "gmm", -1), "gpus is -1", "give 0 to 4294967295"),
        (lambda: Job("a", UNKNOWN, 1), "there is no workload `none-such`", "use one of"),
        (lambda: play_jobs(DGX1, [Job("a", "gmm", 1)] * 2), "two jobs are named", "give each job"),
        (lambda: Pattern(UNKNOWN, 2), "there is no pattern `none-such`", "use one of ring, "),
        (lambda: Pattern("ring", 0), "a pattern of 0 GPUs cannot be placed", "ask for 1 to 65536"),
        (lambda: Allocator(DGX1, UNKNOWN), "there is no policy `none-such`", "use one of baseline"),
        (lambda: Allocator(DGX1).release("a"), "job `a` holds no GPU", "release each job once"),
        (lambda: plan(DGX1, [0], "broadcast"), "a collective needs at least two GPUs", "name at"),
        (lambda: plan(DGX1, [0, 9], "broadcast"), "there is no GPU 9", "use GPUs 0 to 7"),
        (lambda: plan(DGX1, [0, 1], "all-gather", root=0), "all-gather has no root", "leave the"),
        (lambda: read_program("ring"), "there is neither an application", "the applications are"),
        (lambda: read_program("kripke"), "`kripke` needs a number of ranks", "give it, such as 64"),
        (lambda: ProgramBuilder(0), "ranks is 0", "give 1 to"),
        (
            lambda: read_scenario_file("none.toml"),
            "there is no file `none.toml`",
            "look at the path",
        ),
    ],
)
def test_what_would_work_is_a_field(call: Callable[[], object], problem: str, remedy: str) -> None:
    with pytest.raises(LinkwrightError) as refused:
        call()
    error = refused.value
    assert error.remedy is not None
    assert error.problem.startswith(problem)
    assert error.remedy.startswith(remedy)
    assert "; " not in error.problem
    # The text says both, and so does what another process is sent.
    assert str(error).endswith(f"; {error.remedy}")
    sent = pickle.loads(pickle.dumps(error))
    assert type(sent) is type(error)
    assert (sent.problem, sent.remedy, str(sent)) == (error.problem, error.remedy, str(error))


def test_an_error_for_which_nothing_is_known_says_the_problem_alone() -> None:
    error = SimulationError("it rains")
    assert error.remedy is None
    assert str(error) == "it rains"
    assert str(InputError("a.csv", 1, 2, "no number", "x", "write 3")) == (
        "a.csv:1:2: no number: `x`; write 3"
    )


@pytest.mark.parametrize(
    ("run_time", "fidelity", "refused"),
    [("played", "flow", True), ("played", "fluid", False), ("formula", None, False)],
)
def test_more_iterations_than_are_played_are_refused_before_the_run(
    run_time: str, fidelity: str | None, refused: bool
) -> None:
    text = f'[machine]\npreset = "dgx1-v100"\n[jobs]\nfile = "j.csv"\nrun_time = "{run_time}"\n'
    head = "" if fidelity is None else f'fidelity = "{fidelity}"\n'
    scenario = Scenario.from_text(head + text, "s.toml")
    jobs = b"job,workload,gpus,iterations\na,gmm,1,4294967295\nb,gmm,1,4294967296\n"
    if not refused:
        assert len(scenario.build({"j.csv": jobs})[1]) == 2
        return
    with pytest.raises(InputError) as error:
        scenario.build({"j.csv": jobs})
    assert (error.value.file, error.value.line, error.value.column) == ("j.csv", 3, 9)
    assert error.value.value == "4294967296"
    assert error.value.remedy.startswith("write 1 to 4294967295")
    many = [Job("a", "gmm", 1, iterations=2**32)]
    with pytest.raises(
        SimulationError,
        match="`a` has 4294967296 iterations, but a played job can have 1 to 4294967295",
    ):
        play_jobs(DGX1, many, run_time="played")
