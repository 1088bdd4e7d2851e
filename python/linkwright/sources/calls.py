"""Lists the calls that move data between GPUs, each with the arguments that say with whom.

The names and the order of arguments are those of the libraries' own manuals. They are NCCL 2 (and
RCCL), the CUDA runtime (and HIP), MPI 4, mpi4py and torch.distributed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

__all__ = ["CALLS", "Argument", "Kind", "Rule"]


class Kind(Enum):
    """Says what a call does with the ranks that it concerns."""

    RING = auto()
    ALL_TO_ALL = auto()
    STAR = auto()
    CHAIN = auto()
    SEND = auto()
    RECEIVE = auto()
    EXCHANGE = auto()
    COPY = auto()
    # Whom it concerns stands in structures that are not followed.
    HIDDEN = auto()


@dataclass(frozen=True)
class Argument:
    """Holds an argument by its place, from the end where negative, or its keyword.

    `absent` is the value where it is not given.
    """

    place: int | None
    keyword: str | None = None
    absent: object = None


@dataclass(frozen=True)
class Rule:
    """Says what a call does.

    Attributes:
        kind: It does this with the ranks.
        peers: The root of a star, or the peer of a message. An exchange has two, and is sent to
            the first. A copy has its source and its destination.
        group: Its communicator.
    """

    kind: Kind
    peers: tuple[Argument, ...] = ()
    group: Argument | None = None


def _rules() -> Iterator[tuple[str, Rule]]:
    yield from _nccl()
    for cuda in ("cuda", "hip"):
        devices = (Argument(3), Argument(1))
        for end in ("", "Async"):
            yield f"{cuda}MemcpyPeer{end}", Rule(Kind.COPY, devices)
            yield f"{cuda}Memcpy3DPeer{end}", Rule(Kind.HIDDEN)
    yield from _mpi()
    yield from _mpi4py()
    yield from _torch()


def _nccl() -> Iterator[tuple[str, Rule]]:
    # The stream is last, and the communicator before it.
    group = Argument(-2)
    for name in ("AllReduce", "Broadcast", "Bcast", "Reduce", "AllGather", "ReduceScatter"):
        yield f"nccl{name}", Rule(Kind.RING, (), group)
    for name in ("AlltoAll", "AllToAll", "AlltoAllv", "AllToAllv"):
        yield f"nccl{name}", Rule(Kind.ALL_TO_ALL, (), group)
    for name in ("Gather", "Scatter"):
        yield f"nccl{name}", Rule(Kind.STAR, (Argument(-3),), group)
    yield "ncclSend", Rule(Kind.SEND, (Argument(3),), group)
    yield "ncclRecv", Rule(Kind.RECEIVE, (Argument(3),), group)


# The root's place in the calls of MPI that have one and a part for each rank.
_ROOTS = {"Gather": 6, "Scatter": 6, "Gatherv": 7, "Scatterv": 7}
_RINGS = (
    "Bcast",
    "Reduce",
    "Allreduce",
    "Allgather",
    "Allgatherv",
    "Reduce_scatter",
    "Reduce_scatter_block",
)
_ALLS = ("Alltoall", "Alltoallv", "Alltoallw")
_SENDS = ("Send", "Ssend", "Bsend", "Rsend")
_HIDDEN = ("Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv")


def _mpi() -> Iterator[tuple[str, Rule]]:
    # The communicator is last; a request comes after it where the call does not wait.
    for waits in (True, False):
        group = Argument(-1 if waits else -2)

        def named(name: str, waits: bool = waits) -> str:
            return f"MPI_{name}" if waits else f"MPI_I{name[0].lower()}{name[1:]}"

        for name in _RINGS:
            yield named(name), Rule(Kind.RING, (), group)
        for name in _ALLS:
            yield named(name), Rule(Kind.ALL_TO_ALL, (), group)
        for name, root in _ROOTS.items():
            yield named(name), Rule(Kind.STAR, (Argument(root),), group)
        for name in ("Scan", "Exscan"):
            yield named(name), Rule(Kind.CHAIN, (), group)
        for name in _HIDDEN:
            yield named(name), Rule(Kind.HIDDEN, (), group)
        for name in _SENDS:
            yield named(name), Rule(Kind.SEND, (Argument(3),), Argument(5))
            yield f"MPI_{name}_init", Rule(Kind.SEND, (Argument(3),), Argument(5))
        yield named("Recv"), Rule(Kind.RECEIVE, (Argument(3),), Argument(5))
        both = (Argument(3), Argument(8))
        yield named("Sendrecv"), Rule(Kind.EXCHANGE, both, Argument(10))
        both = (Argument(3), Argument(5))
        yield named("Sendrecv_replace"), Rule(Kind.EXCHANGE, both, Argument(7))
    yield "MPI_Recv_init", Rule(Kind.RECEIVE, (Argument(3),), Argument(5))
    for name in ("Put", "Accumulate"):
        yield f"MPI_{name}", Rule(Kind.SEND, (Argument(3),))
    yield "MPI_Get", Rule(Kind.RECEIVE, (Argument(3),))


# A communicator of mpi4py is called so here, whatever its variable is.
_COMMUNICATOR = "mpi4py.communicator."


def _mpi4py() -> Iterator[tuple[str, Rule]]:
    for name in _RINGS + _ALLS + ("Scan", "Exscan"):
        kind = Kind.RING if name in _RINGS else Kind.CHAIN
        kind = Kind.ALL_TO_ALL if name in _ALLS else kind
        for spelled in (name, name.lower(), f"I{name.lower()}"):
            yield _COMMUNICATOR + spelled, Rule(kind)
    for name, place in (("Gather", 2), ("Scatter", 2), ("Gatherv", 2), ("Scatterv", 2)):
        yield _COMMUNICATOR + name, Rule(Kind.STAR, (Argument(place, "root", 0),))
        yield _COMMUNICATOR + name.lower(), Rule(Kind.STAR, (Argument(1, "root", 0),))
    for name in ("Send", "Ssend", "Bsend", "Isend", "send", "ssend", "bsend", "isend"):
        yield _COMMUNICATOR + name, Rule(Kind.SEND, (Argument(1, "dest"),))
    anyone = "MPI_ANY_SOURCE"
    for name in ("Recv", "Irecv", "recv", "irecv"):
        yield _COMMUNICATOR + name, Rule(Kind.RECEIVE, (Argument(1, "source", anyone),))
    for name, place in (("Sendrecv", 4), ("sendrecv", 4)):
        peers = (Argument(1, "dest"), Argument(place, "source", anyone))
        yield _COMMUNICATOR + name, Rule(Kind.EXCHANGE, peers)


def _torch() -> Iterator[tuple[str, Rule]]:
    distributed = "torch.distributed."

    def group(place: int | None) -> Argument:
        return Argument(place, "group")

    # Each with the place of its group.
    for name, place in (
        ("all_reduce", 2),
        ("all_reduce_coalesced", 2),
        ("broadcast", 2),
        ("broadcast_object_list", 2),
        ("reduce", 3),
        ("all_gather", 2),
        ("all_gather_into_tensor", 2),
        ("all_gather_object", 2),
        ("all_gather_coalesced", 2),
        ("reduce_scatter", 3),
        ("reduce_scatter_tensor", 3),
    ):
        yield distributed + name, Rule(Kind.RING, (), group(place))
    for name, place in (("all_to_all", 2), ("all_to_all_single", 4)):
        yield distributed + name, Rule(Kind.ALL_TO_ALL, (), group(place))
    for name in ("gather", "gather_object"):
        yield distributed + name, Rule(Kind.STAR, (Argument(2, "dst", 0),), group(3))
    for name in ("scatter", "scatter_object_list"):
        yield distributed + name, Rule(Kind.STAR, (Argument(2, "src", 0),), group(3))
    for name in ("send", "isend", "send_object_list"):
        yield distributed + name, Rule(Kind.SEND, (Argument(1, "dst"),), group(2))
    for name in ("recv", "irecv", "recv_object_list"):
        source = Argument(1, "src", "MPI_ANY_SOURCE")
        yield distributed + name, Rule(Kind.RECEIVE, (source,), group(2))
    # Its first argument is the function that it calls later: isend or irecv.
    yield distributed + "P2POp", Rule(Kind.SEND, (Argument(2, "peer"),), group(3))
    # These wrap a model, and call collectives for its gradients and its weights.
    wrappers = (
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_shard",
    )
    for name in wrappers:
        yield name, Rule(Kind.RING, (), Argument(None, "process_group"))


CALLS: dict[str, Rule] = dict(_rules())
