"""The thread pool in LLVM IR: publish a job, claim chunks, wait, sleep.

`baton_parallel_for(body, closure, total, grain)` runs `body(closure, begin, end)` over [0, total) in chunks of at least
`grain` iterations, a few chunks a thread; with a negative grain, chunks have about -grain iterations however many that
makes. One job runs at a time: a second caller (another Python thread, or a nested parallel loop) runs its iterations
itself, so nothing can deadlock.

Homes. Each thread has a home, an equal part of the chunks, which it takes from the front on; once it is empty, the
thread takes chunks from the back of others' homes. So threads that run equally fast go through the same parts of every
job, one chunk after the other: of what the job before has written, and of weights that the run before has read, a core
finds most in its own cache, and an iteration can foresee the thread's next.

State. `job` is (epoch << 32) while a job is open, with all ones in its lower half between jobs. A home's word in
`homes` is (epoch << 32) | (chunks taken from its back << 16) | chunks taken from its front, and a thread takes a chunk
by exchanging it. A job's fields are written while `job` is closed; a thread that finds `job` open for the same epoch
after it read them has those of that job. Its exchanges fail once a later job has opened the homes. The caller works too
and never waits for a worker that has not claimed anything.

Limits. Each operating system thread may have a limit of its own (`baton_thread_limit`), kept in the system's
thread-specific storage; without one, the pool's limit holds. So calls with different numbers of threads do not
interfere.

Faults. An error in a call is recorded in a cell that belongs to the calling thread (`runtime.native.faults` describes
it), so calls from several threads do not interfere. A worker has its caller's cell as its own while it runs a chunk.

Waiting. A worker spins for `spin` rounds and then sleeps until `wake` changes, as the operating system lets it
(`system_ir`). The caller waits for claimed chunks with a bounded spin and then yields its time slice again and again,
if need be to a worker that has lost its own CPU (`stalled_ir`). Before it wakes workers it keeps them off the CPU it is
on (`placement_ir`).
"""

from __future__ import annotations

from baton._src.runtime.thread_pool.system_ir import System

CLOSED = 0xFFFFFFFF
MOST_CHUNKS = 0xFFFF
"""Of a job: a home's word counts them with 16 bits."""
MOST_HOMES = 64
"""Further threads share homes."""
CHUNKS_PER_THREAD = 4
"""Chunks per thread: spare chunks let a thread that is not interrupted take over from one that is."""
JOBS_A_LOOK = 256
"""Awake workers are kept off the caller's CPU once in this many jobs (a power of two); sleeping ones whenever they are
woken.
"""
CALLER_SPIN = 4000
"""Rounds that a caller spins, some 10 ns each, before it yields its CPU."""
YIELDS_A_LOOK = 32
"""A waiting caller looks for stalled workers once in this many yields (a power of two)."""

_STATE = """
@job = internal global i64 {closed}, align 128
@homes = internal global [{most_homes} x [16 x i64]] zeroinitializer, align 128
@done = internal global i64 0, align 128
@body = internal global ptr null, align 128
@closure = internal global ptr null
@total = internal global i64 0
@chunks = internal global i64 0
@homes.used = internal global i64 1
@threads = internal global i64 0
@busy = internal global i32 0, align 128
@sleepers = internal global i32 0, align 128
@wake = internal global i32 0
@stop = internal global i32 0, align 128
@limit = internal global i64 1
@cell = internal global i64 0
@spare.cell = internal global [8 x i64] zeroinitializer
@spin = internal global i64 4000
"""

