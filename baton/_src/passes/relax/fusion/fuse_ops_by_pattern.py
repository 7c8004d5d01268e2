"""FuseOpsByPattern: bindings that match a pattern move into a separate function, for an external compiler or for
fusion.

    lv = R.matmul(x, w)                               gv = cls.fused_relax_matmul_relax_nn_relu(x, w)
    gv = R.nn.relu(lv)                      ->        @R.function(private=True)
                                                      def fused_...(x, w):  R.func_attr({"Composite": "test.mm_relu",
                                                                                         "Primitive": 1}) ...

Patterns are tried in order, each on the bindings of a dataflow block in order. A binding belongs to at most one group,
except that a group of a single binding is replaced by a larger match of the same pattern. Values from the middle of a
match that are used outside become results, too (`check` may refuse such matches). With `bind_constants` constants move
into the function. With `annotate_codegen` each function is wrapped in one with the attributes `Codegen` (the pattern's
name up to the first dot) and `global_symbol`; else MergeCompositeFunctions does that for neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.analysis.exposure import overwritten_later
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.passes.relax.fusion.group_outliner import Group, GroupOutliner, group_name
from baton._src.relax.check.signatures import function_info
from baton._src.relax.known_functions import KnownFunctions
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    Function,
    SeqExpr,
    Var,
    VarBinding,
)
from baton._src.relax.own_variables import with_own_symbols
from baton._src.relax.patterns.match import Matcher
from baton._src.relax.patterns.nodes import DFPattern
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class PatternCheckContext:
    """What a pattern's `check` may inspect."""

    matched_expr: Any
    annotated_expr: Mapping[str, Any]
    matched_bindings: Mapping[Var, Any]
    var_usages: Mapping[Var, Sequence[Var]]
    value_to_bound_var: Mapping[Any, Var]


@dataclass(frozen=True, eq=False)
class FusionPattern:
    """A pattern by name. `check(context)` may refuse a match; `annotation_patterns` name parts of it for `check`, and
    for `attrs_getter`, which makes attributes of the composite function from these parts. Error `api` for a name that
    is no text, or a pattern that is none."""

    name: str
    pattern: DFPattern
    annotation_patterns: Mapping[str, DFPattern] | None = None
    check: Callable[[PatternCheckContext], bool] | None = None
    attrs_getter: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str):
            raise fail("api", f"the name of a fusion pattern is a text, got {name!r}")
        parts: dict[str, Any] = {name: self.pattern, **(self.annotation_patterns or {})}
        for part, pattern in parts.items():
            if not isinstance(pattern, DFPattern):
                message = f"{part} of the fusion pattern {name} is no pattern: {pattern!r:.60}"
                raise fail("api", message, help="relax.dpl makes patterns: is_op, wildcard, is_const, ...")


@dataclass(frozen=True)
class FuseOpsByPattern(Pass):
    """See the module. Patterns are `FusionPattern`s, or tuples of the arguments that make one."""

    patterns: Sequence[Any]
    bind_constants: bool = True
    annotate_codegen: bool = False
    entry_functions: Sequence[str] | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        patterns = [as_fusion_pattern(p) for p in self.patterns]
        for name in self.entry_functions or ():
            module.get_global_var(name)  # a name that the module does not have is an error
        return _Fuser(module, patterns, self.bind_constants, self.annotate_codegen).rewritten(self._treats)

    def _treats(self, var: GlobalVar, function: Function) -> bool:
        entry = not self.entry_functions or var.name_hint in self.entry_functions
        return entry and not _is_taken(function)


def as_fusion_pattern(given: Any) -> FusionPattern:
    """Convert a pattern as users write it."""
    if isinstance(given, FusionPattern):
        return given
    if not isinstance(given, tuple) or not 2 <= len(given) <= 5:
        raise fail(
            "api",
            "a fusion pattern is a FusionPattern or a tuple "
            f"(name, pattern[, annotations[, check[, attributes]]]), got {given!r}",
        )
    return FusionPattern(*given)


def _is_taken(function: Function) -> bool:
    return any(function.attrs.get(name) for name in ("Primitive", "Composite", "Codegen"))


