"""Programs to and from text: `astext`, `script`, `show`, `parse_expr`, `fromtext`."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.reported import shown
from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relax.nodes import Expr as RelaxExpr
from baton._src.relay.text.parser import parse as parse_module
from baton._src.relay.text.parser import parse_expr as parse_expression
from baton._src.relay.text.printer import astext as relay_text


def parse(
    source: str, source_name: str = "from_string", init_module: Any = None, init_meta_table: Any = None
) -> IRModule:
    """A Relay module from its text, with types inferred. Errors carry their places, several at once.

    The text may refer to what `init_module` defines, and as `meta[key][i]` to objects of `init_meta_table`.
    """
    with shown():
        return parse_module(source, CATALOGUE, module=init_module, metadata=init_meta_table, source_name=source_name)


def parse_expr(source: str) -> Any:
    """A Relay expression from its text. As in TVM that it has a type is not checked: InferType says what is wrong."""
    with shown():
        return parse_expression(source, CATALOGUE, may_be_ill_typed=True)


def fromtext(source: str, source_name: str = "from_string") -> Any:
    """A module from its text, or an expression if the text has no definition."""
    return parse(source, source_name)


def is_relax(node: Any) -> bool:
    """Whether a node is to be printed as TVMScript rather than as Relay text."""
    if isinstance(node, IRModule):
        return any(isinstance(f, RelaxExpr) or not isinstance(f, GraphExpr) for f in node.functions.values())
    return not isinstance(node, GraphExpr) or isinstance(node, RelaxExpr)


def astext(obj: Any, show_meta_data: bool = True, annotate: Any = None) -> str:
    """Relay text of a node; `annotate(expr)` says what stands behind an expression in place of its type."""
    return relay_text(obj, show_meta_data=show_meta_data, annotate=annotate)
