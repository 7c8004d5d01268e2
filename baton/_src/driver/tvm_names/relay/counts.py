"""`relay.analysis`: how often a module uses each operator, which dtypes, how many multiplications."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ir.types import TensorType
from baton._src.passes.relay.building import shape_of
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Call, Constant, Tuple
from baton._src.support.diagnostics import fail


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """The number of calls of each operator in the `main` of a module, by the operator's name."""
    return dict(count_ops(mod["main"]))


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

    Each element of a result takes one for each weight of its channel; TVM counts transposed convolutions so, too.
    Error `api`: the size of something that counts is known only at run time.
    """
    return sum(_macs(node) for node in walk(infer_expr(expr)) if isinstance(node, Call) and isinstance(node.op, Op))


def _macs(call: Call) -> int:
    name = call.op.name
    transposed = name.endswith("_transpose")
    if name.removesuffix("_transpose") not in _PRODUCTS:
        return 0
    if name == "nn.batch_matmul":
        return _size(call) * _sizes(call.args[0])[1 if call.attrs.transpose_a else 2]
    channels = _sizes(call.args[1])[0] if name == "nn.dense" else _output_channels(call)
    groups = call.attrs.groups if transposed else 1  # the weights of a transposed convolution have a group's outputs
    return _size(call) * _size(call.args[1]) // (channels * groups)


def _output_channels(convolution: Call) -> int:
    """The extent of the weights along the axes that number the outputs: `O`, and in blocks `o`."""
    axes = (letter for letter in convolution.attrs.kernel_layout if letter.isalpha())
    return math.prod(size for letter, size in zip(axes, _sizes(convolution.args[1])) if letter in "Oo")


def _size(expr: Any) -> int:
    return math.prod(_sizes(expr))


def _sizes(expr: Any) -> tuple[int, ...]:
    shape = shape_of(expr)
    if shape is None:
        message = f"multiplications cannot be counted: {expr.checked_type} has a size that is known only at run time"
        raise fail("api", message, span=expr.span, help="count in a function whose shapes are known")
    return shape
