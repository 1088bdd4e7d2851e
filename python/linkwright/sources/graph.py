"""Gives the application graph of a source: the union of what its calls join."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path

from linkwright import Pattern
from linkwright.errors import FileError, InputError, SimulationError, printable
from linkwright.files import PathOrName, path_of, read_bytes
from linkwright.sources import LANGUAGES, c_family, is_source, py_family
from linkwright.sources.calls import CALLS, Argument, Kind, Rule
from linkwright.sources.follow import ANYBODY, PART, Follower, Indexed, Met, Part
from linkwright.sources.statements import UNKNOWN, Call
from linkwright.sources.tree import parse
from linkwright.texts import counted

__all__ = ["SourceEdge", "SourceGraph", "SourceNote", "load_source"]

# A source has at most this many bytes, which a parser reads in a second.
LARGEST_SOURCE = 1 << 20
MOST_RANKS = 128
# Says what a source is followed with while nobody has said of how many GPUs it is.
PROBED = 2

REMEDY = "write who talks to whom as --edges, a line per pair"

# Calls that say of how many GPUs a program is, by the place or the keyword of the number.
COUNTS = {
    "ncclCommInitAll": Argument(1),
    "torch.distributed.init_process_group": Argument(3, "world_size"),
    "torch.multiprocessing.spawn": Argument(2, "nprocs"),
}

Pair = tuple[int, int]


@dataclass(frozen=True)
class SourceEdge:
    """Two ranks that exchange data, and the first call that says so.

    `a` is the lower rank; `line` counts from one; `call` is the function's name as written.
    """

    a: int
    b: int
    file: str
    line: int
    call: str


@dataclass(frozen=True)
class SourceNote:
    """Says what a call leaves open, for which all ranks that it concerns are joined."""

    file: str
    line: int
    call: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.call}: {self.text}"


@dataclass(frozen=True)
class SourceGraph:
    """Gives who talks to whom in a source.

    The vertices of `pattern` are the ranks, and `edges` are its own. `calls` holds the line, the
    name and the number of pairs of each call. `notes` are of the calls whose arguments are open.
    """

    pattern: Pattern
    edges: list[SourceEdge]
    calls: list[tuple[int, str, int]]
    notes: list[SourceNote]


def load_source(path: PathOrName, *, gpus: int | None = None) -> SourceGraph:
    """Gives who talks to whom in a program, from its source in C, C++, CUDA or Python.

    The calls of NCCL, cudaMemcpyPeer, MPI and torch.distributed count. Each GPU is a rank, and each
    rank is followed through the source with its own number.

    Args:
        path: The file; its name tells the language.
        gpus: How many GPUs run it; the source's where absent.

    Raises:
        FileError: If there is no such file, it is no source, or it has more than 1 MiB.
        InputError: If it does not parse, calls nothing that moves data between GPUs, or is of
            another number of GPUs; with its place.
        SimulationError: If nobody says of how many GPUs it is.
    """
    path = path_of("path", path)
    if not is_source(path):
        known = ", ".join(LANGUAGES)
        raise FileError(f"`{printable(str(path))}` is no source", f"sources end in {known}")
    content = read_bytes(path, LARGEST_SOURCE)
    try:
        return _Reading(path, content).graph(gpus)
    except RecursionError as error:
        problem = "this source is nested too deeply"
        raise InputError(printable(str(path)), 1, 1, problem, "", REMEDY) from error


class _Reading:
    """Holds one source as statements."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path, self.file = path, printable(str(path))
        self.is_python = LANGUAGES[path.suffix] == "Python"
        family = py_family if self.is_python else c_family
        self.statements = family.statements_of(parse(path, content))

    def graph(self, gpus: int | None) -> SourceGraph:
        """The union of all ranks."""
        ranks = self._size() if gpus is None else gpus
        if not 1 <= ranks <= MOST_RANKS:
            raise SimulationError(f"{ranks} GPUs cannot be placed", f"take 1 to {MOST_RANKS}")
        found = _Union(self.file, ranks, self.is_python)
        for rank in range(ranks):
            self._follow(rank, ranks, found)
        found.settle()
        if not found.calls:
            problem = "no call moves data between GPUs"
            remedy = f"those of NCCL, cudaMemcpyPeer, MPI and torch.distributed count; or {REMEDY}"
            raise InputError(self.file, 1, 1, problem, self.path.name, remedy)
        return found.graph()

    def _follow(self, rank: int, ranks: int, found: _Union) -> None:
        def meet(met: Met) -> None:
            found.meet(met, rank)

        Follower(self.statements, rank, ranks, self.is_python, meet).run()

    def _size(self) -> int:
        """How many GPUs the source is of, by its own words."""
        probe = _Union(self.file, PROBED, self.is_python, is_probe=True)
        self._follow(0, PROBED, probe)
        if probe.said is not None:
            return probe.said[0]
        if probe.largest is not None:
            return probe.largest + 1
        raise SimulationError(
            f"`{self.file}` does not say on how many GPUs it runs", "give it as --gpus"
        )


