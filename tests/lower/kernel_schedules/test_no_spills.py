"""The machine code of the main kernels keeps its tiles in registers: no vector goes to the stack and back."""

from __future__ import annotations

import re
from typing import Any

import pytest

from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.pack_weights import reading_panels
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from tests.lower.kernel_schedules.test_attention import kernel as attention_kernel
from tests.lower.kernel_schedules.test_rules import matmul
from tests.lower.kernel_schedules.test_transpose import heads

WIDE, NARROW = Target("llvm -mcpu=znver4"), Target("llvm -mcpu=haswell")
SPILL = re.compile(r"^\s*v\w+.*%[xyz]mm.*\(%r[sb]p\)|^\s*v\w+.*\(%r[sb]p\).*%[xyz]mm", re.MULTILINE)
"""At a fixed place of the stack; small panels, which lie there as well, are addressed with an index."""


def rows(kind: str) -> Any:
    return Var("m", "int64") if kind == "symbolic" else int(kind)


def spills(func: PrimFunc) -> list[str]:
    """Instructions that move vectors to or from the stack in the kernel that the rules make."""
    return spills_of(decide(func, WIDE).func)


def spills_of(scheduled: PrimFunc) -> list[str]:
    """The same in a scheduled kernel."""
    texts, _ = module_texts({"f": scheduled}, WIDE)
    return spills_in(assembly(texts["f"], Machine.of(WIDE)))


def spills_in(code: str) -> list[str]:
    """The same in assembly."""
    framed = re.search(r"^\s*movq\s+%rsp, %rbp", code, re.MULTILINE)  # else rbp is a register like others
    return [found for found in SPILL.findall(code) if framed or "%rsp" in found]


@pytest.mark.parametrize("kind", ["1", "3", "16", "64", "128", "symbolic"])
def test_products(kind: str) -> None:
    """Guards the register tiles of products, weights packed at run time and before."""
    func = matmul(rows(kind), 256, 64, False, bias=True)
    assert spills(func) == []
    weight = packable_weight(func, WIDE)
    assert weight is not None
    assert spills(reading_panels(func, weight)) == []


@pytest.mark.parametrize("depth", [256, 2048])
@pytest.mark.parametrize("target", [WIDE, NARROW], ids=["32 registers", "16 registers"])
def test_dot_products(target: Target, depth: int) -> None:
    """Guards tiles of dot products, read in place and in blocks of k: sums leave registers for factors."""
    func = matmul(8, 1024, depth, True, bias=False)
    texts, _ = module_texts({"f": decide(func, target).func}, target)
    loops = re.split(r"^\.\w+:", assembly(texts["f"], Machine.of(target)), flags=re.MULTILINE)
    inner = [block for block in loops if "vfmadd" in block]
    assert inner
    assert [found for block in inner for found in spills_in(block)] == []


def test_transpose() -> None:
    """Guards the sixteen vectors of a square: beside the shuffles' masks, one of them may have to wait outside."""
    assert len(spills(heads(64))) <= 2


def test_weights_are_asked_for_ahead() -> None:
    """Guards the prefetch of the next panel, which decides how fast weights arrive that are in no cache."""
    func = matmul(128, 256, 64, False, bias=False)
    weight = packable_weight(func, WIDE)
    assert weight is not None
    texts, _ = module_texts({"f": decide(reading_panels(func, weight), WIDE).func}, WIDE)
    assert re.search(r"prefetcht0", assembly(texts["f"], Machine.of(WIDE)))


@pytest.mark.parametrize("symbolic", [False, True])
def test_attention(symbolic: bool) -> None:
    """Guards the loops of both products, with one block of keys and with many; between them a few sums may move."""
    func = attention_kernel((1, 128, 128, 12, 12, 64, 64), None, symbolic)
    texts, _ = module_texts({"f": decide(func, WIDE).func}, WIDE)
    blocks = re.split(r"^\.\w+:", assembly(texts["f"], Machine.of(WIDE)), flags=re.MULTILINE)
    loops = [re.split(r"^\tj", block, flags=re.MULTILINE)[0] for block in blocks]  # what follows is not the loop
    many = (r"vfmadd231ps\s+%zmm", r"vbroadcastss\s+-?\w*\(%r\w+,")  # elements of queries or powers, by index
    products = [loop for loop in loops if all(len(re.findall(pattern, loop)) >= 4 for pattern in many)]
    assert len(products) >= 2
    assert all(SPILL.findall(loop) == [] for loop in products)
