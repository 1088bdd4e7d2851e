"""Properties of the importers and of the live state, for any input that Hypothesis thinks of."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import linkwright
from linkwright import Allocator, LinkwrightError, Pattern, System
from linkwright.names import ImportFormatName, PatternName, WorkloadName

PASTES = sorted((Path(__file__).parents[2] / "examples" / "topologies").glob("*.txt"))
FORMATS = linkwright.network.import_format_names()


@given(text=st.text(), format=st.sampled_from([None, *FORMATS]))
def test_any_text_is_a_machine_or_an_error_with_a_place(
    text: str, format: ImportFormatName | None
) -> None:
    refused = None
    try:
        assert System.from_text(text, "paste.txt", format=format).gpu_count >= 1
    except linkwright.errors.InputError as error:
        refused = error
    if refused is not None:
        assert str(refused).startswith(f"paste.txt:{refused.line}:{refused.column}: ")
        assert refused.line >= 1
        assert refused.column >= 1
        assert refused.remedy


@pytest.mark.parametrize("paste", PASTES, ids=lambda path: path.stem)
@given(data=st.data())
def test_lines_that_are_lost_are_never_a_smaller_machine(paste: Path, data: st.DataObject) -> None:
    text = paste.read_text(encoding="utf-8")
    whole = System.from_text(text)
    lines = text.splitlines(keepends=True)
    start = data.draw(st.integers(0, len(lines) - 1), label="first lost line")
    stop = data.draw(st.integers(start + 1, len(lines)), label="first line after them")
    try:
        rest = System.from_text("".join(lines[:start] + lines[stop:]))
    except LinkwrightError:
        return
    assert rest.gpu_count == whole.gpu_count
    assert rest.renumbering(whole) is not None


@given(
    workloads=st.lists(st.sampled_from(linkwright.scenario.workload_names()), min_size=1, unique=True),
    seed=st.integers(0, 2**64 - 1),
    count=st.integers(0, 40),
    largest=st.integers(1, 16),
)
def test_a_generated_mix_survives_its_file(
    workloads: list[WorkloadName], seed: int, count: int, largest: int
) -> None:
    jobs = linkwright.scenario.generate_jobs(seed, count, largest, workloads=workloads)
    assert len(jobs) == count
    assert all(1 <= job.gpus <= largest and job.workload in workloads for job in jobs)
    assert jobs == linkwright.scenario.generate_jobs(seed, count, largest, workloads=workloads)
    if jobs:
        assert linkwright.scenario.jobs_from_text(linkwright.scenario.write_jobs(jobs)) == jobs


class LiveServer(RuleBasedStateMachine):
    """A server under any sequence of calls, beside a plain model of it."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = System("dgx1-v100")
        self.allocator = Allocator(self.machine, "preserve")
        self.held: dict[str, set[int]] = {}
        self.unhealthy: set[int] = set()

    @property
    def free(self) -> set[int]:
        return set(range(8)) - self.unhealthy - {g for gpus in self.held.values() for g in gpus}

    @rule(
        job=st.sampled_from("abcd"),
        shape=st.sampled_from(linkwright.allocation.pattern_names()),
        size=st.integers(1, 9),
        sensitive=st.booleans(),
    )
    def allocate(self, job: str, shape: PatternName, size: int, sensitive: bool) -> None:
        free = self.free
        try:
            match = self.allocator.allocate(job, Pattern(shape, size), sensitive=sensitive)
        except linkwright.errors.AllocationError:
            assert size > 8 or (job in self.held and size <= len(free))
            return
        assert (match is None) == (size > len(free))
        if match is not None:
            assert len(match.gpus) == len(set(match.gpus)) == size
            assert set(match.gpus) <= free
            self.held[job] = set(match.gpus)

    @rule(job=st.sampled_from("abcd"))
    def release(self, job: str) -> None:
        if job in self.held:
            assert set(self.allocator.release(job)) == self.held.pop(job)
        else:
            with pytest.raises(linkwright.errors.AllocationError):
                self.allocator.release(job)

    @rule(gpu=st.integers(0, 9), healthy=st.booleans())
    def mark(self, gpu: int, healthy: bool) -> None:
        mark = self.allocator.mark_healthy if healthy else self.allocator.mark_unhealthy
        if gpu >= 8:
            with pytest.raises(linkwright.errors.AllocationError):
                mark(gpu)
            return
        mark(gpu)
        (self.unhealthy.discard if healthy else self.unhealthy.add)(gpu)

    @rule()
    def save_and_restore(self) -> None:
        self.allocator = Allocator(self.machine, "preserve", state=self.allocator.save())

    @invariant()
    def it_is_what_the_model_says(self) -> None:
        assert set(self.allocator.free) == self.free
        assert set(self.allocator.unhealthy) == self.unhealthy
        assert {job: set(gpus) for job, gpus in self.allocator.held.items()} == self.held


LiveServer.TestCase.settings = settings(max_examples=50, stateful_step_count=30)
TestLiveServer = LiveServer.TestCase
