"""Where tuning records are stored and what they are keyed by. Does not import SQLite.

`$BATON_TUNING` names the database, else it is `tuning.sqlite` in baton's cache folder; `BATON_TUNING=0` means that
there is none.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from baton._src.codegen.llvm.jit import target_text
from baton._src.ir.target import Target
from baton._src.support.cache_folder import cache_folder
from baton._src.support.dataclass import dataclass


@dataclass(frozen=True)
class Place:
    """Where code runs: the part of a record's key besides the kernel."""

    target: str
    """A digest of all facts about the target that schedules use."""
    threads: int

    @staticmethod
    def of(target: Target, threads: int | None = None) -> Place:
        """The place of programs compiled for `target` and run on so many threads (default: its cores)."""
        digest = hashlib.sha256(target_text(target).encode()).hexdigest()[:40]
        return Place(digest, threads or target.num_cores)


def database_path(environment: Mapping[str, str] | None = None) -> Path | None:
    """Where the database is, whether or not it exists; None: tuning is off."""
    env = os.environ if environment is None else environment
    said = env.get("BATON_TUNING", "").strip()
    if said.lower() in ("0", "off", "false", "no"):
        return None
    if said and said.lower() not in ("1", "on", "true", "yes"):
        return Path(said)
    return cache_folder(env) / "tuning.sqlite"


def consulted_database() -> Path | None:
    """The database that compilation consults just now: it exists, and the setting `baton.tuning` is on."""
    path = database_path()
    # `Path.exists` raises where a name is too long or a folder may not be looked into.
    return path if path is not None and os.path.exists(path) and _is_on() else None


def _is_on() -> bool:
    """The setting `baton.tuning`; the default if PassContext's module is not even imported."""
    context = sys.modules.get("baton._src.transform.context")
    return context is None or bool(context.PassContext.current().setting("baton.tuning"))
