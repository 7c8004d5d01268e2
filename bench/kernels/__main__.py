"""`python -m bench.kernels`: GFLOP/s and percent of one core's measured peak, on one thread. Takes a few seconds."""

from __future__ import annotations

import ctypes
import time

import numpy as np

from baton._src.codegen.llvm.module import compile_module
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.runtime.native import load
from baton._src.values.dtype import DataType
from bench.kernels.cases import Case, cases
from bench.kernels.peak import measured_peak

SECONDS_A_CASE = 0.1


def measure(case: Case, target: Target) -> tuple[float, float, str]:
    """(seconds of the fastest call, seconds to compile, rule)."""
    decision = decide(case.func, target)
    start = time.perf_counter()
    library = load(compile_module({"f": decision.func}, target))
    compiled = time.perf_counter() - start
    rng = np.random.default_rng(0)
    dtypes = case.dtypes or ("float32",) * len(case.shapes)
    arrays = [(9 * rng.standard_normal(s)).astype(DataType(d).numpy) for s, d in zip(case.shapes, dtypes, strict=True)]
    pointers = [a.ctypes.data for a in arrays]
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(library.address("f"))
    call(*pointers)
    best, until = 1e9, time.perf_counter() + SECONDS_A_CASE
    while time.perf_counter() < until:
        start = time.perf_counter()
        call(*pointers)
        best = min(best, time.perf_counter() - start)
    return best, compiled, decision.rule


def main() -> None:
    """Print the table."""
    target = Target("llvm -num-cores=1")
    peak = measured_peak(target)
    print(f"peak of one core: {peak:.1f} GFLOP/s")
    print(f"{'kernel':36} {'rule':8} {'µs':>9} {'GFLOP/s':>8} {'peak':>6} {'compile':>8}")
    for case in cases():
        seconds, compiled, rule = measure(case, target)
        rate = case.flops / seconds / 1e9
        print(f"{case.name:36} {rule:8} {seconds * 1e6:9.1f} {rate:8.1f} {rate / peak:6.0%} {compiled:7.2f}s")


if __name__ == "__main__":
    main()
