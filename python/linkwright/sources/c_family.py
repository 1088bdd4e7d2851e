"""Reads C, C++ and CUDA as statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from linkwright.sources import statements as st
from linkwright.sources.c_expressions import LARGEST_MACRO, Expressions
from linkwright.sources.statements import UNKNOWN, Constant, Expression, Name, Statement
from linkwright.sources.switches import Case, switched
from linkwright.sources.tree import parse_part, place_of

__all__ = ["statements_of"]

# These decide nothing, and hold statements.
TRANSPARENT = {
    "translation_unit",
    "compound_statement",
    "linkage_specification",
    "declaration_list",
    "namespace_definition",
    "template_declaration",
    "class_specifier",
    "struct_specifier",
    "field_declaration_list",
    "labeled_statement",
    "try_statement",
    "catch_clause",
    "else_clause",
    "init_statement",
}
LOOPS = {"for_statement", "while_statement", "do_statement"}
CONDITIONALS = {"preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef"}
# Calls of C++ that append to a list.
APPENDS = ("push_back", "emplace_back")


def statements_of(node: Node, content: bytes) -> tuple[Statement, ...]:
    """Gives the statements of a source, from its tree and its text."""
    return tuple(_Lowering(content).statements(node))


class _Lowering(Expressions):
    """Holds the macros that are defined so far."""

    def statements(self, node: Node | None) -> Iterator[Statement]:
        """Gives the statements of a node."""
        if node is None:
            return
        kind = node.type
        if kind in TRANSPARENT:
            yield from self._all(node.named_children)
        elif kind == "function_definition":
            yield self._function(node)
        elif kind in ("declaration", "field_declaration"):
            # A structure may be declared in place.
            yield from self.statements(node.child_by_field_name("type"))
            for declarator in node.children_by_field_name("declarator"):
                yield from self._declared(declarator, node)
        elif kind in ("preproc_def", "preproc_function_def"):
            yield from self._macro(node)
        elif kind in CONDITIONALS:
            yield self._conditional(node)
        elif kind == "preproc_else":
            yield from self._all(node.named_children)
        elif kind == "enum_specifier":
            yield from self._enumerators(node)
        elif kind == "if_statement":
            yield from self._if(node)
        elif kind in LOOPS:
            yield from self._loop(node)
        elif kind == "for_range_loop":
            yield from self.statements(node.child_by_field_name("initializer"))
            counted = self._declared_name(node.child_by_field_name("declarator")) or "<item>"
            items = self.expression(node.child_by_field_name("right"))
            yield st.Over(counted, items, self._block(node, "body"))
        elif kind == "switch_statement":
            yield from self._switch(node)
        elif kind in ("break_statement", "continue_statement"):
            yield st.Leave("break" if kind == "break_statement" else "continue")
        elif kind == "return_statement":
            values = [child for child in node.named_children if child.type != "comment"]
            yield st.Return(self.expression(values[0]) if values else Constant(UNKNOWN))
        elif kind in ("expression_statement", "throw_statement"):
            for child in node.named_children:
                yield from self.effect(child)
        elif kind == "condition_clause" or kind.endswith("_expression"):
            yield from self.effect(node)

    def _all(self, nodes: Sequence[Node]) -> Iterator[Statement]:
        for node in nodes:
            yield from self.statements(node)

    def _block(self, node: Node, name: str) -> tuple[Statement, ...]:
        return tuple(self.statements(node.child_by_field_name(name)))

    def _conditional(self, node: Node) -> Statement:
        """Takes both ways of what the preprocessor decides, but for those of numbers."""
        alternative = node.child_by_field_name("alternative")
        condition = node.child_by_field_name("condition")
        skipped = {each.id for each in (alternative, condition) if each is not None}
        name = node.child_by_field_name("name")
        skipped |= set() if name is None else {name.id}
        inner = [child for child in node.named_children if child.id not in skipped]
        is_number = condition is not None and condition.type == "number_literal"
        decided = self.expression(condition) if is_number else Constant(UNKNOWN)
        otherwise = tuple(self.statements(alternative))
        return st.Branch(decided, tuple(self._all(inner)), otherwise)

    def _macro(self, node: Node) -> Iterator[Statement]:
        """Takes in an object-like macro as what it stands for; one with arguments is a function."""
        name = self.text(node.child_by_field_name("name"))
        text = self.text(node.child_by_field_name("value")).replace("\\\n", " ").strip()
        listed = node.child_by_field_name("parameters")
        parameters = () if listed is None else tuple(map(self.text, listed.named_children))
        outer = self.content, self.origin
        self.origin, self.expanded = place_of(node), 0
        # A comment may follow on the line.
        self.content = f"int _ = {text}\n;".encode()
        root = parse_part(self.content) if text else None
        value = None if root is None else _initial(root)
        if listed is None:
            known = Constant(UNKNOWN) if value is None else self.expression(value)
            is_small = self.expanded <= LARGEST_MACRO
            self.macros[name] = known if is_small else Constant(UNKNOWN)
            self.sizes[name] = max(self.expanded, 1) if is_small else 1
        elif value is not None:
            body: tuple[Statement, ...] = (st.Return(self.expression(value)),)
            yield st.Function(name, parameters, body, is_macro=True)
        else:
            self.content = f"void _() {{{text}\n;}}".encode()
            root = parse_part(self.content)
            body = () if root is None else _bodies(self._all(root.named_children))
            yield st.Function(name, parameters, body, is_macro=True)
        self.content, self.origin = outer

    def _if(self, node: Node) -> Iterator[Statement]:
        condition = node.child_by_field_name("condition")
        if condition is not None and condition.type == "condition_clause":
            yield from self.statements(condition.child_by_field_name("initializer"))
        then, otherwise = self._block(node, "consequence"), self._block(node, "alternative")
        yield st.Branch(self.expression(condition), then, otherwise)

    def _switch(self, node: Node) -> Iterator[Statement]:
        body = node.child_by_field_name("body")
        cases = []
        for child in body.named_children if body is not None else []:
            if child.type == "case_statement":
                value = child.child_by_field_name("value")
                inner = [each for each in child.named_children if value is None or each != value]
                expected = None if value is None else self.expression(value)
                cases.append(Case(expected, tuple(self._all(inner))))
        decides = self.expression(node.child_by_field_name("condition"))
        yield from switched(f"switch {node.start_byte}", decides, cases)

    def _function(self, node: Node) -> st.Function:
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            inner = declarator.child_by_field_name("declarator")
            declarator = inner or next(iter(declarator.named_children), None)
        name = declarator.child_by_field_name("declarator") if declarator is not None else None
        listed = declarator.child_by_field_name("parameters") if declarator is not None else None
        parameters, references, defaults = [], [], []
        for child in listed.named_children if listed is not None else []:
            if not child.type.endswith("parameter_declaration"):
                continue
            own = child.child_by_field_name("declarator")
            parameters.append(self._declared_name(own) or "")
            if own is not None and own.type == "reference_declarator":
                references.append(parameters[-1])
            value = child.child_by_field_name("default_value")
            if value is not None:
                defaults.append((parameters[-1], self.expression(value)))
        body = self._block(node, "body")
        short = self.text(name).rpartition("::")[2]
        of_callers = frozenset(references)
        return st.Function(short, tuple(parameters), body, tuple(defaults), of_callers)

    def _declared(self, node: Node, of: Node) -> Iterator[Statement]:
        name = self._declared_name(node)
        if name is None or node.type == "function_declarator":
            return
        value = node.child_by_field_name("value") if node.type == "init_declarator" else None
        if value is not None and value.type == "lambda_expression":
            yield self.lambda_named(name, value)
            return
        given: Expression = Constant(UNKNOWN) if value is None else self.expression(value)
        array = node.child_by_field_name("declarator") if value is not None else node
        if array is not None and array.type == "array_declarator" and value is None:
            size = self.expression(array.child_by_field_name("size"))
            given = st.Operation("*", (st.Listing((Constant(UNKNOWN),)), size))
        if value is None and self.text(of.child_by_field_name("type")).startswith("std::vector<"):
            given = st.Listing(())
        if value is not None and value.type == "argument_list":
            given = Constant(UNKNOWN)
        is_member = of.type == "field_declaration"
        yield st.Member(name) if is_member else st.Assignment(name, given, declares=True)

    def _enumerators(self, node: Node) -> Iterator[Statement]:
        last: Expression = Constant(-1)
        body = node.child_by_field_name("body")
        for child in body.named_children if body is not None else []:
            if child.type == "enumerator":
                value = child.child_by_field_name("value")
                one_more = st.Operation("+", (last, Constant(1)))
                last = one_more if value is None else self.expression(value)
                name = self.text(child.child_by_field_name("name"))
                yield st.Assignment(name, last)
                last = Name(name)

    def _loop(self, node: Node) -> Iterator[Statement]:
        yield from self.statements(node.child_by_field_name("initializer"))
        condition = node.child_by_field_name("condition")
        update = node.child_by_field_name("update")
        step = tuple(self.effect(update)) if update is not None else ()
        tested = Constant(UNKNOWN) if condition is None else self.expression(condition)
        if condition is None and node.type == "for_statement":
            tested = Constant(1)
        is_do = node.type == "do_statement"
        yield st.Loop(tested, self._block(node, "body"), step, tested_after=is_do)

    def effect(self, node: Node) -> Iterator[Statement]:
        """Says what an expression assigns and calls."""
        kind = node.type
        if kind in ("comma_expression", "parenthesized_expression"):
            for child in node.named_children:
                yield from self.effect(child)
        elif kind == "assignment_expression":
            yield from self._assignment(node)
        elif kind == "update_expression":
            argument = node.child_by_field_name("argument")
            operator = "+" if "++" in self.text(node) else "-"
            value = st.Operation(operator, (self.expression(argument), Constant(1)))
            yield from self.assigned(argument, value)
        elif kind == "call_expression":
            yield from self._call_of_a_list(node)
        else:
            yield st.Evaluation(self.expression(node))

    def _assignment(self, node: Node) -> Iterator[Statement]:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = self.text(node.child_by_field_name("operator"))
        value = self.expression(right)
        if operator != "=":
            value = st.Operation(operator.removesuffix("="), (self.expression(left), value))
        yield from self.assigned(left, value)

    def assigned(self, left: Node | None, value: Expression) -> Iterator[Statement]:
        """Assigns a value to what a node names, or to an item of it."""
        name = self.path(left)
        if name is not None:
            yield st.Assignment(name, value)
        elif left is not None and left.type == "subscript_expression":
            base = self.path(left.child_by_field_name("argument"))
            if base is not None:
                yield st.ElementAssignment(base, self.index_of(left), value)
            else:
                # An item of an item, or of what a call gives.
                yield st.Evaluation(value)
                inner: Node | None = left
                while inner is not None and inner.type == "subscript_expression":
                    inner = inner.child_by_field_name("argument")
                name = self.path(inner)
                if name is not None:
                    yield st.Assignment(name, Constant(UNKNOWN))
        else:
            yield st.Evaluation(value)

    def _call_of_a_list(self, node: Node) -> Iterator[Statement]:
        """Appends to a list; other calls are evaluated."""
        function = node.child_by_field_name("function")
        listed = node.child_by_field_name("arguments")
        if function is not None and function.type == "field_expression" and listed is not None:
            base = self.path(function.child_by_field_name("argument"))
            if self.text(function.child_by_field_name("field")) in APPENDS and base is not None:
                items = tuple(map(self.expression, listed.named_children))
                yield st.Assignment(base, st.Operation("+", (Name(base), st.Listing(items))))
                return
        yield st.Evaluation(self.expression(node))

    def _declared_name(self, node: Node | None) -> str | None:
        """Gives the name within a declarator such as `*comms[4]`."""
        while node is not None and node.type not in ("identifier", "field_identifier"):
            inner = node.child_by_field_name("declarator")
            if inner is None:
                inner = next((child for child in node.named_children), None)
            node = inner
        return None if node is None else self.text(node)


def _initial(node: Node) -> Node | None:
    """Gives the value in `int _ = value;`, where that is what a node is."""
    if len(node.named_children) != 1 or node.named_children[0].type != "declaration":
        return None
    declarators = node.named_children[0].children_by_field_name("declarator")
    return declarators[0].child_by_field_name("value") if len(declarators) == 1 else None


def _bodies(statements: Iterator[Statement]) -> tuple[Statement, ...]:
    """Gives what functions hold."""
    return tuple(
        inner
        for statement in statements
        if isinstance(statement, st.Function)
        for inner in statement.body
    )