_CALLER = """
define void @baton_parallel_for(ptr %body, ptr %closure, i64 %total, i64 %grain) {{
entry:
  %empty = icmp sle i64 %total, 0
  br i1 %empty, label %leave, label %measure
measure:
  %apart = icmp slt i64 %grain, 0
  %size = call i64 @llvm.abs.i64(i64 %grain, i1 false)
  %grain1 = call i64 @llvm.smax.i64(i64 %size, i64 1)
  %small = icmp sle i64 %total, %grain1
  br i1 %small, label %serial, label %divide
divide:
  %limit = call i64 @allowed()
  %less = sub i64 %total, 1
  %quotient = sdiv i64 %less, %grain1
  %most = add i64 %quotient, 1
  %few = mul i64 %limit, {per_thread}
  %wanted = select i1 %apart, i64 %most, i64 %few
  %possible = call i64 @llvm.smin.i64(i64 %most, i64 %wanted)
  %chunks = call i64 @llvm.smin.i64(i64 %possible, i64 {most_chunks})
  %single = icmp sle i64 %chunks, 1
  %alone = icmp sle i64 %limit, 1
  %simple = or i1 %single, %alone
  br i1 %simple, label %serial, label %lock
lock:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %mine, label %publish, label %serial
serial:
  call void %body(ptr %closure, i64 0, i64 %total)
  ret void
publish:
  %cell = call ptr @baton_fault_cell()
  %cell.address = ptrtoint ptr %cell to i64
  store atomic i64 %cell.address, ptr @cell release, align 8
  store atomic ptr %body, ptr @body release, align 8
  store atomic ptr %closure, ptr @closure release, align 8
  store atomic i64 %total, ptr @total release, align 8
  %threads = call i64 @llvm.smin.i64(i64 %limit, i64 {most_homes})
  %homes = call i64 @llvm.smin.i64(i64 %threads, i64 %chunks)
  store atomic i64 %chunks, ptr @chunks release, align 8
  store atomic i64 %homes, ptr @homes.used release, align 8
  store atomic i64 %limit, ptr @threads release, align 8
  store atomic i64 0, ptr @done release, align 8
  %old = load atomic i64, ptr @job monotonic, align 8
  %old.epoch = lshr i64 %old, 32
  %epoch.wide = add i64 %old.epoch, 1
  %epoch = and i64 %epoch.wide, {closed}
  %open = shl i64 %epoch, 32
  br label %home
home:
  %h = phi i64 [ 0, %publish ], [ %h.next, %home ]
  %word = getelementptr [16 x i64], ptr @homes, i64 %h
  store atomic i64 %open, ptr %word release, align 8
  %h.next = add i64 %h, 1
  %h.done = icmp eq i64 %h.next, %homes
  br i1 %h.done, label %announce, label %home
announce:
  store atomic i64 %open, ptr @job seq_cst, align 8
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %any = icmp ne i32 %asleep, 0
  %turn = and i64 %epoch, {jobs_a_look}
  %due = icmp eq i64 %turn, 0
  %place = or i1 %any, %due
  br i1 %place, label %places, label %join
places:
  call void @keep_off()
  br i1 %any, label %rouse, label %join
rouse:
  %w = atomicrmw add ptr @wake, i32 1 seq_cst
  call void @wake_all()
  br label %join
join:
  call void @run_chunks(i64 %epoch, i64 0)
  br label %wait
wait:
  %round = phi i64 [ 0, %join ], [ %next.round, %again ]
  %finished = load atomic i64, ptr @done acquire, align 8
  %all = icmp eq i64 %finished, %chunks
  br i1 %all, label %close, label %pause
pause:
  %next.round = add i64 %round, 1
  %long = icmp ugt i64 %round, {caller_spin}
  br i1 %long, label %yield, label %breathe
breathe:
  call void @relax()
  br label %again
yield:
  call void @give_way()
  %look.turn = and i64 %round, {yields_a_look}
  %look.due = icmp eq i64 %look.turn, 0
  br i1 %look.due, label %help, label %again
help:
  call void @help_stalled()
  br label %again
again:
  br label %wait
close:
  call void @helped()
  %shut = or i64 %open, {closed}
  store atomic i64 %shut, ptr @job seq_cst, align 8
  fence seq_cst
  store atomic i32 0, ptr @busy release, align 4
  ret void
leave:
  ret void
}}
"""

