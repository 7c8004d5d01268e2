"""The folder for data that baton can recreate: compiled code, tuning results, reproducers, downloads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """`BATON_CACHE_DIR`, or `baton` in the user's cache directory (`XDG_CACHE_HOME`, else `~/.cache`)."""
    env = os.environ if environment is None else environment
    if env.get("BATON_CACHE_DIR"):
        return Path(env["BATON_CACHE_DIR"])
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    return Path(env.get("XDG_CACHE_HOME") or home / ".cache") / "baton"
