"""The thread pool: every iteration once, from any thread, nested, limited, stopped, started again, after a fork."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
import pytest

from baton._src.runtime.linker import link
from baton._src.runtime.thread_pool.pool_ir import JOBS_A_LOOK, pool_ir
from baton._src.runtime.thread_pool.system_ir import System
from baton._src.runtime.thread_pool.threads import ThreadPool, default_num_threads, thread_pool
from baton._src.support.diagnostics import DiagnosticError

_IR = """
declare void @baton_parallel_for(ptr, ptr, i64, i64)
define void @count(ptr %cell, i64 %begin, i64 %end) {
  %n = sub i64 %end, %begin
  %old = atomicrmw add ptr %cell, i64 %n monotonic
  ret void
}
define void @nested(ptr %cell, i64 %begin, i64 %end) {
  call void @baton_parallel_for(ptr @count, ptr %cell, i64 10, i64 1)
  call void @count(ptr %cell, i64 %begin, i64 %end)
  ret void
}
define void @meet(ptr %cells, i64 %begin, i64 %end) {
entry:
  %before = atomicrmw add ptr %cells, i64 1 seq_cst
  %number = add i64 %before, 1
  %slot = getelementptr i64, ptr %cells, i64 %number
  store atomic i64 %begin, ptr %slot seq_cst, align 8
  br label %wait
wait:
  %arrived = load atomic i64, ptr %cells seq_cst, align 8
  %both = icmp uge i64 %arrived, 2
  br i1 %both, label %leave, label %wait
leave:
  ret void
}
define void @run_meet(ptr %cells, i64 %total, i64 %grain) {
  call void @baton_parallel_for(ptr @meet, ptr %cells, i64 %total, i64 %grain)
  ret void
}
define void @run(ptr %cell, i64 %total, i64 %grain) {
  call void @baton_parallel_for(ptr @count, ptr %cell, i64 %total, i64 %grain)
  ret void
}
define void @run_nested(ptr %cell, i64 %total, i64 %grain) {
  call void @baton_parallel_for(ptr @nested, ptr %cell, i64 %total, i64 %grain)
  ret void
}
"""


class Program:
    """Compiled loops that count their iterations."""

    def __init__(self, pool: ThreadPool | None = None) -> None:
        entry = (pool or thread_pool()).entry
        self.library = link((), ("run", "run_nested", "run_meet"), {"baton_parallel_for": entry}, ir=_IR)

    def __call__(self, total: int, grain: int = 1, name: str = "run") -> int:
        return self.cells(name, total, grain)[0]

    def first_two(self, total: int, grain: int) -> list[int]:
        """Where the chunks begin that two threads take first; neither goes on before both have one."""
        return sorted(self.cells("run_meet", total, grain)[1:3])

    def cells(self, name: str, total: int, grain: int) -> list[int]:
        cells = (ctypes.c_int64 * (1 + max(1, total)))()
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        kind(self.library[name])(ctypes.addressof(cells), total, grain)
        return list(cells)


@pytest.fixture(scope="module")
def program() -> Program:
    return Program()


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    found = thread_pool()
    before = found.num_threads
    yield found
    found.stop()
    if before > 1:
        found.start(before)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_iteration_once(program: Program, pool: ThreadPool, threads: int) -> None:
    """Guards chunking, with more threads than cores too."""
    pool.start(threads)
    for total in (0, 1, 2, 7, 100, 12345):
        for grain in (1, 3, 1000):
            assert program(total, grain) == total
    for _ in range(2000):
        assert program(9) == 9


def test_nested_loops(program: Program, pool: ThreadPool) -> None:
    """Guards nesting: the inner loop runs, serially or not, and nothing waits for itself."""
    pool.start(3)
    for _ in range(50):
        chunks = program(24, 2, "run_nested") - 24
        assert chunks % 10 == 0
        assert chunks >= 10


def test_parts_of_a_size(program: Program, pool: ThreadPool) -> None:
    """Guards negative grains: parts of so many iterations each, and all iterations once."""
    pool.start(2)
    for total in (1, 2, 7, 100, 12345):
        assert program(total, -3) == total
    assert program(60, -2, "run_nested") - 60 == 30 * 10
    assert program(60, 2, "run_nested") - 60 < 30 * 10


def test_threads_begin_at_home(program: Program, pool: ThreadPool) -> None:
    """Guards that a core finds what it wrote in the job before in its cache: each thread has its part of the chunks."""
    pool.start(2)
    for _ in range(20):
        assert program.first_two(8, 1) == [0, 4]
        assert program.first_two(24, 3) == [0, 12]
        assert program.first_two(24, -3) == [0, 12]
        assert program.first_two(5, 1) == [0, 2]


def test_what_is_left_of_a_home_goes_to_others(program: Program, pool: ThreadPool) -> None:
    """Guards that one thread alone takes all chunks: a worker that does not come keeps nobody waiting."""
    pool.start(1)
    pool._use(7)  # seven homes, and no workers
    for total in (7, 8, 100):
        assert program(total) == total


def test_more_parts_than_a_job_has(program: Program, pool: ThreadPool) -> None:
    """Guards the count of chunks, which has 16 bits."""
    pool.start(2)
    assert program(1 << 20, -1) == 1 << 20


def test_several_callers(program: Program, pool: ThreadPool) -> None:
    """Guards concurrent Python threads."""
    pool.start(2)
    wrong: list[Any] = []

    def work() -> None:
        wrong.extend(total for total in range(300) if program(total) != total)

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert not wrong
    assert not any(caller.is_alive() for caller in callers)


def test_more_threads_than_the_system_gives(pool: ThreadPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's error for it named no number; the pool goes on with what it has."""
    pool.stop()  # the workers of tests before, which it would take
    pool.start(2)

    def refuse(worker: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(DiagnosticError, match="the system allows 2 threads, not the 5") as error:
        pool.start(5)
    assert error.value.code == "threads-count"
    with pytest.raises(DiagnosticError, match="99999 threads were requested"):
        pool.have(99999)
    assert pool.num_threads == 2


def test_limit_and_restart(program: Program, pool: ThreadPool) -> None:
    """Guards `limited`, `stop` and starting again."""
    pool.start(2)
    with pool.limited(1):
        assert pool.num_threads == 1
        assert program(100) == 100
    assert pool.num_threads == 2
    pool.stop()
    assert program(100) == 100
    pool.start(2)
    assert program(100) == 100


def test_sleeping_workers_wake_up(program: Program, pool: ThreadPool) -> None:
    """Guards the futex: after a pause longer than the spin, loops still run."""
    pool.start(2)
    pause = threading.Event()
    for _ in range(20):
        pause.wait(0.003)
        assert program(64) == 64


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forked_child(program: Program, pool: ThreadPool) -> None:
    """Guards fork: the child starts without workers and can have its own; the parent goes on."""
    pool.start(2)
    assert program(10) == 10
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            fine = program(1000) == 1000 and pool.num_threads == 1
            pool.start(2)
            fine = fine and all(program(1000) == 1000 for _ in range(50))
            pool.stop()
            status = 0 if fine else 1
        finally:
            os._exit(status)
    _, code = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(code) == 0
    assert program(1000) == 1000


@pytest.mark.parametrize("chosen", ["0", "-2", "four", "\u00b2"])
def test_bad_count_in_the_environment(chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the setting; a raised two is a digit to Python, and no number."""
    monkeypatch.setenv("BATON_NUM_THREADS", chosen)
    with pytest.raises(DiagnosticError, match="threads-count"):
        default_num_threads.__wrapped__()


def test_bad_count(pool: ThreadPool) -> None:
    """Guards the message for a count below one."""
    with pytest.raises(Exception, match="at least 1"):
        pool.start(0)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "riscv64"])
@pytest.mark.parametrize(
    ("name", "triple"), [("linux", "linux-gnu"), ("posix", "darwin"), ("windows", "pc-windows-msvc")]
)
def test_every_system_compiles(name: str, triple: str, machine: str) -> None:
    """Guards the systems that are not this one: LLVM accepts their pool, and what it imports is what is declared."""
    module = llvm.parse_assembly(pool_ir(System(name, machine)))
    module.verify()
    declared = {f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")}
    assert declared == set(System(name, machine).imports)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    made = llvm.Target.from_triple(f"{machine}-{triple}" if machine != "riscv64" else "riscv64-linux-gnu")
    assert made.create_target_machine().emit_object(module)


@pytest.mark.skipif(System.here().name == "windows", reason="needs usleep")
def test_pool_that_polls() -> None:
    """Guards the wait of systems without futex: workers wake up, limits are kept, the pool ends."""
    pool = ThreadPool(System("posix", System.here().machine))
    program = Program(pool)
    pool.set_spin(10)
    pool.start(3)
    pause = threading.Event()
    for _ in range(10):
        pause.wait(0.002)
        assert all(program(total) == total for total in (1, 9, 1000))
        assert program(5, name="run_nested") == 55
    with pool.limited(1):
        assert pool.num_threads == 1
        assert program(100) == 100
    pool.stop()
    assert program(7) == 7


@pytest.mark.skipif(System.here().name != "linux", reason="other systems place threads themselves")
def test_workers_leave_the_callers_cpu_to_it(program: Program, pool: ThreadPool) -> None:
    """Guards that a worker is not placed where its caller runs, and gets nothing but what its starter may use."""
    allowed = os.sched_getaffinity(0)
    pool.stop()
    pool.start(2)
    for _ in range(2 * JOBS_A_LOOK):
        assert program(8) == 8
    (worker,) = (t for t in threading.enumerate() if t.name == "baton-1")
    assert worker.native_id is not None
    left = os.sched_getaffinity(worker.native_id)
    assert left <= allowed
    assert len(left) == max(1, len(allowed) - 1)


@pytest.mark.skipif(System.here().name != "linux", reason="other systems place threads themselves")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is no CPU for a worker")
def test_workers_that_lose_their_cpu_are_helped_and_leave_again(program: Program, pool: ThreadPool) -> None:
    """Guards jobs while other processes keep every CPU busy, and that helped workers do not stay with the caller."""
    pool.stop()
    pool.start(2)
    allowed = os.sched_getaffinity(0)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in allowed]
    try:
        for _ in range(3000):
            assert program(64) == 64
    finally:
        for process in busy:
            process.kill()
            process.wait()
    for _ in range(2 * JOBS_A_LOOK):
        assert program(8) == 8
    (worker,) = (t for t in threading.enumerate() if t.name == "baton-1")
    assert worker.native_id is not None
    assert len(os.sched_getaffinity(worker.native_id)) == len(allowed) - 1
