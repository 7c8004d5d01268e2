"""The meaning of scalar expressions: each is compiled to a closure over an environment, a plain list of slots.

Scalar integers are Python ints kept in the range of their dtype, conditions Python bools, floats NumPy scalars of
their dtype; vectors are NumPy arrays of their lanes; a pointer is the uint8 array that starts at its address.
`evaluate(expr, {n: 5})` is the short way in; the interpreter of statements builds on `ExprCompiler`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Role
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import InternalError, fail
from baton._src.tir import expr as tir
from baton._src.tir.analysis.vector_rows import runs_past_row
from baton._src.tir.buffer import Buffer
from baton._src.tir.evaluation.calls import compile_call
from baton._src.tir.expr import BinaryOp, BufferLoad, Call, FloatImm, IntImm, StringImm, Var
from baton._src.tir.intrinsics import definition
from baton._src.tir.packed_calls import is_packed_call, read_packed_call
from baton._src.tir.scalar_values import Env, Run, converter, exact_pair, from_numpy, pair


def evaluate(expr: PrimExpr, values: Mapping[Var, Any] | None = None, *, exact: bool = False) -> Any:
    """The value of an expression without buffers, for given values of its variables.

    `exact`: integer arithmetic is exact, and does not wrap around as in kernels; a division by zero raises
    `DiagnosticError` (`division-by-zero`), and is not 0 as in kernels.
    """
    compiler = ExprCompiler(exact=exact)
    for var in values or ():
        compiler.slot(var)
    run = compiler.expr(expr)
    env: Env = [None] * len(compiler.slots)
    for var, value in (values or {}).items():
        env[compiler.slots[var]] = value
    with compiler.running():
        try:
            return run(env)
        except ZeroDivisionError:
            raise fail("division-by-zero", f"division by zero in {expr!r}") from None


def _row_major(indices: tuple[Any, ...], shape: list[int], name: str) -> tuple[Any, ...]:
    """Places counted on from row to row as places within their rows."""
    flat = sum(index * math.prod(shape[axis + 1 :]) for axis, index in enumerate(indices))
    try:
        return np.unravel_index(flat, shape)
    except ValueError:
        raise fail("tir-bounds", f"a vector of {name} ends outside its shape {tuple(shape)}") from None


class ExprCompiler:
    """Compiles expressions; `slots` says which entry of the environment holds which variable or buffer."""

    def __init__(self, functions: Mapping[str, Any] | None = None, exact: bool = False) -> None:
        self.exact = exact
        self.pair = exact_pair if exact else pair
        self.slots: dict[Any, int] = {}
        self.aliases: dict[Var, list[int]] = {}
        """For each variable the slots of the buffers that it places, as their pointer or in their shape, strides and
        offset: views to forget when it changes."""
        self.functions = dict(functions or {})
        self.memo: dict[Any, Run] = {}
        self.depth: dict[Any, int] = {}

    def slot(self, owner: Any) -> int:
        """The slot of a variable or buffer."""
        found = self.slots.get(owner)
        if found is None:
            found = self.slots[owner] = len(self.slots)
            if isinstance(owner, Buffer):
                for var in _placing(owner):
                    self.aliases.setdefault(var, []).append(found)
        return found

    def binding(self, var: Var) -> tuple[int, list[int]]:
        """The slot of a variable, and those to clear whenever it gets a value."""
        return self.slot(var), self.aliases.setdefault(var, [])

    def expr(self, node: Any) -> Run:
        """The closure of an expression; parts shared in the program are compiled once."""
        memo = self.memo
        if node in memo:
            return memo[node]
        order = post_order(node, below=lambda n: () if n in memo else _parts(n))
        for part in order:
            if isinstance(part, tir.Let):
                self.slot(part.var)
        for part in order:
            if part not in memo:
                memo[part] = self._compile(part)
                self.depth[part] = 1 + max((self.depth.get(p, 0) for p in _parts(part)), default=0)
        return memo[node]

    def _compile(self, node: Any) -> Run:
        """The closure of a node whose parts are compiled."""
        if isinstance(node, (BinaryOp, tir.CompareOp)):
            return self.pair(node, self.expr(node.a), self.expr(node.b))
        compile_node = _COMPILERS.get(type(node))
        if compile_node is None:
            raise InternalError(f"the interpreter does not know {type(node).__name__}")
        return compile_node(self, node)

    @contextmanager
    def running(self) -> Iterator[None]:
        """While closures run: disable NumPy's warnings, and raise the recursion limit for deep expressions.

        Calls between Python functions use the heap, so the limit may be raised to the depth of the program.
        """
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 2 * max(self.depth.values(), default=0))
        try:
            with np.errstate(all="ignore"):
                yield
        finally:
            sys.setrecursionlimit(limit)

    # ------------------------------------------------------------------------------------------- leaves

    def _literal(self, node: Any) -> Run:
        if isinstance(node, FloatImm):
            value: Any = node.dtype.numpy.type(node.value)
        elif isinstance(node, IntImm):
            value = bool(node.value) if node.dtype.is_bool else node.value
        else:
            value = node.value
        return lambda env: value

    def _var(self, node: Var) -> Run:
        # Definitions are compiled before their scopes, so what has no slot yet is defined nowhere around here.
        if node not in self.slots:
            raise fail("tir-undefined", f"the variable {node.name} has no value here", span=node.span)
        return itemgetter(self.slots[node])

    # ------------------------------------------------------------------------------------- conditionals

    def _logical(self, node: Any) -> Run:
        a, b = self.expr(node.a), self.expr(node.b)
        if node.dtype.lanes > 1:
            ufunc = np.logical_or if isinstance(node, tir.Or) else np.logical_and
            return lambda env: ufunc(a(env), b(env))
        if isinstance(node, tir.Or):
            return lambda env: a(env) or b(env)
        return lambda env: a(env) and b(env)

    def _not(self, node: tir.Not) -> Run:
        value = self.expr(node.a)
        return (lambda env: ~value(env)) if node.dtype.lanes > 1 else (lambda env: not value(env))

    def _conditional(self, node: Any) -> Run:
        """`Select` and `if_then_else`: only the value chosen is evaluated."""
        is_select = isinstance(node, tir.Select)
        parts = (node.condition, node.true_value, node.false_value) if is_select else node.args
        test, yes, no = (self.expr(p) for p in parts)
        if parts[0].dtype.lanes > 1:
            return lambda env: np.where(test(env), yes(env), no(env))
        return lambda env: yes(env) if test(env) else no(env)

    def _let(self, node: tir.Let) -> Run:
        (slot, aliases), value, body = self.binding(node.var), self.expr(node.value), self.expr(node.body)

        def run(env: Env) -> Any:
            env[slot] = value(env)
            for alias in aliases:
                env[alias] = None
            return body(env)

        return run

    # ------------------------------------------------------------------------------- casts and vectors

    def _cast(self, node: tir.Cast) -> Run:
        value, convert = self.expr(node.value), converter(node.value.dtype, node.dtype)
        return lambda env: convert(value(env))

    def _ramp(self, node: tir.Ramp) -> Run:
        base, stride = self.expr(node.base), self.expr(node.stride)
        steps = np.arange(node.lanes, dtype=node.dtype.numpy)
        return lambda env: base(env) + steps * stride(env)

    def _broadcast(self, node: tir.Broadcast) -> Run:
        value, lanes, numpy = self.expr(node.value), node.lanes, node.dtype.numpy
        return lambda env: np.tile(np.asarray(value(env), dtype=numpy).reshape(-1), lanes)

    def _shuffle(self, node: tir.Shuffle) -> Run:
        vectors, picked = [self.expr(v) for v in node.vectors], [int(i) for i in node.indices]
        dtype = node.dtype

        def run(env: Env) -> Any:
            lanes = np.concatenate([np.atleast_1d(v(env)) for v in vectors])[picked]
            return from_numpy(lanes if dtype.lanes > 1 else lanes[0], dtype)

        return run

    # ------------------------------------------------------------------------------------------ buffers

    def view(self, buffer: Buffer) -> Run:
        """The NumPy view of a buffer: created on first use, dropped when its memory changes."""
        slot, memory = self.slot(buffer), self.expr(buffer.data)
        shape = [self.expr(d) for d in buffer.shape]
        strides = [self.expr(s) for s in buffer.strides]
        offset = self.expr(buffer.elem_offset) if buffer.elem_offset is not None else None
        numpy, lanes = buffer.dtype.numpy, buffer.dtype.lanes
        item = numpy.itemsize * lanes
        tail = (lanes,) if lanes > 1 else ()

        def run(env: Env) -> Any:
            found = env[slot]
            if found is None:
                sizes = tuple(int(d(env)) for d in shape) + tail
                steps = tuple(int(s(env)) * item for s in strides) + ((numpy.itemsize,) if tail else ())
                start = int(offset(env)) * item if offset is not None else 0
                flat = memory(env)
                found = np.ndarray(sizes, numpy, buffer=flat, offset=start, strides=steps if strides else None)
                env[slot] = found
            return found

        return run

    def indices(self, buffer: Buffer, indices: Sequence[Any]) -> Run:
        """The index tuple of an access, checked not to be negative (NumPy would count from the end)."""
        if len(indices) != buffer.ndim:
            raise fail("tir-indices", f"buffer {buffer.name} has {buffer.ndim} dims, got {len(indices)} indices")
        runs = [self.expr(i) for i in indices]
        name = buffer.name

        def run(env: Env) -> Any:
            found = tuple([r(env) for r in runs])
            if found and min(found) < 0:
                raise fail("tir-bounds", f"an index of {name}{list(found)} is negative")
            return found

        def run_vector(env: Env) -> Any:
            found = tuple([r(env) for r in runs])
            if any(np.min(index) < 0 for index in found):
                raise fail("tir-bounds", f"an index of {name}{list(found)} is negative")
            return found

        if runs_past_row(buffer, indices):
            shape = [d.value for d in buffer.shape if isinstance(d, IntImm)]
            return lambda env: _row_major(run_vector(env), shape, name)
        return run_vector if any(i.dtype.lanes > 1 for i in indices) else run

    def _load(self, node: BufferLoad) -> Run:
        view, at = self.view(node.buffer), self.indices(node.buffer, node.indices)
        name, is_plain = node.buffer.name, node.dtype.is_float or node.dtype.lanes > 1
        slot = self.slot(node.buffer)

        def run(env: Env) -> Any:
            array = env[slot]
            if array is None:
                array = view(env)
            index = at(env)
            try:
                value = array[index]
            except IndexError:
                shape = array.shape
                raise fail("tir-bounds", f"read of {name}{list(index)} is outside its shape {shape}") from None
            return value if is_plain else value.item()

        return run

    # -------------------------------------------------------------------------------------------- calls

    def _call(self, node: Call) -> Run:
        row = definition(node.op)
        return self._conditional(node) if row is not None and row.lazy else compile_call(self, node)


def _placing(buffer: Buffer) -> dict[Var, None]:
    """The variables on which it depends where a buffer's elements are."""
    offset = () if buffer.elem_offset is None else (buffer.elem_offset,)
    parts = (n for e in (*buffer.shape, *buffer.strides, *offset) if not isinstance(e, IntImm) for n in post_order(e))
    return dict.fromkeys((buffer.data, *(n for n in parts if isinstance(n, Var))))


