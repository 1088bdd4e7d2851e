"""Table 1.1: how far another's memory is."""

from __future__ import annotations

from linkwright.studies.memory.checks import NOT_RUN, Outcome, Statement
from linkwright.studies.memory.measured import Measured, View
from linkwright.studies.memory.settings import LOCAL

__all__ = ["WAY_STATEMENTS", "way"]


def way(measured: Measured, memory: str, gpus: int = 4) -> tuple[float, float] | None:
    """Returns the seconds of an access, and the bytes a second of a copy by kernels."""
    chase = measured.result("ways", "chase", memory, gpus=gpus)
    stream = measured.result("ways", "stream", memory, gpus=gpus)
    if chase is None or stream is None or chase.l1_latency is None:
        return None
    size = measured.size("ways", "stream") or 0
    return chase.l1_latency, size * 4 * 2 / stream.kernel_time


def _farther(memory: str, than: str) -> Statement:
    def check(view: View) -> Outcome:
        gpus = 1 if than == "local" else 4
        near = way(view.measured, LOCAL, gpus)
        far = way(view.measured, memory)
        if near is None or far is None:
            return NOT_RUN
        return Outcome(far[0] > near[0], f"{far[0] / near[0]:.3g} times")

    return Statement(
        "Table 1.1",
        f"latency of {_NAMES[memory]} is above that of {than}",
        "",
        check,
        why=_WHY[memory],
        needs=memory,
    )


def _slower(memory: str) -> Statement:
    def check(view: View) -> Outcome:
        near, far = way(view.measured, LOCAL, 1), way(view.measured, memory)
        if near is None or far is None:
            return NOT_RUN
        return Outcome(far[1] < near[1], f"{far[1] / near[1]:.2g} of it")

    return Statement(
        "Table 1.1",
        f"bandwidth of {_NAMES[memory]} is below local memory's",
        "",
        check,
        why=_WHY[memory],
        needs=memory,
    )


_NAMES = {"rdma": "P2P direct", "zero-copy": "zero-copy", "unified": "unified memory"}
_ONCE = "A page moves once, and each line of it is near from then on."
_WHY = {
    "rdma": "",
    "zero-copy": "The host is no farther than another GPU on this bus.",
    "unified": _ONCE,
}

WAY_STATEMENTS: tuple[Statement, ...] = (
    _farther("rdma", "local"),
    _farther("zero-copy", "P2P direct"),
    _farther("unified", "P2P direct"),
    *(_slower(memory) for memory in _NAMES),
)
