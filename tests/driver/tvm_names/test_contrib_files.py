"""`tvm.contrib.utils` and `tar`: locks, paths, and archives among files."""

from __future__ import annotations

import fcntl
import gc
from pathlib import Path

import pytest

import baton as tvm
from baton.contrib import tar, utils


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    """Guards filelock: held until the block ends. (POSIX locks are of processes: the same one may take it again.)"""
    path = tmp_path / "lock"
    with utils.filelock(str(path)) as lock:
        assert not lock.lock_file.closed
        assert path.exists()
    assert lock.lock_file.closed
    lock.release()
    with path.open("w") as again:
        fcntl.lockf(again, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_paths_and_sources(tmp_path: Path) -> None:
    there = tmp_path / "kernel"
    there.touch()
    assert utils.is_source_path(str(there))
    assert utils.is_source_path("missing.cc")
    assert not utils.is_source_path("int main() {}\n")
    assert not utils.is_source_path("int x = 1. ")
    assert utils.which("no-program-of-this-name") is None
    assert utils.which("sh")


def test_temporary_folders_give_paths() -> None:
    """As in TVM; they gave texts, to which `/` adds nothing."""
    with utils.tempdir() as temp:
        (temp.path / "a.o").touch()
        assert (temp / "a.o").exists()
        assert temp.listdir() == ["a.o"]


@pytest.mark.filterwarnings("error")
def test_temporary_folders_go_with_their_handles() -> None:
    """As in TVM, without a word: a handle that a script dropped was a ResourceWarning."""
    temp = utils.tempdir()
    place = temp.path
    assert place.is_dir()
    del temp
    gc.collect()
    assert not place.exists()
    kept = utils.tempdir(keep_for_debug=True)
    kept.remove()
    assert kept.path.is_dir()
    kept.path.rmdir()


def test_archives_among_files_are_unpacked(tmp_path: Path) -> None:
    for name in ("a.o", "b.o", "c.o"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    packed = str(tmp_path / "two.tar")
    tar.tar(packed, [str(tmp_path / "a.o"), str(tmp_path / "b.o")])
    temp = utils.tempdir()
    found = tar.normalize_file_list_by_unpacking_tars(temp, [str(tmp_path / "c.o"), packed])
    assert [Path(file).read_text(encoding="utf-8") for file in found] == ["c.o", "a.o", "b.o"]
    with pytest.raises(ValueError, match="duplicate file name"):
        tar.tar(packed, [str(tmp_path / "a.o"), str(temp.relpath("0_two")) + "/../a.o", str(tmp_path / "." / "a.o")])


def test_targets_of_devices_and_those_in_force() -> None:
    target = tvm.target.Target("llvm -mcpu=core-avx2")
    assert tvm.target.Target.from_device(tvm.cpu()).kind.name == "llvm"
    assert tvm.target.Target.from_device("cuda").kind.name == "cuda"
    assert tvm.target.Target.target_or_current("llvm").mcpu == ""
    with target:
        assert tvm.target.Target.target_or_current(None) is target
    with pytest.raises(ValueError, match="no target was entered"):
        tvm.target.Target.target_or_current(None)
    assert (target.max_function_args, target.max_shared_memory_per_block, target.vtcm_capacity) == (-1, 0, 0)
    assert tvm.target.rasp().model == tvm.target.arm_cpu("rasp3b").model
