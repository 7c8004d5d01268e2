"""A Relay module or expression as text, version 0.0.5: what `parser` reads back to a structurally equal program.

    %0 = add(%a, %b) /* ty=float32 */;
    %1 = (%0, %0) /* ty=(float32, float32) */;
    concatenate(%1) /* ty=Tensor[(2), float32] */

The form is TVM's (v0.19). Graphs print one expression per line as `%0`, `%1`, ..., numbered as they are first read;
variables, constants and what a block ends in stay in place, lets stay lets. Comments give types once they are known,
and the places of expressions that were read from a text. Inferred types are written out where they can be read again.
What 0.0.5 has no words for (kinds of type parameters, `where`, type arguments) prints in seed 004's notation, the
attributes of a module as `attributes { "name" = value, }`. Nested
blocks are tasks and graphs are walked with a stack, so programs may be as deep and long as memory allows.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.types import Type, TypeData
from baton._src.relay.check.show import show_type
from baton._src.relay.nodes import Clause, Function, Pattern
from baton._src.relay.text.expression_printer import INDENT, Annotate, ExpressionPrinter
from baton._src.relay.text.literals import show_value
from baton._src.relay.text.unique_names import global_name
from baton._src.support.trampoline import run

HEADER = '#[version = "0.0.5"]'
OMITTED = "/* The metadata section is left out; astext(show_meta_data=True) writes it. */"


def astext(node: Any, show_meta_data: bool = True, annotate: Annotate | None = None, header: bool = True) -> str:
    """The text of a module, an expression, a pattern, a clause or a type.

    `annotate` gives what is written behind expressions in place of their types. The header of modules and expressions
    says the version; without it, nothing is said of metadata left out.
    """
    printer = _Printer(annotate)
    head = [HEADER] if header else []
    match node:
        case IRModule():
            text = "\n".join([*head, *printer.module(node)])
        case TypeData():
            text = printer.data(node)
        case Type():
            return show_type(node)
        case Pattern():
            return printer.pattern(node)
        case Clause():
            return f"{printer.pattern(node.lhs)} => {run(printer.block(node.rhs))}"
        case _:
            text = "\n".join([*head, *printer.expression(node)])
    if not printer.metadata.entries:
        return text
    if show_meta_data:
        return f"{text}\n{printer.metadata.section()}"
    return f"{text}\n{OMITTED}" if header else text


class _Printer(ExpressionPrinter):
    """A whole text: definitions of types and functions, in the order of their names."""

    def module(self, module: IRModule) -> list[str]:
        """Attributes, types, then functions, each in the order of their names."""
        lines: list[str] = []
        if module.attrs:
            shown = [f"{INDENT}{show_value(k)} = {self._attribute(v)}," for k, v in sorted(module.attrs.items())]
            lines += ["attributes {", *shown, "}", ""]
        self.types.declared = module.type_definitions
        for data in sorted(module.type_definitions.values(), key=lambda d: d.header.name_hint):
            lines += [self.data(data), ""]
        for var, function in sorted(module.functions.items(), key=lambda item: item[0].name_hint):
            if isinstance(function, Function):
                self.begin()
                self.count(function)
                lines += [f"def @{global_name(var)}{run(self.signature_and_body(function))}", ""]
            else:
                lines += [f"/* @{global_name(var)} is not a Relay function: {type(function).__name__} */", ""]
        return lines

    def data(self, data: TypeData) -> str:
        """The definition of a type with its constructors."""
        self.begin()
        if not data.constructors:
            return f"extern type {data.header.name_hint}{self.types.params(data.type_vars)}"
        lines = [f"type {data.header.name_hint}{self.types.params(data.type_vars)} {{"]
        for constructor in data.constructors:
            fields = ", ".join(self.types.text(t) for t in constructor.inputs)
            lines.append(
                f"{INDENT}{constructor.name_hint}({fields})," if fields else f"{INDENT}{constructor.name_hint},"
            )
        return "\n".join([*lines, "}"])
