"""Workers that were preempted while holding a chunk continue on the caller's CPU, in LLVM IR.

Where other threads keep the processors busy (those of another library spin for a while after its calls), a worker may
lose its CPU for a time slice, some milliseconds, while it holds a chunk. The caller then has nothing to do but wait. It
looks at the processor time of the workers that hold chunks: one whose time stands still between two looks is moved to
the caller's CPU, which the caller yields.

    at_work(number, 1 or 0)     a worker begins or ends to run chunks
    help_stalled()              the caller has waited for long: one look
    helped()                    the job is over: such workers leave the caller's CPU again

Only Linux has this, as it has `placement_ir`.
"""

from __future__ import annotations

from baton._src.runtime.thread_pool.placement_ir import CPUS, MOST_WORKERS, WORDS

IMPORTS = ("clock_gettime",)

_FREE = """
define internal void @at_work(i64 %number, i64 %is) {
  ret void
}

define internal void @help_stalled() {
  ret void
}

define internal void @helped() {
  ret void
}
"""
"""The functions for systems that do not support this."""

_LINUX = """
@working = internal global [{most} x i64] zeroinitializer, align 128
@used = internal global [{most} x i64] zeroinitializer
@any.helped = internal global i32 0

declare i32 @clock_gettime(i32, ptr)

define internal void @at_work(i64 %number, i64 %is) {{
  %known = icmp ult i64 %number, {most}
  br i1 %known, label %note, label %leave
note:
  %place = getelementptr i64, ptr @working, i64 %number
  store atomic i64 %is, ptr %place release, align 8
  br label %leave
leave:
  ret void
}}

define internal i64 @processor_time(i32 %thread) {{
  %now = alloca [2 x i64]
  %none = xor i32 %thread, -1
  %shifted = shl i32 %none, 3
  %clock = or i32 %shifted, 6
  %r = call i32 @clock_gettime(i32 %clock, ptr %now)
  %failed = icmp ne i32 %r, 0
  %second.place = getelementptr i64, ptr %now, i64 1
  %seconds = load i64, ptr %now
  %rest = load i64, ptr %second.place
  %scaled = mul i64 %seconds, 1000000000
  %time = add i64 %scaled, %rest
  %found = select i1 %failed, i64 -1, i64 %time
  ret i64 %found
}}

define internal void @help_stalled() noinline {{
entry:
  %mask = alloca [{words} x i64]
  %cpu = call i32 @sched_getcpu()
  %known = icmp ult i32 %cpu, {cpus}
  br i1 %known, label %prepare, label %leave
prepare:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 {bytes}, i1 false)
  %word = lshr i32 %cpu, 6
  %bit = and i32 %cpu, 63
  %bit.wide = zext i32 %bit to i64
  %one = shl i64 1, %bit.wide
  %mine = getelementptr i64, ptr %mask, i32 %word
  store i64 %one, ptr %mine
  br label %next
next:
  %i = phi i64 [ 0, %prepare ], [ %more, %after ]
  %flag = getelementptr i64, ptr @working, i64 %i
  %is = load atomic i64, ptr %flag acquire, align 8
  %idle = icmp eq i64 %is, 0
  br i1 %idle, label %after, label %look
look:
  %worker = getelementptr i32, ptr @settled, i64 %i
  %id = load atomic i32, ptr %worker acquire, align 4
  %time = call i64 @processor_time(i32 %id)
  %place = getelementptr i64, ptr @used, i64 %i
  %before = load i64, ptr %place
  store i64 %time, ptr %place
  %still = icmp eq i64 %time, %before
  %told = icmp ne i64 %time, -1
  %stalled = and i1 %still, %told
  br i1 %stalled, label %help, label %after
help:
  %r = call i32 @sched_setaffinity(i32 %id, i64 {bytes}, ptr %mask)
  store i32 1, ptr @any.helped
  br label %after
after:
  %more = add i64 %i, 1
  %done = icmp eq i64 %more, {most}
  br i1 %done, label %leave, label %next
leave:
  ret void
}}

define internal void @helped() {{
  %any = load i32, ptr @any.helped
  %none = icmp eq i32 %any, 0
  br i1 %none, label %leave, label %restore
restore:
  store i32 0, ptr @any.helped
  store atomic i32 -1, ptr @avoided seq_cst, align 4
  call void @keep_off()
  br label %leave
leave:
  ret void
}}
"""


def stalled_ir(linux: bool) -> str:
    """The module's functions, for Linux or for systems that do not report processor times."""
    return _LINUX.format(most=MOST_WORKERS, words=WORDS, bytes=8 * WORDS, cpus=CPUS) if linux else _FREE
