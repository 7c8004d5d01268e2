"""`IndexMap`: how a layout change moves the elements of a buffer: new indices in terms of old ones (`tvm.tir`).

    IndexMap.from_func(lambda n, c: (n, c // 4, c % 4))      (n, c) -> (n, c // 4, c % 4)

Names follow TVM v0.19.
"""

from __future__ import annotations

import inspect
import keyword
import math
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node, binder, init_field, node, note
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order, substitute
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.arith.iterators.iter_map import invert
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import Add, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Var
from baton._src.tir.operators import cast, ceildiv, convert, is_const, multiply
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray, array

_CODE = "index-map"
_ASSUMED_SIZE = 16
"""Assumed extent of an axis of symbolic size."""


@node
class IndexMap(Node):
    """`initial_indices` are the old indices, `final_indices` the new ones in terms of them.

    `inverse_index_map` may give the inverse of maps that cannot be inverted automatically (`i ^ j`).
    """

    initial_indices: tuple[Var, ...] = binder()
    final_indices: tuple[PrimExpr, ...]
    inverse_index_map: IndexMap | None = note(kw_only=True, default=None)

    def __init__(self, initial_indices: Any, final_indices: Any, inverse_index_map: IndexMap | None = None) -> None:
        init_field(self, "initial_indices", tuple(initial_indices))
        init_field(self, "final_indices", tuple(convert(i) for i in final_indices))
        init_field(self, "inverse_index_map", inverse_index_map)

    AXIS_SEPARATOR = "axis_separator"
    """Marks, in the result of a mapping function, a separation between axes (`from_func_with_separators`)."""

    @staticmethod
    def from_func(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Any = None,
        *,
        index_dtype: str = "int64",
    ) -> IndexMap:
        """The map that a Python function of the indices says; `ndim` is needed where it takes `*indices`."""
        found, separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if separators:
            raise fail(_CODE, "the mapping returns axis separators", help="use from_func_with_separators")
        return found

    @staticmethod
    def from_func_with_separators(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Any = None,
        *,
        index_dtype: str = "int64",
    ) -> tuple[IndexMap, list[int]]:
        """The map, and the new axes that are preceded by a separator.

        `inverse_index_map`: the inverse (a function of the new indices, or a map), if it cannot be computed.
        """
        variables = [Var(name, index_dtype) for name in _names(mapping_function, ndim)]
        given = mapping_function(*variables)
        final: list[PrimExpr] = []
        separators: list[int] = []
        for item in given if isinstance(given, (list, tuple)) else [given]:
            if isinstance(item, str) and item == IndexMap.AXIS_SEPARATOR:
                separators.append(len(final))
            else:
                final.append(convert(item))
        back = inverse_index_map
        if callable(back):
            back = IndexMap.from_func(back, ndim=len(final), index_dtype=index_dtype)
        return IndexMap(variables, final, back), separators

    def map_indices(self, indices: Sequence[Any]) -> list[PrimExpr]:
        """The new indices of the element at `indices`."""
        given = self._matched(indices)
        replaced = {v: _as_dtype(e, v.dtype) for v, e in zip(self.initial_indices, given)}
        simplify = Analyzer().simplify
        return [simplify(substitute(e, replaced)) for e in self.final_indices]

    def map_shape(self, shape: Sequence[Any]) -> list[PrimExpr]:
        """The shape that holds all elements of a buffer of `shape`: one more than the greatest new index, by axis.

        Blocks are whole: `i % 4` is an axis of 4, also where there are fewer elements.
        """
        domains = self._domains(shape)
        analyzer = Analyzer()
        for var, domain in domains.items():
            analyzer.bind(var, domain)
        is_empty = any(is_const(domain.extent, 0) for domain in domains.values())  # of nothing there is no bound
        found: list[PrimExpr] = []
        for index in self.final_indices:
            greatest = analyzer.const_int_bound(index).max_value
            if is_empty or greatest >= 2**62:
                found.append(analyzer.simplify(self._greatest(index, domains) + 1))
            else:
                found.append(IntImm(index.dtype, int(greatest) + 1))
        return found

    def _greatest(self, index: PrimExpr, domains: dict[Var, Range]) -> PrimExpr:
        """The greatest value of a new index over axes of open size."""
        if _rises(index, domains) or any(is_const(domain.extent, 0) for domain in domains.values()):
            highest: PrimExpr = substitute(index, {var: domain.extent - 1 for var, domain in domains.items()})
            return highest
        highest = eval_set(index, domains).max_value
        if highest.dtype == index.dtype:
            return highest
        raise fail(_CODE, f"{self._title()}: the greatest {index} is not known, so its axis has no size")

    def map_ndarray(self, arr_src: Any) -> NDArray:
        """Rearrange an array; elements of the new layout without a source are zero."""
        source = np.asarray(getattr(arr_src, "data", arr_src))
        result = np.zeros([int(evaluate(d, {})) for d in self.map_shape(source.shape)], source.dtype)
        for place in np.ndindex(source.shape):
            at = dict(zip(self.initial_indices, place))
            result[tuple(int(evaluate(e, at)) for e in self.final_indices)] = source[place]
        return array(result)

    def inverse(self, shape: Sequence[Any]) -> IndexMap:
        """The map from the new indices to the old ones. Error `index-map`: the map is not bijective onto its range."""
        variables, old = self._inverted(shape)
        there = self.map_shape(shape)
        if not Analyzer().can_prove_equal(_count(shape), _count(there)):
            raise fail(_CODE, f"{self._title()} leaves places of {there} empty", help="use non_surjective_inverse")
        return IndexMap(tuple(variables), tuple(old))

    def non_surjective_inverse(self, shape: Sequence[Any]) -> tuple[IndexMap, PrimExpr]:
        """The map back to the old indices, and the condition on the new ones that holds for padding."""
        variables, old = self._inverted(shape)
        empty: Any = IntImm("bool", 0)
        analyzer, there = Analyzer(), self.map_shape(shape)
        if analyzer.can_prove_equal(_count(shape), _count(there)):
            return IndexMap(variables, old), empty
        for var, dim in zip(variables, there):
            analyzer.bind(var, Range(IntImm(var.dtype, 0), _as_dtype(dim, var.dtype)))
        for index, dim in zip(old, shape):
            size = _as_dtype(convert(dim), index.dtype)
            if not analyzer.prove(index < size):
                outside = index >= size
                empty = outside if isinstance(empty, IntImm) else empty | outside
        return IndexMap(tuple(variables), tuple(old)), empty

    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """Whether both map every element to the same position."""
        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        if len(self.final_indices) != len(other_map.final_indices):
            return False
        theirs = other_map.map_indices(list(self.initial_indices))
        prove = Analyzer().equal
        return all(structural_equal(a, b) or prove(a, b) is True for a, b in zip(self.final_indices, theirs))

    def _inverted(self, shape: Sequence[Any]) -> tuple[list[Var], list[PrimExpr]]:
        variables = [Var(f"axis{n}", e.dtype) for n, e in enumerate(self.final_indices)]
        found = invert(self.final_indices, variables, self._domains(shape))
        if found is not None:
            return variables, [found[v] for v in self.initial_indices]
        if self.inverse_index_map is None:
            help_text = "if it has one that is not found, give inverse_index_map"
            raise fail(_CODE, f"{self._title()} is not one to one, so it has no inverse", help=help_text)
        self._expect_told_inverse(shape)
        return variables, self.inverse_index_map.map_indices(variables)

    def _expect_told_inverse(self, shape: Sequence[Any]) -> None:
        """Check the given inverse against the map, at up to a thousand evenly spaced points."""
        assert self.inverse_index_map is not None
        there_and_back = self.inverse_index_map.map_indices(self.final_indices)
        sizes = [dim.value if isinstance(dim, IntImm) else _ASSUMED_SIZE for dim in self._matched(shape)]
        count = math.prod(sizes)
        for number in range(0, count, max(1, count // 1000)):
            place = [int(axis) for axis in np.unravel_index(number, sizes)]
            at = dict(zip(self.initial_indices, place))
            came_to = [int(evaluate(index, at)) for index in there_and_back]
            if came_to != place:
                told = self.inverse_index_map._title()
                raise fail(_CODE, f"{told} is not the inverse of {self._title()}: it sends {place} to {came_to}")

    def _domains(self, shape: Sequence[Any]) -> dict[Var, Range]:
        """Where old indices run, rounded up to multiples of the numbers they are divided by; the rest is padding."""
        multiples: dict[PrimExpr, int] = dict.fromkeys(self.initial_indices, 1)
        for divided, number in _divisors(self):
            if divided in multiples:
                multiples[divided] = math.lcm(multiples[divided], number)
        found: dict[Var, Range] = {}
        for var, dim in zip(self.initial_indices, self._matched(shape)):
            extent, number = _as_dtype(dim, var.dtype), multiples[var]
            whole = Analyzer().simplify(multiply(ceildiv(extent, number), number)) if number > 1 else extent
            found[var] = Range(IntImm(var.dtype, 0), whole)
        return found

    def _title(self) -> str:
        return index_map_text(self, repr)

    def _matched(self, items: Sequence[Any]) -> list[Any]:
        if len(items) != len(self.initial_indices):
            raise fail(_CODE, f"{self._title()} takes {len(self.initial_indices)} indices, got {len(items)}")
        return [convert(i) for i in items]


def _count(shape: Sequence[Any]) -> PrimExpr:
    """How many elements there are."""
    total: PrimExpr = IntImm("int64", 1)
    for dim in shape:
        total = multiply(total, _as_dtype(convert(dim), total.dtype))
    return total


def _rises(index: PrimExpr, domains: Container[PrimExpr]) -> bool:
    """Whether an index is monotonically non-decreasing in the old ones."""
    return all(_keeps_order(part) or not any(one in domains for one in post_order(part)) for part in post_order(index))


def _keeps_order(node: Any) -> bool:
    """Whether a node rises or stays where its operands rise."""
    match node:
        case Var() | IntImm() | Add() | Min() | Max():
            return True
        case Mul(b=IntImm(value=factor)) | Mul(a=IntImm(value=factor)):
            return factor >= 0
        case FloorDiv(b=IntImm(value=divisor)):
            return divisor > 0
        case _:
            return False


def _divisors(index_map: IndexMap) -> list[tuple[PrimExpr, int]]:
    """What is divided by a number in the map, and the number."""
    nodes = [n for e in index_map.final_indices for n in post_order(e)]
    return [(n.a, n.b.value) for n in nodes if isinstance(n, (FloorDiv, FloorMod)) and isinstance(n.b, IntImm)]


def _names(function: Any, ndim: int | None) -> list[str]:
    """Names for the indices that a mapping function takes."""
    if not callable(function):
        raise fail(
            _CODE, f"an index map must be a function of the indices, got {function!r}", help="lambda i, j: (j, i)"
        )
    found: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            if ndim is None:
                raise fail(_CODE, f"the number of indices of *{name} is not known", help="give ndim")
            found += [f"{name}{n}" for n in range(ndim - len(found))]
        elif parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            found.append(name)
    return found


def _as_dtype(value: Any, dtype: DataType) -> Any:
    """An index in the dtype of the map's own."""
    return cast(dtype, convert(value))


def index_map_text(index_map: IndexMap, scalar: Callable[[PrimExpr], str]) -> str:
    """`T.index_map(lambda i, j: (...))`; `scalar` prints an index given in variables named after the map's own."""
    names: list[str] = []
    for var in index_map.initial_indices:
        name = var.name if var.name.isidentifier() and not keyword.iskeyword(var.name) else "i"
        while name in names:
            name += "_"
        names.append(name)
    named = {v: Var(n, v.dtype) for v, n in zip(index_map.initial_indices, names)}
    parts = [scalar(substitute(e, named)) for e in index_map.final_indices]
    inner = f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    return f"T.index_map(lambda {', '.join(names)}: {inner})"


def index_map(mapping: Any, *, inverse_index_map: Any = None, index_dtype: str = "int64") -> IndexMap:
    """`T.index_map`: a map as it is, or the one a function says."""
    if isinstance(mapping, IndexMap):
        return mapping
    return IndexMap.from_func(mapping, inverse_index_map=inverse_index_map, index_dtype=index_dtype)
