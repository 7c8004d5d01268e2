"""The passes of `relay.build`, in order, each with its reason (facts relay-language §9).

At the default opt level 2 the Sequential skips the passes of levels 3 and 4. Parameters are bound before, and Relay is
lowered to Relax after.
"""

from __future__ import annotations

from typing import Any

from baton._src.passes.relay.building import is_call
from baton._src.passes.relay.eliminate_common_subexpr import EliminateCommonSubexpr
from baton._src.passes.relay.external.partition_graph import CheckCompilers
from baton._src.passes.relay.first_order.eta_expand import EtaExpand
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.forms.inlining import Inline
from baton._src.passes.relay.forms.to_basic_block_normal_form import ToBasicBlockNormalForm
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.layouts.alter_op_layout import AlterOpLayout
from baton._src.passes.relay.operators.canonicalize_cast import CanonicalizeCast
from baton._src.passes.relay.operators.canonicalize_ops import CanonicalizeOps
from baton._src.passes.relay.operators.combine_parallel import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
)
from baton._src.passes.relay.operators.dynamic_to_static import DynamicToStatic
from baton._src.passes.relay.operators.fast_math import FastMath
from baton._src.passes.relay.operators.flatten_atrous_conv import FlattenAtrousConv
from baton._src.passes.relay.operators.fold_scale_axis import BackwardFoldScaleAxis, ForwardFoldScaleAxis
from baton._src.passes.relay.operators.legalize import Legalize
from baton._src.passes.relay.operators.simplify_expr import SimplifyExpr, SimplifyExprPostAlterOp
from baton._src.passes.relay.operators.simplify_inference import SimplifyInference
from baton._src.passes.relay.remove_unused_functions import RemoveUnusedFunctions
from baton._src.transform.passes import Pass, Sequential


def _is_int32_cast(expr: Any) -> bool:
    """Casts to int32 are cheap and fuse everywhere: not worth sharing."""
    return is_call(expr, "cast") and expr.attrs.dtype == "int32"


OPTIMIZE: tuple[Pass, ...] = (
    RemoveUnusedFunctions(),  # the less there is, the less there is to do
    ToBasicBlockNormalForm(),  # values shared by branches get their place before anything moves
    Legalize(),  # operators the target cannot do become ones it can
    SimplifyInference(),  # normalisation as arithmetic, so that constants and scales fold
    EtaExpand(
        expand_constructor=True
    ),  # constructors and operators as values become functions, which are what compiled code calls
    DynamicToStatic(),  # shapes that turn out constant are worth knowing early
    EliminateCommonSubexpr(fskip=_is_int32_cast),
    CombineParallelConv2D(min_num_branches=3),
    CombineParallelDense(min_num_branches=3, to_batch=False),
    CombineParallelBatchMatmul(min_num_branches=3),
    FoldConstant(),  # makes the scales of batch norms constants ...
    BackwardFoldScaleAxis(),  # ... that go into the weights
    ForwardFoldScaleAxis(),
    FoldConstant(),
    SimplifyExpr(),
    CanonicalizeCast(),
    CanonicalizeOps(),
    FlattenAtrousConv(),  # a dilated convolution has no copies to blocks and back
    InferType(),
    AlterOpLayout(),  # layouts the target likes
    SimplifyExprPostAlterOp(),  # reshapes and casts that now cancel
    FastMath(),
    FoldConstant(),  # weights in their new layout
    Inline(),
    InferType(),
)


def optimize(entry: str | None = "main") -> Sequential:
    """Run the passes of `relay.build` before lowering. Fusion is left to Relax, which sees the same operators.

    Functions that `entry` does not reach are dropped; if it is None, all are kept.
    """
    first = () if entry is None else (RemoveUnusedFunctions((entry,)),)
    return Sequential((CheckCompilers(), *first, *OPTIMIZE[1:]), name="relay.optimize")
