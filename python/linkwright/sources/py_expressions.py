"""Reads expressions of Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

from tree_sitter import Node

from linkwright.sources import statements as st
from linkwright.sources.calls import CALLS
from linkwright.sources.libraries import RANKS_GIVEN, SIZES_GIVEN
from linkwright.sources.statements import UNKNOWN, Constant, Expression, Name, Statement
from linkwright.sources.tree import Reader, place_of

__all__ = ["ITEM", "OPERATORS", "Expressions"]

# Python's operators whose meaning differs from C's, by names of our own.
OPERATORS = {"//": "floor", "%": "modulo", "and": "&&", "or": "||", "not": "!", "/": "true divide"}
COMPREHENSIONS = {"list_comprehension", "generator_expression", "set_comprehension"}
# The variable that holds an item until its parts have their names.
ITEM = "<item>"


class Expressions(Reader, ABC):
    """Follows the names that imports give. `owner` is the class that is read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.imported: dict[str, str] = {}
        # Modules that are imported as a whole.
        self.opened: list[str] = []
        self.owner = ""

    @abstractmethod
    def effect(self, node: Node) -> Iterator[Statement]:
        """Says what an expression assigns and calls."""

    @abstractmethod
    def bound(self, node: Node | None, value: Expression) -> Iterator[st.Assignment]:
        """Gives a value, or its parts, to what a pattern names."""

    def variable(self, node: Node | None) -> str | None:
        """Gives the name of a variable or an attribute; None of anything else."""
        if node is None or node.type not in ("identifier", "attribute"):
            return None
        return self.path(node)

    def path(self, node: Node) -> str:
        """Gives the whole name of what a name or an attribute means."""
        text = "".join(self.text(node).split())
        first, dot, rest = text.partition(".")
        if first in ("self", "cls") and self.owner:
            first = self.owner
        for module in self.opened if first not in self.imported else []:
            whole = f"{module}.{text}"
            if whole in CALLS or whole in SIZES_GIVEN or whole in RANKS_GIVEN:
                return whole
        return self.imported.get(first, first) + dot + rest

    def field(self, node: Node, name: str) -> Expression:
        """Gives the expression of a node's field."""
        return self.expression(node.child_by_field_name(name))

    def expression(self, node: Node | None) -> Expression:
        """Gives the expression of a node."""
        if node is None:
            return Constant(UNKNOWN)
        kind = node.type
        if kind == "integer":
            with suppress(ValueError):
                return Constant(int(self.text(node), 0))
            return Constant(UNKNOWN)
        if kind == "string":
            inner = [child for child in node.named_children if child.type == "string_content"]
            return Constant("".join(map(self.text, inner)))
        if kind in ("true", "false", "none"):
            return Constant({"true": True, "false": False, "none": None}[kind])
        if kind == "identifier":
            return Name(self.path(node))
        if kind == "attribute":
            base = node.child_by_field_name("object")
            if base is not None and base.type in ("identifier", "attribute"):
                return Name(self.path(node))
            return st.Operation(",", (self.expression(base),))
        if kind == "call":
            return self._call(node)
        if kind in ("binary_operator", "boolean_operator"):
            operator = self.text(node.child_by_field_name("operator"))
            operands = (self.field(node, "left"), self.field(node, "right"))
            return st.Operation(OPERATORS.get(operator, operator), operands)
        if kind in ("not_operator", "unary_operator"):
            operator = "!" if kind == "not_operator" else self.text(node.children[0])
            return st.Operation(operator, (self.field(node, "argument"),))
        if kind == "comparison_operator":
            return self._comparison(node)
        if kind == "conditional_expression":
            then, condition, otherwise = map(self.expression, node.named_children[:3])
            return st.Operation("?", (condition, then, otherwise))
        if kind in ("parenthesized_expression", "await"):
            inner = [child for child in node.named_children if child.type != "comment"]
            return self.expression(inner[0] if inner else None)
        if kind in ("list", "tuple", "expression_list", "set"):
            items = [child for child in node.named_children if child.type != "comment"]
            if any(child.type == "list_splat" for child in items):
                return st.Operation(",", tuple(map(self.expression, items)))
            return st.Listing(tuple(map(self.expression, items)))
        if kind == "subscript":
            return st.Element(self.field(node, "value"), self.field(node, "subscript"))
        if kind in COMPREHENSIONS:
            return self._comprehension(node)
        if kind == "lambda":
            # Nobody knows when it is called: at the end, as other functions.
            return st.Body((self.lambda_named(f"<lambda {node.start_byte}>", node),))
        if kind == "named_expression":
            name = self.text(node.child_by_field_name("name"))
            return st.Body((st.Assignment(name, self.field(node, "value")),), Name(name))
        if kind == "assignment":
            left = self.variable(node.child_by_field_name("left"))
            after = Constant(UNKNOWN) if left is None else Name(left)
            return st.Body(tuple(self.effect(node)), after)
        return st.Operation(",", tuple(map(self.expression, node.named_children)))

    def lambda_named(self, name: str, node: Node) -> st.Function:
        """Gives a lambda as a function, which sees the variables around it."""
        listed = node.child_by_field_name("parameters")
        children = listed.named_children if listed is not None else []
        names = (child.child_by_field_name("name") or child for child in children)
        value = self.field(node, "body")
        return st.Function(name, tuple(map(self.text, names)), (st.Return(value),), is_nested=True)

    def _comparison(self, node: Node) -> Expression:
        operators = [self.text(child) for child in node.children_by_field_name("operators")]
        compared = [self.expression(child) for child in node.named_children]
        if len(operators) != len(compared) - 1:
            return st.Operation(",", tuple(compared))
        pairs = zip(operators, pairwise(compared), strict=True)
        whole, *more = (st.Operation(operator, both) for operator, both in pairs)
        for each in more:
            whole = st.Operation("&&", (whole, each))
        return whole

    def _comprehension(self, node: Node) -> Expression:
        value = self.field(node, "body")
        condition: Expression = Constant(1)
        # The last clause is the innermost, and a filter is of the clause before it.
        for clause in reversed(node.named_children):
            if clause.type == "if_clause":
                inner = self.expression(next(iter(clause.named_children), None))
                condition = st.Operation("&&", (inner, condition))
            elif clause.type == "for_in_clause":
                left = clause.child_by_field_name("left")
                name = self.variable(left)
                bound = () if name is not None else tuple(self.bound(left, Name(ITEM)))
                items = self.field(clause, "right")
                value = st.Comprehension(name or ITEM, bound, items, condition, value)
                condition = Constant(1)
        return value

    def _call(self, node: Node) -> st.Call:
        function = node.child_by_field_name("function")
        listed = node.child_by_field_name("arguments")
        arguments, keywords = [], []
        lent: list[st.Lent | None] = []
        children = listed.named_children if listed is not None else []
        if listed is not None and listed.type in COMPREHENSIONS:
            children = [listed]
        for child in children:
            if child.type == "keyword_argument":
                name = self.text(child.child_by_field_name("name"))
                keywords.append((name, self.field(child, "value")))
            elif child.type != "comment":
                arguments.append(self.expression(child))
                path = self.variable(child)
                lent.append(None if path is None else st.Lent(path))
        name, base = self._called(function)
        text = self.text(function)
        shown = text if len(text) < 60 else name
        return st.Call(
            name, tuple(arguments), tuple(keywords), tuple(lent), place_of(node), shown, base
        )

    def _called(self, function: Node | None) -> tuple[str, Expression | None]:
        """The whole name of what is called, and the value that it is a method of."""
        if function is None or function.type not in ("identifier", "attribute"):
            return "", None if function is None else self.expression(function)
        if function.type == "identifier":
            return self.path(function), None
        base = function.child_by_field_name("object")
        if base is None or base.type not in ("identifier", "attribute"):
            # The calls of a chain before it count as well.
            name = f"<value>.{self.text(function.child_by_field_name('attribute'))}"
            return name, self.expression(base)
        first = self.text(base).partition(".")[0]
        whole = self.path(base)
        is_module = first in self.imported and not whole.startswith("mpi4py.MPI.COMM")
        return self.path(function), None if is_module else Name(whole)
