"""An axis cut where indices and conditions change course, at places that are known when it runs: sizes are open.

    for i in 8 * n: B[i] = A[i % n]     ->     for q in 8: for i in n: B[q * n + i] = A[i]            a tensor repeated
    for i in n + 4: B[i] = A[min(max(i - 2, 0), n - 1)]                                               an edge repeated
    ->
    for i in 2: B[i] = A[0];  for i in n: B[i + 2] = A[i];  for i in 2: B[i + n + 2] = A[n - 1]

A comparison (and a minimum is one) holds up to some iteration or from one on, a remainder grows evenly in runs of the
divisor, and what does not depend on the axis is asked once for all of it. In between every index grows evenly, so that
whole vectors are loaded, and nothing is divided. `pieces` does this for axes of known sizes, where it counts pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import children, post_order
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends
from baton._src.lower.kernel_schedules.shared.flat_index_digits import is_choice
from baton._src.lower.kernel_schedules.shared.loops import ceil_div, i64, index_var, loop, named, sequence
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.access_scope import open_dims, sized
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.systems.linear import sign_change

MOST_LOOPS = 12
"""Pieces, each a loop of its own, up to which an axis is cut."""
SHORT = {tir.FloorMod: 3, tir.FloorDiv: 16}
"""Known divisors below these are left to vectors: runs would take longer than loading single elements does, and vectors
load what lasts for a few iterations once.
"""

Emit = Callable[[Axis, st.BufferStore], st.Stmt]

_DIGITS = (tir.FloorMod, tir.FloorDiv)
_BENT = (*_DIGITS, tir.Min, tir.Max)


def in_open_pieces(axis: Axis, store: st.BufferStore, emit: Emit) -> st.Stmt | None:
    """The store over all pieces of an axis, each emitted by `emit`; None if it is not to be cut."""
    if not _is_uneven(store.value, axis.var):
        return None
    cutter = _Cutter(emit, store)
    try:
        found = cutter.cut(axis, store)
    except _TooMany:
        return None
    return found if cutter.cuts else None


def _is_uneven(value: PrimExpr, var: tir.Var) -> bool:
    """Whether some element is loaded whose place does not grow evenly."""
    loads = [n for n in post_order(value) if isinstance(n, tir.BufferLoad)]
    return any(coefficient(index, var) is None for load in loads for index in load.indices)


def before_rows(store: st.BufferStore, var: tir.Var, body: Callable[[st.BufferStore], st.Stmt]) -> st.Stmt:
    """`body` of the store with the divisions that do not depend on `var` done in front of it: else each of its loops
    would begin with them.
    """
    done: st.BufferStore = store
    names: dict[tir.Var, PrimExpr] = {}
    for node in reversed(post_order(store.value, below=_outside_shapes)):
        if isinstance(node, _DIGITS) and not isinstance(node.b, tir.IntImm) and _is_of_sizes(node):
            if not depends(node, var) and node in post_order(done.value, below=_outside_shapes):
                names[place := tir.Var("place", node.dtype)] = node
                done = _with(done, {node: place})
    found = body(done)
    for name, value in names.items():
        found = st.LetStmt(name, value, found)
    return found


class _TooMany(Exception):
    """There would be more pieces than are worth it."""


class _Cutter:
    """Cuts axes, and counts."""

    def __init__(self, emit: Emit, store: st.BufferStore) -> None:
        self.emit = emit
        self.loops = self.cuts = 0
        loads = (n for n in post_order(store.value) if isinstance(n, tir.BufferLoad))
        self.prover = sized(open_dims([store.buffer, *(load.buffer for load in loads)]))

    def cut(self, axis: Axis, store: st.BufferStore) -> st.Stmt:
        """The store over an axis, cut at the first place where something bends, and so on in its parts."""
        bend = next(iter(self.bends(store.value, axis.var)), None)
        if bend is None:
            self.loops += 1
            if self.loops > MOST_LOOPS:
                raise _TooMany
            return self.emit(axis, store)
        self.cuts += 1
        if not depends(bend, axis.var):
            return self.in_either_case(axis, store, bend)
        assert isinstance(bend, (tir.BinaryOp, tir.CompareOp))  # as `is_cut` says
        match bend:
            case tir.FloorMod() | tir.FloorDiv():
                return self.in_runs(axis, store, bend)
            case tir.EQ(a=a, b=b):
                return self.cut(axis, _with(store, {bend: tir.And(tir.LE(a, b), tir.GE(a, b))}))
            case tir.NE(a=a, b=b):
                return self.cut(axis, _with(store, {bend: tir.Or(tir.LT(a, b), tir.GT(a, b))}))
            case _:
                return self.in_two(axis, store, bend)

    def bends(self, value: PrimExpr, var: tir.Var) -> list[PrimExpr]:
        """Expressions at which indices or conditions bend, and for which there is a cut: first what does not depend on
        the axis, since it may leave nothing of the others, then the inner ones.
        """
        found: list[PrimExpr] = []
        for node in post_order(value, below=_outside_shapes):
            if not isinstance(node, PrimExpr) or not depends(node, var):
                continue
            parts = _leaves(_condition(node)) if is_choice(node) else (node,) if isinstance(node, _BENT) else ()
            found += [part for part in parts if self.is_cut(part, var)]
        return sorted(found, key=lambda part: depends(part, var))

    def is_cut(self, node: PrimExpr, var: tir.Var) -> bool:
        """Whether an expression is one of the axis and of sizes, and bends at places that can be computed."""
        if not _is_of_sizes(node):
            return False
        if not depends(node, var):
            return not isinstance(node, tir.IntImm)
        if not isinstance(node, (tir.BinaryOp, tir.CompareOp)):
            return False
        if isinstance(node, _DIGITS):
            known = isinstance(node.b, tir.IntImm) and node.b.value < SHORT[type(node)]
            return not known and coefficient(node.a, var) == 1 and not depends(node.b, var) and self.is_divisor(node)
        return bool(coefficient(ops.subtract(node.a, node.b), var))

    def is_divisor(self, node: tir.BinaryOp) -> bool:
        """Whether there are runs of the divisor: it is a size, which if it were 0 would leave no remainder."""
        return self.prover.prove(node.b >= 0 if isinstance(node, tir.FloorMod) else node.b > 0)

    def in_either_case(self, axis: Axis, store: st.BufferStore, condition: PrimExpr) -> st.Stmt:
        """What does not depend on the axis, decided in front of it."""
        yes, no = (_with(store, {condition: tir.IntImm("bool", truth)}) for truth in (1, 0))
        with self.prover.constrained(condition):
            so = self.cut(axis, yes)
        with self.prover.constrained(ops.logical_not(condition)):
            return st.IfThenElse(condition, so, self.part(axis, no, i64(0), axis.extent))

    def in_two(self, axis: Axis, store: st.BufferStore, bend: tir.BinaryOp | tir.CompareOp) -> st.Stmt:
        """The axis up to where a comparison changes, and from there on."""
        place, below, above = _change(bend, axis.var)
        extent = as_int64(axis.extent)
        place = self.prover.simplify(ops.max(i64(0), ops.min(place, extent)))

        def parts(border: PrimExpr) -> st.Stmt:
            rest = self.prover.simplify(ops.subtract(extent, border))
            ends = ((below, i64(0), border), (above, border, rest))
            long = [end for end in ends if not ops.is_const(end[2], 0)]
            return sequence(*(self.part(axis, _with(store, {bend: case}), *end) for case, *end in long or ends[:1]))

        return named("border", place, parts)

    def in_runs(self, axis: Axis, store: st.BufferStore, bend: tir.FloorMod | tir.FloorDiv) -> st.Stmt:
        """The axis in runs of a divisor; the first may begin in the middle of one, and the last end there."""
        divisor, extent = as_int64(bend.b), as_int64(axis.extent)
        begin = as_int64(substitute_and_fold(bend.a, {axis.var: tir.IntImm(axis.var.dtype, 0)}))
        times = self.times(extent, divisor) if ops.is_const(begin, 0) else None
        if times is not None:
            run = index_var("run")
            start = ops.multiply(run, divisor)
            return loop(run, times, self.run(axis, store, bend, (start, start, divisor), run))
        least = divisor if self.prover.prove(divisor > 0) else ops.max(divisor, i64(1))

        def after(divisor: PrimExpr) -> st.Stmt:
            before = begin if ops.is_const(begin, 0) else ops.floormod(begin, divisor)
            return named(
                "before", before, lambda before: self.partial_runs(axis, store, bend, (divisor, begin, before))
            )

        return named("divisor", least, after)

    def partial_runs(
        self,
        axis: Axis,
        store: st.BufferStore,
        bend: tir.FloorMod | tir.FloorDiv,
        numbers: tuple[PrimExpr, PrimExpr, PrimExpr],
    ) -> st.Stmt:
        """Runs of a divisor from the number `begin` on, which is `before` behind the start of the first run."""
        divisor, begin, before = numbers
        extent, run = as_int64(axis.extent), index_var("run")
        whole = ops.floordiv(ops.subtract(begin, before), divisor)
        start = ops.subtract(ops.multiply(run, divisor), before)

        def body(first: PrimExpr) -> st.Stmt:
            length = ops.subtract(ops.min(ops.add(start, divisor), extent), first)
            return self.run(axis, store, bend, (start, first, length), ops.add(run, whole))

        first = start if ops.is_const(before, 0) else ops.max(start, i64(0))
        return loop(run, ceil_div(ops.add(extent, before), divisor), named("first", first, body))

    def run(
        self,
        axis: Axis,
        store: st.BufferStore,
        bend: tir.FloorMod | tir.FloorDiv,
        places: tuple[PrimExpr, PrimExpr, PrimExpr],
        quotient: PrimExpr,
    ) -> st.Stmt:
        """One run, of a quotient: where it would begin, the iteration at which it does, and its length."""
        start, first, length = places
        own = index_var(axis.var.name)
        remainder = ops.add(ops.subtract(first, start), own) if first is not start else own
        place = ops.cast(axis.var.dtype, ops.add(first, own))
        pairs = [(tir.FloorMod(bend.a, bend.b), remainder), (tir.FloorDiv(bend.a, bend.b), quotient)]
        settled: dict[PrimExpr, PrimExpr] = {node: ops.cast(bend.dtype, number) for node, number in pairs}
        return self.cut(Axis(own, length), _with(store, settled, {axis.var: place}))

    def part(self, axis: Axis, store: st.BufferStore, begin: PrimExpr, extent: PrimExpr) -> st.Stmt:
        """The iterations [begin, begin + extent), over an axis that starts at 0."""
        own = index_var(axis.var.name)
        place = ops.cast(axis.var.dtype, ops.add(begin, own))
        return self.cut(Axis(own, extent), substitute_and_fold(store, {axis.var: place}))

    def times(self, extent: PrimExpr, divisor: PrimExpr) -> PrimExpr | None:
        """How often the divisor is in the extent, if that is without remainder whatever it is."""
        with self.prover.constrained(divisor > 0):
            times = self.prover.simplify(ops.floordiv(extent, divisor))
        return times if self.prover.equal(ops.multiply(times, divisor), extent) is True else None


def _outside_shapes(node: Node) -> list[Node]:
    """What an expression consists of; of a load the indices."""
    return list(node.indices) if isinstance(node, tir.BufferLoad) else children(node)


def _condition(choice: tir.Select | tir.Call) -> PrimExpr:
    return choice.args[0] if isinstance(choice, tir.Call) else choice.condition


def _leaves(condition: PrimExpr) -> Iterator[PrimExpr]:
    """The comparisons that a condition is made of."""
    if isinstance(condition, (tir.And, tir.Or)):
        yield from _leaves(condition.a)
        yield from _leaves(condition.b)
    elif isinstance(condition, tir.Not):
        yield from _leaves(condition.a)
    else:
        yield condition


def _is_of_sizes(node: PrimExpr) -> bool:
    """Whether an expression is made of variables, in whole numbers."""
    kinds = (tir.Var, tir.IntImm, tir.BinaryOp, tir.CompareOp, tir.LogicalOp, tir.Not, tir.Cast, tir.Select)
    parts = post_order(node)
    return all(isinstance(n, kinds) and n.dtype.lanes == 1 and (n.dtype.is_int or n.dtype.is_bool) for n in parts)


def _change(bend: tir.BinaryOp | tir.CompareOp, var: tir.Var) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
    """The first iteration of the second part, and what the expression is in both."""
    difference = ops.subtract(bend.a, bend.b)
    step = coefficient(difference, var) or 0
    start = as_int64(substitute_and_fold(difference, {var: tir.IntImm(var.dtype, 0)}))
    if isinstance(bend, (tir.LE, tir.GT)):
        start = ops.subtract(start, i64(1))  # a <= b is a - 1 < b
    match bend:
        case tir.Min(a=a, b=b):
            cases = a, b
        case tir.Max(a=a, b=b):
            cases = b, a
        case _:
            less = isinstance(bend, (tir.LT, tir.LE))
            cases = tir.IntImm("bool", less), tir.IntImm("bool", not less)
    return sign_change(start, step), *(cases if step > 0 else cases[::-1])


def _with(
    store: st.BufferStore, known: dict[PrimExpr, PrimExpr], var: dict[tir.Var, PrimExpr] | None = None
) -> st.BufferStore:
    """The store with expressions replaced, wherever they are in it, and a variable."""
    kinds = tuple(type(node) for node in known)
    found: dict[Node, PrimExpr] = dict((var or {}).items())
    nodes = [n for n in post_order(store.value, below=_outside_shapes) if isinstance(n, kinds)]
    for key, value in known.items():
        found.update((node, value) for node in nodes if node is key or structural_equal(node, key))
    done: st.BufferStore = substitute_and_fold(store, found)
    return done
