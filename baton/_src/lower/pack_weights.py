"""PackWeights: stores constant weights of matrix products in the order in which the kernel reads them.

    R.call_tir(cls.matmul_add, (x, W, b), ...)      ->      R.call_tir(cls.matmul_add_packed, (x, P, b), ...)

W is a constant (k, n), or (n, k), that a kernel multiplies by; P is the constant (panels, k, width) with P[j // width,
k, j % width] = W[k, j], and the kernel reads that. Columns beyond n are zeros. For dot instructions a few k are
adjacent: P[j // width, k // 4, j % width, k % 4] (`kernel_schedules/dot_products`). Weights of recurrent layers are
packed by blocks of hidden units instead, the gates of a block together. Runs on fused kernels: the layout is defined by
the schedule (`kernel_schedules/products/prepacked`, `recurrence`), but is part of the program, so that any rule,
interpreter or printer can read it.
"""

from __future__ import annotations

import numpy as np

from baton._src.ir.expr import GlobalVar, GraphExpr, Range
from baton._src.ir.global_names import free_name
from baton._src.ir.mentioned import mentioned
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order, rewrite
from baton._src.lower.kernel_schedules.dot_products.word_plan import packable_words
from baton._src.lower.kernel_schedules.products.packed_weights import Weight, packable_weight
from baton._src.lower.kernel_schedules.recurrence import packable_gates
from baton._src.lower.kernel_schedules.recurrence_parts import gate_panel
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.shared.filled_arrays import Filling, filling
from baton._src.relax.nodes import Call, Constant, Function, Tuple, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, BufferRegion, decl_buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.aligned import aligned
from baton._src.values.filled_tensor import unfinished
from baton._src.values.tensor import AnyArray, NDArray


@dataclass(frozen=True)
class PackWeights(Pass):
    """See the module."""

    opt_level = 2

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        target = Target.current(allow_none=True)
        if target is None or target.kind.name != "llvm":
            return module
        changed: dict[GlobalVar, Function] = {}
        with filling() as tensors:
            rewriter = _Packer(module, target, tensors)
            for var, function in module.functions.items():
                if isinstance(function, Function):
                    changed[var] = rewriter.function(function)
        if not rewriter.packed:
            return module
        functions = {**module.functions, **changed, **dict(rewriter.packed.values())}
        used = {n for f in functions.values() for n in mentioned(f)}
        gone = {v for v in rewriter.packed if v not in used and "global_symbol" not in functions[v].attrs}
        return module.with_functions({v: f for v, f in functions.items() if v not in gone})


