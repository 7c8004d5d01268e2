"""`tvm.ir.save_json` and `load_json`: programs as JSON around their text, constants included."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from baton._src.driver.tvm_json.document import Document
from baton._src.driver.tvm_json.relax_kinds import RELAX
from baton._src.driver.tvm_json.relay_kinds import RELAY
from baton._src.driver.tvm_json.shared_kinds import SHARED
from baton._src.driver.tvm_names.json_values import as_data, from_data
from baton._src.driver.tvm_names.param_names import names_beside, with_names
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.driver.tvm_names.texts import is_relax, parse, parse_expr
from baton._src.driver.tvm_names.tir.analysis import undefined_vars
from baton._src.driver.wiring import node_text, wire
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ir.types import GlobalTypeVar, Type, TypeVar
from baton._src.relax.nodes import Function
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.check.substitute import leaves
from baton._src.relay.nodes import Var
from baton._src.support.diagnostics import fail
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Evaluate

_READERS: dict[str, Callable[[str], Any]] = {
    "relay.module": parse,
    "relay.expr": parse_expr,
    "relay.type": lambda text: parse_expr(text).type_annotation,
    "script": from_source,
    "tir.expr": lambda text: from_source(text).body.value,
}


def save_json(node: Any) -> str:
    """A program as JSON that `load_json` reads: a module, a function, a Relay expression, a scalar expression, a closed
    type; or a value that `json_values` takes.

    The JSON is baton's own (the program's text under a heading), not TVM's table of nodes. Raises `DiagnosticError`
    (`api`) for nodes that are no programs.
    """
    wire()
    if isinstance(node, IRModule):
        kind = "script" if is_relax(node) else "relay.module"
    elif isinstance(node, (Function, PrimFunc)):
        kind = "script"
    elif isinstance(node, GraphExpr) and not is_relax(node):
        kind = "relay.expr"
    elif isinstance(node, Type) and not any(isinstance(leaf, (TypeVar, GlobalTypeVar)) for leaf in leaves(node)):
        kind, node = "relay.type", Var("_", node)
    elif isinstance(node, PrimExpr) and not any(isinstance(part, Buffer) for part in post_order(node)):
        kind, node = "tir.expr", _around(node)
    else:
        return _value_json(node)
    content = {"format": "baton.ir", "kind": kind, "text": node_text(node, show_meta=True)}
    named = names_beside(node)
    return json.dumps({**content, "params": named} if named else content, indent=1)


def _value_json(value: Any) -> str:
    """Values that hold programs, or that are none. Error `api`: nothing is known about such values."""

    def program(node: Any) -> Any:
        if not isinstance(node, (IRModule, Function, PrimFunc, GraphExpr, Type, PrimExpr)) or node is value:
            message = f"a {type(node).__name__} cannot be saved by itself"
            raise fail("api", message, help="save the module it belongs to")
        return json.loads(save_json(node))

    return json.dumps({"format": "baton.ir", "kind": "value", "value": as_data(value, program)}, indent=1)


def _around(expr: PrimExpr) -> PrimFunc:
    """A kernel that evaluates the expression; the variables it leaves open are its parameters."""
    body = Evaluate(expr)
    return PrimFunc(undefined_vars(body, []), body)


def pickled(module: IRModule) -> tuple[Any, ...]:
    """A module for `pickle`: what makes it again, and of what."""
    return load_json, (save_json(module),)


def load_json(json_str: str) -> Any:
    """Load the output of `save_json`: baton's, or TVM's (Relay and Relax without kernels), with its Relay modules
    typed.

    `DiagnosticError`: `json-unknown` for anything else, `json-node` for nodes of TVM's that cannot be read.
    """
    wire()
    try:
        found = json.loads(json_str)
    except (ValueError, TypeError, RecursionError):
        found = None
    if isinstance(found, dict) and "nodes" in found:
        made = Document(found, {**SHARED, **RELAY, **RELAX}).read()
        return infer_type(made) if isinstance(made, IRModule) and not is_relax(made) else made
    return _read(found)


def _read(found: Any) -> Any:
    """What a document of baton's holds."""
    try:
        if found["format"] == "baton.ir" and found["kind"] == "value":
            return from_data(found["value"], _read)
        reader = _READERS[found["kind"]] if found["format"] == "baton.ir" else None
        text, named = found["text"], found.get("params")
    except (ValueError, KeyError, TypeError):
        reader, text, named = None, "", None
    if reader is None:
        raise fail(
            "json-unknown",
            "this is not a program saved by save_json",
            help="give the text that save_json gave, baton's or TVM's",
        )
    return with_names(reader(text), named) if isinstance(named, dict) else reader(text)
