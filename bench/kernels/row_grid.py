"""`python -m bench.kernels.row_grid`: products of any number of rows, for cliffs between one number and the next.

For every size of weights, constant or given at run time, and every number of rows: the time a row of the kernel made
for so many rows, against that of the next multiple of 4 rows; and the kernel made for any number of rows against it,
the two called in turn. Prints a line for each size, and what falls short.

python -m bench.kernels.row_grid [--threads 1,2] [--rows 5,6,7] [--sizes 768x768,512x784]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.tir.expr import Var
from bench.kernels.cases import matmul, packed
from bench.kernels.native_loop import Call, Compiled, arguments, fastest

ROWS = (*range(1, 18), 31, 32, 33, 63, 64, 65, 127, 128, 129)
SIZES = ((64, 250), (250, 64), (768, 768), (768, 3072), (10, 512), (512, 784))
"""Columns and depths: (n, k)."""
MULTIPLE = 4
LEAST_OF_MULTIPLE, LEAST_OF_STATIC = 0.6, 0.9
SECONDS = 0.012
"""For one number of rows."""


@dataclass(frozen=True)
class Point:
    """Seconds of the kernels for exactly so many rows, and for any."""

    rows: int
    static: float
    symbolic: float


def grid(
    n: int, k: int, constant: bool, threads: int, rows: Sequence[int] = ROWS, seconds: float = SECONDS
) -> tuple[list[Point], float, float]:
    """A point for each number of rows; and seconds to compile the kernel for any, and that for the most rows."""
    make, target = packed if constant else matmul, Target(f"llvm -num-cores={threads}")
    every = sorted({*rows, *(-(-m // MULTIPLE) * MULTIPLE for m in rows)})
    symbolic = Compiled.of(make(Var("m", "int64"), n, k), target)
    points, last = [], 0.0
    for m in every:
        static = Compiled.of(make(m, n, k), target)
        last = static.compile_seconds
        arrays = arguments(static.case)
        with thread_pool().limited(threads):
            both = fastest([Call(static, m, arrays), Call(symbolic, m, arrays)], target, seconds)
        points.append(Point(m, *both))
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
            packable = packable_weight(matmul(64, n, k).func, Target(f"llvm -num-cores={threads}")) is not None
            for constant in (False, True)[: 1 + packable]:
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
