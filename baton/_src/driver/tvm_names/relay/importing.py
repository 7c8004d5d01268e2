"""Helpers for writing importers to Relay (`tvm.relay.frontend.common`): types, shapes and values of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.driver.relay.executors import create_executor
from baton._src.driver.wiring import wire
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.types import Constructor
from baton._src.ops.builders import RELAY
from baton._src.passes.relay.fold_constant import fold_constant_expr
from baton._src.relay.analysis import free_vars
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.expressions import replace, walk
from baton._src.relay.nodes import Constant, Function, Var, var
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.spans import Source, Span
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import NDArray, array

_OPS: Any = RELAY
_SHARED = (Op, GlobalVar, Constructor, Var)
"""What is no part of one layer."""


def infer_type(node: Any, mod: IRModule | None = None) -> Any:
    """`node` with its types inferred; its globals are those of `mod`."""
    wire()
    return infer_expr(node, mod)


def infer_shape(inputs: Any, mod: IRModule | None = None) -> tuple[Any, ...]:
    """The shape of a tensor; of a tuple, the shapes of its fields. Dims that are not known stay `Any` or variables."""
    return _shape(infer_type(inputs, mod).checked_type)


def _shape(type_: Any) -> tuple[Any, ...]:
    fields = getattr(type_, "fields", None)
    if fields is not None:
        return tuple(_shape(field) for field in fields)
    return tuple(dim.value if isinstance(dim, IntImm) else dim for dim in type_.shape)


def infer_channels(inputs: Any, transpose: bool = False) -> Any:
    """The number of output channels of a convolution's weight (output axis first, unless `transpose`)."""
    return infer_shape(inputs)[1 if transpose else 0]


def infer_value(input_val: Any, params: Mapping[str, Any], mod: IRModule | None = None) -> NDArray:
    """The value of an expression whose free variables are all in `params`. Error: `api` names those that are not."""
    wire()
    free = free_vars(input_val)
    missing = sorted(node.name_hint for node in free if node.name_hint not in params)
    if missing:
        raise fail("api", f"the value depends on {', '.join(missing)}", help="pass them in params")
    known = {node: Constant(array(np.asarray(params[node.name_hint]))) for node in free}
    whole = IRModule(mod.functions if mod is not None else {}, mod.type_definitions if mod is not None else {})
    whole["main"] = Function([], replace(input_val, known))
    found: NDArray = create_executor("debug", whole).evaluate()()
    return found


def try_infer_value(
    val: Any,
    on_success: Callable[[Any], Any] | None = None,
    on_failure: Callable[[], Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> tuple[Any, bool]:
    """(the value as an array, True), or (the expression, False) where it depends on what is not known."""
    try:
        found = infer_value(val, parameters or {}).numpy()
    except DiagnosticError:
        return (val if on_failure is None else on_failure()), False
    return (found if on_success is None else on_success(found)), True


def fold_constant(node: Any, mod: IRModule | None = None) -> Any:
    """`node` with everything evaluated that depends on constants only."""
    wire()
    return fold_constant_expr(node, mod if mod is not None else IRModule())


def new_var(name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: str = "float32") -> Var:
    """A variable."""
    wire()
    return var(name_hint, type_annotation, shape, dtype)


def get_name(node: Any) -> str:
    """The name of a variable; empty for everything else."""
    return str(getattr(node, "name_hint", ""))


def get_relay_op(op_name: str) -> Any:
    """The builder of an operator by its name, with its namespace or without that of `nn`, `image` and `vision`."""
    wire()
    for found in map(_OPS.find, (op_name, *(f"{below}.{op_name}" for below in ("nn", "image", "vision")))):
        if found is not None:
            return found
    raise fail("op-unknown", f"there is no operator {op_name}", help="see dir(relay.op)")


def to_int_list(np_array: Any) -> list[int]:
    """An array's elements as Python numbers."""
    return [int(number) for number in np.asarray(np_array)]


def set_span(sym: Any, span: Any) -> Any:
    """Say of an expression, and of those below that do not say it, what part of a model it was made of: a span or the
    name of a layer. Lines of Python programs give way to it."""
    place = Span(Source(span), line=0, end_line=0, column=0, end_column=0) if isinstance(span, str) else span
    root = sym.astuple() if hasattr(sym, "astuple") else sym
    for node in walk(root):
        if isinstance(node, _SHARED) or (node.span is not None and not node.span.source.path):
            continue
        set_note(node, "span", place)
    return sym
