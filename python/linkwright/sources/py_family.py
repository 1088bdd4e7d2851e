"""Reads Python as statements."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from linkwright.sources import statements as st
from linkwright.sources.calls import CALLS
from linkwright.sources.libraries import CONSTANTS
from linkwright.sources.py_expressions import ITEM, OPERATORS, Expressions
from linkwright.sources.statements import UNKNOWN, Constant, Expression, Name, Statement
from linkwright.sources.switches import Case, switched

__all__ = ["statements_of"]

# These decide nothing, and hold statements.
TRANSPARENT = {
    "module",
    "block",
    "with_statement",
    "with_clause",
    "try_statement",
    "else_clause",
    "finally_clause",
    "decorated_definition",
    "assert_statement",
    "raise_statement",
    "delete_statement",
    "type_alias_statement",
}
NOTHING = {"comment", "decorator", "pass_statement", "nonlocal_statement"}
PATTERNS = ("pattern_list", "tuple_pattern", "list_pattern")
# These change a list in a way that is not followed.
CHANGING = ("insert", "pop", "remove", "clear", "sort", "reverse", "update")


def statements_of(node: Node, content: bytes) -> tuple[Statement, ...]:
    """Gives the statements of a module, from its tree and its text."""
    return tuple(_Lowering(content).statements(node))


class _Lowering(Expressions):
    """Follows which names are of a function alone."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        # Of each function that is read, the names that it says are of others.
        self.others: list[set[str]] = []

    def statements(self, node: Node | None) -> Iterator[Statement]:
        """Gives the statements of a node."""
        if node is None or node.type in NOTHING:
            return
        kind = node.type
        if kind in ("import_statement", "import_from_statement"):
            yield from self._import(node)
        elif kind == "expression_statement":
            for child in node.named_children:
                yield from self.effect(child)
        elif kind == "if_statement":
            yield self._branch(node)
        elif kind == "for_statement":
            yield from self._for(node)
        elif kind == "while_statement":
            yield st.Loop(self.field(node, "condition"), self._block(node, "body"))
            yield from self.statements(node.child_by_field_name("alternative"))
        elif kind in ("break_statement", "continue_statement"):
            yield st.Leave("break" if kind == "break_statement" else "continue")
        elif kind == "global_statement":
            if self.others:
                self.others[-1].update(map(self.text, node.named_children))
        elif kind == "function_definition":
            yield self._function(node)
        elif kind == "class_definition":
            before, self.owner = self.owner, self.text(node.child_by_field_name("name"))
            others, self.others = self.others, []
            yield from self.statements(node.child_by_field_name("body"))
            self.owner, self.others = before, others
        elif kind == "return_statement":
            values = node.named_children
            yield st.Return(self.expression(values[0]) if values else Constant(None))
        elif kind == "with_item":
            yield st.Evaluation(self.field(node, "value"))
        elif kind == "except_clause":
            within = [text for child in node.named_children for text in self.statements(child)]
            yield st.Branch(Constant(UNKNOWN), tuple(within))
        elif kind == "match_statement":
            yield from self._match(node)
        elif kind in TRANSPARENT:
            for child in node.named_children:
                yield from self.statements(child)
        else:
            yield st.Evaluation(self.expression(node))

    def _block(self, node: Node, name: str) -> tuple[Statement, ...]:
        return tuple(self.statements(node.child_by_field_name(name)))

    def _import(self, node: Node) -> Iterator[Statement]:
        module = self.text(node.child_by_field_name("module_name"))
        prefix = f"{module}." if module else ""
        if any(child.type == "wildcard_import" for child in node.named_children):
            self.opened.append(module)
        for child in node.children_by_field_name("name"):
            if child.type == "aliased_import":
                name = self.text(child.child_by_field_name("name"))
                own, whole = self.text(child.child_by_field_name("alias")), prefix + name
            else:
                name = self.text(child)
                own = name if module else name.partition(".")[0]
                whole = prefix + own
            self.imported[own] = whole
            if whole not in CALLS and whole not in CONSTANTS:
                # Where the import fails, the name may be made None instead.
                yield st.Assignment(whole, Constant(UNKNOWN))
        if "mpi4py" in self.text(node):
            yield st.Assignment("<mpi4py>", Constant(1))

    def _branch(self, node: Node) -> Statement:
        alternatives = node.children_by_field_name("alternative")
        otherwise: tuple[Statement, ...] = ()
        for child in reversed(alternatives):
            body = child.child_by_field_name("body") or child.child_by_field_name("consequence")
            inner = tuple(self.statements(body))
            if child.type == "elif_clause":
                inner = (st.Branch(self.field(child, "condition"), inner, otherwise),)
            otherwise = inner
        return st.Branch(self.field(node, "condition"), self._block(node, "consequence"), otherwise)

    def _for(self, node: Node) -> Iterator[Statement]:
        left = node.child_by_field_name("left")
        name = self.variable(left)
        bound = () if name is not None else tuple(self.bound(left, Name(ITEM)))
        body = (*bound, *self._block(node, "body"))
        yield st.Over(name or ITEM, self.field(node, "right"), body)
        yield from self.statements(node.child_by_field_name("alternative"))

    def _match(self, node: Node) -> Iterator[Statement]:
        cases = []
        body = node.child_by_field_name("body")
        for clause in body.named_children if body is not None else []:
            patterns = [child for child in clause.named_children if child.type == "case_pattern"]
            pattern = self.text(patterns[0]) if len(patterns) == 1 else ""
            guard = clause.child_by_field_name("guard")
            tested = None if guard is None else self.expression(next(iter(guard.named_children)))
            value: Expression | None = Constant(UNKNOWN)
            if pattern == "_":
                value = None
            elif pattern.removeprefix("-").isdigit():
                value = Constant(int(pattern))
            cases.append(Case(value, self._block(clause, "consequence"), tested))
        subjects = node.children_by_field_name("subject")
        value = self.expression(subjects[0])
        yield from switched(f"match {node.start_byte}", value, cases, falls=False)

    def _function(self, node: Node) -> st.Function:
        listed = node.child_by_field_name("parameters")
        parameters, defaults = [], []
        for child in listed.named_children if listed is not None else []:
            name = child.child_by_field_name("name") or child
            while name.type not in ("identifier",) and name.named_children:
                name = name.named_children[0]
            parameters.append(self.text(name))
            value = child.child_by_field_name("value")
            if value is not None:
                defaults.append((self.text(name), self.expression(value)))
        is_method = bool(self.owner) and not self.others
        if is_method and parameters[:1] in (["self"], ["cls"]):
            parameters = parameters[1:]
        is_nested = bool(self.others)
        self.others.append(set())
        body = self._block(node, "body")
        self.others.pop()
        own = self.text(node.child_by_field_name("name"))
        named = f"{self.owner}.{own}" if is_method else own
        return st.Function(named, tuple(parameters), body, tuple(defaults), is_nested=is_nested)

    def effect(self, node: Node) -> Iterator[Statement]:
        """Says what an expression assigns and calls."""
        if node.type == "assignment":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            name = self.variable(left)
            if right is not None and right.type == "lambda" and name is not None:
                yield self.lambda_named(name, right)
            elif right is not None:
                yield from self._assigned(left, self.expression(right))
        elif node.type == "augmented_assignment":
            operator = self.text(node.child_by_field_name("operator")).removesuffix("=")
            operands = (self.field(node, "left"), self.field(node, "right"))
            value = st.Operation(OPERATORS.get(operator, operator), operands)
            yield from self._assigned(node.child_by_field_name("left"), value)
        elif node.type == "call":
            yield from self._call_of_a_list(node)
        else:
            yield st.Evaluation(self.expression(node))

    def _assigned(self, left: Node | None, value: Expression) -> Iterator[Statement]:
        if left is not None and left.type == "subscript":
            base = self.variable(left.child_by_field_name("value"))
            if base is None:
                yield st.Evaluation(value)
            else:
                yield st.ElementAssignment(base, self.field(left, "subscript"), value)
        elif left is not None and (left.type in PATTERNS or self.variable(left) is not None):
            yield from self.bound(left, value)
        else:
            yield st.Evaluation(value)

    def bound(self, node: Node | None, value: Expression) -> Iterator[st.Assignment]:
        """Gives a value, or its parts, to what a pattern names."""
        name = self.variable(node)
        if name is not None:
            is_own = bool(self.others) and "." not in name
            yield st.Assignment(name, value, is_own and name not in self.others[-1])
        elif node is not None and node.type in PATTERNS:
            whole = f"<{node.start_byte}>"
            yield st.Assignment(whole, value, declares=True)
            is_known = all(child.type != "list_splat_pattern" for child in node.named_children)
            for index, child in enumerate(node.named_children):
                part = st.Element(Name(whole), Constant(index))
                yield from self.bound(child, part if is_known else Constant(UNKNOWN))
        elif node is not None and node.type == "list_splat_pattern":
            yield from self.bound(next(iter(node.named_children), None), Constant(UNKNOWN))

    def _call_of_a_list(self, node: Node) -> Iterator[Statement]:
        """Appends to a list; after what else changes it, it is not known."""
        called = self.expression(node)
        assert isinstance(called, st.Call)
        base, _, method = called.name.rpartition(".")
        is_list = isinstance(called.base, Name) and bool(base)
        if is_list and method in ("append", "extend") and len(called.arguments) == 1:
            more = called.arguments[0]
            added = st.Listing((more,)) if method == "append" else more
            yield st.Assignment(base, st.Operation("+", (Name(base), added)))
            return
        yield st.Evaluation(called)
        if is_list and method in CHANGING:
            yield st.Assignment(base, Constant(UNKNOWN))
        elif method == "shuffle" and called.lent and called.lent[0] is not None:
            yield st.Assignment(called.lent[0].name, Constant(UNKNOWN))
