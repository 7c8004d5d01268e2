"""`schedule(func, target)`: the first rule that accepts a kernel decides how it is computed.

A rule is a module with `apply(func, target) -> PrimFunc | Declined`. Rules are ordered from special to general; `rows`
accepts every kernel it can read, and a body that no rule can read stays unchanged. For a target without vectors it is
the only one: tiles are sized by registers and caches, of which C code knows nothing, and take code and memory.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules import recurrence, rows, transpose
from baton._src.lower.kernel_schedules.attention import attention
from baton._src.lower.kernel_schedules.convolution import conv_choice
from baton._src.lower.kernel_schedules.convolution.blocked import conv_blocked
from baton._src.lower.kernel_schedules.convolution.conv_costs import Plan
from baton._src.lower.kernel_schedules.convolution.transposed import conv_phases
from baton._src.lower.kernel_schedules.dot_products import dot_products
from baton._src.lower.kernel_schedules.given_loops import with_compact_memory
from baton._src.lower.kernel_schedules.products import matmul, prepacked
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.support.dataclass import dataclass
from baton._src.tir import stmt as st
from baton._src.tir.expr import IntImm
from baton._src.tir.index_dtype import with_index_dtype
from baton._src.tir.prim_func import UNSCHEDULED, PrimFunc
from baton._src.values.dtype import INT64

Apply = Callable[[PrimFunc, Target], PrimFunc | Declined]


@dataclass(frozen=True)
class Rule:
    """A rule and its name."""

    name: str
    apply: Apply


@dataclass(frozen=True)
class Choice:
    """Alternative rules, of which the one with the lowest estimated cost is used."""

    choose: Callable[[PrimFunc, Target], tuple[tuple[str, Plan] | None, tuple[tuple[str, str], ...]]]


RULES: tuple[Rule | Choice, ...] = (
    Rule("conv_blocked", conv_blocked.apply),
    Rule("dot_products", dot_products.apply),
    Rule("conv_phases", conv_phases.apply),
    Choice(conv_choice.choose),
    Rule("attention", attention.apply),
    Rule("prepacked", prepacked.apply),
    Rule("matmul", matmul.apply),
    Rule("recurrence", recurrence.apply),
    Rule("transpose", transpose.apply),
    Rule("rows", rows.apply),
)


@dataclass(frozen=True)
class Decision:
    """A scheduled kernel: the function, the rule that scheduled it, and why earlier rules declined."""

    func: PrimFunc
    rule: str
    declined: tuple[tuple[str, str], ...]


def keeps_its_loops(func: PrimFunc) -> bool:
    """Whether a kernel must not be scheduled: its loops were chosen already, or it computes sizes
    (`tir.is_host_func`).
    """
    return bool(func.attrs.get("tir.is_scheduled") or func.attrs.get("tir.is_host_func"))


def decide(func: PrimFunc, target: Target) -> Decision:
    """Schedule `func`; the result also names the rule that did."""
    if func.attrs.get("calls_kernels"):
        return Decision(func, "", ())  # native control flow, written as it is to run
    if keeps_its_loops(func):
        return Decision(with_compact_memory(func), f"{UNSCHEDULED}: already scheduled", ())
    func = with_index_dtype(func, INT64)  # rules combine their own loops with existing ones
    declined: list[tuple[str, str]] = []
    for rule in RULES[-1:] if _is_empty(func) or not target.vector_bits else RULES:
        if isinstance(rule, Choice):
            best, others = rule.choose(func, target)
            declined += others
            if best is not None:
                return Decision(best[1].make(), best[0], tuple(declined))
            continue
        found = rule.apply(func, target)
        if not isinstance(found, Declined):
            return Decision(found, rule.name, tuple(declined))
        declined.append((rule.name, found.reason))
    return Decision(func, f"{UNSCHEDULED}: as it stands", tuple(declined))


def _is_empty(func: PrimFunc) -> bool:
    """Whether some tensor has no elements: there is nothing to speed up, and no tile fits."""
    inner = func.body.block.alloc_buffers if isinstance(func.body, st.BlockRealize) else ()
    buffers = (*func.buffer_map.values(), *inner)
    return any(isinstance(dim, IntImm) and dim.value == 0 for buffer in buffers for dim in buffer.shape)


def schedule(func: PrimFunc, target: Target) -> PrimFunc:
    """Return `func` scheduled for `target`."""
    return decide(func, target).func
