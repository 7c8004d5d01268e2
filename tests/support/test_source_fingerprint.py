"""Keys of caches on disk name the source that made an entry, and the lists of folders they name are complete."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from baton._src.codegen.llvm.module import SOURCES as CODEGEN
from baton._src.driver.kernel_scheduler import SOURCES as SCHEDULES
from baton._src.support import source_fingerprint as fingerprints
from baton._src.support.source_fingerprint import source_fingerprint


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two folders, last changed an hour ago."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("x = 1\n")
        os.utime(tmp_path / name / "a.py", (time.time() - 3600,) * 2)
    monkeypatch.setattr(fingerprints, "_ROOT", tmp_path)
    source_fingerprint.cache_clear()
    return tmp_path


def fresh(*folders: str) -> str:
    source_fingerprint.cache_clear()
    return source_fingerprint(*folders)


def test_edits_change_it(package: Path) -> None:
    """Guards against stale results: any file below the folders counts, others do not."""
    one, two = fresh("one"), fresh("two")
    assert fresh("one") == one
    (package / "one" / "b.py").write_text("y = 1\n")
    os.utime(package / "one" / "b.py", (time.time() - 1800,) * 2)
    assert fresh("one") != one
    assert fresh("two") == two
    source_fingerprint.cache_clear()


def test_a_process_that_is_overtaken_shares_nothing(package: Path) -> None:
    """Guards processes that run while files change: what they hold is not what lies on the disk."""
    (package / "one" / "a.py").write_text("x = 3\n")
    assert fresh("one") != fresh("one")
    source_fingerprint.cache_clear()


@pytest.mark.parametrize(
    ("module", "folders"),
    [
        ("baton._src.codegen.llvm.module", CODEGEN),
        ("baton._src.lower.kernel_schedules.schedule", (*CODEGEN, *SCHEDULES)),
    ],
)
def test_folders_are_complete(module: str, folders: tuple[str, ...]) -> None:
    """Guards the lists: all that is imported to compile a kernel lies in a folder that keys name.

    (Or in the runtime, which gives code generation file formats and addresses only.)
    """
    program = f"import sys, {module}; print(*(m for m in sys.modules if m.startswith('baton._src.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    files = [name.removeprefix("baton._src.").replace(".", "/") + "/" for name in done.stdout.split()]
    packages = {"passes/", "lower/", "runtime/"}
    left = [f for f in files if not f.startswith(tuple(f"{x}/" for x in (*folders, "runtime"))) and f not in packages]
    assert left == []
