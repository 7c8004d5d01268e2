"""Builds with bounds checks in every access: asked for by the environment, and the whole conformance suite in them.

`make test` runs every operator's kernels so (tests/lower/kernel_schedules/test_catalogue.py), random programs and odd
memory (beside this file); `make fuzz` runs every test that has a conformance rule.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from baton._src.codegen.llvm.module import CompileOptions

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("said", "checked"), [("1", True), ("0", False), ("", False)])
def test_the_environment_asks_for_checks(said: str, checked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards what the run below relies on."""
    monkeypatch.setenv("BATON_CHECKED", said)
    assert CompileOptions().checked is checked


@pytest.mark.fuzz
def test_the_conformance_suite_in_checked_mode() -> None:
    """Guards against kernels that read or write outside their buffers unnoticed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "rule and not fuzz", "tests"]
    found = subprocess.run(command, cwd=ROOT, env={**os.environ, "BATON_CHECKED": "1"}, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-5000:]
