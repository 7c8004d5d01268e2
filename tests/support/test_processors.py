"""How many processors a process may use: where it may run, and what control groups of Linux grant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from baton._src.support import processors
from baton._src.support.processors import granted, usable_processors


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with eight processors; the files of its control groups are to be written."""
    monkeypatch.setattr(processors, "_ROOT", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    return tmp_path


def written(machine: Path, place: str, text: str) -> None:
    path = machine / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def test_without_limits(machine: Path) -> None:
    assert (usable_processors(), granted(4)) == (8, 4)
    written(machine, "proc/self/cgroup", "0::/user/me")
    written(machine, "sys/fs/cgroup/user/me/cpu.max", "max 100000")
    assert (usable_processors(), granted(4)) == (8, 4)


@pytest.mark.parametrize(
    ("quota", "processors", "cores"), [(200000, 2, 2), (150000, 2, 2), (10000, 1, 1), (600000, 6, 4)]
)
def test_a_group_has_so_much_time(machine: Path, quota: int, processors: int, cores: int) -> None:
    """Guards containers: one that is granted two processors had as many threads as the machine has cores."""
    written(machine, "proc/self/cgroup", "0::/user/me")
    written(machine, "sys/fs/cgroup/user/me/cpu.max", f"{quota} 100000")
    assert (usable_processors(), granted(4)) == (processors, cores)


def test_no_more_than_the_groups_around(machine: Path) -> None:
    written(machine, "proc/self/cgroup", "0::/user/me")
    written(machine, "sys/fs/cgroup/user/me/cpu.max", "500000 100000")
    written(machine, "sys/fs/cgroup/user/cpu.max", "300000 100000")
    assert usable_processors() == 3


def test_groups_of_the_first_version(machine: Path) -> None:
    """Guards such containers, in which the group is at the top and the path that of the whole machine."""
    written(machine, "proc/self/cgroup", "3:memory:/docker/c0\n2:cpu,cpuacct:/docker/c0\n0::/docker/c0")
    written(machine, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000")
    written(machine, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1")
    assert usable_processors() == 8
    written(machine, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000")
    assert usable_processors() == 2
