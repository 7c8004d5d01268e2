"""FuseTIR: each Primitive function becomes one kernel, and its calls become call_tir.

    gv = cls.fused_add_exp(x, y)      ->      gv = R.call_tir(cls.fused_add_exp, (x, y), out_sinfo=...)

The kernels of the group are concatenated into one PrimFunc: its parameters are the function's tensors (tuples field by
field), then the results, then shape variables; what the group passes on internally is allocated inside. Scalar
constants become literals; blocks of the same name are numbered. A Primitive function that contains anything but calls
of kernels, tuples and projections is left alone, and so is one in which a kernel has to compare sizes.

With `inline`, as in the pipelines, `inline_elementwise` removes internal buffers where it can, and the kernel gets the
worst fusion class of its parts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.ir.mentioned import mentioned
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.op_def import Fusion
from baton._src.ir.traverse import bound_variables, rewrite, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.shared.inline_elementwise import inline_elementwise
from baton._src.passes.shared.kernel_stages import root_block
from baton._src.passes.tir.lowering.check_sizes import INLINED
from baton._src.relax.check.signatures import function_info
from baton._src.relax.nodes import Call, Constant, Function, SeqExpr, ShapeExpr, Tuple, TupleGetItem, Var, VarBinding
from baton._src.relax.own_variables import mentioned_symbols
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import BufferLoad, IntImm, literal
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BlockRealize, SeqStmt, Stmt, stmt_list
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import BOOL, HANDLE


@dataclass(frozen=True)
class FuseTIR(Pass):
    """See the module."""

    inline: bool = False

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        kernels: dict[GlobalVar, _Fused] = {}
        for var, function in module.functions.items():
            if isinstance(function, Function) and function.attrs.get("Primitive"):
                fused = _Fusion(module, function).run()
                if fused is not None:
                    kernels[var] = fused.inlined() if self.inline else fused
        if not kernels:
            return module
        rewriter = _Caller(module, kernels)
        functions: dict[GlobalVar, Any] = {}
        for var, function in module.functions.items():
            if var in kernels:
                functions[rewriter.names[var]] = kernels[var].function
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
    pattern: Fusion

    def inlined(self) -> _Fused:
        """The same with fewer internal buffers, and with the parts' fusion class."""
        return replace(self, function=inline_elementwise(self.function).with_attr("op_pattern", int(self.pattern)))


class _Caller(BindingRewriter):
    """Calls of fused functions as call_tir."""

    def __init__(self, module: IRModule, kernels: dict[GlobalVar, _Fused]) -> None:
        super().__init__(module)
        self.kernels = kernels
        self.names = {var: _named(var, kernel.function) for var, kernel in kernels.items()}
        """The kernels' own: those of the functions say that calls have no effects, but kernels write to arguments."""

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        kernel = self.kernels.get(value.op) if isinstance(value, Call) and isinstance(value.op, GlobalVar) else None
        if kernel is None:
            return value
        tensors = [t for i in kernel.tensor_args for t in self._tensors(value.args[i])]
        args: list[Any] = [self.names[value.op], Tuple(tensors)]
        if kernel.tir_vars:
            args.append(ShapeExpr([self.resolved(value.args[arg]).values[dim] for arg, dim in kernel.tir_vars]))
        return self.normalized(Call(special_op("call_tir"), args, None, (value.struct_info,), value.span))

    def _tensors(self, arg: Any) -> list[Any]:
        """The tensors that an argument consists of; fields of tuples are bound first."""
        if not isinstance(arg.struct_info, TupleStructInfo):
            return [arg]
        items = (self.emit(TupleGetItem(arg, n)) for n in range(len(arg.struct_info.fields)))
        return [t for item in items for t in self._tensors(item)]


def _named(var: GlobalVar, kernel: PrimFunc) -> GlobalVar:
    """A variable of this name that says what the kernel is."""
    return GlobalVar(var.name_hint).with_fields(span=var.span, struct_info_=function_info(kernel))


