"""Statements of `any_tensors` whose operands need not fit: other sizes in two axes, shapes that a program computes,
indices by tensors, and operators of several operands over every dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from baton._src.relax.literals import const
from baton._src.relax.nodes import PrimValue, ShapeExpr, Tuple, TupleGetItem
from baton._src.relax.special_builders import shape_of
from tests.relax.build import RELAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.relax.random_programs.any_tensors import Line


def _bits(g: Line) -> Any:
    x = g.pick("int bool")
    if "int" in str(x.struct_info.dtype) and g.draw.random() < 0.4:
        return RELAX[g.draw.choice(["left_shift", "right_shift"])](
            x, const(g.draw.randint(0, 7), str(x.struct_info.dtype))
        )
    return RELAX[g.draw.choice(["bitwise_and", "bitwise_or", "bitwise_xor"])](x, g.pick(like=x))


def _quotient(g: Line) -> Any:
    """Divided by what cannot be zero."""
    x = g.pick("float int")
    y = g.pick(like=x)
    one = const(1, str(x.struct_info.dtype))
    below = g.builder.emit(RELAX["add"](g.builder.emit(RELAX["abs"](y)) if _is_signed(y) else y, one))
    if not _is_signed(y):
        below = g.builder.emit(RELAX["maximum"](below, one))
    return RELAX[g.draw.choice(["divide", "floor_divide", "mod", "floor_mod"])](x, below)


def _fused(g: Line) -> Any:
    x = g.pick("float")
    return RELAX["ewise_fma"](x, g.pick(like=x), g.pick(like=x))


def _like(g: Line) -> Any:
    """Made from another's shape."""
    x = g.pick()
    match g.draw.randrange(5):
        case 0:
            return RELAX[g.draw.choice(["ones_like", "zeros_like"])](
                g.measure(x), dtype=g.draw.choice([None, "float16", "int8"])
            )
        case 1:
            return RELAX["full_like"](g.measure(x), const(g.draw.choice([0, 1, 3]), "int32"), dtype="float32")
        case 2:
            shape = g.builder.emit(shape_of(g.measure(x)))
            return RELAX["full"](shape, const(2, "int16"), dtype="int64")
        case 3:
            return RELAX["collapse_sum_like"](g.pick("float", x), g.measure(g.pick("float", x)))
        case _:
            return RELAX["reshape"](g.pick(), g.builder.emit(shape_of(g.measure(x))))


def _is_signed(x: Any) -> bool:
    return not str(x.struct_info.dtype).startswith("u")


def _flat(g: Line) -> Any:
    x = g.pick()
    match g.draw.randrange(4):
        case 0:
            return RELAX["flatten"](x)
        case 1:
            return RELAX["squeeze"](x, axis=[g.axis(x)])
        case 2:
            return RELAX["stack"](Tuple([x, g.pick(like=x)]), axis=g.axis(x))
        case _:
            return RELAX["reshape"](x, ShapeExpr(g.dims(x)[::-1]))


def _corner(g: Line) -> Any:
    x = g.pick()
    return RELAX[g.draw.choice(["tril", "triu"])](x, PrimValue(g.draw.randint(-2, 2)))


def _spread(g: Line) -> Any:
    x = g.pick("float")
    return RELAX[g.draw.choice(["variance", "std"])](x, axis=[g.axis(x)], keepdims=g.draw.random() < 0.5)


def _ranked(g: Line) -> Any:
    x = g.pick("float int")
    if g.draw.random() < 0.5:
        return RELAX["argsort"](
            x, axis=g.axis(x), descending=g.draw.random() < 0.5, dtype=g.draw.choice(["int32", "int64"])
        )
    if g.draw.random() < 0.5:
        return RELAX["cumprod"](x, axis=g.axis(x), exclusive=g.draw.random() < 0.5)
    best = g.builder.emit(RELAX["topk"](x, k=g.draw.randint(1, 3), axis=g.axis(x), ret_type="both"))
    return TupleGetItem(best, g.draw.randrange(2))


def _indices(g: Line, x: Any, most: int) -> Any:
    """An integer tensor of another's shape, 0 and `-most` up to `most` - 1 its numbers."""
    whole = g.builder.emit(RELAX["astype"](x, dtype="int64")) if "int" in str(x.struct_info.dtype) else None
    if whole is None:
        whole = g.builder.emit(RELAX["astype"](g.builder.emit(RELAX["isnan"](x)), dtype="int64"))
    return g.builder.emit(RELAX["clip"](whole, PrimValue(-most), PrimValue(most - 1)))


def _by_index(g: Line) -> Any:
    x = g.pick()
    match g.draw.randrange(4):
        case 0:
            return RELAX["gather_elements"](x, _indices(g, g.pick("int float"), 1), axis=g.axis(x))
        case 1:
            updates = g.pick(like=x)
            name = g.draw.choice(["update", "add", "max"])
            return RELAX["scatter_elements"](
                x, _indices(g, g.pick("int float"), 1), updates, axis=g.axis(x), reduction=name
            )
        case 2:
            return RELAX["one_hot"](_indices(g, g.pick("int"), 1), PrimValue(1), PrimValue(0), depth=3, axis=-1)
        case _:
            return RELAX["take"](x, _indices(g, g.pick("int float"), 1), axis=g.axis(x))


def _normed(g: Line) -> Any:
    x = g.pick("float")
    last = g.dims(x)[-1:]
    dtype = str(x.struct_info.dtype)
    if not last:
        return RELAX["negative"](x)
    weight = g.builder.emit(RELAX["full"](ShapeExpr(last), const(0.5, dtype), dtype=dtype))
    if g.draw.random() < 0.5:
        return RELAX.find("nn.rms_norm")(x, weight, axes=[-1])
    return RELAX.find("nn.layer_norm")(x, weight, weight, axes=[-1])


def _padded(g: Line) -> Any:
    x = g.pick("float int")
    rank = x.struct_info.ndim
    width = [g.draw.randint(0, 2) for _ in range(2 * rank)]
    return RELAX.find("nn.pad")(x, pad_width=width, pad_mode=g.draw.choice(["constant", "constant", "reflect"]))


def _summed(g: Line) -> Any:
    """Products along axes that may differ, both of them."""
    x = g.pick("float")
    y = g.pick(like=x)
    words = {(2, 2): ["ij,jk->ik", "ij,ij->i", "ij,kj->ki"], (2, 1): ["ij,j->i"], (3, 2): ["ijk,jk->i", "ijk,kl->ijl"]}
    found = words.get((x.struct_info.ndim, y.struct_info.ndim))
    if found is None:
        return RELAX["outer"](x, y)
    return RELAX["einsum"](Tuple([x, y]), subscripts=g.draw.choice(found))


WIDE: tuple[Callable[[Line], Any], ...] = (
    _bits, _quotient, _fused, _like, _like, _flat, _flat, _corner, _spread, _ranked, _by_index, _by_index, _normed,
    _padded, _summed,
)  # fmt: skip
