"""Triangles and diagonals: tril, triu (Relay: trilu), matrix_set_diag.

`tril` keeps what lies on or below diagonal k, `triu` on or above; everything else becomes zero. k > 0 is above the
main diagonal. `matrix_set_diag` writes given diagonals. Source: facts relax-ops-passes-vm §1 (create), relay-language
§6 levels 3, 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    CallMaker,
    Definition,
    Exprs,
    Fusion,
    Gradients,
    Input,
    InRelax,
    NotApplicable,
    OpCall,
    OpDef,
)
from baton._src.ir.tensor_info import Dim, Info
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.operand_checks import check_dtype, check_ranks, check_scalar
from baton._src.ops.samples import Arr, Sample
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import AnyArray


@attrs
class TriangleAttrs(Attrs):
    """Which diagonal, where it is no operand."""

    k: int = attr(0, "the diagonal", relay_only=True)


@attrs
class TriluAttrs(Attrs):
    """Which side."""

    upper: bool = attr(True, "keep the upper triangle")


def infer(call: OpCall[Attrs]) -> Info:
    """The operand itself; it must have two axes at least."""
    x = call.tensor(0)
    if x.ndim in (0, 1):
        call.fail(f"takes matrices, got {show_shape(x.shape, x.ndim)}")
    if len(call.args) > 1:
        check_scalar(call, 1)
    return x


T = TypeVar("T")


def _diagonal(inputs: Sequence[T], a: TriangleAttrs) -> T | int:
    return inputs[1] if len(inputs) > 1 and inputs[1] is not None else a.k


def triangle(x: k.Tensor, diagonal: k.Operand | int, upper: bool) -> k.Tensor:
    """A comparison of column and row an element."""
    offset = k.index(diagonal() if isinstance(diagonal, k.Tensor) else diagonal)

    def body(*i: k.Scalar) -> k.Scalar:
        keep = i[-1] >= i[-2] + offset if upper else i[-1] <= i[-2] + offset
        return k.select(keep, x(*i), k.const(0, x.dtype))

    return k.compute(x.shape, body, "trilu")


def _numpy(x: AnyArray, diagonal: AnyArray | int, upper: bool) -> AnyArray:
    return (np.triu if upper else np.tril)(x, int(diagonal))


def _define(name: str, upper: bool) -> Definition:
    def gradient(b: CallMaker, args: Exprs, a: TriangleAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
        return [b.op(name, grad, *args[1:], k=a.k), *(None for _ in args[1:])]

    def to_relax(args: Exprs, a: TriangleAttrs) -> InRelax:
        return (args, a) if len(args) > 1 else ((args[0], a.k), TriangleAttrs())

    return OpDef(
        name,
        TriangleAttrs,
        inputs=(Input("x"), Input("k", "the diagonal", kind="prim", default=0)),
        infer=infer,
        compute=lambda inputs, a, out: triangle(inputs[0], _diagonal(inputs, a), upper),
        reference=lambda inputs, a: _numpy(inputs[0], _diagonal(inputs, a), upper),
        gradient=gradient,
        fusion=Fusion.ELEMWISE,
        relay_name=NotApplicable("Relay has trilu"),
        relay_to_relax=to_relax,
        samples=lambda: (
            Sample((Arr(("n", 4)), 0), TriangleAttrs()),
            Sample((Arr((2, "n", "m")), -1), TriangleAttrs()),
            Sample((Arr((3, "m")), "n"), TriangleAttrs()),
            Sample((Arr((3, 5), "int32", -9, 9),), TriangleAttrs(k=1)),
        ),
        summary=f"The {'upper' if upper else 'lower'} triangle of matrices, zeros elsewhere.",
    )


TRILU = OpDef(
    "trilu",
    TriluAttrs,
    inputs=(Input("data"), Input("k", "the diagonal, a scalar tensor")),
    infer=infer,
    compute=lambda inputs, a, out: triangle(inputs[0], inputs[1], a.upper),
    reference=lambda inputs, a: _numpy(inputs[0], inputs[1], a.upper),
    gradient=lambda b, args, a, out, grad: [b.op("trilu", grad, args[1], upper=a.upper), None],
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 4)), Arr((), "int64", -1, 2)), TriluAttrs()),
        Sample((Arr((2, 4)), Arr((), "int32", -1, 2)), TriluAttrs(upper=False)),
    ),
    summary="Keep the upper or lower triangle of matrices; zeros elsewhere.",
)


@attrs
class SetDiagAttrs(Attrs):
    """Which diagonals, and how shorter ones lie in their row."""

    k1: int = attr(0, "the lowest diagonal")
    k2: int = attr(0, "the highest diagonal")
    super_diag_right_align: bool = attr(True, "diagonals above the main one are padded on the left")
    sub_diag_right_align: bool = attr(False, "diagonals below the main one are padded on the left")


def infer_set_diag(call: OpCall[SetDiagAttrs]) -> Info:
    """The matrices; the diagonals have one axis less, unless there are several of them."""
    x, diagonal, a = call.tensor(0), call.tensor(1), call.attrs
    if x.ndim in (0, 1):
        call.fail(f"takes matrices, got {show_shape(x.shape, x.ndim)}")
    if a.k1 > a.k2:
        call.fail(f"k1 must not be greater than k2, got {a.k1} and {a.k2}", code="op-attribute")
    if x.ndim >= 0:
        check_ranks(call, None, x.ndim if a.k1 != a.k2 else x.ndim - 1)
    check_dtype(call, 1, x.dtype)
    if x.shape is not None and diagonal.shape is not None:
        same = DimMath(call.prover)
        if any(same.equal(p, q) is False for p, q in zip(x.shape[:-2], diagonal.shape[: x.ndim - 2])):
            call.fail(f"matrices {show_shape(x.shape)} and diagonals {show_shape(diagonal.shape)} differ in the batch")
        _check_diagonals(call, same, x.shape, diagonal.shape)
    return x


def _check_diagonals(
    call: OpCall[SetDiagAttrs], math: DimMath, shape: tuple[Dim, ...], diagonals: tuple[Dim, ...]
) -> None:
    """There are as many diagonals as attributes say, each of them as long as the longest."""
    count = call.attrs.k2 - call.attrs.k1 + 1
    if count > 1 and math.equal(diagonals[-2], count) is False:
        call.fail(f"k from {call.attrs.k1} to {call.attrs.k2} names {count} diagonals, got {diagonals[-2]}")
    rows = math.add(shape[-2], min(call.attrs.k2, 0))
    longest = math.minimum(rows, math.subtract(shape[-1], max(call.attrs.k1, 0)))
    if (isinstance(longest, int) and longest <= 0) or math.equal(diagonals[-1], longest) is not False:
        return
    call.fail(f"the longest diagonal of {show_shape(shape)} has {longest} elements, got {diagonals[-1]}")


def compute_set_diag(inputs: Sequence[k.Tensor], a: SetDiagAttrs, out: k.Result) -> k.Tensor:
    """On a given diagonal its element, elsewhere the matrix's."""
    x, diagonal = inputs
    rows, columns = k.index(x.shape[-2]), k.index(x.shape[-1])
    longest = k.index(diagonal.shape[-1])

    def body(*i: k.Scalar) -> k.Scalar:
        row, column = i[-2], i[-1]
        number = column - row
        size = k.minimum(columns - k.maximum(number, k.index(0)), rows + k.minimum(number, k.index(0)))
        above = number >= k.index(0)
        shift = longest - size
        right = k.const(a.super_diag_right_align, "bool"), k.const(a.sub_diag_right_align, "bool")
        start = k.select(k.select(above, *right), shift, k.index(0))
        along = k.minimum(row, column) + start
        which = [k.index(a.k2) - number] if a.k1 != a.k2 else []
        inside = k.all_of([number >= k.index(a.k1), number <= k.index(a.k2)])
        return k.if_then_else(inside, diagonal(*i[:-2], *which, along), x(*i))

    return k.compute(out.shape, body, "T_matrix_set_diag", axes="ax")


