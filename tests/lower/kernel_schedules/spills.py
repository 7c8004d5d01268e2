"""Vectors that kernels move to the stack and back, read off their assembly."""

from __future__ import annotations

import re

from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.tir.prim_func import PrimFunc

WIDE = Target("llvm -mcpu=znver4")
SPILL = re.compile(r"^\s*v\w+.*%[xyz]mm.*\(%r[sb]p\)|^\s*v\w+.*\(%r[sb]p\).*%[xyz]mm", re.MULTILINE)
"""At a fixed place of the stack; small panels, which lie there as well, are addressed with an index."""
SPILL_ON_ARM = re.compile(r"^\s*(?:ld|st)[rp]\s+q\d+.*\[sp.*", re.MULTILINE)

LOOP = re.compile(r"^(\.\w+):((?:(?!^\.\w+:).)*?)^\s+(?:j\w+|b\.\w+)\s+\1$", re.MULTILINE | re.DOTALL)
"""A block that jumps back to its own label."""


def spills(func: PrimFunc) -> list[str]:
    """Instructions that move vectors to or from the stack in the kernel that the rules make."""
    return spills_of(decide(func, WIDE).func)


def spills_of_sums(func: PrimFunc, target: Target) -> list[str]:
    """Those of the innermost loops that multiply and add, in the kernel that the rules make."""
    texts, _ = module_texts({"f": decide(func, target).func}, target)
    return spills_in_loops(assembly(texts["f"], Machine.of(target)), "vfmadd")


def spills_of(scheduled: PrimFunc) -> list[str]:
    """The same in a scheduled kernel."""
    texts, _ = module_texts({"f": scheduled}, WIDE)
    return spills_in(assembly(texts["f"], Machine.of(WIDE)))


def spills_in_loops(code: str, instruction: str) -> list[str]:
    """Those of the innermost loops that have the instruction more than once; there are such loops."""
    loops = [body for _, body in LOOP.findall(code) if body.count(instruction) > 1]
    assert loops
    return [found for body in loops for found in spills_in(body)]


def spills_in(code: str) -> list[str]:
    """Those of assembly."""
    framed = re.search(r"^\s*movq\s+%rsp, %rbp", code, re.MULTILINE)  # else rbp is a register like others
    here = [found for found in SPILL.findall(code) if framed or "%rsp" in found]
    return here + SPILL_ON_ARM.findall(code)
