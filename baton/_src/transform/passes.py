"""The base classes of passes, and `Sequential`, which runs them in order.

    @dataclass(frozen=True)
    class FoldConstant(Pass):
        '''Replace operator calls on constants by their value.'''
        opt_level = 2
        max_bytes: int = 1 << 20

        def run(self, module: IRModule, ctx: PassContext) -> IRModule: ...

    FoldConstant(max_bytes=64)(module)

The fields of the dataclass are the pass's options. A pass asks operators (`op.definition.fusion`), never their names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import BatonError, DiagnosticError, InternalError, fail
from baton._src.transform.collector import rarely_collecting
from baton._src.transform.context import PassContext, PassInfo
from baton._src.transform.options import check_options
from baton._src.transform.reproducer import write_reproducer


class Pass:
    """Module in, module out. Subclasses are frozen dataclasses with a `run`."""

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = ()
    """Passes (or their names) a Sequential runs first."""
    traceable: ClassVar[bool] = False
    guarded: ClassVar[bool] = True
    """Whether an exception in it is baton's fault (`InternalError`). Those of users' passes travel as they are."""
    treats: ClassVar[str] = "Module"
    """What one call of the pass transforms, as in its printed form."""
    find: ClassVar[Callable[[str], Pass] | None] = None
    """Pass by name, for `required`; bound by `driver.wiring`."""
    refuse: ClassVar[Callable[[Pass, IRModule], None] | None] = None
    """Refuses modules of a language that is not the pass's; bound by `driver.wiring`."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        """The transformed module; `module` itself if there was nothing to do."""
        raise _no_pass(self)

    @property
    def name(self) -> str:
        return type(self).__name__

    def constructor(self) -> str:
        """The call that makes this pass again, for reproducers: options that have their default value are left out."""
        made: Any = self
        if not is_dataclass(made):
            return repr(made)
        options = [(f, repr(getattr(made, f.name))) for f in fields(made) if f.init]
        given = ", ".join(f"{option.name}={value}" for option, value in options if value != _default_text(option))
        return f"{type(self).__name__}({given})"

    def __str__(self) -> str:
        """What TVM prints of a pass; `repr` has its options."""
        return f"Run {self.treats} pass: {self.info.name} at the optimization level {self.info.opt_level}"

    @property
    def info(self) -> PassInfo:
        """Name, opt level and requirements (TVM's `PassInfo`)."""
        names = tuple(r if isinstance(r, str) else r.name for r in self.required)
        return PassInfo(self.opt_level, self.name, names, self.traceable)

    def __call__(self, module: IRModule) -> IRModule:
        """Run on `module` under the current PassContext, whatever its opt level; its instruments watch and may veto."""
        if not isinstance(module, IRModule):
            raise fail(
                "api",
                f"{self.name} transforms an IRModule, got {type(module).__name__}",
                help="wrap a function: IRModule({'main': function}), or IRModule.from_expr(function)",
            )
        if Pass.refuse is not None:
            Pass.refuse(self, module)
        ctx = PassContext.current()
        info = self.info
        if not ctx.should_run(module, info):
            return module
        ctx.before_pass(module, info)
        with rarely_collecting():
            result = self._run_guarded(module, ctx)
        ctx.after_pass(result, info)
        return result

    def _run_guarded(self, module: IRModule, ctx: PassContext) -> IRModule:
        if self.guarded:
            check_options(self)
        try:
            result = self.run(module, ctx)
            if not isinstance(result, IRModule):
                raise fail("pass-result", f"{self.name} returned {type(result).__name__}, not an IRModule")
            return result
        except Exception as error:
            mistake = isinstance(error, BatonError) and not isinstance(error, InternalError)
            if mistake or not self.guarded or (isinstance(error, InternalError) and error.reported):
                raise
            raise _broken(self, module, ctx, error) from error


def _default_text(option: Field[Any]) -> str | None:
    if option.default is not MISSING:
        return repr(option.default)
    return None if option.default_factory is MISSING else repr(option.default_factory())


def _broken(at: Pass, module: IRModule, ctx: PassContext, error: Exception) -> InternalError:
    """The error for a pass that raised: names the pass, the cause, and the file of the reproducer."""
    remaining = [at, *(step for steps in reversed(ctx.pending) for step in steps)]
    where = write_reproducer(at.name, module, remaining, error, ctx)
    found = InternalError(f"the pass {at.name} failed: {type(error).__name__}: {error}\n  {where}")
    found.reported = True
    return found


