"""What Linux says of an ARM processor, in LLVM's names."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton._src.ir.cpu import NAMED, host_cpu
from baton._src.runtime import processor
from baton._src.runtime.processor import arm_flags, host_features, host_flags, physical_cores
from baton._src.runtime.thread_pool.threads import default_num_threads
from baton._src.support import processors

FIRST_OF_V8 = 0b1000_1111_1111  # fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid
FIRST_OF_V8_2 = FIRST_OF_V8 | 0x10_F700  # atomics fphp asimdhp asimdrdm lrcpc dcpop asimddp
FIRST_OF_V1 = FIRST_OF_V8_2 | 1 << 22 | 1 << 23  # sve asimdfhm
SECOND_OF_V1 = 1 << 13 | 1 << 14  # i8mm bf16


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("cortex-a72", FIRST_OF_V8, 0),
        ("neoverse-n1", FIRST_OF_V8_2, 0),
        ("neoverse-v1", FIRST_OF_V1, SECOND_OF_V1),
        ("neoverse-v2", FIRST_OF_V1, SECOND_OF_V1 | 1 << 1),
    ],
)
def test_capabilities_of_arm_processors(name: str, first: int, second: int) -> None:
    """Guards the bits: code made on a Graviton is loaded there, and is that of its CPU's name."""
    flags = arm_flags(first, second)
    assert {feature for feature, present in flags.items() if present} >= NAMED[name].features
    lacks = arm_flags(first & ~(1 << 1 | 1 << 9), second)
    assert not lacks["neon"]
    assert not lacks["fullfp16"]


def test_one_view_of_this_machine() -> None:
    """Guards that schedules, LLVM and loaders agree on the features: schedules read them from /proc/cpuinfo, which is
    another processor's under an emulator.
    """
    assert host_cpu().features == host_features() <= set(host_flags())


@pytest.mark.parametrize(("siblings", "cores"), [(["0-1", "0-1", "2-3", "2-3"], 2), (["0", "1", "2", "3"], 4)])
def test_cores(siblings: list[str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards clusters of ARM cores, whose numbers of cores begin at 0 in each: half of them counted."""
    for cpu, content in enumerate(siblings):
        place = tmp_path / f"cpu{cpu}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(content + "\n")
        (place / "core_id").write_text(f"{cpu % 2}\n")
        (place / "physical_package_id").write_text("0\n")
    monkeypatch.setattr(processor, "CPUS", tmp_path)
    monkeypatch.setattr(processor.os, "sched_getaffinity", lambda pid: set(range(len(siblings))))
    assert physical_cores() == cores
    assert host_cpu.__wrapped__().num_cores == cores


def test_no_more_cores_than_a_container_is_granted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards containers: one that is granted two processors had as many threads as its machine has cores."""
    for place, content in (("proc/self/cgroup", "0::/"), ("sys/fs/cgroup/cpu.max", "200000 100000")):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(content + "\n")
    monkeypatch.setattr(processors, "_ROOT", tmp_path)
    monkeypatch.setattr(processor, "CPUS", tmp_path)
    monkeypatch.setattr(processor.os, "sched_getaffinity", lambda pid: set(range(64)))
    assert physical_cores() == 2
    assert default_num_threads.__wrapped__() == 2
    assert host_cpu.__wrapped__().num_cores == 2