_CHUNKS = """
define internal void @run_chunks(i64 %epoch, i64 %number) {{
entry:
  %chunks = load atomic i64, ptr @chunks acquire, align 8
  %homes = load atomic i64, ptr @homes.used acquire, align 8
  %body = load atomic ptr, ptr @body acquire, align 8
  %closure = load atomic ptr, ptr @closure acquire, align 8
  %total = load atomic i64, ptr @total acquire, align 8
  %cell = load atomic i64, ptr @cell acquire, align 8
  %job = load atomic i64, ptr @job acquire, align 8
  %open = shl i64 %epoch, 32
  %same = icmp eq i64 %job, %open
  br i1 %same, label %divide, label %leave
divide:
  %size = udiv i64 %total, %chunks
  %extra = urem i64 %total, %chunks
  %own.home = urem i64 %number, %homes
  br label %next
next:
  %home = phi i64 [ %own.home, %divide ], [ %home, %take ], [ %home, %run ], [ %neighbour, %visit ]
  %visited = phi i64 [ 0, %divide ], [ %visited, %take ], [ %visited, %run ], [ %more, %visit ]
  %word = getelementptr [16 x i64], ptr @homes, i64 %home
  %seen = load atomic i64, ptr %word acquire, align 8
  %of = lshr i64 %seen, 32
  %current = icmp eq i64 %of, %epoch
  br i1 %current, label %look, label %leave
look:
  %front = and i64 %seen, {most_chunks}
  %backs = lshr i64 %seen, 16
  %back = and i64 %backs, {most_chunks}
  %taken = add i64 %front, %back
  %first.wide = mul i64 %home, %chunks
  %first = udiv i64 %first.wide, %homes
  %end.wide = add i64 %first.wide, %chunks
  %after.last = udiv i64 %end.wide, %homes
  %here = sub i64 %after.last, %first
  %left = icmp ult i64 %taken, %here
  br i1 %left, label %take, label %exhausted
exhausted:
  %more = add i64 %visited, 1
  %every = icmp eq i64 %more, %homes
  br i1 %every, label %leave, label %visit
visit:
  %beside = add i64 %home, 1
  %wraps = icmp eq i64 %beside, %homes
  %neighbour = select i1 %wraps, i64 0, i64 %beside
  br label %next
take:
  %at.home = icmp eq i64 %visited, 0
  %from.front = add i64 %first, %front
  %last = sub i64 %after.last, 1
  %from.back = sub i64 %last, %back
  %index = select i1 %at.home, i64 %from.front, i64 %from.back
  %step = select i1 %at.home, i64 1, i64 {one_from_back}
  %after = add i64 %seen, %step
  %pair = cmpxchg ptr %word, i64 %seen, i64 %after seq_cst monotonic
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %run, label %next
run:
  %base = mul i64 %index, %size
  %shift = call i64 @llvm.umin.i64(i64 %index, i64 %extra)
  %begin = add i64 %base, %shift
  %longer = icmp ult i64 %index, %extra
  %one = zext i1 %longer to i64
  %length = add i64 %size, %one
  %end = add i64 %begin, %length
  %own = call i64 @own_cell()
  call void @set_own_cell(i64 %cell)
  call void %body(ptr %closure, i64 %begin, i64 %end)
  call void @set_own_cell(i64 %own)
  %count = atomicrmw add ptr @done, i64 1 release
  br label %next
leave:
  ret void
}}
"""

_WORKER = """
define void @baton_worker(i64 %number) {{
entry:
  br label %loop
loop:
  %round = phi i64 [ 0, %entry ], [ %more, %rest ], [ 0, %work ], [ 0, %awake ]
  %tried = phi i64 [ -1, %entry ], [ %tried, %rest ], [ %seen, %work ], [ %tried, %awake ]
  %stop = load atomic i32, ptr @stop acquire, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %leave, label %look
look:
  %seen = load atomic i64, ptr @job seq_cst, align 8
  %open = call i1 @has_work(i64 %number, i64 %seen, i64 %tried)
  br i1 %open, label %work, label %idle
work:
  %epoch = lshr i64 %seen, 32
  call void @at_work(i64 %number, i64 1)
  call void @run_chunks(i64 %epoch, i64 %number)
  call void @at_work(i64 %number, i64 0)
  br label %loop
idle:
  %more = add i64 %round, 1
  %patience = load atomic i64, ptr @spin monotonic, align 8
  %tired = icmp ugt i64 %more, %patience
  br i1 %tired, label %sleep, label %rest
rest:
  call void @relax()
  br label %loop
sleep:
  %ticket = load atomic i32, ptr @wake seq_cst, align 4
  %before = atomicrmw add ptr @sleepers, i32 1 seq_cst
  %now = load atomic i64, ptr @job seq_cst, align 8
  %late = call i1 @has_work(i64 %number, i64 %now, i64 %tried)
  %stop2 = load atomic i32, ptr @stop seq_cst, align 4
  %stopping = icmp ne i32 %stop2, 0
  %stay = or i1 %late, %stopping
  br i1 %stay, label %awake, label %doze
doze:
  call void @wait_for_wake(i32 %ticket)
  br label %awake
awake:
  %after = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %loop
leave:
  ret void
}}

; Whether a job is open that this worker may take part in and has not run out of.
define internal i1 @has_work(i64 %number, i64 %job, i64 %tried) {{
  %low = and i64 %job, {closed}
  %open = icmp eq i64 %low, 0
  %fresh = icmp ne i64 %job, %tried
  %threads = load atomic i64, ptr @threads acquire, align 8
  %allowed = icmp slt i64 %number, %threads
  %wanted = and i1 %open, %fresh
  %both = and i1 %wanted, %allowed
  ret i1 %both
}}
"""

