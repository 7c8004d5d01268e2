"""FuseOpsByPattern: what matches a pattern moves into a function of its own, for an external compiler or for fusing.

    lv = R.matmul(x, w)                               gv = cls.fused_relax_matmul_relax_nn_relu(x, w)
    gv = R.nn.relu(lv)                      ->        @R.function(private=True)
                                                      def fused_...(x, w):  R.func_attr({"Composite": "test.mm_relu",
                                                                                         "Primitive": 1}) ...

Patterns are tried in order; within a dataflow block the match that ends latest goes first, so that the largest wins.
No value from the middle of a match may be used outside of it. With `bind_constants` constants move into the function.
With `annotate_codegen` each function stands inside of one with the attributes `Codegen` (the pattern's name up to the
first dot) and `global_symbol`; else MergeCompositeFunctions does that for neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.analysis.exposure import overwritten_later
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter, rewrite_functions
from baton._src.passes.relax.bindings.topological_sort import in_order
from baton._src.passes.relax.fusion.unshown_shape_vars import unshown_shape_vars
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.signatures import function_info
from baton._src.relax.known_functions import KnownFunctions
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
    ShapeExpr,
    Var,
    VarBinding,
)
from baton._src.relax.patterns.match import Matcher
from baton._src.relax.patterns.nodes import DFPattern
from baton._src.relax.struct_info import ShapeStructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class PatternCheckContext:
    """What a pattern's `check` may look at."""

    matched_expr: Any
    annotated_expr: Mapping[str, Any]
    matched_bindings: Mapping[Var, Any]
    var_usages: Mapping[Var, Sequence[Var]]
    value_to_bound_var: Mapping[Any, Var]


@dataclass(frozen=True, eq=False)
class FusionPattern:
    """A pattern by name. `check(context)` may refuse a match; `annotation_patterns` name parts of it for `check`, and
    for `attrs_getter`, which makes attributes of the composite function from these parts."""

    name: str
    pattern: DFPattern
    annotation_patterns: Mapping[str, DFPattern] | None = None
    check: Callable[[PatternCheckContext], bool] | None = None
    attrs_getter: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class FuseOpsByPattern(Pass):
    """See the module. Patterns are `FusionPattern`s, or tuples (name, pattern[, annotations[, check]])."""

    patterns: Sequence[Any]
    bind_constants: bool = True
    annotate_codegen: bool = False
    entry_functions: Sequence[str] | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        patterns = [as_fusion_pattern(p) for p in self.patterns]
        rewriter = _Fuser(module, patterns, self.bind_constants, self.annotate_codegen)
        return rewrite_functions(module, rewriter.function, rewriter.builder, self._treats)

    def _treats(self, var: GlobalVar, function: Function) -> bool:
        entry = not self.entry_functions or var.name_hint in self.entry_functions
        return entry and not _is_taken(function)


def as_fusion_pattern(given: Any) -> FusionPattern:
    """A pattern as users write it."""
    if isinstance(given, FusionPattern):
        return given
    if not isinstance(given, tuple) or not 2 <= len(given) <= 4:
        raise fail(
            "api", f"a fusion pattern is a FusionPattern or (name, pattern[, annotations[, check]]), got {given!r}"
        )
    name, pattern, *rest = given
    annotations = rest[0] if rest and rest[0] is not None else {}
    return FusionPattern(name, pattern, annotations, rest[1] if len(rest) > 1 else None)


def _is_taken(function: Function) -> bool:
    return any(function.attrs.get(name) for name in ("Primitive", "Composite", "Codegen"))


