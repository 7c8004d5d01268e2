"""Strategies: which of several implementations computes an operator (`relay.op.OpStrategy`, `register_strategy`).

    @tvm.target.override_native_generic_func("my_strategy")
    def my_strategy(attrs, inputs, out_type, target):
        strategy = relay.op.OpStrategy()
        strategy.add_implementation(my_compute, wrap_topi_schedule(topi.generic.schedule_injective), name="my.generic")
        return strategy

    relay.op.op.register_strategy("my_op", my_strategy)

The implementation of the highest level computes the operator. Schedules are kept and not asked: kernels get theirs by
rules, from what they compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.driver.tvm_names.relay.user_operators import register_op_attr
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail


@dataclass(frozen=True)
class OpImplementation:
    """One way to compute an operator."""

    compute: Callable[..., Any]
    schedule: Callable[..., Any] | None
    name: str
    plevel: int


@dataclass(frozen=True)
class OpSpecialization:
    """Implementations for operands of certain sizes. There is one group, for all: its condition is None."""

    implementations: list[OpImplementation]
    condition: None = None


class OpStrategy:
    """The implementations there are; of those of one level the first counts."""

    def __init__(self) -> None:
        self.implementations: list[OpImplementation] = []

    def add_implementation(
        self, compute: Callable[..., Any], schedule: Callable[..., Any] | None, name: str = "default", plevel: int = 10
    ) -> None:
        """`compute(attrs, inputs, out_type)` gives the tensor expressions of the results."""
        self.implementations.append(OpImplementation(compute, schedule, name, plevel))

    @property
    def specializations(self) -> list[OpSpecialization]:
        """The implementations by the sizes they are for."""
        return [OpSpecialization(self.implementations)] if self.implementations else []

    def best(self) -> OpImplementation:
        """What is compiled."""
        if not self.implementations:
            raise fail("op-registered", "this strategy has no implementation", help="call add_implementation")
        return max(self.implementations, key=lambda each: each.plevel)


def register_strategy(op_name: str, fstrategy: Any = None, level: int = 10) -> Any:
    """Let `fstrategy(attrs, inputs, out_type, target)` choose how an operator is computed; without it, a decorator.

    A function given to `register_compute` counts no longer, as in TVM.
    """
    return register_op_attr(op_name, "FTVMStrategy", fstrategy, level)


# ---- what strategies are written with (`relay.op.strategy`)


def wrap_topi_compute(topi_compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors as the compute function of an operator without attributes."""
    return lambda attrs, inputs, out_type: [topi_compute(*inputs)]


def wrap_topi_schedule(topi_schedule: Callable[..., Any]) -> Callable[..., Any]:
    """A schedule of output tensors as the schedule of an implementation."""
    return lambda attrs, outs, target: topi_schedule(outs)


def naive_schedule(_: Any, outs: Any, target: Any) -> Any:
    """Leaves everything as computed: the rules of kernels decide."""
    return outs
