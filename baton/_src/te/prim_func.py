"""`create_prim_func`: a graph of tensors becomes a PrimFunc, one block a computation.

A[n, 128] -> B = exp(A) -> C = sum(B, k)       create_prim_func([A, C])
becomes
for i, j: block B: B[i, j] = exp(A[i, j])      (B is allocated: it is no parameter)
for i, k: block C: init C[i] = 0; C[i] = C[i] + B[i, k]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.support.diagnostics import fail
from baton._src.te.tensor import ComputeOp, ExternOp, PlaceholderOp, Tensor
from baton._src.tir import operators
from baton._src.tir.buffer import Buffer, BufferRegion, decl_buffer
from baton._src.tir.expr import BufferLoad, Cast, IntImm, IterVar, ProducerLoad, Reduce, Var
from baton._src.tir.index_dtype import with_index_dtype
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.regions import point_regions
from baton._src.tir.scalar_functions import if_then_else
from baton._src.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    LetStmt,
    SeqStmt,
    Stmt,
    full_region,
)
from baton._src.values.dtype import BOOL, HANDLE, DataType

_TRUE = IntImm(BOOL, 1)


def create_prim_func(
    args: Sequence[Any],
    index_dtype_override: str | None = None,
    *,
    name: str = "main",
    attrs: dict[str, Any] | None = None,
) -> PrimFunc:
    """A PrimFunc with these tensors (inputs and outputs, in any order) and scalar variables as params.

    Tensors that are computed but not listed are allocated inside. Attributes: `global_symbol` (`name`) and
    `tir.noalias`, and those given. Loops and sizes have `index_dtype_override` instead of the dtype of the sizes.
    """
    function = prim_func_with_blocks(args, name, attrs)[0]
    return function if index_dtype_override is None else with_index_dtype(function, DataType(index_dtype_override))


def prim_func_with_blocks(
    args: Sequence[Any], name: str = "main", attrs: dict[str, Any] | None = None
) -> tuple[PrimFunc, dict[ComputeOp | ExternOp, list[str]]]:
    """`create_prim_func`, and the names of the blocks that each operation became."""
    graph = _Graph()
    params: list[Var] = []
    buffer_map: dict[Var, Buffer] = {}
    for arg in args:
        if isinstance(arg, Tensor):
            buffer = graph.declare(arg)
            handle = Var(f"var_{buffer.name}", HANDLE)
            params.append(handle)
            buffer_map[handle] = buffer
        elif isinstance(arg, Var):
            params.append(arg)
        else:
            raise fail("te-argument", f"create_prim_func takes tensors and variables, got {arg!r}")
    given = set(buffer_map.values())
    made = {op: graph.statements(op) for op in _ordered([a for a in args if isinstance(a, Tensor)])}
    statements = [s for nests in made.values() for s in nests]
    allocated = [b for b in graph.buffers.values() if b not in given]
    root = Block((), (), (), "root", sequence(statements), alloc_buffers=allocated)
    found = {"global_symbol": name, "tir.noalias": True, **(attrs or {})}
    func = PrimFunc(params, BlockRealize((), _TRUE, root), None, buffer_map, found)
    return func, {op: [_block_name(nest) for nest in nests] for op, nests in made.items()}


def _block_name(nest: Stmt) -> str:
    while isinstance(nest, For):
        nest = nest.body
    assert isinstance(nest, BlockRealize)
    return nest.block.name_hint


def sequence(statements: Sequence[Stmt]) -> Stmt:
    """One statement for several (or none)."""
    if not statements:
        return Evaluate(IntImm("int32", 0))
    return statements[0] if len(statements) == 1 else SeqStmt(tuple(statements))


def input_tensors(op: PlaceholderOp | ComputeOp | ExternOp) -> list[Tensor]:
    """The tensors an operation reads, each once, in order of first use."""
    if isinstance(op, ExternOp):
        return list(dict.fromkeys(op.inputs))
    if isinstance(op, PlaceholderOp):
        return []
    loads = (n.producer for n in post_order(op.body) if isinstance(n, ProducerLoad))
    return list(dict.fromkeys(loads))


def _ordered(tensors: Sequence[Tensor]) -> list[ComputeOp | ExternOp]:
    """The operations behind the tensors, producers first."""
    found: dict[Any, None] = {}
    stack: list[tuple[Any, bool]] = [(t.op, False) for t in reversed(tensors)]
    while stack:
        op, done = stack.pop()
        if op in found or isinstance(op, PlaceholderOp):
            continue
        if done:
            found[op] = None
            continue
        stack.append((op, True))
        stack += [(t.op, False) for t in reversed(input_tensors(op)) if t.op not in found]
    return list(found)


class _Graph:
    """The buffers of the tensors met so far, and the names taken."""

    def __init__(self) -> None:
        self.buffers: dict[tuple[Any, int], Buffer] = {}
        self.taken: set[str] = {"root"}

    def declare(self, tensor: Tensor) -> Buffer:
        """The buffer of a tensor."""
        key = (tensor.op, tensor.value_index)
        found = self.buffers.get(key)
        if found is None:
            if isinstance(tensor.op, ExternOp):
                found = tensor.op.output_buffers[tensor.value_index]
            else:
                outputs = len(tensor.op.body) if isinstance(tensor.op, ComputeOp) else 1
                hint = tensor.name if outputs == 1 else f"{tensor.name}_v{tensor.value_index}"
                found = decl_buffer(tensor.shape, tensor.dtype, self.unique(hint))
            self.buffers[key] = found
        return found

    def unique(self, hint: str) -> str:
        """A buffer name not used before."""
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in hint) or "buffer"
        name, count = base, 0
        while name in self.taken:
            count += 1
            name = f"{base}_{count}"
        self.taken.add(name)
        return name

    def statements(self, op: ComputeOp | ExternOp) -> list[Stmt]:
        """The loop nests of one operation."""
        if isinstance(op, ExternOp):
            return [self._extern(op)]
        outputs = [
            self.declare(Tensor(tuple(axis.extent for axis in op.axis), body.dtype, op, i))
            for i, body in enumerate(op.body)
        ]
        first = op.body[0]
        if isinstance(first, Reduce):
            return [self._reduction(op, first, outputs)]
        return [self._elementwise(op, body, buffer) for body, buffer in zip(op.body, outputs)]

    def _elementwise(self, op: ComputeOp, body: PrimExpr, output: Buffer) -> Stmt:
        nest = _Nest(op.axis)
        store = BufferStore(output, self._lower(body, nest), nest.values(op.axis))
        return nest.close(output.name, store, None, [output], op.attrs)

    def _reduction(self, op: ComputeOp, reduce: Reduce, outputs: list[Buffer]) -> Stmt:
        nest = _Nest((*op.axis, *reduce.axis))
        at = nest.values(op.axis)
        source = [self._lower(s, nest) for s in reduce.source]
        condition = self._lower(reduce.condition, nest)
        combiner = reduce.combiner
        if not operators.is_const(condition, 1):
            source = [if_then_else(condition, s, e) for s, e in zip(source, combiner.identity_element)]
        start = [self._lower(e, nest) for e in reduce.init or combiner.identity_element]
        current = [BufferLoad(b, at) for b in outputs]
        bound: dict[Any, Any] = dict(zip((*combiner.lhs, *combiner.rhs), (*current, *source)))
        combined = [substitute(r, bound) for r in combiner.result]
        init = sequence([BufferStore(b, e, at) for b, e in zip(outputs, start)])
        return nest.close(outputs[0].name, _stores(outputs, combined, at), init, outputs, op.attrs)

    def _extern(self, op: ExternOp) -> Stmt:
        actual = [self.declare(t) for t in op.inputs]
        replaced: dict[Any, Any] = {}
        for own, given in zip(op.input_buffers, actual):
            replaced[own] = given
            replaced[own.data] = given.data
        body = substitute(op.body, replaced)
        outputs = [self.declare(Tensor(b.shape, b.dtype, op, i)) for i, b in enumerate(op.output_buffers)]
        reads = [full_region(b) for b in dict.fromkeys(actual)]
        block = Block((), reads, [full_region(b) for b in outputs], op.name, body)
        return BlockRealize((), _TRUE, block)

    def _lower(self, expr: PrimExpr, nest: _Nest) -> PrimExpr:
        """An element expression over block variables and buffers."""

        def rule(node: Node) -> Node | None:
            if isinstance(node, ProducerLoad):
                buffer = self.declare(node.producer)
                return BufferLoad(buffer, _as_indices(node.indices, buffer))
            return nest.block_vars.get(node) if isinstance(node, Var) else None

        lowered: PrimExpr = rewrite(expr, rule)
        return lowered


def _as_indices(indices: tuple[PrimExpr, ...], buffer: Buffer) -> tuple[PrimExpr, ...]:
    """Literal indices in the dtype of the dims they index, so that int64 shapes have int64 indices throughout."""
    return tuple(
        operators.cast(dim.dtype, i) if isinstance(i, (IntImm, Cast)) and i.dtype.bits < dim.dtype.bits else i
        for i, dim in zip(indices, buffer.shape)
    )


def _stores(outputs: list[Buffer], values: list[PrimExpr], at: tuple[PrimExpr, ...]) -> Stmt:
    """The stores of a reduction's update; several parts are all computed before any is stored."""
    if len(outputs) == 1:
        return BufferStore(outputs[0], values[0], at)
    held = [Var(f"v_{b.name}", b.dtype) for b in outputs]
    body = sequence([BufferStore(b, v, at) for b, v in zip(outputs, held)])
    for var, value in zip(reversed(held), reversed(values)):
        body = LetStmt(var, value, body)
    return body


