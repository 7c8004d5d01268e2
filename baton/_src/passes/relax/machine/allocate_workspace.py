"""AllocateWorkspace: allocate the workspace that external functions need once, and pass it to them.

    @R.function                                       @R.function
    def attention(x):                                 def attention_1(x, workspace: R.Tensor((65536,), "uint8")):
        R.func_attr({"Codegen": "ext",                    ...
                     "WorkspaceSize": 65536})   ->
    def main(x):                                      def main(x):
        y = cls.attention(x)                              workspace_main = R.builtin.alloc_tensor(R.shape([65536]),
                                                              R.dtype("uint8"), R.prim_value(0), R.str("global"))
                                                          y = cls.attention_1(x, workspace_main)

This concerns functions with the attribute `Codegen`; the size is their own attribute `WorkspaceSize` or the largest of
the functions inside them, which get the workspace, too; the attribute goes. Every caller of such functions allocates
one workspace of the largest size, since calls follow one another; inside its dataflow block if it has just that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.signatures import function_info
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    Function,
    PrimValue,
    ShapeExpr,
    StringImm,
    Var,
    VarBinding,
)
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

WORKSPACE_SIZE = "WorkspaceSize"


@dataclass(frozen=True)
class AllocateWorkspace(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        external = {
            v: f for v, f in module.functions.items() if isinstance(f, Function) and f.attrs.get("Codegen") is not None
        }
        sizes = {v: size for v, f in external.items() if (size := _workspace_size(f)) > 0}
        if not sizes:
            return module
        builder = BlockBuilder(module)
        renamed = {v: GlobalVar(builder.get_unique_name(v.name_hint)) for v in sizes}
        size = max(sizes.values())
        functions: dict[GlobalVar, Any] = {}
        for var, function in module.functions.items():
            if var in sizes:
                functions[renamed[var]] = _taking(module, function, size, renamed[var].name_hint)
            else:
                functions[var] = function
        callers = _Caller(module.with_functions(functions), renamed, size)
        return module.with_functions(
            {v: callers.function(f) if isinstance(f, Function) else f for v, f in functions.items()}
        )


def _workspace_size(function: Function) -> int:
    """The bytes a function needs, functions inside it included."""
    inner = [n for n in post_order(function) if isinstance(n, Function)]
    return max(int(f.attrs.get(WORKSPACE_SIZE, 0)) for f in inner)


def _info(size: int) -> TensorStructInfo:
    return TensorStructInfo([size], "uint8")


def _taking(module: IRModule, function: Function, size: int, name: str) -> Function:
    """The function with the workspace as its last parameter, under its new name."""
    workspace = Var("workspace", _info(size))
    own = _Handing(module, workspace).function(function)
    if "global_symbol" in own.attrs:
        own = own.with_attr("global_symbol", name)
    own = own.without_attr(WORKSPACE_SIZE)
    return own.with_fields(params=(*own.params, workspace), struct_info_=None)


class _Handing(BindingRewriter):
    """Passes the workspace of an external function to the functions inside it that need one."""

    def __init__(self, module: IRModule, workspace: Var) -> None:
        super().__init__(module)
        self.workspace = workspace
        self.taking: set[Var] = set()

    def visit_binding(self, binding: Binding) -> None:
        inner = binding.value if isinstance(binding, VarBinding) else None
        if not isinstance(inner, Function) or WORKSPACE_SIZE not in inner.attrs:
            super().visit_binding(binding)
            return
        own = Var("workspace", self.workspace.struct_info)
        made = inner.without_attr(WORKSPACE_SIZE).with_fields(params=(*inner.params, own), struct_info_=None)
        made = made.with_fields(struct_info_=function_info(made))
        var = self.with_info(binding.var, made.struct_info_)
        self.taking.add(var)
        self.keep(VarBinding(var, made, binding.span))

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if isinstance(value, Call) and value.op in self.taking:
            return value.with_fields(args=(*value.args, self.workspace))
        return value


class _Caller(BindingRewriter):
    """Passes the workspace of a function to all calls in it."""

    def __init__(self, module: IRModule, renamed: Mapping[GlobalVar, GlobalVar], size: int) -> None:
        super().__init__(module)
        self.renamed, self.size = renamed, size
        self.workspaces: list[Var] = []
        """The workspaces of the functions being visited, outermost first."""
        self.needed: set[Var] = set()

    def enter_function(self, function: Function) -> None:
        blocks = function.body.blocks
        inside = len(blocks) == 1 and isinstance(blocks[0], DataflowBlock)
        self.workspaces.append((DataflowVar if inside else Var)("workspace_main", _info(self.size)))

    def leave_function(self, function: Function) -> Function:
        workspace = self.workspaces.pop()
        if workspace not in self.needed:
            return function
        operands = [ShapeExpr([self.size]), DataTypeImm("uint8"), PrimValue(0), StringImm("global")]
        made = VarBinding(workspace, self.normalized(Call(special_op("builtin.alloc_tensor"), operands)))
        seq = function.body
        kind = DataflowBlock if isinstance(workspace, DataflowVar) else BindingBlock
        head, rest = (seq.blocks[0], seq.blocks[1:]) if type(seq.blocks[0]) is kind else (None, seq.blocks)
        first = kind([made, *(head.bindings if head is not None else ())])
        return function.with_fields(body=seq.with_fields(blocks=(first, *rest)))

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        new = self.renamed.get(value.op) if isinstance(value, Call) and isinstance(value.op, GlobalVar) else None
        if new is None:
            return value
        self.needed.add(self.workspaces[-1])
        return value.with_fields(op=new, args=(*value.args, self.workspaces[-1]))
