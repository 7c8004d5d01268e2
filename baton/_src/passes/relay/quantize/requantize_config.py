"""`relay.qnn.op.requantize_config`: the arithmetic of calls of qnn.requantize that do not specify it.

    with relay.qnn.op.requantize_config(rounding="TONEAREST", compute_dtype="int64"):
        library = relay.build(module, target)

It applies to programs built, interpreted or canonicalised inside the `with` block; arguments of a call take precedence.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Self

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ops.quant.requantize import COMPUTE_DTYPES, OPEN, RequantizeAttrs
from baton._src.ops.quant.rescaling import ROUNDINGS
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Function
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail


class _Stack(threading.local):
    """The configurations entered by this thread."""

    def __init__(self) -> None:
        self.entered: list[RequantizeConfig] = []


@dataclass(frozen=True)
class RequantizeConfig:
    """Entered with `with`; the innermost one applies. Without a `compute_dtype` requantize is exact.

    Error `api`: a rounding or a dtype that requantize does not have.
    """

    rounding: str = "UPWARD"
    compute_dtype: str = OPEN

    def __post_init__(self) -> None:
        for name, known in (("rounding", ROUNDINGS), ("compute_dtype", (OPEN, *COMPUTE_DTYPES))):
            if getattr(self, name) not in known:
                raise fail("api", f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}")

    def __enter__(self) -> Self:
        _stack.entered.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _stack.entered.pop()


_stack = _Stack()
_default = RequantizeConfig()


def requantize_config(rounding: str = "UPWARD", compute_dtype: str = OPEN) -> RequantizeConfig:
    """How calls of qnn.requantize round ("UPWARD" or "TONEAREST"), and compute ("int64", "float32" or "float64")."""
    return RequantizeConfig(rounding, compute_dtype)


def current_requantize_config() -> RequantizeConfig:
    """The innermost configuration this thread has entered, or the default one."""
    return _stack.entered[-1] if _stack.entered else _default


def settled(call: Call) -> Call:
    """The call with unspecified attributes of qnn.requantize taken from the current configuration; other calls are
    unchanged.
    """
    config, attrs = current_requantize_config(), call.attrs
    if config == _default or not isinstance(attrs, RequantizeAttrs):
        return call
    said = {name: getattr(config, name) for name in ("rounding", "compute_dtype") if getattr(attrs, name) == OPEN}
    return Call(call.op, call.args, attrs.with_attrs(**said), span=call.span) if said else call


def settle(program: Any) -> Any:
    """A module or an expression with all its calls `settled`."""
    if current_requantize_config() == _default:
        return program
    if isinstance(program, IRModule):
        functions = {v: settle(f) if isinstance(f, Function) else f for v, f in program.functions.items()}
        return program.with_functions(functions)
    return rewrite(program, _settled_requantize)


def _settled_requantize(old: GraphExpr, new: GraphExpr) -> Any:
    return settled(new) if isinstance(new, Call) and isinstance(new.op, Op) else None
