"""`python -m bench.kernels.row_grid`: products of any number of rows, for cliffs between one number and the next.

For every size of weights, constant or given at run time, and every number of rows: the time a row of the kernel made
for so many rows, against that of the next multiple of 4 rows; and the kernel made for any number of rows against it,
the two called in turn. Prints a line for each size, and what falls short.

python -m bench.kernels.row_grid [--threads 1,2] [--rows 5,6,7] [--sizes 768x768,512x784]
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.codegen.llvm.module import CompileOptions, compile_module
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.runtime.native import NativeLibrary, load
from baton._src.runtime.threads import thread_pool
from baton._src.tir.expr import Var
from bench.kernels.cases import Case, matmul, packed
from bench.kernels.measure import aligned

ROWS = (*range(1, 18), 31, 32, 33, 63, 64, 65, 127, 128, 129)
SIZES = ((64, 250), (250, 64), (768, 768), (768, 3072), (10, 512), (512, 784))
"""Columns and depths: (n, k)."""
MULTIPLE = 4
LEAST_OF_MULTIPLE, LEAST_OF_STATIC = 0.6, 0.9
SECONDS = 0.012
"""For one number of rows."""


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel, for one number of rows or any."""

    call: Callable[..., object]
    library: NativeLibrary
    """Which the call needs to stay loaded."""
    compile_seconds: float


@dataclass(frozen=True)
class Point:
    """Seconds of the kernels for exactly so many rows, and for any."""

    rows: int
    static: float
    symbolic: float


def _kernel(case: Case, target: Target) -> Kernel:
    start = time.perf_counter()
    func = decide(case.func, target).func
    library = load(compile_module({"f": func}, target, CompileOptions(cache=CacheOptions(None))))
    seconds = time.perf_counter() - start
    kinds = [*[ctypes.c_void_p] * 3, ctypes.c_int64]  # a kernel of static shape ignores the number of rows
    return Kernel(ctypes.CFUNCTYPE(None, *kinds)(library.address("f")), library, seconds)


def _best(runs: Sequence[Callable[[], object]], seconds: float) -> list[float]:
    """The fastest call of each, called in turn."""
    best = [float("inf")] * len(runs)
    for run in runs:
        run()
    until, rounds = time.perf_counter() + seconds, 0
    while time.perf_counter() < until or rounds < 5:
        rounds += 1
        for place, run in enumerate(runs):
            start = time.perf_counter()
            run()
            best[place] = min(best[place], time.perf_counter() - start)
    return best


def grid(
    n: int, k: int, constant: bool, threads: int, rows: Sequence[int] = ROWS, seconds: float = SECONDS
) -> tuple[list[Point], float, float]:
    """A point for each number of rows; and seconds to compile the kernel for any, and that for the most rows."""
    make, target = packed if constant else matmul, Target(f"llvm -num-cores={threads}")
    every = sorted({*rows, *(-(-m // MULTIPLE) * MULTIPLE for m in rows)})
    symbolic = _kernel(make(Var("m", "int64"), n, k), target)
    rng, points, last = np.random.default_rng(0), [], 0.0
    for m in every:
        case = make(m, n, k)
        static = _kernel(case, target)
        last = static.compile_seconds
        places = [aligned(rng.random(shape, np.float32)) for shape in case.shapes]
        pointers = [a.ctypes.data for a in places]
        calls = ((static, m), (symbolic, m), (symbolic, 0))  # no rows: what the call itself takes
        runs = [partial(kernel.call, *pointers, count) for kernel, count in calls]
        with thread_pool().limited(threads):
            *found, nothing = _best(runs, seconds)
        points.append(Point(m, *(one - nothing for one in found)))
    return points, symbolic.compile_seconds, last


def shortfalls(points: Sequence[Point], rows: Sequence[int]) -> tuple[list[str], float, float]:
    """What falls short, and the worst of each kind."""
    by_rows = {p.rows: p for p in points}
    said, least, worst = [], float("inf"), float("inf")
    for m in rows:
        point, whole = by_rows[m], by_rows[-(-m // MULTIPLE) * MULTIPLE]
        of_static = point.static / point.symbolic
        worst = min(worst, of_static)
        if of_static < LEAST_OF_STATIC:
            said.append(f"{m} rows: any rows {of_static:.2f} of static")
        for kind, mine, theirs in (("", point.static, whole.static), (" any", point.symbolic, whole.symbolic)):
            part = (m / mine) / (whole.rows / theirs) if m > 3 else 1.0  # one to three rows wait for memory
            least = min(least, part)
            if part < LEAST_OF_MULTIPLE:
                said.append(f"{m} rows{kind}: {part:.2f} of {whole.rows}")
    return said, least, worst


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.kernels.row_grid", description=__doc__.splitlines()[0])
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--sizes", default=",".join(f"{n}x{k}" for n, k in SIZES))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--all", action="store_true", help="every point")
    given = parser.parse_args()
    rows = [int(m) for m in given.rows.split(",")]
    print("weights (n x k)        threads  worst of multiple  worst of static  compile: any rows, static")
    for threads in (int(t) for t in given.threads.split(",")):
        for size in given.sizes.split(","):
            n, k = map(int, size.split("x"))
            for constant in (False, True):
                points, compiled, static = grid(n, k, constant, threads, rows, given.seconds)
                said, least, worst = shortfalls(points, rows)
                name = f"{size} {'constant' if constant else 'run time'}"
                print(f"{name:24}{threads:6}{least:19.2f}{worst:17.2f}{compiled:19.3f} s, {static:.3f} s")
                for p in points if given.all else ():
                    pair = (f"{t * 1e6:9.1f} us {2e-9 * p.rows * n * k / t:6.1f}" for t in (p.static, p.symbolic))
                    print(f"   {p.rows:4} {'  '.join(pair)} {p.static / p.symbolic:.2f}")
                for line in said:
                    print(f"    {line}")


if __name__ == "__main__":
    main()
