"""Reads expressions of C, C++ and CUDA."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from tree_sitter import Node

from linkwright.sources import statements as st
from linkwright.sources.statements import UNKNOWN, Constant, Expression, Name, Statement
from linkwright.sources.tree import Reader, place_of

__all__ = ["Expressions"]

KNOWN = {"true": 1, "false": 0, "NULL": 0, "nullptr": 0}
NAMES = ("identifier", "qualified_identifier", "true", "false", "null")


# The most parts of what a macro stands for, with the macros within it.
LARGEST_MACRO = 1000


class Expressions(Reader, ABC):
    """Holds what macros stand for. Within one, `origin` is its place."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.macros: dict[str, Expression] = {}
        # How large they are, and how much was read since a macro began.
        self.sizes: dict[str, int] = {}
        self.expanded = 0
        self.origin: st.Place | None = None

    @abstractmethod
    def statements(self, node: Node | None) -> Iterator[Statement]:
        """Gives the statements of a node."""

    @abstractmethod
    def effect(self, node: Node) -> Iterator[Statement]:
        """Says what an expression assigns and calls."""

    def expression(self, node: Node | None) -> Expression:
        """Gives the expression of a node."""
        if node is None:
            return Constant(UNKNOWN)
        kind = node.type
        if kind == "number_literal":
            return Constant(_number(self.text(node)))
        if kind == "string_literal":
            return Constant(self.text(node).strip('"'))
        if kind in NAMES:
            text = self.text(node)
            self.expanded += self.sizes.get(text, 1)
            return Constant(KNOWN[text]) if text in KNOWN else self.macros.get(text, Name(text))
        if kind in ("field_expression", "pointer_expression"):
            name = self.path(node)
            return self._each(node) if name is None else Name(name)
        if kind in ("parenthesized_expression", "condition_clause"):
            inner = node.child_by_field_name("value") or next(iter(node.named_children), None)
            return self.expression(inner)
        if kind == "cast_expression":
            return self.expression(node.child_by_field_name("value"))
        if kind in ("binary_expression", "unary_expression"):
            operator = self.text(node.child_by_field_name("operator"))
            sides = [node.child_by_field_name(name) for name in ("left", "right", "argument")]
            operands = tuple(self.expression(side) for side in sides if side is not None)
            return st.Operation(operator, operands)
        if kind == "conditional_expression":
            names = ("condition", "consequence", "alternative")
            parts = tuple(self.expression(node.child_by_field_name(name)) for name in names)
            return st.Operation("?", parts)
        if kind == "subscript_expression":
            base = self.expression(node.child_by_field_name("argument"))
            return st.Element(base, self.index_of(node))
        if kind == "initializer_list":
            return st.Listing(tuple(map(self.expression, node.named_children)))
        if kind == "call_expression":
            return self._call(node)
        if kind == "lambda_expression":
            # Nobody knows when it is called: at the end, as other functions.
            return st.Body((self.lambda_named(f"<lambda {node.start_byte}>", node),))
        if kind == "compound_literal_expression":
            return self.expression(node.child_by_field_name("value"))
        if kind in ("assignment_expression", "update_expression"):
            changed = self.path(node.child_by_field_name("left"))
            after = Constant(UNKNOWN) if changed is None else Name(changed)
            return st.Body(tuple(self.effect(node)), after)
        return self._each(node)

    def _each(self, node: Node) -> Expression:
        """Evaluates all that a node holds, whose own value is not known."""
        return st.Operation(",", tuple(map(self.expression, node.named_children)))

    def lambda_named(self, name: str, node: Node) -> st.Function:
        """Gives a lambda as a function, which sees the variables around it."""
        listed = next(_within(node, "parameter_list"), None)
        declared = [] if listed is None else listed.named_children
        names = (child.child_by_field_name("declarator") for child in declared)
        parameters = tuple(self.path(each) or "" for each in names)
        body = tuple(self.statements(node.child_by_field_name("body")))
        return st.Function(name, parameters, body, is_nested=True)

    def index_of(self, node: Node) -> Expression:
        """Gives the index within a subscript."""
        index = node.child_by_field_name("index") or node.child_by_field_name("indices")
        if index is not None and index.type == "subscript_argument_list":
            index = next(iter(index.named_children), None)
        return self.expression(index)

    def _call(self, node: Node) -> Expression:
        listed = node.child_by_field_name("arguments")
        arguments = listed.named_children if listed is not None else []
        arguments = [child for child in arguments if child.type != "comment"]
        function = node.child_by_field_name("function")
        written = self.text(function).replace("->", ".").partition("<")[0]
        name = written.rpartition("::")[2].removeprefix("this.")
        meant = self.macros.get(name)
        given = tuple(map(self.expression, arguments))
        return st.Call(
            meant.text if isinstance(meant, Name) else name,
            given,
            (),
            tuple(map(self._lent, arguments, given)),
            self.origin or place_of(node),
            name,
        )

    def path(self, node: Node | None) -> str | None:
        """Gives the name of a variable, a structure's member, or what a pointer points to."""
        while node is not None and node.type in ("pointer_expression", "parenthesized_expression"):
            node = node.child_by_field_name("argument") or next(iter(node.named_children), None)
        if node is None or node.type not in ("identifier", "field_expression"):
            return None
        if node.type == "field_expression":
            base = self.path(node.child_by_field_name("argument"))
            is_own = self.text(node.child_by_field_name("argument")) == "this"
            member = self.text(node.child_by_field_name("field"))
            return member if is_own else None if base is None else f"{base}.{member}"
        return self.text(node)

    def _lent(self, node: Node, given: Expression) -> st.Lent | None:
        """Gives the variable that an argument hands on, if any."""
        if node.type != "pointer_expression" or not self.text(node).startswith("&"):
            return st.Lent(given.text) if isinstance(given, Name) else None
        target = node.child_by_field_name("argument")
        index = None
        while target is not None and target.type == "subscript_expression":
            # Of an item of an item nothing more than the array is known.
            index = self.index_of(target) if index is None else Constant(UNKNOWN)
            target = target.child_by_field_name("argument")
        name = self.path(target)
        return None if name is None else st.Lent(name, is_address=True, index=index)


def _within(node: Node, kind: str) -> Iterator[Node]:
    """Gives all nodes of a kind within one."""
    for child in node.named_children:
        if child.type == kind:
            yield child
        elif child.type != "compound_statement":
            yield from _within(child, kind)


def _number(text: str) -> object:
    digits = text.rstrip("uUlLzZ").replace("'", "")
    try:
        is_octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
        return int(digits, 8) if is_octal else int(digits, 0)
    except ValueError:
        return UNKNOWN
