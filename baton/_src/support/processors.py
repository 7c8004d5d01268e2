"""How many processors this process may use: those that it may run on, and no more than the system grants it time for.

A container that is given two of a machine's sixty-four processors usually sees all of them, and is stopped for the rest
of each tenth of a second in which it has used up its time: sixty-four threads would wait for one another most of the
time. Linux says how much time that is in the files of control groups, `cpu.max` or, in their first version,
`cpu.cfs_quota_us`; a group has no more than the groups around it (Linux's documentation, admin-guide/cgroup-v2).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")


def usable_processors() -> int:
    """Logical processors: two threads of one core count twice."""
    affinity = getattr(os, "sched_getaffinity", None)
    return granted((os.cpu_count() or 1) if affinity is None else len(affinity(0)))


def granted(count: int) -> int:
    """So many processors, or fewer if the time of fewer is granted; a part of one counts as one."""
    least = min((quota for folder in _groups() for quota in _quotas(folder)), default=math.inf)
    return count if least >= count else max(1, math.ceil(least))


def _groups() -> Iterator[Path]:
    """The folders of the control groups that this process is in, and of those around them."""
    places = {"": "sys/fs/cgroup", "cpu": "sys/fs/cgroup/cpu"}
    for line in _read(_ROOT / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in {"", "cpu"} & set(controllers.split(",")):
            top = _ROOT / places[controller]
            # In a container the path may be that of the whole machine, of which only the top is to be seen.
            folder = top / path.strip("/")
            yield from (f for f in (folder, *folder.parents) if f.is_relative_to(top))


def _quotas(folder: Path) -> Iterator[float]:
    """The processors whose time the group of this folder has, if it is limited."""
    new = _read(folder / "cpu.max").split() or ["", ""]
    old = [_read(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
    for quota, period in (new, old):
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield int(quota) / int(period)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