class _Nest:
    """Loops over axes with a block inside: each axis has a loop variable and a block variable."""

    def __init__(self, axes: tuple[IterVar, ...]) -> None:
        self.axes = axes
        self.loop_vars = [Var(axis.var.name, axis.var.dtype) for axis in axes]
        self.block_vars: dict[Any, Var] = {a.var: Var(f"v_{a.var.name}", a.var.dtype) for a in axes}

    def values(self, axes: tuple[IterVar, ...]) -> tuple[PrimExpr, ...]:
        """The block variables of some axes."""
        return tuple(self.block_vars[axis.var] for axis in axes)

    def close(self, name: str, body: Stmt, init: Stmt | None, outputs: list[Buffer], attrs: dict[str, Any]) -> Stmt:
        """The loops, with a block of this body inside."""
        iters = []
        for axis in self.axes:
            assert axis.dom is not None
            iters.append(IterVar(Range(axis.dom.min, axis.dom.extent), self.block_vars[axis.var], axis.iter_type))
        reads, writes = point_regions(body)
        # A reduction reads its own output only to update it: that is no input of the block.
        inputs: list[BufferRegion] = [r for r in reads if r.buffer not in outputs] if init is not None else reads
        block = Block(iters, inputs, writes, name, body, init, annotations=attrs)
        nest: Stmt = BlockRealize(tuple(self.loop_vars), _TRUE, block)
        for axis, var in zip(reversed(self.axes), reversed(self.loop_vars)):
            assert axis.dom is not None
            nest = For(var, axis.dom.min, axis.dom.extent, ForKind.SERIAL, nest)
        return nest
