"""Single kernels against the machine's limits, which are measured in the same run."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from baton._src.codegen.llvm.module import compile_module
from baton._src.ir.cpu import model_name
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.runtime.native.library import load
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.support.progress import report
from baton._src.values.aligned import aligned
from baton._src.values.dtype import DataType
from bench.kernels.cases import Case, cases
from bench.kernels.limits import LARGEST, Limits

SECONDS_A_CASE = 0.15
TURNS = 20
"""In so many parts, between which the machine's arithmetic is measured."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One kernel on so many threads. `share` is the part of the limit that it reached, `limit` says which one it is."""

    name: str
    rule: str
    threads: int
    seconds: float
    compile_seconds: float
    rate: float
    """Operations a second."""
    share: float
    limit: str


PAGE = Path(__file__).resolve().parents[2] / "docs" / "kernels.md"

ABOUT = """Each kernel alone, as its schedule made it: the fastest call, and the part of the machine's limit that
it reached (multiply-adds in registers, measured in turns with it, or reading its arguments once from where they fit;
Winograd computes convolutions with fewer multiplications than are counted)."""


def write_page(counts: Sequence[int]) -> str:
    """Measure, write docs/kernels.md, and give its text."""
    head = f"Measured on {date.today().isoformat()}, {model_name()}; written by `python -m bench.kernels`."
    text = f"# Kernels\n\n{head}\n\n{ABOUT}\n\n{kernel_table(counts)}\n"
    PAGE.write_text(text)
    return text


def kernel_table(counts: Sequence[int]) -> str:
    """Every case of `bench.kernels.cases` on so many threads each, as Markdown: a line a kernel."""
    limits: dict[int, Limits] = {}
    found: list[Measured] = []
    for threads in counts:
        target = Target(f"llvm -num-cores={threads}")
        limits[threads] = Limits(target, threads)
        todo = cases()
        for number, case in enumerate(todo):
            report(f"measuring kernels, {threads} thread(s)", number, len(todo))
            found.append(measure(case, target, threads, limits[threads]))
        report(f"measuring kernels, {threads} thread(s)", len(todo), len(todo))
    return _markdown(found, limits)


def measure(case: Case, target: Target, threads: int, limits: Limits) -> Measured:
    """The fastest of many calls, in turns with multiply-adds in registers."""
    decision = decide(case.func, target)
    start = time.perf_counter()
    library = load(compile_module({"f": decision.func}, target))
    compiled = time.perf_counter() - start
    arrays = _arrays(case)
    pointers = [a.ctypes.data for a in arrays]
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(library.address("f"))
    call(*pointers)
    seconds, flops = float("inf"), 0.0
    for _ in range(TURNS):
        flops = max(flops, limits.flops_now())
        with thread_pool().limited(threads):
            seconds = min(seconds, _fastest(lambda: call(*pointers), SECONDS_A_CASE / TURNS))
    share, limit = _share(case, decision.rule, flops, sum(a.nbytes for a in arrays), seconds, limits)
    return Measured(case.name, decision.rule, threads, seconds, compiled, case.flops / seconds, share, limit)


def _arrays(case: Case) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    dtypes = case.dtypes or ("float32",) * len(case.shapes)
    found = []
    for shape, dtype in zip(case.shapes, dtypes, strict=True):
        values = (9 * rng.random(math.prod(shape), np.float32) - 4).reshape(shape).astype(DataType(dtype).numpy)
        found.append(aligned(values))
    return found


def _fastest(call: Callable[[], object], length: float) -> float:
    best, until = float("inf"), time.perf_counter() + length
    while time.perf_counter() < until:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def _share(case: Case, rule: str, flops: float, size: int, seconds: float, limits: Limits) -> tuple[float, str]:
    """The part of the tighter limit: arithmetic (of narrow types a register holds more, unless they are multiplied as
    floats) or reading the arguments.
    """
    lanes = 32 // DataType(case.dtypes[0]).bits if rule == "dot_products" else 1
    arithmetic = case.flops / (lanes * flops)
    memory = size / limits.bandwidth(size)
    return max(arithmetic, memory) / seconds, "bandwidth" if memory > arithmetic else "arithmetic"


def _markdown(found: Sequence[Measured], limits: Mapping[int, Limits]) -> str:
    by_name: dict[str, dict[int, Measured]] = {}
    for one in found:
        by_name.setdefault(one.name, {})[one.threads] = one
    said = [f"{n} × {m.flops / n / 1e9:.0f} GFLOP/s, {m.bandwidth(LARGEST) / 1e9:.0f} GB/s" for n, m in limits.items()]
    heads = [f"{count} thread{'s' if count > 1 else ''}, µs | GFLOP/s | of the limit" for count in limits]
    lines = [f"Limits measured in the same run: {'; '.join(said)}.", ""]
    lines += [f"| kernel | rule | {' | '.join(heads)} | limit |", "|" + "---|" * (3 + 3 * len(limits))]
    for name, columns in by_name.items():
        first = next(iter(columns.values()))
        cells = [f"{m.seconds * 1e6:.1f} | {m.rate / 1e9:.1f} | {m.share:.0%}" for m in columns.values()]
        lines.append(f"| {name} | {first.rule} | {' | '.join(cells)} | {first.limit} |")
    return "\n".join(lines)
