"""Lists steps that nobody published: our own runs, and larger ones that nobody measured."""

from __future__ import annotations

from collections.abc import Iterator

from accuracy.restate.training.open_source import TITAN, TITAN_GPUS
from accuracy.restate.training.question import Question, asked

# Llama 3.2 1B on one H100 at 700 W by PyTorch 2.11, eager: samples, tokens, recomputation, seconds.
MEASURED = [
    (1, 4096, None, 0.1040),
    (2, 4096, None, 0.1835),
    (2, 4096, "full", 0.2221),
    (4, 4096, "full", 0.4176),
    (1, 8192, None, 0.2012),
]
NOT_PUBLISHED = "is our own run on one GPU"
# GPUs on which torchtitan's first job is asked, too.
LARGER = (64, 128)


def runs() -> Iterator[Question]:
    """Lists our own runs."""
    for samples, tokens, recompute, seconds in MEASURED:
        question = asked(
            "llama-3.2-1b",
            "hgx-h100",
            "dp=1",
            batch=samples,
            micro_batch=samples,
            tokens=tokens,
            precision="bf16",
            recompute=recompute,
            kernels="eager",
        )
        yield Question(
            source="our own runs",
            release="",
            system="H100",
            gpus=1,
            model="llama-3.2-1b",
            kind="dense",
            stage="pre-training",
            precision="bf16",
            page="",
            asked=question,
            seconds=seconds,
            left_out=NOT_PUBLISHED,
        )


def larger() -> Iterator[Question]:
    """Lists torchtitan's compiled job on more servers."""
    for gpus in LARGER:
        question = asked(
            "llama-3.1-8b",
            "hgx-h100",
            f"fsdp={gpus}",
            batch=2 * gpus,
            micro_batch=2,
            tokens=8192,
            precision="bf16",
            recompute="selective-op",
            kernels="compiled",
            zero=3,
            order="torchtitan",
            **TITAN_GPUS,
        )
        yield Question(
            source="torchtitan",
            release="larger",
            system="H100 of 96 GB and 500 W",
            gpus=gpus,
            model="llama-3.1-8b",
            kind="dense",
            stage="pre-training",
            precision="bf16",
            page=TITAN,
            asked=question,
        )
