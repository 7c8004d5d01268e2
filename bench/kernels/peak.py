"""The measured peak of one core: independent fused multiply-adds in registers, and nothing else."""

from __future__ import annotations

import ctypes
import time

from baton._src.codegen.llvm.jit import Machine, compile_text
from baton._src.ir.target import Target
from baton._src.runtime.linker import link

CHAINS = 16
STEPS = 1 << 16


def measured_peak(target: Target) -> float:
    """GFLOP/s in float32 on one core, best of several tries."""
    lanes = target.lanes(32)
    kind = f"<{lanes} x float>"
    lines = []
    for chain in range(CHAINS):
        lines.append(f"  %a{chain} = phi {kind} [ %x, %entry ], [ %n{chain}, %loop ]")
    lines.append("  %i = phi i64 [ 0, %entry ], [ %j, %loop ]")
    for chain in range(CHAINS):
        lines.append(f"  %n{chain} = call {kind} @llvm.fma.v{lanes}f32({kind} %a{chain}, {kind} %x, {kind} %y)")
    wide = f'"min-legal-vector-width"="{target.vector_bits}" "prefer-vector-width"="{target.vector_bits}"'
    sums = [f"  %s0 = fadd {kind} %n0, %n1"]
    sums += [f"  %s{c - 1} = fadd {kind} %s{c - 2}, %n{c}" for c in range(2, CHAINS)]
    text = f"""
declare {kind} @llvm.fma.v{lanes}f32({kind}, {kind}, {kind})
define void @peak(ptr %p) {wide} {{
entry:
  %x = load {kind}, ptr %p, align 4
  %y = load {kind}, ptr %p, align 4
  br label %loop
loop:
{chr(10).join(lines)}
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, {STEPS}
  br i1 %more, label %loop, label %done
done:
{chr(10).join(sums)}
  store {kind} %s{CHAINS - 2}, ptr %p, align 4
  ret void
}}
"""
    library = link([compile_text(text, Machine.of(target))], ["peak"], {})
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library["peak"])
    memory = (ctypes.c_float * 64)()
    best = 1e9
    for _ in range(40):
        start = time.perf_counter()
        run(ctypes.addressof(memory))
        best = min(best, time.perf_counter() - start)
    return 2.0 * lanes * CHAINS * STEPS / best / 1e9
