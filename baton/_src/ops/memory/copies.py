"""Operators whose value is their operand: copies, marks for passes, and bits read as another dtype.

Relay: copy, annotation.stop_fusion (never fused), annotation.checkpoint, annotation.compiler_begin and compiler_end,
device_copy, on_device, reinterpret, debug. Relax: wrap_param (a constant as another dtype), grad.no_grad,
grad.start_checkpoint, grad.end_checkpoint. Source: facts relax-ops-passes-vm §1 (datatype, grad), relay-language §6
levels 1, 3 and 10.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, NoAttrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    CallMaker,
    Definition,
    Exprs,
    Fusion,
    Gradient,
    Gradients,
    Input,
    NotApplicable,
    OpCall,
    OpDef,
)
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import like
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.samples import Arr, Sample
from baton._src.values.device import KINDS, Device
from baton._src.values.dtype import DataType

_NO_RELAY = NotApplicable("Relax's own")


def infer(call: OpCall[Attrs]) -> Info:
    """The operand's type; these operators also take tuples."""
    return call.args[0] if isinstance(call.args[0], TupleInfo) else call.tensor(0)


def compute(inputs: Sequence[k.Tensor], a: Attrs, out: k.Result) -> k.Tensor:
    """An elementwise copy."""
    (x,) = inputs
    return k.compute(x.shape, lambda *i: x(*i), "copy")


@attrs
class DeviceCopyAttrs(Attrs):
    """From where to where."""

    src_virtual_device: Device | str | None = attr(None, "the source device")
    dst_virtual_device: Device | str | None = attr(None, "the target device")

    def __post_init__(self) -> None:
        for name in ("src_virtual_device", "dst_virtual_device"):
            set_attr(self, name, _read_back(getattr(self, name)))


def _read_back(device: object) -> object:
    """A Device, where `device` is the text of one (`cpu(0)`, from a program's text) or says more (a `VirtualDevice`);
    names of kinds stay.
    """
    inner = getattr(device, "device", None)
    if isinstance(inner, Device):
        return inner
    found = re.fullmatch(r"(\w+)\((\d+)\)", device) if isinstance(device, str) else None
    numbers = [number for number, kind in KINDS.items() if found is not None and kind == found[1]]
    return Device(numbers[0], int(found[2])) if found is not None and numbers else device


@attrs
class OnDeviceAttrs(Attrs):
    """The device of an expression, and whether its body and result are constrained to it."""

    virtual_device: Device | str = attr("cpu", "the device")
    constrain_result: bool = attr(False, "whether the result is on the device, too")
    constrain_body: bool = attr(True, "whether the operand is computed on the device")

    def __post_init__(self) -> None:
        set_attr(self, "virtual_device", _read_back(self.virtual_device))


@attrs
class CompilerAttrs(Attrs):
    """Whose code."""

    compiler: str = attr("", "the name of the external compiler")


@attrs
class DebugAttrs(Attrs):
    """The function to call."""

    debug_func: str = attr("", "the name of a registered function; empty: none")


def _identity(
    name: str,
    *,
    relay: bool,
    fusion: Fusion = Fusion.ELEMWISE,
    record: type[Attrs] = NoAttrs,
    gradient: Gradient[Attrs] | None = None,
    summary: str,
) -> Definition:
    def field_by_field(b: CallMaker, args: Exprs, a: Attrs | None, out: Info) -> GraphExpr | None:
        if not isinstance(out, TupleInfo):
            return None
        given = {} if a is None else dict(a.items())
        return b.tuple(*(b.op(name, b.item(args[0], i), **given) for i in range(len(out.fields))))

    return OpDef(
        name,
        record,
        inputs=(Input("data" if relay else "input"),),
        infer=infer,
        compute=compute,
        decompose=field_by_field,
        reference=lambda inputs, a: inputs[0] if isinstance(inputs[0], tuple) else np.array(inputs[0]),
        gradient=gradient or (lambda b, args, a, out, grad: [grad]),
        fusion=fusion,
        layout=FollowsInput(),
        relay_name="" if relay else _NO_RELAY,
        in_relax=not relay,
        samples=lambda: (Sample((Arr(("n", 4)),), record()), Sample((Arr((2,), "bool"),), record())),
        summary=summary,
    )


