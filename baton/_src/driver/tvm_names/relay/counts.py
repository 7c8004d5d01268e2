"""`relay.analysis`: how often a module uses each operator, which dtypes, how many multiplications."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ir.types import TensorType
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Call, Constant, Tuple


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """The number of calls of each operator in the functions of a module, by the operator's name."""
    calls = (node for function in mod.functions.values() for node in post_order(function) if isinstance(node, Call))
    return dict(Counter(call.op.name for call in calls if isinstance(call.op, Op)))


def count_ops(expr: Any) -> Counter[str]:
    """The number of calls of each operator in an expression, by the operator's name."""
    calls = (node.op for node in post_order(expr) if isinstance(node, Call))
    return Counter(op.name for op in calls if isinstance(op, Op))


def all_dtypes(expr: Any) -> set[str]:
    """The dtypes of all tensors in a typed expression."""
    found: set[str] = set()
    for node in walk(expr):
        type_ = getattr(node, "checked_type_", None)
        if type_ is not None:
            found.update(str(t.dtype) for t in post_order(type_) if isinstance(t, TensorType))
    return found


def check_constant(expr: Any) -> bool:
    """Whether an expression is a constant, or a tuple of constants."""
    work = [expr]
    while work:
        top = work.pop()
        if isinstance(top, Tuple):
            work.extend(top.fields)
        elif not isinstance(top, Constant):
            return False
    return True


_PRODUCTS = ("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.dense", "nn.batch_matmul")


def get_total_mac_number(expr: Any) -> int:
    """Multiplications with additions in the convolutions, dense layers and batched products of a function.

    Each element of a result takes one for each weight of its channel; of transposed convolutions, one for each weight
    and element of the input.
    """
    return sum(_macs(node) for node in walk(infer_expr(expr)) if isinstance(node, Call) and isinstance(node.op, Op))


def _macs(call: Call) -> int:
    name = call.op.name
    if name.endswith("_transpose") and name.removesuffix("_transpose") in _PRODUCTS:
        return _size(call.args[0]) * _size(call.args[1]) // int(call.args[0].checked_type.shape[1])
    if name not in _PRODUCTS:
        return 0
    if name == "nn.batch_matmul":
        depth = int(call.args[0].checked_type.shape[1 if call.attrs.transpose_a else 2])
        return _size(call) * depth
    weight = call.args[1].checked_type
    outputs = int(weight.shape[0 if name == "nn.dense" else call.attrs.kernel_layout.index("O")])
    return _size(call) * (_size(call.args[1]) // outputs)


def _size(expr: Any) -> int:
    return math.prod(int(d) for d in expr.checked_type.shape)
