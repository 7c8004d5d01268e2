"""`whole_file`: a file is the old one or the new one; links and pipes stay what they are."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from baton._src.support.whole_file import whole_file


def test_an_error_leaves_the_old_file_alone(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.write_text("old")

    def fill_the_disk() -> None:
        with whole_file(place) as stream:
            stream.write(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match=f"No space left on device: '{place}'"):
        fill_the_disk()
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_links_and_pipes_stay(tmp_path: Path) -> None:
    """`-o /dev/null` of a superuser replaced the device by a file."""
    real, link, pipe = tmp_path / "v2", tmp_path / "current", tmp_path / "pipe"
    real.write_text("old")
    link.symlink_to(real)
    with whole_file(link, durable=False) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with whole_file(pipe) as stream:
        stream.write(b"through")
    reader.join(10)
    assert read == [b"through"]
    assert pipe.is_fifo()


def test_the_mask_of_permissions_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards files that another thread makes meanwhile: the mask was set to 0 for a moment, and stayed 0 if two threads
    did so at once.
    """
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.delattr(os, "umask")
            with whole_file(tmp_path / "out") as stream:
                stream.write(b"content")
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)
