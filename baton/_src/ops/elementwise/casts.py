"""Elements of another dtype: astype (Relay: cast), cast_like.

Float to integer truncates toward zero (`values.whole_numbers`); anything to bool asks whether it differs from zero.
Source: facts relax-ops-passes-vm §1, relay-language §6 level 3.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Definition, Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info, PrimInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import like
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.precision import wide
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray
from baton._src.values.whole_numbers import whole_numbers


@attrs
class CastAttrs(Attrs):
    """The dtype."""

    dtype: DataType = attr(doc="dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def infer_cast(call: OpCall[CastAttrs]) -> Info:
    """The operand with another dtype."""
    if isinstance(call.args[0], PrimInfo):
        return PrimInfo(call.attrs.dtype)
    return like(call.tensor(0), call.attrs.dtype)


def convert(x: npt.ArrayLike, dtype: DataType) -> AnyArray:
    """NumPy's cast; floats become integers as in compiled code."""
    with np.errstate(all="ignore"):
        source = wide(np.asarray(x))
        if dtype.is_int and DataType(source.dtype).is_float:
            return whole_numbers(source, dtype)
        return (source != 0) if dtype.is_bool else source.astype(dtype.numpy)


ASTYPE = OpDef(
    "astype",
    CastAttrs,
    inputs=(Input("x", relay_name="data"),),
    infer=infer_cast,
    compute=lambda inputs, a, out: k.compute(out.shape, lambda *i: k.cast(a.dtype, inputs[0](*i))),
    reference=lambda inputs, a: np.asarray(convert(inputs[0], a.dtype)),
    gradient=lambda b, args, a, out, grad: [b.op("astype", grad, dtype=args[0].struct_info.dtype)],
    fusion=Fusion.ELEMWISE,
    layout=FollowsInput(),
    relay_name="cast",
    samples=lambda: (
        Sample((Arr(("n", 4)),), CastAttrs("int32")),
        Sample((Arr(("n", 4), "int32", -3, 3),), CastAttrs("float16")),
        Sample((Arr((2, 4), "int32", -2, 2),), CastAttrs("bool")),
        Sample((Arr((2, 4), "bool"),), CastAttrs("float32")),
        Sample((Arr((4,), "float32"),), CastAttrs("bfloat16")),
        Sample((Arr((4,), "int64", -300, 300),), CastAttrs("uint8")),
    ),
    summary="Convert the elements to another dtype.",
)


def infer_cast_like(call: OpCall[Attrs]) -> Info:
    """The first operand with the dtype of the second."""
    return like(call.tensor(0), call.tensor(1).dtype)


CAST_LIKE: Definition = OpDef(
    "cast_like",
    inputs=(Input("data"), Input("dtype_like")),
    infer=infer_cast_like,
    compute=lambda inputs, a, out: k.compute(out.shape, lambda *i: k.cast(inputs[1].dtype, inputs[0](*i))),
    reference=lambda inputs, a: np.asarray(convert(inputs[0], DataType(inputs[1].dtype))),
    gradient=lambda b, args, a, out, grad: [b.op("astype", grad, dtype=args[0].struct_info.dtype), None],
    fusion=Fusion.ELEMWISE,
    layout=FollowsInput(),
    in_relax=False,
    samples=lambda: (Sample((Arr(("n", 4)), Arr((1,), "int32"))),),
    summary="Convert the elements to the dtype of another tensor.",
)

CASTS: tuple[Definition, ...] = (ASTYPE, CAST_LIKE)
