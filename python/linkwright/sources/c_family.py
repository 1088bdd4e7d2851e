"""Reads C, C++ and CUDA as statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from linkwright.sources.statements import (
    UNKNOWN,
    Assignment,
    Body,
    Branch,
    Call,
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

KNOWN = {"true": 1, "false": 0, "NULL": 0, "nullptr": 0}
# Says what decides nothing, with the statements within it.
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
    "preproc_if",
    "preproc_ifdef",
    "preproc_else",
    "preproc_elif",
    "labeled_statement",
    "try_statement",
    "catch_clause",
    "else_clause",
}
LOOPS = {"for_statement", "while_statement", "do_statement"}


def statements_of(node: Node) -> tuple[Statement, ...]:
    """Gives the statements of a node."""
    return tuple(_statements(node))


def _statements(node: Node | None) -> Iterator[Statement]:
    if node is None:
        return
    kind = node.type
    if kind in TRANSPARENT:
        for child in node.named_children:
            yield from _statements(child)
    elif kind == "function_definition":
        yield _function(node)
    elif kind in ("declaration", "field_declaration"):
        for declarator in node.children_by_field_name("declarator"):
            yield from _declared(declarator)
        # A structure may be declared in place.
        yield from _statements(node.child_by_field_name("type"))
    elif kind == "preproc_def":
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        yield Assignment(text_of(name), Constant(_number(text_of(value).strip(" ()"))))
    elif kind == "enum_specifier":
        yield from _enumerators(node)
    elif kind == "if_statement":
        condition = _expression(node.child_by_field_name("condition"))
        then = tuple(_statements(node.child_by_field_name("consequence")))
        yield Branch(condition, then, tuple(_statements(node.child_by_field_name("alternative"))))
    elif kind in LOOPS:
        yield from _loop(node)
    elif kind == "for_range_loop":
        body = tuple(_statements(node.child_by_field_name("body")))
        items = _expression(node.child_by_field_name("right"))
        counted = node.child_by_field_name("declarator")
        yield Over(_declared_name(counted), items, body)
    elif kind in ("switch_statement", "case_statement"):
        body = tuple(statement for child in node.named_children for statement in _statements(child))
        yield Branch(Constant(UNKNOWN), body)
    elif kind == "return_statement":
        values = node.named_children
        yield Return(_expression(values[0]) if values else Constant(UNKNOWN))
    elif kind == "expression_statement":
        for child in node.named_children:
            yield from _effect(child)
    elif kind == "condition_clause":
        yield Evaluation(_expression(node))
    elif kind.endswith("_expression"):
        yield from _effect(node)


def _function(node: Node) -> Function:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    name = declarator.child_by_field_name("declarator") if declarator is not None else None
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    parameters = tuple(
        _declared_name(child.child_by_field_name("declarator")) or ""
        for child in (listed.named_children if listed is not None else [])
        if child.type.endswith("parameter_declaration")
    )
    body = tuple(_statements(node.child_by_field_name("body")))
    return Function(text_of(name).rpartition("::")[2], parameters, body)


def _declared_name(node: Node | None) -> str | None:
    """Gives the name within a declarator such as `*comms[4]`."""
    while node is not None and node.type not in ("identifier", "field_identifier"):
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in node.named_children), None)
        node = inner
    return None if node is None else text_of(node)


def _declared(node: Node) -> Iterator[Statement]:
    name = _declared_name(node)
    if name is None or node.type == "function_declarator":
        return
    value = node.child_by_field_name("value") if node.type == "init_declarator" else None
    yield Assignment(name, Constant(UNKNOWN) if value is None else _expression(value))


def _enumerators(node: Node) -> Iterator[Statement]:
    last: Expression = Constant(-1)
    body = node.child_by_field_name("body")
    for child in body.named_children if body is not None else []:
        if child.type == "enumerator":
            value = child.child_by_field_name("value")
            one_more = Operation("+", (last, Constant(1)))
            last = one_more if value is None else _expression(value)
            name = text_of(child.child_by_field_name("name"))
            yield Assignment(name, last)
            last = Name(name)


def _loop(node: Node) -> Iterator[Statement]:
    initial = node.child_by_field_name("initializer")
    if initial is not None:
        yield from _statements(initial)
    condition = node.child_by_field_name("condition")
    body = tuple(_statements(node.child_by_field_name("body")))
    update = node.child_by_field_name("update")
    step = tuple(_effect(update)) if update is not None else ()
    if node.type == "do_statement":
        yield from body
    yield Loop(Constant(UNKNOWN) if condition is None else _expression(condition), body, step)


def _effect(node: Node) -> Iterator[Statement]:
    """Says what an expression assigns and calls."""
    if node.type == "comma_expression":
        for child in node.named_children:
            yield from _effect(child)
        return
    if node.type == "assignment_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = text_of(node.child_by_field_name("operator"))
        value = _expression(right)
        if operator != "=":
            value = Operation(operator.removesuffix("="), (_expression(left), value))
        if left is not None and left.type in ("identifier", "field_expression"):
            yield Assignment(_path(left), value)
        else:
            yield Evaluation(value)
        return
    if node.type == "update_expression":
        argument = node.child_by_field_name("argument")
        operator = "+" if "++" in text_of(node) else "-"
        value = Operation(operator, (_expression(argument), Constant(1)))
        yield Assignment(text_of(argument), value)
        return
    yield Evaluation(_expression(node))


def _path(node: Node) -> str:
    """Gives the name of a variable or of a structure's member."""
    return text_of(node).replace("->", ".").removeprefix("this.")


