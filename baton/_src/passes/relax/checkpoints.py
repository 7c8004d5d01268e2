"""Checkpoints of Gradient: values that the backward part computes again, so that they need not be kept until then.

    xs = R.grad.start_checkpoint(x)         (x stays)
    a = R.sin(xs)                           ...
    b = R.sin(a)                            gradient of y
    y = R.grad.end_checkpoint(b)            x_start = R.grad.start_checkpoint(x)
                                            a_cp = R.sin(x_start);  gradient of b by a_cp;  gradient of a by x_start

Between the marks, nothing stays but what a section starts from; elsewhere everything does. A value stays where all that
it is computed from stays, or ends a section; a match_cast always does. The marks go from the forward part. In the
backward part one stays at the start of each section: without it, what is computed again equals what was computed
before, and whatever merges equal bindings would undo the pass (`DissolveMarks` removes it behind such passes).
"""

from __future__ import annotations

from typing import Any

from baton._src.analysis.bindings import body_bindings
from baton._src.ir.expr import GraphExpr
from baton._src.ir.traverse import post_order, substitute
from baton._src.ops.call_maker import RelaxMaker
from baton._src.passes.relax.te_gradients import without_te_gradient
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Call, Function, MatchCast, Var, is_call

_START, _END = "relax.grad.start_checkpoint", "relax.grad.end_checkpoint"


def is_mark(value: GraphExpr) -> bool:
    """Whether it is a call that starts or ends a section."""
    return is_call(value, _START, _END)


def sections(function: Function) -> tuple[set[Any], set[Any]]:
    """The variables of the function whose values need not stay, and those that sections start from."""
    staying: set[Var] = set(function.params)
    marked: dict[Any, Any] = {}
    """What each mark stands for."""
    passing: set[Var] = set()
    starts: set[Any] = set()
    for binding in body_bindings(function):
        var, value = binding.var, binding.value
        if is_mark(value):
            marked[var] = source = marked.get(value.args[0], value.args[0])
            ends = value.op.name == _END
            staying.add(var if ends else source)
            if not ends:
                passing.discard(source)
                starts.add(source)
        elif isinstance(binding, MatchCast) or all(v in staying for v in post_order(value) if isinstance(v, Var)):
            staying.add(var)
        else:
            passing.add(var)
    return passing, starts


class Recomputation:
    """Computes values again: each once, when it is first needed."""

    def __init__(
        self, builder: BlockBuilder, make: RelaxMaker, values: dict[Var, Any], passing: set[Any], starts: set[Any]
    ) -> None:
        self.builder, self.make, self.values, self.passing, self.starts = builder, make, values, passing, starts
        self.again: dict[Any, Any] = {}

    def var(self, var: Var) -> Any:
        """The variable to use in the backward part for one of the forward part."""
        todo = [var]
        while todo:
            current = todo[-1]
            if current not in self.passing or current in self.again:
                todo.pop()
                continue
            value = self.values[current]
            needed = [v for v in post_order(value) if v in self.passing and v not in self.again]
            if needed:
                todo += needed
            else:
                self._start(value)
                self.again[todo.pop()] = self.builder.emit(
                    without_te_gradient(self._changed(value)), f"{current.name_hint}_cp"
                )
        return self.again.get(var, var)

    def _start(self, value: GraphExpr) -> None:
        """Mark what a section starts from, where `value` is the first that is computed of it."""
        for source in post_order(value):
            if source in self.starts and source not in self.again:
                mark = self.make.op("grad.start_checkpoint", source)
                self.again[source] = self.builder.emit(mark, f"{source.name_hint}_start")

    def call(self, var: Var, call: Call) -> tuple[Any, Any]:
        """`var`, to which `call` is bound, and `call`, as the backward part sees them."""
        if not self.passing:
            return var, call
        for needed in (var, *post_order(call)):
            if isinstance(needed, Var):
                self.var(needed)
        return self.again.get(var, var), self._changed(call)

    def _changed(self, value: GraphExpr) -> Any:
        return substitute(value, self.again, notes=False)