class _Fusion:
    """Combines the kernels of one Primitive function."""

    def __init__(self, module: IRModule, function: Function) -> None:
        self.module = module
        self.function = function
        self.buffers: dict[Any, list[Buffer]] = {}
        """The buffers of each variable's tensors; those of tuples field by field."""
        self.scalars: dict[Buffer, PrimExpr] = {}
        self.allocated: list[Buffer] = []
        self.body: list[Stmt] = []
        self.tests: list[PrimExpr] = []
        """Those of tensors that the kernels have inlined already."""
        self.pattern = Fusion.ELEMWISE
        self.analyzer = Analyzer()
        self.names: dict[str, int] = {}
        self.symbols: dict[Any, Any] = {}

    def run(self) -> _Fused | None:
        """The kernel; None where the function is of another form."""
        seq = self.function.body
        if not isinstance(seq, SeqExpr):
            return None
        self.symbols = {v: TirVar(v.name, v.dtype) for v in mentioned_symbols(self.function)}
        shapes = self._parameters()
        bindings = [b for block in seq.blocks for b in block.bindings]
        if shapes is None or not bindings or not all(map(self._append, bindings)):
            return None
        outputs = self._operand(seq.body)
        if not outputs or not set(outputs) <= set(self.allocated) or len(set(outputs)) < len(outputs):
            return None  # a parameter, or one tensor twice: such results are no kernel's
        self.allocated = [b for b in self.allocated if b not in outputs]
        return self._finish(shapes, outputs)

    def _parameters(self) -> list[Var] | None:
        """Declares the tensor parameters' buffers; gives the shape parameters."""
        shapes: list[Var] = []
        for param in self.function.params:
            info = param.struct_info
            if isinstance(info, ShapeStructInfo) and info.values is not None:
                shapes.append(param)
                continue
            tensors = _tensors_of(info)
            if tensors is None:
                return None
            several = isinstance(info, TupleStructInfo)
            hints = [f"{param.name_hint}_{n}" if several else param.name_hint for n in range(len(tensors))]
            self.buffers[param] = [self._declare(i, hint) for i, hint in zip(tensors, hints)]
        return shapes

    def _declare(self, info: TensorStructInfo, name: str) -> Buffer:
        assert isinstance(info.shape, ShapeExpr)
        dims = [substitute(d, self.symbols) for d in info.shape.values]
        return decl_buffer(dims, info.dtype, _numbered(name, self.names))

    def _append(self, binding: Any) -> bool:
        """Append the kernel that a binding calls; False if the binding does anything else but name results."""
        call = binding.value
        if not isinstance(call, Call):
            found = self._field(call) if isinstance(call, TupleGetItem) else self._operand(call)
            if found is not None:
                self.buffers[binding.var] = found
            return found is not None
        if call.op is not special_op("call_tir") or not isinstance(call.args[1], Tuple):
            return False
        kernel = self.module.functions.get(call.args[0])
        infos = _tensors_of(call.sinfo_args[0])
        root = root_block(kernel) if isinstance(kernel, PrimFunc) else None
        inputs = self._operand(call.args[1])
        if not isinstance(kernel, PrimFunc) or root is None or inputs is None or infos is None:
            return False
        several = isinstance(call.sinfo_args[0], TupleStructInfo)
        hint = binding.var.name_hint
        outputs = [self._declare(info, f"{hint}_{n}" if several else hint) for n, info in enumerate(infos)]
        self.buffers[binding.var] = outputs
        ints = [substitute(v, self.symbols) for v in call.args[2].values] if len(call.args) > 2 else []
        given = [*inputs, *outputs, *ints]
        sizes = self._sizes(kernel, given)
        if sizes is None:
            return False
        self._inline(kernel, root, given, sizes)
        self.allocated += outputs
        self.pattern = max(self.pattern, Fusion(int(kernel.attrs.get("op_pattern", Fusion.OPAQUE))))
        return True

    def _operand(self, arg: Any) -> list[Buffer] | None:
        """The buffers of an argument; a scalar constant gets one that `_finish` replaces by a literal."""
        if isinstance(arg, Tuple):
            parts = [self._operand(f) for f in arg.fields]
            return None if None in parts else [b for part in parts for b in part or ()]
        if arg not in self.buffers and isinstance(arg, Constant) and arg.data.ndim == 0:
            made = self._declare(TensorStructInfo(ShapeExpr(()), arg.data.dtype), "c")
            self.scalars[made] = literal(arg.data.data.item(), arg.data.dtype)
            self.buffers[arg] = [made]
        return self.buffers.get(arg)

    def _field(self, item: TupleGetItem) -> list[Buffer] | None:
        """The buffers of one field of a tuple."""
        whole, info = self._operand(item.tuple_value), item.tuple_value.struct_info
        if whole is None or not isinstance(info, TupleStructInfo):
            return None
        sizes = [len(_tensors_of(field) or ()) for field in info.fields]
        start = sum(sizes[: item.index])
        return whole[start : start + sizes[item.index]]

    def _sizes(self, kernel: PrimFunc, given: list[Any]) -> dict[Any, Any] | None:
        """What the kernel's sizes and integers are here; None if a call would have to compare sizes."""
        found = {param: actual for param, actual in zip(kernel.params, given) if param not in kernel.buffer_map}
        pairs = [
            pair
            for param, actual in zip(kernel.params, given)
            if param in kernel.buffer_map
            for pair in zip(kernel.buffer_map[param].shape, actual.shape)
        ]
        for dim, real in pairs:
            if isinstance(dim, TirVar):
                found.setdefault(dim, real)
        return found if all(self._are_equal(substitute(dim, found), real) for dim, real in pairs) else None

    def _are_equal(self, dim: PrimExpr, real: PrimExpr) -> bool:
        if isinstance(dim, IntImm) and isinstance(real, IntImm):
            return dim.value == real.value
        return dim is real or self.analyzer.equal(dim, real) is True

    def _inline(self, kernel: PrimFunc, root: Block, given: list[Any], sizes: dict[Any, Any]) -> None:
        """The kernel's statements over the given buffers, with fresh loop and block variables."""
        replaced = dict(sizes)
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
        self.body.extend(stmt_list(found.body))

    def _finish(self, shapes: list[Var], outputs: list[Buffer]) -> _Fused:
        tensors = [p for p in self.function.params if p not in shapes]
        buffers = [*(b for p in tensors for b in self.buffers[p]), *outputs]
        shown = {d for b in buffers for d in b.shape if isinstance(d, TirVar)}
        hidden: dict[Any, tuple[int, int]] = {}
        order = {p: n for n, p in enumerate(self.function.params)}
        for param in shapes:
            for number, dim in enumerate(param.struct_info.values):
                own = self.symbols.get(dim)
                if own is not None and own not in shown:
                    hidden.setdefault(own, (order[param], number))
        handles = [TirVar(f"var_{b.name}", HANDLE) for b in buffers]
        body = _with_own_block_names(self.body[0] if len(self.body) == 1 else SeqStmt(tuple(self.body)))
        allocated = [b for b in self.allocated if b not in self.scalars]
        noted = {INLINED: self.tests} if self.tests else {}
        root = Block((), (), (), "root", self._with_literals(body), alloc_buffers=allocated, annotations=noted)
        realize = BlockRealize((), IntImm(BOOL, 1), root)
        attrs = {"tir.noalias": True}
        function = PrimFunc([*handles, *hidden], realize, None, dict(zip(handles, buffers)), attrs)
        return _Fused(function, tuple(order[p] for p in tensors), tuple(hidden.values()), self.pattern)

    def _with_literals(self, body: Stmt) -> Stmt:
        if not self.scalars:
            return body

        def rule(node: Any) -> Node | None:
            if isinstance(node, BufferLoad):
                return self.scalars.get(node.buffer)
            if isinstance(node, Block) and any(r.buffer in self.scalars for r in node.reads):
                return node.with_fields(reads=tuple(r for r in node.reads if r.buffer not in self.scalars))
            return None

        found: Stmt = rewrite(body, rule)
        return found


