"""Follows the statements of a source as one of its ranks: which are run, and how often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from linkwright.sources import statements as st
from linkwright.sources.changes import Changes, changes_of
from linkwright.sources.evaluate import Evaluator
from linkwright.sources.statements import UNKNOWN, Function, Statement
from linkwright.sources.values import GONE, MOST_ITEMS, Scope, plain, same

__all__ = ["Controller", "LeftError"]

DEEPEST_CALL = 8


class LeftError(Exception):
    """Leaves a block: a loop, its turn, a function, or the program."""

    def __init__(
        self, how: Literal["break", "continue", "return", "exit"], value: object = UNKNOWN
    ) -> None:
        super().__init__()
        self.how = how
        self.value = value


class Controller(Evaluator):
    """Holds one rank and the functions that it has met."""

    def __init__(self, rank: int, ranks: int, is_python: bool, changes: dict[int, Changes]) -> None:
        super().__init__(rank, ranks, is_python)
        self.functions: dict[str, list[Function]] = {}
        # Functions by their identity: two may have one name.
        self.entered: set[int] = set()
        self.postponed: dict[int, Function] = {}
        # The variables that have attributes, and the classes that have several objects.
        self.bases: set[str] = set()
        self.several: set[str] = set()
        # Variables that objects have in C++, where nobody counts them.
        self.members: set[str] = set()
        self.depth = 0
        # Whether a condition that is not known decides what is run.
        self.is_unsure = False
        # Values that the functions which are being run may have returned.
        self.returned: list[list[object]] = [[]]
        # Changes by loops and functions, alike for all ranks.
        self.changes = changes

    def define(self, function: Function) -> None:
        """Takes a function in; the last of a name is what the name means."""
        of_name = self.functions.setdefault(function.name, [])
        of_name[:] = [*(other for other in of_name if other is not function), function]

    def enter(
        self, function: Function, given: Mapping[str, object], caller: Scope | None = None
    ) -> tuple[object, Scope]:
        """Gives what a function returns, and its variables at its end.

        Where too much has been followed it is left to the end, when its arguments are unknown.
        """
        if self.depth >= DEEPEST_CALL or (self.steps < 0 and id(function) in self.entered):
            self.postponed.setdefault(id(function), function)
            return UNKNOWN, Scope()
        self.entered.add(id(function))
        values = caller.layer() if caller is not None else Scope()
        for name, default in function.defaults:
            values[name] = self.value(default, Scope())
        values.own |= given
        self.depth += 1
        self.returned.append([])
        try:
            self.block(function.body, values)
            self.returned[-1].append(UNKNOWN)
        except LeftError as left:
            if left.how == "exit":
                raise
            self.returned[-1].append(left.value)
        finally:
            self.depth -= 1
            found = self.returned.pop()
        return (found[0] if all(same(found[0], it) for it in found) else UNKNOWN), values

    def block(self, statements: Sequence[Statement], values: Scope) -> None:
        """Runs statements."""
        for statement in statements:
            self.steps -= 1
            self._statement(statement, values)

    def _statement(self, statement: Statement, values: Scope) -> None:
        match statement:
            case st.Assignment(name, value, declares):
                self.assign(name, self.value(value, values), values, declares)
            case st.Member(name):
                self.members.add(name)
            case st.ElementAssignment():
                self.assign_element(statement, values)
            case st.Evaluation(value):
                self.value(value, values)
            case st.Branch(condition, then, otherwise):
                decided = plain(self.value(condition, values))
                was_unsure = self.is_unsure
                self.is_unsure |= decided is UNKNOWN and condition != st.Constant(UNKNOWN)
                try:
                    self._branch(decided, then, otherwise, values)
                finally:
                    self.is_unsure = was_unsure
            case st.Loop():
                self._loop(statement, values)
            case st.Over():
                self._over(statement, values)
            case st.Once(body):
                self._turn(body, values)
            case st.Leave(how):
                raise LeftError(how)
            case st.Return(value):
                raise LeftError("return", self.value(value, values))
            case Function():
                self.define(statement)

    def assign(self, name: str, value: object, values: Scope, declares: bool = False) -> None:
        """Gives a variable a new value, without the attributes of the old one."""
        self.set_variable(name, value, values, declares)
        for key in self.attributes_of(name) if name in self.bases else ():
            del self.attributes[key]

    def set_variable(self, name: str, value: object, values: Scope, declares: bool = False) -> None:
        """Gives a variable a value. Attributes are of the whole source, as are its variables."""
        if "." in name:
            if name.partition(".")[0] in self.several:
                value = _alike(self.attributes.find(name), value)
            self.attributes[name] = value
            while "." in name:
                name = name.rpartition(".")[0]
                self.bases.add(name)
        elif declares or name in values:
            values[name] = value
        elif name in self.members:
            self.shared[name] = _alike(self.shared.find(name), value)
        else:
            (self.shared if name in self.shared else values)[name] = value

    def attributes_of(self, name: str) -> dict[str, object]:
        """Gives the attributes of a variable that are known by its name."""
        start = f"{name}."
        return {key: self.attributes[key] for key in self.attributes if key.startswith(start)}

    def set_attribute(self, name: str, value: object) -> None:
        """Gives an attribute a value."""
        self.attributes[name] = value
        while "." in name:
            name = name.rpartition(".")[0]
            self.bases.add(name)

    def assign_element(self, statement: st.ElementAssignment, values: Scope) -> None:
        """Gives an item of a list a value; of a list that is not known nothing more is."""
        index = self.value(statement.index, values)
        value = self.value(statement.value, values)
        listed = self.items(self.named(statement.name, values))
        found: object = UNKNOWN
        if listed is not None and isinstance(index, int) and -len(listed) <= index < len(listed):
            found = [*listed]
            found[index] = value
        self.assign(statement.name, found, values)

    def _branch(
        self,
        condition: object,
        then: Sequence[Statement],
        otherwise: Sequence[Statement],
        values: Scope,
    ) -> None:
        if condition is not UNKNOWN:
            self.block(then if condition else otherwise, values)
            return
        shared, attributes, is_shared = self.shared, self.attributes, values is self.shared
        after: list[tuple[Scope, Scope, Scope]] = []
        left_by: list[LeftError] = []
        for block in (then, otherwise):
            self.shared, self.attributes = shared.layer(), attributes.layer()
            taken = self.shared if is_shared else values.layer()
            try:
                self.block(block, taken)
            except LeftError as left:
                if left.how in ("return", "exit"):
                    # Whoever did not go this way goes on.
                    left_by.append(left)
                    self.returned[-1] += [left.value] if left.how == "return" else []
                    continue
            after.append((self.shared, self.attributes, taken))
        self.shared, self.attributes = shared, attributes
        if not after:
            raise next((left for left in left_by if left.how == "return"), left_by[0])
        shared.merge([layer for layer, _, _ in after])
        attributes.merge([layer for _, layer, _ in after])
        if not is_shared:
            values.merge([layer for _, _, layer in after])

    def _turn(self, body: Sequence[Statement], values: Scope) -> bool:
        """Takes a turn of a loop, and says whether another follows."""
        try:
            self.block(body, values)
        except LeftError as left:
            if left.how not in ("break", "continue"):
                raise
            return left.how == "continue"
        return True

    def _loop(self, loop: st.Loop, values: Scope) -> None:
        counted = [step.name for step in loop.step if isinstance(step, st.Assignment)]
        is_settled = self._settles(loop.body, counted, values)
        for turn in range(MOST_ITEMS):
            condition = plain(self.value(loop.condition, values))
            if loop.tested_after and turn == 0:
                condition = True
            if condition is UNKNOWN or self.steps < 0:
                break
            if not condition or not (is_settled() or self._turn(loop.body, values)):
                return
            self.block(loop.step, values)
        self._forget(loop, values)
        self._branch(UNKNOWN, loop.body, (), values)

    def _over(self, loop: st.Over, values: Scope) -> None:
        listed = self.items(self.value(loop.items, values))
        if listed is None:
            self._forget(loop, values)
            self.assign(loop.variable, UNKNOWN, values)
            self._branch(UNKNOWN, loop.body, (), values)
            return
        is_settled = self._settles(loop.body, [loop.variable], values)
        for item in listed:
            self.assign(loop.variable, item, values)
            if not (is_settled() or self._turn(loop.body, values)):
                return

    def _settles(
        self, body: tuple[Statement, ...], counted: Sequence[str], values: Scope
    ) -> Callable[[], bool]:
        """Asks before each turn of a loop whether it would do what the turn before it did.

        So it is where a turn reads nothing that counts the turns, and has changed nothing.
        """
        changes = self._changes(body)
        if any(name in changes.read for name in counted):
            return lambda: False
        names = list(dict.fromkeys(changes.all()))
        before: list[list[object]] = []

        def is_settled() -> bool:
            if len(before) > 1 and all(map(same, before[-2], before[-1])):
                return True
            before[:] = [*before[-1:], [self.named(name, values) for name in names]]
            return len(before) > 1 and all(map(same, before[-2], before[-1]))

        return is_settled

    def _forget(self, loop: st.Loop | st.Over, values: Scope) -> None:
        """Forgets what a loop may change, whose turns are not known."""
        changes = self._changes(loop)
        lists = [name for name in changes.lists if isinstance(self.named(name, values), list)]
        for name in (*changes.own, *lists):
            if name in values or name in self.shared or name in self.attributes:
                self.assign(name, UNKNOWN, values)
        for name in changes.called:
            for scope in (self.shared, self.attributes):
                if name in scope:
                    scope[name] = UNKNOWN

    def _changes(self, part: st.Loop | st.Over | tuple[Statement, ...]) -> Changes:
        found = self.changes.get(id(part))
        if found is None:
            found = changes_of((part,), self.functions, self.changes)
            self.changes[id(part)] = found
        return found


def _alike(before: object, value: object) -> object:
    """Gives the value of a variable that several objects have; unknown where they differ."""
    return value if before is GONE or same(before, value) else UNKNOWN
