"""The machine code of the main kernels keeps its tiles in registers: no vector goes to the stack and back."""

from __future__ import annotations

import re
from typing import Any

import pytest

from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.kernel_schedules.products.tiles import tile_rows
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.pack_weights import reading_panels
from baton._src.tir.expr import Var
from tests.lower.kernel_schedules.spills import LOOP, SPILL, WIDE, spills, spills_in_loops, spills_of_sums
from tests.lower.kernel_schedules.test_attention import kernel as attention_kernel
from tests.lower.kernel_schedules.test_rules import matmul
from tests.lower.kernel_schedules.test_transpose import heads

NARROW = Target("llvm -mcpu=haswell")


def rows(kind: str) -> Any:
    return Var("m", "int64") if kind == "symbolic" else int(kind)


@pytest.mark.parametrize("kind", ["1", "3", "16", "64", "128", "symbolic"])
def test_products(kind: str) -> None:
    """Guards the register tiles of products, weights packed at run time and before."""
    func = matmul(rows(kind), 256, 64, False, bias=True)
    assert spills(func) == []
    weight = packable_weight(func, WIDE)
    assert weight is not None
    assert spills(reading_panels(func, weight)) == []


@pytest.mark.parametrize("kind", ["16", "64", "128", "symbolic"])
def test_sums_in_sixteen_registers(kind: str) -> None:
    """Guards the same tiles while sums are added up; what follows them needs more than 16 registers."""
    func = matmul(rows(kind), 256, 64, False, bias=True)
    assert spills_of_sums(func, NARROW) == []
    if kind != "symbolic":  # its streams of one to four rows have sums in memory, and wait for their weights
        weight = packable_weight(func, NARROW)
        assert weight is not None
        assert spills_of_sums(reading_panels(func, weight), NARROW) == []


@pytest.mark.parametrize("cpu", ["cortex-a72", "neoverse-v1"])
@pytest.mark.parametrize("kind", ["16", "64", "128", "symbolic"])
def test_sums_of_arm(kind: str, cpu: str) -> None:
    """Guards tiles of 8 rows of 3 vectors in 32 registers of 128 bits, with few instructions beside multiply-adds."""
    target = Target(f"llvm -mtriple=aarch64-linux-gnu -mcpu={cpu}")
    func = matmul(rows(kind), 256, 96, False, bias=True)
    weight = packable_weight(func, target)
    assert weight is not None
    texts, _ = module_texts({"f": decide(reading_panels(func, weight), target).func}, target)
    code = assembly(texts["f"], Machine.of(target))
    assert spills_in_loops(code, "fmla") == []
    longest = max((body for _, body in LOOP.findall(code)), key=lambda body: body.count("fmla"))
    assert longest.count("fmla") >= 24
    assert len(re.findall(r"^\t\w", longest, re.MULTILINE)) <= 1.75 * longest.count("fmla")


@pytest.mark.parametrize(("rows", "most", "vectors", "expected"), [
    (None, 6, 2, 6), (5, 6, 2, 6), (128, 6, 2, 6), (20, 6, 2, 5), (25, 6, 2, 5), (128, 12, 2, 8), (27, 12, 2, 9),
])  # fmt: skip
def test_heights(rows: int | None, most: int, vectors: int, expected: int) -> None:
    """Guards that tiles keep enough sums: with four rows of two vectors each multiply-add waits for the last one."""
    assert tile_rows(rows, most, vectors) == expected


@pytest.mark.parametrize("depth", [256, 2048])
@pytest.mark.parametrize("target", [WIDE, NARROW], ids=["32 registers", "16 registers"])
def test_dot_products(target: Target, depth: int) -> None:
    """Guards tiles of dot products, read in place and in blocks of k: sums leave registers for factors."""
    assert spills_of_sums(matmul(8, 1024, depth, True, bias=False), target) == []


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
