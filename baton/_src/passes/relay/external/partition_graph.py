"""PartitionGraph: every region between compiler_begin and compiler_end becomes a function of the module.

    compiler_end(add(compiler_begin(%x), compiler_begin(%y)))
becomes
    @tvmgen_default_mine_main_0(%x, %y)      def @tvmgen_default_mine_main_0(%a, %b, Compiler="mine") { add(%a, %b) }

Building passes such functions to the code generators that scripts registered (`driver/relay/external_code.py`). Without
one a program with such functions is interpreted, exported as text, or taken back by InlineCompilerFunctionsBoundTo;
building it is an error (`CheckCompilers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.external.external_regions import BEGIN, END, Groups, operands, through_lets
from baton._src.passes.relay.forms.inlining import inline_call
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.expressions import parts, replace, rewrite, walk, with_parts
from baton._src.relay.nodes import Call, Constant, Function, Tuple, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class PartitionGraph(Pass):
    """See the module's docstring. Functions are named `tvmgen_<mod_name>_<compiler>_<function>_<number>`, as in TVM."""

    opt_level: ClassVar[int] = 0
    mod_name: str = "default"
    bind_constants: bool = True
    """Whether constants that enter a region become part of its function instead of arguments."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        module = infer_type(module)
        functions = dict(module.functions)
        for var, function in module.functions.items():
            if isinstance(function, Function) and any(is_call(n, END) for n in walk(function)):
                prefix = f"tvmgen_{self.mod_name}"
                carving = _Carving(through_lets(function), functions, prefix, var.name_hint, self.bind_constants)
                functions[var] = carving.whole()
        return infer_type(module.with_functions(functions))


class _Carving:
    """Outlines the regions of one function."""

    def __init__(
        self, function: Function, functions: dict[GlobalVar, Any], prefix: str, name: str, bind_constants: bool
    ) -> None:
        self._function = function
        self._functions = functions
        self._prefix = prefix
        self._name = name
        self._bind_constants = bind_constants
        self._outputs: dict[int, list[Any]] = {}
        self._begins: dict[int, dict[Any, None]] = {}
        self._group: dict[Any, int] = {}

    def whole(self) -> Function:
        self._find_regions()
        calls: dict[int, Any] = {}
        done: dict[Any, Any] = {}
        build = Build()

        def below(node: Any) -> Sequence[Any]:
            if is_call(node, END):
                return [b.args[0] for b in self._begins[self._group[node]]]
            return parts(node)

        for node in post_order(self._function, below=below):
            if not is_call(node, END):
                made = with_parts(node, done)
            else:
                group = self._group[node]
                if group not in calls:
                    calls[group] = self._call(group, done)
                outputs = self._outputs[group]
                made = calls[group] if len(outputs) == 1 else build.item(calls[group], outputs.index(node))
            if made is not node:
                done[node] = made
        found: Function = done.get(self._function, self._function)
        return found

    def _find_regions(self) -> None:
        """Group the ends of regions: ends whose nodes are connected without a mark in between are one region."""
        groups = Groups()
        owner: dict[Any, int] = {}
        ends = [n for n in walk(self._function) if is_call(n, END)]
        found: list[tuple[Any, int]] = []
        begins: list[tuple[Any, int]] = []
        for end in ends:
            group = groups.new()
            found.append((end, group))
            work = [end.args[0]]
            while work:
                node = work.pop()
                if node in owner:
                    groups.join(owner[node], group)
                    continue
                owner[node] = group
                if is_call(node, BEGIN):
                    begins.append((node, group))
                else:
                    work.extend(reversed(operands(node)))  # what enters first is the first parameter
        for end, group in found:
            self._group[end] = groups.find(group)
            self._outputs.setdefault(groups.find(group), []).append(end)
        for begin, group in begins:
            self._begins.setdefault(groups.find(group), {})[begin] = None
        for group in self._outputs:
            self._begins.setdefault(group, {})

    def _call(self, group: int, done: dict[Any, Any]) -> Call:
        ends, begins = self._outputs[group], list(self._begins[group])
        compiler = ends[0].attrs.compiler
        taken = {v.name_hint for v in self._functions}
        number = 0
        while (name := f"{self._prefix}_{compiler}_{self._name}_{number}") in taken:
            number += 1
        var = GlobalVar(name)
        arguments: list[Any] = []
        replacements: dict[Any, Any] = {}
        params: dict[Any, Var] = {}
        for begin in begins:
            (value,) = begin.args
            if not (isinstance(value, Constant) and self._bind_constants) and value not in params:
                params[value] = Var(f"{compiler}_{number}_i{len(params)}", value.checked_type)
                arguments.append(done.get(value, value))
            replacements[begin] = params.get(value, value)
        results = ends[0].args[0] if len(ends) == 1 else Tuple([e.args[0] for e in ends])
        body = replace(results, replacements)  # at once: what several results are computed from stays one node
        attrs = {"Compiler": compiler, "Primitive": 1, "Inline": 1, "global_symbol": name}
        self._functions[var] = Function(list(params.values()), body, None, None, attrs)
        return Call(var, arguments)


@dataclass(frozen=True)
class InlineCompilerFunctionsBoundTo(Pass):
    """Inline functions for external compilers into their callers: those named, which the module must have, or all."""

    opt_level: ClassVar[int] = 0
    global_vars: Sequence[Any] | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        wanted = None
        if self.global_vars is not None:
            wanted = {module.get_global_var(getattr(v, "name_hint", v)).name_hint for v in self.global_vars}
        inlined = {
            v.name_hint: f
            for v, f in module.functions.items()
            if compiler_of(f) and (wanted is None or v.name_hint in wanted)
        }

        def rule(old: GraphExpr, new: GraphExpr) -> Any:
            if isinstance(new, Call) and isinstance(new.op, GlobalVar) and new.op.name_hint in inlined:
                return inline_call(inlined[new.op.name_hint], new)
            return None

        kept = {v: f for v, f in module.functions.items() if v.name_hint not in inlined}
        made = {v: rewrite(f, rule) if isinstance(f, Function) else f for v, f in kept.items()}
        return infer_type(module.with_functions(made))


@dataclass(frozen=True)
class CheckCompilers(Pass):
    """Error `api` if a function is for an external compiler that is not registered."""

    opt_level: ClassVar[int] = 0

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        for var, function in module.functions.items():
            name = compiler_of(function)
            if name:
                help = f"register_func('relay.ext.{name}', function -> module) registers it; "
                help += "InlineCompilerFunctionsBoundTo() takes such functions back, to be compiled natively"
                raise fail("api", f"@{var.name_hint} is for the compiler {name!r}, which is not registered", help=help)
        return module


def compiler_of(function: Any) -> str:
    """The external compiler that a function is for; empty if it is for none."""
    return str(function.attrs.get("Compiler") or "") if isinstance(function, Function) else ""


__all__ = ["CheckCompilers", "InlineCompilerFunctionsBoundTo", "PartitionGraph", "compiler_of"]
