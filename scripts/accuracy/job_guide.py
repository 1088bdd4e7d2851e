"""Writes the guide's table of measured jobs from the stored answers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from accuracy.jobs import Job, jobs, stored
from accuracy.markdown import table
from accuracy.scores import answered

TITAN = "torchtitan"
FOUNDRY = "llm-foundry"


def measured_jobs_table() -> str:
    """Gives a row to each kind of job, with what was measured and what is predicted."""
    eager, compiled, *_ = (job for job in jobs() if job.source == TITAN)
    larger = [job for job in jobs() if job.source == TITAN and job.seconds is None]
    rows = [
        [
            "Llama 3.1 8B, FSDP on 8 H100s of 96 GB and 500 W, batch 2 a GPU, `selective-op` "
            "(torchtitan)",
            f"{eager.reserved} GiB reserved, {rate(eager, eager.seconds)} tokens a second and GPU",
            said(eager),
        ],
        [
            "the same, compiled",
            f"{compiled.reserved} GiB, {rate(compiled, compiled.seconds)}",
            said(compiled),
        ],
        [
            f"that on {' and '.join(str(job.gpus) for job in larger)} GPUs",
            "slower than on 8",
            " and ".join(rate(job, stored()[job.name].seconds) for job in larger),
        ],
        *(
            [f"MPT, FSDP on {system} (llm-foundry, {count(own)})", "time of a step", spread(own)]
            for system, own in by_system(FOUNDRY).items()
        ),
        of_mlperf("Llama 2 70B, LoRA", "llama-2-70b"),
        *(
            [
                f"{name} by {job.options['layout']} on {job.gpus} {job.system}s (MLPerf)",
                f"{job.seconds:.4g} s a step",
                f"{stored()[job.name].seconds:.4g} s",
            ]
            for name, model in (("Llama 3.1 405B", "llama-3.1-405b"), ("GPT-3", "gpt-3-175b"))
            for job in of_model("MLPerf", model)
        ),
        of_mlperf("Llama 3.1 8B", "llama-3.1-8b"),
        *(
            [f"`{model}` (Megatron-Bridge, {count(own)})", "time of a step", spread(own)]
            for model, own in by_model("Megatron-Bridge").items()
        ),
        *(
            [f"`{model}`, 8 B200s (SimuMax, {count(own)})", "time of a step", spread(own)]
            for model, own in by_model("SimuMax").items()
        ),
        *(own_run(job) for job in jobs() if job.source == "our own runs"),
    ]
    return table(["job", "measured", "Linkwright"], rows, in_words=True)


def own_run(job: Job) -> list[str]:
    """Gives the row of a run of ours on one GPU."""
    options = job.options
    again = options.get("recompute", "none")
    how = f"{options['batch']} by {options['tokens']:,} tokens, recompute {again}"
    predicted = stored()[job.name].seconds
    assert job.seconds is not None
    assert predicted is not None
    return [
        f"Llama 3.2 1B on one H100, eager, {how} (our own run)",
        f"{job.seconds * 1e3:.1f} ms",
        f"{predicted * 1e3:.1f} ms",
    ]


def questions_table() -> str:
    """Counts by source how many rows can be asked, and how many get an answer."""
    groups: dict[str, list[Job]] = {}
    for job in jobs():
        is_measured = job.seconds is not None or job.source == "MLPerf"
        groups.setdefault(f"{job.source}{'' if is_measured else ', not measured'}", []).append(job)
    rows = [question_row(name, own) for name, own in groups.items()]
    return table(
        ["rows", "all", "can be asked", "get an answer", "share"],
        [*rows, question_row("all", jobs())],
    )


def question_row(name: str, own: Sequence[Job]) -> list[str]:
    """Gives the cells of a source."""
    asked, found = answered(own, stored())
    return [name, str(len(own)), str(asked), str(found), f"{found / asked:.0%}" if asked else ""]


def rate(job: Job, seconds: float | None) -> str:
    """Gives the tokens a second of each GPU."""
    options = job.options
    assert seconds is not None
    return f"{options['batch'] * options['tokens'] / seconds / job.gpus:,.0f}"


def said(job: Job) -> str:
    """Gives the reserved memory and the rate that are predicted."""
    answer = stored()[job.name]
    return f"{answer.reserved:.1f} GiB; {rate(job, answer.seconds)}"


def scored(source: str) -> list[Job]:
    """Lists the rows of a source that count in scores."""
    return [
        job
        for job in jobs()
        if job.source == source
        and job.seconds is not None
        and not job.left_out
        and stored()[job.name].seconds is not None
    ]


def of_model(source: str, model: str) -> list[Job]:
    """Lists the scored rows of a model."""
    return [job for job in scored(source) if job.model == model]


def by_system(source: str) -> dict[str, list[Job]]:
    """Groups the scored rows of a source by GPU."""
    found: dict[str, list[Job]] = {}
    for job in scored(source):
        found.setdefault(job.system, []).append(job)
    return found


def by_model(source: str) -> dict[str, list[Job]]:
    """Groups the scored rows of a source by model."""
    return {model: of_model(source, model) for model in {job.model: 0 for job in scored(source)}}


def of_mlperf(name: str, model: str) -> list[str]:
    """Gives the row of a model of MLPerf."""
    own = of_model("MLPerf", model)
    systems = ", ".join(sorted({job.system for job in own}))
    return [f"{name} on {systems} (MLPerf, {count(own)})", "time of a step", spread(own)]


def count(own: Sequence[Job]) -> str:
    """Counts rows."""
    return f"{len(own)} row{'s' if len(own) > 1 else ''}"


def spread(own: Sequence[Job]) -> str:
    """Says how many times the measured time is predicted."""
    times = sorted((stored()[job.name].seconds or 0.0) / (job.seconds or 1.0) for job in own)
    if len(times) == 1:
        return f"{times[0]:.2f} times it"
    return f"{times[0]:.2f} to {times[-1]:.2f} times it, {median(times):.2f} in the median"