def _no_gradient(b: CallMaker, args: Exprs, a: Attrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    return [b.op("zeros_like", args[0])]


@attrs
class DtypeAttrs(Attrs):
    """The dtype."""

    dtype: DataType = attr("float32", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def infer_reinterpret(call: OpCall[DtypeAttrs]) -> Info:
    """The same shape; both dtypes must be of one size."""
    x = call.tensor(0)
    wanted = call.attrs.dtype
    if not x.dtype.is_void and x.dtype.itemsize != wanted.itemsize:
        call.fail(f"the bits of {x.dtype} are not those of {wanted}: sizes differ", code="op-dtype")
    return TensorInfo(x.shape, wanted, x.ndim, x.vdevice)


def compute_reinterpret(inputs: Sequence[k.Tensor], a: DtypeAttrs, out: k.Result) -> k.Tensor:
    """TIR's reinterpret."""
    (x,) = inputs
    op = k.intrinsic("reinterpret")
    return k.compute(x.shape, lambda *i: k.tir.Call(out.dtype, op, (x(*i),)), "reinterpret")


REINTERPRET = OpDef(
    "reinterpret",
    DtypeAttrs,
    inputs=(Input("data"),),
    infer=infer_reinterpret,
    compute=compute_reinterpret,
    reference=lambda inputs, a: np.ascontiguousarray(inputs[0]).view(a.dtype.numpy).reshape(np.shape(inputs[0])),
    gradient=NotApplicable("not differentiable"),
    fusion=Fusion.ELEMWISE,
    in_relax=False,
    samples=lambda: (Sample((Arr(("n", 4)),), DtypeAttrs("int32")), Sample((Arr((2,), "int32", -9, 9),), DtypeAttrs())),
    summary="Reinterpret the bits as another dtype of the same size.",
)

WRAP_PARAM = OpDef(
    "wrap_param",
    DtypeAttrs,
    inputs=(Input("data"),),
    infer=lambda call: like(call.tensor(0), call.attrs.dtype),
    compute=lambda inputs, a, out: k.compute(out.shape, lambda *i: k.cast(a.dtype, inputs[0](*i))),
    reference=lambda inputs, a: np.asarray(convert(inputs[0], a.dtype)),
    gradient=lambda b, args, a, out, grad: [b.op("astype", grad, dtype=args[0].struct_info.dtype)],
    fusion=Fusion.ELEMWISE,
    relay_name=_NO_RELAY,
    samples=lambda: (Sample((Arr(("n", 4), "float16"),), DtypeAttrs()),),
    summary="A parameter stored in one dtype and used in another.",
)

COPIES: tuple[Definition, ...] = (
    _identity("copy", relay=True, summary="A copy."),
    _identity(
        "annotation.stop_fusion", relay=True, fusion=Fusion.OPAQUE, summary="The operand; nothing is fused across it."
    ),
    _identity("annotation.checkpoint", relay=True, summary="The operand; differentiation recomputes what precedes it."),
    _identity(
        "annotation.compiler_begin",
        relay=True,
        fusion=Fusion.OPAQUE,
        record=CompilerAttrs,
        summary="The operand; begins a region for an external compiler.",
    ),
    _identity(
        "annotation.compiler_end",
        relay=True,
        fusion=Fusion.OPAQUE,
        record=CompilerAttrs,
        summary="The operand; ends a region for an external compiler.",
    ),
    _identity(
        "device_copy", relay=True, fusion=Fusion.OPAQUE, record=DeviceCopyAttrs, summary="A copy on another device."
    ),
    _identity("on_device", relay=True, record=OnDeviceAttrs, summary="The operand, annotated with a device."),
    _identity(
        "debug",
        relay=True,
        fusion=Fusion.OPAQUE,
        record=DebugAttrs,
        summary="The operand; the interpreter calls a debug function on it, compiled code does not.",
    ),
    _identity("grad.no_grad", relay=False, gradient=_no_gradient, summary="The operand; stops gradients."),
    _identity("grad.start_checkpoint", relay=False, summary="The operand; begins a section to recompute."),
    _identity("grad.end_checkpoint", relay=False, summary="The operand; ends a section to recompute."),
    REINTERPRET,
    WRAP_PARAM,
)
