"""FuseTIR: each Primitive function becomes one kernel, and its calls become call_tir.

    gv = cls.fused_add_exp(x, y)      ->      gv = R.call_tir(cls.fused_add_exp, (x, y), out_sinfo=...)

The kernels of the group are put one after the other into one PrimFunc: its parameters are the function's tensors, then
the result, then shape variables that no parameter shows; what the group passes on internally is allocated inside, and
`inline_elementwise` removes what it can of that. Scalar constants become literals. A Primitive function that holds
anything but calls of kernels with one tensor result is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Fusion
from baton._src.ir.traverse import bound_variables, post_order, rewrite, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.shared.inline_elementwise import inline_elementwise
from baton._src.passes.shared.kernel_stages import root_block, statements
from baton._src.passes.tir.check_sizes import INLINED
from baton._src.relax.nodes import Call, Constant, Function, SeqExpr, ShapeExpr, Tuple, Var, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import BufferLoad, IntImm, literal
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BlockRealize, SeqStmt, Stmt
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import BOOL, HANDLE


@dataclass(frozen=True)
class FuseTIR(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        kernels: dict[GlobalVar, _Fused] = {}
        for var, function in module.functions.items():
            if isinstance(function, Function) and function.attrs.get("Primitive"):
                fused = _Fusion(module, function).run(var.name_hint)
                if fused is not None:
                    kernels[var] = fused
        if not kernels:
            return module
        rewriter = _Caller(module, kernels)
        functions: dict[GlobalVar, Any] = {}
        for var, function in module.functions.items():
            if var in kernels:
                functions[var] = kernels[var].function
            else:
                functions[var] = rewriter.function(function) if isinstance(function, Function) else function
        return _without_unused_kernels(module.with_functions(functions), module)


@dataclass(frozen=True)
class _Fused:
    """The kernel of a Primitive function. `tensor_args`: which of the function's parameters it takes, in order."""

    function: PrimFunc
    tensor_args: tuple[int, ...]
    tir_vars: tuple[tuple[int, int], ...]
    """The trailing integers: (number of the shape parameter, number of the dim in it)."""


class _Caller(BindingRewriter):
    """Calls of fused functions as call_tir."""

    def __init__(self, module: IRModule, kernels: dict[GlobalVar, _Fused]) -> None:
        super().__init__(module)
        self.kernels = kernels
        self.context.functions.update({var: k.function for var, k in kernels.items()})

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        kernel = self.kernels.get(value.op) if isinstance(value, Call) and isinstance(value.op, GlobalVar) else None
        if kernel is None:
            return value
        args: list[Any] = [value.op, Tuple([value.args[i] for i in kernel.tensor_args])]
        if kernel.tir_vars:
            args.append(ShapeExpr([self.resolved(value.args[arg]).values[dim] for arg, dim in kernel.tir_vars]))
        return self.normalized(Call(special_op("call_tir"), args, None, (value.struct_info,), value.span))