class _Fuser(BindingRewriter):
    def __init__(self, module: IRModule, patterns: list[FusionPattern], bind_constants: bool, annotate: bool) -> None:
        super().__init__(module)
        self.builder = BlockBuilder(module)
        self.patterns, self.bind_constants, self.annotate = patterns, bind_constants, annotate
        self.made = KnownFunctions()

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Any:
        if isinstance(block, DataflowBlock):
            groups = _Groups(bindings)
            for pattern in self.patterns:
                for binding in reversed(bindings):
                    self._try(pattern, binding, groups)
            if groups.members:
                made = [b for b in bindings if b.var not in groups.taken]
                for vars_, pattern, attrs in groups.members:
                    group = [bindings[n] for n in sorted(groups.order[v] for v in vars_)]
                    made.append(self._call_of_group(group, pattern, attrs))
                return (DataflowBlock(in_order(_sorted(made, bindings)), block.span),)
        return super().leave_block(block, bindings)

    def _try(self, pattern: FusionPattern, binding: Binding, groups: _Groups) -> None:
        """Make a group of what `pattern` matches with its root at `binding`, if that may be done."""
        if not isinstance(binding, VarBinding) or binding.var in groups.taken:
            return
        matcher = Matcher(groups.values)
        for found in matcher.matches(pattern.pattern, binding.var, {}):
            vars_ = groups.covered(found, binding.var)
            if not vars_ or not groups.is_closed(vars_, binding.var):
                continue
            context = _check_context(pattern, matcher, found, vars_, groups)
            if pattern.check is None or pattern.check(context):
                getter = pattern.attrs_getter
                groups.take(vars_, pattern, {} if getter is None else dict(getter(context.annotated_expr)))
                return

    # --------------------------------------------------------------------------------------------- functions

    def _call_of_group(self, group: list[Binding], pattern: FusionPattern, attrs: Mapping[str, Any]) -> VarBinding:
        outside = self._inputs(group)
        symbols = unshown_shape_vars(group, outside)
        function = _outlined(group, outside, symbols)
        name = _name(group)
        if self.annotate:
            codegen = codegen_of(pattern.name)
            inner = function.with_fields(attrs={"Composite": pattern.name, **attrs})
            callee = self._named(_around(inner), f"{name}_{codegen}", codegen)
        else:
            callee = self._named(function.with_fields(attrs={"Composite": pattern.name, "Primitive": 1, **attrs}), name)
        arguments = [*outside, *((ShapeExpr(symbols),) if symbols else ())]
        result = group[-1].var
        call: Any = Call(callee, arguments).with_fields(struct_info_=result.struct_info)
        return VarBinding(result, call, getattr(group[-1], "span", None))

    def _inputs(self, group: list[Binding]) -> list[Any]:
        own = {b.var for b in group}
        kinds = (Var,) if self.bind_constants else (Var, Constant)
        leaves = (n for b in group for n in post_order(b) if isinstance(n, kinds) and n not in own)
        return list(dict.fromkeys(leaves))

    def _named(self, function: Function, name: str, codegen: str | None = None) -> GlobalVar:
        """The name of a function; equal ones are made once. With `codegen` it is public, for that compiler."""
        return self.made.var_of(function, lambda: self._define(function, name, codegen))

    def _define(self, function: Function, name: str, codegen: str | None) -> GlobalVar:
        var = GlobalVar(self.builder.get_unique_name(name))
        if codegen is not None:
            function = function.with_fields(attrs={"Codegen": codegen, "global_symbol": var.name_hint})
        self.builder.update_func(var, function)
        self.context.functions[var] = function
        return var


def codegen_of(name: str) -> str:
    """The external compiler that a composite function of this name is for: what stands before the first dot."""
    return name.split(".")[0]


def _around(inner: Function) -> Function:
    """A function that calls `inner`, a function inside of it."""
    params = [Var(p.name_hint, p.struct_info) for p in inner.params]
    info = inner.ret_struct_info
    local = Var("local_func", function_info(inner))
    output = Var("output", info)
    call: Any = Call(local, params).with_fields(struct_info_=info)
    inner = inner.with_fields(struct_info_=local.struct_info_)
    body = SeqExpr([BindingBlock([VarBinding(local, inner), VarBinding(output, call)])], output)
    function = Function(params, body.with_fields(struct_info_=info), info, inner.is_pure, {})
    found: Function = substitute(function, {v: v.copy() for v in _symbols_of(function)})
    return found


