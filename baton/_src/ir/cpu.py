"""What a CPU offers to kernels: vector width, registers, caches, cores; for this machine or a named CPU.

Of this machine's CPU, LLVM tells the features, /proc/cpuinfo and sysfs the rest; modest assumptions stand in for them
where they do not exist.
"""

from __future__ import annotations

import platform
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from baton._src.ir.cpu_features import changed
from baton._src.runtime.processor import host_features, host_name, physical_cores
from baton._src.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Cpu:
    """`features` are LLVM's names (`avx2`, `fma`, `avx512f`, `neon`); sizes in bytes, per core except `l3_bytes`.
    `halves`: whether half a vector of 512 bits takes half the time, because there are units of 256 bits (Zen 4) or more
    of them (Intel's CPUs for laptops).
    `fast_bfloat16_dots`: whether dot products of bfloat16, if there are such, are faster than multiply-adds of floats
    (AMD: twice as fast). Intel's CPUs since Sapphire Rapids start one in two cycles, and so are half as fast.
    `far_memory`: whether memory and the third-level cache take so long to answer that lines on their way to the
    first-level cache would use up its fill buffers (Intel's server CPUs): they are prefetched to the second-level one.
    """

    arch: str = "x86_64"
    features: frozenset[str] = frozenset()
    vector_bits: int = 128
    vector_registers: int = 16
    l1_bytes: int = 32 << 10
    l2_bytes: int = 512 << 10
    l3_bytes: int = 8 << 20
    num_cores: int = 1
    halves: bool = True
    fast_bfloat16_dots: bool = True
    far_memory: bool = False


def has_byte_dots(features: Collection[str], lanes: int) -> bool:
    """Whether vectors of `lanes` 32-bit words have fast dot products of four unsigned by signed bytes: of their own, or
    of two 16-bit numbers each, which is still faster than multiplying 32-bit ones.
    """
    return has_byte_dot_instruction(features, lanes) or has_pair_dots(features, lanes)


def has_pair_dots(features: Collection[str], lanes: int) -> bool:
    """Whether vectors of `lanes` 32-bit words have dot products of two signed 16-bit numbers (vpmaddwd)."""
    return "avx2" in features and (lanes in (4, 8) or (lanes == 16 and "avx512bw" in features))


def has_byte_dot_instruction(features: Collection[str], lanes: int) -> bool:
    """Whether vectors of `lanes` 32-bit words have dot products of four unsigned by signed bytes: vpdpbusd; ARM's
    usdot, or its sdot with an addition, of vectors of 128 bits or several of these.
    """
    if "i8mm" in features or "dotprod" in features:
        return lanes % 4 == 0
    if "avx512vnni" in features and (lanes == 16 or ("avx512vl" in features and lanes in (4, 8))):
        return True
    return "avxvnni" in features and lanes in (4, 8)


def has_bfloat16_dots(features: Collection[str], lanes: int) -> bool:
    """Whether vectors of `lanes` 32-bit words have dot products of two bfloat16 (vdpbf16ps)."""
    return "avx512bf16" in features and (lanes == 16 or ("avx512vl" in features and lanes in (4, 8)))


def has_fast_bfloat16_dots(cpu: Cpu, lanes: int) -> bool:
    """Whether kernels should use these dot products."""
    return cpu.fast_bfloat16_dots and has_bfloat16_dots(cpu.features, lanes)


def has_power_scaling(features: Collection[str], bits: int) -> bool:
    """Whether vectors of so many bits are multiplied by powers of two that are given as floats (vscalefps)."""
    return "avx512f" in features and (bits == 512 or ("avx512vl" in features and bits in (128, 256)))


