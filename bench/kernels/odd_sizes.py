"""`python -m bench.kernels.odd_sizes`: products of odd numbers of rows, columns and terms, for cliffs between sizes.

One size runs from 1 to 33 while the two others stay. Each is held against the next multiple of what the schedules cut
that size into: half a vector of columns, a vector of terms of a sum, four rows. Weights are given at run time as (k, n)
or (n, k), or are constant and packed. One thread; GFLOP/s, and the part of the multiple; where that is below `LEAST`,
the part of what the machine allows as well: multiply-adds of whole vectors, the factors read and the result written,
each once, in the cache that holds them. The last lines have the worst.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.values.dtype import FLOAT32
from bench.kernels.cases import Case, matmul, packed
from bench.kernels.limits import Limits
from bench.kernels.native_loop import Call, Compiled, arguments, fastest

SIZES = (*range(1, 18), 18, 20, 23, 24, 25, 31, 32, 33)
OTHERS = {"rows": ((64, 64), (256, 128)), "columns": ((64, 64), (128, 768)), "terms": ((96, 128), (128, 768))}
"""The two other sizes, in the order rows, columns, terms."""
LEAST = 0.6
"""Of the multiple: less is a cliff, unless the machine allows no more."""
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


def allowed(m: int, n: int, k: int, *, limits: Limits) -> float:
    """Operations a second that the machine allows a product of these sizes."""
    lanes, sizes = TARGET.lanes(32), (4 * (m * k + k * n), 4 * m * n)
    seconds = (
        2 * m * k * (-(-n // lanes) * lanes) / limits.flops if n >= lanes // 2 else 0.0,
        sizes[0] / limits.bandwidth(sum(sizes)),
        sizes[1] / limits.bandwidth(sum(sizes), writing=True),
    )
    return 2 * m * n * k / max(seconds)


def main() -> None:
    """Print the sweeps."""
    ways: dict[str, Make] = {"run time": matmul, "(n, k)": partial(matmul, transposed=True), "packed": packed}
    limits, worst, worst_of_limit = Limits(TARGET, 1), (1.0, ""), (1.0, "")
    for axis, pairs in OTHERS.items():
        multiple, place = multiples()[axis], list(OTHERS).index(axis)
        for others in pairs:
            for way, make in ways.items():
                found, said = sweep(axis, others, make), []
                name = f"{axis} of {'x'.join(map(str, others))}, {way}"
                for size in (s for s in SIZES if s in found):
                    part = found[size] / found[-(-size // multiple) * multiple]
                    text = f"{size}: {found[size] / 1e9:.0f} {part:.2f}"
                    worst = min(worst, (part, f"{size} {name}"))
                    if part < LEAST:
                        sizes = [*others[:place], size, *others[place:]]
                        of_limit = found[size] / allowed(*sizes, limits=limits)
                        worst_of_limit = min(worst_of_limit, (of_limit, f"{size} {name}, {part:.2f} of its multiple"))
                        text += f" ({of_limit:.2f} of what is allowed)"
                    said.append(text)
                print(f"{name}: {'  '.join(said)}", flush=True)
    print(f"worst: {worst[0]:.2f}, {worst[1]}")
    print(f"of what the machine allows, among those below {LEAST}: {worst_of_limit[0]:.2f}, {worst_of_limit[1]}")


if __name__ == "__main__":
    main()
