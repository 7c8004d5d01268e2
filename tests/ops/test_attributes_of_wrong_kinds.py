"""Attributes that no operator can have are refused in words, for every operator that Relax offers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from baton._src.ir.op_def import OpDef
from baton._src.ops.builders import RELAX
from baton._src.ops.call_maker import make_attrs
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.samples import Arr, Sample, Shape, concrete
from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import deduce
from baton._src.relax.nodes import Call, PrimValue, ShapeExpr, Tuple
from baton._src.relax.nodes import Var as RelaxVar
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import Var

WRONG = (
    None,
    True,
    -1,
    0,
    9,
    1.5,
    "zzz",
    (),
    (0,),
    (0, 0),
    (9,),
    (-1, 1, 2, 3, 4),
    ((1, 2),),
    ("a",),
    Var("n", "int64"),
)
SAMPLED = [d for d in CATALOGUE if d.in_relax and d.attrs.names and callable(d.samples)]


def operand(arg: Any, sample: Sample) -> Any:
    """An argument of a sample, as a call has it."""
    if isinstance(arg, Arr):
        return RelaxVar("x", TensorStructInfo(ShapeExpr([concrete(d, sample.dims) for d in arg.shape]), arg.dtype))
    if isinstance(arg, Shape):
        return ShapeExpr([concrete(d, sample.dims) for d in arg.dims])
    if isinstance(arg, tuple):
        return Tuple([operand(a, sample) for a in arg])
    return PrimValue(concrete(arg, sample.dims))


@pytest.mark.parametrize("definition", SAMPLED, ids=lambda d: d.name)
def test_wrong_attributes_are_judged_in_words(definition: OpDef[Any]) -> None:
    """Python's own errors came through: strides of 0, layouts that are numbers, widths without their pair."""
    assert callable(definition.samples)
    sample = definition.samples()[0]
    args = [operand(a, sample) for a in sample.args]
    for name in definition.attrs.names:
        for wrong in WRONG:
            with contextlib.suppress(DiagnosticError):
                made = make_attrs(definition, {**dict(sample.attrs.items()), name: wrong})
                deduce(Call(definition.relax_op, args, made), Context())


X = RelaxVar("x", TensorStructInfo(ShapeExpr((1, 4, 8, 8)), "float32"))
W = RelaxVar("w", TensorStructInfo(ShapeExpr((2, 4, 3, 3)), "float32"))
C = RelaxVar("c", TensorStructInfo(ShapeExpr((4,)), "float32"))
nn = RELAX["nn"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: nn["conv2d"](X, W, strides=0), "strides must be 1 or more, got (0, 0)"),
        (lambda: nn["conv2d"](X, W, dilation=(1, -1)), "dilation must be 1 or more, got (1, -1)"),
        (lambda: nn["max_pool2d"](X, 2, strides=0), "strides must be 1 or more, got (0, 0)"),
        (lambda: nn["conv2d"](X, W, data_layout=4), "data_layout is a text, got 4"),
        (lambda: nn["adaptive_avg_pool2d"](X, (1, 2, 3)), "output_size must have 2 numbers, got (1, 2, 3)"),
        (lambda: nn["group_norm"](X, C, C, 0, 1, [2, 3]), "num_groups must be 1 or more, got 0"),
        (lambda: nn["instance_norm"](X, C, C, 4, [2, 3]), "channel_axis 4 is out of range for rank 4"),
        (lambda: nn["rms_norm"](X, C, None), "axes is an integer or several of them"),
        (lambda: nn["pad"](X, (1, 2, 3)), "a width before and one after every axis"),
        (lambda: nn["pixel_shuffle"](X, 0), "extent 1 or more, got 0"),
        (lambda: RELAX["eye"](2.5), "numbers of rows and columns are integers, got 2.5"),
        (lambda: RELAX["split"](X, ("a",)), "split cannot have these attributes"),
        (lambda: RELAX["tile"](X, ("a",)), "tile cannot have these attributes"),
        (lambda: RELAX["einsum"]((C, C), None), "equation is a text, got None"),
    ],
)
def test_what_is_wrong_is_named(call: Callable[[], Any], says: str) -> None:
    """By attribute and value, when the call is made or its result deduced."""
    with pytest.raises(DiagnosticError) as error:
        deduce(call(), Context())
    assert says in str(error.value)