def _tensors_of(info: StructInfo) -> list[TensorStructInfo] | None:
    """The tensors that a value consists of, if their dims are known; None for other kinds of values."""
    if isinstance(info, TensorStructInfo):
        return [info] if isinstance(info.shape, ShapeExpr) else None
    if not isinstance(info, TupleStructInfo):
        return None
    parts = [_tensors_of(f) for f in info.fields]
    return None if None in parts else [t for part in parts for t in part or ()]


def _with_own_block_names(body: Stmt) -> Stmt:
    """`body` with numbers appended to block names that earlier blocks have: `T_add`, `T_add_1`."""
    names: dict[str, int] = {}

    def rule(node: Any) -> Node | None:
        if not isinstance(node, Block) or (name := _numbered(node.name_hint, names)) == node.name_hint:
            return None
        return node.with_fields(name_hint=name)

    found: Stmt = rewrite(body, rule)
    return found


def _numbered(name: str, taken: dict[str, int]) -> str:
    """`name`, with a number if it is taken."""
    found = name
    while found in taken:
        taken[name] += 1
        found = f"{name}_{taken[name]}"
    taken[found] = 0
    return found


def _without_unused_kernels(module: IRModule, before: IRModule) -> IRModule:
    """The module without private PrimFuncs that were referenced before and no longer are."""
    used = {n for f in module.functions.values() for n in mentioned(f)}
    used_before = {n for f in before.functions.values() for n in mentioned(f)}
    kept = {
        var: function
        for var, function in module.functions.items()
        if var in used or var not in used_before or "global_symbol" in function.attrs
    }
    return module if len(kept) == len(module.functions) else module.with_functions(kept)
