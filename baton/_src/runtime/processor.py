"""This machine's processor: its features by LLVM's names, which code made here may use and a loader tests; its cores.

LLVM asks an x86 processor itself, but reads a part of what /proc/cpuinfo says of an ARM one; in a container under an
emulator that describes another processor. So on ARM Linux's own word to the process counts (AT_HWCAP, AT_HWCAP2).
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

from baton._src.support.processors import granted

CPUS = Path("/sys/devices/system/cpu")
_AT_HWCAP, _AT_HWCAP2 = 16, 26

_FIRST: Mapping[str, tuple[int, ...]] = {
    "fp-armv8": (0,),
    "neon": (1,),
    "crc": (7,),
    "lse": (8,),
    "fullfp16": (9, 10),  # of single numbers and of vectors
    "rdm": (12,),
    "rcpc": (15,),
    "dotprod": (20,),
    "sve": (22,),
    "fp16fml": (23,),
}
_SECOND: Mapping[str, tuple[int, ...]] = {"sve2": (1,), "i8mm": (13,), "bf16": (14,)}
"""The bits of the two words that a feature stands for (Linux's asm/hwcap.h for arm64)."""


@cache
def host_flags() -> Mapping[str, bool]:
    """Every feature that can be told, and whether this machine has it."""
    found: dict[str, bool] = dict(llvm.get_host_cpu_features())
    if platform.machine().lower() in ("aarch64", "arm64") and platform.system() == "Linux":
        words = ctypes.CDLL(None).getauxval
        words.argtypes, words.restype = [ctypes.c_ulong], ctypes.c_ulong
        found |= arm_flags(words(_AT_HWCAP), words(_AT_HWCAP2))
    return found


@cache
def host_features() -> frozenset[str]:
    """The features this machine has."""
    return frozenset(name for name, present in host_flags().items() if present)


def host_name() -> str:
    """LLVM's name of this machine's CPU; `generic` if it does not know it."""
    return str(llvm.get_host_cpu_name())


def physical_cores() -> int:
    """Cores this process may use: threads of one core count once, and a container's limit of time counts as well.

    Cores are told apart by their lists of siblings: numbers of cores are those within a cluster on some ARM processors,
    whose clusters are all of package 0.
    """
    if not hasattr(os, "sched_getaffinity"):
        return granted(os.cpu_count() or 1)
    return granted(len({_siblings_of(cpu) for cpu in os.sched_getaffinity(0)}))


def _siblings_of(cpu: int) -> str:
    """The logical processors of the same core."""
    try:
        return (CPUS / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip() or str(cpu)
    except OSError:
        return str(cpu)


def arm_flags(first: int, second: int) -> dict[str, bool]:
    """What the two words of hardware capabilities of an ARM processor say."""
    pairs = ((first, _FIRST), (second, _SECOND))
    return {name: all(word >> bit & 1 for bit in bits) for word, names in pairs for name, bits in names.items()}
