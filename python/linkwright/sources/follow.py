"""Follows a source as one of its ranks, as far as its constants go, and notes the calls it meets.

Each rank runs the same statements with its own number. Whatever the source does not say is unknown.
A condition that is unknown takes both ways. A loop whose turns are not known is gone through once,
with all that it assigns unknown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TypeAlias

from linkwright.sources.statements import (
    UNKNOWN,
    Assignment,
    Body,
    Branch,
    Call,
    Comprehension,
    Constant,
    Element,
    Evaluation,
    Expression,
    Function,
    Listing,
    Loop,
    Name,
    Operation,
    Over,
    Return,
    Statement,
)

__all__ = ["ANYBODY", "NOBODY", "PART", "WORLD", "Follower", "Indexed", "Met", "Part"]

Values: TypeAlias = dict[str, object]

WORLD = "all ranks"
ANYBODY = "MPI_ANY_SOURCE"
NOBODY = "MPI_PROC_NULL"
# A communicator of some ranks, which are not known.
PART = "some ranks"

# Says what the libraries' constants mean.
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
RANKS_GIVEN = {"torch.distributed.get_rank", "torch.distributed.get_node_local_rank"}
SIZES_GIVEN = {"torch.distributed.get_world_size", "torch.cuda.device_count"}
# Variables of the environment that launchers set.
RANKS_SET = {"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}
SIZES_SET = {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}
# Calls that give their first argument as a number.
PASSED_ON = {"int", "atoi", "atol", "stoi", "strtol", "list", "tuple"}
ENVIRONMENT = {"getenv", "os.getenv", "os.environ.get"}
# Calls that make communicators of some ranks, by the place of the pointer to the new one.
PARTS_WRITTEN = {
    "MPI_Comm_split": 3,
    "MPI_Comm_split_type": 4,
    "MPI_Comm_create": 2,
    "ncclCommSplit": 3,
}
PARTS_GIVEN = {"Split", "Split_type", "Create", "Create_group"}
LAUNCHES = ("spawn", "Process", "start_processes", "Thread")

# Turns of one loop that are followed, more than the GPUs of any server.
MOST_TURNS = 256
# Statements that all ranks follow, together.
MOST_STEPS = 60_000
DEEPEST_CALL = 8


class Part(tuple[int, ...]):
    """Holds a communicator of these ranks."""


class Met:
    """A call that was met, with the values of its arguments."""

    def __init__(
        self, call: Call, name: str, arguments: Sequence[object], keywords: Mapping[str, object]
    ) -> None:
        self.call = call
        self.name = name
        self.arguments = arguments
        self.keywords = keywords


class _ReturnedError(Exception):
    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


class Follower:
    """Holds one rank of a source."""

    def __init__(
        self,
        statements: Sequence[Statement],
        rank: int,
        ranks: int,
        is_python: bool,
        meet: Callable[[Met], None],
    ) -> None:
        self.rank, self.ranks = rank, ranks
        self.is_python = is_python
        self.meet = meet
        self.shared: Values = {}
        self.functions: dict[str, Function] = {}
        self.entered: set[str] = set()
        self.depth = 0
        self.steps = MOST_STEPS // ranks
        self.statements = statements

    def run(self) -> None:
        """Runs the source: its statements, `main`, and then each function that nothing called."""
        for statement in self.statements:
            if isinstance(statement, Function):
                self.functions[statement.name] = statement
        with contextlib.suppress(_ReturnedError):
            self._block(self.statements, self.shared)
        first = [name for name in self.functions if name == "main" or name.endswith(".__init__")]
        for name in [*first, *self.functions]:
            if name not in self.entered:
                function = self.functions[name]
                self._enter(function, dict.fromkeys(function.parameters, UNKNOWN))

    def _enter(self, function: Function, given: Mapping[str, object]) -> object:
        if self.depth >= DEEPEST_CALL or (self.steps < 0 and function.name in self.entered):
            return UNKNOWN
        self.entered.add(function.name)
        values = {name: self._value(default, {}) for name, default in function.defaults}
        values |= given
        self.depth += 1
        try:
            self._block(function.body, values)
        except _ReturnedError as returned:
            return returned.value
        finally:
            self.depth -= 1
        return UNKNOWN

    def _block(self, statements: Sequence[Statement], values: Values) -> None:
        for statement in statements:
            self.steps -= 1
            self._statement(statement, values)

    def _statement(self, statement: Statement, values: Values) -> None:
        match statement:
            case Assignment(name, value):
                self._assign(name, self._value(value, values), values)
            case Evaluation(value):
                self._value(value, values)
            case Branch(condition, then, otherwise):
                self._branch(self._value(condition, values), then, otherwise, values)
            case Loop():
                self._loop(statement, values)
            case Over(variable, items, body):
                listed = self._items(self._value(items, values))
                if listed is None:
                    self._forget(body, values)
                for item in [UNKNOWN] if listed is None else listed:
                    if variable is not None:
                        self._assign(variable, item, values)
                    self._block(body, values)
            case Return(value):
                raise _ReturnedError(self._value(value, values))
            case Function():
                self.functions.setdefault(statement.name, statement)

    def _items(self, listed: object) -> Sequence[object] | None:
        """Gives the items to go through, or None where they are not known or too many."""
        if not isinstance(listed, list | range | tuple) or self.steps < 0:
            return None
        # The length of a long range has no number.
        return None if any(True for _ in islice(listed, MOST_TURNS, None)) else listed

    def _assign(self, name: str, value: object, values: Values) -> None:
        # Attributes are of the whole source, as are its own variables.
        target = (
            self.shared if "." in name or (name in self.shared and name not in values) else values
        )
        target[name] = value

    def _branch(
        self,
        condition: object,
        then: Sequence[Statement],
        otherwise: Sequence[Statement],
        values: Values,
    ) -> None:
        if condition is not UNKNOWN:
            self._block(then if condition else otherwise, values)
            return
        shared, is_shared = self.shared, values is self.shared
        after: list[tuple[Values, Values]] = []
        for block in (then, otherwise):
            self.shared = dict(shared)
            taken = self.shared if is_shared else dict(values)
            try:
                self._block(block, taken)
            except _ReturnedError:
                # Whoever did not go this way goes on.
                continue
            after.append((self.shared, taken))
        self.shared = shared
        _merge(shared, [of_all for of_all, _ in after])
        if not is_shared:
            _merge(values, [own for _, own in after])

    def _loop(self, loop: Loop, values: Values) -> None:
        for _ in range(MOST_TURNS):
            condition = self._value(loop.condition, values)
            if condition is UNKNOWN or self.steps < 0:
                break
            if not condition:
                return
            self._block(loop.body, values)
            self._block(loop.step, values)
        self._forget((*loop.body, *loop.step), values)
        self._block(loop.body, values)

    def _forget(self, statements: Sequence[Statement], values: Values) -> None:
        for name in _assigned(statements):
            self._assign(name, UNKNOWN, values)

    def _value(self, expression: Expression, values: Values) -> object:
        match expression:
            case Constant(value):
                return value
            case Name(text):
                return self._named(text, values)
            case Operation(operator, operands):
                return self._operation(operator, operands, values)
            case Listing(items):
                return [self._value(item, values) for item in items]
            case Element(base, index):
                return self._element(base, self._value(index, values), values)
            case Comprehension():
                return self._comprehension(expression, values)
            case Body(statements):
                self._block(statements, values)
                return UNKNOWN
            case Call():
                return self._call(expression, values)

    def _named(self, text: str, values: Values) -> object:
        if text in values:
            return values[text]
        if text in self.shared:
            return self.shared[text]
        if text in CONSTANTS:
            return CONSTANTS[text]
        base, _, attribute = text.rpartition(".")
        if self.is_python and self._named_communicator(base, values):
            return {"rank": self.rank, "size": self.ranks}.get(attribute, UNKNOWN)
        return UNKNOWN

    def _named_communicator(self, base: str, values: Values) -> bool:
        return bool(base) and self._named(base, values) == WORLD

    def _element(self, base: Expression, index: object, values: Values) -> object:
        if base == Name("os.environ"):
            return self._environment(index)
        listed = self._value(base, values)
        known = self._items(listed)
        if known is not None and isinstance(index, int):
            return known[index] if -len(known) <= index < len(known) else UNKNOWN
        if isinstance(base, Name) and listed is UNKNOWN and isinstance(index, int):
            # Of an array of communicators, which rank it is.
            return Indexed(index)
        return UNKNOWN

    def _environment(self, name: object) -> object:
        if name in RANKS_SET:
            return self.rank
        return self.ranks if name in SIZES_SET else UNKNOWN

    def _comprehension(self, expression: Comprehension, values: Values) -> object:
        listed = self._items(self._value(expression.items, values))
        known = listed is not None
        found: list[object] = []
        inner = dict(values)
        for item in [UNKNOWN] if listed is None else listed:
            self.steps -= 1
            if expression.variable is not None:
                inner[expression.variable] = item
            condition = self._value(expression.condition, inner)
            if condition is UNKNOWN or condition:
                known = known and condition is not UNKNOWN
                found.append(self._value(expression.value, inner))
        return found if known else UNKNOWN

    def _operation(self, operator: str, operands: Sequence[Expression], values: Values) -> object:
        if operator == "?":
            condition = self._value(operands[0], values)
            if condition is not UNKNOWN:
                return self._value(operands[1 if condition else 2], values)
            both = [self._value(operand, values) for operand in operands[1:]]
            return both[0] if _same(*both) else UNKNOWN
        first = self._value(operands[0], values) if operands else UNKNOWN
        if operator in ("&&", "||") and first is not UNKNOWN:
            is_decided = bool(first) == (operator == "||")
            return first if is_decided else self._value(operands[1], values)
        rest = [self._value(operand, values) for operand in operands[1:]]
        if operator in ("&&", "||") and rest[0] is not UNKNOWN:
            is_decided = bool(rest[0]) == (operator == "||")
            return rest[0] if is_decided else UNKNOWN
        found = [first, *rest]
        lists = [value for value in found if isinstance(value, list)]
        if operator == "+" and len(lists) == len(found):
            return UNKNOWN if sum(map(len, lists)) > MOST_TURNS else list(chain(*lists))
        if operator in ("in", "not in") and len(found) == 2:
            items = self._items(found[1])
            if items is None or UNKNOWN in (found[0], *items):
                return UNKNOWN
            return (found[0] in items) == (operator == "in")
        if UNKNOWN in found or operator == ",":
            return UNKNOWN
        if operator in ("==", "!=", "is", "is not") and len(found) == 2:
            return (found[0] == found[1]) == (operator in ("==", "is"))
        numbers = [int(value) for value in found if isinstance(value, int)]
        if len(numbers) < len(found):
            return UNKNOWN
        return _arithmetic(operator, numbers)

    def _call(self, call: Call, values: Values) -> object:
        arguments = [self._value(argument, values) for argument in call.arguments]
        keywords = {name: self._value(value, values) for name, value in call.keywords}
        name = call.name
        base, _, method = name.rpartition(".")
        on = self._named(base, values) if base else UNKNOWN
        if self.is_python and on in (WORLD, PART) and isinstance(on, str):
            name = f"mpi4py.communicator.{method}"
            keywords["<group>"] = on
        self.meet(Met(call, name, arguments, keywords))
        given = self._known_call(call, name, method, arguments, keywords, values)
        if given is not None:
            return given[0]
        function = self.functions.get(name) or self.functions.get(f"{name}.__init__")
        if function is not None:
            passed: dict[str, object] = dict.fromkeys(function.parameters, UNKNOWN)
            passed |= dict(zip(function.parameters, arguments, strict=False))
            passed |= {key: value for key, value in keywords.items() if key in passed}
            for key, _ in function.defaults:
                if passed.get(key) is UNKNOWN and key not in keywords:
                    position = function.parameters.index(key)
                    if position >= len(arguments):
                        del passed[key]
            result = self._enter(function, passed)
            self._write(call, values, {})
            return result
        if method in LAUNCHES:
            self._launch(call, arguments, keywords)
        self._write(call, values, {})
        return UNKNOWN

    def _launch(
        self, call: Call, arguments: Sequence[object], keywords: Mapping[str, object]
    ) -> None:
        """Runs what a process is started with: its first parameter is the rank, as is usual."""
        named = [*call.arguments, *(value for key, value in call.keywords if key == "target")]
        function = next(
            (
                self.functions[argument.text]
                for argument in named
                if isinstance(argument, Name) and argument.text in self.functions
            ),
            None,
        )
        if function is None:
            return
        more = keywords.get("args", arguments[1] if len(arguments) > 1 else UNKNOWN)
        passed = list(more) if isinstance(more, list | tuple) else []
        if call.name.endswith(("spawn", "start_processes")):
            passed = [self.rank, *passed]
        elif passed and isinstance(passed[0], int) and passed[0] != self.rank:
            # The process of another rank.
            return
        values: dict[str, object] = dict.fromkeys(function.parameters, UNKNOWN)
        values |= dict(zip(function.parameters, passed, strict=False))
        self._enter(function, values)

    def _known_call(
        self,
        call: Call,
        name: str,
        method: str,
        arguments: Sequence[object],
        keywords: Mapping[str, object],
        values: Values,
    ) -> tuple[object] | None:
        """Says what a call of a library gives, in a tuple; None where it is none that is known."""
        of_world = not arguments or arguments[0] != PART
        for written, value in (
            (RANKS_WRITTEN, self.rank),
            (SIZES_WRITTEN, self.ranks),
            (PARTS_WRITTEN, PART),
        ):
            if name in written:
                known = value if of_world or written is PARTS_WRITTEN else UNKNOWN
                first = arguments[0] if arguments else None
                if written is RANKS_WRITTEN and isinstance(first, Indexed):
                    known = first.index
                self._write(call, values, {written[name]: known})
                return (UNKNOWN,)
        is_part = bool(keywords.get("group")) or keywords.get("<group>") == PART
        if name in RANKS_GIVEN or name == "mpi4py.communicator.Get_rank":
            return (UNKNOWN if is_part else self.rank,)
        if name in SIZES_GIVEN or name == "mpi4py.communicator.Get_size":
            return (UNKNOWN if is_part else self.ranks,)
        if name in ENVIRONMENT:
            return (self._environment(arguments[0] if arguments else UNKNOWN),)
        if name == "torch.distributed.new_group":
            ranks = arguments[0] if arguments else keywords.get("ranks", UNKNOWN)
            if isinstance(ranks, list | range) and all(isinstance(rank, int) for rank in ranks):
                return (Part(ranks),)
            return (WORLD if ranks is None else PART,)
        if name.startswith("mpi4py.communicator.") and method in PARTS_GIVEN:
            return (PART,)
        if name in PASSED_ON and arguments:
            return (arguments[0],)
        if self.is_python and name == "range" and arguments:
            bounds = [value for value in arguments if isinstance(value, int)]
            if len(bounds) < len(arguments) or (len(bounds) > 2 and bounds[2] == 0):
                return (UNKNOWN,)
            return (range(*bounds),)
        if name == "len" and arguments:
            items = self._items(arguments[0])
            return (UNKNOWN if items is None else len(items),)
        return None

    def _write(self, call: Call, values: Values, known: Mapping[int, object]) -> None:
        """Sets the variables that a call may write to: to what is known, else to nothing."""
        for place, name in enumerate(call.written):
            if name is not None:
                self._assign(name, known.get(place, UNKNOWN), values)


class Indexed:
    """An item of an array that is not known, such as the communicator of a device."""

    def __init__(self, index: int) -> None:
        self.index = index


def _merge(values: Values, after: Sequence[Values]) -> None:
    """Keeps the values that all ways to here agree on, or that one of them alone has."""
    for name in {name: None for taken in after for name in taken}:
        found = [taken[name] for taken in after if name in taken]
        values[name] = found[0] if all(_same(found[0], it) for it in found) else UNKNOWN


def _same(a: object, b: object) -> bool:
    return a is b or (a is not UNKNOWN and b is not UNKNOWN and a == b)


def _assigned(statements: Sequence[Statement]) -> Iterator[str]:
    """Gives the variables that statements assign."""
    for statement in statements:
        match statement:
            case Assignment(name, _):
                yield name
            case Branch(_, then, otherwise):
                yield from _assigned((*then, *otherwise))
            case Loop(_, body, step):
                yield from _assigned((*body, *step))
            case Over(variable, _, body):
                if variable is not None:
                    yield variable
                yield from _assigned(body)
            case Evaluation(Call(written=written)):
                yield from (name for name in written if name is not None)


# The largest shift, and the largest number that is followed.
MOST_SHIFTED = 64
LARGEST = 1 << 64


def _arithmetic(operator: str, numbers: Sequence[int]) -> object:
    """The value of an operator on whole numbers; unknown where there is none."""
    if len(numbers) == 1:
        (a,) = numbers
        of_one: dict[str, object] = {"-": -a, "+": a, "!": not a, "~": ~a}
        return of_one.get(operator, UNKNOWN)
    a, b = numbers[:2]
    if max(abs(a), abs(b)) > LARGEST:
        return UNKNOWN
    if operator in ("/", "%", "floor", "modulo"):
        if b == 0:
            return UNKNOWN
        if operator in ("floor", "modulo"):
            return a // b if operator == "floor" else a % b
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if operator == "/" else a - quotient * b
    if operator in ("<<", ">>"):
        if not 0 <= b < MOST_SHIFTED:
            return UNKNOWN
        return a << b if operator == "<<" else a >> b
    of_two: dict[str, object] = {
        "+": a + b,
        "-": a - b,
        "*": a * b,
        "<": a < b,
        "<=": a <= b,
        ">": a > b,
        ">=": a >= b,
        "^": a ^ b,
        "&": a & b,
        "|": a | b,
    }
    return of_two.get(operator, UNKNOWN)
