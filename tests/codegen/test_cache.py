"""The object cache: entries serve, damaged ones are rebuilt silently, the cap holds, the switch works."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from baton._src.codegen.kernels import Scheduler
from baton._src.codegen.llvm import module as compiler
from baton._src.codegen.llvm.cache import CacheOptions, ObjectCache
from baton._src.codegen.llvm.module import CompileOptions, compile_kernels, compile_module
from baton._src.codegen.llvm.workers import Work, shared
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST


def kernel(factor: float = 2.0, name: str = "A") -> PrimFunc:
    a = placeholder((8,), "float32", name)
    return create_prim_func([a, compute((8,), lambda i: a[i] * factor, "B")])


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many kernels each compilation really compiled."""
    counts: list[int] = []
    real = compiler.shared

    def counting(sizes: dict[str, int], work: Work, workers: int = 0) -> dict[str, bytes]:
        counts.append(len(sizes))
        return real(sizes, work, workers)

    monkeypatch.setattr(compiler, "shared", counting)
    return counts


def test_second_time_from_disk(tmp_path: Path, compiled: list[int]) -> None:
    """Guards hits: the same object code, nothing compiled; another kernel is another entry."""
    options = CompileOptions(cache=CacheOptions(tmp_path))
    first = compile_module({"f": kernel()}, HOST, options)
    assert compile_module({"f": kernel()}, HOST, options) == first
    compile_module({"f": kernel(3.0)}, HOST, options)
    assert compiled == [1, 1]


def test_equal_kernels_are_compiled_once(compiled: list[int]) -> None:
    """Guards content addressing: names of kernels and buffers do not matter."""
    compile_module(
        {"f": kernel(), "g": kernel(name="X"), "h": kernel(5.0)}, HOST, CompileOptions(cache=CacheOptions(None))
    )
    assert compiled == [2]


@pytest.mark.parametrize("damage", [b"", b"rubbish", None])
def test_damaged_entries_are_rebuilt(tmp_path: Path, compiled: list[int], damage: bytes | None) -> None:
    """Guards the checksum: truncated, foreign and flipped contents are misses, and are overwritten."""
    options = CompileOptions(cache=CacheOptions(tmp_path))
    first = compile_module({"f": kernel()}, HOST, options)
    (entry,) = [p for p in tmp_path.rglob("*") if p.is_file()]
    content = bytearray(entry.read_bytes())
    content[-1] ^= 1
    entry.write_bytes(bytes(content) if damage is None else damage)
    assert compile_module({"f": kernel()}, HOST, options) == first
    assert compile_module({"f": kernel()}, HOST, options) == first
    assert compiled == [1, 1]


def test_cap(tmp_path: Path) -> None:
    """Guards the size cap: what was not used for longest goes first."""
    cache = ObjectCache(CacheOptions(tmp_path, cap=2500))
    for number in range(5):
        cache.put(f"{number:064x}", bytes(1000))
    cache.trim()
    kept = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert 1 <= len(kept) <= 2


def test_failures_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards full disks: entries written in part stayed, and those that could not be deleted were errors."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError

    cache = ObjectCache(CacheOptions(tmp_path, cap=100))
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        cache.put("aa", bytes(10))
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    monkeypatch.setattr(os, "unlink", refuse)
    cache.put("ab", bytes(1000))
    assert cache.get("ab") == bytes(1000)


def test_environment(tmp_path: Path) -> None:
    """Guards the switches."""
    assert CacheOptions.from_environment({"BATON_CACHE": "0"}).folder is None
    assert CacheOptions.from_environment({"BATON_CACHE_DIR": str(tmp_path)}).folder == tmp_path
    assert CacheOptions.from_environment({"XDG_CACHE_HOME": "/x"}).folder == Path("/x/baton")
    assert CacheOptions.from_environment({"HOME": "/home/me"}).folder == Path("/home/me/.cache/baton")


def test_unwritable_folder_is_no_error(tmp_path: Path) -> None:
    """Guards a cache that cannot be written: the result is the same."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert compile_module({"f": kernel()}, HOST, CompileOptions(cache=CacheOptions(blocked)))


def test_a_hit_is_not_scheduled(tmp_path: Path) -> None:
    """Guards keys of what is not scheduled yet: rules run once a kernel and version, and their names are kept."""
    options, seen = CompileOptions(cache=CacheOptions(tmp_path), workers=1), []

    def run(function: PrimFunc) -> tuple[PrimFunc, str]:
        seen.append(function)
        return function, "plain"

    first = compile_kernels({"f": kernel(), "g": kernel(name="X")}, HOST, options, Scheduler(run, "1"))
    again = compile_kernels({"f": kernel(), "g": kernel()}, HOST, options, Scheduler(run, "1"))
    assert len(seen) == 1
    assert first == again
    assert again.rules == {"f": "plain", "g": "plain"}
    compile_kernels({"f": kernel()}, HOST, options, Scheduler(run, "2"))
    assert len(seen) == 2
    compile_kernels({"f": kernel()}, HOST, options, Scheduler(run, "2"), as_they_stand={"f"})
    assert len(seen) == 2


def test_what_children_do_not_deliver_the_parent_does() -> None:
    """Guards the queue: each task once; a child that dies leaves its work, and errors come from this process."""
    parent = os.getpid()

    def work(key: str) -> bytes:
        if os.getpid() != parent and key == "bad":
            os._exit(3)
        if key == "wrong":
            raise ValueError(key)
        return key.encode() * 100_000

    keys = {**{f"k{i}": i for i in range(40)}, "bad": 50}
    assert shared(keys, work, 3) == {key: key.encode() * 100_000 for key in keys}
    with pytest.raises(ValueError, match="wrong"):
        shared({**keys, "wrong": 1}, work, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")
def test_processes_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards limits of processes, and programs without a standard output: compiling was an error there."""

    def refuse() -> int:
        raise BlockingIOError

    keys = dict.fromkeys("abcd", 1)
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", None)
        assert shared(keys, str.encode, 2) == {key: key.encode() for key in keys}
    files = len(os.listdir("/dev/fd"))
    monkeypatch.setattr(os, "fork", refuse)
    assert shared(keys, str.encode, 3) == {key: key.encode() for key in keys}
    assert len(os.listdir("/dev/fd")) == files


def test_an_interruption_ends_the_children() -> None:
    """They went on to the end of the queue meanwhile."""
    parent = os.getpid()

    def work(key: str) -> bytes:
        if os.getpid() == parent:
            raise KeyboardInterrupt
        time.sleep(60)
        return b""

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        shared(dict.fromkeys("abcd", 1), work, 2)
    assert time.monotonic() - start < 50


def test_workers_give_the_same(tmp_path: Path) -> None:
    """Guards compiling in forked processes."""
    functions = {f"k{i}": kernel(float(i + 1)) for i in range(6)}
    alone = compile_module(functions, HOST, CompileOptions(cache=CacheOptions(None), workers=1))
    assert compile_module(functions, HOST, CompileOptions(cache=CacheOptions(None), workers=2)) == alone
