"""Holds classes of one's own to the promises of policies, orders of messages and routings.

A policy gives jobs their GPUs. An order says which message a network interface sends first. A
routing says which way packets go. Each is a class with the methods of its protocol here; `check`
tries whether it keeps its promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

# These are given to such a class alone, and are no part of the rest of the API.
from linkwright._core import (
    Fabric,
    Machine,
    Packet,
    QueuedMessage,
    Request,
    Selection,
    broken_promises,
)
from linkwright.errors import ContractError

__all__ = [
    "Machine",
    "NicOrder",
    "Packet",
    "Policy",
    "QueuedMessage",
    "Request",
    "Routing",
    "Selection",
    "check",
]

# Small networks of four shapes.
FABRICS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("single-switch", {"ports": 8}),
    ("fat-tree", {"levels": 2, "radix": 8, "leaves": 4, "tapering": 1}),
    ("fat-tree", {"ports": 64}),
    ("torus", {"dimensions": [3, 4]}),
    ("dragonfly", {"ports": 32}),
)


class Policy(Protocol):
    """Chooses the GPUs of a job: a pure function of the machine, the job and what is free.

    A class may have two more methods. `rule(request)` gives a sentence that says how it chooses,
    for explanations. `objective(request)` gives what it ranks matches by, `aggregated`, `effective`
    or `preserved` bandwidth, or None; explanations rank other matches by it.
    """

    def choose(
        self, machine: Machine, request: Request, free: list[int]
    ) -> Sequence[int] | Selection | None:
        """Chooses GPUs.

        Args:
            machine: The server, with the bandwidths between its GPUs.
            request: The job. Its pattern's `size` is the number of GPUs; `sensitive` says whether
                bandwidth matters to it.
            free: The GPUs that it may have, in ascending order.

        Returns:
            As many of the free GPUs: its pattern is then laid on them as well as it can be. Or a
            `Selection` that `place` or `best` of the machine gave. None only where too few are
            free.
        """


class NicOrder(Protocol):
    """Orders the messages of one network interface; each interface makes an object of the class.

    `at_once` of the class says how many messages an interface sends at once as flows: 1 where it is
    absent, and None for all.
    """

    def push(self, message: QueuedMessage) -> None:
        """Takes in a message that arrives."""

    def next(self) -> int | None:
        """Gives the `index` of the message that sends the next packet; None where none is there."""

    def packetised(self, left: int) -> None:
        """Notes that the next message made a packet, and how many of its bytes are left.

        At 0 it was the last packet. As flows, messages begin whole: 0 are left then.
        """


class Routing(Protocol):
    """Gives static paths: all packets from one node to another take one way.

    `__init__` is given the network, a `Fabric`, and raises `MachineError` of one that it is not
    for. Each pair of nodes is asked for once. A class of
    longer paths has a static method `most_links(fewest)`. It gives the most links of a path where
    `fewest` would do.
    """

    def virtual_channels(self) -> int:
        """Gives how many virtual channels each channel needs, 1 to 32."""

    def route(self, at: int, packet: Packet) -> tuple[int, int]:
        """Gives the channel and the virtual channel by which a packet leaves a switch.

        At its destination's switch that is the channel to the node. Buffers must not wait for one
        another in a cycle: whoever takes the next virtual channel at each hop, as `packet.hops`
        counts them, is safe.
        """


def check(plug_in: object, *, fabrics: Sequence[Fabric] | None = None) -> None:
    """Tries whether a class keeps its promises, by the suite that holds Linkwright's own rules.

    It is a policy if it has a method `choose`, an order of messages if it has `packetised`, and a
    routing if it has `route`.

    Args:
        plug_in: The class, or an object of a policy's class.
        fabrics: A routing is tried on these. If not given, they are a single switch, two fat-
            trees, a torus and a dragonfly. Those that it is not for are left out.

    Raises:
        ContractError: If it breaks a promise: a sentence for each that is broken.
        ArgumentError: If it has none of these methods.
        Exception: If the class raises one.
    """
    if fabrics is None:
        fabrics = [Fabric(kind, **parameters) for kind, parameters in FABRICS]  # type: ignore[arg-type]
    broken = broken_promises(plug_in, fabrics)
    if broken:
        raise ContractError(". ".join(broken))
