"""CanonicalizeBindings: remove detours through copies, projections and casts.

    y = x                      z = R.add(x, x)
    z = R.add(y, y)      ->
    t = (a, b)                 R.exp(a)
    R.exp(t[0])
    w = R.match_cast(v, S)     w is v, where v is known to be exactly S already

Uses of a copy, of a projection of a known tuple, of a tuple of all projections of a tuple and of a match_cast that
cannot fail are replaced by the original value; uses of a constant's variable become the constant, whose binding stays
for DeadCodeElimination. A shape variable that a match_cast defines of a value of known size is that size everywhere:

    w = R.match_cast(x, R.Tensor((m,)))        (x: R.Tensor((n,)))       ->   x, and n for every m

An output of a dataflow block that merely copies a variable of the block takes its place; one that is not used outside
the block is no longer an output. A match_cast that may fail keeps its binding, and so do copies whose annotation says
more than is known of the value, and literals that are not tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from baton._src.analysis.exposure import Exposure
from baton._src.ir.expr import PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import children, post_order, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.same_info import same_info
from baton._src.relax.check.shape_map import get_shape_var_mapping
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, prim_vars
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class CanonicalizeBindings(FunctionPass):
    """See the module."""

    opt_level = 1
    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return canonicalized(function, module)


def canonicalized(function: Function, module: IRModule | None = None) -> Function:
    """See the module; `module` holds the functions that `function` calls."""
    known = with_known_sizes(function)
    return _Canonicalizer(module, known).function(known)


# ------------------------------------------------------------------------------------------------- shape variables


def with_known_sizes(function: Function) -> Function:
    """`function` with the shape variables that casts define replaced by the sizes the values are known to have."""
    known: dict[TirVar, PrimExpr] = {}
    simplify = Analyzer().simplify
    for symbol, cast in _single_definitions(function):
        size = get_shape_var_mapping(cast.struct_info, cast.value.struct_info).get(symbol)
        if size is not None:
            size = substitute(size, known)
            if symbol not in prim_vars(size):
                known[symbol] = size
    if not known:
        return function
    dims = {c for n in post_order(function, notes=True) if not isinstance(n, PrimExpr) for c in _dims(n)}
    changed = {d: simplify(substitute(d, known)) for d in dims if any(v in known for v in prim_vars(d))}
    found: Function = substitute(function, changed)
    return found


def _dims(node: Any) -> list[PrimExpr]:
    return [c for c in children(node, notes=True) if isinstance(c, PrimExpr)]


def _single_definitions(function: Function) -> Iterator[tuple[TirVar, MatchCast]]:
    """The shape variables that casts define, with the (first) cast; not those that several branches define."""
    first: dict[TirVar, tuple[SeqExpr | None, MatchCast | None]] = {}
    several: set[TirVar] = set()
    for node in reversed(post_order(function)):  # outer sequences before inner ones
        if isinstance(node, Function):
            for param in node.params:
                first.update((s, (None, None)) for s in definable_tir_vars_in_struct_info(param.struct_info))
        if isinstance(node, SeqExpr):
            for cast in (b for block in node.blocks for b in block.bindings if isinstance(b, MatchCast)):
                for symbol in definable_tir_vars_in_struct_info(cast.struct_info):
                    if first.setdefault(symbol, (node, cast))[0] is not node:
                        several.add(symbol)
    casts = [(s, c) for s, (_, c) in first.items() if c is not None and s not in several]
    yield from ((s, c) for s, c in casts if c.value.struct_info_ is not None)


# -------------------------------------------------------------------------------------------------------- bindings


class _Canonicalizer(BindingRewriter):
    def __init__(self, module: IRModule | None, function: Function) -> None:
        super().__init__(module)
        self.root = function
        self.used_outside = _used_outside(function)
        self.promoted: dict[Var, Var] = {}
        """Variables of the current block, and the outputs that replace them."""

    def enter_block(self, block: BindingBlock) -> None:
        if not isinstance(block, DataflowBlock):
            return
        own = {b.var for b in block.bindings}
        for binding in block.bindings:
            source = binding.value if isinstance(binding, VarBinding) else None
            output = not isinstance(binding.var, DataflowVar) and binding.var in self.used_outside
            if output and isinstance(source, DataflowVar) and source in own and source not in self.promoted:
                if same_info(source.struct_info_, binding.var.struct_info_):
                    self.promoted[source] = binding.var

    def visit_binding(self, binding: Binding) -> None:
        if binding.var is None:
            self.keep(binding)
            return
        var, value = binding.var, self._meant(binding)
        if value is var:
            return  # the output has taken its source's place
        if isinstance(value, Var) and self._may_stand_for(var, value) and self._says_no_more(var, value):
            self.replace(var, value)
            return
        own = self.promoted.get(var, var)
        if self.in_dataflow and not isinstance(own, DataflowVar) and own not in self.used_outside:
            own = DataflowVar(var.name_hint, var.struct_info)
        if own is not var:
            self.replace(var, own)
            binding = binding.with_fields(var=own)
        elif isinstance(value, Constant) and var not in self.written:
            self.replace(var, value)
        self.keep(binding)

    def _meant(self, binding: Any) -> Any:
        """The leaf for which the variable of `binding` is another name, or None."""
        if isinstance(binding, MatchCast):
            value = binding.value
            exact = isinstance(value, (Var, Constant)) and same_info(value.struct_info_, binding.struct_info)
            return value if exact and same_info(value.struct_info_, binding.var.struct_info_) else None
        value = binding.value
        if isinstance(value, TupleGetItem):
            value = self._field(value)
        elif isinstance(value, Tuple) and value.fields:
            value = self._whole_tuple(value)
        return value if isinstance(value, (Var, Constant)) else None

    def _may_stand_for(self, var: Var, value: Var) -> bool:
        """Whether uses of `var` may be replaced by `value`: a variable visible outside its block only by one that also
        is.
        """
        hidden = isinstance(value, DataflowVar) and var in self.used_outside
        return isinstance(var, DataflowVar) or not hidden

    def _says_no_more(self, var: Var, value: Var) -> bool:
        """Whether the annotation of `var` is implied by the StructInfo of `value`; if not, the copy is a check."""
        ours, theirs = var.struct_info_, value.struct_info_
        if ours is None or same_info(ours, theirs):
            return True
        return theirs is not None and struct_info_base_check(ours, theirs, self.prover) is BaseCheckResult.PASS

    @cached_property
    def prover(self) -> Analyzer:
        return Analyzer()

    @cached_property
    def written(self) -> Exposure | tuple[()]:
        """The variables whose tensors a call with effects may write (each evaluation of a constant is its own)."""
        exposure = Exposure(self.root)
        return exposure if exposure.has_effects else ()

    def _field(self, value: TupleGetItem) -> Any:
        """The field that a projection selects, if the tuple is known (through nested tuples); else the projection."""
        path, at = [value.index], self.resolved(value.tuple_value)
        while isinstance(at, TupleGetItem):
            path.append(at.index)
            at = self.resolved(at.tuple_value)
        field = None
        while path and isinstance(at, Tuple) and path[-1] < len(at.fields):
            field = at.fields[path.pop()]
            at = self.resolved(field)
        return value if path or not self._names_the_same(field) else field

    def _names_the_same(self, field: Any) -> bool:
        """Whether a field of a known tuple means the same here as it did there (each evaluation of a constant is a new
        value).
        """
        return not self.written if isinstance(field, Constant) else self.is_visible(field)

    def _whole_tuple(self, value: Tuple) -> Any:
        """The tuple of which `value` is an identical copy, field by field; else `value`."""
        parts = [self.resolved(f) for f in value.fields]
        if not all(isinstance(p, TupleGetItem) and p.index == n for n, p in enumerate(parts)):
            return value
        whole = parts[0].tuple_value
        if not self.is_visible(whole):
            return value
        info = whole.struct_info_
        complete = isinstance(info, TupleStructInfo) and len(info.fields) == len(parts)
        return whole if complete and all(p.tuple_value is whole for p in parts) else value


def _used_outside(function: Function) -> set[Var]:
    """The variables that anything but a dataflow block's own bindings uses."""
    home: dict[Var, BindingBlock] = {}
    uses: list[tuple[BindingBlock | None, Any]] = []
    for node in post_order(function):
        if isinstance(node, SeqExpr):
            uses.append((None, node.body))
            for block in node.blocks:
                inside = block if isinstance(block, DataflowBlock) else None
                home.update((b.var, block) for b in block.bindings)
                uses.extend((inside, b) for b in block.bindings)
        elif isinstance(node, Function) and not isinstance(node.body, SeqExpr):
            uses.append((None, node.body))
    return {v for block, user in uses for v in _direct_uses(user) if block is None or home.get(v, block) is not block}


def _direct_uses(user: Any) -> list[Var]:
    """The variables used directly in an expression or a binding, not in sequences inside of it."""
    value = user.value if isinstance(user, Binding) else user
    if isinstance(value, Function):
        return []
    value = value.cond if isinstance(value, If) else value
    return [n for n in post_order(value) if isinstance(n, Var)]
