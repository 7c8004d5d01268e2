"""PartialEvaluate: compute at compile time whatever is known; the rest is the residual program.

    def @power(%x, %n) { if (%n == 0) { 1f } else { %x * @power(%x, %n - 1) } }    def @main(%x) { @power(%x, 3) }
becomes
    def @main(%x) { let %a = %x * 1f; let %b = %x * %a; %x * %b }

This is an online partial evaluator: it decides at each step whether the step can be executed now. Calls of known
functions are unfolded, ifs and matches on known data are decided, operators on constants are folded, and projections of
known tuples and data are resolved. References are tracked: reading one whose content is known is free; writes are kept,
and references that are only written are removed at the end. In code that may or may not run (a branch, a residual
closure) the contents of references are unknown, and what it writes is unknown afterwards.

Termination: a function is not unfolded within a branch that results from unfolding it (how often that happens is known
only at run time), and `fuel` bounds the number of unfoldings. Size: functions that each call one another twice would
use up all fuel, so the residual code of unfoldings is limited, too (`WORK`).
"""

from __future__ import annotations

from typing import ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relay.effects import Effects
from baton._src.passes.relay.first_order.eta_expand import EtaExpand
from baton._src.passes.relay.forms.to_a_normal_form import ToANormalForm
from baton._src.passes.relay.gradients.dead_references import without_dead_references
from baton._src.passes.relay.partial_evaluation.evaluation import Evaluation
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

ROUNDS = 10
"""Rounds of removing dead code and dead references."""
WORK = 200_000
"""Steps within unfolded functions, for a whole module; further calls are not unfolded."""


@dataclass(frozen=True)
class PartialEvaluate(Pass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 1
    fuel: int = 5000

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        expanded = EtaExpand(expand_constructor=True, expand_global_var=True)(infer_type(module))
        prepared = ToANormalForm()(expanded)
        functions = dict(prepared.functions)
        effects, work = Effects(prepared).anywhere, WORK
        for var in sorted(functions, key=lambda v: v.name_hint != "main"):  # then the others, in their order
            if isinstance(functions[var], Function) and not RelayFunctionPass.skips(functions[var]):
                evaluation = Evaluation(prepared, self.fuel, work, effects)
                functions[var] = evaluation.whole(functions[var])
                work = evaluation.work
        residual = infer_type(prepared.with_functions(functions))
        for _ in range(ROUNDS):  # what a dead reference held may have been the last use of another
            residual = DeadCodeElimination()(residual)
            cleaned = {v: without_dead_references(f) for v, f in residual.functions.items()}
            if all(f is residual.functions[v] for v, f in cleaned.items()):
                break
            residual = residual.with_functions(cleaned)
        return infer_type(residual)
