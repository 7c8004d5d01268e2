"""Draws with a key of `threefry`: random.uniform, normal, multinomial.

Each gives the key to go on with, then its numbers. A number takes a word of random bits (normal two: the Box-Muller
transform), of which a uniform one keeps as many high bits as its significand holds. Source: facts relay-language §6
level 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Definition, Fusion, Input, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import show_shape
from baton._src.ops.index.scans import scan
from baton._src.ops.operand_checks import check_scalar
from baton._src.ops.precision import accumulator
from baton._src.ops.random.threefry import KEY, NO_SLOPE, as_shape, key_info
from baton._src.ops.random.threefry_bits import WORD, drawn_bits, reference_bits
from baton._src.ops.row_major import element_count, flat_index
from baton._src.ops.samples import Arr, Sample, Shape
from baton._src.ops.shape.targets import of_unknown_dims, target_dims, target_numbers
from baton._src.values.dtype import INT32, DataType
from baton._src.values.tensor import AnyArray

FLOAT32 = DataType("float32")
_SHAPE = 3
"""Which operand the shape is, where it is one."""


@attrs
class DrawAttrs(Attrs):
    """How many, of which dtype."""

    out_shape: tuple[Dim, ...] | None = attr(None, "shape of the result; None: the operand shape")
    out_dtype: DataType = attr("float32", "dtype of the numbers")

    def __post_init__(self) -> None:
        if self.out_shape is not None:
            set_attr(self, "out_shape", as_shape(self.out_shape))
        set_attr(self, "out_dtype", DataType(self.out_dtype))


def infer_draw(call: OpCall[DrawAttrs]) -> Info:
    """A key and numbers."""
    if not call.attrs.out_dtype.is_float:
        call.fail(f"draws floating-point numbers, got dtype {call.attrs.out_dtype}", code="op-dtype")
    for position in (1, 2):
        check_scalar(call, position)
    shape, dtype = target_dims(call, _SHAPE, "out_shape"), call.attrs.out_dtype
    numbers = of_unknown_dims(call, _SHAPE, dtype) if shape is None else TensorInfo(shape, dtype)
    return TupleInfo((key_info(call), numbers))


def _digits(dtype: DataType) -> int:
    """How many random bits a uniform number of this dtype takes: as many as its significand has."""
    return {"float64": 53, "float32": 24, "float16": 11}.get(str(dtype), 8)


N = TypeVar("N", k.Scalar, AnyArray)
Parameter = GraphExpr | npt.ArrayLike


def unit(word: k.Scalar, dtype: DataType) -> k.Scalar:
    """A word as a number in [0, 1), in the dtype it is computed in."""
    kept, digits = accumulator(dtype), _digits(dtype)
    high = k.call("shift_right", word, k.const(64 - digits, WORD))
    return k.cast(kept, k.cast("int64", high)) * k.const(2.0**-digits, kept)


def _np_unit(words: AnyArray, dtype: DataType) -> AnyArray:
    kept, digits = accumulator(dtype).numpy, _digits(dtype)
    found: AnyArray = (words >> np.uint64(64 - digits)).astype(kept) * np.asarray(2.0**-digits, kept)
    return found


def _uniform(unit_of: Callable[[int], N], low: N, high: N) -> N:
    found: N = low + unit_of(0) * (high - low)
    return found


def _te_normal(unit_of: Callable[[int], k.Scalar], mean: k.Scalar, scale: k.Scalar) -> k.Scalar:
    one, minus_two = k.const(1.0, mean.dtype), k.const(-2.0, mean.dtype)
    radius = k.sqrt(minus_two * k.log(one - unit_of(0)))
    return mean + scale * radius * k.cos(k.const(2 * math.pi, mean.dtype) * unit_of(1))


def _np_normal(unit_of: Callable[[int], AnyArray], mean: AnyArray, scale: AnyArray) -> AnyArray:
    radius = np.sqrt(-2 * np.log(1 - unit_of(0)))
    found: AnyArray = mean + scale * radius * np.cos(np.asarray(2 * math.pi, mean.dtype) * unit_of(1))
    return found


def relay_uniform(
    make: OwnMaker,
    key: GraphExpr,
    shape: object,
    dtype: object = "float32",
    low: Parameter = 0.0,
    high: Parameter = 1.0,
) -> GraphExpr:
    """TVM's order: shape and dtype ahead of the bounds, numbers or scalar tensors."""
    return _drawn(make, key, shape, dtype, low, high)


def relay_normal(
    make: OwnMaker,
    key: GraphExpr,
    shape: object,
    dtype: object = "float32",
    mean: Parameter = 0.0,
    scale: Parameter = 1.0,
) -> GraphExpr:
    """The same with mean and standard deviation."""
    return _drawn(make, key, shape, dtype, mean, scale)


def _drawn(make: OwnMaker, key: GraphExpr, shape: object, dtype: object, *parameters: Parameter) -> GraphExpr:
    scalars = (v if isinstance(v, GraphExpr) else make.const(v, dtype) for v in parameters)
    return make(key, *scalars, out_shape=shape, out_dtype=dtype)


