"""What Python callers get wrong is named in an error of the package, never in an OverflowError."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from linkwright import (
    AllocationError,
    Allocator,
    InputError,
    Job,
    LinkwrightError,
    Machine,
    Pattern,
    SimulationError,
    generate_jobs,
    read_jobs,
    simulate,
)

DGX1 = Machine.preset("dgx1-v100")
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
        (lambda: read_jobs("", healthy_gpus=-1), "healthy_gpus is -1"),
        (lambda: simulate(DGX1, [], unhealthy=[-1]), "an id of `unhealthy` is -1"),
        (lambda: Job("a", "gmm", 2).run_time(-1), "bandwidth is -1; give GB/s"),
        (lambda: Job("a", "gmm", 2).run_time(float("nan")), "bandwidth is NaN"),
        (lambda: Job("slow", "gmm", 2).run_time(0), "`slow` would run for more than 213 days"),
        (lambda: simulate(DGX1, [Job("a", "gmm", 1)] * 2), "two jobs are named `a`"),
    ],
)
def test_numbers_out_of_range_are_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises(SimulationError) as refused:
        call()
    assert said in str(refused.value)


def test_a_gpu_named_twice_is_said_to_be() -> None:
    with pytest.raises(AllocationError, match="GPU 0 is named twice"):
        Allocator(DGX1).score(Pattern("ring", 3), [0, 0, 1])


def test_a_state_is_of_one_machine_s_links() -> None:
    allocator = Allocator(DGX1)
    allocator.allocate("a", Pattern("ring", 2))
    saved = allocator.save()
    assert Allocator(DGX1, bandwidth_profile="data-sheet", state=saved).held == allocator.held
    changed = Machine.from_toml(DGX1.to_toml().replace("count = 2", "count = 1"))
    with pytest.raises(InputError) as refused:
        Allocator(changed, state=saved, state_file="state.json")
    assert str(refused.value).startswith("state.json:4:3: the state is of a machine whose GPUs")
    assert refused.value.value == json.loads(saved)["fingerprint"]


def test_gpus_on_nvlinks_alone_are_far_apart_over_the_host() -> None:
    machine = Machine.from_toml(PAIR)
    assert machine.proximity() == [["X", "SYS"], ["SYS", "X"]]
    for policy in ("baseline", "topology-aware", "greedy", "preserve"):
        match = Allocator(machine, policy).decide("a", Pattern("ring", 2))
        assert match is not None
        assert match.gpus == [0, 1]


def test_errors_hold_no_control_characters() -> None:
    with pytest.raises(LinkwrightError) as refused:
        Machine.import_text("\x1b]0;title\x07 hello")
    assert str(refused.value).isprintable()
