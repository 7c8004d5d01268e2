"""Reshape: the same elements in the same order, another shape.

Relax takes the target as an argument (at most one -1, which is inferred); Relay as the attribute `newshape`, whose
special values are 0 (copy this dim; a real zero with `allowzero`), -1 (infer), -2 (copy all that are left), -3 (merge
the next two), -4 (split this dim into the two that follow). `dyn.reshape` takes it as a tensor. Also here:
`reshape_like`, `flatten` (all to one axis), `nn.batch_flatten` (all but the first). Source: facts relax-ops-passes-vm
§1, relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.structural import structural_equal
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, is_any, show_shape
from baton._src.ops.samples import Arr, Sample, Shape
from baton._src.ops.shape.targets import of_unknown_dims, target_dims, target_numbers
from baton._src.tir.expr import AnyDim, IntImm


@attrs
class ReshapeAttrs(Attrs):
    """Relay's target."""

    newshape: Any = attr(None, "the target, with special values 0, -1, -2, -3, -4", relay_only=True)
    allowzero: bool = attr(False, "0 means an empty axis", relay_only=True)

    def __post_init__(self) -> None:
        if self.newshape is not None:
            found = (self.newshape,) if isinstance(self.newshape, int) else tuple(self.newshape)
            set_attr(self, "newshape", found)
        set_attr(self, "allowzero", bool(self.allowzero))


def infer(call: OpCall[ReshapeAttrs]) -> Info:
    """The target, resolved; the number of elements must be able to agree."""
    x = call.tensor(0)
    relay = len(call.args) == 1 or isinstance(call.args[1], TensorInfo)
    target = target_dims(call, 1, "newshape")
    if target is None:
        return of_unknown_dims(call, 1, x.dtype, x.vdevice)
    shape = resolve(call, x, target, relay)
    return TensorInfo(shape, x.dtype, len(target) if shape is None else -1, x.vdevice)


def resolve(call: OpCall[Any], x: TensorInfo, target: Sequence[Dim], relay: bool) -> tuple[Dim, ...] | None:
    """The target without special values; None if it has some and the shape of `x` is unknown."""
    math = DimMath(call.prover)
    zero = not getattr(call.attrs, "allowzero", False)
    special = [d for d in target if isinstance(d, int) and (d < 0 or (d == 0 and zero and relay))]
    if not relay and any(d != -1 for d in special):
        call.fail(f"a dim of the target {show_shape(tuple(target))} is negative")
    if special.count(-1) > 1 and -4 not in special:
        call.fail(f"at most one dim may be -1, the target is {show_shape(tuple(target))}", help="-1 is what remains")
    if x.shape is None:
        return None if special else tuple(target)
    result, gap, taken, copied = _walk(call, math, x.shape, target, zero and relay) if relay else _plain(target)
    known = math.product(d for i, d in enumerate(result) if i != gap)
    total = math.product(x.shape)
    if gap is not None:  # of what no other value stands for, so that dims that are 0 are no matter
        rest = math.product(d for i, d in enumerate(x.shape) if i not in taken)
        asked = math.product(d for i, d in enumerate(result) if i != gap and i not in copied)
        if isinstance(rest, int) and isinstance(asked, int) and asked and rest % asked:
            call.fail(
                f"cannot reshape {show_shape(x.shape)} into {show_shape(tuple(target))}: "
                f"{total} elements are not a multiple of {known}",
                help=_instead(total, target),
            )
        result[gap] = _quotient(math, rest, asked)
    elif math.equal(known, total) is False:
        call.fail(
            f"cannot reshape {show_shape(x.shape)} into {show_shape(tuple(target))}: {total} elements against {known}",
            help=_instead(total, target),
        )
    return tuple(result)