class _Fusion:
    """Putting the kernels of one Primitive function together."""

    def __init__(self, module: IRModule, function: Function) -> None:
        self.module = module
        self.function = function
        self.buffers: dict[Any, Buffer] = {}
        self.scalars: dict[Buffer, PrimExpr] = {}
        self.allocated: list[Buffer] = []
        self.body: list[Stmt] = []
        self.tests: list[PrimExpr] = []
        """Those of tensors that the kernels have inlined already."""
        self.patterns: list[Fusion] = []
        self.names: dict[str, int] = {}
        self.symbols: dict[Any, Any] = {}

    def run(self, name: str) -> _Fused | None:
        """The kernel; None where the function is of another form."""
        seq = self.function.body
        if not isinstance(seq, SeqExpr) or not isinstance(seq.body, Var):
            return None
        symbols = {n for n in post_order(self.function, notes=True) if isinstance(n, TirVar)}
        self.symbols = {v: TirVar(v.name, v.dtype) for v in symbols}
        params = self._parameters()
        if params is None:
            return None
        bindings = [b for block in seq.blocks for b in block.bindings]
        if not bindings or bindings[-1].var is not seq.body:
            return None
        for binding in bindings:
            if not self._append(binding):
                return None
        output = self.buffers[seq.body]
        self.allocated.remove(output)
        return self._finish(params, output)

    def _parameters(self) -> list[Var] | None:
        """Declares the tensor parameters' buffers; gives the shape parameters."""
        shapes: list[Var] = []
        for param in self.function.params:
            info = param.struct_info
            if isinstance(info, ShapeStructInfo) and info.values is not None:
                shapes.append(param)
            elif isinstance(info, TensorStructInfo) and isinstance(info.shape, ShapeExpr):
                self._declare(param, info)
            else:
                return None
        return shapes

    def _declare(self, value: Any, info: TensorStructInfo, hint: str = "") -> Buffer:
        dims = [substitute(d, self.symbols) for d in info.shape.values]
        name = hint or getattr(value, "name_hint", "c")
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        buffer = decl_buffer(dims, info.dtype, name if count == 0 else f"{name}_{count}")
        self.buffers[value] = buffer
        return buffer

    def _append(self, binding: Any) -> bool:
        """Appends the kernel that a binding calls; False if it does anything else."""
        call = binding.value
        if not isinstance(call, Call) or call.op is not special_op("call_tir") or not isinstance(call.args[1], Tuple):
            return False
        kernel = self.module.functions.get(call.args[0])
        info = call.sinfo_args[0]
        if not isinstance(kernel, PrimFunc) or not isinstance(info, TensorStructInfo):
            return False
        root = root_block(kernel)
        if root is None:
            return False
        inputs = [self._operand(a) for a in call.args[1].fields]
        output = self._declare(binding.var, info)
        if None in inputs:
            return False
        self.allocated.append(output)
        ints = [substitute(v, self.symbols) for v in call.args[2].values] if len(call.args) > 2 else []
        self._inline(kernel, root, [*inputs, output, *ints])
        self.patterns.append(Fusion(int(kernel.attrs.get("op_pattern", Fusion.OPAQUE))))
        return True

    def _operand(self, arg: Any) -> Buffer | None:
        """The buffer of an argument; a scalar constant gets one that `_finish` replaces by a literal."""
        known = self.buffers.get(arg)
        if known is None and isinstance(arg, Constant) and arg.data.ndim == 0:
            known = self._declare(arg, TensorStructInfo(ShapeExpr(()), arg.data.dtype))
            self.scalars[known] = literal(arg.data.data.item(), arg.data.dtype)
        return known

    def _inline(self, kernel: PrimFunc, root: Block, given: list[Any]) -> None:
        """The kernel's statements in terms of the buffers given, with loop and block variables of its own."""
        replaced: dict[Any, Any] = {}
        for param, actual in zip(kernel.params, given):
            buffer = kernel.buffer_map.get(param)
            if buffer is None:
                replaced[param] = actual
                continue
            for dim, real in zip(buffer.shape, actual.shape):
                if isinstance(dim, TirVar):
                    replaced.setdefault(dim, real)
        for param, actual in zip(kernel.params, given):
            buffer = kernel.buffer_map.get(param)
            if buffer is not None:
                replaced[buffer] = actual
                replaced[buffer.data] = actual.data
        for variable in bound_variables(root):
            if variable not in replaced:
                replaced[variable] = variable.copy()
        found: Block = substitute(root, replaced)
        self.allocated.extend(found.alloc_buffers)
        self.tests.extend(found.annotations.get(INLINED, ()))
        self.body.extend(statements(found.body))

    def _finish(self, shapes: list[Var], output: Buffer) -> _Fused:
        tensors = [p for p in self.function.params if p not in shapes]
        buffers = [*(self.buffers[p] for p in tensors), output]
        shown = {d for b in buffers for d in b.shape if isinstance(d, TirVar)}
        hidden: dict[Any, tuple[int, int]] = {}
        order = {p: n for n, p in enumerate(self.function.params)}
        for param in shapes:
            for number, dim in enumerate(param.struct_info.values):
                own = self.symbols.get(dim)
                if own is not None and own not in shown:
                    hidden.setdefault(own, (order[param], number))
        handles = [TirVar(f"var_{b.name}", HANDLE) for b in buffers]
        body = self.body[0] if len(self.body) == 1 else SeqStmt(tuple(self.body))
        allocated = [b for b in self.allocated if b not in self.scalars]
        noted = {INLINED: self.tests} if self.tests else {}
        root = Block((), (), (), "root", self._with_literals(body), alloc_buffers=allocated, annotations=noted)
        realize = BlockRealize((), IntImm(BOOL, 1), root)
        attrs = {"tir.noalias": True, "op_pattern": int(max(self.patterns))}
        function = PrimFunc([*handles, *hidden], realize, None, dict(zip(handles, buffers)), attrs)
        return _Fused(inline_elementwise(function), tuple(order[p] for p in tensors), tuple(hidden.values()))

    def _with_literals(self, body: Stmt) -> Stmt:
        if not self.scalars:
            return body

        def rule(node: Any) -> Any:
            if isinstance(node, BufferLoad):
                return self.scalars.get(node.buffer)
            if isinstance(node, Block) and any(r.buffer in self.scalars for r in node.reads):
                return node.with_fields(reads=tuple(r for r in node.reads if r.buffer not in self.scalars))
            return None

        found: Stmt = rewrite(body, rule)
        return found


def _without_unused_kernels(module: IRModule, before: IRModule) -> IRModule:
    """The module without PrimFuncs that nobody mentions any more (those that were mentioned before and are private)."""
    used = {n for f in module.functions.values() for n in post_order(f) if isinstance(n, GlobalVar)}
    used_before = {n for f in before.functions.values() for n in post_order(f) if isinstance(n, GlobalVar)}
    kept = {
        var: function
        for var, function in module.functions.items()
        if var in used or var not in used_before or "global_symbol" in function.attrs
    }
    return module if len(kept) == len(module.functions) else module.with_functions(kept)
