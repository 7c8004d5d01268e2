"""Random statements whose operators take and put elements by number; the data, or constants, say which.

As in `richer_statements`, each takes the generator. Numbers that come from data are brought within the axis first.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from baton._src.relax.literals import const
from baton._src.relax.nodes import PrimValue, ShapeExpr, Tuple, TupleGetItem
from tests.relax.build import RELAX


def _emit(g: Any, name: str, *args: Any, **attrs: Any) -> Any:
    return g.builder.emit(RELAX.find(name)(*args, **attrs))


def _columns(g: Any, dtype: str = "int64") -> Any:
    """(n, 4) numbers of columns, from -4 to 3, by the data."""
    found = _emit(g, "floor", _emit(g, "multiply", g.pick(), const(8.0)))
    return _emit(g, "astype", _emit(g, "clip", found, PrimValue(-4), PrimValue(3)), dtype=dtype)


def _rows(g: Any) -> Any:
    """(n,) numbers of rows: in the order of a column's values."""
    column = _emit(g, "take", g.pick(), const(g.draw(st.integers(0, 3)), "int64"), axis=1)
    return _emit(g, "argsort", column, axis=0, descending=g.draw(st.booleans()), dtype="int64")


def rows_by_number(g: Any) -> None:
    """In another order, as one operator or another says it."""
    x, rows, kind = g.pick(), _rows(g), g.draw(st.integers(0, 3))
    if kind == 0:
        g.add(RELAX["take"](x, rows, axis=0, mode=g.draw(st.sampled_from(["fast", "wrap", "clip"]))))
    elif kind == 1:
        g.add(RELAX["gather_nd"](x, _emit(g, "expand_dims", rows, axis=1)))
    elif kind == 2:
        g.add(RELAX["index_tensor"](x, Tuple([rows])))
    else:
        wide = _emit(g, "broadcast_to", _emit(g, "expand_dims", rows, axis=1), ShapeExpr([g.n, 4]))
        g.add(RELAX["gather_elements"](x, wide, axis=0))


def elements_by_number(g: Any) -> None:
    """A column for each element; negative numbers count from the end."""
    x, columns = g.pick(), _columns(g)
    if g.draw(st.booleans()):
        g.add(RELAX["gather_elements"](x, columns, axis=1))
    else:
        rows = _emit(g, "expand_dims", _rows(g), axis=1)
        g.add(RELAX["index_tensor"](x, Tuple([rows, columns])))


def put_by_number(g: Any) -> None:
    """Written over, or added to; numbers that occur twice only where the order is no matter."""
    x, new, kind = g.pick(), g.pick(), g.draw(st.integers(0, 3))
    if kind == 0:
        g.add(RELAX["tanh"](_emit(g, "scatter_elements", x, _columns(g), new, axis=1, reduction="add")))
    elif kind == 1:
        reduction = g.draw(st.sampled_from(["update", "add", "max", "min"]))
        rows = _emit(g, "expand_dims", _rows(g), axis=1)
        g.add(RELAX["tanh"](_emit(g, "scatter_nd", x, rows, new, reduction=reduction)))
    elif kind == 2:
        g.add(RELAX["tanh"](_emit(g, "index_put", x, Tuple([_rows(g)]), new, accumulate=g.draw(st.booleans()))))
    else:
        part = _emit(g, "strided_slice", new, axes=[1], begin=[0], end=[2])
        begin, end = PrimValue(1), PrimValue(3)
        g.add(RELAX["slice_scatter"](x, part, begin, end, PrimValue(1), axis=1))


def classes(g: Any) -> None:
    """One-hot rows, sorted values, and where values would stand among others."""
    kind = g.draw(st.integers(0, 3))
    if kind == 0:
        largest = _emit(g, "argmax", g.pick(), axis=1)
        hot = _emit(g, "one_hot", largest, PrimValue(1.0), PrimValue(0.0), depth=4, axis=-1)
        g.add(RELAX["multiply"](_emit(g, "astype", hot, dtype="float32"), g.pick()))
    elif kind == 1:
        axis = g.draw(st.integers(0, 1))
        g.add(RELAX["sort"](g.pick(), axis=axis, descending=g.draw(st.booleans())))
    elif kind == 2:
        places = _emit(g, "bucketize", g.pick(), const([-0.5, 0.0, 0.25]), right=g.draw(st.booleans()))
        g.add(RELAX["tanh"](_emit(g, "astype", places, dtype="float32")))
    else:
        shown = _emit(g, "cumsum", _emit(g, "sort", g.pick(), axis=1), axis=1, exclusive=g.draw(st.booleans()))
        g.add(RELAX["tanh"](shown))


def _of_known_shape(g: Any, part: Any) -> None:
    """Into the pool: slices up to open bounds have (n, 4) elements, which their types say by minima and maxima."""
    g.pool.append(g.builder.match_cast(part, g.wide))


def moved(g: Any) -> None:
    """Repeated, turned round, cut to a triangle, woven."""
    x, kind = g.pick(), g.draw(st.integers(0, 4))
    if kind == 0:
        twice = _emit(g, "repeat", x, 2, axis=g.draw(st.sampled_from([0, 1])))
        _of_known_shape(g, _emit(g, "strided_slice", twice, axes=[0, 1], begin=[0, 0], end=[g.n, 4]))
    elif kind == 1:
        tiled = _emit(g, "tile", x, (2, 2))
        cut = _emit(g, "strided_slice", tiled, axes=[0, 1], begin=[0, 1], end=[g.n * 2, 8], strides=[2, 2])
        _of_known_shape(g, cut)
    elif kind == 2:
        g.add(RELAX["flip"](x, axis=g.draw(st.integers(0, 1))))
    elif kind == 3:
        g.add(RELAX[g.draw(st.sampled_from(["tril", "triu"]))](x, g.draw(st.integers(-1, 1))))
    else:
        both = _emit(g, "stack", Tuple([x, g.pick()]), axis=g.draw(st.integers(0, 2)))
        axis = g.draw(st.integers(0, 2))
        kept = _emit(g, "max", both, axis=[axis], keepdims=False)
        flat = _emit(g, "sum", kept, axis=None, keepdims=False)
        g.add(RELAX["add"](x, _emit(g, "tanh", flat)))


def some_rows(g: Any) -> None:
    """As many as the data says: those that are not zero, each once."""
    steps = _emit(g, "floor", _emit(g, "multiply", g.pick(), const(2.0)))
    if g.draw(st.booleans()):
        found = _emit(g, "nonzero", steps)
        count = _emit(g, "sum", _emit(g, "astype", found, dtype="float32"), axis=None, keepdims=False)
    else:
        found = _emit(g, "unique", steps, PrimValue(True), PrimValue(False), PrimValue(False), PrimValue(False))
        value = g.builder.emit(TupleGetItem(found, 0)) if _is_tuple(found) else found
        count = _emit(g, "sum", _emit(g, "astype", value, dtype="float32"), axis=None, keepdims=False)
    g.add(RELAX["add"](g.pick(), _emit(g, "tanh", count)))


def _is_tuple(found: Any) -> bool:
    return hasattr(found.struct_info, "fields")


INDICES = [rows_by_number, elements_by_number, put_by_number, classes, moved, some_rows]