class _Groups:
    """A dataflow block, and which of its bindings groups have taken."""

    def __init__(self, bindings: Sequence[Binding]) -> None:
        self.values = {b.var: b.value for b in bindings if isinstance(b, VarBinding)}
        self.order = {b.var: n for n, b in enumerate(bindings)}
        self.users: dict[Any, list[Var]] = {}
        for binding in bindings:
            for var in used_vars(binding):
                self.users.setdefault(var, []).append(binding.var)
        self.overwritten = {bindings[reader].var: writer for reader, writer in reversed(overwritten_later(bindings))}
        """For what reads a tensor that is changed in place later, the number of the (first) binding to do so."""
        self.taken: set[Var] = set()
        self.members: list[tuple[set[Var], FusionPattern, Mapping[str, Any]]] = []

    def covered(self, found: Mapping[DFPattern, Any], root: Var) -> set[Var]:
        """The variables of the block whose values the patterns describe; empty if one is taken."""
        described = {v for p, v in found.items() if isinstance(v, Var) and v in self.values and _describes(p)}
        covered = {root, *described}
        return set() if covered & self.taken else covered

    def is_closed(self, vars_: set[Var], root: Var) -> bool:
        """Whether nothing but the root is used outside, and the group can run at one time."""
        for var in vars_ - {root}:
            if not isinstance(var, DataflowVar) or any(u not in vars_ for u in self.users.get(var, ())):
                return False
            if self.overwritten.get(var, self.order[root]) < self.order[root]:
                return False
        if not any(isinstance(self.values[v], Call) for v in vars_):
            return False
        return not self._needs_itself(vars_, root)

    def _needs_itself(self, vars_: set[Var], root: Var) -> bool:
        """Whether an input of the group is computed from one of its results (that would be a circle)."""
        first = min(self.order[v] for v in vars_)
        inputs = [n for v in vars_ for n in post_order(self.values[v]) if isinstance(n, Var) and n not in vars_]
        todo, seen = inputs, set(inputs)
        while todo:
            var = todo.pop()
            if var not in self.values or self.order[var] < first:
                continue
            for used in (n for n in post_order(self.values[var]) if isinstance(n, Var)):
                if used in vars_:
                    return True
                if used not in seen:
                    seen.add(used)
                    todo.append(used)
        return False

    def take(self, vars_: set[Var], pattern: FusionPattern, attrs: Mapping[str, Any]) -> None:
        self.taken |= vars_
        self.members.append((vars_, pattern, attrs))


def _check_context(
    pattern: FusionPattern, matcher: Matcher, found: Any, vars_: set[Var], groups: _Groups
) -> PatternCheckContext:
    named = (pattern.annotation_patterns or {}).items()
    return PatternCheckContext(
        matched_expr=matcher.value(found[pattern.pattern]),
        annotated_expr={name: matcher.shown(p, found[p]) for name, p in named if p in found},
        matched_bindings={v: groups.values[v] for v in vars_},
        var_usages={v: groups.users.get(v, []) for v in groups.values},
        value_to_bound_var={value: v for v, value in groups.values.items()},
    )


def _describes(pattern: DFPattern) -> bool:
    """Whether a pattern says what its expression is made of (others match inputs)."""
    name = type(pattern).__name__
    return name in ("CallPattern", "TuplePattern", "UnorderedTuplePattern", "TupleGetItemPattern")


def _sorted(made: list[Binding], bindings: list[Binding]) -> list[Binding]:
    place = {b.var: n for n, b in enumerate(bindings)}
    return sorted(made, key=lambda b: place[b.var])


def _symbols_of(function: Function) -> list[TirVar]:
    return [n for n in post_order(function, notes=True) if isinstance(n, TirVar)]


def _outlined(group: Sequence[Binding], outside: Sequence[Any], symbols: Sequence[TirVar]) -> Function:
    """The group as a function of its inputs, in variables of its own."""
    params = [Var(getattr(v, "name_hint", "const"), v.struct_info) for v in outside]
    renamed: dict[Any, Any] = dict(zip(outside, params))
    if symbols:
        params.append(Var("s", ShapeStructInfo(symbols)))
    bindings: list[Binding] = []
    for binding in group:
        last = binding is group[-1]
        own = (Var if last else DataflowVar)("gv" if last else binding.var.name_hint, binding.var.struct_info)
        bindings.append(VarBinding(own, substitute(binding.value, renamed, notes=False)))
        renamed[binding.var] = own
    result = bindings[-1].var
    body = SeqExpr([DataflowBlock(bindings)], result).with_fields(struct_info_=result.struct_info)
    function = Function(params, body, result.struct_info, True, {})
    found: Function = substitute(function, {v: v.copy() for v in _symbols_of(function)})
    return found


def _name(group: Sequence[Binding]) -> str:
    ops = [b.value.op for b in group if isinstance(b, VarBinding) and isinstance(b.value, Call)]
    parts = [o.name.replace(".", "_") if isinstance(o, Op) else getattr(o, "name_hint", "call") for o in ops]
    return "_".join(["fused", *parts])[:80]