class _Fuser(GroupOutliner):
    def __init__(self, module: IRModule, patterns: list[FusionPattern], bind_constants: bool, annotate: bool) -> None:
        super().__init__(module)
        self.patterns, self.bind_constants, self.annotate = patterns, bind_constants, annotate
        self.made = KnownFunctions()

    def groups(self, bindings: list[Binding]) -> Sequence[Group]:
        block = _Block(bindings)
        for pattern in self.patterns:
            for binding in bindings:
                self._try(pattern, binding, block)
        return list(block.groups)

    def _try(self, pattern: FusionPattern, binding: Binding, block: _Block) -> None:
        """Make a group of the bindings that `pattern` matches with its root at `binding`, if that is allowed."""
        if not isinstance(binding, VarBinding) or binding.var in block.taken:
            return
        matcher = Matcher(block.values)
        for found in matcher.matches(pattern.pattern, binding.var, {}):
            vars_ = block.covered(pattern, found, binding.var)
            if not vars_ or not block.may_run_at_once(vars_):
                continue
            context = _check_context(pattern, matcher, found, vars_, block)
            if pattern.check is None or pattern.check(context):
                getter = pattern.attrs_getter
                block.take(vars_, pattern, {} if getter is None else dict(getter(context.annotated_expr)))
                return

    def lifts(self, constant: Constant) -> bool:
        return not self.bind_constants

    def define(self, function: Function, group: Group) -> GlobalVar:
        """Equal functions are made once. For annotation the function that others see is one around it."""
        name = group_name(group)
        if not self.annotate:
            attrs = {**group.attrs, "Primitive": 1}
            return self._known(function.with_fields(attrs=attrs), name)
        return self._known(_around(function), name, codegen_of(str(group.attrs["Composite"])))

    def _known(self, function: Function, name: str, codegen: str | None = None) -> GlobalVar:
        """The variable of a function that equals this one; with `codegen` it has a symbol, for that compiler."""

        def new() -> GlobalVar:
            var = self.unique_var(name)
            if codegen is None:
                return self.add(var, function)
            var = self.unique_var(f"{var.name_hint}_{codegen}")
            attrs = {"Codegen": codegen, "global_symbol": var.name_hint}
            return self.add(var, function.with_fields(attrs=attrs))

        return self.made.var_of(function, new)


def codegen_of(name: str) -> str:
    """The external compiler of a composite function with this name: the part before the first dot."""
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
    return with_own_symbols(Function(params, body.with_fields(struct_info_=info), info, inner.is_pure, {}))


@dataclass(eq=False)
class _Match(Group):
    """What a pattern matched."""

    pattern: FusionPattern


class _Block:
    """A dataflow block, and which of its bindings groups have taken."""

    def __init__(self, bindings: Sequence[Binding]) -> None:
        self.bindings = bindings
        self.values = {b.var: b.value for b in bindings if isinstance(b, VarBinding)}
        self.order = {b.var: n for n, b in enumerate(bindings)}
        self.users: dict[Any, list[Var]] = {}
        for binding in bindings:
            for var in used_vars(binding):
                self.users.setdefault(var, []).append(binding.var)
        self.behind: dict[Var, list[Var]] = {v: list(users) for v, users in self.users.items()}
        """What must come after a variable: its users, and whatever overwrites what it reads."""
        for reader, writer in overwritten_later(bindings):
            self.behind.setdefault(bindings[reader].var, []).append(bindings[writer].var)
        self.var_usages = {v: self.users.get(v, []) for v in self.values}
        self.value_to_bound_var = {value: v for v, value in self.values.items()}
        self.taken: dict[Var, _Match] = {}
        self.groups: dict[_Match, None] = {}

    def covered(self, pattern: FusionPattern, found: Mapping[DFPattern, Any], root: Var) -> set[Var]:
        """The variables of the block whose values the patterns describe; empty if one is in a group already.

        A group of one binding that this pattern made before gives way.
        """
        described = {v for p, v in found.items() if isinstance(v, Var) and v in self.values and _describes(p)}
        covered = {root, *described}
        groups = (self.taken[v] for v in covered if v in self.taken)
        return covered if all(len(g.bindings) == 1 and g.pattern is pattern for g in groups) else set()

    def may_run_at_once(self, vars_: set[Var]) -> bool:
        """Whether the group calls something, and nothing outside the group depends on it and is needed by it."""
        if not any(isinstance(self.values[v], Call) for v in vars_):
            return False
        last = max(self.order[v] for v in vars_)
        todo = [user for v in vars_ for user in self.behind.get(v, ()) if user not in vars_]
        seen = set(todo)
        while todo:
            var = todo.pop()
            others = [b.var for b in self.taken[var].bindings] if var in self.taken else [var]
            for user in (u for other in others for u in self.behind.get(other, ())):
                if user in vars_:
                    return False
                if user not in seen and (self.order[user] < last or user in self.taken):
                    seen.add(user)
                    todo.append(user)
        return True

    def take(self, vars_: set[Var], pattern: FusionPattern, attrs: Mapping[str, Any]) -> None:
        members = [self.bindings[n] for n in sorted(self.order[v] for v in vars_)]
        gone = {self.taken[v] for v in vars_ if v in self.taken}
        group = _Match(members, {"Composite": pattern.name, **attrs}, pattern)
        self.taken.update((v, group) for v in vars_)
        for other in gone:
            del self.groups[other]
        self.groups[group] = None


def _check_context(
    pattern: FusionPattern, matcher: Matcher, found: Any, vars_: set[Var], block: _Block
) -> PatternCheckContext:
    named = (pattern.annotation_patterns or {}).items()
    return PatternCheckContext(
        matched_expr=matcher.value(found[pattern.pattern]),
        annotated_expr={name: matcher.shown(p, found) for name, p in named if p in found},
        matched_bindings={v: block.values[v] for v in vars_},
        var_usages=block.var_usages,
        value_to_bound_var=block.value_to_bound_var,
    )


def _describes(pattern: DFPattern) -> bool:
    """Whether a pattern describes the structure of its expression (other patterns match inputs)."""
    name = type(pattern).__name__
    return name in ("CallPattern", "TuplePattern", "UnorderedTuplePattern", "TupleGetItemPattern")
