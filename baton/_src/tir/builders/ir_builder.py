"""Build statements by calls, with nested scopes (`tvm.tir.ir_builder`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.support.unlisted import Unlisted
from baton._src.tir import operators
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.builders.scalar_functions import likely
from baton._src.tir.expr import BufferLoad, IntImm, Var, literal
from baton._src.tir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
    stmt_seq,
)
from baton._src.values.dtype import DataType

Wrap = Callable[[Stmt], Stmt]
"""A statement that encloses everything that follows it in its scope: an allocation, a let."""

_KINDS = {
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorize": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
}


class BufferVar(Unlisted):
    """A buffer of the builder: `x[i]` is a load, `x[i] = value` emits a store.

    A single index into a buffer of several axes is row-major.
    """

    def __init__(self, builder: IRBuilder, buffer: Buffer, content_type: object) -> None:
        self._builder = builder
        self._buffer = buffer
        self._content_type = DataType(content_type)

    def asobject(self) -> Buffer:
        """The buffer."""
        return self._buffer

    @property
    def dtype(self) -> DataType:
        return self._content_type

    def __getitem__(self, index: Any) -> BufferLoad:
        return BufferLoad(self._buffer, self._place(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        content = operators.convert(value)
        if content.dtype.element != self._content_type.element:
            raise ValueError(f"data type does not match content type: {content.dtype} vs {self._content_type}")
        self._builder.emit(BufferStore(self._buffer, content, self._place(index)))

    def _place(self, index: Any) -> tuple[PrimExpr, ...]:
        given = tuple(operators.convert(i) for i in (index if isinstance(index, (tuple, list)) else (index,)))
        if len(given) != 1 or len(self._buffer.shape) == 1:
            return given
        place: Any = given[0]
        found: list[PrimExpr] = []
        for dim in reversed(self._buffer.shape):
            found.append(operators.floormod(place, dim))
            place = operators.floordiv(place, dim)
        return tuple(reversed(found))


class IRBuilder:
    """Collects statements; `with` opens the scopes of loops and branches, `get` gives all of it."""

    def __init__(self) -> None:
        self._scopes: list[list[Stmt | Wrap]] = [[]]
        self.nidx = 0

    def emit(self, stmt: Any) -> None:
        """Append a statement to the scope; a function is applied to the statements that follow it."""
        if isinstance(stmt, PrimExpr):
            stmt = Evaluate(stmt)
        if not isinstance(stmt, Stmt) and (isinstance(stmt, Node) or not callable(stmt)):
            raise TypeError(f"a statement is emitted, or a function around what follows, not {type(stmt).__name__}")
        self._scopes[-1].append(stmt)

    def get(self) -> Stmt:
        """The complete statement; the builder cannot be used afterwards."""
        if len(self._scopes) != 1:
            raise RuntimeError("cannot call get inside construction scope")
        return _joined(self._scopes.pop())

    # ------------------------------------------------------------------------------------------- statements

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        """An annotation on the rest of the scope."""
        held = operators.convert(value)
        if attr_key == "thread_extent":
            held = operators.max(1, held)
        self.emit(lambda body: AttrStmt(node, attr_key, held, body))

    def let(self, var_name: str, value: PrimExpr) -> Var:
        """A variable bound to `value` in the rest of the scope."""
        var = Var(var_name, value.dtype)
        self.emit(lambda body: LetStmt(var, value, body))
        return var

    def allocate(
        self, dtype: object, shape: Any, name: str = "buf", axis_separators: Any = None, scope: str = ""
    ) -> BufferVar:
        """Memory for the rest of the scope."""
        dims = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        buffer = decl_buffer(dims, dtype, name, scope=scope, axis_separators=axis_separators)
        self.emit(lambda body: Allocate(buffer.data, buffer.dtype, buffer.shape, True, body))
        return BufferVar(self, buffer, dtype)

    def pointer(self, content_type: object, name: str = "ptr", scope: str = "") -> BufferVar:
        """A buffer that is allocated elsewhere."""
        return BufferVar(self, decl_buffer([1], content_type, name, scope=scope), content_type)

    def buffer_ptr(self, buf: Buffer) -> BufferVar:
        """A buffer, to be read and written by index."""
        return BufferVar(self, buf, buf.dtype)

    def likely(self, expr: PrimExpr) -> PrimExpr:
        """A condition that usually holds."""
        return likely(expr)

    # ----------------------------------------------------------------------------------------------- scopes

    def for_range(
        self, begin: Any, end: Any, name: str = "i", dtype: object = None, kind: str = "serial"
    ) -> AbstractContextManager[Var]:
        """A loop from `begin` up to `end`; its variable is int64 where one of them is, unless `dtype` says."""
        if kind not in _KINDS:
            raise ValueError(f"Unknown kind {kind!r}: loops are {', '.join(_KINDS)}")
        if name == "i":
            name = "ijk"[self.nidx] if self.nidx < 3 else f"i_{self.nidx - 3}"
            self.nidx += 1
        var = Var(name, _index_dtype(begin, end) if dtype is None else dtype)
        first = _bound(begin, var.dtype)
        extent = _bound(end, var.dtype) if isinstance(begin, int) and begin == 0 else _bound(end - begin, var.dtype)
        return self._scope(var, lambda body: For(var, first, extent, _KINDS[kind], body))

    def while_loop(self, condition: PrimExpr) -> AbstractContextManager[None]:
        """A loop that runs while `condition` holds."""
        return self._scope(None, lambda body: While(condition, body))

    def if_scope(self, cond: Any) -> AbstractContextManager[None]:
        """Statements that run if `cond` holds."""
        return self._scope(None, lambda body: IfThenElse(cond, body, None))

    def else_scope(self) -> AbstractContextManager[None]:
        """Statements that run if the condition of the preceding `if_scope` does not hold."""
        last = self._scopes[-1][-1] if self._scopes[-1] else None
        if not isinstance(last, IfThenElse) or last.else_case is not None:
            raise RuntimeError("else_scope can only follow an if_scope")
        self._scopes[-1].pop()
        branch = last
        return self._scope(None, lambda body: IfThenElse(branch.condition, branch.then_case, body))

    def new_scope(self) -> AbstractContextManager[None]:
        """A scope that ends allocations and annotations."""
        return self._scope(None, lambda body: body)

    @contextmanager
    def _scope(self, entered: Any, close: Wrap) -> Iterator[Any]:
        self._scopes.append([])
        yield entered
        self.emit(close(_joined(self._scopes.pop())))


def create() -> IRBuilder:
    """A new builder."""
    return IRBuilder()


def _joined(listed: list[Stmt | Wrap]) -> Stmt:
    """Statements in order, each function around all that comes after it; nothing there is a statement that is none."""
    following: list[Stmt] = []
    for one in reversed(listed):
        if isinstance(one, Stmt):
            following.append(one)
        else:
            following = [one(_sequence(following))]
    return _sequence(following)


def _sequence(backwards: list[Stmt]) -> Stmt:
    return stmt_seq(*reversed(backwards)) if backwards else Evaluate(literal(0))


def _index_dtype(*bounds: Any) -> DataType:
    dtypes = {DataType("int32") if isinstance(b, int) else operators.convert(b).dtype for b in bounds}
    unfit = [d for d in dtypes if not d.startswith("int")]
    if unfit:
        raise NotImplementedError(f"a loop's variable cannot be {unfit[0]}: state its dtype")
    return DataType("int64" if "int64" in dtypes else "int32")


def _bound(number: Any, dtype: DataType) -> PrimExpr:
    found = literal(number, dtype)
    return literal(found.value, dtype) if isinstance(found, IntImm) else found
