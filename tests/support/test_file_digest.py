"""File digests: the same contents, the same digest; anything else, another."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from baton._src.support import file_digest as digests
from baton._src.support.file_digest import file_digest


def test_contents_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards every byte of every block, the length, and the borders of blocks."""
    monkeypatch.setattr(digests, "BLOCK", 16)
    path, seen = tmp_path / "f", {}
    contents = [bytes(n) for n in (0, 1, 15, 16, 17, 32, 48)]
    contents += [bytes(i) + b"x" + bytes(47 - i) for i in range(48)]
    for content in contents:
        path.write_bytes(content)
        seen[content] = file_digest(path)
        assert file_digest(path) == seen[content]
    assert len(set(seen.values())) == len(contents)


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file worth remembering, as old as it has to be."""
    path = tmp_path / "large"
    path.write_bytes(bytes(digests.WORTHWHILE))
    monkeypatch.setattr(digests, "SETTLED", -1.0)
    monkeypatch.setattr(digests, "_is_on_disk", lambda path: True)
    return path


def unreadable(path: Path) -> str:
    raise AssertionError(f"{path} is read")


def test_a_file_that_is_as_it_was_is_not_read_again(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = digests.known_digest(large, tmp_path / "memory")
    monkeypatch.setattr(digests, "file_digest", unreadable)
    assert digests.known_digest(large, tmp_path / "memory") == first


@pytest.mark.parametrize("way", ["in place", "renamed over it"])
def test_every_change_shows(large: Path, tmp_path: Path, way: str) -> None:
    """Though the length stays the same and the time of the last change is set back."""
    first = digests.known_digest(large, tmp_path / "memory")
    before = large.stat()
    time.sleep(0.03)  # more than a tick of the clock
    if way == "in place":
        with large.open("r+b") as file:
            file.write(b"x")
    else:
        other = tmp_path / "other"
        other.write_bytes(b"x" + bytes(digests.WORTHWHILE - 1))
        other.replace(large)
    os.utime(large, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert digests.known_digest(large, tmp_path / "memory") == file_digest(large) != first


@pytest.mark.parametrize("why", ["small", "changed lately", "not on a disk of this machine", "memory damaged"])
def test_what_is_read_every_time(large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    memory = tmp_path / "memory"
    if why == "small":
        large.write_bytes(b"small")
    elif why == "changed lately":
        monkeypatch.setattr(digests, "SETTLED", 60.0)
    elif why == "not on a disk of this machine":
        monkeypatch.setattr(digests, "_is_on_disk", lambda path: False)
    first = digests.known_digest(large, memory)
    if why == "memory damaged":
        next(memory.iterdir()).write_bytes(b"{")
    monkeypatch.setattr(digests, "file_digest", lambda path: "read")
    assert first != "read" == digests.known_digest(large, memory)


def test_memory_that_cannot_be_written(large: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert digests.known_digest(large, tmp_path / "file" / "memory") == file_digest(large)


@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="only Linux tells of mounts")
def test_where_a_file_lies() -> None:
    assert not digests._is_on_disk(Path("/proc/self/status"))
