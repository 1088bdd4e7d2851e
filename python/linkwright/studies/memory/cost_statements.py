"""Checks Sections 4.2.7 and 1.4.3: traffic and storage, from messages and caches alone."""

from __future__ import annotations

from linkwright import GpuSystem
from linkwright.studies.memory.checks import Outcome, Statement, change
from linkwright.studies.memory.measured import View
from linkwright.studies.memory.published import published

__all__ = ["COST_STATEMENTS", "costs"]

_TRAFFIC = published()["traffic"]
_STORAGE = published()["storage"]
_SAVED = published()["saved"]


def costs(memory: str) -> dict[str, tuple[int, int]]:
    """Bytes of each message and store of a memory system, and how many are its protocol's."""
    rows = GpuSystem(memory=memory).costs()  # type: ignore[arg-type]
    return {row["what"]: (row["bytes"], row["added"]) for row in rows}


def _added(message: str, view: View) -> float | None:
    whole, added = costs(view.coherent("rc"))[message]
    return whole / (whole - added)


def _stored(what: str, said: int) -> Statement:
    def check(view: View) -> Outcome:
        kept = costs(view.coherent("rc"))[what][1]
        return Outcome(kept == said, f"{kept:,} B")

    return Statement(
        "section 4.2.7",
        f"storage of {what}",
        f"{said:,} B",
        check,
        both=True,
        why=_WHY_STORED.get(what, ""),
    )


def _saved(message: str, view: View) -> float | None:
    """Returns the size of MGCC's message over G-TSC's."""
    return costs(view.coherent("rc"))[message][0] / costs("g-tsc")[message][0]


_WHY_STORED = {
    "lines of an L1": "Mended, a line counts its reads in a byte besides.",
    "lines of a bank of L2": "256 KB are 4,096 lines, each with two timestamps of two bytes: 16 "
    "KB. The printed 8 KB are half of its own fields; mended, a byte a line counts reads.",
    "clocks of a GPU": "Mended, a bank of L2 keeps an epoch in place of a time.",
    "timestamp storage units, for a GPU": "Mended, an entry has two timestamps: when the line was "
    "written, and until when it is leased.",
}
_WHY_TRAFFIC = {
    "read response": "The text adds 4 bytes to 80 (data, acknowledgement, metadata and address). "
    "A response is 68 bytes here, as in the open simulator. Mended, an epoch's byte goes with it.",
    "write response": "The text's 76 bytes hold the block. An acknowledgement is 4 bytes here: as "
    "printed, MGCC adds the block to it; mended, two times alone.",
    "read request": "Mended, an epoch's byte goes with the time.",
    "write request": "Mended, an epoch's byte goes with the time.",
}
_WHY_SAVED = (
    "The text does not say against what. G-TSC as it is modelled here sends a request with its "
    "time and the copy's, and so 2 bytes more. 14 bytes in place of 24 make 41.7 %. Those 24 are "
    "a request of 12 with three times: one of 2, the warp's of 8 and the copy's of 2."
)

COST_STATEMENTS: tuple[Statement, ...] = (
    *(
        change(
            "section 4.2.7",
            f"traffic that MGCC adds to a {message}",
            said,
            lambda view, message=message: _added(message, view),  # type: ignore[misc]
            both=True,
            why=_WHY_TRAFFIC[message],
        )
        for message, said in _TRAFFIC.items()
        if message != "source"
    ),
    *(_stored(what, said) for what, said in _STORAGE.items() if what != "source"),
    *(
        change(
            "section 1.4.3",
            f"{message} traffic, up to",
            _SAVED[message],
            lambda view, message=message: _saved(f"read {message}", view),  # type: ignore[misc]
            both=True,
            why=_WHY_SAVED,
        )
        for message in ("request", "response")
    ),
)