class _Packer(BindingRewriter):
    def __init__(self, module: IRModule, target: Target, tensors: Filling) -> None:
        super().__init__(module)
        self.target = target
        self.tensors = tensors
        self.call_tir = special_op("call_tir")
        self.weights: dict[GlobalVar, Weight | None] = {}
        self.packed: dict[GlobalVar, tuple[GlobalVar, PrimFunc]] = {}
        """For each kernel the version that reads packed weights."""
        self.constants: dict[tuple[int, bool, int, int, int], Constant] = {}
        self.names = {v.name_hint for v in module.functions}

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> GraphExpr:
        found = self._packed(value)
        while found is not value:  # a kernel may have several weights
            value, found = found, self._packed(found)
        return value

    def _packed(self, value: GraphExpr) -> GraphExpr:
        """The call with one more weight packed; the call itself if there is none to pack."""
        if not isinstance(value, Call) or value.op is not self.call_tir:
            return value
        kernel, operands = value.args[0], value.args[1]
        if not isinstance(kernel, GlobalVar) or not isinstance(operands, Tuple):
            return value
        weight = self._weight(kernel)
        if weight is None or weight.place >= len(operands.fields):
            return value
        constant = operands.fields[weight.place]
        if not isinstance(constant, Constant) or 0 in constant.data.shape:
            return value
        fields = list(operands.fields)
        fields[weight.place] = self._constant(constant, weight)
        args = [self._kernel(kernel, weight), Tuple(fields), *value.args[2:]]
        found: GraphExpr = self.normalized(Call(value.op, args, value.attrs, value.sinfo_args, value.span))
        return found

    def _weight(self, kernel: GlobalVar) -> Weight | None:
        if kernel not in self.weights:
            function = self.context.functions.get(kernel)
            found = None
            if isinstance(function, PrimFunc):
                weight = (
                    packable_words(function, self.target)
                    or packable_weight(function, self.target)
                    or packable_gates(function, self.target)
                )
                found = weight if weight is not None and _read_once(function, weight.buffer) else None
            self.weights[kernel] = found
        return self.weights[kernel]

    def _constant(self, constant: Constant, weight: Weight) -> Constant:
        key = (id(constant), weight.columns_first, weight.width, weight.gates, weight.group)
        if key not in self.constants:
            self.constants[key] = Constant(self._packed_data(constant.data, weight))
        return self.constants[key]

    def _packed_data(self, data: NDArray, weight: Weight) -> NDArray:
        if weight.gates:
            return NDArray(aligned(gate_panels(_rows(data.data, weight), weight.width, weight.gates)))
        if weight.group > 1:
            return NDArray(aligned(word_panels(_rows(data.data, weight), weight.width, weight.group)))
        known = unfinished(data)
        k, n = _rows(known, weight).shape
        shape = (-(-n // weight.width), k, weight.width)
        return self.tensors.fill(shape, known.dtype, _write_panels, data, weight)

    def _kernel(self, kernel: GlobalVar, weight: Weight) -> GlobalVar:
        if kernel not in self.packed:
            function = self.context.functions[kernel]
            assert isinstance(function, PrimFunc)
            name = free_name(f"{kernel.name_hint}_packed", self.names)
            self.names.add(name)
            changed = reading_panels(function, weight)
            var = GlobalVar(name)
            self.context.functions[var] = changed
            self.packed[kernel] = (var, changed)
        return self.packed[kernel][0]


def _read_once(function: PrimFunc, buffer: Buffer) -> bool:
    """Whether the kernel uses a buffer in a single load only."""
    nodes = post_order(function.body)
    uses = [n for n in nodes if isinstance(n, (tir.BufferLoad, st.BufferStore)) and n.buffer is buffer]
    pointers = [n for n in nodes if isinstance(n, tir.Call) and buffer.data in n.args]
    return len(uses) == 1 and not pointers


def panels(matrix: AnyArray, width: int) -> AnyArray:
    """(k, n) as (panels, k, width); columns beyond n are zeros."""
    k, n = matrix.shape
    whole: AnyArray = np.empty((-(-n // width), k, width), matrix.dtype)
    _fill_panels(whole, matrix)
    return whole


def _rows(array: AnyArray, weight: Weight) -> AnyArray:
    return array.T if weight.columns_first else array


def _write_panels(whole: AnyArray, array: AnyArray, weight: Weight) -> None:
    _fill_panels(whole, _rows(array, weight))


def _fill_panels(whole: AnyArray, matrix: AnyArray) -> None:
    """Copy a panel row at a time if it is contiguous in the matrix: NumPy is slow with short innermost axes."""
    (k, n), width = matrix.shape, whole.shape[2]
    full = n // width
    if full and matrix.strides[1] == matrix.itemsize:
        cell = np.dtype((np.void, width * matrix.itemsize))
        whole[:full].view(cell)[..., 0] = matrix[:, : full * width].view(cell).T
    elif full:
        whole[:full] = matrix[:, : full * width].reshape(k, full, width).transpose(1, 0, 2)
    if full < len(whole):
        whole[full, :, : n - full * width] = matrix[:, full * width :]
        whole[full, :, n - full * width :] = 0


def word_panels(matrix: AnyArray, width: int, group: int) -> AnyArray:
    """(k, n) as (panels, words, width, group); elements beyond k and n are zeros."""
    k, n = matrix.shape
    words, count = -(-k // group), -(-n // width)
    whole = np.zeros((words * group, count * width), matrix.dtype)
    whole[:k, :n] = matrix
    return np.ascontiguousarray(whole.reshape(words, group, count, width).transpose(2, 0, 3, 1))


def gate_panels(matrix: AnyArray, width: int, gates: int) -> AnyArray:
    """(k, gates * units) as (blocks, k, gates, width); units beyond the last are zeros."""
    k, units = matrix.shape[0], matrix.shape[1] // gates
    count = -(-units // width)
    whole = np.zeros((k, gates, count * width), matrix.dtype)
    whole[:, :, :units] = matrix.reshape(k, gates, units)
    return np.ascontiguousarray(whole.reshape(k, gates, count, width).transpose(2, 0, 1, 3))


def reading_panels(function: PrimFunc, weight: Weight) -> PrimFunc:
    """The kernel with its weight parameter packed."""
    n, k = weight.buffer.shape if weight.columns_first else weight.buffer.shape[::-1]
    assert isinstance(n, tir.IntImm)
    assert isinstance(k, tir.IntImm)
    units = n.value // max(1, weight.gates)
    blocks = (-(-units // weight.width), k.value)
    shape = (*blocks, weight.gates, weight.width) if weight.gates else (*blocks, weight.width)
    if weight.group > 1:
        shape = (blocks[0], -(-k.value // weight.group), weight.width, weight.group)
    packed = decl_buffer([tir.IntImm("int64", s) for s in shape], weight.buffer.dtype, weight.buffer.name)
    whole = BufferRegion(packed, tuple(Range(tir.IntImm("int64", 0), dim) for dim in packed.shape))

    def rule(node: Node) -> Node | None:
        if isinstance(node, tir.BufferLoad) and node.buffer is weight.buffer:
            row, column = reversed(node.indices) if weight.columns_first else node.indices
            if weight.gates:
                return tir.BufferLoad(packed, gate_panel(column, row, units, weight.width))
            wide = tir.IntImm(column.dtype, weight.width)
            if weight.group > 1:
                word = tir.IntImm(row.dtype, weight.group)
                outer = (ops.floordiv(column, wide), ops.floordiv(row, word))
                return tir.BufferLoad(packed, (*outer, ops.floormod(column, wide), ops.floormod(row, word)))
            return tir.BufferLoad(packed, (ops.floordiv(column, wide), row, ops.floormod(column, wide)))
        if isinstance(node, st.Block) and any(r.buffer is weight.buffer for r in node.reads):
            return node.with_fields(reads=tuple(whole if r.buffer is weight.buffer else r for r in node.reads))
        return None

    param = next(p for p, b in function.buffer_map.items() if b is weight.buffer)
    buffers = {p: packed if p is param else b for p, b in function.buffer_map.items()}
    return function.with_fields(body=rewrite(function.body, rule), buffer_map=buffers)
