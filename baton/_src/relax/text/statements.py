"""Relax functions, blocks, bindings and expressions as lines of TVMScript.

    with R.dataflow():
        lv: R.Tensor((2, 3), dtype="float32") = R.add(x, y)
        R.output(lv)

Nested bodies are tasks of a trampoline, so no program is too deep.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import Op
from baton._src.ir.global_info import VDevice
from baton._src.ir.print_style import definitions_are_shown
from baton._src.ir.structural import structural_equal
from baton._src.relax.check.variables import tir_vars_in_struct_info
from baton._src.relax.leaves import is_leaf
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
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    is_call,
)
from baton._src.relax.struct_info import StructInfo, TupleStructInfo
from baton._src.relax.text.calls import call_text
from baton._src.relax.text.declarations import Declarations
from baton._src.relax.text.infos import InfoText
from baton._src.relax.text.leaves import LeafText, is_simple
from baton._src.relax.text.metadata import Metadata
from baton._src.relax.text.scalars import scalar_text
from baton._src.relax.text.values import quoted, value_text
from baton._src.support.python_text import tuple_text
from baton._src.support.trampoline import Task

INDENT = "    "


class StatementPrinter:
    """The state of printing one text: its lines so far, the names in use, the contents of the metadata."""

    def __init__(self, show_all_struct_info: bool = True) -> None:
        self.show_all_struct_info = show_all_struct_info
        self.lines: list[str] = []
        self.indent = ""
        self.declarations = Declarations(definitions_are_shown())
        self.metadata = Metadata()
        self.infos = InfoText(self.declarations.scalar_name, self.atom, self._vdevice)
        self.leaves = LeafText(self.declarations, self.metadata, self.infos.text)
        self.unassigned: dict[Var, int] = {}
        """Unit variables, unused so far, whose line has no `name = ` yet, with the index of that line."""

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append(self.indent + text)

    @staticmethod
    def _vdevice(device: Any) -> str:
        return quoted(device.reference() if isinstance(device, VDevice) else str(device))

    # ------------------------------------------------------------------------------------------------ functions

    def function(self, function: Function, name: str, *, local: bool) -> Task[None]:
        """A function with its decorator; a `local` one is bound to a variable of another."""
        self.line(_decorator(function, local))
        outermost = self.declarations.head is None
        if outermost:
            self.declarations.head = []
            signature = [function.ret_struct_info, *(p.struct_info_ for p in function.params)]
            self.infos.quoted = frozenset(v for i in signature if i is not None for v in tir_vars_in_struct_info(i))
        ret = f" -> {self.infos.text(function.ret_struct_info)}" if function.ret_struct_info is not None else ""
        params = [self._param(p) for p in function.params]
        self.infos.quoted = frozenset()
        self.line(f"def {name}({', '.join(params)}){ret}:")
        start = len(self.lines)
        self.indent += INDENT
        self._function_attrs(function, name, local)
        yield self.body(function.body, None)
        if outermost and self.declarations.head is not None:
            self.lines[start:start] = [self.indent + line for line in self.declarations.head]
            self.declarations.head = None
        self.indent = self.indent[: -len(INDENT)]

    def _param(self, param: Var) -> str:
        name = self.declarations.names.of(param, param.name_hint)
        return name if param.struct_info_ is None else f"{name}: {self.infos.text(param.struct_info_)}"

    def _function_attrs(self, function: Function, name: str, local: bool) -> None:
        shown = {k: v for k, v in function.attrs.items() if k != "global_symbol" or v != name or local}
        if shown:
            text = f"R.func_attr({self.value(shown)})"
            if local or self.declarations.head is None:
                self.line(text)
            else:
                self.declarations.head.append(text)

    # ------------------------------------------------------------------------------------------- blocks and bodies

    def body(self, body: Any, result: str | None) -> Task[None]:
        """The statements of a SeqExpr; it ends in `return`, or in an assignment to `result` (branches)."""
        blocks = body.blocks if isinstance(body, SeqExpr) else ()
        value = body.body if isinstance(body, SeqExpr) else body
        last = blocks[-1].bindings[-1] if blocks and blocks[-1].bindings else None
        merged = (
            result is not None
            and isinstance(last, VarBinding)
            and not isinstance(blocks[-1], DataflowBlock)
            and last.var is value
            and not is_leaf(last.value)
            and not isinstance(last.value, Function)
        )
        for position, block in enumerate(blocks):
            yield self.block(block, drop_last=merged and position == len(blocks) - 1)
        if merged and last is not None and result is not None:
            if isinstance(last.value, If):
                self.declarations.names.bind(last.var, result)
                yield self.binding(last)
                return
            text = yield self.expr(last.value)
            self.line(f"{result}{self._annotation(last.var, last.value)} = {text}")
            self.declarations.names.bind(last.var, result)
            return
        text = yield self.expr(value)
        if result is None:
            self.line(f"return {text}")
        else:
            info = value.struct_info_
            self.line(f"{result}{'' if info is None else f': {self.infos.text(info)}'} = {text}")

    def _annotation(self, var: Var, value: Any = None) -> str:
        """The annotation of a variable, unless it repeats the `out_sinfo` of its value, or is not asked for."""
        said = var.struct_info_
        if said is None or (_says_its_output(value) and structural_equal(value.sinfo_args[0], said)):
            return ""
        if not self.show_all_struct_info and value is not None:
            inferred = value if isinstance(value, StructInfo) else value.struct_info_
            if inferred is not None and structural_equal(inferred, said):
                return ""
        return f": {self.infos.text(said)}"

    def block(self, block: BindingBlock, drop_last: bool = False) -> Task[None]:
        """The bindings of a block, without the last one if that is printed in another form."""
        bindings = block.bindings[:-1] if drop_last else block.bindings
        if not isinstance(block, DataflowBlock):
            for binding in bindings:
                yield self.binding(binding)
            return
        self.line("with R.dataflow():")
        self.indent += INDENT
        for binding in bindings:
            yield self.binding(binding)
        outputs = [b.var for b in bindings if b.var is not None and not isinstance(b.var, DataflowVar)]
        self.line(f"R.output({', '.join(self.atom(v) for v in outputs)})")
        self.indent = self.indent[: -len(INDENT)]

    def binding(self, binding: Binding) -> Task[None]:
        """One binding; a function or an `if` takes several lines."""
        if isinstance(binding, MatchCast):
            yield self._match_cast(binding)
            return
        assert isinstance(binding, VarBinding)
        var, value = binding.var, binding.value
        if isinstance(value, Function):
            yield self.function(value, self.declarations.names.of(var, var.name_hint), local=True)
            return
        if isinstance(value, If):
            cond = yield self.expr(value.cond)
            name = self.declarations.names.of(var, var.name_hint)
            said, joined = var.struct_info_, value.struct_info_
            if said is not None and joined is not None and not structural_equal(said, joined):
                self.line(f"{name}{self._annotation(var)}")  # the annotation says something else than the join
            for keyword, branch in ((f"if {cond}:", value.true_branch), ("else:", value.false_branch)):
                self.line(keyword)
                self.indent += INDENT
                yield self.body(branch, name)
                self.indent = self.indent[: -len(INDENT)]
            return
        text = yield self.expr(value)
        if isinstance(value, Call) and _is_unit(value.struct_info_) and _is_unit(var.struct_info_):
            self.unassigned[var] = len(self.lines)
            self.line(text)
        else:
            self.line(f"{self._assigned(var, value)}{text}")

    def _assigned(self, var: Var, value: Any) -> str:
        return f"{self.declarations.names.of(var, var.name_hint)}{self._annotation(var, value)} = "

    def _match_cast(self, binding: MatchCast) -> Task[None]:
        text = yield self.expr(binding.value)
        cast = f"R.match_cast({text}, {self.infos.text(binding.struct_info)})"
        if binding.var is None:
            self.line(cast)
        else:
            self.line(f"{self._assigned(binding.var, binding.struct_info)}{cast}")

    # ----------------------------------------------------------------------------------------------- expressions

    def expr(self, expr: Any) -> Task[str]:
        """The text of a value; statements that it needs become lines before it."""
        match expr:
            case Call():
                callee = "" if isinstance(expr.op, Op) else (yield self.expr(expr.op))
                args: list[str] = []
                for arg in expr.args:
                    args.append((yield self.expr(arg)) if not is_simple(arg) else self.atom(arg))
                return call_text(expr, callee, args, self)
            case Tuple():
                fields: list[str] = []
                for field in expr.fields:
                    fields.append((yield self.expr(field)) if not is_simple(field) else self.atom(field))
                return _tuple_text(fields)
            case TupleGetItem():
                whole: str = yield self.expr(expr.tuple_value)
                return f"{whole}[{expr.index}]"
            case SeqExpr():
                for block in expr.blocks:
                    yield self.block(block)
                text: str = yield self.expr(expr.body)
                return text
            case Function():
                name = self.declarations.names.free("func")
                yield self.function(expr, name, local=True)
                return name
            case If():
                result = Var("gv")
                yield self.binding(VarBinding(result, expr))
                return self.declarations.names.of(result, "gv")
            case _:
                return self.atom(expr)

    def atom(self, expr: Any) -> str:
        """An expression without parts."""
        return self._var(expr) if isinstance(expr, Var) else self.leaves.text(expr)

    def _var(self, var: Var) -> str:
        """The name of a variable that is used, so that its line must assign it."""
        line = self.unassigned.pop(var, None)
        if line is not None:
            text = self.lines[line].lstrip()
            margin = self.lines[line].removesuffix(text)
            self.lines[line] = f"{margin}{self._assigned(var, None)}{text}"
        if self.declarations.defines and not self.declarations.names.knows(var):
            name = self.declarations.names.of(var, var.name_hint)
            if var.struct_info_ is not None:
                self.declarations.definitions.append(f"{name}: {self.infos.text(var.struct_info_)}")
        return self.declarations.names.of(var, var.name_hint)

    def info(self, info: StructInfo) -> str:
        """A StructInfo inside an expression."""
        return self.infos.text(info)

    def value(self, value: Any) -> str:
        """An attribute."""
        return value_text(value, lambda s: scalar_text(s, self.declarations.scalar_name), self.metadata.reference)


def _tuple_text(fields: list[str]) -> str:
    return tuple_text(fields) if fields else "R.tuple()"


def _decorator(function: Function, local: bool) -> str:
    options = [] if function.is_pure else ["pure=False"]
    if not local and "global_symbol" not in function.attrs:
        options.append("private=True")
    return f"@R.function({', '.join(options)})" if options else "@R.function"


def _is_unit(info: StructInfo | None) -> bool:
    return isinstance(info, TupleStructInfo) and not info.fields


def _says_its_output(value: Any) -> bool:
    """Whether the call's `out_sinfo` gives its value's complete StructInfo."""
    return is_call(value, "relax.call_tir", "relax.call_dps_packed")