def _parts(node: Any) -> list[Any]:
    """The expressions directly below one (the shapes of buffers are no parts of an access)."""
    if isinstance(node, (BinaryOp, tir.CompareOp, tir.LogicalOp)):
        return [node.a, node.b]
    if isinstance(node, BufferLoad):
        return list(node.indices)
    if is_packed_call(node):
        return list(read_packed_call(node).scalars)  # the rest describes tensors, and has no value
    found: list[Any] = []
    for spec in type(node).specs:
        content = getattr(node, spec.name)
        if isinstance(content, PrimExpr) and spec.role is not Role.BINDER:
            found.append(content)
        elif isinstance(content, tuple):
            found += [c for c in content if isinstance(c, PrimExpr)]
    return found


_COMPILERS: dict[type, Callable[[ExprCompiler, Any], Run]] = {
    IntImm: ExprCompiler._literal,
    FloatImm: ExprCompiler._literal,
    StringImm: ExprCompiler._literal,
    Var: ExprCompiler._var,
    tir.SizeVar: ExprCompiler._var,
    tir.And: ExprCompiler._logical,
    tir.Or: ExprCompiler._logical,
    tir.Not: ExprCompiler._not,
    tir.Select: ExprCompiler._conditional,
    tir.Let: ExprCompiler._let,
    tir.Cast: ExprCompiler._cast,
    tir.Ramp: ExprCompiler._ramp,
    tir.Broadcast: ExprCompiler._broadcast,
    tir.Shuffle: ExprCompiler._shuffle,
    BufferLoad: ExprCompiler._load,
    Call: ExprCompiler._call,
}
