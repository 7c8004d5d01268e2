"""Activation functions: one operand, floats (relu: any number), shape and dtype kept. Rows become OpDefs.

relu max(x, 0); gelu x * (1 + erf(x / √2)) / 2; gelu_tanh its tanh approximation; silu x * sigmoid(x);
leakyrelu x or alpha * x; softplus log(1 + e^(beta x)) / beta, linear above threshold / beta; selu as in ONNX.
Source: facts relax-ops-passes-vm §1 (nn), relay-language §6 levels 1 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from baton._src.ir.attrs import Attrs, NoAttrs, attr, attrs
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
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.elementwise.special_functions import erf, softplus
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.precision import computed_wide
from baton._src.ops.samples import Arr, Sample
from baton._src.support.dataclass import dataclass
from baton._src.values.tensor import AnyArray

_RELAY_HAS_NOT = NotApplicable("Relay composes it of other operators")


@attrs
class LeakyReluAttrs(Attrs):
    """The slope."""

    alpha: float = attr(0.01, "the slope for negative inputs")


@attrs
class RelayLeakyReluAttrs(LeakyReluAttrs):
    """The same, with the slope of Relay's text where it is left out."""

    alpha: float = attr(0.25, "the slope for negative inputs")


@attrs
class SoftplusAttrs(Attrs):
    """The sharpness, and the threshold above which it is linear."""

    beta: float = attr(1.0, "sharpness")
    threshold: float = attr(20.0, "the function is linear where beta * x exceeds this")


def _c(value: float, x: k.Scalar) -> k.Scalar:
    return k.const(value, x.dtype)


def _relu(x: k.Scalar, a: Attrs) -> k.Scalar:
    return k.maximum(x, _c(0, x))


def _gelu(x: k.Scalar, a: Attrs) -> k.Scalar:
    return x * (_c(0.5, x) + k.erf(x * _c(math.sqrt(0.5), x)) * _c(0.5, x))


_TANH_SCALE = math.sqrt(2 / math.pi)


def _gelu_tanh(x: k.Scalar, a: Attrs) -> k.Scalar:
    inner = _c(_TANH_SCALE, x) * x * (_c(1, x) + _c(0.044715, x) * x * x)
    return _c(0.5, x) * x * (_c(1, x) + k.tanh(inner))


def _np_gelu_tanh(x: AnyArray, a: Attrs) -> AnyArray:
    inner = x.dtype.type(_TANH_SCALE) * x * (1 + x.dtype.type(0.044715) * x * x)
    found: AnyArray = x * (1 + np.tanh(inner)) / 2
    return found


def _leaky(x: k.Scalar, a: LeakyReluAttrs | RelayLeakyReluAttrs) -> k.Scalar:
    return k.select(x > _c(0, x), x, x * _c(a.alpha, x))


def _softplus(x: k.Scalar, a: SoftplusAttrs) -> k.Scalar:
    scaled = x * _c(a.beta, x)
    bent = k.maximum(scaled, _c(0, x)) + k.call("log1p", k.exp(_c(-1, x) * k.fabs(scaled)))
    return k.select(scaled > _c(a.threshold, x), x, bent / _c(a.beta, x))


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _selu(x: k.Scalar, a: Attrs) -> k.Scalar:
    low = _c(_SELU_ALPHA, x) * k.call("expm1", k.minimum(x, _c(0, x)))
    return _c(_SELU_SCALE, x) * k.select(x > _c(0, x), x, low)


def _np_selu(x: AnyArray, a: Attrs) -> AnyArray:
    return np.where(x > 0, x, _SELU_ALPHA * np.expm1(np.minimum(x, 0))) * _SELU_SCALE


A = TypeVar("A", bound=Attrs)


@dataclass(frozen=True)
class Row(Generic[A]):
    """One activation. `slope(b, x, y, attrs)` builds dy/dx."""

    name: str
    record: type[A]
    scalar: Callable[[k.Scalar, A], k.Scalar]
    numpy: Callable[[AnyArray, A], AnyArray]
    slope: Callable[[CallMaker, GraphExpr, GraphExpr, A], GraphExpr]
    relay_name: str | NotApplicable = _RELAY_HAS_NOT
    in_relax: bool = True
    floats_only: bool = True


_ONE_STAGE = ("nn.relu", "nn.leakyrelu", "nn.leaky_relu")
"""Those whose kernels are one stage in TVM as well, and have its name; the others are several there."""


def _step(b: CallMaker, x: GraphExpr, low: float) -> GraphExpr:
    """1 where x > 0, else `low`."""
    zero = b.full_like(x, 0)
    return b.op("where", b.op("greater", x, zero), b.full_like(x, 1), b.full_like(x, low))


def _gelu_slope(b: CallMaker, x: GraphExpr, y: GraphExpr, a: Attrs) -> GraphExpr:
    half = b.full_like(x, 0.5)
    cdf = b.op("add", half, b.op("multiply", half, b.op("erf", b.op("multiply", x, b.full_like(x, math.sqrt(0.5))))))
    pdf = b.op("exp", b.op("multiply", b.op("multiply", x, x), b.full_like(x, -0.5)))
    return b.op("add", cdf, b.op("multiply", x, b.op("multiply", pdf, b.full_like(x, 1 / math.sqrt(2 * math.pi)))))


def _silu_slope(b: CallMaker, x: GraphExpr, y: GraphExpr, a: Attrs) -> GraphExpr:
    s = b.op("sigmoid", x)
    return b.op("add", s, b.op("multiply", y, b.op("subtract", b.full_like(x, 1), s)))


