"""Computations of `te` as loop nests with a block inside: what `create_prim_func` puts together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.global_names import free_name
from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite, substitute
from baton._src.support.diagnostics import fail
from baton._src.te.extern_buffers import stands_for
from baton._src.te.tensor import ComputeOp, ExternOp, Operation, ScanOp, Tensor
from baton._src.tir import operators
from baton._src.tir.analysis.regions import point_regions
from baton._src.tir.buffer import Buffer, BufferRegion, decl_buffer
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import BufferLoad, Cast, IntImm, IterVar, ProducerLoad, Reduce, Var, literal
from baton._src.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    SeqStmt,
    Stmt,
    full_region,
    stores_at_once,
)
from baton._src.values.dtype import BOOL

_TRUE = IntImm(BOOL, 1)
Computed = ComputeOp | ExternOp | ScanOp

LAYOUT_FREE = "layout_free_placeholders"
"""The attribute of a computation whose tensors may be stored in other orders; it is one of the kernel (`prim_func`)."""


def _blocks_in(nest: Stmt) -> list[str]:
    """The names of the blocks inside a nest of loops."""
    while isinstance(nest, For):
        nest = nest.body
    parts = nest.seq if isinstance(nest, SeqStmt) else (nest,)
    return [part.block.name_hint for part in parts if isinstance(part, BlockRealize)]


def _in_one_nest(nests: Sequence[Stmt]) -> Stmt:
    """Nests of the same loops as one, with all of their blocks inside."""
    loops: list[For] = []
    bodies = list(nests)
    while isinstance(bodies[0], For):
        loops.append(bodies[0])
        same = {body.loop_var: loops[-1].loop_var for body in bodies if isinstance(body, For)}
        bodies = [substitute(body.body, same) for body in bodies if isinstance(body, For)]
    nest: Stmt = SeqStmt(tuple(bodies))
    for loop in reversed(loops):
        nest = loop.with_fields(body=nest)
    return nest


def _unused(hint: str, taken: set[str]) -> str:
    """`hint` as a name, numbered if it is taken; taken from now on."""
    base = "".join(c if c.isalnum() or c == "_" else "_" for c in hint) or "buffer"
    name = free_name(base, taken, "_")
    taken.add(name)
    return name


def sequence(statements: Sequence[Stmt]) -> Stmt:
    """One statement for several (or none)."""
    if not statements:
        return Evaluate(IntImm("int32", 0))
    return statements[0] if len(statements) == 1 else SeqStmt(tuple(statements))


class Graph:
    """The buffers of the tensors met so far, and the names taken."""

    def __init__(self, joined: Collection[Operation] = ()) -> None:
        """`joined`: computations all of whose results are made by one block, which schedules of `te` speak of."""
        self.joined = joined
        self.buffers: dict[tuple[Operation, int], Buffer] = {}
        self.buffer_names: set[str] = set()
        self.block_names: set[str] = {"root"}
        self.blocks: dict[Computed, list[str]] = {}
        self.steps: dict[Var, Var] = {}
        """Axes of scans' computations that are a step, and which."""
        self.row_axis: dict[Operation, int] = {}
        """Of values that a step keeps to itself: their axis that is the step. Their buffers have none for it."""
        self.rows: list[Buffer] = []
        """The buffers of such values: blocks of steps allocate them."""
        self.states: dict[Operation, Buffer] = {}
        """Placeholders of states: they stand for what the scan gives."""

    def declare(self, tensor: Tensor) -> Buffer:
        """The buffer of a tensor."""
        key = (tensor.op, tensor.value_index)
        found = self.buffers.get(key) or self.states.get(tensor.op)
        if found is None:
            if isinstance(tensor.op, ExternOp):
                found = self._of_its_own(tensor.op.output_buffers[tensor.value_index])
            else:
                outputs = len(tensor.op.body) if isinstance(tensor.op, ComputeOp) else 1
                hint = tensor.name if outputs == 1 else f"{tensor.name}_v{tensor.value_index}"
                found = decl_buffer(
                    self._element(tensor.op, tensor.shape), tensor.dtype, _unused(hint, self.buffer_names)
                )
            self.buffers[key] = found
        return found

    def _of_its_own(self, buffer: Buffer) -> Buffer:
        """The buffer that a hand-made statement writes; one like it if another statement was made over it, too."""
        if buffer not in self.buffers.values():
            return buffer
        return buffer.with_fields(data=buffer.data.copy(), name=_unused(buffer.name, self.buffer_names))

    def unique_block(self, hint: str) -> str:
        """A block name not used before. Blocks are numbered by themselves, in their order, as in TVM: what makes a
        parameter, which has its name from the start, may be the last block."""
        return _unused(hint, self.block_names)

    def statements(self, op: Computed) -> list[Stmt]:
        """The loop nests of one operation; `blocks` gets the names of theirs."""
        if op in self.blocks:
            raise fail("te-scan", f"{op.name} is what a step of a scan computes, and is used outside of it")
        match op:
            case ExternOp():
                nests = [self._extern(op)]
            case ScanOp():
                nests = self._scan(op)
            case _:
                nests = self._compute(op)
        self.blocks[op] = [name for nest in nests for name in _blocks_in(nest)]
        return nests

    def _compute(self, op: ComputeOp) -> list[Stmt]:
        outputs = [self.declare(op.output(i)) for i in range(op.num_outputs)]
        first = op.body[0]
        if isinstance(first, Reduce):
            return [self._reduction(op, first, outputs)]
        if op in self.joined:
            return [self._elementwise(op, op.body, outputs)]
        nests = [self._elementwise(op, (body,), [buffer]) for body, buffer in zip(op.body, outputs)]
        return nests if len(nests) == 1 else [_in_one_nest(nests)]

    def _elementwise(self, op: ComputeOp, bodies: Sequence[PrimExpr], outputs: list[Buffer]) -> Stmt:
        nest = self._nest(op.axis)
        at = self._element(op, nest.values(op.axis))
        stores = [BufferStore(output, self._lower(body, nest), at) for body, output in zip(bodies, outputs)]
        body = sequence(stores)
        return nest.close(self._block_name(op, outputs[0]), body, point_regions(body)[0], None, op.attrs)

    def _reduction(self, op: ComputeOp, reduce: Reduce, outputs: list[Buffer]) -> Stmt:
        nest = self._nest((*op.axis, *reduce.axis))
        at = self._element(op, nest.values(op.axis))
        source = [self._lower(s, nest) for s in reduce.source]
        condition = self._lower(reduce.condition, nest)
        combiner = reduce.combiner
        if not operators.is_const(condition, 1):
            source = [if_then_else(condition, s, e) for s, e in zip(source, combiner.identity_element)]
        start = [self._lower(e, nest) for e in reduce.init or combiner.identity_element]
        current = [BufferLoad(b, at) for b in outputs]
        bound: dict[Var, PrimExpr] = dict(zip((*combiner.lhs, *combiner.rhs), (*current, *source)))
        combined = [substitute(r, bound) for r in combiner.result]
        init = sequence([BufferStore(b, e, at) for b, e in zip(outputs, start)])
        body = stores_at_once(outputs, combined, at)
        # A reduction reads its own output only to update it: that is no input of the block. A scan's earlier steps are.
        earlier = point_regions(sequence([Evaluate(s) for s in source]))[0] if self.steps else []
        inputs = [r for r in point_regions(body)[0] if r.buffer not in outputs]
        inputs += [r for r in earlier if r.buffer in outputs]
        return nest.close(self._block_name(op, outputs[0]), body, inputs, init, op.attrs)

    def _extern(self, op: ExternOp) -> Stmt:
        actual = [self.declare(t) for t in op.inputs]
        outputs = [self.declare(op.output(i)) for i in range(op.num_outputs)]
        replaced: dict[Node, Node] = {}
        for own, given in zip((*op.input_buffers, *op.output_buffers), (*actual, *outputs)):
            replaced |= stands_for(op.name, own, given)
        body = substitute(op.body, replaced)
        reads = [full_region(b) for b in dict.fromkeys(actual)]
        block = Block((), reads, [full_region(b) for b in outputs], self.unique_block(op.name), body)
        return BlockRealize((), _TRUE, block)

    def _scan(self, op: ScanOp) -> list[Stmt]:
        """The first steps copied, then a loop over the others. A step is a block: its loops are scheduled within it."""
        outputs = [self.declare(op.output(i)) for i in range(op.num_outputs)]
        updates = {update.op for update in op.update}
        step = Var(f"v_{op.scan_axis.var.name}", op.scan_axis.var.dtype)
        for computed, place in op.steps.items():
            self.steps[computed.axis[place].var] = step
            self._require_unused(op, computed)
            if computed not in updates:
                self.row_axis[computed] = place
        for state, update, output in zip(op.state_placeholder, op.update, outputs):
            self.states[state.op] = self.buffers[update.op, update.value_index] = output
        first = [self._first_steps(init, output) for init, output in zip(op.init, outputs)]
        body = sequence([nest for computed in op.steps for nest in self.statements(computed)])
        rows = [b for (made_by, _), b in self.buffers.items() if made_by in op.steps and made_by in self.row_axis]
        self.rows += rows
        return [*first, _loop_over_steps(op.scan_axis, step, body, self.unique_block(f"{op.name}_step"), rows)]

    def _require_unused(self, scan: ScanOp, computed: ComputeOp) -> None:
        if any((computed, i) in self.buffers for i in range(computed.num_outputs)):
            raise fail(
                "te-scan",
                f"{computed.name} is what a step of {scan.name} computes, and is used outside of it",
                help=f"read {scan.name}, or give {computed.name} a state of its own",
            )

    def _first_steps(self, init: Tensor, output: Buffer) -> Stmt:
        source = self.declare(init)
        axes = [IterVar(Range(literal(0, n.dtype), n), Var(f"ax{i}", n.dtype)) for i, n in enumerate(init.shape)]
        nest = Nest(tuple(axes), {}, self._over)
        at = nest.values(nest.axes)
        store = BufferStore(output, BufferLoad(source, at), at)
        return nest.close(self.unique_block(f"{output.name}_init"), store, point_regions(store)[0], None, {})

    def _block_name(self, op: ComputeOp, output: Buffer) -> str:
        """That of the computation; where each of its values is made by a block of its own, that of the value."""
        is_one_block = op.num_outputs == 1 or isinstance(op.body[0], Reduce) or op in self.joined
        return self.unique_block(op.name if is_one_block else output.name)

    def _element(self, op: Operation, indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        place = self.row_axis.get(op)
        return indices if place is None else indices[:place] + indices[place + 1 :]

    def _nest(self, axes: tuple[IterVar, ...]) -> Nest:
        return Nest(axes, self.steps, self._over)

    def _lower(self, expr: PrimExpr, nest: Nest) -> PrimExpr:
        """An element expression over block variables and buffers."""
        return self._over(expr, nest.known)

    def _over(self, expr: PrimExpr, known: Mapping[Var, PrimExpr]) -> PrimExpr:
        """An expression over tensors and axes as one over buffers and what stands for the axes."""

        def rule(node: Node) -> Node | None:
            if isinstance(node, ProducerLoad):
                buffer = self.declare(node.producer)
                return BufferLoad(buffer, _as_indices(self._element(node.producer.op, node.indices), buffer))
            return known.get(node) if isinstance(node, Var) else None

        lowered: PrimExpr = rewrite(expr, rule)
        return lowered


def _loop_over_steps(axis: IterVar, step: Var, body: Stmt, name: str, rows: Sequence[Buffer]) -> Stmt:
    """Steps one after the other: the axis is one that goes on from what it did."""
    assert axis.dom is not None
    var = Var(axis.var.name, axis.var.dtype)
    reads, writes = ([r for r in regions if r.buffer not in rows] for regions in point_regions(body))
    block = Block((IterVar(axis.dom, step, "scan"),), reads, writes, name, body, alloc_buffers=rows)
    return For(var, axis.dom.min, axis.dom.extent, ForKind.SERIAL, BlockRealize((var,), _TRUE, block))


def _as_indices(indices: tuple[PrimExpr, ...], buffer: Buffer) -> tuple[PrimExpr, ...]:
    """Literal indices in the dtype of the dims they index, so that int64 shapes have int64 indices throughout."""
    return tuple(
        operators.cast(dim.dtype, i) if isinstance(i, (IntImm, Cast)) and i.dtype.bits < dim.dtype.bits else i
        for i, dim in zip(indices, buffer.shape)
    )


class Nest:
    """Loops over axes with a block inside: each axis has a loop variable and a block variable."""

    def __init__(
        self,
        axes: tuple[IterVar, ...],
        given: Mapping[Var, PrimExpr],
        over: Callable[[PrimExpr, Mapping[Var, PrimExpr]], PrimExpr],
    ) -> None:
        """`given`: axes that have a value instead of a loop. `over` puts what stands for axes into an extent: it may
        depend on the axes outside of its own, and read tensors."""
        self.axes = tuple(axis for axis in axes if axis.var not in given)
        self.loop_vars = [Var(axis.var.name, axis.var.dtype) for axis in self.axes]
        outside: dict[Var, PrimExpr] = {**given, **{a.var: v for a, v in zip(self.axes, self.loop_vars)}}
        self.domains = [Range(*(over(e, outside) for e in _bounds(axis))) for axis in self.axes]
        self.block_vars: dict[Var, Var] = {a.var: Var(f"v_{a.var.name}", a.var.dtype) for a in self.axes}
        self.known: dict[Var, PrimExpr] = {**given, **self.block_vars}

    def values(self, axes: tuple[IterVar, ...]) -> tuple[PrimExpr, ...]:
        """The block variables of some axes."""
        return tuple(self.known[axis.var] for axis in axes)

    def close(
        self, name: str, body: Stmt, reads: Sequence[BufferRegion], init: Stmt | None, attrs: Mapping[str, object]
    ) -> Stmt:
        """The loops, with a block of this body inside."""
        iters = [IterVar(dom, self.block_vars[a.var], a.iter_type) for a, dom in zip(self.axes, self.domains)]
        annotations = {key: value for key, value in attrs.items() if key != LAYOUT_FREE}
        block = Block(iters, reads, point_regions(body)[1], name, body, init, annotations=annotations)
        nest: Stmt = BlockRealize(tuple(self.loop_vars), _TRUE, block)
        for dom, var in zip(reversed(self.domains), reversed(self.loop_vars)):
            nest = For(var, dom.min, dom.extent, ForKind.SERIAL, nest)
        return nest


def _bounds(axis: IterVar) -> tuple[PrimExpr, PrimExpr]:
    assert axis.dom is not None
    return axis.dom.min, axis.dom.extent
