"""File digests: the same contents, the same digest; anything else, another."""

from __future__ import annotations

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
