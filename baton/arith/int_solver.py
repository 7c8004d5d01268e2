"""Systems of equations and inequalities over the integers (`tvm.arith.int_solver`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.arith.systems.linear_systems", "solve_linear_equations IntConstraints IntConstraintsTransform"),
        **names("tir.arith.systems.linear_inequalities", "solve_linear_inequalities IntGroupBounds"),
    },
    before=wire,
)
