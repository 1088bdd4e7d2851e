"""Reads Python as statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from tree_sitter import Node

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
from linkwright.sources.tree import place_of, text_of

__all__ = ["statements_of"]

# Python's operators whose meaning differs from C's, by names of our own.
OPERATORS = {"//": "floor", "%": "modulo", "and": "&&", "or": "||", "not": "!", "/": "true divide"}
COMPREHENSIONS = {"list_comprehension", "generator_expression", "set_comprehension"}


def statements_of(node: Node) -> tuple[Statement, ...]:
    """Gives the statements of a module."""
    return tuple(_Lowering().statements(node))


class _Lowering:
    """Follows the names that imports give."""

    def __init__(self) -> None:
        self.imported: dict[str, str] = {}
        self.owner = ""

    def statements(self, node: Node | None) -> Iterator[Statement]:
        """Gives the statements of a node."""
        if node is None:
            return
        kind = node.type
        if kind in ("import_statement", "import_from_statement"):
            self._import(node)
        elif kind == "expression_statement":
            for child in node.named_children:
                yield from self._effect(child)
        elif kind == "if_statement":
            yield self._branch(node)
        elif kind == "for_statement":
            left = node.child_by_field_name("left")
            body = tuple(self.statements(node.child_by_field_name("body")))
            yield Over(self._variable(left), self._field(node, "right"), body)
        elif kind == "while_statement":
            body = tuple(self.statements(node.child_by_field_name("body")))
            yield Loop(self._field(node, "condition"), body)
        elif kind == "function_definition":
            yield self._function(node)
        elif kind == "class_definition":
            before, self.owner = self.owner, text_of(node.child_by_field_name("name"))
            yield from self.statements(node.child_by_field_name("body"))
            self.owner = before
        elif kind == "return_statement":
            values = node.named_children
            yield Return(self.expression(values[0]) if values else Constant(UNKNOWN))
        elif kind == "with_item":
            yield Evaluation(self._field(node, "value"))
        elif kind in ("case_clause", "except_clause"):
            within = [text for child in node.named_children for text in self.statements(child)]
            yield Branch(Constant(UNKNOWN), tuple(within))
        elif kind in STATEMENTS:
            for child in node.named_children:
                yield from self.statements(child)
        elif kind not in ("comment", "decorator"):
            yield Evaluation(self.expression(node))

    def _import(self, node: Node) -> None:
        module = text_of(node.child_by_field_name("module_name"))
        prefix = f"{module}." if module else ""
        for child in node.children_by_field_name("name"):
            if child.type == "aliased_import":
                name = text_of(child.child_by_field_name("name"))
                self.imported[text_of(child.child_by_field_name("alias"))] = prefix + name
            else:
                name = text_of(child)
                first = name if module else name.partition(".")[0]
                self.imported[first] = prefix + first

    def _branch(self, node: Node) -> Statement:
        alternatives = node.children_by_field_name("alternative")
        otherwise: tuple[Statement, ...] = ()
        for child in reversed(alternatives):
            body = child.child_by_field_name("body") or child.child_by_field_name("consequence")
            inner = tuple(self.statements(body))
            if child.type == "elif_clause":
                inner = (Branch(self._field(child, "condition"), inner, otherwise),)
            otherwise = inner
        then = tuple(self.statements(node.child_by_field_name("consequence")))
        return Branch(self._field(node, "condition"), then, otherwise)

    def _function(self, node: Node) -> Function:
        listed = node.child_by_field_name("parameters")
        parameters, defaults = [], []
        for child in listed.named_children if listed is not None else []:
            name = child.child_by_field_name("name") or child
            while name.type not in ("identifier",) and name.named_children:
                name = name.named_children[0]
            parameters.append(text_of(name))
            value = child.child_by_field_name("value")
            if value is not None:
                defaults.append((text_of(name), self.expression(value)))
        if self.owner and parameters[:1] == ["self"]:
            parameters = parameters[1:]
        body = tuple(self.statements(node.child_by_field_name("body")))
        own = text_of(node.child_by_field_name("name"))
        named = f"{self.owner}.{own}" if self.owner else own
        return Function(named, tuple(parameters), body, tuple(defaults))

    def _effect(self, node: Node) -> Iterator[Statement]:
        if node.type == "assignment":
            left = node.child_by_field_name("left")
            if node.child_by_field_name("right") is None:
                return
            value = self._field(node, "right")
            variable = self._variable(left)
            if variable is not None:
                yield Assignment(variable, value)
            elif left is not None and left.type in ("pattern_list", "tuple_pattern"):
                yield Assignment("<tuple>", value)
                for index, child in enumerate(left.named_children):
                    name = self._variable(child)
                    if name is not None:
                        yield Assignment(name, Element(Name("<tuple>"), Constant(index)))
            else:
                yield Evaluation(value)
        elif node.type == "augmented_assignment":
            operator = text_of(node.child_by_field_name("operator")).removesuffix("=")
            operands = (self._field(node, "left"), self._field(node, "right"))
            value = Operation(OPERATORS.get(operator, operator), operands)
            variable = self._variable(node.child_by_field_name("left"))
            yield Evaluation(value) if variable is None else Assignment(variable, value)
        else:
            yield Evaluation(self.expression(node))

    def _variable(self, node: Node | None) -> str | None:
        """Gives the name of a variable or an attribute; None of anything else."""
        if node is None or node.type not in ("identifier", "attribute"):
            return None
        return self._path(node)

    def _path(self, node: Node) -> str:
        text = text_of(node)
        first, dot, rest = text.partition(".")
        if first == "self" and self.owner:
            first = self.owner
        return self.imported.get(first, first) + dot + rest

    def _field(self, node: Node, name: str) -> Expression:
        return self.expression(node.child_by_field_name(name))

    def expression(self, node: Node | None) -> Expression:
        """Gives the expression of a node."""
        if node is None:
            return Constant(UNKNOWN)
        kind = node.type
        if kind == "integer":
            with suppress(ValueError):
                return Constant(int(text_of(node), 0))
            return Constant(UNKNOWN)
        if kind == "string":
            inner = [child for child in node.named_children if child.type == "string_content"]
            return Constant("".join(map(text_of, inner)))
        if kind in ("true", "false", "none"):
            return Constant({"true": True, "false": False, "none": None}[kind])
        if kind == "identifier":
            return Name(self._path(node))
        if kind == "attribute":
            base = node.child_by_field_name("object")
            if base is not None and base.type in ("identifier", "attribute"):
                return Name(self._path(node))
            return Operation(",", (self.expression(base),))
        if kind == "call":
            return self._call(node)
        if kind in ("binary_operator", "boolean_operator"):
            operator = text_of(node.child_by_field_name("operator"))
            operands = (self._field(node, "left"), self._field(node, "right"))
            return Operation(OPERATORS.get(operator, operator), operands)
        if kind in ("not_operator", "unary_operator"):
            operator = "!" if kind == "not_operator" else text_of(node.children[0])
            return Operation(operator, (self._field(node, "argument"),))
        if kind == "comparison_operator":
            operators = [text_of(child) for child in node.children_by_field_name("operators")]
            compared = tuple(map(self.expression, node.named_children))
            return Operation(operators[0] if len(operators) == 1 else ",", compared)
        if kind == "conditional_expression":
            then, condition, otherwise = map(self.expression, node.named_children[:3])
            return Operation("?", (condition, then, otherwise))
        if kind == "parenthesized_expression":
            return self.expression(next(iter(node.named_children), None))
        if kind in ("list", "tuple", "expression_list", "set"):
            return Listing(tuple(map(self.expression, node.named_children)))
        if kind == "subscript":
            return Element(self._field(node, "value"), self._field(node, "subscript"))
        if kind in COMPREHENSIONS:
            return self._comprehension(node)
        if kind == "lambda":
            return Body((Evaluation(self._field(node, "body")),))
        if kind in ("named_expression", "assignment"):
            return Body(tuple(self._effect(node)))
        return Operation(",", tuple(map(self.expression, node.named_children)))

    def _comprehension(self, node: Node) -> Expression:
        clauses = [child for child in node.named_children if child.type == "for_in_clause"]
        filters = [child for child in node.named_children if child.type == "if_clause"]
        value = self._field(node, "body")
        condition: Expression = Constant(1)
        for clause in filters:
            operands = (condition, self.expression(clause.named_children[0]))
            condition = Operation("&&", operands)
        for clause in reversed(clauses):
            left = self._variable(clause.child_by_field_name("left"))
            value = Comprehension(left, self._field(clause, "right"), condition, value)
            condition = Constant(1)
        return value

    def _call(self, node: Node) -> Call:
        function = node.child_by_field_name("function")
        listed = node.child_by_field_name("arguments")
        arguments, keywords = [], []
        children = listed.named_children if listed is not None else []
        if listed is not None and listed.type in COMPREHENSIONS:
            children = [listed]
        for child in children:
            if child.type == "keyword_argument":
                name = text_of(child.child_by_field_name("name"))
                keywords.append((name, self._field(child, "value")))
            elif child.type != "comment":
                arguments.append(self.expression(child))
        name = ""
        if function is not None:
            if function.type in ("identifier", "attribute"):
                name = self._path(function)
            if function.type == "attribute":
                base = function.child_by_field_name("object")
                if base is not None and base.type not in ("identifier", "attribute"):
                    # Says what a chain of calls does before counts as well.
                    arguments.append(self.expression(base))
                    name = ""
        text = text_of(function)
        shown = text if len(text) < 60 else name
        return Call(name, tuple(arguments), tuple(keywords), (), place_of(node), shown)


# Says what decides nothing, with the statements within it.
STATEMENTS = {
    "module",
    "block",
    "with_statement",
    "with_clause",
    "try_statement",
    "else_clause",
    "finally_clause",
    "decorated_definition",
    "match_statement",
    "assert_statement",
    "raise_statement",
    "delete_statement",
    "global_statement",
    "nonlocal_statement",
    "pass_statement",
    "break_statement",
    "continue_statement",
    "type_alias_statement",
}
