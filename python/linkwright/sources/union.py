"""Joins the ranks that the calls of a source concern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from linkwright import Pattern
from linkwright.errors import InputError
from linkwright.sources.calls import CALLS, Argument, Kind, Rule
from linkwright.sources.follow import Met
from linkwright.sources.libraries import GROUP
from linkwright.sources.statements import UNKNOWN, Call
from linkwright.sources.values import ANYBODY, PART, Indexed, Part
from linkwright.texts import counted

__all__ = ["SourceEdge", "SourceGraph", "SourceNote", "Union"]

# Calls that say of how many GPUs a program is, by the place or the keyword of the number.
COUNTS = {
    "ncclCommInitAll": Argument(1),
    "torch.distributed.init_process_group": Argument(3, "world_size"),
    "torch.multiprocessing.spawn": Argument(2, "nprocs"),
}

# A rank does these alone, so that it matters which do.
ALONE = (Kind.SEND, Kind.RECEIVE, Kind.EXCHANGE, Kind.COPY)

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


@dataclass
class Union:
    """Says what the calls join, with the first call of each pair.

    Attributes:
        said: How many GPUs a call names, and the call.
        largest: The largest device that a call names.
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

    def meet(self, rank: int, met: Met) -> None:
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
        if met.is_unsure and rule.kind in ALONE:
            text = "whether it is called is no constant; it is taken to be"
            self._note(met.call, text)
        self._apply(met, rule, rank, members)

    def _count(self, count: int, call: Call) -> None:
        if self.said is None:
            self.said = (count, call)
        if not self.is_probe and count != self.ranks:
            place, given = call.place, counted(self.ranks, "GPU")
            problem = f"the source sets up {counted(count, 'GPU')}, but {given} were given"
            raise InputError(
                self.file, place.line, place.column, problem, call.text, f"give {count}"
            )

    def _members(self, met: Met, rule: Rule) -> tuple[Sequence[int], bool]:
        """The ranks of its communicator, and whether they are known."""
        group = met.keywords.get(GROUP)
        if group is None and rule.group is not None:
            group = _argument(met, rule.group, absent=None)
        if isinstance(group, Part):
            return [rank for rank in group if 0 <= rank < self.ranks], True
        # Of a communicator in C that is not known all ranks are taken to be.
        is_open = group == PART or (self.is_python and group is UNKNOWN)
        return range(self.ranks), not is_open

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
            here = rank
            if isinstance(group, Indexed) and met.name.startswith("nccl"):
                # A process has a communicator for each of its GPUs.
                here = group.index
                self._check_device(here, call, "a communicator")
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
            self._check_device(device, call, "a copy")
        if len(known) < len(devices):
            self._leave_open(call, "its devices are no constants")
            self._join(call, combinations(members, 2))
        elif not self.is_probe:
            self._join(call, [(known[0], known[1])])

    def _check_device(self, device: int, call: Call, what: str) -> None:
        """Takes in a GPU that a call names.

        Raises:
            InputError: If there are fewer.
        """
        self.largest = max(self.largest or 0, device)
        if not self.is_probe and not 0 <= device < self.ranks:
            place = call.place
            given = counted(self.ranks, "GPU")
            problem = f"{what} names GPU {device}, but {given} were given, from 0"
            remedy = f"give {device + 1} or more" if device > 0 else "name GPUs from 0 on"
            raise InputError(self.file, place.line, place.column, problem, call.text, remedy)

    def settle(self) -> None:
        """Joins all where ranks receive from anybody and nothing says who sends."""
        for call in self.open if not self.has_sends else []:
            self._leave_open(call, "from whom is no constant")
            self._join(call, combinations(range(self.ranks), 2))

    def _leave_open(self, call: Call, why: str) -> None:
        self._note(call, f"{why}; all to all among the ranks concerned is taken")

    def _note(self, call: Call, text: str) -> None:
        note = SourceNote(self.file, call.place.line, call.text, text)
        self.notes.setdefault((*_place(call), text), note)

    def _join(self, call: Call, pairs: Iterable[Pair]) -> None:
        _, own = self.calls[_place(call)]
        for a, b in pairs:
            if a != b and max(a, b) < self.ranks:
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


def _argument(met: Met, argument: Argument, absent: object = UNKNOWN) -> object:
    """The value of an argument; its default, or else `absent`, where it is not there."""
    if argument.keyword is not None and argument.keyword in met.keywords:
        return met.keywords[argument.keyword]
    place, count = argument.place, len(met.arguments)
    if place is not None and -count <= place < count:
        return met.arguments[place]
    return absent if argument.absent is None else argument.absent