@dataclass
class _Union:
    """Says what the calls join, with the first call of each pair.

    Attributes:
        said: How many GPUs a call names, and the call.
        largest: The largest device that a copy names.
    """

    file: str
    ranks: int
    is_python: bool
    is_probe: bool = False
    said: tuple[int, Call] | None = None
    largest: int | None = None
    first: dict[Pair, Call] = field(default_factory=dict)
    calls: dict[tuple[int, int], tuple[str, set[Pair]]] = field(default_factory=dict)
    notes: dict[tuple[int, int, str], SourceNote] = field(default_factory=dict)
    # Receives from anybody, whose sends have the edges.
    open: list[Call] = field(default_factory=list)
    has_sends: bool = False

    def meet(self, met: Met, rank: int) -> None:
        """Adds what a call of a rank joins."""
        counted_by = COUNTS.get(met.name)
        if counted_by is not None:
            count = _argument(met, counted_by)
            if isinstance(count, int):
                self._count(count, met.call)
        rule = CALLS.get(met.name)
        if rule is None:
            return
        self.calls.setdefault(_place(met.call), (met.call.text, set()))
        members, is_known = self._members(met, rule)
        if not is_known:
            self._leave_open(met.call, "its communicator is of some ranks, which are not known")
            self._join(met.call, combinations(range(self.ranks), 2))
            return
        self._apply(met, rule, rank, members)

    def _count(self, count: int, call: Call) -> None:
        if self.said is None:
            self.said = (count, call)
        if not self.is_probe and count != self.ranks:
            problem = f"a program of {counted(count, 'GPU')}, and {self.ranks} are asked for"
            place = call.place
            raise InputError(
                self.file, place.line, place.column, problem, call.text, f"ask for {count}"
            )

    def _members(self, met: Met, rule: Rule) -> tuple[Sequence[int], bool]:
        """The ranks of its communicator, and whether they are known."""
        group = met.keywords.get("<group>")
        if group is None and rule.group is not None:
            group = _argument(met, rule.group)
        if isinstance(group, Part):
            return [rank for rank in group if 0 <= rank < self.ranks], True
        return range(self.ranks), group != PART

    def _apply(self, met: Met, rule: Rule, rank: int, members: Sequence[int]) -> None:
        call, kind = met.call, rule.kind
        peers = [_argument(met, peer) for peer in rule.peers]
        if kind is Kind.HIDDEN:
            self._leave_open(call, "whom it concerns is not followed")
            self._join(call, combinations(members, 2))
        elif kind is Kind.COPY:
            self._copy(call, peers, members)
        elif kind is Kind.ALL_TO_ALL:
            self._join(call, combinations(members, 2))
        elif kind in (Kind.RING, Kind.CHAIN):
            self._join(call, pairwise(members))
            if kind is Kind.RING and len(members) > 2:
                self._join(call, [(members[0], members[-1])])
        elif kind is Kind.STAR:
            self._towards(call, peers[0], members, members)
        else:
            group = _argument(met, rule.group) if rule.group is not None else None
            here = group.index if isinstance(group, Indexed) else rank
            for peer, is_sent in zip(peers, (kind is not Kind.RECEIVE, False), strict=False):
                if not is_sent and peer == ANYBODY:
                    self.open.append(call)
                    continue
                self.has_sends = True
                self._towards(call, peer, [here], members)

    def _towards(
        self, call: Call, peer: object, ranks: Iterable[int], members: Sequence[int]
    ) -> None:
        """Joins ranks with one that an argument names."""
        if peer is UNKNOWN or isinstance(peer, Indexed):
            self._leave_open(call, "with whom is no constant")
            self._join(call, combinations(members, 2))
        elif isinstance(peer, int) and 0 <= peer < self.ranks:
            self._join(call, ((rank, peer) for rank in ranks))

    def _copy(self, call: Call, devices: Sequence[object], members: Sequence[int]) -> None:
        known = [device for device in devices if isinstance(device, int)]
        for device in known:
            self.largest = max(self.largest or 0, device)
            if not self.is_probe and not 0 <= device < self.ranks:
                place, problem = (
                    call.place,
                    f"a copy of GPU {device}, and {self.ranks} are asked for",
                )
                remedy = f"ask for {device + 1} or more" if device > 0 else "name GPUs from 0 on"
                raise InputError(self.file, place.line, place.column, problem, call.text, remedy)
        if len(known) < len(devices):
            self._leave_open(call, "its devices are no constants")
            self._join(call, combinations(members, 2))
        elif not self.is_probe:
            self._join(call, [(known[0], known[1])])

    def settle(self) -> None:
        """Joins all where ranks receive from anybody and nothing says who sends."""
        for call in self.open if not self.has_sends else []:
            self._leave_open(call, "from whom is no constant")
            self._join(call, combinations(range(self.ranks), 2))

    def _leave_open(self, call: Call, why: str) -> None:
        text = f"{why}; all to all among the ranks concerned is taken"
        note = SourceNote(self.file, call.place.line, call.text, text)
        self.notes.setdefault((*_place(call), why), note)

    def _join(self, call: Call, pairs: Iterable[Pair]) -> None:
        _, own = self.calls[_place(call)]
        for a, b in pairs:
            if a != b:
                pair = (min(a, b), max(a, b))
                self.first.setdefault(pair, call)
                own.add(pair)

    def graph(self) -> SourceGraph:
        """The graph of what was joined."""
        edges = [
            SourceEdge(a, b, self.file, call.place.line, call.text)
            for (a, b), call in sorted(self.first.items())
        ]
        calls = [(line, name, len(own)) for (line, _), (name, own) in sorted(self.calls.items())]
        pattern = Pattern.from_edges(self.ranks, [(edge.a, edge.b) for edge in edges])
        return SourceGraph(pattern, edges, calls, [self.notes[key] for key in sorted(self.notes)])


def _place(call: Call) -> tuple[int, int]:
    return call.place.line, call.place.column


def _argument(met: Met, argument: Argument) -> object:
    """The value of an argument; unknown where it is not there and has no default."""
    if argument.keyword is not None and argument.keyword in met.keywords:
        return met.keywords[argument.keyword]
    place, count = argument.place, len(met.arguments)
    if place is not None and -count <= place < count:
        return met.arguments[place]
    if argument.absent is not None:
        return argument.absent
    return None if argument.place is None else UNKNOWN
