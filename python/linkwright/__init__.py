"""One model of a multi-GPU system: topology, allocation, collectives and simulation."""

from __future__ import annotations

from linkwright._core import Machine, Table, __version__
from linkwright.errors import (
    AllocationError,
    InputError,
    LinkwrightError,
    MachineError,
    SimulationError,
)

__all__ = [
    "AllocationError",
    "InputError",
    "LinkwrightError",
    "Machine",
    "MachineError",
    "SimulationError",
    "Table",
    "__version__",
]
