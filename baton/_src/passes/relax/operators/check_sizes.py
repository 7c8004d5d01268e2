"""CheckSizes: check at run time the equalities of sizes that a shape rule assumes but cannot prove.

    y = R.matmul(x, w)        ->    sizes_of_matmul = R.match_cast(R.shape([k]), R.Shape([k2]))
                                    y = R.matmul(x, w)                      (x: (m, k), w: (k2, n))

A rule asks its prover whether two sizes are equal and continues if that is undecided; a kernel made for such a call
would read beyond a tensor if they differ. Sizes that are provably equal cost nothing, and a check on the way to a call
is not repeated. Left alone: calls whose operands or result are not known precisely enough for a kernel (`LegalizeOps`);
they are compiled, and checked, at run time.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GraphExpr, Op, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import OpDef
from baton._src.ir.structural_hash import structural_hash
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.relax.check.assumed_sizes import Pair, assumed_sizes
from baton._src.relax.nodes import Call, DataflowVar, MatchCast, SeqExpr, ShapeExpr, Var, VarBinding
from baton._src.relax.struct_info import ShapeStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class CheckSizes(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return _Checker(module).rewritten()


class _Checker(ModuleRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.checked: list[set[Any]] = []
        """What has been checked in each of the sequences that enclose the current binding."""

    def enter_sequence(self, seq: SeqExpr) -> None:
        self.checked.append(set())

    def leave_sequence(self, seq: SeqExpr) -> None:
        self.checked.pop()

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if isinstance(value, Call) and isinstance(value.op, Op) and isinstance(value.op.definition, OpDef):
            pairs = [pair for pair in assumed_sizes(value, self.context) if self.is_new(pair)]
            if pairs:
                self.check(pairs, value)
        return value

    def is_new(self, pair: Pair) -> bool:
        """Whether this has not been checked on the way here; from now on it counts as checked."""
        key = frozenset(structural_hash(d) if isinstance(d, PrimExpr) else ("number", d) for d in pair)
        if any(key in known for known in self.checked):
            return False
        self.checked[-1].add(key)
        return True

    def check(self, pairs: list[Pair], call: Call) -> None:
        """Bind a cast of the sizes found to the sizes expected, which names the operator."""
        found, expected = (ShapeExpr(dims) for dims in zip(*pairs))
        wanted = ShapeStructInfo(expected.values)
        name = "sizes_of_" + call.op.name.removeprefix("relax.").replace(".", "_")
        var = (DataflowVar if self.in_dataflow else Var)(name, wanted)
        self.keep(MatchCast(var, self.normalized(found), wanted, call.span))
