"""Products timed in a loop of machine code: calls of a microsecond are shorter than what Python takes to make them."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.codegen.llvm.jit import Machine, compile_text
from baton._src.codegen.llvm.module import CompileOptions, compile_kernels
from baton._src.driver.kernel_scheduler import scheduler
from baton._src.ir.target import Target
from baton._src.runtime.linker import link
from baton._src.runtime.native.library import NativeLibrary, load
from baton._src.values.aligned import aligned
from bench.kernels.cases import Case

LONG = 3e-4
"""Seconds of one turn of a kernel."""
TEXT = """
define void @many(ptr %f, ptr %a, ptr %b, ptr %c, i64 %m, i64 %times) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void %f(ptr %a, ptr %b, ptr %c, i64 %m)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %times
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


@dataclass(frozen=True)
class Compiled:
    """A product's kernel, for one number of rows or any."""

    case: Case
    library: NativeLibrary
    compile_seconds: float

    @staticmethod
    def of(case: Case, target: Target) -> Compiled:
        start = time.perf_counter()
        options = CompileOptions(cache=CacheOptions(None))
        library = load(compile_kernels({"f": case.func}, target, options, scheduler(target)).code)
        return Compiled(case, library, time.perf_counter() - start)


@dataclass(frozen=True)
class Call:
    """A kernel for so many rows (one of known shape ignores them), and its arguments."""

    kernel: Compiled
    rows: int
    arrays: Sequence[np.ndarray] = field(repr=False)


def arguments(case: Case) -> list[np.ndarray]:
    """Random arrays of the case's shapes."""
    rng = np.random.default_rng(0)
    return [aligned(rng.random(shape, np.float32)) for shape in case.shapes]


def fastest(calls: Sequence[Call], target: Target, seconds: float) -> list[float]:
    """Seconds of one call of each in its fastest turn; they take turns for so many seconds each."""
    loop = link([compile_text(TEXT, Machine.of(target))], ["many"], {})
    many = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64)(loop["many"])

    def turn(call: Call, times: int) -> float:
        pointers = [a.ctypes.data for a in call.arrays]
        start = time.perf_counter()
        many(call.kernel.library.address("f"), *pointers, call.rows, times)
        return (time.perf_counter() - start) / times

    times = []
    for call in calls:  # the first calls bring arrays and code into the caches: a turn of as many would be too short
        turn(call, 3)
        times.append(max(1, int(LONG / turn(call, 3))))
    best = [float("inf")] * len(calls)
    until, rounds = time.perf_counter() + seconds * len(calls), 0
    while time.perf_counter() < until or rounds < 3:
        rounds += 1
        best = [min(known, turn(call, count)) for known, call, count in zip(best, calls, times, strict=True)]
    return best
