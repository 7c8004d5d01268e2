"""`python -m bench.kernels.odd_sizes`: products of odd numbers of rows, columns and terms, for cliffs between sizes.

One size runs from 1 to 33 while the two others stay. Each is held against the next multiple of what the schedules cut
that size into: half a vector of columns, a vector of terms of a sum, four rows. Weights are given at run time as (k, n)
or (n, k), or are constant and packed. One thread; GFLOP/s, and the part of the multiple. The last line has the worst.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.prepacked import packable_weight
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.values.dtype import FLOAT32
from bench.kernels.cases import Case, matmul, packed
from bench.kernels.native_loop import Call, Compiled, arguments, fastest

SIZES = (*range(1, 18), 18, 20, 23, 24, 25, 31, 32, 33)
OTHERS = {"rows": ((64, 64), (256, 128)), "columns": ((64, 64), (128, 768)), "terms": ((96, 128), (128, 768))}
"""The two other sizes, in the order rows, columns, terms."""
SECONDS = 0.02
TARGET = Target("llvm -num-cores=1")
Make = Callable[[int, int, int], Case]


def multiples() -> dict[str, int]:
    """What each size is cut into."""
    shape = tile_shape(TARGET, FLOAT32)
    return {"rows": 4, "columns": shape.grain, "terms": shape.lanes}


def sweep(axis: str, others: tuple[int, int], make: Make) -> dict[int, float]:
    """Operations a second by the size of one axis."""
    multiple = multiples()[axis]
    every = sorted({*SIZES, *(-(-n // multiple) * multiple for n in SIZES)})
    place = list(OTHERS).index(axis)
    calls = {}
    for size in every:
        sizes = [*others[:place], size, *others[place:]]
        if make is packed and packable_weight(matmul(*sizes).func, TARGET) is None:
            continue
        kernel = Compiled.of(make(*sizes), TARGET)
        calls[size] = Call(kernel, sizes[0], arguments(kernel.case))
    with thread_pool().limited(1):
        seconds = fastest(list(calls.values()), TARGET, SECONDS)
    return {size: call.kernel.case.flops / s for (size, call), s in zip(calls.items(), seconds, strict=True)}


def main() -> None:
    """Print the sweeps."""
    ways: dict[str, Make] = {"run time": matmul, "(n, k)": partial(matmul, transposed=True), "packed": packed}
    worst = (1.0, "")
    for axis, pairs in OTHERS.items():
        multiple = multiples()[axis]
        for others in pairs:
            for way, make in ways.items():
                found, said = sweep(axis, others, make), []
                name = f"{axis} of {'x'.join(map(str, others))}, {way}"
                for size in (s for s in SIZES if s in found):
                    part = found[size] / found[-(-size // multiple) * multiple]
                    said.append(f"{size}: {found[size] / 1e9:.0f} {part:.2f}")
                    worst = min(worst, (part, f"{size} {name}"))
                print(f"{name}: {'  '.join(said)}", flush=True)
    print(f"worst: {worst[0]:.2f}, {worst[1]}")


if __name__ == "__main__":
    main()