def _instead(total: Dim, target: Sequence[Dim]) -> str:
    """How a target of the wrong size can be mended: which of its dims may be which number."""
    wanted = "the dims of the target must multiply to the number of elements; -1 stands for the one that follows"
    dims = [d for d in target if isinstance(d, int)]
    if not isinstance(total, int) or len(dims) != len(target) or min(dims, default=0) < -1 or 0 in dims:
        return wanted
    for free in range(len(dims) - 1, -1, -1):
        before, after = dims[:free], dims[free + 1 :]
        if -1 not in before + after and total % prod(before + after) == 0:
            made = (*before, total // prod(before + after), *after)
            return f"{wanted}: {show_shape(made)} would do"
    return wanted


Walked = tuple[list[Dim], int | None, set[int], set[int]]
"""A target without special values, the place of its -1, the dims of the operand that it took, and where they went."""


def _plain(target: Sequence[Dim]) -> Walked:
    gap = next((i for i, d in enumerate(target) if isinstance(d, int) and d == -1), None)
    return list(target), gap, set(), set()


def _quotient(math: DimMath, rest: Dim, asked: Dim) -> Dim:
    """The dim that -1 stands for."""
    if is_any(rest) or is_any(asked):
        return AnyDim()
    if asked == 0:
        return 0
    math.divides(asked, rest)  # assumed: nothing is left over
    return math.floor_divide(rest, asked)


def _walk(call: OpCall[Any], math: DimMath, shape: tuple[Dim, ...], target: Sequence[Dim], zero: bool) -> Walked:
    """Relay's special values, consumed from left to right."""
    result: list[Dim] = []
    gap: int | None = None
    taken: set[int] = set()
    copied: set[int] = set()
    at = step = 0

    def source(position: int) -> Dim:
        if position >= len(shape):
            call.fail(f"the target {show_shape(tuple(target))} refers to more dims than {show_shape(shape)} has")
        taken.add(position)
        return shape[position]

    while step < len(target):
        dim = target[step]
        step += 1
        before = len(result)
        if not isinstance(dim, int) or dim > 0 or (dim == 0 and not zero):
            result.append(dim)
            at += 1
            continue
        if dim == -1:
            gap = len(result)
            result.append(1)
            at += 1
            continue
        if dim == 0:
            result.append(source(at))
            at += 1
        elif dim == -2:
            result += [source(i) for i in range(at, len(shape))]
            at = len(shape)
        elif dim == -3:
            result.append(math.multiply(source(at), source(at + 1)))
            at += 2
        elif dim == -4:
            result += _split(call, math, source(at), target[step : step + 2], shape, target)
            step, at = step + 2, at + 1
        else:
            call.fail(f"{dim} has no meaning in a target shape", help="special values are 0, -1, -2, -3 and -4")
        copied.update(range(before, len(result)))
    return result, gap, taken, copied


def _split(
    call: OpCall[Any], math: DimMath, dim: Dim, parts: Sequence[Dim], shape: tuple[Dim, ...], target: Sequence[Dim]
) -> list[Dim]:
    if len(parts) != 2 or list(parts) == [-1, -1]:
        call.fail(f"-4 must be followed by two dims, one of them known, the target is {show_shape(tuple(target))}")
    left, right = parts
    if isinstance(left, int) and left == -1:
        left = math.floor_divide(dim, right)
    elif isinstance(right, int) and right == -1:
        right = math.floor_divide(dim, left)
    if math.equal(math.multiply(left, right), dim) is False:
        call.fail(f"cannot split {dim} of {show_shape(shape)} into {left} and {right}")
    return [left, right]


def flat_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The position of an element in row-major order."""
    found: Any = k.index(0)
    for position, (i, d) in enumerate(zip(indices, shape)):
        found = i if position == 0 else found * _extent(d) + i
    return found


def split_index(flat: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices of the element at a row-major position."""
    found: list[Any] = []
    for position in range(len(shape) - 1, -1, -1):
        extent = _extent(shape[position])
        found.insert(0, k.index(0) if k.is_one(shape[position]) else flat if position == 0 else flat % extent)
        flat = flat if k.is_one(shape[position]) else flat // extent
    return found


def _extent(dim: Any) -> Any:
    """A dim as a divisor: an empty axis has no elements to find, so 1 does."""
    found = k.index(dim)
    return k.index(1) if isinstance(found, k.tir.IntImm) and found.value == 0 else found


def compute(inputs: Any, attributes: Any, out: Any) -> Any:
    """Every element is read where its row-major position lies in the operand; where dims are symbolic, those that stay
    as they are keep their index, for a division by them is dear.
    """
    x = inputs[0]
    shape = k.dims(out.shape)
    first, last = _kept_dims(x.shape, shape) if any(not isinstance(d, IntImm) for d in shape) else (0, 0)

    def source(*i: Any) -> Any:
        end = len(shape) - last
        flat = flat_index(i[first:end], shape[first:end])
        return x(*i[:first], *split_index(flat, x.shape[first : len(x.shape) - last]), *i[end:])

    return k.compute(shape, source, "reshape")


def _kept_dims(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """How many dims a reshape leaves as they are at the beginning, and how many at the end."""
    fewer = min(len(old), len(new))
    first = next((n for n in range(fewer) if not structural_equal(old[n], new[n])), fewer)
    last = next((n for n in range(fewer - first) if not structural_equal(old[-1 - n], new[-1 - n])), fewer - first)
    return first, last


def reference(inputs: Any, attributes: ReshapeAttrs) -> Any:
    """`numpy.reshape`."""
    x = inputs[0]
    target = target_numbers(inputs, 1, attributes.newshape)
    if len(inputs) > 1 and isinstance(inputs[1], tuple):
        return np.reshape(x, target)
    return np.reshape(x, resolve_numbers(x.shape, target, attributes.allowzero))


def resolve_numbers(shape: tuple[int, ...], target: tuple[int, ...], allowzero: bool = False) -> tuple[int, ...]:
    """Relay's special values resolved for known shapes (a -1 that does not divide stays: NumPy refuses it)."""
    result: list[int] = []
    asked: list[int] = []
    rest = list(shape)
    at = step = 0
    while step < len(target):
        dim = target[step]
        step += 1
        if dim > 0 or dim == -1 or (dim == 0 and allowzero):
            result.append(dim)
            asked += [dim] if dim != -1 else []
            at += 1
            continue
        end = len(shape) if dim == -2 else at + (2 if dim == -3 else 1)
        found, rest[at:end] = shape[at:end], [1] * (end - at)
        if dim == -4:
            left, right = target[step : step + 2]
            found = (found[0] // right if left == -1 else left, found[0] // left if right == -1 else right)
            step += 2
        result += (prod(found),) if dim == -3 else found
        at = end
    gap = next((i for i, dim in enumerate(result) if dim == -1), None)
    if gap is not None and (prod(asked) == 0 or prod(rest) % prod(asked) == 0):
        result[gap] = prod(rest) // prod(asked) if prod(asked) else 0
    return tuple(result)


def gradient(b: Any, args: Any, attributes: Any, out: Any, grad: Any) -> list[Any]:
    """The gradient in the shape of the operand; nothing towards the target."""
    return [b.op("reshape", grad, b.shape_of(args[0])), *(None for _ in args[1:])]


def relax_builder(make: Any, x: Any, shape: Any) -> Any:
    """A 0 in Relax's target is the operand's dim at its place. An operand without elements keeps it: no elements."""
    target = getattr(shape, "values", shape)
    dims = getattr(getattr(x.struct_info_, "shape", None), "values", None) if isinstance(x, GraphExpr) else None
    if dims is None or not isinstance(target, (list, tuple)):
        return make(x, shape)
    copied = [i < len(dims) and _is_zero(d) for i, d in enumerate(target)]
    if not any(copied) or any(_is_zero(d) for d in dims):
        return make(x, shape)
    return make(x, [dims[i] if copied[i] else d for i, d in enumerate(target)])


def _is_zero(dim: Any) -> bool:
    return dim == 0 if isinstance(dim, int) else isinstance(dim, IntImm) and dim.value == 0


def relay_builder(make: Any, data: Any, newshape: Any, allowzero: bool = False) -> Any:
    """A target that is a tensor makes it `dyn.reshape`."""
    if isinstance(newshape, GraphExpr):
        return make.op("dyn.reshape", data, newshape, allowzero=allowzero)
    return make(data, newshape=newshape, allowzero=allowzero)


def samples() -> tuple[Sample, ...]:
    def relay(shape: tuple[Any, ...], *target: int) -> Sample:
        return Sample((Arr(shape),), ReshapeAttrs(newshape=target))

    return (
        Sample((Arr(("n", 4)), Shape((4, "n"))), ReshapeAttrs()),
        Sample((Arr((2, 3, 4)), Shape((6, -1))), ReshapeAttrs()),
        Sample((Arr(("n", 2, 4)), Shape(("n", 8))), ReshapeAttrs()),
        Sample((Arr((4,), "int64"), Shape((2, 2))), ReshapeAttrs()),
        Sample((Arr((1,)), Shape(())), ReshapeAttrs()),
        relay((2, 3, 4), 0, -1),
        relay((2, 3, 4), -3, 4),
        relay((2, 3, 4), -4, 1, 2, -2),
        relay((2, 3, 4), -4, -1, 1, -1),
        relay(("n", 4), -1),
        relay(("n", 3, 4), 0, -3),
    )


_FACETS: dict[str, Any] = {"compute": compute, "fusion": Fusion.INJECTIVE, "gradient": gradient}

RESHAPE = OpDef(
    "reshape",
    ReshapeAttrs,
    inputs=(
        Input("x", relay_name="data"),
        Input("shape", "the target", kind="shape", relay_name="newshape", languages=("relax",)),
    ),
    infer=infer,
    reference=reference,
    relay_builder=relay_builder,
    relax_builder=relax_builder,
    samples=samples,
    **_FACETS,
)

DYN_RESHAPE = OpDef(
    "dyn.reshape",
    ReshapeAttrs,
    inputs=(Input("data"), Input("newshape", "the target, a tensor of rank 1")),
    infer=infer,
    reference=reference,
    in_relax=False,
    shape_values=(1,),
    samples=lambda: (),
    summary="Reshape to a target that is computed.",
    **_FACETS,
)


def infer_like(call: OpCall[Any]) -> Info:
    """The shape of the second operand (between the given axes), the elements of the first."""
    x, like = call.tensor(0), call.tensor(1)
    if x.shape is None or like.shape is None:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    shape = _like_shape(x.shape, like.shape, call.attrs)
    math = DimMath(call.prover)
    if math.equal(math.product(shape), math.product(x.shape)) is False:
        call.fail(f"cannot reshape {show_shape(x.shape)} like {show_shape(like.shape)}")
    return TensorInfo(shape, x.dtype, vdevice=x.vdevice)


def _like_shape(shape: tuple[Any, ...], like: tuple[Any, ...], a: Any) -> tuple[Any, ...]:
    def cut(begin: int, end: int | None, rank: int) -> tuple[int, int]:
        stop = rank if end is None else end + rank if end < 0 else end
        return (begin + rank if begin < 0 else begin), stop

    left, right = cut(a.lhs_begin, a.lhs_end, len(shape))
    first, last = cut(a.rhs_begin, a.rhs_end, len(like))
    return (*shape[:left], *like[first:last], *shape[right:])


@attrs
class ReshapeLikeAttrs(Attrs):
    """Which axes take part."""

    lhs_begin: int = attr(0, "first axis of the data that changes")
    lhs_end: Any = attr(None, "axis of the data to stop before")
    rhs_begin: int = attr(0, "first axis of the pattern that is copied")
    rhs_end: Any = attr(None, "axis of the pattern to stop before")


RESHAPE_LIKE = OpDef(
    "reshape_like",
    ReshapeLikeAttrs,
    inputs=(Input("data"), Input("shape_like")),
    infer=infer_like,
    compute=compute,
    reference=lambda inputs, a: np.reshape(inputs[0], _like_shape(inputs[0].shape, inputs[1].shape, a)),
    fusion=Fusion.INJECTIVE,
    gradient=lambda b, args, a, out, grad: [b.op("reshape", grad, b.shape_of(args[0])), None],
    in_relax=False,
    samples=lambda: (
        Sample((Arr((2, 3)), Arr((6,))), ReshapeLikeAttrs()),
        Sample((Arr(("n", 6)), Arr((2, 3))), ReshapeLikeAttrs(lhs_begin=1)),
    ),
    summary="Reshape to the shape of another tensor, or to some of its axes.",
)


def infer_flatten(call: OpCall[Any]) -> Info:
    """One axis (or two, the first kept, for batch_flatten)."""
    x = call.tensor(0)
    first = 1 if call.op.name == "nn.batch_flatten" else 0
    if x.shape is None:
        return x if x.ndim == first + 1 else TensorInfo(None, x.dtype, first + 1, x.vdevice)
    if len(x.shape) < first:
        call.fail("takes data with a batch axis, got a scalar")
    rest = DimMath(call.prover).product(x.shape[first:])
    return TensorInfo((*x.shape[:first], rest), x.dtype, vdevice=x.vdevice)


FLATTEN = OpDef(
    "flatten",
    inputs=(Input("x"),),
    infer=infer_flatten,
    reference=lambda inputs, a: np.reshape(inputs[0], -1),
    relay_name=NotApplicable("Relay writes reshape(x, -1)"),
    samples=lambda: (Sample((Arr(("n", 4)),)), Sample((Arr(()),)), Sample((Arr((2, 3, 2)),))),
    summary="All elements along one axis.",
    **_FACETS,
)

BATCH_FLATTEN = OpDef(
    "nn.batch_flatten",
    inputs=(Input("x", relay_name="data"),),
    infer=infer_flatten,
    reference=lambda inputs, a: np.reshape(inputs[0], (inputs[0].shape[0], int(np.prod(inputs[0].shape[1:])))),
    samples=lambda: (Sample((Arr(("n", 4, 2)),)), Sample((Arr((3,)),))),
    summary="All axes but the first merged into one.",
    **_FACETS,
)

RESHAPES = (RESHAPE, DYN_RESHAPE, RESHAPE_LIKE, FLATTEN, BATCH_FLATTEN)
