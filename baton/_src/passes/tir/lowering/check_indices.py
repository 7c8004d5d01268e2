"""Check indices that depend on a kernel's input data where they are used, in every build.

    C[i, j] = A[B[i], j]   ->   C[i, j] = A[tir.index_within(B[i], 5, "... axis 0 of operand 0 ...", B[i]), j]

`index_within(index, extent, text, shown)` is `index` if it lies in [0, extent); otherwise the kernel ends with a fault:
`text` of `shown` and the extent. `shown` is the index as it was given, before negative values were normalised.

Indices computed from loops alone are right or wrong whatever the data; `check_sizes` handles them where sizes are
symbolic. Input data are: elements of operands that the kernel does not write, scalars that occur in no shape, values
computed from these, and loops whose extents depend on them. An index that is provably in range (clipped, modulo the
extent) needs no check. If it is in range provided the axis has elements (clipped to an axis of unknown size, say), that
is tested instead, once for all elements:

    A[max(0, min(B[i], n - 1)), j]   ->   A[max(0, min(B[i], n - 1)) + tir.index_within(0, n, ...), j]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import children, post_order, rebuild
from baton._src.passes.tir.lowering.loop_ranges import with_ranges
from baton._src.support.remembered import remembered
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.guarded_accesses import accesses_among
from baton._src.tir.analysis.outside_indices import ends_of
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.effects import is_pure
from baton._src.tir.intrinsics import INTRINSICS
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import INT64

INDEX_WITHIN = INTRINSICS["tir.index_within"]

Axis = tuple[tir.Var, int]
"""An axis of the memory behind a pointer."""


@remembered
def has_suspects(func: PrimFunc) -> bool:
    """Whether indices of a kernel need checks: determined before it is scheduled, while it has few of them. Indices
    that a schedule adds come from its loops alone.
    """
    return bool(suspects(post_order(func.body), numbers(func)))


def numbers(func: PrimFunc) -> set[tir.Var]:
    """The integers among a kernel's parameters that do not occur in its tensors' shapes: callers check those that do
    against the tensors.
    """
    buffers = [b for p in func.params if (b := func.buffer_map.get(p)) is not None]
    said = {n for b in buffers for dim in b.shape for n in post_order(dim) if isinstance(n, tir.Var)}
    free = {p for p in func.params if p not in func.buffer_map and p not in said}
    return {p for p in free if p.dtype.is_int or p.dtype.is_bool} if buffers else set()


def check_indices(
    body: st.Stmt,
    params: Iterable[tir.Var],
    free: Iterable[tir.Var] = (),
    axes: Collection[Axis] = (),
    sizes: Iterable[tir.Var] = (),
) -> st.Stmt:
    """`body` (without blocks, its buffers not yet flat) with such indices checked, and all indices of `axes`. `params`
    are the data pointers, `free` the `numbers`, `sizes` the variables that are extents of tensors.
    """
    nodes = post_order(body)
    asked = suspects(nodes, free)
    if axes:
        asked |= {i for n in accesses_among(nodes) for a, i in enumerate(n.indices) if (n.buffer.data, a) in axes}
    if not asked:
        return body
    checks, accesses = _Checks(body, nodes, asked, params, sizes), accesses_among(nodes)
    changed: dict[Any, Any] = {}
    for node in nodes:
        found = rebuild(node, changed) if changed else node
        if node in accesses:
            found = checks.checked(node, found)
        if found is not node:
            changed[node] = found
    whole: st.Stmt = changed.get(body, body)
    return whole


def suspects(nodes: Sequence[Any], free: Iterable[tir.Var]) -> set[Any]:
    """The indices that depend on input data, or are clipped to an axis that may be empty."""
    given = _given(nodes, free)
    accesses = accesses_among(nodes)
    moving = {var for node in nodes for var in _variables_of(node)}
    return {
        index
        for access in accesses
        for index, extent in zip(access.indices, access.buffer.shape)
        if index in given or (_may_be_empty(extent) and _is_made_to_fit(index, moving))
    }


def _may_be_empty(extent: PrimExpr) -> bool:
    return not isinstance(extent, tir.IntImm) or extent.value < 1


def _is_made_to_fit(index: PrimExpr, moving: Collection[tir.Var]) -> bool:
    """Whether an index is clipped, or a remainder. A place among loops that only begins at a clipped one (parts of a
    split tensor) is not: `check_sizes` tests its first and last value.
    """
    if isinstance(index, tir.IntImm):
        return True
    fitted = [n for n in post_order(index) if isinstance(n, (tir.Min, tir.Max, tir.FloorMod))]
    return bool(fitted) and (_moves(fitted, moving) or not _moves(index, moving))


def _moves(parts: Any, moving: Collection[tir.Var]) -> bool:
    return any(n in moving for n in post_order(parts) if isinstance(n, tir.Var))


def _variables_of(node: Node) -> Sequence[tir.Var]:
    """The variables that a node defines."""
    match node:
        case st.For(loop_var=var) | st.LetStmt(var=var) | tir.Let(var=var):
            return (var,)
        case st.Block(iter_vars=axes):
            return [axis.var for axis in axes]
        case _:
            return ()


def _given(nodes: Sequence[Any], free: Iterable[tir.Var]) -> set[Any]:
    """The expressions (and variables bound to them) that depend on input elements, or on `free`."""
    tainted: set[Any] = set(free)
    """Expressions, variables, and data pointers of buffers."""
    if not tainted and not any(_gives_integers(n) for n in post_order(_become_indices(nodes))):
        return set()  # most kernels
    written = {n.buffer.data for n in nodes if isinstance(n, st.BufferStore)}
    count = -1
    while count != len(tainted):
        count = len(tainted)
        for node in nodes:
            match node:
                case tir.BufferLoad(buffer=buffer):
                    if buffer.data not in written or buffer.data in tainted:
                        tainted.add(node)
                case st.LetStmt(var=var, value=value) | tir.Let(var=var, value=value) if value in tainted:
                    tainted.add(var)
                case st.BufferStore(buffer=buffer, value=value) if value in tainted:
                    tainted.add(buffer.data)
                case st.For(loop_var=var, min=low, extent=extent) if low in tainted or extent in tainted:
                    tainted.add(var)
                case st.BlockRealize(iter_values=values, block=block):
                    tainted.update(i.var for i, value in zip(block.iter_vars, values) if value in tainted)
                case PrimExpr() if any(c in tainted for c in children(node)):
                    tainted.add(node)
                case _:
                    pass
    return tainted


def _become_indices(nodes: Sequence[Any]) -> list[PrimExpr]:
    """Indices, and the values of their variables: elements reach an index only through one of these."""
    found: list[PrimExpr] = []
    for node in nodes:
        match node:
            case tir.BufferLoad(indices=indices) | st.BufferStore(indices=indices):
                found += indices
            case st.LetStmt(value=value) | tir.Let(value=value):
                found.append(value)
            case st.For(min=low, extent=extent):
                found += (low, extent)
            case st.BlockRealize(iter_values=values):
                found += values
            case _:
                pass
    return found


def _gives_integers(node: Node) -> bool:
    """Whether this reads integers, or what selects integers, from data."""
    match node:
        case tir.BufferLoad(buffer=buffer):
            return not buffer.dtype.is_float
        case tir.Cast(dtype=dtype, value=value):
            return value.dtype.is_float and not dtype.is_float
        case tir.CompareOp(a=a):
            return a.dtype.is_float
        case tir.Call(dtype=dtype, args=args):
            return not dtype.is_float and any(isinstance(a, PrimExpr) and a.dtype.is_float for a in args)
        case _:
            return False


class _Checks:
    """Which suspects are checked, and the messages of failing checks."""

    def __init__(
        self,
        body: st.Stmt,
        nodes: Sequence[Any],
        suspects: set[Any],
        params: Iterable[tir.Var],
        sizes: Iterable[tir.Var],
    ) -> None:
        self.suspects = suspects
        self.names = names_of_memory(nodes, params)
        self.analyzer = with_ranges(body)
        self.sized = with_ranges(body)
        """Knows that sizes are not negative, too."""
        self.sized.mark_nonnegative(*sizes)
        self.made: dict[Any, PrimExpr] = {}

    def checked(self, access: Any, rebuilt: Any) -> Any:
        """`rebuilt` (`access` with checked children) with its own indices checked."""
        indices = list(rebuilt.indices)
        for axis, (index, extent) in enumerate(zip(access.indices, access.buffer.shape)):
            if index in self.suspects and not self._is_inside(index, extent):
                place = place_of(self.names, access.buffer, axis)
                if self._fits_unless_empty(index, extent):
                    first = self._within(tir.IntImm(indices[axis].dtype, 0), extent, place)
                    indices[axis] = tir.Add(indices[axis], first)
                else:
                    indices[axis] = self._within(indices[axis], extent, place)
        return rebuilt.with_fields(indices=tuple(indices))

    def _prover(self, index: PrimExpr) -> Analyzer:
        """One that knows the sizes, but for what is divided by them: it would take them to be positive."""
        return self.analyzer if _divides_by_a_size(index) else self.sized

    def _is_inside(self, index: PrimExpr, extent: PrimExpr) -> bool:
        prove, end = self._prover(index).prove, ops.cast(INT64, extent)
        found = [ops.cast(INT64, where) for where in ends_of(index)]
        return bool(found) and all(prove(tir.GE(w, tir.IntImm(INT64, 0))) and prove(tir.LT(w, end)) for w in found)

    def _fits_unless_empty(self, index: PrimExpr, extent: PrimExpr) -> bool:
        if isinstance(extent, tir.IntImm) or index.dtype.lanes > 1:
            return False
        with self._prover(index).constrained(tir.GE(extent, tir.IntImm(extent.dtype, 1))):
            return self._is_inside(index, extent)

    def _within(self, index: PrimExpr, extent: PrimExpr, place: str) -> PrimExpr:
        """The checked index. The same index of the same axis is checked once per statement: it stays one node."""
        key = (index, extent, place)
        if key not in self.made:
            self.made[key] = index_within(index, extent, place)
        return self.made[key]


def _divides_by_a_size(index: PrimExpr) -> bool:
    divisions = (n for n in post_order(index) if isinstance(n, (tir.FloorMod, tir.FloorDiv, tir.Mod, tir.Div)))
    return any(not isinstance(n.b, tir.IntImm) for n in divisions)


def index_within(index: PrimExpr, extent: PrimExpr, place: str) -> PrimExpr:
    """`index`, tested to be in [0, extent)."""
    if not is_pure(index):  # its calls are made once
        var = tir.Var("index", index.dtype)
        return tir.Let(var, index, index_within(var, extent, place))
    given = _counted_from_either_end(index, extent)
    shown, more = (index, "") if given is None else (given, " (negative ones count from the end)")
    text = f"index {{0}} is out of range for {place}, which has {{1}} elements{more}"
    return tir.Call(index.dtype, INDEX_WITHIN, (index, extent, tir.StringImm(text), shown))


def names_of_memory(nodes: Iterable[Any], params: Iterable[tir.Var]) -> dict[tir.Var, str]:
    """Names of a kernel's parameters for error messages."""
    names = {var: f"operand {number}" for number, var in enumerate(params)}
    written = {n.buffer.data for n in nodes if isinstance(n, st.BufferStore)}
    return {var: "the result" if var in written else name for var, name in names.items()}


def place_of(names: Mapping[tir.Var, str], buffer: Buffer, axis: int) -> str:
    """The description of an axis for error messages."""
    return f"axis {axis} of {names.get(buffer.data, 'an intermediate result')}"


def _counted_from_either_end(index: PrimExpr, extent: PrimExpr) -> PrimExpr | None:
    """x of `select(x < 0, x + extent, x)`."""
    match index:
        case tir.Select(condition=tir.LT(a=x), true_value=tir.Add(a=y, b=size), false_value=z):
            whole = structural_equal(ops.cast(INT64, size), ops.cast(INT64, extent))
            return x if whole and structural_equal(x, y) and structural_equal(x, z) else None
        case _:
            return None
