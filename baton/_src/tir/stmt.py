"""Statements of TIR. Names and fields follow TVM v0.19 (`tir.stmt`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from baton._src.ir.array import Array
from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node, binder, init_field, node, note, part
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.expr import Call, IntImm, IterVar, StringImm, Var, literal
from baton._src.tir.intrinsics import INTRINSICS
from baton._src.tir.operand_rules import expect_all_lanes
from baton._src.values.dtype import BOOL, HANDLE, DataType
from baton._src.values.tensor import NDArray, array


class ForKind(IntEnum):
    """How the iterations of a loop run."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


@node
class Stmt(Node):
    """Anything that is executed for its effect."""

    span: Span | None = note(kw_only=True, default=None)


@node
class SeqStmt(Stmt):
    """Statements in sequence."""

    seq: tuple[Stmt, ...]

    def __post_init__(self) -> None:
        parts = Array[Any](self.seq)
        wrong = next((part for part in parts if not isinstance(part, Stmt)), None)
        if wrong is not None:
            help_text = "an expression that is to be evaluated is tir.Evaluate(x)"
            raise fail("tir-operand", f"SeqStmt takes statements, not {type(wrong).__name__}", help=help_text)
        init_field(self, "seq", parts)

    def __getitem__(self, i: int) -> Stmt:
        return self.seq[i]

    def __len__(self) -> int:
        return len(self.seq)


@node
class Evaluate(Stmt):
    """An expression evaluated for its effect; `Evaluate(0)` does nothing."""

    value: PrimExpr

    def __post_init__(self) -> None:
        init_field(self, "value", literal(self.value))


@node
class BufferStore(Stmt):
    """buffer[indices] = value, in all lanes."""

    buffer: Buffer
    value: PrimExpr
    indices: tuple[PrimExpr, ...]

    def __init__(
        self, buffer: Buffer, value: Any, indices: Any, predicate: None = None, span: Span | None = None
    ) -> None:
        expect_all_lanes(predicate, span)
        init_field(self, "buffer", buffer)
        init_field(self, "value", literal(value, buffer.dtype))
        init_field(self, "indices", Array(literal(i) for i in indices))
        init_field(self, "span", span)

    @property
    def predicate(self) -> None:
        """TVM's mask of lanes for vectors of ARM's SVE; there are none here."""


@node
class LetStmt(Stmt):
    """`body` with `var` bound to `value`."""

    var: Var = binder()
    value: PrimExpr = part(kw_only=True)
    body: Stmt = part(kw_only=True)

    def __init__(self, var: Var, value: Any, body: Stmt, span: Span | None = None) -> None:
        value = literal(value, var.dtype)
        for name, content in (("var", var), ("value", value), ("body", body), ("span", span)):
            init_field(self, name, content)


@node
class AttrStmt(Stmt):
    """An annotation on `body`: (node, key, value). An axis of threads that it launches runs over as many as `value`."""

    node: Any
    attr_key: str
    value: PrimExpr
    body: Stmt

    def __post_init__(self) -> None:
        init_field(self, "value", literal(self.value))
        if self.attr_key in ("thread_extent", "virtual_thread") and isinstance(self.node, IterVar):
            init_field(self, "node", self._launched(self.node))

    def _launched(self, axis: IterVar) -> IterVar:
        if not axis.thread_tag or (axis.dom is not None and axis.dom.extent is self.value):
            return axis
        return axis.with_fields(dom=Range(literal(0, self.value.dtype), self.value))


@node
class AssertStmt(Stmt):
    """Fails with `message` unless `condition`; then `body`."""

    condition: PrimExpr
    message: PrimExpr
    body: Stmt

    def __post_init__(self) -> None:
        init_field(self, "condition", literal(self.condition))
        init_field(self, "message", literal(self.message))


@node
class For(Stmt):
    """`body` for `loop_var` in [min, min + extent)."""

    loop_var: Var = binder()
    min: PrimExpr = part(kw_only=True)
    extent: PrimExpr = part(kw_only=True)
    kind: ForKind = part(kw_only=True, default=ForKind.SERIAL)
    body: Stmt = part(kw_only=True)
    thread_binding: IterVar | None = part(kw_only=True, default=None)
    annotations: dict[str, Any] = part(kw_only=True)

    def __init__(
        self,
        loop_var: Var,
        min: Any,
        extent: Any,
        kind: ForKind | int,
        body: Stmt,
        thread_binding: IterVar | None = None,
        annotations: dict[str, Any] | None = None,
        span: Span | None = None,
    ) -> None:
        init_field(self, "loop_var", loop_var)
        init_field(self, "min", literal(min, loop_var.dtype))
        init_field(self, "extent", literal(extent, loop_var.dtype))
        init_field(self, "kind", ForKind(kind))
        init_field(self, "body", body)
        init_field(self, "thread_binding", thread_binding)
        init_field(self, "annotations", annotations or {})
        init_field(self, "span", span)


