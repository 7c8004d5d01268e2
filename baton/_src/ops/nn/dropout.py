"""Dropout, as it acts in inference: the data itself, and a mask of ones (Relay keeps both; `nn.dropout_raw`'s pair).

Source: facts relax-ops-passes-vm §1 (nn).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Fusion, Input, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Info, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.samples import Arr, Sample


@attrs
class DropoutAttrs(Attrs):
    """The rate."""

    rate: float = attr(0.5, "probability that an element is dropped in training")


def infer(call: OpCall[DropoutAttrs]) -> Info:
    """(the data, a mask of its shape)."""
    x = call.tensor(0)
    return TupleInfo((x, x))


def compute(inputs: Sequence[k.Tensor], a: DropoutAttrs, out: k.Result) -> tuple[k.Tensor, ...]:
    """A copy, and ones."""
    (x,) = inputs
    return k.compute(x.shape, lambda *i: x(*i), "dropout"), k.compute(x.shape, lambda *i: k.const(1, x.dtype), "mask")


def relay_dropout(make: OwnMaker, data: GraphExpr, rate: float = 0.5) -> GraphExpr:
    """Relay's function gives the data alone."""
    both: Any = make(data, rate=rate)  # in Relay several results unpack
    alone: GraphExpr = both[0]
    return alone


DROPOUT = OpDef(
    "nn.dropout",
    DropoutAttrs,
    inputs=(Input("data"),),
    outputs=2,
    infer=infer,
    compute=compute,
    reference=lambda inputs, a: (inputs[0].copy(), np.ones_like(inputs[0])),
    decompose=lambda b, args, a, out: b.tuple(args[0], b.op("ones_like", args[0])),
    gradient=lambda b, args, a, out, grad: [b.item(grad, 0)],
    fusion=Fusion.ELEMWISE,
    layout=FollowsInput(),
    relay_builder=relay_dropout,
    samples=lambda: (Sample((Arr(("n", 4)),), DropoutAttrs()),),
)
