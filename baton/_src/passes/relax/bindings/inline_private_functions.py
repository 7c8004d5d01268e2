"""InlinePrivateFunctions: calls of private functions become their bodies.

    gv = cls.helper(x)      ->      lv = R.add(x, x); gv = R.exp(lv)

A private function (no `global_symbol`) is inlined into every call unless it calls itself, directly or through others.
Its shape variables become the dims of the arguments. Casts take over the checks that a call would make at run time: of
arguments that may not fit the parameters, and of a result that may not fit the declared one. Called in a dataflow
block, it must be a sequence of dataflow blocks; other calls there stay. Called outside of one, its dataflow blocks stay
what they are. Copies and unused bindings are then removed from the functions that changed, functions that are no longer
called from the module; Primitive functions and kernels are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from baton._src.analysis.call_graph import call_graph, detect_recursion
from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.ir.mentioned import mentioned
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute, with_fresh_binders
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.canonicalize_bindings import canonicalized
from baton._src.passes.relax.bindings.dead_code_elimination import remove_all_unused, remove_unreachable
from baton._src.relax.check.compatibility import is_subtype
from baton._src.relax.check.dims import Answer
from baton._src.relax.check.same_info import same_info
from baton._src.relax.check.shape_map import map_parameters
from baton._src.relax.check.variables import defined_symbolic_vars, leaf_dims, leaf_infos, prim_vars
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Expr,
    Function,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import StructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.graphs import components
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class InlinePrivateFunctions(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        recursive = {var for group in detect_recursion(module) for var in group}
        inliner = _Inliner(module)
        changed: dict[GlobalVar, Any] = {}
        for group in components(call_graph(module)):  # callees first
            for var in group:
                function = module.functions[var]
                if not isinstance(function, Function):
                    continue
                found = inliner.inlined(function)
                if found is not function:
                    changed[var] = found
                if var not in recursive and _is_private(found):
                    inliner.bodies[var] = found
        if not changed:
            return module
        functions = {var: changed.get(var, function) for var, function in module.functions.items()}
        return remove_unreachable(module.with_functions(functions))


def inline_functions(function: Function, bodies: Mapping[GlobalVar | str, Function]) -> Function:
    """`function` with the bodies of others, given by variable or name, in place of their calls. Calls inside these
    bodies are treated in the same way; copies and unused bindings that are left are removed. Error: `pass-recursive`
    if one calls itself, directly or through others.
    """
    named = {key if isinstance(key, str) else key.name_hint: body for key, body in bodies.items()}
    called = {v for f in (function, *named.values()) for v in mentioned(f)}
    known = {var: named[var.name_hint] for var in called if var.name_hint in named}
    own = GlobalVar("")  # no function that is called has this name
    module = IRModule({**known, own: function})
    for group in detect_recursion(module):
        names = ", ".join(sorted({var.name_hint for var in group}))
        raise fail("pass-recursive", f"functions that call themselves cannot be inlined: {names}")
    inliner = _Inliner(module)
    for (var,) in components(call_graph(module)):
        inliner.bodies[var] = inliner.inlined(module.functions[var])
    return inliner.bodies[own]


def _is_private(function: Function) -> bool:
    return "global_symbol" not in function.attrs and not function.attrs.get("Primitive")


class _Inliner(BindingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.module = module
        self.bodies: dict[GlobalVar, Function] = {}
        self.prover = Analyzer()
        self.finished: list[list[BindingBlock]] = []
        """The blocks made so far of each block being rewritten, from the outermost one."""

    def inlined(self, function: Function) -> Function:
        """The function with its calls inlined and tidied; the same object if there are none."""
        found = self.function(function)
        return function if found is function else remove_all_unused(canonicalized(found, self.module))

    def enter_block(self, block: BindingBlock) -> None:
        self.finished.append([])

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Sequence[BindingBlock]:
        finished = self.finished.pop()
        if not finished:
            return super().leave_block(block, bindings)
        return [*finished, BindingBlock(bindings, block.span)] if bindings else finished

    @contextmanager
    def _within(self, block: BindingBlock) -> Iterator[None]:
        """Add bindings of an inlined block: to a block of its own if it is one of dataflow and the present one is not,
        as passes look for dataflow.
        """
        outer = self.block
        apart = isinstance(block, DataflowBlock) and not isinstance(outer, DataflowBlock)
        if apart:
            self._finish()
            self.block = block
        yield
        if apart:
            self._finish()
            self.block = outer

    def _finish(self) -> None:
        """End the block of the bindings made so far."""
        assert self.block is not None
        if self._made:
            self.finished[-1].append(type(self.block)(self._made, self.block.span))
            self._made = []

    def visit_binding(self, binding: Binding) -> None:
        value = binding.value if isinstance(binding, VarBinding) else None
        function = self.bodies.get(value.op) if isinstance(value, Call) and isinstance(value.op, GlobalVar) else None
        if function is None or not isinstance(function.body, SeqExpr) or not self._fits_here(function.body):
            self.keep(binding)
            return
        assert isinstance(value, Call)
        fresh: Function = with_fresh_binders(function)
        own = {v: v.copy() for v in defined_symbolic_vars(fresh)}
        known = map_parameters((p.struct_info, a.struct_info) for p, a in zip(fresh.params, value.args))
        symbols: dict[TirVar, PrimExpr] = {**own, **known}
        casts = self._casts(fresh, value, symbols, set(own.values()))
        if casts is None:
            self.keep(binding)
            return
        for cast in casts.values():
            self.keep(cast)
        passed = [casts[p].var if p in casts else a for p, a in zip(fresh.params, value.args)]
        body: SeqExpr = substitute(fresh.body, {**dict(zip(fresh.params, passed)), **symbols})
        sharper = any(not same_info(p.struct_info_, a.struct_info_) for p, a in zip(function.params, passed))
        local = self.in_dataflow
        for block in body.blocks:
            with self._within(block):
                for inner in block.bindings:
                    renewed = self._renewed(inner)
                    placed = self._as_local(renewed) if local else renewed
                    self.keep(self._sharpened(placed) if sharper else placed)
        promised = substitute(fresh.ret_struct_info, {**dict(zip(fresh.params, passed)), **symbols})
        self._bind_result(binding, self._use(body.body), promised)

    def _fits_here(self, body: SeqExpr) -> bool:
        return not self.in_dataflow or all(isinstance(b, DataflowBlock) for b in body.blocks)

    def _casts(
        self, function: Function, call: Call, symbols: dict[TirVar, PrimExpr], unbound: set[TirVar]
    ) -> dict[Var, MatchCast] | None:
        """For each parameter that the argument may not fit, the cast that checks it, as the call did.

        The casts bind the shape variables `unbound`. None if a dim would be compared before it is bound.
        """
        casts: dict[Var, MatchCast] = {}
        held = dict(zip(function.params, call.args))  # parameters that hold shapes of others
        for param, argument in zip(function.params, call.args):
            wanted = substitute(param.struct_info, {**held, **symbols})
            if is_subtype(argument.struct_info, wanted, self.prover) is Answer.YES:
                continue
            for dim in (d for leaf in leaf_infos(wanted, into_functions=False) for d in leaf_dims(leaf)):
                if isinstance(dim, TirVar):
                    unbound.discard(dim)
                elif not unbound.isdisjoint(prim_vars(dim)):
                    return None
            kind = DataflowVar if self.in_dataflow else Var
            casts[param] = MatchCast(kind(param.name_hint, wanted), value=argument, struct_info=wanted)
        return casts

    def _bind_result(self, binding: Binding, result: Expr, promised: StructInfo | None) -> None:
        """Bind the variable of the call to the body's result, with a check if it may not fit the declared result."""
        if promised is None or is_subtype(result.struct_info, promised, self.prover) is Answer.YES:
            self.keep(VarBinding(binding.var, result, binding.span))
        else:
            self.keep(MatchCast(binding.var, value=result, struct_info=promised, span=binding.span))

    def _as_local(self, binding: Binding) -> Binding:
        """The binding with a variable that is local to the present dataflow block."""
        if isinstance(binding.var, DataflowVar):
            return binding
        new = DataflowVar(binding.var.name_hint, binding.var.struct_info_, binding.var.span)
        self.replace(binding.var, new)
        return binding.with_fields(var=new)

    def _sharpened(self, binding: Binding) -> Binding:
        """The binding with the StructInfo that follows from the caller's operands, if that says more than before."""
        value = binding.value if isinstance(binding, VarBinding) else None
        if not isinstance(value, (Call, Tuple, TupleGetItem)) or value.struct_info_ is None:
            return binding
        anew = self.normalized(value.with_fields(struct_info_=None))
        known = binding.var.struct_info_
        if same_info(known, anew.struct_info_) or is_subtype(anew.struct_info_, known, self.prover) is not Answer.YES:
            return binding
        return VarBinding(self.with_info(binding.var, anew.struct_info_), anew, binding.span)

    def _renewed(self, binding: Any) -> Any:
        if self.replaced:
            binding = self.with_holders(binding)
        return binding.with_fields(value=substitute(binding.value, self.replaced, notes=False))
