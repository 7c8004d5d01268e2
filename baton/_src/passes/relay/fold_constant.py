"""FoldConstant: operator calls on constants become their value.

    (1 + 2) * %x      becomes   3 * %x
    let %c = 1 + 2; %c * %x     becomes   3 * %x
    if (True) { %a } else { %b }   becomes   %a
    shape_of(%x)      becomes   its value where the type of %x says it (so does ndarray_size)

Values come from `OpDef.reference`. Calls of stateful operators stay, and so do those with results larger than
`max_bytes` (unless the arguments are as large), and those that fail: they may never run. Quantised dialect operators
are folded only with `fold_qnn`, functions marked `Primitive` are left alone.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.op_def import NotApplicable
from baton._src.ir.types import TensorType, Type
from baton._src.passes.relay.effects import is_stateful
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.passes.relay.written_types import written
from baton._src.passes.shared.evaluate import operand_bytes, result_bytes
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.expressions import inside_primitives, walk, with_parts
from baton._src.relay.info import to_info
from baton._src.relay.nodes import Call, Constant, Function, If, Let, Tuple, TupleGetItem, Var
from baton._src.relay.reference_calls import call_reference
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import IntImm
from baton._src.transform.context import PassContext
from baton._src.values.reference_values import to_reference
from baton._src.values.tensor import NDArray


@dataclass(frozen=True)
class FoldConstant(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 2
    fold_qnn: bool = False
    max_bytes: int = 1 << 28

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        function = written(function) if isinstance(function, Function) else function
        order = walk(function)
        values = {n.var: n.value for n in order if isinstance(n, Let)}
        kernels = inside_primitives(order)
        done: dict[Any, Any] = {}
        for node in order:  # a let's value comes before its body, so before every use of the variable
            if isinstance(node, (Var, Let)):
                made = _without_constant(node, values, done)
            else:
                new = with_parts(node, done)
                made = (None if node in kernels else self.folded(new)) or new
            if made is not node:
                done[node] = made
        return done.get(function, function)

    def folded(self, node: Any) -> Any:
        """The value of a typed expression whose parts are constants; None if it cannot be folded."""
        if isinstance(node, TupleGetItem) and isinstance(node.tuple_value, Tuple):
            return node.tuple_value.fields[node.index]
        if isinstance(node, If) and isinstance(node.cond, Constant):
            return node.true_branch if node.cond.data.data else node.false_branch
        if not isinstance(node, Call) or not isinstance(node.op, Op) or not node.args:
            return None
        definition = node.op.definition
        if definition is None or is_stateful(node.op):
            return None
        if isinstance(definition.reference, NotApplicable) or (node.op.name.startswith("qnn.") and not self.fold_qnn):
            return None
        if node.op.name in ("shape_of", "ndarray_size"):
            values = [_of_known_shape(node.args[0].checked_type_)]
        else:
            values = [_value(a) if _is_constant(a) else None for a in node.args]
        if any(v is None for v in values) or self._is_large(node.checked_type_, values):
            return None
        try:
            return self._constant(call_reference(node.op, values, node), node)
        except DiagnosticError:
            return None

    def _is_large(self, type_: Type | None, values: list[Any]) -> bool:
        size = None if type_ is None else result_bytes(to_info(type_))
        return size is not None and size > max(self.max_bytes, operand_bytes(to_reference(values)))

    def _constant(self, value: Any, node: Any) -> Any:
        made = _expression(value)
        if made is not None:
            set_note(made, "checked_type_", node.checked_type_)
            set_note(made, "span", node.span)
        return made


def fold_constant_expr(expr: GraphExpr, mod: IRModule, fold_qnn: bool = False) -> Any:
    """`expr` with operator calls on constants folded; `mod` has the functions it calls."""
    typed = infer_expr(expr, mod)
    return FoldConstant(fold_qnn).run_function(typed, mod, PassContext.current())


def _without_constant(node: Var | Let, values: dict[Var, Any], done: dict[Any, Any]) -> Any:
    """Replace a variable by the constant that a let binds to it, and the let by its body."""
    value = values.get(node.var if isinstance(node, Let) else node)
    found = done.get(value, value)
    if not isinstance(found, Constant):
        return with_parts(node, done)
    return done.get(node.body, node.body) if isinstance(node, Let) else found


def _is_constant(expr: GraphExpr) -> bool:
    return isinstance(expr, Constant) or (isinstance(expr, Tuple) and all(map(_is_constant, expr.fields)))


def _of_known_shape(type_: Type) -> NDArray | None:
    """A placeholder tensor of this type, which takes no memory; None if the type leaves a dim open."""
    if not isinstance(type_, TensorType) or not all(isinstance(d, IntImm) for d in type_.shape):
        return None
    return NDArray(np.broadcast_to(np.zeros((), type_.dtype.numpy), [d.value for d in type_.shape]))


def _value(expr: Any) -> Any:
    return expr.data if isinstance(expr, Constant) else tuple(map(_value, expr.fields))


def _expression(value: Any) -> Any:
    if isinstance(value, NDArray):
        return Constant(value)
    if isinstance(value, tuple):
        fields = [_expression(v) for v in value]
        return None if None in fields else Tuple(fields)
    return None
