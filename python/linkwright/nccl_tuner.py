"""Reads tuner files of stock NCCL as its example plugin does, and answers as it does.

The rules stand in `plugin.c` of NCCL's example tuner plugin, from 2.27.5 on (`ext-tuner/example`,
from 2.29.7 on `plugins/tuner/example`). NCCL's part stands in `ncclGetAlgoInfo` of
`src/enqueue.cc`:

- The plugin says one channel before it looks for a row. A size without a row, and a row whose
  channels are -1, run on one channel. A row whose channels are 0 leaves NCCL its own number.
- The first row that matches is taken, unless NCCL has refused its cell: then the next one.
- An unknown collective is all-reduce, an unknown algorithm ring, an unknown protocol Simple.
- A line is at most 255 bytes, its end among them; the rest is a line by itself.
- Only a `#` that begins a line begins a remark. Fields that are empty do not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from linkwright.errors import CollectiveError
from linkwright.files import PathOrName, path_of, read_bytes

__all__ = ["LARGEST", "TunerAnswer", "TunerFile", "TunerRow", "read_tuner", "read_tuner"]

# The plugin's names; it takes an unknown one for the last.
COLLECTIVES = {
    "broadcast": "broadcast",
    "reduce": "reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "allreduce": "all-reduce",
}
ALGORITHMS = {
    "tree": "tree",
    "collnet_direct": "collnet-direct",
    "collnet_chain": "collnet-chain",
    "nvls": "nvls",
    "nvls_tree": "nvls-tree",
    "pat": "pat",
    "ring": "ring",
}
PROTOCOLS = {"ll": "LL", "ll128": "LL128", "simple": "Simple"}

# The largest size of a row, in bytes.
LARGEST = 2**64 - 1

# How much of a line the plugin reads at once, its end among it.
LONGEST_LINE = 255

# A row has at least eight fields, and any after the tenth does not count.
FEWEST_FIELDS, MOST_FIELDS = 8, 10

# More text than any tuner's file.
LARGEST_FILE = 16 << 20

# This stands for any number of nodes, ranks or operations, and for any buffers.
ANY = -1


@dataclass(frozen=True)
class TunerRow:
    """A row as the plugin has read it: sizes in bytes, and -1 for any number or kind.

    `registered` is 1 for buffers that are registered, and 0 for others.
    """

    collective: str
    first: int
    last: int
    algorithm: str
    protocol: str
    channels: int
    nodes: int
    ranks: int
    pipe_operations: int = ANY
    registered: int = ANY

    @property
    def cell(self) -> tuple[str, str]:
        """Gives the algorithm with the protocol."""
        return self.algorithm, self.protocol

    @property
    def line(self) -> str:
        """Writes the row as a line without its end: ten fields, and no spaces."""
        written = [
            _name_of(COLLECTIVES, self.collective),
            str(self.first),
            str(self.last),
            _name_of(ALGORITHMS, self.algorithm),
            _name_of(PROTOCOLS, self.protocol),
        ]
        numbers = [self.channels, self.nodes, self.ranks, self.pipe_operations, self.registered]
        return ",".join(written + [str(number) for number in numbers])


@dataclass(frozen=True)
class TunerAnswer:
    """Holds the plugin's answer: the row that it took, None where none matches, and channels.

    NCCL runs the row's cell on that many channels, at most as many as it has. Without a row it runs
    the cell of its own choice on that many; 0 is NCCL's own number.
    """

    row: TunerRow | None
    channels: int


@dataclass(frozen=True)
class TunerFile:
    """Holds the rows of a file in their order, and notes for a person."""

    rows: list[TunerRow]
    notes: list[str]

    def answer(
        self,
        collective: str,
        size: int,
        nodes: int,
        ranks: int,
        *,
        pipe_operations: int = 1,
        registered: bool = False,
        refused: Collection[tuple[str, str]] = (),
    ) -> TunerAnswer:
        """Answers NCCL for one operation.

        Args:
            collective: One of those that are tuned, such as `all-reduce`.
            size: Bytes of data. They count as nccl-tests prints them.
            nodes: How many servers the communicator has.
            ranks: How many ranks it has.
            pipe_operations: NCCL's estimate. It says how many operations of a group a channel runs.
            registered: Whether both buffers are registered.
            refused: Cells, as pairs of algorithm and protocol. NCCL does not run them.

        Raises:
            CollectiveError: If the collective is none that is tuned.
        """
        if collective not in COLLECTIVES.values():
            known = ", ".join(COLLECTIVES.values())
            raise CollectiveError(f"no tuner is asked for `{collective}`", f"name one of {known}")
        for row in self.rows:
            matches = (
                row.collective == collective
                and row.first <= size <= row.last
                and row.nodes in (ANY, nodes)
                and row.ranks in (ANY, ranks)
                and row.pipe_operations in (ANY, pipe_operations)
                and row.registered in (ANY, int(registered))
            )
            if matches and row.cell not in refused:
                return TunerAnswer(row, 1 if row.channels == ANY else row.channels)
        return TunerAnswer(None, 1)


def read_tuner(path: PathOrName) -> TunerFile:
    """Reads a tuner's file as NCCL's example plugin does.

    Raises:
        FileError: If the file cannot be read.
    """
    return TunerFile.from_text(read_bytes(path_of("path", path, "read_tuner"), LARGEST_FILE))


def TunerFile.from_text(text: str | bytes) -> TunerFile:
    """Reads a tuner's file as NCCL's example plugin does: it refuses nothing.

    The notes say what it passes over or takes for something else, with the line.
    """
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    rows: list[TunerRow] = []
    notes: list[str] = []
    for number, piece in _pieces(content):
        if piece[:1] == b"#":
            continue
        line = re.split(rb"[\n\0]", piece)[0].decode("latin-1")
        fields = [field for field in line.split(",") if field][:MOST_FIELDS]
        fields = [field.lstrip(" \t").rstrip(" \t") for field in fields]
        if len(fields) < FEWEST_FIELDS:
            if line:
                notes.append(f"line {number}: {len(fields)} fields; the plugin passes it over")
            continue
        rows.append(_row(fields))
        notes += [f"line {number}: {note}" for note in _doubts(fields, rows[-1])]
    return TunerFile(rows, notes)


def _pieces(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Cuts a text into the plugin's lines, each with the number of the line in the text."""
    for number, line in enumerate(re.findall(rb"[^\n]*\n|[^\n]+", content), 1):
        yield from (
            (number, line[at : at + LONGEST_LINE]) for at in range(0, len(line), LONGEST_LINE)
        )


