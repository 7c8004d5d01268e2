"""The environment of a running function: values of variables and shape variables, including captured ones."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import field
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.relax.nodes import Call, Function, Var
from baton._src.relax.struct_info import FuncStructInfo, StructInfo
from baton._src.runtime.value_errors import argument_count
from baton._src.support.dataclass import dataclass
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.closure import Closure


@dataclass
class Frame:
    """The variables of one call."""

    values: dict[Var, Any] = field(default_factory=dict)
    shapes: dict[TirVar, Any] = field(default_factory=dict)
    unread: Set[Call] = frozenset()
    """The calls of the function whose results nothing reads."""

    def scalar(self, expr: PrimExpr) -> Any:
        """A scalar under the shape variables bound so far, computed exactly; its user checks the range."""
        if isinstance(expr, (IntImm, FloatImm)):
            return expr.value
        if isinstance(expr, TirVar) and expr in self.shapes:
            return self.shapes[expr]
        return evaluate(expr, self.shapes, exact=True)

    def dims(self, dims: tuple[PrimExpr, ...]) -> tuple[int, ...]:
        """Dims as numbers, evaluated left to right."""
        return tuple(int(self.scalar(d)) for d in dims)


class FunctionClosure(Closure):
    """A Relax function with the variables it captured, by reference, and its run-time structural information."""

    __slots__ = ("definition", "frame", "own")

    def __init__(
        self, name: str, definition: Function, frame: Frame, own: Var | None, info: StructInfo, invoke: Any
    ) -> None:
        super().__init__(name, definition, tuple(frame.values.values()), invoke, info)
        self.definition = definition
        self.frame = frame
        self.own = own


class PartialClosure(Closure):
    """A function with its trailing arguments bound (`make_closure`)."""

    __slots__ = ()

    def called(self, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """The function to call instead, and the arguments to call it with; those captured are none of its caller's."""
        expected = self.info.params if isinstance(self.info, FuncStructInfo) else None
        if expected is not None and len(args) != len(expected):
            argument_count(self.name, len(expected), len(args))
        return self.function, (*args, *self.captured)


class PrimFuncValue(Closure):
    """A PrimFunc as a value: calling it may write its buffer arguments."""

    __slots__ = ()

    def __init__(self, name: str, function: PrimFunc, info: StructInfo, invoke: Any) -> None:
        super().__init__(name, function, (), invoke, info)
