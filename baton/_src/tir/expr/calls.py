"""Calls, `let`, loads from buffers and tensors, and the reductions of `te`."""

from __future__ import annotations

from typing import Any

from baton._src.ir.array import Array
from baton._src.ir.expr import GlobalVar, Op, PrimExpr
from baton._src.ir.node import Node, binder, init_field, node, note, part
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.spans import Span
from baton._src.tir import operand_rules as rules
from baton._src.tir.expr.leaves import IterVar, Var, literal
from baton._src.values.dtype import BOOL, DataType


@node
class Let(PrimExpr):
    """`body` with `var` bound to `value`."""

    var: Var = binder()
    value: PrimExpr = part(kw_only=True)
    body: PrimExpr = part(kw_only=True)

    def __init__(self, var: Var, value: Any, body: Any, span: Span | None = None) -> None:
        value, body = literal(value, var.dtype), literal(body)
        rules.expect_let(var, value)
        for name, content in (("var", var), ("value", value), ("body", body), ("span", span)):
            init_field(self, name, content)
        init_field(self, "dtype", body.dtype)


@node
class Call(PrimExpr):
    """A call of an intrinsic (`Op`, such as `tir.call_extern` for C functions) or of a PrimFunc (`GlobalVar`)."""

    op: Op | GlobalVar
    args: tuple[Any, ...]

    def __init__(self, dtype: object, op: Op | GlobalVar | str, args: Any, span: Span | None = None) -> None:
        init_field(self, "dtype", DataType(dtype))
        init_field(self, "op", _callee(op, span) if isinstance(op, str) else op)
        init_field(self, "args", Array(literal(a) if isinstance(a, (int, float, str)) else a for a in args))
        init_field(self, "span", span)


def _callee(name: str, span: Span | None) -> Op:
    try:
        return Op.get(name)
    except DiagnosticError:
        help_text = "e.g. tir.exp; C functions are called by call_extern, functions of Python by call_packed"
        raise fail("tir-intrinsic", f"TIR has no intrinsic {name!r}", span=span, help=help_text) from None


@node
class BufferLoad(PrimExpr):
    """One element of a buffer (a vector, all lanes of it, if the last index is a `Ramp`)."""

    buffer: Any
    indices: tuple[PrimExpr, ...]

    def __init__(self, buffer: Any, indices: Any, predicate: None = None, span: Span | None = None) -> None:
        rules.expect_all_lanes(predicate, span)
        found = Array(literal(i) for i in indices)
        lanes = found[-1].dtype.lanes if found else 1
        init_field(self, "buffer", buffer)
        init_field(self, "indices", found)
        init_field(self, "span", span)
        init_field(self, "dtype", buffer.dtype.with_lanes(lanes * buffer.dtype.lanes))

    @property
    def predicate(self) -> None:
        """TVM's mask of lanes for vectors of ARM's SVE; there are none here."""


@node
class ProducerLoad(PrimExpr):
    """One element of a `te` tensor; only inside `te` computations."""

    producer: Any
    indices: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        init_field(self, "indices", tuple(literal(i) for i in self.indices))
        init_field(self, "dtype", self.producer.dtype)


@node
class CommReducer(Node):
    """A commutative reduction: results of `lhs`, `rhs` (two tuples of scalars) and the identity elements."""

    lhs: tuple[Var, ...] = binder()
    rhs: tuple[Var, ...] = binder()
    result: tuple[PrimExpr, ...]
    identity_element: tuple[PrimExpr, ...]
    span: Span | None = note(kw_only=True, default=None)

    def __post_init__(self) -> None:
        for name in ("lhs", "rhs", "result", "identity_element"):
            init_field(self, name, tuple(getattr(self, name)))


@node
class Reduce(PrimExpr):
    """The reduction of `source` over `axis`; only as the whole body of a `te` computation."""

    combiner: CommReducer
    source: tuple[PrimExpr, ...]
    axis: tuple[IterVar, ...]
    condition: PrimExpr
    value_index: int
    init: tuple[PrimExpr, ...] = ()

    def __init__(
        self,
        combiner: CommReducer,
        src: Any,
        rdom: Any,
        condition: Any,
        value_index: int,
        init: Any = None,
        span: Span | None = None,
    ) -> None:
        source = tuple(literal(value) for value in src)
        if not 0 <= value_index < len(source):
            raise fail("tir-operand", f"Reduce of {len(source)} values has no value {value_index}", span=span)
        init_field(self, "dtype", source[value_index].dtype)
        init_field(self, "combiner", combiner)
        init_field(self, "source", source)
        init_field(self, "axis", tuple(rdom))
        init_field(self, "condition", literal(condition, BOOL))
        init_field(self, "value_index", value_index)
        init_field(self, "init", tuple(literal(start, one.dtype) for start, one in zip(init or (), source)))
        init_field(self, "span", span)
