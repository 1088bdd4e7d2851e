"""Follows a source as one of its ranks, as far as its constants go, and notes the calls it meets.

Each rank runs the same statements with its own number. Whatever the source does not say is unknown.
A condition that is unknown takes both ways. A loop whose turns are not known is gone through once,
with all that it assigns unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain

from linkwright.sources import statements as st
from linkwright.sources.calls import CALLS
from linkwright.sources.changes import Changes, outer_names
from linkwright.sources.control import Controller, LeftError
from linkwright.sources.libraries import COMMUNICATOR, ENDS, GROUP, LibraryCall
from linkwright.sources.statements import UNKNOWN, Function, Statement
from linkwright.sources.values import PART, WORLD, Grid, Instance, Reference, Scope

__all__ = ["Follower", "Met"]

LAUNCHES = ("spawn", "Process", "start_processes", "Thread")
# Calls in C that only read the numbers in the arrays that they are given, by how they begin.
READERS = ("printf", "fprintf", "assert", "free", "nccl")


@dataclass(frozen=True)
class Met:
    """A call that was met, with the values of its arguments.

    It is unsure where a condition that is not known decides whether it is made.
    """

    call: st.Call
    name: str
    arguments: Sequence[object]
    keywords: Mapping[str, object]
    is_unsure: bool


class Follower(Controller):
    """Holds one rank of a source."""

    def __init__(
        self,
        statements: Sequence[Statement],
        rank: int,
        ranks: int,
        is_python: bool,
        meet: Callable[[Met], None],
        changes: dict[int, Changes],
    ) -> None:
        super().__init__(rank, ranks, is_python, changes)
        self.statements = statements
        self.meet = meet

    def run(self) -> None:
        """Runs the source: its statements, and `main`."""
        for statement in self.statements:
            if isinstance(statement, Function):
                self.define(statement)
        with suppress(LeftError):
            self.block(self.statements, self.shared)
        for function in self.functions.get("main", []):
            if id(function) not in self.entered:
                self._enter_unasked(function)

    def run_rest(self, entered: set[int]) -> None:
        """Runs each function that no rank has entered, of constructors first."""
        every = list(chain(*self.functions.values()))
        first = [function for function in every if function.name.endswith(".__init__")]
        for function in [*first, *every]:
            is_entered = id(function) in self.entered or id(function) in entered
            if not is_entered and not function.is_macro:
                self._enter_unasked(function)
        done: set[int] = set()
        while open_ := [key for key in self.postponed if key not in done]:
            done.update(open_)
            for key in open_:
                self.entered.discard(key)
                self._enter_unasked(self.postponed[key])

    def _enter_unasked(self, function: Function) -> None:
        """Runs a function whose arguments nobody knows; one that may be left out to be None is."""
        values: dict[str, object] = dict.fromkeys(function.parameters, UNKNOWN)
        left_out = [key for key, value in function.defaults if value == st.Constant(None)]
        with suppress(LeftError):
            self.enter(function, values | dict.fromkeys(left_out, None))

    def _define(self, function: Function) -> None:
        of_name = self.functions.setdefault(function.name, [])
        of_name[:] = [other for other in of_name if other is not function] + [function]

    def call(self, call: st.Call, values: Scope) -> object:
        """Makes a call: it is met, and then followed where the source defines it."""
        arguments = [self.value(argument, values) for argument in call.arguments]
        keywords = {name: self.value(value, values) for name, value in call.keywords}
        on = None if call.base is None else self.value(call.base, values)
        name, method = call.name, call.name.rpartition(".")[2]
        if isinstance(on, Instance):
            name = f"{on.of}.{method}"
        elif self._is_communicator(on, call.name, method):
            name = COMMUNICATOR + method
            keywords[GROUP] = WORLD if on is UNKNOWN else on
        called = None if name in CALLS else self.named(call.name, values)
        if isinstance(called, Reference):
            name = called.name
        self.meet(Met(call, name, arguments, keywords, self.is_unsure))
        if name not in CALLS:
            self._hand_on(call, [*arguments, *keywords.values()])
        if name in ENDS:
            raise LeftError("exit")
        function = self._function(name, method, len(arguments))
        if function is not None:
            return self._follow(function, call, arguments, keywords, values)
        library = LibraryCall(name, arguments, keywords, self.rank, self.ranks).given()
        if library is not None:
            self._write(call, values, library.written, may_change=False)
            return library.value
        if method in LAUNCHES:
            self._launch(call, arguments, keywords)
        self._write(
            call, values, {}, may_change=not self.is_python and not name.startswith(READERS)
        )
        return UNKNOWN

    def _hand_on(self, call: st.Call, values: Sequence[object]) -> None:
        """Meets calls that another is handed, which calls them with what nobody knows."""
        for value in values:
            if isinstance(value, Reference):
                self.meet(Met(call, value.name, [], {}, self.is_unsure))

    def _is_communicator(self, on: object, name: str, method: str) -> bool:
        """Whether a method is one of mpi4py's communicators."""
        if not self.is_python or on is None:
            return False
        if on is UNKNOWN:
            # A parameter, say. Other libraries have no methods of these names where MPI is used.
            is_own = name in self.functions or "<mpi4py>" not in self.shared
            return not is_own and (COMMUNICATOR + method in CALLS or method.startswith("Get_"))
        return on in (WORLD, PART) if isinstance(on, str) else isinstance(on, Grid)

    def _function(self, name: str, method: str, count: int) -> Function | None:
        """Finds a function that the source defines: the last of this name and number."""
        names = (name, f"{name}.__init__") if self.is_python else (name, method)
        found = next((self.functions[each] for each in names if each in self.functions), None)
        if found is None:
            return None
        fitting = [function for function in found if len(function.parameters) == count]
        return fitting[-1] if fitting and not self.is_python else found[-1]

    def _follow(
        self,
        function: Function,
        call: st.Call,
        arguments: Sequence[object],
        keywords: Mapping[str, object],
        values: Scope,
    ) -> object:
        given: dict[str, object] = dict(zip(function.parameters, arguments, strict=False))
        given |= {key: value for key, value in keywords.items() if key in function.parameters}
        defaults = [key for key, _ in function.defaults]
        open_ = [key for key in function.parameters if key not in given and key not in defaults]
        given |= dict.fromkeys(open_, UNKNOWN)
        owner = function.name.removesuffix(".__init__")
        is_constructor = self.is_python and owner != function.name
        if is_constructor and id(function) in self.entered:
            self.several.add(owner)
        with self._lending(function, call):
            sees = values if function.is_macro or function.is_nested else None
            result, after = self.enter(function, given, sees)
        if sees is not None:
            for name in outer_names(function):
                if name in after.own and name in values:
                    self.assign(name, after[name], values)
        for parameter, lent in zip(function.parameters, call.lent, strict=False):
            if lent is not None:
                is_list = isinstance(self.named(lent.name, values), list)
                if lent.index is not None:
                    # A pointer to an item may reach its neighbours.
                    self.assign(lent.name, UNKNOWN, values)
                elif lent.is_address or is_list or parameter in function.references:
                    self.set_variable(lent.name, after[parameter], values)
        return Instance(owner) if is_constructor else result

    @contextmanager
    def _lending(self, function: Function, call: st.Call) -> Iterator[None]:
        """Calls the attributes of a caller's variables after the parameters that they are."""
        pairs = [
            (parameter, lent.name)
            for parameter, lent in zip(function.parameters, call.lent, strict=False)
            if lent is not None and parameter != lent.name
        ]
        if not pairs or self.steps < 0:
            yield
            return
        self.steps -= sum(1 for _ in self.attributes) // 64
        lent_out = [
            (f"{parameter}{key.removeprefix(name)}", self.attributes[key])
            for parameter, name in pairs
            for key in self.attributes_of(name)
        ]
        hidden = [self.attributes_of(parameter) for parameter, _ in pairs]
        for key in chain(*hidden):
            del self.attributes[key]
        for key, value in lent_out:
            self.set_variable(key, value, self.shared)
        try:
            yield
        finally:
            back = [
                (f"{name}{key.removeprefix(parameter)}", value)
                for parameter, name in pairs
                for key, value in self.attributes_of(parameter).items()
            ]
            for key in [key for each in chain(*pairs) for key in self.attributes_of(each)]:
                del self.attributes[key]
            for key, value in chain(*(each.items() for each in hidden), back):
                self.set_variable(key, value, self.shared)

    def _write(
        self, call: st.Call, values: Scope, known: Mapping[int, object], *, may_change: bool
    ) -> None:
        """Sets the variables that a call may write to: to what is known, else to nothing.

        One whose address is handed on may be written to, and so may the items of an array in C.
        """
        for place, lent in enumerate(call.lent):
            if lent is None:
                continue
            is_known, may_be = place in known, may_change or lent.is_address
            is_array = may_be and isinstance(self.named(lent.name, values), list)
            if lent.index is not None and is_known:
                written = st.Constant(known[place])
                self.assign_element(st.ElementAssignment(lent.name, lent.index, written), values)
            elif is_known or lent.is_address or is_array:
                self.assign(lent.name, known.get(place, UNKNOWN), values)
            if may_be and not is_known and lent.name in self.bases:
                for key in self.attributes_of(lent.name):
                    self.attributes[key] = UNKNOWN

    def _launch(
        self, call: st.Call, arguments: Sequence[object], keywords: Mapping[str, object]
    ) -> None:
        """Runs what a process is started with: its first parameter is the rank, as is usual."""
        named = [*call.arguments, *(value for key, value in call.keywords if key == "target")]
        function = next(
            (
                self.functions[argument.text][-1]
                for argument in named
                if isinstance(argument, st.Name) and argument.text in self.functions
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
        self.enter(function, values | dict(zip(function.parameters, passed, strict=False)))
