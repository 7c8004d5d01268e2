"""FoldConstant: evaluate expressions of constants at compile time.

    lv = R.add(R.const([1, 2]), R.const([3, 4]))      ->      R.const([4, 6])
    lv1 = R.call_tir(cls.add_one, (R.const([1, 2]),)) ->      R.const([2, 3])

Operators are evaluated by their NumPy meaning, kernels by TIR's interpreter (small ones only: it is slow). A result may
be no larger than the limit (`max_bytes`, default the setting `baton.fold_constant_bytes`), unless it is no larger than
the constants it is made from, or made by `dequantize` of weights below 16 MB, which every call would otherwise convert
anew (`ByteProducts` has taken those it can use as they are). Operators with effects or state stay, and calls with
operands that are not constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import OpDef
from baton._src.ir.traverse import children, post_order
from baton._src.passes.relax.lasting_values import LookingRewriter
from baton._src.passes.shared.evaluate import evaluate, operand_bytes, result_bytes
from baton._src.relax.info import to_info
from baton._src.relax.nodes import (
    Binding,
    Call,
    Constant,
    DataflowVar,
    Function,
    PrimValue,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import For, While
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass
from baton._src.values.tensor import NDArray

_MOST_ITERATIONS = 1 << 14
"""Most iterations of a kernel that the interpreter runs."""


@dataclass(frozen=True)
class FoldConstant(FunctionPass):
    """See the module. `max_bytes` None: the PassContext's setting."""

    function_class = Function
    max_bytes: int | None = None

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        limit = ctx.setting("baton.fold_constant_bytes") if self.max_bytes is None else self.max_bytes
        return _Folder(module, limit).function(function)


_DEQUANTIZED = 1 << 24
"""Most bytes of floats that dequantised weights may become."""


class _Unknown(Exception):
    """An operand is not constant."""


class _Folder(LookingRewriter):
    def __init__(self, module: IRModule, limit: int) -> None:
        super().__init__(module)
        self.limit = limit
        self.call_tir = special_op("call_tir")

    def visit_binding(self, binding: Binding) -> None:
        super().visit_binding(binding)
        var = binding.var
        if not isinstance(binding, VarBinding):
            return  # A cast is a check, of a constant too: the sizes it names may be others.
        if isinstance(var, DataflowVar) and isinstance(self.values.get(var), Constant):
            self._made.pop()
            self.replace(var, self.values[var])

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if isinstance(value, TupleGetItem):
            whole = self.resolved(value.tuple_value)
            part = whole.fields[value.index] if isinstance(whole, Tuple) else None
            shared = any(self.may_be_written(v) for v in (binding.var, value.tuple_value))
            return part if isinstance(part, Constant) and not shared else value
        if not isinstance(value, Call) or not isinstance(value.op, Op):
            return value
        try:
            if value.op is self.call_tir:
                found = self._run_kernel(value)
            elif isinstance(value.op.definition, OpDef):
                found = self._evaluate(value, value.op.definition)
            else:
                return value
        except _Unknown:
            return value
        return value if found is None else self.normalized(_as_expr(found))

    def _evaluate(self, call: Call, definition: OpDef[Any]) -> Any:
        operands = [self._operand(a) for a in call.args]
        out = to_info(call.struct_info)
        size, most = result_bytes(out), max(self.limit, operand_bytes(operands))
        if definition.name == "dequantize":
            most = max(most, _DEQUANTIZED)
        if size is None or size > most:
            return None
        return evaluate(definition, operands, call.attrs, out)

    def _operand(self, arg: Any) -> Any:
        """A constant operand as NumPy sees it."""
        match self.resolved(arg):
            case Constant(data=data):
                return data.data
            case Tuple(fields=fields):
                return tuple(self._operand(f) for f in fields)
            case ShapeExpr(values=values):
                return tuple(_number(v) for v in values)
            case PrimValue(value=value):
                return _number(value)
            case _:
                raise _Unknown

    def _run_kernel(self, call: Call) -> Any:
        """Evaluate a call_tir on constants, if the kernel is small."""
        kernel = self.context.functions.get(call.args[0])
        info = call.sinfo_args[0]
        infos = [info] if isinstance(info, TensorStructInfo) else list(info.fields)
        if not isinstance(kernel, PrimFunc) or len(call.args) > 2 or _iterations(kernel) > _MOST_ITERATIONS:
            return None
        inputs = self._operand(call.args[1])
        outputs = []
        for part in infos:
            shape = tuple(_number(d) for d in part.shape.values)
            outputs.append(np.zeros(shape, part.dtype.numpy))
        try:
            run_prim_func(kernel, [*(np.asarray(a, order="C") for a in inputs), *outputs])
        except DiagnosticError:
            return None  # the call fails when it runs, if it ever does
        made = tuple(NDArray(o) for o in outputs)
        return made[0] if isinstance(info, TensorStructInfo) else made


def _number(value: Any) -> Any:
    if isinstance(value, (IntImm, FloatImm)):
        return value.value if not value.dtype.is_bool else bool(value.value)
    raise _Unknown


def _iterations(kernel: PrimFunc) -> int:
    """An upper bound of how often the innermost statements run; huge where it is not known."""
    most = 1 << 60
    cost: dict[Any, int] = {}
    for node in post_order(kernel.body):
        inner = sum(cost.get(c, 0) for c in children(node))
        if isinstance(node, While):
            return most
        if isinstance(node, For):
            if not isinstance(node.extent, IntImm):
                return most
            inner = max(1, inner) * node.extent.value
        cost[node] = min(inner, most)
    return cost.get(kernel.body, 0)


def _as_expr(found: Any) -> Any:
    return Tuple([Constant(f) for f in found]) if isinstance(found, tuple) else Constant(found)
