"""The cheapest of the algorithms for a convolution (channels first), whatever order they are listed in.

Each algorithm states its cost (`conv_costs`) or why it does not apply. A depthwise convolution for which no packing
pays is left to the general rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution import conv2d, open_depthwise
from baton._src.lower.kernel_schedules.convolution.conv_costs import Plan
from baton._src.lower.kernel_schedules.convolution.lines import depthwise_lines, line_phases
from baton._src.lower.kernel_schedules.convolution.unpacked import conv_unpacked
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.tir.prim_func import PrimFunc

Planner = Callable[[PrimFunc, Target], Plan | Declined]
WAYS: tuple[tuple[str, Planner], ...] = (
    ("depthwise_lines", depthwise_lines.plan),
    ("line_phases", line_phases.plan),
    ("conv_unpacked", conv_unpacked.plan),
    ("conv2d", conv2d.plan),
    ("rows", depthwise_lines.plan_generally),
    ("open_depthwise", open_depthwise.plan),
)


def choose(
    func: PrimFunc, target: Target, ways: Sequence[tuple[str, Planner]] = WAYS
) -> tuple[tuple[str, Plan] | None, tuple[tuple[str, str], ...]]:
    """The cheapest plan and its name, or None if there is none; and why the others were not chosen."""
    possible: list[tuple[str, Plan]] = []
    declined: list[tuple[str, str]] = []
    for name, planner in ways:
        found = planner(func, target)
        if isinstance(found, Declined):
            declined.append((name, found.reason))
        else:
            possible.append((name, found))
    if not possible:
        return None, tuple(declined)
    best = min(possible, key=lambda way: way[1].steps)
    for name, plan in possible:
        if plan is not best[1]:
            declined.append((name, f"takes {plan.steps / best[1].steps:.2f} times as long as {best[0]}"))
    return best, tuple(declined)
