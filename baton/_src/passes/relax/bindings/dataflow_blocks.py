"""ConvertToDataflow and ToNonDataflow: runs of pure bindings become dataflow blocks, and back.

    lv = R.add(x, y)                     with R.dataflow():
    gv = R.exp(lv)              ->           lv = R.add(x, y)
    R.print(gv)                 <-           gv = R.exp(lv)
                                             R.output(gv)
                                         R.print(gv)

Branches, inner functions, recursive calls and calls with effects end a run; runs shorter than `min_size` stay. Inside
a block, variables nobody outside uses are DataflowVars.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from baton._src.analysis.purity import is_impure_call
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import children, post_order
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.check.recursion import detect_recursion
from baton._src.relax.check.variables import shape_holders
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Var,
    VarBinding,
)
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class ConvertToDataflow(FunctionPass):
    """Wrap runs of at least `min_size` pure bindings into dataflow blocks."""

    function_class = Function
    min_size: int = 2

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        wrapped = _Wrapper(self.min_size, function, module).function(function)
        return function if wrapped is function else _Renamer(_used_inside_only(wrapped)).function(wrapped)


@dataclass(frozen=True)
class ToNonDataflow(FunctionPass):
    """Make every block an ordinary one, and DataflowVars ordinary variables."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Unwrapper().function(function)


class _Wrapper(BindingRewriter):
    def __init__(self, min_size: int, function: Function, module: IRModule) -> None:
        super().__init__()
        self.min_size = min_size
        self.names = {
            b.value: b.var for b in post_order(function) if isinstance(b, VarBinding) and isinstance(b.value, Function)
        }
        self.defining: list[Any] = []
        """The variables of the local functions that are being rewritten, outermost first."""
        self.root, self.module = function, module

    @cached_property
    def partners(self) -> frozenset[GlobalVar]:
        """The global functions that this one is mutually recursive with, including itself."""
        own = {v for v, f in self.module.functions.items() if f is self.root}
        groups = (frozenset(group) for group in detect_recursion(self.module))
        return next((group for group in groups if group & own), frozenset())

    def enter_function(self, function: Function) -> None:
        self.defining.append(self.names.get(function))

    def leave_function(self, function: Function) -> Function:
        self.defining.pop()
        return function

    def _fits(self, binding: Binding) -> bool:
        """Whether a binding is allowed in a dataflow block: pure, no control flow, no recursion (criterion 7)."""
        if not _is_pure(binding):
            return False
        callee = getattr(binding.value, "op", None)
        if isinstance(callee, GlobalVar):
            return callee not in self.partners
        return not isinstance(callee, Var) or callee not in self.defining

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Sequence[BindingBlock]:
        if isinstance(block, DataflowBlock) or not any(_is_pure(b) for b in bindings):
            return super().leave_block(block, bindings)
        runs: list[tuple[bool, list[Binding]]] = []
        for binding in bindings:
            pure = self._fits(binding)
            if not runs or runs[-1][0] is not pure:
                runs.append((pure, []))
            runs[-1][1].append(binding)
        made: list[tuple[bool, list[Binding]]] = []
        for pure, run in runs:
            dataflow = pure and len(run) >= self.min_size
            if made and not dataflow and not made[-1][0]:
                made[-1][1].extend(run)
            else:
                made.append((dataflow, list(run)))
        if len(made) == 1 and not made[0][0]:
            return super().leave_block(block, bindings)
        return [(DataflowBlock if dataflow else BindingBlock)(run, block.span) for dataflow, run in made]


def _is_pure(binding: Binding) -> bool:
    if isinstance(binding, MatchCast):
        return True
    value = binding.value if isinstance(binding, VarBinding) else None
    if isinstance(value, (If, Function, SeqExpr)):
        return False
    return not (isinstance(value, Call) and is_impure_call(value))


def _used_inside_only(function: Function) -> set[Var]:
    """The ordinary variables bound in dataflow blocks and used nowhere outside of the block that binds them.

    A variable that holds the shape of others stays ordinary: no result's shape may refer to a DataflowVar, which is out
    of scope by then.
    """
    home: dict[Any, DataflowBlock] = {}
    outside: set[Any] = set()
    blocks = [n for n in post_order(function) if isinstance(n, (BindingBlock, SeqExpr, If))]
    for block in blocks:
        if isinstance(block, DataflowBlock):
            home.update((b.var, block) for b in block.bindings if b.var is not None)
    for block in blocks:
        uses = [n for n in post_order(block, below=_not_into_sequences) if isinstance(n, Var)]
        outside.update(holder for v in uses if v.struct_info_ is not None for holder in shape_holders(v.struct_info_))
        outside.update(v for v in uses if home.get(v) is not block)
    return {v for v in home if v not in outside and not isinstance(v, DataflowVar)}


def _not_into_sequences(node: Any) -> list[Any]:
    """The parts of a node that are evaluated in its own block; of a sequence only the body."""
    if isinstance(node, SeqExpr):
        return [node.body]
    if isinstance(node, If):
        return [node.cond]
    return [c for c in children(node) if not isinstance(c, BindingBlock)]


class _Renamer(BindingRewriter):
    """Makes the variables given DataflowVars."""

    def __init__(self, inner: set[Var]) -> None:
        super().__init__()
        self.inner = inner

    def visit_binding(self, binding: Binding) -> None:
        if binding.var in self.inner:
            new = DataflowVar(binding.var.name_hint, binding.var.struct_info_, binding.var.span)
            self.keep(binding.with_fields(var=new))
            self.replace(binding.var, new)
        else:
            self.keep(binding)


class _Unwrapper(BindingRewriter):
    def visit_binding(self, binding: Binding) -> None:
        if isinstance(binding.var, DataflowVar):
            new = Var(binding.var.name_hint, binding.var.struct_info_, binding.var.span)
            self.keep(binding.with_fields(var=new))
            self.replace(binding.var, new)
        else:
            self.keep(binding)

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Sequence[BindingBlock]:
        if isinstance(block, DataflowBlock):
            return (BindingBlock(bindings, block.span),) if bindings else ()
        return super().leave_block(block, bindings)
