"""SimplifyFCTranspose: if a dense layer's weight is a transposed parameter, store the parameter transposed.

simplify_fc_transpose.convert(function, params)     (relay.transform's SimplifyFCTranspose works on one function)
nn.dense(%x, transpose(%w))     becomes     nn.dense(%x, %w_transposed),   the parameter's value transposed along
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import is_call, shape_of
from baton._src.passes.relay.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.analysis import free_vars
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.expressions import parts, rewrite, walk
from baton._src.relay.nodes import Function, Var, var
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.tensor import NDArray, array


@dataclass(frozen=True)
class SimplifyFCTranspose(RelayFunctionPass):
    """`target_weight_name` are the names of the parameters; callers transpose their values (`convert` does both)."""

    opt_level: ClassVar[int] = 4
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(), DeadCodeElimination())
    target_weight_name: Sequence[str] = ()

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        wanted = {p: _transposed_param(p) for p in function.params if p.name_hint in self.target_weight_name}
        if not wanted:
            return function

        def rule(old: Any, new: Any) -> Any:
            return wanted.get(old.args[0]) if _is_transpose(old) else None

        made = rewrite(function, rule)
        return made.with_fields(params=tuple(wanted.get(p, p) for p in made.params))


def _is_transpose(node: Any) -> bool:
    return is_call(node, "permute_dims") and len(shape_of(node) or ()) == 2 and node.attrs.axes in (None, (1, 0))


def _transposed_param(param: Var) -> Var:
    shape = shape_of(param) or ()
    return var(param.name_hint, shape=tuple(reversed(shape)), dtype=param.checked_type.dtype)


def candidates(expr: GraphExpr) -> list[str]:
    """The parameters (of an expression that is no function: the free variables) that occur only as transposed weights
    of dense layers."""
    function = expr if isinstance(expr, Function) else Function(free_vars(expr), expr)
    order = walk(function if function.checked_type_ is not None else infer_expr(function))
    params = set(order[-1].params)
    weights = dict.fromkeys(n.args[1] for n in order if is_call(n, "nn.dense") and _is_transpose(n.args[1]))
    used_otherwise = {part for n in order if n not in weights for part in parts(n)}
    transposed = dict.fromkeys(w.args[0] for w in weights if w.args[0] in params)
    return [p.name_hint for p in transposed if p not in used_otherwise]


def convert(function: Function, params: Mapping[str, Any]) -> tuple[Function, dict[str, NDArray]]:
    """`function` without the transposes of weights that are among `params`, and the parameters for it."""
    names = [n for n in candidates(function) if n in params]
    typed = InferType()(IRModule({"main": function}))
    made = SimplifyFCTranspose(tuple(names))(typed)["main"]
    changed = {n: array(np.ascontiguousarray(np.asarray(getattr(params[n], "data", params[n])).T)) for n in names}
    return made, {**params, **changed}