def _distribution(
    name: str,
    names: tuple[str, str],
    words: int,
    te: Callable[[Callable[[int], k.Scalar], k.Scalar, k.Scalar], k.Scalar],
    numpy: Callable[[Callable[[int], AnyArray], AnyArray, AnyArray], AnyArray],
    builder: Callable[..., GraphExpr],
    doc: str,
) -> OpDef[DrawAttrs]:
    """`words` words a number: the first of all numbers, then the second of all."""

    def compute(inputs: Sequence[k.Tensor], a: DrawAttrs, out: k.Results) -> tuple[k.Tensor, ...]:
        key, first, second, *_ = inputs
        shape = out.fields[1].shape
        size = element_count(shape)
        following, bits = drawn_bits(key, size * k.index(words))
        kept = accumulator(a.out_dtype)

        def body(*i: k.Scalar) -> k.Scalar:
            at = flat_index(i, shape)
            values = (k.cast(kept, first()), k.cast(kept, second()))
            return k.cast(a.out_dtype, te(lambda n: unit(bits(at + k.index(n) * size), a.out_dtype), *values))

        return following, k.compute(shape, body, f"random_{name}")

    def reference(inputs: Sequence[AnyArray], a: DrawAttrs) -> tuple[AnyArray, ...]:
        key, first, second, *_ = inputs
        shape = target_numbers(inputs, _SHAPE, a.out_shape)
        size = math.prod(shape)
        following, bits = reference_bits(key, size * words)
        kept = accumulator(a.out_dtype).numpy
        units = [_np_unit(bits[n * size : (n + 1) * size], a.out_dtype) for n in range(words)]
        found = numpy(units.__getitem__, np.asarray(first).astype(kept), np.asarray(second).astype(kept))
        return following, np.asarray(found).reshape(shape).astype(a.out_dtype.numpy)

    return OpDef(
        f"random.{name}",
        DrawAttrs,
        inputs=(
            Input("key"),
            *(Input(name, "a scalar tensor") for name in names),
            Input("shape", kind="shape", relay_name="out_shape", languages=("relax",), optional=True),
        ),
        infer=infer_draw,
        compute=compute,
        reference=reference,
        gradient=NO_SLOPE,
        fusion=Fusion.OPAQUE,
        in_relax=False,
        outputs=2,
        relay_builder=builder,
        samples=lambda: (
            Sample((KEY, Arr((), low=-1, high=0), Arr((), low=1)), DrawAttrs((3, 5)), rtol=1e-4, atol=1e-4),
            Sample((KEY, Arr((), low=-1, high=0), Arr((), low=1)), DrawAttrs((7,), "float64"), rtol=1e-4, atol=1e-4),
            Sample((KEY, Arr((), low=-1, high=0), Arr((), low=1), Shape((2, "n"))), DrawAttrs(), rtol=1e-4, atol=1e-4),
        ),
        summary=doc,
    )


UNIFORM = _distribution(
    "uniform", ("low", "high"), 1, _uniform, _uniform, relay_uniform, "Numbers drawn evenly from [low, high)."
)
NORMAL = _distribution(
    "normal",
    ("mean", "scale"),
    2,
    _te_normal,
    _np_normal,
    relay_normal,
    "Numbers drawn from a normal distribution.",
)


@attrs
class MultinomialAttrs(Attrs):
    """How many draws a row."""

    num_samples: int = attr(1, "draws a row")


def infer_multinomial(call: OpCall[MultinomialAttrs]) -> Info:
    """A key and positions: the rows of the probabilities, a draw each."""
    probs = call.tensor(1)
    if probs.ndim not in (-1, 1, 2):
        call.fail(f"probabilities must have rank 1 or 2, got {show_shape(probs.shape, probs.ndim)}")
    if probs.shape is not None and probs.shape[-1] == 0 and call.attrs.num_samples:
        call.fail(f"there is nothing to draw among probabilities of shape {show_shape(probs.shape)}")
    shape = None if probs.shape is None else (*probs.shape[:-1], call.attrs.num_samples)
    return TupleInfo((key_info(call), TensorInfo(shape, INT32, probs.ndim)))


def compute_multinomial(inputs: Sequence[k.Tensor], a: MultinomialAttrs, out: k.Results) -> tuple[k.Tensor, ...]:
    """How many cumulative sums a uniform number of the total reaches."""
    key, probs = inputs
    shape = out.fields[1].shape
    following, bits = drawn_bits(key, element_count(shape))
    sums = scan(probs, probs.ndim - 1, False, 0, k.tir.Add, FLOAT32)
    classes = k.index(probs.shape[-1])

    def body(*i: k.Scalar) -> k.Scalar:
        draw = k.cast("float32", unit(bits(flat_index(i, shape)), FLOAT32)) * sums(*i[:-1], classes - k.index(1))
        axis = k.reduce_axis(classes - k.index(1), "c")
        return k.reduce_sum(k.cast("int32", k.tir.LE(sums(*i[:-1], axis.var), draw)), [axis])

    return following, k.compute(shape, body, "multinomial")


def reference_multinomial(inputs: Sequence[AnyArray], a: MultinomialAttrs) -> tuple[AnyArray, ...]:
    """A search in the cumulative sums."""
    key, probs = inputs
    shape = (*probs.shape[:-1], a.num_samples)
    following, bits = reference_bits(key, math.prod(shape))
    sums = np.cumsum(probs.astype(np.float32), axis=-1, dtype=np.float32)
    draws = _np_unit(bits, FLOAT32).reshape(shape) * sums[..., -1:]
    return following, np.sum(sums[..., None, :-1] <= draws[..., None], axis=-1).astype(np.int32)


MULTINOMIAL = OpDef(
    "random.multinomial",
    MultinomialAttrs,
    inputs=(Input("key"), Input("probs", "not negative; they need not add up to one")),
    infer=infer_multinomial,
    compute=compute_multinomial,
    reference=reference_multinomial,
    gradient=NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    outputs=2,
    samples=lambda: (
        Sample((KEY, Arr(("n", 5), low=0.1, high=1)), MultinomialAttrs(4)),
        Sample((KEY, Arr((5,), low=0.1, high=1)), MultinomialAttrs(3)),
    ),
    summary="Draw positions with given probabilities.",
)

DISTRIBUTIONS: tuple[Definition, ...] = (UNIFORM, NORMAL, MULTINOMIAL)