_SSE = frozenset({"sse", "sse2"})
_V2 = _SSE | {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf"}
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_VNNI = _V4 | {"avx512vnni"}
_ICE_LAKE = _VNNI | {"avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq", "gfni"}
_ALDER_LAKE = _V3 | {"avxvnni", "gfni"}
_SIERRA_FOREST = _ALDER_LAKE | {"avxifma", "avxneconvert", "avxvnniint8"}
_LUNAR_LAKE = _SIERRA_FOREST | {"avxvnniint16"}
_ZEN = _V3 | {"sse4a"}
_ZEN4 = _ZEN | _ICE_LAKE | {"avx512bf16"}
_NEON = frozenset({"neon", "fp-armv8"})
_ARM_V8_2 = _NEON | {"crc", "lse", "rdm", "fullfp16", "dotprod"}
_ARM_V8_6 = _ARM_V8_2 | {"rcpc", "bf16", "i8mm"}

PLAIN = Cpu("", vector_bits=0, vector_registers=8, l1_bytes=16 << 10, l2_bytes=64 << 10, l3_bytes=0)
"""What C code is made for: one core, of which nothing is known. Loops that may be vectorised stay loops."""
SSE2 = Cpu(features=_SSE)
AVX2 = Cpu(features=_V3, vector_bits=256)
AVX512 = Cpu(features=_V4, vector_bits=512, vector_registers=32, l2_bytes=1 << 20)
WHOLE = replace(AVX512, features=_VNNI, halves=False)
RAPIDS = replace(
    WHOLE,
    features=_ICE_LAKE | {"avx512bf16", "avx512fp16", "avxvnni"},
    l2_bytes=2 << 20,
    fast_bfloat16_dots=False,
    far_memory=True,
)
ALDER_LAKE = replace(AVX2, features=_ALDER_LAKE, l2_bytes=1 << 20)
ARROW_LAKE = replace(ALDER_LAKE, features=_LUNAR_LAKE)
ZEN = replace(AVX2, features=_ZEN)
NEON = Cpu("aarch64", _NEON, vector_registers=32)
ARM_V8_2 = replace(NEON, features=_ARM_V8_2, l1_bytes=64 << 10)
NEOVERSE_N1 = replace(ARM_V8_2, l2_bytes=1 << 20)
NEOVERSE_V1 = replace(NEOVERSE_N1, features=_ARM_V8_6 | {"sve"})
APPLE_M1 = replace(ARM_V8_2, l1_bytes=128 << 10, l2_bytes=12 << 20)

NAMED: dict[str, Cpu] = {
    "x86-64": SSE2,
    "x86-64-v2": replace(SSE2, features=_V2),
    "x86-64-v3": AVX2,
    "x86-64-v4": AVX512,
    "nehalem": replace(SSE2, features=_V2),
    "westmere": replace(SSE2, features=_V2),
    "sandybridge": replace(AVX2, features=_V2 | {"avx"}),
    "ivybridge": replace(AVX2, features=_V2 | {"avx", "f16c"}),
    "haswell": AVX2,
    "broadwell": AVX2,
    "skylake": AVX2,
    "znver1": ZEN,
    "znver2": ZEN,
    "znver3": ZEN,
    "core-avx2": AVX2,
    "skylake-avx512": replace(WHOLE, features=_V4),
    "cascadelake": WHOLE,
    "icelake-client": replace(AVX512, features=_ICE_LAKE),
    "rocketlake": replace(AVX512, features=_ICE_LAKE),
    "tigerlake": replace(AVX512, features=_ICE_LAKE),
    "icelake-server": replace(WHOLE, features=_ICE_LAKE),
    "cooperlake": replace(WHOLE, features=_VNNI | {"avx512bf16"}),
    "sapphirerapids": RAPIDS,
    "emeraldrapids": RAPIDS,
    "graniterapids": RAPIDS,
    "graniterapids-d": RAPIDS,
    "alderlake": ALDER_LAKE,
    "raptorlake": ALDER_LAKE,
    "meteorlake": ALDER_LAKE,
    "gracemont": ALDER_LAKE,
    "arrowlake": replace(ALDER_LAKE, features=_SIERRA_FOREST),
    "arrowlake-s": ARROW_LAKE,
    "lunarlake": ARROW_LAKE,
    "sierraforest": replace(ALDER_LAKE, features=_SIERRA_FOREST),
    "znver4": replace(AVX512, features=_ZEN4),
    "znver5": replace(WHOLE, features=_ZEN4 | {"avxvnni"}, l1_bytes=48 << 10),
    "cortex-a53": NEON,
    "cortex-a72": NEON,
    "cortex-a55": replace(ARM_V8_2, l1_bytes=32 << 10),
    "cortex-a76": ARM_V8_2,
    "cortex-a78": ARM_V8_2,
    "neoverse-n1": NEOVERSE_N1,
    "neoverse-v1": NEOVERSE_V1,
    "neoverse-n2": replace(NEOVERSE_V1, features=NEOVERSE_V1.features | {"sve2"}),
    "neoverse-v2": replace(NEOVERSE_V1, features=NEOVERSE_V1.features | {"sve2"}, l2_bytes=2 << 20),
    "ampere1": replace(NEOVERSE_N1, features=_ARM_V8_6, l2_bytes=2 << 20),
    "apple-m1": APPLE_M1,
    "apple-m2": replace(APPLE_M1, features=_ARM_V8_6, l2_bytes=16 << 20),
}
"""CPUs by LLVM's name for `-mcpu`."""


def least_cpu(arch: str) -> Cpu:
    """What every CPU of an architecture offers: "x86_64", "aarch64", or another one, of which nothing is known."""
    return {"x86_64": SSE2, "aarch64": NEON}.get(arch, Cpu(arch))


def with_features(cpu: Cpu, changes: tuple[str, ...]) -> Cpu:
    """`cpu` with features switched on (`+avx2`) and off (`-avx512f`), and the vector width that follows from them."""
    features = changed(cpu.features, changes)
    bits, registers = _vectors(cpu.arch, features)
    return replace(cpu, features=features, vector_bits=bits, vector_registers=registers)


def _vectors(arch: str, features: Collection[str]) -> tuple[int, int]:
    if arch != "x86_64":
        return 128, 32
    if "avx512f" in features:
        return 512, 32
    return (256, 16) if "avx" in features else (128, 16)


@lru_cache(maxsize=1)
def host_cpu() -> Cpu:
    """The CPU of this machine, determined once per process."""
    machine = platform.machine().lower()
    arch = "aarch64" if machine in ("arm64", "aarch64") else "x86_64"
    features = host_features() or (_NEON if arch == "aarch64" else _SSE)
    bits, registers = _vectors(arch, features)
    caches = _host_caches()
    return Cpu(
        arch=arch,
        features=features,
        vector_bits=bits,
        vector_registers=registers,
        l1_bytes=caches.get(1, 32 << 10),
        l2_bytes=caches.get(2, 512 << 10),
        l3_bytes=caches.get(3, 8 << 20),
        num_cores=physical_cores(),
        halves=_has_halves(_host_facts()),
        fast_bfloat16_dots=_has_fast_bfloat16_dots(_host_facts()),
        far_memory=_is_xeon(_host_facts()),
    )


def _host_facts() -> dict[str, str]:
    """What Linux reports about the first core."""
    first, _, _ = _read(Path("/proc/cpuinfo")).partition("\n\n")
    lines = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}