def _row(fields: list[str]) -> TunerRow:
    collective, first, last, algorithm, protocol, *numbers = fields
    return TunerRow(
        COLLECTIVES.get(collective, "all-reduce"),
        _unsigned(first),
        _unsigned(last),
        ALGORITHMS.get(algorithm, "ring"),
        PROTOCOLS.get(protocol, "Simple"),
        *(_integer(number) for number in numbers),
    )


def _doubts(fields: list[str], row: TunerRow) -> Iterator[str]:
    for field, known, taken in [
        (fields[0], COLLECTIVES, row.collective),
        (fields[3], ALGORITHMS, row.algorithm),
        (fields[4], PROTOCOLS, row.protocol),
    ]:
        if field not in known:
            yield f"the plugin takes `{field[:40]}` for {taken}"
    if row.channels == ANY:
        yield "channels of -1 are one channel, and not NCCL's own number"
    if row.last < row.first:
        yield "the row matches no size"


def _name_of(names: dict[str, str], value: str) -> str:
    return next(name for name, known in names.items() if known == value)


def _number(text: str) -> int:
    """A number as C reads it: white space, a sign, and digits as far as there are any."""
    found = re.match(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", text)
    return int(found[1]) if found else 0


def _unsigned(text: str) -> int:
    """Reads as `strtoull`: a number too large is the largest; negative ones count from there."""
    number = _number(text)
    return LARGEST if abs(number) > LARGEST else number % (LARGEST + 1)


def _integer(text: str) -> int:
    """As `atoi`, which is `strtol` cut to 32 bits."""
    number = min(max(_number(text), -(2**63)), 2**63 - 1)
    return (number + 2**31) % 2**32 - 2**31
