"""Says what calls of libraries give to a rank that makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from linkwright.sources.grids import balanced, given_by_a_grid, grid_of, shifted
from linkwright.sources.statements import UNKNOWN
from linkwright.sources.values import (
    ANYBODY,
    MOST_ITEMS,
    NOBODY,
    PART,
    WORLD,
    Indexed,
    Part,
    items_of,
    numbers_of,
)

__all__ = ["COMMUNICATOR", "CONSTANTS", "ENDS", "GROUP", "Given", "LibraryCall", "environment"]

# A communicator of mpi4py is called so here, whatever its variable is, and is this keyword.
COMMUNICATOR = "mpi4py.communicator."
GROUP = "<group>"

# The libraries' constants mean these.
CONSTANTS: dict[str, object] = {
    "MPI_COMM_WORLD": WORLD,
    "MPI_COMM_SELF": PART,
    "MPI_ANY_SOURCE": ANYBODY,
    "MPI_PROC_NULL": NOBODY,
    "mpi4py.MPI.COMM_WORLD": WORLD,
    "mpi4py.MPI.ANY_SOURCE": ANYBODY,
    "mpi4py.MPI.PROC_NULL": NOBODY,
    "torch.distributed.group.WORLD": WORLD,
    "__name__": "__main__",
}
# Calls that write the number of a rank or of all ranks through a pointer, by the pointer's place.
RANKS_WRITTEN = {"MPI_Comm_rank": 1, "ncclCommUserRank": 1}
SIZES_WRITTEN = {
    "MPI_Comm_size": 1,
    "ncclCommCount": 1,
    "cudaGetDeviceCount": 0,
    "hipGetDeviceCount": 0,
}
RANKS_GIVEN = {
    "torch.distributed.get_rank",
    "torch.distributed.get_node_local_rank",
    f"{COMMUNICATOR}Get_rank",
}
SIZES_GIVEN = {
    "torch.distributed.get_world_size",
    "torch.cuda.device_count",
    f"{COMMUNICATOR}Get_size",
}
# Variables of the environment that launchers set.
RANKS_SET = {"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}
SIZES_SET = {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}
# Calls that give their first argument as a number.
PASSED_ON = {"int", "atoi", "atol", "stoi", "strtol", "static_cast", "size_t", "unsigned", "long"}
ENVIRONMENT = {"getenv", "os.getenv", "os.environ.get"}
# Calls that make communicators of some ranks, by the place of the pointer to the new one.
PARTS_WRITTEN = {
    "MPI_Comm_split": 3,
    "MPI_Comm_split_type": 4,
    "MPI_Comm_create": 2,
    "MPI_Cart_sub": 2,
    "ncclCommSplit": 3,
}
PARTS_GIVEN = {"Split", "Split_type", "Create", "Create_group", "Sub"}
# Calls after which a program does nothing more.
ENDS = {"exit", "_exit", "abort", "sys.exit", "os._exit", "MPI_Abort", "quit"}


@dataclass(frozen=True)
class Given:
    """Holds the value of a call, and the values that it writes, by the place of the argument."""

    value: object = UNKNOWN
    written: Mapping[int, object] = field(default_factory=dict)


def environment(name: object, rank: int, ranks: int) -> object:
    """Gives a variable of the environment that launchers set."""
    if name in RANKS_SET:
        return rank
    return ranks if name in SIZES_SET else UNKNOWN


@dataclass(frozen=True)
class LibraryCall:
    """Holds a call with the values of its arguments, made by a rank."""

    name: str
    arguments: Sequence[object]
    keywords: Mapping[str, object]
    rank: int
    ranks: int

    def given(self) -> Given | None:
        """Answers the call; None where no library is known to have it."""
        return self._written() or self._communicator() or self._plain()

    def _argument(self, place: int, keyword: str = "") -> object:
        if keyword in self.keywords:
            return self.keywords[keyword]
        return self.arguments[place] if place < len(self.arguments) else UNKNOWN

    def _written(self) -> Given | None:
        name, first = self.name, self._argument(0)
        if name in RANKS_WRITTEN:
            rank = self._rank(first)
            if isinstance(first, Indexed) and name.startswith("nccl"):
                rank = first.index
            return Given(written={RANKS_WRITTEN[name]: rank})
        if name in SIZES_WRITTEN:
            return Given(written={SIZES_WRITTEN[name]: self._size(first)})
        if name in PARTS_WRITTEN:
            return Given(written={PARTS_WRITTEN[name]: PART})
        if name == "MPI_Comm_dup":
            return Given(written={1: first})
        written = given_by_a_grid(name, self.arguments, self.rank, self.ranks)
        return None if written is None else Given(written=written)

    def _rank(self, group: object) -> object:
        """Gives the number of this rank in a group."""
        if isinstance(group, Part):
            return group.index(self.rank) if self.rank in group else UNKNOWN
        return UNKNOWN if group == PART else self.rank

    def _size(self, group: object) -> object:
        if isinstance(group, Part):
            return len(group)
        return UNKNOWN if group == PART else self.ranks

    def _communicator(self) -> Given | None:
        """Answers a method of a communicator, or of torch.distributed."""
        name = self.name
        group = self.keywords.get(GROUP, WORLD)
        if name.startswith("torch.distributed."):
            group = self._argument(0, "group")
        if name in RANKS_GIVEN:
            return Given(self._rank(group))
        if name in SIZES_GIVEN:
            return Given(self._size(group))
        if name == "torch.distributed.new_group":
            is_given = self.arguments or "ranks" in self.keywords
            ranks = self._argument(0, "ranks") if is_given else None
            found = numbers_of(ranks)
            some = PART if found is None else Part(found)
            return Given(WORLD if ranks is None else some)
        if name == "mpi4py.MPI.Compute_dims":
            sizes = self._argument(1)
            if isinstance(sizes, int) and 0 < sizes <= MOST_ITEMS:
                sizes = [0] * sizes
            return Given(balanced(self._argument(0), sizes))
        if not name.startswith(COMMUNICATOR):
            return None
        method = name.removeprefix(COMMUNICATOR)
        if method in PARTS_GIVEN:
            return Given(PART)
        if method == "Dup":
            return Given(group)
        if method == "Create_cart":
            sizes = self._argument(0, "dims")
            found = numbers_of(sizes) or []
            wraps = self.keywords.get("periods", [False] * len(found))
            if len(self.arguments) > 1:
                wraps = self.arguments[1]
            return Given(grid_of(sizes, wraps, self.ranks))
        if method == "Shift":
            way, by = self._argument(0, "direction"), self._argument(1, "disp")
            return Given(shifted(group, self.rank, way, by))
        return None

    def _plain(self) -> Given | None:
        """Answers a function that only computes."""
        if self.name in ENVIRONMENT:
            return Given(environment(self._argument(0), self.rank, self.ranks))
        if self.name in PASSED_ON:
            return Given(self._argument(0))
        of = COMPUTED.get(self.name)
        is_plain = self.arguments and not self.keywords
        return Given(of(self.arguments)) if of is not None and is_plain else None


def _range(arguments: Sequence[object]) -> object:
    bounds = numbers_of(list(arguments))
    is_known = bounds is not None and len(bounds) <= 3 and not (len(bounds) > 2 and not bounds[2])
    return range(*bounds) if bounds is not None and is_known else UNKNOWN


def _length(arguments: Sequence[object]) -> object:
    items = items_of(arguments[0])
    return UNKNOWN if items is None else len(items)


def _listed(arguments: Sequence[object]) -> object:
    items = items_of(arguments[0])
    return UNKNOWN if items is None else list(items)


def _reversed(arguments: Sequence[object]) -> object:
    items = items_of(arguments[0])
    return UNKNOWN if items is None else list(items)[::-1]


def _sorted(arguments: Sequence[object]) -> object:
    numbers = numbers_of(arguments[0])
    return UNKNOWN if numbers is None else sorted(numbers)


def _enumerated(arguments: Sequence[object]) -> object:
    items = items_of(arguments[0])
    if items is None or len(arguments) > 1:
        return UNKNOWN
    return [[place, item] for place, item in enumerate(items)]


def _zipped(arguments: Sequence[object]) -> object:
    lists = [items_of(argument) for argument in arguments]
    known = [items for items in lists if items is not None]
    if len(known) < len(lists):
        return UNKNOWN
    return [list(items) for items in zip(*known, strict=False)]


def _of_numbers(of: Callable[[Sequence[int]], object]) -> Callable[[Sequence[object]], object]:
    """Makes a function of whole numbers, or of the list of them, one of values."""

    def computed(arguments: Sequence[object]) -> object:
        first = arguments[0] if len(arguments) == 1 else None
        numbers = numbers_of(first) if isinstance(first, list) else numbers_of(list(arguments))
        return of(numbers) if numbers else UNKNOWN

    return computed


def _quotient(numbers: Sequence[int]) -> object:
    is_known = len(numbers) == 2 and numbers[1] != 0
    return list(divmod(numbers[0], numbers[1])) if is_known else UNKNOWN


def _magnitude(numbers: Sequence[int]) -> object:
    return abs(numbers[0])


COMPUTED: dict[str, Callable[[Sequence[object]], object]] = {
    "range": _range,
    "len": _length,
    "list": _listed,
    "tuple": _listed,
    "reversed": _reversed,
    "sorted": _sorted,
    "enumerate": _enumerated,
    "zip": _zipped,
    "min": _of_numbers(min),
    "max": _of_numbers(max),
    "abs": _of_numbers(_magnitude),
    "divmod": _of_numbers(_quotient),
}