def _number(text: str) -> object:
    digits = text.rstrip("uUlLzZ").replace("'", "")
    try:
        is_octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
        return int(digits, 8) if is_octal else int(digits, 0)
    except ValueError:
        return UNKNOWN


def _expression(node: Node | None) -> Expression:
    if node is None:
        return Constant(UNKNOWN)
    kind = node.type
    if kind == "number_literal":
        return Constant(_number(text_of(node)))
    if kind == "string_literal":
        return Constant(text_of(node).strip('"'))
    if kind in ("identifier", "qualified_identifier", "true", "false", "null"):
        text = text_of(node)
        return Constant(KNOWN[text]) if text in KNOWN else Name(text)
    if kind == "field_expression":
        return Name(_path(node))
    if kind in ("parenthesized_expression", "condition_clause"):
        inner = node.child_by_field_name("value") or next(iter(node.named_children), None)
        return _expression(inner)
    if kind == "cast_expression":
        return _expression(node.child_by_field_name("value"))
    if kind in ("binary_expression", "unary_expression"):
        operator = text_of(node.child_by_field_name("operator"))
        sides = [node.child_by_field_name(name) for name in ("left", "right", "argument")]
        return Operation(operator, tuple(_expression(side) for side in sides if side is not None))
    if kind == "conditional_expression":
        names = ("condition", "consequence", "alternative")
        return Operation("?", tuple(_expression(node.child_by_field_name(name)) for name in names))
    if kind == "subscript_expression":
        index = node.child_by_field_name("index") or node.child_by_field_name("indices")
        inner = index.named_children[0] if index is not None and index.named_children else index
        if index is not None and index.type not in ("subscript_argument_list",):
            inner = index
        return Element(_expression(node.child_by_field_name("argument")), _expression(inner))
    if kind == "initializer_list":
        return Listing(tuple(_expression(child) for child in node.named_children))
    if kind == "call_expression":
        return _call(node)
    if kind == "lambda_expression":
        return Body(tuple(_statements(node.child_by_field_name("body"))))
    if kind in ("assignment_expression", "update_expression"):
        return Body(tuple(_effect(node)))
    return Operation(",", tuple(_expression(child) for child in node.named_children))


def _call(node: Node) -> Call:
    listed = node.child_by_field_name("arguments")
    arguments = listed.named_children if listed is not None else []
    arguments = [child for child in arguments if child.type != "comment"]
    function = node.child_by_field_name("function")
    name = text_of(function).replace("->", ".").rpartition("::")[2]
    return Call(
        name,
        tuple(map(_expression, arguments)),
        (),
        tuple(_written(arguments)),
        place_of(node),
        name,
    )


def _written(arguments: Sequence[Node]) -> Iterator[str | None]:
    """The variables whose addresses are handed on, or None, of each argument."""
    for node in arguments:
        is_address = node.type == "pointer_expression" and text_of(node).startswith("&")
        target = node.child_by_field_name("argument") if is_address else None
        is_name = target is not None and target.type in ("identifier", "field_expression")
        yield _path(target) if target is not None and is_name else None
