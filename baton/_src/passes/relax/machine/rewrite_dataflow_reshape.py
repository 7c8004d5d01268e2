"""RewriteDataflowReshape: kernels that only reshape become views of their input.

    lv = R.call_tir(cls.reshape, (x,), out_sinfo=R.Tensor((2, 6), "float32"))
    ->
    lv = R.reshape(x, R.shape([2, 6]))

A kernel reshapes if it has one input, one output and each output element is the input element of the same row-major
position (`has_reshape_pattern`). Only inside dataflow blocks, and only for values that stay in their block: a value
that leaves it, directly, in a tuple or through a function's result, would share memory with another one. A reshape
whose view would share memory with a tensor written in place stays a copy.
"""

from __future__ import annotations

from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.analysis.liveness import may_alias, shared_memory, shared_operands
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.shared.kernel_stages import kernel_stages
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    ShapeExpr,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.special.calls import CallTIRInplaceAttrs
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.graphs import components
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad, IntImm
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class RewriteDataflowReshape(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Rewriter(module).function(function)


class _Rewriter(BindingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.call_tir = special_op("call_tir")
        self.known: dict[Any, bool] = {}
        self.kept: set[Any] = set()
        """Variables whose memory is visible after their block, or written in place."""

    def enter_block(self, block: BindingBlock) -> None:
        if isinstance(block, DataflowBlock):
            outputs = [b.var for b in block.bindings if not isinstance(b.var, DataflowVar)]
            self.kept |= shared_memory(outputs, shared_operands(block.bindings))
            self.kept |= self._overwritten(list(block.bindings))

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        if not self.in_dataflow or binding.var in self.kept or not self._is_reshape(value):
            return value
        shape = value.sinfo_args[0].shape
        assert isinstance(shape, ShapeExpr)
        return self.normalized(RelaxMaker(CATALOGUE.get("reshape"), CATALOGUE)(value.args[1].fields[0], shape))

    def _overwritten(self, bindings: list[Binding]) -> set[Any]:
        """The variables that would share memory with what a call writes in place, if every reshape were a view."""
        written = {b.var: _written_in_place(b.value) for b in bindings if isinstance(b, VarBinding)}
        roots = [arg for args in written.values() for arg in args]
        if not roots:
            return set()
        sharing: dict[Any, set[Any]] = {root: set() for root in roots}
        for binding in bindings:
            value = binding.value if isinstance(binding, VarBinding) else None
            shares = value is None or may_alias(value) or self._is_reshape(value)
            for other in used_vars(binding) if shares else written[binding.var]:
                sharing.setdefault(binding.var, set()).add(other)
                sharing.setdefault(other, set()).add(binding.var)
        return {var for group in components(sharing) if not set(group).isdisjoint(roots) for var in group}

    def _is_reshape(self, value: GraphExpr) -> bool:
        """Whether it is the call of a kernel that only reshapes."""
        if not isinstance(value, Call) or value.op is not self.call_tir or not isinstance(value.args[1], Tuple):
            return False
        args, info = value.args[1].fields, value.sinfo_args[0]
        if len(args) != 1 or not isinstance(info, TensorStructInfo) or not self._reshapes(value.args[0]):
            return False
        given = args[0].struct_info
        return isinstance(given, TensorStructInfo) and given.dtype == info.dtype

    def _reshapes(self, var: Any) -> bool:
        if var not in self.known:
            kernel = self.context.functions.get(var)
            self.known[var] = isinstance(kernel, PrimFunc) and has_reshape_pattern(kernel)
        return self.known[var]


def _written_in_place(value: GraphExpr) -> list[Any]:
    """The variables whose memory the call writes."""
    if not isinstance(value, Call) or not isinstance(value.attrs, CallTIRInplaceAttrs):
        return []
    is_kernel = value.op is special_op("call_tir_inplace")
    args = value.args[1].fields if is_kernel and isinstance(value.args[1], Tuple) else value.args[1:]
    written = [args[place] for place in value.attrs.inplace_indices if place >= 0]
    return [n for n in post_order(written) if isinstance(n, Var)]


def has_reshape_pattern(kernel: PrimFunc) -> bool:
    """Whether the kernel copies its one input to its one output, element by element in row-major order."""
    buffers = [kernel.buffer_map[p] for p in kernel.params if p in kernel.buffer_map]
    stages = kernel_stages(kernel)
    if len(buffers) != 2 or len(stages) != 1 or buffers[0].dtype != buffers[1].dtype:
        return False
    stage = stages[0]
    load = stage.value
    if stage.buffer is not buffers[1] or not stage.covers_buffer:
        return False
    if not isinstance(load, BufferLoad) or load.buffer is not buffers[0]:
        return False
    analyzer = Analyzer()
    if analyzer.equal(_size(buffers[0]), _size(buffers[1])) is not True:
        return False  # a slice from the front has the same positions
    for axis in stage.block.iter_vars:
        if axis.dom is not None:
            analyzer.bind(axis.var, axis.dom)
    return analyzer.equal(_position(load.indices, load.buffer), _position(stage.indices, stage.buffer)) is True


def _size(buffer: Buffer) -> Any:
    """The number of elements."""
    found: Any = IntImm("int64", 1)
    for dim in buffer.shape:
        found = found * dim
    return found


def _position(indices: tuple[PrimExpr, ...], buffer: Buffer) -> PrimExpr:
    """The row-major position of an element."""
    found: PrimExpr = IntImm(indices[0].dtype if indices else "int64", 0)
    for index, dim in zip(indices, buffer.shape):
        found = found * dim + index
    return found
