"""`BlockBuilder`: builds Relax functions binding by binding, normalised and with StructInfo (facts: passes-vm §4).

bb = BlockBuilder()
x = Var("x", TensorStructInfo((n, 4), "float32"))
with bb.function("main", [x]):
    with bb.dataflow():
        y = bb.emit(relu(x))
        out = bb.emit_output(add(y, x))
    bb.emit_func_output(out)
module = bb.get()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.ir.global_names import normalize_global_vars
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.relax.call_te import call_te_arguments
from baton._src.relax.check.context import Context
from baton._src.relax.check.report import API, Report
from baton._src.relax.frames import Frame
from baton._src.relax.fresh_names import FreshNames
from baton._src.relax.functions_being_built import FunctionsBeingBuilt
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    DataflowBlock,
    Function,
    MatchCast,
    SeqExpr,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.normalize import Normalizer
from baton._src.relax.own_variables import copy_with_new_vars
from baton._src.relax.struct_info import StructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import Diagnostic, fail
from baton._src.support.spans import Span
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc

_building: ContextVar[tuple[BlockBuilder, ...]] = ContextVar("builders", default=())
"""The builders whose `function` contexts are open here, innermost last (`BlockBuilder.current`)."""


@dataclass
class _OpenFunction:
    """The function being built."""

    name: str
    params: tuple[Var, ...] | None
    attrs: dict[str, Any]
    pure: bool
    nested: bool
    """Whether it was opened inside another one, whose variables it may use."""
    result: GlobalVar | None = None


class BlockBuilder:
    """Builds a module. `strict`: undecidable questions about StructInfo are errors instead of warnings."""

    def __init__(self, mod: IRModule | None = None, *, strict: bool = False) -> None:
        self._module = mod if mod is not None else IRModule()
        self.context = Context(functions=dict(self._module.functions), report=Report(strict))
        self._functions = FunctionsBeingBuilt(self.context)
        self.normalizer = Normalizer(self.context)
        self._open: _OpenFunction | None = None
        self._scopes: list[tuple[set[TirVar], ExitStack]] = []
        self._begun: list[Frame] = []
        """Blocks that `begin_binding_block` opened."""

    @staticmethod
    def current() -> BlockBuilder | None:
        """The builder whose `function` context is open, if any."""
        builders = _building.get()
        return builders[-1] if builders else None

    @property
    def warnings(self) -> list[Diagnostic]:
        """Warnings so far: conditions that could be neither proved nor refuted."""
        return self.context.report.warnings

    # ------------------------------------------------------------------------------------------------ functions

    @contextmanager
    def function(
        self,
        name: str,
        params: Any = None,
        attrs: dict[str, Any] | None = None,
        pure: bool = True,
        private: bool = False,
    ) -> Iterator[None]:
        """Build a function of the module. `params` may be given here or to `emit_func_output`; public unless `private`.

        Errors (`relax-api`): opened inside another function, left without `emit_func_output`.
        """
        if self._open is not None:
            raise fail(API, f"function {name!r} is opened inside function {self._open.name!r}")
        if self.normalizer.frames:
            raise fail(API, f"function {name!r} is opened inside a scope")
        found = dict(attrs or {})
        if not private:
            found["global_symbol"] = name
        with self._opened(_OpenFunction(name, _as_params(params), found, pure, nested=False)):
            yield

    @contextmanager
    def subroutine(self, name: str) -> Iterator[None]:
        """Build a further, private function of the module while another one is open, in which it is called.

        The outer function's variables may serve as its parameters: it gets copies of its own. Errors (`relax-api`):
        left without `emit_func_output`.
        """
        with self._opened(_OpenFunction(name, None, {}, True, nested=True)):
            yield

    @contextmanager
    def _opened(self, opened: _OpenFunction) -> Iterator[None]:
        """Start building `opened`, with its own variable names and scope of shape variables."""
        outer, self._open = self._open, opened
        token = _building.set((*_building.get(), self))
        outer_names, self.normalizer.names = self.normalizer.names, FreshNames()
        depth, begun = len(self.normalizer.frames), len(self._begun)
        self.normalizer.frames.append(Frame())
        try:
            with self.normalizer.shapes.scope(opened.params or ()):
                yield
            if opened.result is None:
                raise fail(
                    API,
                    f"function {opened.name!r} was left without emit_func_output",
                    help="end it: builder.emit_func_output(value)",
                )
        finally:
            _building.reset(token)
            del self.normalizer.frames[depth:], self._begun[begun:]
            self.normalizer.names = outer_names
            self._open = outer

    def emit_func_output(self, output: Any, params: Any = None) -> GlobalVar:
        """End the function with result `output` (an expression or nested tuples of them). Returns its GlobalVar."""
        opened = self._open
        if opened is None:
            raise fail(API, "emit_func_output is called outside of `with builder.function(...)`")
        if opened.result is not None:
            raise fail(API, f"emit_func_output is called twice in function {opened.name!r}")
        if self.normalizer.frame.dataflow:
            raise fail(API, "emit_func_output is called inside a dataflow block")
        if self._in_begun_block():
            raise fail(API, "emit_func_output is called inside a block that was begun", help="end it: end_block()")
        if params is not None and opened.params is not None:
            raise fail(API, f"the parameters of function {opened.name!r} are given twice")
        given = opened.params if params is None else _as_params(params)
        if given is None:
            raise fail(API, f"function {opened.name!r} has no parameters given", help="pass [] if it takes none")
        if params is not None:
            self.normalizer.shapes.define_params(given)
        body = self.normalizer.atom(_as_expr(output))
        seq = SeqExpr(self.normalizer.frame.finish(), body)
        function = Function(given, seq, None, opened.pure, opened.attrs)
        # The body's scope ends here: what its casts bound must not show in the result that is deduced (criterion 4).
        with self.normalizer.shapes.outside_scope(given):
            function = self.normalizer.function(function)
        opened.result = self.add_func(copy_with_new_vars(function) if opened.nested else function, opened.name)
        return opened.result

    def add_func(self, func: Any, func_name: str) -> GlobalVar:
        """Add a function under a unique name like `func_name`; a private one equal to a known one is not added."""
        return self._functions.add(func, func_name)

    def update_func(self, gv: GlobalVar, updated_func: Any) -> None:
        """Define or redefine `gv`."""
        self._functions.define_anew(gv, updated_func)

    def get_unique_name(self, name_prefix: str) -> str:
        """An unused name for a function of the module: `f`, `f1`, ..."""
        return self._functions.unique_name(name_prefix)

    def get(self) -> IRModule:
        """The module in its current state."""
        return self._module.with_functions(self.context.functions)

    def finalize(self) -> IRModule:
        """The module with unique global names; public functions are named by their global_symbol."""
        module = normalize_global_vars(self.get())
        self._module = module
        self.context.functions = dict(module.functions)
        self._functions.forget()
        return module

    # --------------------------------------------------------------------------------------------------- blocks

    @contextmanager
    def dataflow(self) -> Iterator[None]:
        """A context whose bindings go into a DataflowBlock."""
        frame = self.normalizer.frame
        if frame.dataflow:
            raise fail(API, "a dataflow block cannot be nested in another one")
        frame.dataflow = True
        try:
            yield
        finally:
            frame.dataflow = False

    @contextmanager
    def testing_scope(self, def_vars: Any) -> Iterator[None]:
        """A scope outside of any function, with shape variables `def_vars`; its bindings are discarded at the end."""
        self.begin_scope(None)
        self.context.shape_scope.update(def_vars)
        self.normalizer.frames.append(Frame())
        try:
            yield
        finally:
            self.normalizer.frames.pop()
            self.end_scope()

    def begin_scope(self, params: Any = None) -> None:
        """Open a scope for shape variables, which contains those of `params`. `None`: no outer variables are
        visible.
        """
        saved = self.context.shape_scope
        dims = ExitStack()
        dims.enter_context(self.normalizer.shapes.dims())
        self._scopes.append((saved, dims))
        self.context.shape_scope = set() if params is None else set(saved)
        if params is not None:
            self.normalizer.shapes.define_params(_as_params(params) or ())

    def end_scope(self) -> None:
        """Close the innermost scope."""
        if not self._scopes:
            raise fail(API, "end_scope without begin_scope")
        self.context.shape_scope, dims = self._scopes.pop()
        dims.close()

    def begin_binding_block(self) -> None:
        """Collect the following bindings in a block, which `end_block` returns (for passes that build blocks)."""
        self._begun.append(Frame())
        self.normalizer.frames.append(self._begun[-1])

    def begin_dataflow_block(self) -> None:
        """Like `begin_binding_block`, for a DataflowBlock."""
        self.begin_binding_block()
        self.normalizer.frame.dataflow = True

    def end_block(self) -> BindingBlock:
        """End the innermost block and return it. A dataflow block is returned as such, even if it is empty."""
        if not self._in_begun_block():
            help = "blocks inside `with builder.function(...)` and `with builder.dataflow()` end by themselves"
            raise fail(API, "end_block without begin_binding_block", help=help)
        self.normalizer.frames.pop()
        frame = self._begun.pop()
        blocks = frame.finish()
        if len(blocks) > 1:
            raise fail(API, "the block holds bindings of both kinds", help="use end_blocks")
        return blocks[0] if blocks else DataflowBlock(()) if frame.dataflow else BindingBlock(())

    def _in_begun_block(self) -> bool:
        """Whether the innermost block is one that `begin_binding_block` opened."""
        return bool(self._begun) and self.normalizer.frames[-1] is self._begun[-1]

    _begin_binding_block, _begin_dataflow_block, _end_block = begin_binding_block, begin_dataflow_block, end_block
    """As TVM names them."""

    def current_block_is_dataflow(self) -> bool:
        """Whether bindings currently go into a DataflowBlock."""
        return self.normalizer.frame.dataflow

    # ------------------------------------------------------------------------------------------------- bindings

    def emit(self, expr: Any, name_hint: str = "", *, span: Span | None = None) -> Var:
        """Bind `expr` to a new variable: a DataflowVar inside a dataflow block, else a Var."""
        return self._emit(expr, name_hint, output=False, span=span)

    def emit_output(self, output: Any, name_hint: str = "", *, span: Span | None = None) -> Var:
        """Bind `output` to a variable that is visible after the current dataflow block."""
        if not self.normalizer.frame.dataflow:
            raise fail(API, "emit_output is called outside of a dataflow block", help="use emit")
        return self._emit(output, name_hint, output=True, span=span)

    def _emit(self, expr: Any, name_hint: str, *, output: bool, span: Span | None) -> Var:
        value = self.normalizer.expression(_as_expr(expr))
        var = self.normalizer.fresh_var(None, name_hint, output=output)
        if span is not None:
            set_note(var, "span", span)
        self.normalizer.add_binding(VarBinding(var, value, span))
        return var

    def match_cast(self, value: Any, struct_info: StructInfo, name_hint: str = "", *, span: Span | None = None) -> Var:
        """Bind `value`, cast to `struct_info`; the cast is checked at run time and binds new shape variables."""
        found = self.normalizer.atom(_as_expr(value))
        var = self.normalizer.fresh_var(struct_info, name_hint)
        self.normalizer.add_binding(MatchCast(var, found, struct_info, span))
        return var

    def emit_normalized(self, binding: Binding) -> None:
        """Append an existing binding, normalising it if necessary."""
        self.normalizer.add_binding(binding)

    def normalize(self, expr: Any) -> Any:
        """`expr` in normal form with its StructInfo; parts that must be bound are bound in the current block."""
        if isinstance(expr, Function):
            return self.normalizer.function(expr)
        return self.normalizer.expression(expr)

    def lookup_binding(self, var: Var) -> Any:
        """The value bound to `var`; None for a parameter or an unknown variable."""
        return self.normalizer.lookup(var)

    # ------------------------------------------------------------------------------------------------------- te

    def call_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A `call_tir` of the kernel that `func` computes; the kernel is added to the module.

        Arguments: expressions become te tensors (tuples: lists of them; shapes: lists of dims; prims: scalars),
        anything else is passed as it is. `primfunc_name_hint` and `primfunc_attrs` name and mark the kernel.
        """
        found = call_te_arguments(self.normalizer.atom, func, args, kwargs)
        return found.call(self.add_func(found.function, found.name))

    def emit_te(self, func: Callable[..., Any], *args: Any, name_hint: str = "", **kwargs: Any) -> Var:
        """`emit(call_te(...))`."""
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)

    def call_te_with_grad(
        self,
        func: Callable[..., Any],
        *args: Any,
        te_grad_name: str,
        te_grad_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Like `call_te`, with the name of the gradient function."""
        found = call_te_arguments(self.normalizer.atom, func, args, kwargs)
        return found.call_with_grad(self.add_func(found.function, found.name), te_grad_name, te_grad_kwargs or {})

    def emit_te_with_grad(
        self,
        func: Callable[..., Any],
        *args: Any,
        te_grad_name: str,
        te_grad_kwargs: dict[str, Any] | None = None,
        name_hint: str = "",
        **kwargs: Any,
    ) -> Var:
        """`emit(call_te_with_grad(...))`."""
        options = {"te_grad_name": te_grad_name, "te_grad_kwargs": te_grad_kwargs, **kwargs}
        return self.emit(self.call_te_with_grad(func, *args, **options), name_hint)


def _as_params(params: Any) -> tuple[Var, ...] | None:
    if params is None:
        return None
    found = (params,) if isinstance(params, Var) else tuple(params)
    for param in found:
        if not isinstance(param, Var):
            raise fail(API, f"a parameter must be a relax.Var, got {type(param).__name__}")
    return found


def _as_expr(value: Any) -> Any:
    """Python tuples and lists become Tuples; PrimFuncs are refused."""
    if isinstance(value, (tuple, list)):
        return Tuple([_as_expr(v) for v in value])
    if isinstance(value, (PrimFunc, PrimExpr)) or not hasattr(value, "struct_info_"):
        raise fail(
            API,
            f"a Relax expression is wanted, got {type(value).__name__}",
            help="wrap scalars in PrimValue and dims in ShapeExpr; add PrimFuncs to the module with add_func",
        )
    return value
