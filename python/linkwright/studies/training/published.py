"""Reads the published numbers of training from the data file `validation/training.toml`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from linkwright.studies.published import read_published

__all__ = [
    "Contradiction",
    "Epoch",
    "Memory",
    "contradictions",
    "epochs",
    "memory",
    "published",
    "rows",
]


@cache
def published() -> dict[str, Any]:
    """Returns the numbers by entry: values or rows with columns, unit, source, and remark."""
    return read_published(__package__)


def rows(entry: str) -> list[dict[str, Any]]:
    """The rows of an entry, by its columns' names; None where a row has no such value.

    Args:
        entry: The entry's name, such as `table_2_8`.
    """
    table = published()[entry]
    columns = table["columns"]
    blanks = [None] * len(columns)
    return [dict(zip(columns, [*row, *blanks[len(row) :]], strict=True)) for row in table["rows"]]


@dataclass(frozen=True)
class Epoch:
    """One row of Tables 2.4 to 2.6: the time that training takes for one epoch.

    Attributes:
        table: The table, such as `2.4`.
        dataset: MNIST, CIFAR-10, ImageNet or Penn Treebank.
        network: The network.
        batch: Images, or sequences, of each GPU in a step.
        system: kepler, titan or dgx1-p100.
        gpus: How many GPUs.
        run: The time in seconds.
        scaling: How many times as fast as one GPU, as printed.
        communication: Seconds of copies, those from and to the host included.
        computing: Seconds of kernels.
        peer_copies: Seconds of copies between GPUs.
    """

    table: str
    dataset: str
    network: str
    batch: int
    system: str
    gpus: int
    run: float
    scaling: float
    communication: float | None = None
    computing: float | None = None
    peer_copies: float | None = None

    @property
    def block(self) -> tuple[str, str, str, int, str]:
        """Returns the values that rows have in common if they differ only in their GPUs."""
        return self.table, self.dataset, self.network, self.batch, self.system


@cache
def epochs() -> tuple[Epoch, ...]:
    """Returns the rows of Tables 2.4, 2.5 and 2.6."""
    return tuple(
        _epoch(table, row)
        for table in ("2.4", "2.5", "2.6")
        for row in rows(f"table_{table.replace('.', '_')}")
    )


def _epoch(table: str, row: dict[str, Any]) -> Epoch:
    second = {"s": 1.0, "ms": 1e3}[published()[f"table_{table.replace('.', '_')}"]["unit"]]
    times = {
        name.replace(" ", "_"): row[name] / second
        for name in ("run", "communication", "computing", "peer copies")
        if row.get(name) is not None
    }
    same = {name: row[name] for name in ("dataset", "network", "batch", "system", "gpus")}
    return Epoch(table=table, scaling=row["scaling"], **same, **times)


@dataclass(frozen=True)
class Memory:
    """Holds one row of Table 2.10: memory in use, in GB.

    Attributes:
        network: The network.
        batch: Images of each GPU in a step.
        before: On any GPU before training.
        first: On GPU 0 in training.
        others: On any other GPU in training.
        additional: By how many percent GPU 0 has more than the others, as printed.
        increase: By how many percent GPU 0 has more than at batch 16, as printed.
    """

    network: str
    batch: int
    before: float
    first: float
    others: float
    additional: float
    increase: float | None


@cache
def memory() -> tuple[Memory, ...]:
    """Returns the rows of Table 2.10."""
    return tuple(Memory(**row) for row in rows("table_2_10"))


@dataclass(frozen=True)
class Contradiction:
    """Describes where the text parts from itself, from arithmetic or from a data sheet.

    Attributes:
        place: Where it stands.
        says: The words or numbers that stand there.
        against: The evidence against it.
        taken: The reading that the study takes.
        why: Why.
    """

    place: str
    says: str
    against: str
    taken: str
    why: str


@cache
def contradictions() -> tuple[Contradiction, ...]:
    """Returns all contradictions, in the order of the data file."""
    return tuple(Contradiction(**entry) for entry in published()["contradiction"])
