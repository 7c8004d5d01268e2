"""The products of a dataflow block, each with the bias and the activation that follow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.analysis.bindings import udchain
from baton._src.ir.expr import Op
from baton._src.relax.known_dims import dims_of
from baton._src.relax.nodes import Call, DataflowBlock, Var, VarBinding
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer

ACTIVATIONS = ("relax.nn.relu", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.silu")


@dataclass(eq=False, frozen=True)
class Branch:
    """A product and what follows it: `activated` stands behind `biased` where there is one, else behind `product`."""

    product: VarBinding
    biased: VarBinding | None
    activated: VarBinding | None

    @property
    def weight(self) -> Any:
        return self._call(self.product).args[1]

    @property
    def bias(self) -> Any:
        return None if self.biased is None else self._call(self.biased).args[1]

    @property
    def activation(self) -> str | None:
        return None if self.activated is None else operator(self.activated)

    @staticmethod
    def _call(binding: VarBinding) -> Any:
        return binding.value


def operator(binding: Any) -> str | None:
    """The name of the operator that the binding calls."""
    value = binding.value if isinstance(binding, VarBinding) else None
    return value.op.name if isinstance(value, Call) and isinstance(value.op, Op) else None


def branches_of(block: DataflowBlock) -> dict[Var, list[Branch]]:
    """The block's products by their left operand; matrices only, of known dims."""
    bound = {b.var: b for b in block.bindings}
    users = udchain(block)
    found: dict[Var, list[Branch]] = {}
    for binding in block.bindings:
        if not isinstance(binding, VarBinding) or operator(binding) != "relax.matmul":
            continue
        call: Any = binding.value
        left, weight = call.args
        if not isinstance(left, Var) or left.struct_info.ndim < 2 or len(dims_of(weight) or ()) < 2:
            continue
        biased = _follower(binding, users, bound, _is_bias)
        activated = _follower(biased or binding, users, bound, lambda b: operator(b) in ACTIVATIONS)
        found.setdefault(left, []).append(Branch(binding, biased, activated))
    return found


def common_ends(branches: Sequence[Branch]) -> list[VarBinding]:
    """The last binding of each branch up to which all of them do the same."""
    ranks = {0 if b.bias is None else b.bias.struct_info.ndim for b in branches}
    if len(ranks) == 1 and len({b.activation for b in branches}) == 1 and branches[0].activated is not None:
        return [b.activated for b in branches if b.activated is not None]
    if len(ranks) == 1 and ranks != {0}:
        return [b.biased for b in branches if b.biased is not None]
    return [b.product for b in branches]


def _follower(binding: VarBinding, users: Any, bound: Any, is_one: Any) -> VarBinding | None:
    """The first binding whose first operand is the variable of this one, and of which `is_one` holds."""
    for user in (bound[u] for u in users[binding.var]):
        if isinstance(user, VarBinding) and isinstance(user.value, Call) and user.value.args:
            if user.value.args[0] is binding.var and is_one(user):
                return user
    return None


def _is_bias(binding: VarBinding) -> bool:
    """An addition of a tensor with as many columns as the product, of no higher rank."""
    if operator(binding) != "relax.add":
        return False
    call: Any = binding.value
    product, bias = dims_of(call.args[0]), dims_of(call.args[1])
    if not product or not bias or len(bias) > len(product):
        return False
    return Analyzer().equal(product[-1], bias[-1]) is True
