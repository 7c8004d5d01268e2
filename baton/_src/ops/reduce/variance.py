"""How far elements lie from their mean: variance, std. Attributes are those of folds.

Two stages over float32 for 16-bit floats: the mean, then the squares of what is beyond it. The variance divides by the
count (by count - 1 with Relay's `unbiased`). Source: facts relax-ops-passes-vm §1, relay-language §6 level 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.attrs import attr, attrs
from baton._src.ir.op_def import Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.layouts import folds
from baton._src.ops.precision import computed_wide
from baton._src.ops.reduce.folds import (
    ReduceAttrs,
    count_of,
    fold_compute,
    fold_samples,
    folded_axes,
    infer_fold,
    spread,
)


@attrs
class VarianceAttrs(ReduceAttrs):
    """The same, and the divisor."""

    unbiased: bool = attr(False, "divide by count - 1", relay_only=True)


def _variance_gradient(b: Any, args: Any, attributes: Any, out: Any, grad: Any) -> list[Any]:
    """2 (x - mean) / count, the count less one where unbiased."""
    x = args[0]
    axes = folded_axes(x.struct_info.ndim, attributes)
    if not axes:
        return [b.full_like(x, 0)]
    centred = b.op("subtract", x, b.op("mean", x, axis=axes, keepdims=True))
    count = b.op("sum", b.full_like(x, 1), axis=axes, keepdims=True)
    if getattr(attributes, "unbiased", False):
        count = b.op("subtract", count, b.full_like(count, 1))
    slope = b.op("divide", b.op("add", centred, centred), count)
    return [b.op("multiply", slope, spread(b, attributes, x, grad))]


def _deviation_gradient(b: Any, args: Any, attributes: Any, out: Any, grad: Any) -> list[Any]:
    """That of the variance, divided by twice the deviation."""
    return _variance_gradient(b, args, attributes, out, b.op("divide", grad, b.op("add", out, out)))


def _variance(name: str) -> OpDef[Any]:
    root = name == "std"

    def compute(inputs: Any, attributes: Any, out: Any) -> Any:
        (x,) = inputs
        axes = folded_axes(x.ndim, attributes)
        mean = mean_stage(x, axes)
        squares = centred_squares(x, mean, axes, attributes.keepdims)
        count = count_of(x, axes, squares.dtype)
        if getattr(attributes, "unbiased", False):
            count = count - k.const(1, squares.dtype)

        def finish(*i: Any) -> Any:
            value = squares(*i) / count
            return k.cast(out.dtype, k.sqrt(value) if root else value)

        return k.compute(squares.shape, finish) if root else k.compute(squares.shape, finish, "T_divide", axes="ax")

    def reference(inputs: Any, attributes: Any) -> Any:
        (x,) = inputs
        axes = folded_axes(np.asarray(x).ndim, attributes)
        function = np.std if root else np.var
        less = int(getattr(attributes, "unbiased", False))
        return computed_wide(lambda v: function(v, axis=axes, keepdims=attributes.keepdims, ddof=less), np.asarray(x))

    return OpDef(
        name,
        VarianceAttrs,
        inputs=(Input("x", relay_name="data"),),
        infer=_infer_floating_fold,
        compute=compute,
        reference=reference,
        fusion=Fusion.OPAQUE,
        layout=folds(),
        gradient=_deviation_gradient if root else _variance_gradient,
        samples=lambda: fold_samples(("float32", "float16"), VarianceAttrs),
        summary=f"The {'standard deviation' if root else 'variance'} over axes.",
    )


def _infer_floating_fold(call: OpCall[Any]) -> Info:
    x = call.tensor(0)
    if not x.dtype.is_void and not x.dtype.is_float:
        call.fail(f"takes floating-point elements, got {x.dtype}", code="op-dtype", help="astype first")
    return infer_fold(call)


def mean_stage(x: k.Tensor, axes: tuple[int, ...]) -> k.Tensor:
    """The mean over `axes`, which stay with extent 1, in the computing dtype (two stages: sum, divide)."""
    total = fold_compute(x, axes, True, k.reduce_sum)
    count = count_of(x, axes, total.dtype)
    return k.compute(total.shape, lambda *i: total(*i) / count, "T_divide", axes="ax")


def centred_squares(x: k.Tensor, mean: k.Tensor, axes: tuple[int, ...], keepdims: bool) -> k.Tensor:
    """The sum over `axes` of (x - mean)²; `mean` has the rank of x."""
    shape = [k.index(1) if i in axes else d for i, d in enumerate(x.shape)]
    if not keepdims:
        shape = [d for i, d in enumerate(x.shape) if i not in axes]
    reduced = {i: k.reduce_axis(x.shape[i], f"k{i}") for i in axes}

    def body(*indices: Any) -> Any:
        kept = iter(indices)
        full = list(indices) if keepdims else [None if i in axes else next(kept) for i in range(x.ndim)]
        where = [reduced[i].var if i in axes else full[i] for i in range(x.ndim)]
        centre = [k.index(0) if i in axes else full[i] for i in range(x.ndim)]
        difference = k.wide(x(*where)) - mean(*centre)
        value = difference * difference
        return k.reduce_sum(value, list(reduced.values())) if axes else value

    return k.compute(shape, body, "T_multiply_red", axes="ax")


VARIANCES: tuple[OpDef[Any], ...] = (_variance("variance"), _variance("std"))
