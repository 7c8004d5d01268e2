"""Tail calls: the caller's frame is dropped before the call runs; the caller's result checks run afterwards."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from baton._src.relax.check.variables import tir_vars_in_struct_info
from baton._src.relax.interpret.checks import Checker
from baton._src.relax.interpret.environment import Frame, FunctionClosure
from baton._src.relax.nodes import Binding, Call, DataflowBlock, If, SeqExpr, VarBinding
from baton._src.relax.struct_info import StructInfo
from baton._src.support.dataclass import dataclass


@dataclass
class TailCall:
    """A call whose result is the caller's own, and which replaces the caller's frame."""

    closure: FunctionClosure
    args: tuple[Any, ...]


@dataclass
class PendingChecks:
    """Result checks of functions that have left by a tail call, innermost last; equal ones are kept once."""

    checks: list[tuple[Frame, StructInfo, str]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def add(self, frame: Frame, info: StructInfo, place: str) -> None:
        if tir_vars_in_struct_info(info):
            self.checks.append((frame, info, place))
        elif id(info) not in self.seen:
            self.seen.add(id(info))
            self.checks.append((frame, info, place))

    def run(self, value: Any) -> None:
        for frame, info, place in reversed(self.checks):
            Checker(frame, bind=False).cast(value, info, place)


def tail_binding(expr: SeqExpr) -> Binding | None:
    """The last binding, if the sequence returns what it binds."""
    if not expr.blocks or not expr.blocks[-1].bindings or isinstance(expr.blocks[-1], DataflowBlock):
        return None
    last = expr.blocks[-1].bindings[-1]
    tail = isinstance(last, VarBinding) and last.var is expr.body and isinstance(last.value, (Call, If))
    return last if tail else None
