"""Test the indices computed from loops, in kernels with symbolic sizes, that the prover cannot show to be in range.

    for i in range(m):  B[i] = A[i]         with A: (n,), B: (m,)
    ->  if m > 0: tir.index_within(m - 1, n, "... axis 0 of operand 0 ...")        in front of everything
        for i in range(m):  B[i] = A[i]

Where an access runs for every iteration of loops that do not depend on each other, and its index grows or shrinks with
each of them, its first and last value are tested once, before the kernel does anything: inner loops cost nothing. For
an access under conditions, the prover assumes them; an index it cannot prove even so is tested where it is used, like
indices that depend on data (`check_indices`).

The kernel's own allocations need a valid size: a negative one is a fault, too. So are windows larger than the data they
slide over: their number, rounded down, need not be negative (`tir.block_annotations.WINDOWS`). Tensors that are inlined
into their readers are tested before they disappear (`tests_of_inlined`).

Kernels whose sizes are all constant are skipped: `tir.outside_indices` checks those at compile time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.access_scope import AccessScope, Loop, open_dims, sized, variables
from baton._src.passes.tir.lowering.check_indices import (
    INDEX_WITHIN,
    Axis,
    index_within,
    names_of_memory,
    numbers,
    place_of,
    suspects,
)
from baton._src.support.dataclass import dataclass
from baton._src.support.remembered import remembered
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.guarded_accesses import Access, accesses_among, guarded_accesses
from baton._src.tir.analysis.outside_indices import ends_of
from baton._src.tir.block_annotations import WINDOWS
from baton._src.tir.buffer import Buffer
from baton._src.tir.effects import is_stable
from baton._src.tir.intrinsics import INTRINSICS
from baton._src.tir.kernel_abi import kernel_abi
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import INT64

IF_THEN_ELSE = INTRINSICS["tir.if_then_else"]

INLINED = "tir.inlined"
"""Attribute of a block: the tests of tensors that were inlined into their readers."""
ASKED = "tir.sizes_asked"
"""Attribute of a function: its blocks have all tests recorded."""

_NEGATIVE = "has the negative size {0}: more is taken from a dim than there is"


@dataclass(frozen=True, eq=False)
class SizeTests:
    """The tests that a kernel needs because its sizes are symbolic."""

    first: tuple[st.Stmt, ...] = ()
    """Statements before all others."""
    inside: frozenset[Axis] = frozenset()
    """Axes whose indices are tested where they are used."""

    def __bool__(self) -> bool:
        return bool(self.first or self.inside)


@remembered
def size_tests(func: PrimFunc) -> SizeTests:
    """The tests of a kernel, determined before it is scheduled, while it has few indices."""
    nodes = post_order(func.body)
    blocks = [n for n in nodes if isinstance(n, st.Block)]
    if func.attrs.get(ASKED):
        return SizeTests(tuple(st.Evaluate(test) for b in blocks for test in b.annotations.get(INLINED, ())))
    memory = [b for block in blocks for b in block.alloc_buffers]
    if not open_dims([*func.buffer_map.values(), *memory]) and not any(INLINED in b.annotations for b in blocks):
        return SizeTests()
    asked = _Asked(func, nodes, memory, suspects(nodes, numbers(func)))
    for block in blocks:
        asked.ask_block(block)
    for access in guarded_accesses(func.body, selects_choose=False):
        asked.ask(access)
    return asked.tests()


def asked_before(scheduled: PrimFunc, plain: PrimFunc) -> PrimFunc | None:
    """`scheduled`, with the tests of the `plain` kernel that it computes: its own indices are many, and would take
    seconds to prove. None if something can only be tested where the plain kernel uses it.
    """
    tests = size_tests(plain)
    if tests.inside or not isinstance(scheduled.body, st.BlockRealize):
        return None
    root = scheduled.body.block
    noted = [*root.annotations.get(INLINED, ()), *(test.value for test in tests.first if isinstance(test, st.Evaluate))]
    block = root.with_fields(annotations={**root.annotations, INLINED: noted}) if noted else root
    return scheduled.with_fields(body=scheduled.body.with_fields(block=block)).with_attr(ASKED, True)


def tests_of_inlined(func: PrimFunc, gone: Collection[Buffer]) -> tuple[list[PrimExpr], set[Buffer]]:
    """The tests of the sizes of `gone` and of the indices into them that must precede everything, and which of these
    buffers have an index that can only be tested where it is used. They are still in `func`.
    """
    asked = _Asked(func, post_order(func.body), gone, frozenset())
    for access in guarded_accesses(func.body, selects_choose=False):
        if access.node.buffer in gone:
            asked.ask(access)
    inside = {data for data, _ in asked.tests().inside}
    return asked.first, {b for b in gone if b.data in inside}


@dataclass(frozen=True, eq=False)
class _Question:
    """An index that is not proven to be in range."""

    access: Access
    axis: int
    index: PrimExpr
    extent: PrimExpr
    scope: AccessScope
    case: tuple[PrimExpr, ...] = ()
    """Conditions on sizes alone, under which this is the index."""

    @property
    def is_of_numbers(self) -> bool:
        """Whether it involves no symbolic size: then it is as in kernels without symbolic sizes."""
        bounds = {loop.var: loop for loop in self.scope.loops}
        found = variables([self.index, self.extent])
        while found & bounds.keys():
            found = {v for var in found for v in variables(bounds[var][1:] if var in bounds else var)}
        return not found and is_stable(self.index)


class _Asked:
    """Collects the tests of a kernel: that its own `memory` has a valid size, and each index except those that are
    checked `apart`.
    """

    def __init__(
        self, func: PrimFunc, nodes: Sequence[Any], memory: Collection[Buffer], apart: Collection[PrimExpr]
    ) -> None:
        blocks = [n for n in nodes if isinstance(n, st.Block)]
        parameters = [p.buffer for p in kernel_abi(func).params if p.buffer is not None]
        self.free = {p.var for p in kernel_abi(func).params}
        self.names = names_of_memory(nodes, [b.data for b in parameters])
        self.apart = apart
        self.sizes = open_dims(parameters)
        self.reduced = {i.var for b in blocks for i in b.iter_vars if i.iter_type == tir.IterVar.CommReduce}
        self.initial = {n for b in blocks if b.init is not None for n in post_order(b.init)}
        self.views = {m.buffer.data for b in blocks for m in b.match_buffers}
        self.left = {n for n in accesses_among(nodes) if n.buffer.data not in self.views}
        """Accesses not examined yet: the conditions under which they run may not be known yet."""
        self.inside = {
            (m.source.buffer.data, a) for b in blocks for m in b.match_buffers for a in range(m.source.buffer.ndim)
        }
        self.first: list[PrimExpr] = []
        self.covered: list[tuple[_Question, set[tir.Var]]] = []
        self.guarded: list[_Question] = []
        self.scope: AccessScope | None = None
        for buffer in memory:
            self._ask_size(buffer)
        self.sizes = open_dims([*parameters, *memory])

    def ask_block(self, block: st.Block) -> None:
        """Add the tests recorded for tensors inside a block, and that there are windows along each axis of symbolic
        size.
        """
        for test in block.annotations.get(INLINED, ()):
            self._note(test)
        analyzer = sized(self.sizes)
        text = f"{block.name_hint} has {{0}} windows along an axis: they are larger than the padded data"
        for count in block.annotations.get(WINDOWS, ()):
            if not analyzer.prove(ops.greater_equal(count, 1)) and self.free >= variables(count):
                self._note(_size_test(count, 1, text))

    def ask(self, access: Access) -> None:
        """Examine each index of an access."""
        node = access.node
        if node.buffer.data in self.views:
            return
        self.left.discard(node)
        if self.scope is None or self.scope.path is not access.path:
            self.scope = AccessScope(access.path, self.sizes)
        for axis, (index, extent) in enumerate(zip(node.indices, node.buffer.shape)):
            if index in self.apart:
                continue
            where, limit = self.scope.resolved(index), self.scope.resolved(extent)
            for case, end in self._cases(where):
                question = _Question(access, axis, end, limit, self.scope, case)
                if not (self.scope.is_inside(end, limit) or question.is_of_numbers or self._test_first(question)):
                    self.guarded.append(question)

    def _cases(self, index: PrimExpr) -> list[tuple[tuple[PrimExpr, ...], PrimExpr]]:
        """Scalars between which an index lies; one that sizes choose (0 where an axis is stretched, else the loop's
        variable) by their case.
        """
        match index:
            case tir.Select(condition=chosen, true_value=a, false_value=b) if self._is_of_sizes(chosen):
                sides = ((chosen, a), (ops.logical_not(chosen), b))
                return [((side, *case), end) for side, value in sides for case, end in self._cases(value)]
            case _:
                return [((), end) for end in ends_of(index) or [index]]

    def _is_of_sizes(self, condition: PrimExpr) -> bool:
        return condition.dtype.lanes == 1 and self.free >= variables(condition) and is_stable(condition)

    def tests(self) -> SizeTests:
        """All tests, after every access was examined."""
        for question in self.guarded:
            if not any(_covers(other, loops, question) for other, loops in self.covered):
                self.inside.add((question.access.node.buffer.data, question.axis))
        for node in self.left:
            self.inside |= {(node.buffer.data, axis) for axis in range(len(node.indices))}
        return SizeTests(tuple(map(st.Evaluate, self.first)), frozenset(self.inside))

    def _ask_size(self, buffer: Buffer) -> None:
        """Test that an allocation is not of negative size, unless that is proven."""
        analyzer = sized(self.sizes)
        for axis, dim in enumerate(buffer.shape):
            if not analyzer.prove(ops.greater_equal(dim, 0)) and self.free >= variables(dim):
                self._note(_size_test(dim, 0, f"axis {axis} of an intermediate result {_NEGATIVE}"))

    def _test_first(self, question: _Question) -> bool:
        """Test the first and the last value of an index before everything; False if they are not known there."""
        found = self._loops_and_conditions(question) if question.index.dtype.lanes == 1 else None
        if found is None:
            return False
        loops, conditions = found[0], [*found[1], *question.case]
        ends = question.scope.ends(question.index, loops)
        if ends is None or not self.free >= variables([*ends, question.extent]):
            return False
        place = place_of(self.names, question.access.node.buffer, question.axis)
        prover = sized(self.sizes)
        runs = [c for c in (*conditions, *(ops.greater(n.extent, 0) for n in loops)) if not prover.prove(c)]
        for condition in runs:
            prover.assume(condition)
        low, high = (prover.simplify(e) for e in ends)
        wrong = [] if prover.prove(ops.greater_equal(low, 0)) else [low]
        wrong += [] if prover.prove(ops.less(high, question.extent)) else [high]
        for index in wrong:
            test = index_within(ops.cast(INT64, index), ops.cast(INT64, question.extent), place)
            for condition in reversed(runs):
                test = tir.Call(INT64, IF_THEN_ELSE, (condition, test, tir.IntImm(INT64, 0)))
            self._note(test)
        if not question.case:
            self.covered.append((question, {n.var for n in loops}))
        return True

    def _note(self, test: PrimExpr) -> None:
        if not any(structural_equal(test, other) for other in self.first):
            self.first.append(test)

    def _loops_and_conditions(self, question: _Question) -> tuple[list[Loop], list[PrimExpr]] | None:
        """The loops and conditions under which the access runs; None unless the loops' bounds depend on sizes only, and
        so do the conditions.
        """
        scope, loops, conditions = question.scope, question.scope.loops, question.scope.conditions
        if question.access.node in self.initial:  # runs where reduced loops are empty, too
            axes = [self._started(c) for c in scope.path.conditions]
            around = variables([scope.values.get(axis, axis) for axis in axes if axis is not None])
            loops = [n for n in loops if n.var not in around]
            conditions = [c for c, axis in zip(conditions, axes) if axis is None]
        known = [*conditions, *(e for n in loops for e in (n.begin, n.extent))]
        is_known = self.free >= variables(known) and all(is_stable(e) for e in (*known, question.index))
        return (loops, conditions) if is_known else None

    def _started(self, condition: PrimExpr) -> PrimExpr | None:
        """The reduced axis that a condition requires to be at its start."""
        return condition.a if isinstance(condition, tir.EQ) and condition.a in self.reduced else None


def _covers(tested: _Question, loops: set[tir.Var], question: _Question) -> bool:
    """Whether the test of one index implies another: the same index over fewer iterations."""
    mine, other = tested.access.node.buffer, question.access.node.buffer
    return (
        mine.data is other.data
        and tested.axis == question.axis
        and loops <= {n.var for n in question.scope.loops}
        and structural_equal(tested.index, question.index)
        and structural_equal(tested.extent, question.extent)
    )


def _size_test(size: PrimExpr, least: int, text: str) -> PrimExpr:
    """Leave the kernel with `text` about `size` unless size >= least."""
    wide, most = ops.cast(INT64, size), tir.IntImm(INT64, INT64.int_range[1])
    return tir.Call(INT64, INDEX_WITHIN, (ops.subtract(wide, least), most, tir.StringImm(text), wide))
