"""Who asks for GPUs, as this computer's system tells it."""

from __future__ import annotations

import os
import platform
import time

from linkwright.allocation import Owner
from linkwright.cli.durations import moment_text
from linkwright.errors import printable
from linkwright.texts import span

__all__ = ["asking", "owner_fields", "owner_text"]


def asking(lease: float | None) -> Owner:
    """The owner of what this command is asked for: the process that started it, here and now.

    This command itself will have ended before its job begins.
    """
    return Owner(os.getppid(), platform.node(), time.time(), lease)


def owner_fields(owner: Owner) -> dict[str, object]:
    """The owner as data."""
    return {"pid": owner.pid, "host": owner.host, "time": owner.time, "lease": owner.lease}


def owner_text(owner: Owner | None, now: float) -> str:
    """The owner in one line; nothing where it is not known."""
    if owner is None:
        return ""
    text = f"process {owner.pid} on {printable(owner.host)}, {moment_text(owner.time)}"
    if owner.lease is None:
        return text
    over = " is over" if owner.is_over(now) else ""
    return f"{text}, lease of {span(owner.lease)}{over}"