def reference_set_diag(inputs: Sequence[AnyArray], a: SetDiagAttrs) -> AnyArray:
    """Diagonal by diagonal."""
    x, diagonal = inputs
    found = np.array(x)
    rows, columns = x.shape[-2:]
    for number in range(a.k1, a.k2 + 1):
        size = min(columns - max(number, 0), rows + min(number, 0))
        if size <= 0:
            continue
        right = a.super_diag_right_align if number >= 0 else a.sub_diag_right_align
        given = diagonal if a.k1 == a.k2 else diagonal[..., a.k2 - number, :]
        part = given[..., given.shape[-1] - size :] if right else given[..., :size]
        at = np.arange(size)
        found[..., at + max(-number, 0), at + max(number, 0)] = part
    return found


MATRIX_SET_DIAG = OpDef(
    "matrix_set_diag",
    SetDiagAttrs,
    inputs=(Input("data"), Input("diagonal")),
    infer=infer_set_diag,
    compute=compute_set_diag,
    reference=reference_set_diag,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    relay_builder=lambda make, data, diagonal, k=0, align="RIGHT_LEFT": make(
        data, diagonal, **bands(k), **alignment(align)
    ),
    samples=lambda: (
        Sample((Arr(("n", 3, 4)), Arr(("n", 3))), SetDiagAttrs()),
        Sample((Arr((4, 5)), Arr((3, 4))), SetDiagAttrs(k1=-1, k2=1)),
        Sample((Arr((2, 4, 3)), Arr((2, 2, 3))), SetDiagAttrs(k1=-2, k2=-1, sub_diag_right_align=True)),
    ),
    summary="Replace the diagonals of matrices.",
)


def bands(diagonals: object) -> dict[str, int]:
    """Attributes for a diagonal by its number, or for those from one to another."""
    given = diagonals if isinstance(diagonals, (tuple, list)) else (diagonals,)
    if len(given) not in (1, 2) or not all(isinstance(d, (int, np.integer, IntImm)) for d in given):
        message = f"matrix_set_diag: k numbers a diagonal, or the lowest and the highest, got {diagonals!r}"
        raise fail("op-attribute", message)
    return {"k1": int(given[0]), "k2": int(given[-1])}


def alignment(align: str) -> dict[str, bool]:
    """Attributes for TVM's name of how shorter diagonals lie: "RIGHT_LEFT" and its like."""
    above, _, below = str(align).partition("_")
    if {above, below} - {"LEFT", "RIGHT"}:
        help = "LEFT or RIGHT for diagonals above the main one, _, the same for those below"
        raise fail("op-attribute", f"matrix_set_diag: align is RIGHT_LEFT or the like, got {align!r}", help=help)
    return {"super_diag_right_align": above == "RIGHT", "sub_diag_right_align": below == "RIGHT"}


TRIANGLES: tuple[Definition, ...] = (_define("tril", False), _define("triu", True), TRILU, MATRIX_SET_DIAG)