_CONTROL = """
define internal i64 @allowed() {{
  %own = call i64 @own_limit()
  %none = icmp eq i64 %own, 0
  %common = load atomic i64, ptr @limit monotonic, align 8
  %limit = select i1 %none, i64 %common, i64 %own
  ret i64 %limit
}}

define ptr @baton_fault_cell() {{
  %own = call i64 @own_cell()
  %none = icmp eq i64 %own, 0
  br i1 %none, label %make, label %have
have:
  %cell = inttoptr i64 %own to ptr
  ret ptr %cell
make:
  %fresh = call ptr @calloc(i64 8, i64 8)
  %address = ptrtoint ptr %fresh to i64
  %empty = icmp eq i64 %address, 0
  br i1 %empty, label %share, label %keep
share:
  ret ptr @spare.cell
keep:
  call void @set_own_cell(i64 %address)
  ret ptr %fresh
}}

; The cell of this thread from now on; what it was before.
define ptr @baton_switch_cell(ptr %cell) {{
  %before = call ptr @baton_fault_cell()
  %address = ptrtoint ptr %cell to i64
  call void @set_own_cell(i64 %address)
  ret ptr %before
}}

define i64 @baton_thread_limit(i64 %threads) {{
  %before = call i64 @own_limit()
  call void @set_own_limit(i64 %threads)
  ret i64 %before
}}

define void @baton_pool_limit(i64 %threads) {{
  store atomic i64 %threads, ptr @limit seq_cst, align 8
  ret void
}}

define void @baton_pool_spin(i64 %rounds) {{
  store atomic i64 %rounds, ptr @spin seq_cst, align 8
  ret void
}}

define void @baton_pool_stop() {{
  store atomic i32 1, ptr @stop seq_cst, align 4
  %w = atomicrmw add ptr @wake, i32 1 seq_cst
  call void @wake_all()
  ret void
}}

define void @baton_pool_reset() {{
  store atomic i64 {closed}, ptr @job seq_cst, align 8
  store atomic i32 0, ptr @busy seq_cst, align 4
  store atomic i32 0, ptr @sleepers seq_cst, align 4
  store atomic i32 0, ptr @stop seq_cst, align 4
  store atomic i64 1, ptr @limit seq_cst, align 8
  call void @unsettle()
  ret void
}}

declare i64 @llvm.abs.i64(i64, i1)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
"""


def pool_ir(system: System) -> str:
    """The module's text for an operating system."""
    parts = (_STATE, _CALLER, _CHUNKS, _WORKER, _CONTROL)
    numbers = {
        "closed": CLOSED,
        "most_chunks": MOST_CHUNKS,
        "most_homes": MOST_HOMES,
        "one_from_back": MOST_CHUNKS + 1,
        "per_thread": CHUNKS_PER_THREAD,
        "jobs_a_look": JOBS_A_LOOK - 1,
        "caller_spin": CALLER_SPIN,
        "yields_a_look": YIELDS_A_LOOK - 1,
    }
    return "".join(p.format(**numbers) for p in parts) + system.ir
