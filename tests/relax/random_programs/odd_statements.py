"""Still more kinds of random statements: narrow dtypes, no rows at all, absent values, casts of functions, views.

As in `richer_statements`, each takes the generator: `pick()` gives an (n, 4) tensor in scope, `add(expr)` binds one.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from baton._src.relax.call_builders import call_inplace_packed, call_pure_packed, call_tir
from baton._src.relax.literals import const
from baton._src.relax.nodes import Call, Function, If, PrimValue, ShapeExpr, Tuple, TupleGetItem, Var
from baton._src.relax.special_builders import null_value, shape_of, view
from baton._src.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.tir.expr import Var as TirVar
from tests.relax.build import RELAX


def _emit(g: Any, name: str, *args: Any, **attrs: Any) -> Any:
    return g.builder.emit(RELAX.find(name)(*args, **attrs))


def _bounded(g: Any, low: int = -3, high: int = 3) -> Any:
    """A tensor within bounds, so that each integer type holds it."""
    return _emit(g, "clip", _emit(g, "multiply", g.pick(), const(3.0)), PrimValue(low), PrimValue(high))


def narrow_floats(g: Any) -> None:
    """Each step rounds to the dtype, fused or not."""
    dtype = g.draw(st.sampled_from(["float16", "bfloat16", "float64"]))
    a, b = (_emit(g, "astype", g.pick(), dtype=dtype) for _ in range(2))
    for name in g.draw(st.lists(st.sampled_from(["add", "subtract", "maximum", "multiply"]), min_size=1, max_size=3)):
        a = _emit(g, name, a, b)
    a = _emit(g, g.draw(st.sampled_from(["negative", "abs", "nn.relu"])), a)
    g.add(RELAX["astype"](a, dtype="float32"))


def integers(g: Any) -> None:
    """Arithmetic that stays in range, and division of what may be negative."""
    dtype = g.draw(st.sampled_from(["int8", "int16", "int32", "int64", "uint8"]))
    low = 0 if dtype == "uint8" else -3
    a, b = (_emit(g, "astype", _bounded(g, low), dtype=dtype) for _ in range(2))
    name = g.draw(st.sampled_from(["add", "multiply", "maximum", "minimum", "floor_divide", "floor_mod"]))
    if name.startswith("floor"):
        b = _emit(g, "maximum", b, const(1, dtype))
    found = _emit(g, name, a, b)
    if g.draw(st.booleans()):
        found = _emit(g, "sum", found, axis=[1], keepdims=True)
    g.add(RELAX["add"](_emit(g, "astype", found, dtype="float32"), g.pick()))


def conditions(g: Any) -> None:
    """Tensors of bool, combined and counted."""
    a, b = (_emit(g, "greater", g.pick(), g.pick()) for _ in range(2))
    both = _emit(g, g.draw(st.sampled_from(["logical_and", "logical_or", "logical_xor", "equal"])), a, b)
    both = _emit(g, "logical_not", both) if g.draw(st.booleans()) else both
    if g.draw(st.booleans()):
        g.add(RELAX["where"](both, g.pick(), g.pick()))
    else:
        g.add(RELAX["multiply"](_emit(g, "astype", both, dtype="float32"), g.pick()))


def no_rows(g: Any) -> None:
    """A tensor without elements: added up, put before another, and through a kernel."""
    none = [_emit(g, "strided_slice", g.pick(), axes=[0], begin=[0], end=[0])]
    none.append(_emit(g, "tanh", none[0]))
    kind = g.draw(st.integers(0, 2))
    if kind == 0:
        g.add(RELAX["add"](g.pick(), _emit(g, "sum", none[1], axis=[0], keepdims=True)))
    elif kind == 1:
        g.pool.append(g.builder.match_cast(_emit(g, "concat", Tuple([none[1], g.pick()]), axis=0), g.wide))
    else:
        product = _emit(g, "matmul", _emit(g, "permute_dims", none[0], axes=None), none[1])
        g.add(_emit(g, "add", g.pick(), _emit(g, "max", product, axis=[0], keepdims=True)))


def places(g: Any) -> None:
    """Positions of the largest, sums so far, and rows and columns taken by number."""
    x, kind = g.pick(), g.draw(st.integers(0, 3))
    if kind == 0:
        largest = _emit(g, "argmax", x, axis=1, keepdims=True)
        g.add(RELAX["add"](_emit(g, "astype", largest, dtype="float32"), x))
    elif kind == 1:
        g.add(RELAX["tanh"](_emit(g, "cumsum", x, axis=g.draw(st.integers(0, 1)))))
    elif kind == 2:
        g.add(RELAX["take"](x, const([3, 0, 0, 2], "int64"), axis=1))
    else:
        parts = _emit(g, "split", x, indices_or_sections=2, axis=1)
        g.add(RELAX["concat"](Tuple([TupleGetItem(parts, 1), TupleGetItem(parts, 0)]), axis=1))


def absent_values(g: Any) -> None:
    """Nothing, beside something: kept in tuples and chosen by the flag."""
    a, b = g.pick(), g.pick()
    pair = g.builder.emit(Tuple([null_value(), Tuple([a, null_value()]), Tuple([])]))
    if g.draw(st.booleans()):
        other = g.builder.emit(Tuple([null_value(), Tuple([b, null_value()]), Tuple([])]))
        pair = g.builder.emit(If(g.params[3], pair, other))
    g.add(TupleGetItem(TupleGetItem(pair, 1), 0))


def cast_of_function(g: Any) -> None:
    """A function that passed as an object is found to be one again."""
    param = Var("p", g.wide)
    body = RELAX["subtract"](param, g.operator([*g.pool, param]))
    made = g.builder.emit(Function([param], body, g.wide, True), "local")
    info = FuncStructInfo([g.wide], g.wide, True)
    hidden = g.builder.match_cast(g.builder.emit(Tuple([made, g.pick()])), TupleStructInfo([ObjectStructInfo()] * 2))
    found = g.builder.match_cast(TupleGetItem(hidden, 0), info)
    kept = g.builder.match_cast(TupleGetItem(hidden, 1), g.wide)
    g.add(Call(found, [kept]))


def numbers(g: Any) -> None:
    """The shape found again under another variable, and numbers computed from both."""
    m = TirVar("m", "int64")
    shape = g.builder.match_cast(g.builder.emit(shape_of(g.pick())), ShapeStructInfo((m, 4)))
    ones = _emit(g, "full", ShapeExpr([m, 4]), const(0.25))
    kept = g.builder.emit(Tuple([shape, _emit(g, "reshape", ones, ShapeExpr([g.n * 4]))]))
    scaled = call_pure_packed(
        "test.divide", TupleGetItem(kept, 1), PrimValue(m * 4 + g.n), sinfo_args=ObjectStructInfo()
    )
    flat = g.builder.match_cast(g.builder.emit(scaled), TensorStructInfo((m * 4,), "float32"))
    g.add(RELAX["add"](g.pick(), _emit(g, "reshape", flat, ShapeExpr([g.n, 4]))))


def half_of_a_view(g: Any) -> None:
    """The same memory in another shape, and the second half of each row."""
    x = g.pick()
    seen = g.builder.emit(view(x, shape=ShapeExpr([g.n * 2, 2])))
    back = _emit(g, "reshape", _emit(g, "negative", seen), ShapeExpr([g.n, 4]))
    right = _emit(g, "strided_slice", back, axes=[1], begin=[2], end=[4])
    g.add(RELAX["concat"](Tuple([right, _emit(g, "strided_slice", x, axes=[1], begin=[0], end=[2])]), axis=1))


def chosen_tuple(g: Any) -> None:
    """An if whose value is a tuple of a function, a tensor and a shape."""

    def branch() -> Any:
        param = Var("p", g.wide)
        made = g.builder.emit(Function([param], RELAX["add"](param, g.pick()), g.wide, True), "local")
        return g.builder.emit(Tuple([made, g.pick(), shape_of(g.pick())]))

    either = g.builder.emit(If(g.params[3], branch(), branch()))
    g.add(Call(TupleGetItem(either, 0), [TupleGetItem(either, 1)]))


def rows_of_another_count(g: Any) -> None:
    """As many rows as the data says: known when it runs, from a packed function."""
    info = TensorStructInfo(dtype="float32", ndim=2)
    some = g.builder.emit(call_pure_packed("test.some", g.pick(), sinfo_args=info))
    k = TirVar("k", "int64")
    known = g.builder.match_cast(some, TensorStructInfo((k, 4), "float32"))
    doubled = _emit(g, "add", known, _emit(g, "tanh", known))
    g.add(RELAX["add"](g.pick(), _emit(g, "sum", doubled, axis=[0], keepdims=True)))


def integers_for_a_kernel(g: Any) -> None:
    """A kernel that is given sizes behind its output: of the shape, and computed."""
    sizes = ShapeExpr([g.n + g.draw(st.integers(0, 3)), g.n * 2])
    g.add(call_tir(g.kernel("raise_by"), [g.pick()], g.wide, tir_vars=sizes))


def first_ones(g: Any) -> None:
    """The greatest elements of each row and where they stood; the data decides which."""
    both = _emit(g, "topk", g.pick(), k=2, axis=1)
    where = _emit(g, "astype", TupleGetItem(both, 1), dtype="float32")
    g.add(RELAX["concat"](Tuple([TupleGetItem(both, 0), _emit(g, "multiply", where, const(0.25))]), axis=1))


def norms(g: Any) -> None:
    """Normalised rows, and products of what the whole row says."""
    x = g.pick()
    kind = g.draw(st.integers(0, 2))
    if kind == 0:
        g.add(RELAX.find("nn.softmax")(x, axis=g.draw(st.integers(0, 1))))
    elif kind == 1:
        scale = _emit(g, "add", g.params[2], const(2.0))
        g.add(RELAX.find("nn.layer_norm")(x, scale, g.params[2], axes=[-1]))
    else:
        g.add(RELAX.find("nn.rms_norm")(x, g.params[2], axes=[-1]))


def shape_of_unknown_rank(g: Any) -> None:
    """A tensor of which nothing is known but that it is one, brought back by the shape of another."""
    hidden = g.builder.match_cast(g.pick(), TensorStructInfo(None, None))
    shape = g.builder.emit(shape_of(g.pick()))
    same = g.builder.match_cast(_emit(g, "reshape", hidden, shape), g.wide)
    found = _emit(g, "add", hidden, _emit(g, "negative", same))
    g.pool.append(g.builder.match_cast(found, g.wide))


ODD = [
    integers_for_a_kernel,
    first_ones,
    norms,
    shape_of_unknown_rank,
    narrow_floats,
    integers,
    conditions,
    no_rows,
    places,
    absent_values,
    cast_of_function,
    numbers,
    half_of_a_view,
    chosen_tuple,
    rows_of_another_count,
]


def packed_in_place(g: Any) -> None:
    """A packed function that changes a fresh tensor and gives it back."""
    fresh = g.builder.emit(RELAX["add"](g.pick(), const(0.5)))
    g.add(call_inplace_packed("test.inc_same", fresh, inplace_indices=[0], sinfo_args=g.wide))


ODD_EFFECTS = [packed_in_place]