def _has_halves(facts: dict[str, str]) -> bool:
    """See `Cpu.halves`: false for Intel's server CPUs, and for Zen 5 except in its laptop versions."""
    vendor, family, model = facts.get("vendor_id", ""), facts.get("cpu family", ""), facts.get("model", "")
    if vendor == "GenuineIntel":
        return not _is_xeon(facts)
    if vendor == "AuthenticAMD" and family == "26" and model.isdigit():
        return int(model) // 16 not in (0, 1, 4)
    return True


def _is_xeon(facts: dict[str, str]) -> bool:
    return "Xeon" in facts.get("model name", "")


def _has_fast_bfloat16_dots(facts: dict[str, str]) -> bool:
    """See `Cpu.fast_bfloat16_dots`. Of Intel's family 6, model 85 (Cooper Lake) is the one with such dot products that
    came before Sapphire Rapids.
    """
    vendor, family, model = facts.get("vendor_id", ""), facts.get("cpu family", ""), facts.get("model", "")
    return vendor != "GenuineIntel" or family != "6" or model == "85"


def _host_caches() -> dict[int, int]:
    """Bytes by level, of data and unified caches of the first core."""
    found: dict[int, int] = {}
    for entry in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_read(entry / name).strip() for name in ("level", "type", "size"))
        if kind in ("Data", "Unified") and level.isdigit() and size[:-1].isdigit():
            found[int(level)] = int(size[:-1]) << {"K": 10, "M": 20}.get(size[-1], 0)
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def model_name() -> str:
    """What the processor calls itself, for reports; LLVM's name for one that does not."""
    lines = _read(Path("/proc/cpuinfo")).splitlines()
    said = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return said or f"{platform.machine()} ({host_name()})"