@node
class While(Stmt):
    """`body` as long as `condition`."""

    condition: PrimExpr
    body: Stmt


@node
class IfThenElse(Stmt):
    """`then_case` if `condition`, else `else_case` (which may be absent)."""

    condition: PrimExpr
    then_case: Stmt
    else_case: Stmt | None = None

    def __post_init__(self) -> None:
        init_field(self, "condition", literal(self.condition))


@node
class Allocate(Stmt):
    """Memory for `body`, after blocks are lowered: `extents` elements of `dtype` behind `buffer_var`."""

    buffer_var: Var = binder()
    dtype: DataType = part(kw_only=True)
    extents: tuple[PrimExpr, ...] = part(kw_only=True)
    condition: PrimExpr | None = part(kw_only=True, default=None)
    body: Stmt = part(kw_only=True)
    annotations: dict[str, Any] | None = part(kw_only=True, default=None)

    def __init__(
        self,
        buffer_var: Var,
        dtype: object,
        extents: Any,
        condition: Any = None,
        body: Stmt | None = None,
        annotations: dict[str, Any] | None = None,
        span: Span | None = None,
    ) -> None:
        if body is None:
            raise TypeError("Allocate takes the body that sees the memory")
        init_field(self, "buffer_var", buffer_var)
        init_field(self, "dtype", DataType(dtype))
        init_field(self, "extents", tuple(literal(d) for d in extents))
        init_field(self, "condition", None if condition is None else literal(condition, BOOL))
        init_field(self, "body", body)
        init_field(self, "annotations", annotations)
        init_field(self, "span", span)


@node
class AllocateConst(Stmt):
    """Numbers for `body`, which are only read: `extents` elements of `dtype` behind `buffer_var`."""

    buffer_var: Var = binder()
    dtype: DataType = part(kw_only=True)
    extents: tuple[PrimExpr, ...] = part(kw_only=True)
    data: NDArray = part(kw_only=True)
    body: Stmt = part(kw_only=True)
    annotations: dict[str, Any] | None = part(kw_only=True, default=None)

    def __init__(
        self,
        buffer_var: Var,
        dtype: object,
        extents: Any,
        data_or_idx: Any,
        body: Stmt,
        annotations: dict[str, Any] | None = None,
        span: Span | None = None,
    ) -> None:
        kind, sizes = DataType(dtype), tuple(literal(d) for d in extents)
        if isinstance(data_or_idx, int) or not all(isinstance(d, IntImm) for d in sizes):
            help_text = "tir.AllocateConst(pointer, dtype, [3], tvm.nd.array(numbers), body)"
            raise fail("tir-operand", "AllocateConst takes the numbers, and sizes that are numbers", help=help_text)
        init_field(self, "buffer_var", buffer_var)
        init_field(self, "dtype", kind)
        init_field(self, "extents", sizes)
        init_field(self, "data", _numbers(data_or_idx, kind, [d.value for d in sizes if isinstance(d, IntImm)]))
        init_field(self, "body", body)
        init_field(self, "annotations", annotations)
        init_field(self, "span", span)

    def as_let(self) -> LetStmt:
        """The same as a pointer to the program's own memory: what a constant is lowered to."""
        spelled = StringImm(self.data.numpy().tobytes().hex())
        return LetStmt(
            self.buffer_var, Call(HANDLE, INTRINSICS["tir.constant_memory"], (spelled,)), self.body, self.span
        )


def _numbers(data: Any, dtype: DataType, shape: list[int]) -> NDArray:
    """The array of a constant. Error `tir-operand`: not as many numbers as the shape says, or not of the dtype."""
    try:
        given = np.array(data.numpy() if isinstance(data, NDArray) else data, dtype.numpy)
    except (TypeError, ValueError, OverflowError) as error:
        raise fail("tir-operand", f"a constant of {dtype} is given what is none: {error}") from None
    if given.size != math.prod(shape):
        raise fail("tir-operand", f"a constant of shape {tuple(shape)} is given {given.size} numbers")
    return array(given.reshape(shape))


@node
class DeclBuffer(Stmt):
    """`buffer` names existing memory within `body`."""

    buffer: Buffer = binder()
    body: Stmt = part()


