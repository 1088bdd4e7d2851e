"""`linkwright jobs`."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from commands import fails, linkwright, parsed

from linkwright import Allocator, Pattern, System
from linkwright.allocation import profile_sensitivity
from linkwright.errors import AllocationError
from linkwright.scenario import (
    MOST_JOBS,
    Job,
    generate_jobs,
    jobs_from_text,
    workload_names,
    write_jobs,
)
from linkwright.cli.jobs import PIECE, _csv, _in_pieces
from linkwright.files import LARGEST_INPUT


def test_a_mix_reads_back_as_it_was_generated(tmp_path: Path) -> None:
    words = ["jobs", "generate", "--seed", 7, "--count", 20, "--max-gpus", 4]
    printed = linkwright(*words).stdout
    assert jobs_from_text(printed) == generate_jobs(7, 20, 4)
    file = tmp_path / "jobs.csv"
    assert linkwright(*words, "--output", file).stdout == ""
    assert file.read_text(encoding="utf-8") == printed
    rows = parsed(*words)
    assert [row["job"] for row in rows] == [job.name for job in generate_jobs(7, 20, 4)]


def test_workloads_and_arrivals_are_as_asked_for() -> None:
    words = ["jobs", "generate", "--workload", "gmm", "--workload", "vgg-16"]
    rows = parsed(*words, "--mean-interarrival", 30, "--count", 50)
    assert {row["workload"] for row in rows} == {"gmm", "vgg-16"}
    assert rows[-1]["arrival"] > 0


def test_patterns_are_mixed_where_they_are_asked_for() -> None:
    words = ["jobs", "generate", "--count", 40]
    assert {row["pattern"] for row in parsed(*words)} == {"ring"}
    rows = parsed(*words, "--pattern", "star", "--pattern", "chain")
    assert {row["pattern"] for row in rows} == {"star", "chain"}
    assert "did you mean `star`?" in fails(2, *words, "--pattern", "stra")


def test_a_job_has_edges_of_its_own() -> None:
    edges = Pattern.with_shares(3, [(0, 1, 1, 1), (1, 2, 4, 2)])
    job = Job("a", "vgg-16", 3, edges=edges)
    assert (job.pattern, job.edges) == ("custom", edges)
    assert jobs_from_text(write_jobs([job])) == [job]
    assert pickle.loads(pickle.dumps(job)) == job
    ring = Job("a", "vgg-16", 3, edges=Pattern("ring", 3))
    assert (ring.pattern, ring.edges) == ("ring", None)
    for gpus, pattern in ((4, "ring"), (3, "star")):
        with pytest.raises(AllocationError, match="edges between 3 GPUs for a job of"):
            Job("a", "vgg-16", gpus, pattern=pattern, edges=edges)  # type: ignore[arg-type]


def test_a_pattern_of_copies_has_ends_of_its_own() -> None:
    allocator = Allocator(System("dgx1-v100"))
    chain = Pattern("chain", 4)
    ends = allocator.pattern_ends(chain)
    assert ends is not None
    least, most = (allocator.score(chain, gpus).effective_bandwidth for gpus in ends)
    decided = allocator.decide("a", chain)
    assert decided is not None
    assert most == decided.effective_bandwidth
    assert least is not None
    assert most is not None
    assert least < most / 2
    best, worst, sensitive = profile_sensitivity(
        System("dgx1-v100"), Job("a", "vgg-16", 4, pattern="chain")
    )
    assert sensitive
    assert worst > best
    assert allocator.pattern_ends(Pattern("chain", 9)) is None


def test_the_workloads_are_listed() -> None:
    assert [row["workload"] for row in parsed("jobs", "workloads")] == workload_names()
    assert "vgg-16" in linkwright("jobs", "workloads").stdout


@pytest.mark.parametrize(
    "words",
    [
        ["--count", 0],
        ["--count", 10**6 + 1],
        ["--max-gpus", 0],
        ["--seed", -1],
        ["--seed", 2**64],
        ["--count", "many"],
        ["--workload", "vgg"],
        ["--mean-interarrival", -1],
        ["--mean-interarrival", "nan"],
        ["--mean-interarrival", "inf"],
    ],
    ids=lambda words: "=".join(map(str, words)),
)
def test_a_number_out_of_range_is_bad_usage(words: list[object]) -> None:
    assert str(words[0]) in fails(2, "jobs", "generate", *words)


def test_a_near_miss_is_answered_with_the_name() -> None:
    assert "did you mean `vgg-16`?" in fails(2, "jobs", "generate", "--workload", "vgg16")


def test_a_long_mix_is_written_in_pieces_that_make_one_file(tmp_path: Path) -> None:
    words = ["jobs", "generate", "--seed", 1, "--count", PIECE + 5]
    jobs = generate_jobs(1, PIECE + 5)
    assert linkwright(*words).stdout == write_jobs(jobs)
    file = tmp_path / "jobs.csv"
    rows = parsed(*words, "--output", file)
    assert file.read_text(encoding="utf-8") == write_jobs(jobs)
    assert [row["job"] for row in rows] == [job.name for job in jobs]


def test_the_longest_mix_can_be_read_back() -> None:
    row = len(write_jobs([Job("job-1000000", "inception-v3", 128, arrival=0.1)]).splitlines()[1])
    assert (row + len("9999999.123456789")) * MOST_JOBS <= LARGEST_INPUT


def test_the_writing_is_told_of() -> None:
    seen: list[tuple[str, int, int]] = []
    _in_pieces(generate_jobs(0, PIECE + 1), _csv, lambda *at: seen.append(at))
    assert seen == [("jobs written", PIECE, PIECE + 1), ("jobs written", PIECE + 1, PIECE + 1)]