def _softplus_slope(b: CallMaker, x: GraphExpr, y: GraphExpr, a: SoftplusAttrs) -> GraphExpr:
    scaled = b.op("multiply", x, b.full_like(x, a.beta))
    is_linear = b.op("greater", scaled, b.full_like(x, a.threshold))
    return b.op("where", is_linear, b.full_like(x, 1), b.op("sigmoid", scaled))


def _gelu_tanh_slope(b: CallMaker, x: GraphExpr, y: GraphExpr, a: Attrs) -> GraphExpr:
    one, half = b.full_like(x, 1), b.full_like(x, 0.5)
    square = b.op("multiply", x, x)
    cubic = b.op("add", one, b.op("multiply", square, b.full_like(x, 0.044715)))
    t = b.op("tanh", b.op("multiply", b.op("multiply", x, cubic), b.full_like(x, _TANH_SCALE)))
    inner = b.op("add", one, b.op("multiply", square, b.full_like(x, 3 * 0.044715)))
    bell = b.op("multiply", b.op("subtract", one, b.op("multiply", t, t)), b.full_like(x, _TANH_SCALE))
    bent = b.op("multiply", x, b.op("multiply", bell, inner))
    return b.op("multiply", half, b.op("add", b.op("add", one, t), bent))


def _selu_slope(b: CallMaker, x: GraphExpr, y: GraphExpr, a: Attrs) -> GraphExpr:
    low = b.op("add", y, b.full_like(x, _SELU_ALPHA * _SELU_SCALE))
    return b.op("where", b.op("greater", x, b.full_like(x, 0)), b.full_like(x, _SELU_SCALE), low)


ROWS: tuple[Row[Any], ...] = (
    Row(
        "nn.relu",
        NoAttrs,
        _relu,
        lambda x, a: np.maximum(x, x.dtype.type(0)),
        relay_name="nn.relu",
        slope=lambda b, x, y, a: _step(b, x, 0),
        floats_only=False,
    ),
    Row("nn.gelu", NoAttrs, _gelu, lambda x, a: x * (1 + erf(x / x.dtype.type(math.sqrt(2)))) / 2, slope=_gelu_slope),
    Row("nn.gelu_tanh", NoAttrs, _gelu_tanh, _np_gelu_tanh, slope=_gelu_tanh_slope),
    Row("nn.silu", NoAttrs, lambda x, a: x * k.sigmoid(x), lambda x, a: x / (1 + np.exp(-x)), slope=_silu_slope),
    Row(
        "nn.leakyrelu",
        LeakyReluAttrs,
        _leaky,
        lambda x, a: np.where(x > 0, x, x * x.dtype.type(a.alpha)),
        slope=lambda b, x, y, a: _step(b, x, a.alpha),
    ),
    Row(
        "nn.leaky_relu",
        RelayLeakyReluAttrs,
        _leaky,
        lambda x, a: np.where(x > 0, x, x * x.dtype.type(a.alpha)),
        relay_name="nn.leaky_relu",
        in_relax=False,
        slope=lambda b, x, y, a: _step(b, x, a.alpha),
    ),
    Row(
        "nn.softplus",
        SoftplusAttrs,
        _softplus,
        lambda x, a: np.where(x * a.beta > a.threshold, x, softplus(x * x.dtype.type(a.beta)) / a.beta),
        slope=_softplus_slope,
    ),
    Row("nn.selu", NoAttrs, _selu, _np_selu, slope=_selu_slope),
)


def infer(call: OpCall[Attrs]) -> Info:
    """The operand itself; floats only."""
    check_floats(call, 0)
    return call.tensor(0)


def _infer_any(call: OpCall[Attrs]) -> Info:
    return call.tensor(0)


def _define(row: Row[A]) -> Definition:
    def compute(inputs: Sequence[k.Tensor], attributes: A, out: k.Result) -> k.Tensor:
        name = "compute" if row.name in _ONE_STAGE else row.name.replace("nn.", "")
        return k.elementwise(lambda x: row.scalar(x, attributes), inputs, out, name)

    def reference(inputs: Sequence[AnyArray], attributes: A) -> AnyArray:
        return computed_wide(lambda x: row.numpy(x, attributes), inputs[0])

    def samples() -> tuple[Sample, ...]:
        dtypes = ("float32", "float16", "bfloat16") + (() if row.floats_only else ("int32",))
        return tuple(
            Sample((Arr(("n", 5), d, -3, 3),), row.record(), rtol=2e-2 if "16" in d else 1e-4, atol=1e-5)
            for d in dtypes
        )

    return OpDef(
        row.name,
        row.record,
        inputs=(Input("data"),),
        infer=infer if row.floats_only else _infer_any,
        compute=compute,
        reference=reference,
        fusion=Fusion.ELEMWISE,
        layout=FollowsInput(),
        gradient=_gradient(row),
        relay_name=row.relay_name,
        in_relax=row.in_relax,
        samples=samples,
        summary=f"The activation function {row.name.removeprefix('nn.')}.",
    )


def _gradient(row: Row[A]) -> Gradient[A]:
    def gradient(b: CallMaker, args: Exprs, attributes: A, out: GraphExpr, grad: GraphExpr) -> Gradients:
        return [b.op("multiply", grad, row.slope(b, args[0], out, attributes))]

    return gradient


ACTIVATIONS: tuple[Definition, ...] = tuple(_define(row) for row in ROWS)