@node
class MatchBufferRegion(Node):
    """Inside a block, `buffer` names the region `source` of another buffer."""

    buffer: Buffer = binder()
    source: BufferRegion = part()


@node
class Block(Stmt):
    """A unit of computation with its own axes; `init` runs where every reduce axis is at its start."""

    iter_vars: tuple[IterVar, ...] = binder()
    reads: tuple[BufferRegion, ...] = part(kw_only=True, default=())
    writes: tuple[BufferRegion, ...] = part(kw_only=True, default=())
    name_hint: str = note(kw_only=True, default="")
    alloc_buffers: tuple[Buffer, ...] = part(kw_only=True, default=())
    match_buffers: tuple[MatchBufferRegion, ...] = part(kw_only=True, default=())
    annotations: dict[str, Any] = part(kw_only=True, default=None)
    init: Stmt | None = part(kw_only=True, default=None)
    body: Stmt = part(kw_only=True)

    def __init__(
        self,
        iter_vars: Any,
        reads: Any,
        writes: Any,
        name_hint: str,
        body: Stmt,
        init: Stmt | None = None,
        alloc_buffers: Any = (),
        match_buffers: Any = (),
        annotations: dict[str, Any] | None = None,
        span: Span | None = None,
    ) -> None:
        fields: dict[str, Any] = {
            "iter_vars": Array(iter_vars),
            "reads": Array(reads),
            "writes": Array(writes),
            "name_hint": name_hint,
            "alloc_buffers": Array(alloc_buffers or ()),
            "match_buffers": Array(match_buffers or ()),
            "annotations": annotations or {},
            "init": init,
            "body": body,
            "span": span,
        }
        for key, content in fields.items():
            init_field(self, key, content)


@node
class BlockRealize(Stmt):
    """One instance of a block: its axes take `iter_values`, if `predicate` holds."""

    iter_values: tuple[PrimExpr, ...]
    predicate: PrimExpr
    block: Block

    def __post_init__(self) -> None:
        init_field(self, "iter_values", tuple(literal(v) for v in self.iter_values))
        init_field(self, "predicate", literal(self.predicate, BOOL))


_INSIDE: dict[type[Stmt], Callable[[Any], tuple[Stmt, ...]]] = {
    SeqStmt: lambda s: s.seq,
    Evaluate: lambda s: (),
    BufferStore: lambda s: (),
    IfThenElse: lambda s: (s.then_case,) if s.else_case is None else (s.then_case, s.else_case),
    Block: lambda s: (s.body,) if s.init is None else (s.init, s.body),
    BlockRealize: lambda s: (s.block,),
}
"""The parts of the statements that have others than a body."""


def inner_statements(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements directly in a statement, in order."""
    found = _INSIDE.get(type(stmt))
    return (stmt.body,) if found is None else found(stmt)  # type: ignore[attr-defined]


def statements(root: Stmt) -> list[Any]:
    """A statement and all in it, inner ones first: `post_order` without the expressions, which are most of a kernel."""
    return post_order(root, below=inner_statements)


def stmt_seq(*args: Any) -> Stmt:
    """Statements (and expressions, evaluated) one after the other; a single one is itself."""
    found = [one if isinstance(one, Stmt) else Evaluate(one) for one in args]
    return found[0] if len(found) == 1 else SeqStmt(tuple(found))


def stores_at_once(buffers: Sequence[Buffer], values: Sequence[PrimExpr], indices: tuple[PrimExpr, ...]) -> Stmt:
    """Values stored each into a buffer at the same indices; several are all computed before any is stored."""
    if len(buffers) == 1:
        return BufferStore(buffers[0], values[0], indices)
    held = [Var(f"v_{b.name}", b.dtype) for b in buffers]
    body: Stmt = SeqStmt(tuple(BufferStore(b, v, indices) for b, v in zip(buffers, held)))
    for var, value in zip(reversed(held), reversed(values)):
        body = LetStmt(var, value, body)
    return body


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """The statements of nested sequences in order."""
    found: list[Stmt] = []
    stack = [stmt]
    while stack:
        one = stack.pop()
        if isinstance(one, SeqStmt):
            stack.extend(reversed(one.seq))
        else:
            found.append(one)
    return found


def full_region(buffer: Buffer) -> BufferRegion:
    """All of a buffer."""
    return BufferRegion(buffer, tuple(Range(literal(0, d.dtype), d) for d in buffer.shape))


Buffer.storing = staticmethod(BufferStore)
