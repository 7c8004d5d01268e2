"""The target of a reshape without its special values: Relay's 0, -1, -2, -3 and -4, Relax's -1 (see `reshape`).

resolve(call, x)          dims, possibly symbolic; what does not fit is an error of the call
resolve_numbers(x, a)     of known shapes, for NumPy's meaning
target_rank(target)       how many dims it stands for, where those of the operand are not known
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NoReturn

from baton._src.ir.attrs import Attrs
from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.ops.dims import DimMath, is_any, show_shape
from baton._src.tir.expr import AnyDim


def resolve(call: OpCall[Attrs], x: TensorInfo, target: Sequence[Dim], relay: bool) -> tuple[Dim, ...] | None:
    """The target without special values; None if it has some and the shape of `x` is unknown."""
    math = DimMath(call.prover)
    zero = not getattr(call.attrs, "allowzero", False)
    special = [d for d in target if isinstance(d, int) and (d < 0 or (d == 0 and zero and relay))]
    if not relay and any(d != -1 for d in special):
        call.fail(f"a dim of the target {show_shape(tuple(target))} is negative")
    if special.count(-1) > 1 and -4 not in special:
        _refuse_second_gap(call, target)
    if x.shape is None:
        return None if special else tuple(target)
    result, gap, taken, copied = _walk(call, math, x.shape, target, zero and relay) if relay else _plain(target)
    known = math.product(d for i, d in enumerate(result) if i != gap)
    total = math.product(x.shape)
    if gap is not None:  # of what no other value stands for, so that dims that are 0 are no matter
        rest = math.product(d for i, d in enumerate(x.shape) if i not in taken)
        asked = math.product(d for i, d in enumerate(result) if i != gap and i not in copied)
        if isinstance(asked, int) and asked == 0:
            call.fail(
                f"cannot reshape {show_shape(x.shape)} into {show_shape(tuple(target))}: any dim would do for -1",
                help="beside a dim of 0 every dim has to be given",
            )
        if isinstance(rest, int) and isinstance(asked, int) and rest % asked:
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


def _refuse_second_gap(call: OpCall[Attrs], target: Sequence[Dim]) -> NoReturn:
    call.fail(f"at most one dim may be -1, the target is {show_shape(tuple(target))}", help="-1 is what remains")


def target_rank(target: Sequence[Dim]) -> int:
    """How many dims an unresolved target stands for: -4 is no dim itself, -2 may be any number of them (-1)."""
    special = [d for d in target if isinstance(d, int)]
    return -1 if -2 in special else len(target) - special.count(-4)


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
    math.divides(asked, rest)  # assumed: nothing is left over
    return math.floor_divide(rest, asked)


def _walk(call: OpCall[Attrs], math: DimMath, shape: tuple[Dim, ...], target: Sequence[Dim], zero: bool) -> Walked:
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
            if gap is not None:
                _refuse_second_gap(call, target)
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
    call: OpCall[Attrs], math: DimMath, dim: Dim, parts: Sequence[Dim], shape: tuple[Dim, ...], target: Sequence[Dim]
) -> list[Dim]:
    numbers = [p for p in parts if isinstance(p, int)]
    if len(parts) != 2 or min(numbers, default=0) < -1 or sorted(numbers) in ([-1, -1], [-1, 0]):
        message = f"-4 must be followed by two dims, one of which may be -1, the target is {show_shape(tuple(target))}"
        call.fail(message, help="-1 is what remains beside a dim that is not 0")
    left, right = parts
    if isinstance(left, int) and left == -1:
        left = math.floor_divide(dim, right)
    elif isinstance(right, int) and right == -1:
        right = math.floor_divide(dim, left)
    if math.equal(math.multiply(left, right), dim) is False:
        call.fail(f"cannot split {dim} of {show_shape(shape)} into {left} and {right}")
    return [left, right]


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
