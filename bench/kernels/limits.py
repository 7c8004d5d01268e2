"""What the machine can do at most, measured: multiply-adds in registers, and bytes read from or written to memory.

With several threads all of them work at once, so that what cores share (clock, memory) is shared here, too.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable

import numpy as np

from baton._src.codegen.llvm.jit import Machine, compile_text
from baton._src.ir.target import Target
from baton._src.runtime.linker import link

CHAINS = 12
"""Independent accumulators: more than latency times multiply-adds a cycle, and within 16 registers."""
STEPS = 1 << 21
"""Steps of a try: some milliseconds, so that threads beginning a little apart does not count."""
TRIES = 20
LARGEST = 1 << 28
"""Bytes: many times any cache."""


class Limits:
    """What `threads` threads reach together on this machine."""

    def __init__(self, target: Target, threads: int) -> None:
        self.threads = threads
        lanes = target.lanes(32)
        self._read, self._write = _entry(_reads(target), target), _entry(_writes(target), target)
        self._arrays = [np.ones(LARGEST // 4 // threads, np.float32) for _ in range(threads)]
        self._multiply = _entry(_multiply_adds(target), target)
        self._cells = [np.zeros(lanes, np.float32) for _ in range(threads)]
        self.flops = self.flops_now(TRIES)
        """Multiply-adds of float32 a second, each counted as two operations."""
        self._bandwidth: dict[tuple[bool, int], float] = {}

    def flops_now(self, tries: int = 1) -> float:
        """The same at this moment: the clock changes while kernels are measured, so each is compared with its own."""
        seconds = _fastest(lambda n: self._multiply(self._cells[n].ctypes.data, STEPS, 1), self.threads, tries)
        return self.threads * 2.0 * self._cells[0].size * CHAINS * STEPS / seconds

    def bandwidth(self, size: int, writing: bool = False) -> float:
        """Bytes a second at which `size` bytes are read, or written, again and again: in the cache that holds them, or
        in memory.
        """
        near = min(LARGEST, max(1 << 14, 1 << round(math.log2(size))))
        if (writing, near) not in self._bandwidth:
            lengths, times = near // self.threads // 4, max(1, LARGEST // near)
            places = [array.ctypes.data for array in self._arrays]
            entry = self._write if writing else self._read
            seconds = _fastest(lambda number: entry(places[number], lengths, times), self.threads)
            self._bandwidth[writing, near] = near * times / seconds
        return self._bandwidth[writing, near]


def _fastest(work: Callable[[int], object], threads: int, tries: int = TRIES) -> float:
    """Seconds until all have done `work(number)`, the best of several tries. The threads begin together."""
    begin, end = threading.Barrier(threads), threading.Barrier(threads)

    def helper(number: int) -> None:
        for _ in range(tries):
            begin.wait()
            work(number)
            end.wait()

    helpers = [threading.Thread(target=helper, args=(n,)) for n in range(1, threads)]
    for one in helpers:
        one.start()
    best = float("inf")
    for _ in range(tries):
        begin.wait()
        start = time.perf_counter()
        work(0)
        end.wait()
        best = min(best, time.perf_counter() - start)
    for one in helpers:
        one.join()
    return best


def _entry(text: str, target: Target) -> Callable[[int, int, int], object]:
    """`limit(memory, steps, times)`."""
    library = link([compile_text(text, Machine.of(target))], ["limit"], {})
    _KEPT.append(library)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(library["limit"])


_KEPT: list[object] = []
"""Linked code, which has to outlive its entry points."""


def _multiply_adds(target: Target) -> str:
    """Independent fused multiply-adds, and nothing else."""
    kind = f"<{target.lanes(32)} x float>"
    fma = f"@llvm.fma.v{target.lanes(32)}f32"
    step = "\n".join(f"  %n{c} = call {kind} {fma}({kind} %a{c}, {kind} %x, {kind} %x)" for c in range(CHAINS))
    head = f"declare {kind} {fma}({kind}, {kind}, {kind})\n"
    return head + _loop(target, kind, step, 1)


def _reads(target: Target) -> str:
    """Every vector of an array read once."""
    return _along(target, "%v{c} = load {kind}, ptr %q{c}, align 4", "fadd {kind} %a{c}, %v{c}")


def _writes(target: Target) -> str:
    """Every vector of an array written once."""
    return _along(target, "store {kind} %x, ptr %q{c}, align 4", "bitcast {kind} %a{c} to {kind}")


def _along(target: Target, access: str, result: str) -> str:
    """`access` to each vector of an array, at `%q<c>`, and what accumulators become."""
    lanes = target.lanes(32)
    kind, lines = f"<{lanes} x float>", []
    for c in range(CHAINS):
        lines += [
            f"  %k{c} = add i64 %i, {c * lanes}",
            f"  %q{c} = getelementptr float, ptr %p, i64 %k{c}",
            "  " + access.format(c=c, kind=kind),
            f"  %n{c} = " + result.format(c=c, kind=kind),
        ]
    return _loop(target, kind, "\n".join(lines), CHAINS * lanes)


def _loop(target: Target, kind: str, step: str, stride: int) -> str:
    """`limit(p, n, times)`: accumulators `%a<c>` become `%n<c>` by `step`, with `%i` from 0 to n, so many times; their
    sum is stored.
    """
    wide = f'"min-legal-vector-width"="{target.vector_bits}" "prefer-vector-width"="{target.vector_bits}"'
    phis = "\n".join(f"  %a{c} = phi {kind} [ %x, %entry ], [ %n{c}, %loop ], [ %n{c}, %again ]" for c in range(CHAINS))
    sums = "\n".join(f"  %s{c} = fadd {kind} {f'%s{c - 1}' if c > 1 else '%n0'}, %n{c}" for c in range(1, CHAINS))
    return f"""
define void @limit(ptr %p, i64 %n, i64 %times) {wide} {{
entry:
  %x = load {kind}, ptr %p, align 4
  br label %loop
loop:
{phis}
  %t = phi i64 [ 1, %entry ], [ %t, %loop ], [ %u, %again ]
  %i = phi i64 [ 0, %entry ], [ %j, %loop ], [ 0, %again ]
{step}
  %j = add i64 %i, {stride}
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %end
end:
  %u = add i64 %t, 1
  %once = icmp slt i64 %t, %times
  br i1 %once, label %again, label %done
again:
  call void asm sideeffect "", "~{{memory}}"()
  br label %loop
done:
{sums}
  store {kind} %s{CHAINS - 1}, ptr %p, align 4
  ret void
}}
"""