class FunctionPass(Pass):
    """A pass that transforms the functions of one language one by one.

    `run_function(function, module, ctx)` returns the new function, or the same object. Functions with the attribute
    `SkipOptimization` are left alone, and those that belong to an external compiler.
    """

    treats = "Function"
    function_class: ClassVar[type]
    skipped: ClassVar[tuple[str, ...]] = ("SkipOptimization", "Compiler", "Extern")

    @classmethod
    def skips(cls, function: Any) -> bool:
        """Whether the pass leaves a function alone."""
        attrs = function.attrs or {}
        return any(attrs.get(name) for name in cls.skipped)

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        """The function after the pass, the same object if nothing changed; `module` is what it calls into."""
        raise _no_pass(self)

    def rewriter(self, module: IRModule, ctx: PassContext) -> Callable[[Any], Any]:
        """The function applied to each function of `module`; override it to analyse the whole module once before."""
        return lambda function: self.run_function(function, module, ctx)

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        if not hasattr(self, "function_class"):
            raise _no_pass(self)
        changed: dict[Any, Any] = {}
        rewrite = self.rewriter(module, ctx)
        for var, function in module.functions.items():
            if isinstance(function, self.function_class) and not self.skips(function):
                result = rewrite(function)
                if not isinstance(result, self.function_class):
                    wanted = self.function_class.__name__
                    raise fail(
                        "pass-result", f"{self.name} returned {type(result).__name__} for {var.name_hint}, not {wanted}"
                    )
                if result is not function:
                    changed[var] = result
        return module.with_functions({**module.functions, **changed}) if changed else module


def _no_pass(made: Pass) -> DiagnosticError:
    """The error for a class of passes that says how to change nothing."""
    help = "decorate a function or a class: transform.module_pass, function_pass of relay.transform or relax.transform"
    return fail("api", f"{type(made).__name__} is no pass by itself", help=help)


@dataclass(frozen=True)
class Sequential(Pass):
    """Passes in order: each that the PassContext enables, after the passes it requires (those run unconditionally)."""

    guarded = False  # its passes are, each for itself; what instruments raise goes through
    treats = "Sequential"
    passes: tuple[Pass, ...] = ()
    title: str = "sequential"
    level: int = 0
    needs: tuple[str, ...] = ()

    def __init__(
        self,
        passes: Sequence[Any] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> None:
        for step in passes or ():
            if not isinstance(step, Pass):
                message = f"a Sequential holds passes, got {type(step).__name__} {step!r}"
                raise fail("api", message, help="make passes by calling them: relay.transform.FoldConstant()")
        object.__setattr__(self, "passes", tuple(passes or ()))
        object.__setattr__(self, "traceable", traceable)
        object.__setattr__(self, "title", name)
        object.__setattr__(self, "level", opt_level)
        object.__setattr__(self, "needs", tuple(required or ()))

    @property
    def name(self) -> str:
        return self.title

    def constructor(self) -> str:
        steps = ", ".join(step.constructor() for step in self.passes)
        options = f"opt_level={self.level}, name={self.title!r}, required={list(self.needs)!r}"
        return f"Sequential([{steps}], {options})"

    def __str__(self) -> str:
        names = "".join(f"{step.name} " for step in self.passes)
        return f"{super().__str__()}. The passes will be executed are: [{names}]"

    @property
    def required(self) -> tuple[str, ...]:  # type: ignore[override]  # each has its own, not its class
        return self.needs

    @property
    def info(self) -> PassInfo:
        return PassInfo(self.level, self.title, self.needs, self.traceable)

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        for number, step in enumerate(self.passes):
            if not ctx.pass_enabled(step.info):
                continue
            ctx.pending.append(self.passes[number + 1 :])
            try:
                for needed in step.required:
                    module = (_find(needed) if isinstance(needed, str) else needed)(module)
                module = step(module)
            finally:
                ctx.pending.pop()
        return module


def _find(name: str) -> Pass:
    if Pass.find is None:
        raise InternalError(f"the pass {name} is required by name, but Pass.find is not bound (driver.wiring does)")
    return Pass.find(name)
