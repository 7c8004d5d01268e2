"""Targets of boards by their names (`tvm.target.arm_cpu`, `riscv_cpu`): descriptions in LLVM's words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from baton._src.ir.target import Target

_ANDROID = "-mtriple=arm64-linux-android -mattr=+neon"
_ARMV7 = "-mtriple=armv7l-linux-gnueabihf -mattr=+neon"
_AARCH64 = "-mtriple=aarch64-linux-gnu -mattr=+neon"

_ARM = {
    "pixel2": f"-model=snapdragon835 {_ANDROID}",
    **dict.fromkeys(("mate10", "mate10pro", "p20", "p20pro"), f"-model=kirin970 {_ANDROID}"),
    "rasp3b": f"-model=bcm2837 {_ARMV7}",
    "rasp4b": "-model=bcm2711 -mcpu=cortex-a72 -mtriple=armv8l-linux-gnueabihf -mattr=+neon",
    "rasp4b64": f"-model=bcm2711 -mcpu=cortex-a72 {_AARCH64}",
    "rk3399": f"-model=rk3399 {_AARCH64}",
    "pynq": "-model=pynq -mtriple=armv7a-linux-eabi -mattr=+neon",
    "ultra96": f"-model=ultra96 {_AARCH64}",
    "beagleai": "-model=beagleai -mcpu=cortex-a15 -mtriple=armv7a-linux-gnueabihf -mattr=+neon,+vfp4,+thumb2",
    "jetson-nano": "-model=jetson-nano -mtriple=aarch64-linux-gnu -mcpu=cortex-a57",
}

_RISCV = {
    **dict.fromkeys(("sifive-e31", "sifive-e76"), "-mtriple=riscv32-unknown-linux-gnu -mabi=ilp32"),
    **dict.fromkeys(("sifive-u54", "sifive-u74"), "-mtriple=riscv64-unknown-linux-gnu -mabi=lp64d"),
}


def arm_cpu(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """The ARM CPU of a board (`"rasp3b"`) or of another `model`, with further `options` (`"-num-cores=4"`)."""
    described = _ARM.get(model, f"-model={model}")
    return _target(f"llvm -keys=arm_cpu,cpu -device=arm_cpu {described}", options)


def rasp(options: str | Sequence[str] | None = None) -> Target:
    """`arm_cpu("rasp3b")`, with further `options`."""
    return arm_cpu("rasp3b", options)


def riscv_cpu(model: str = "sifive-u54", options: str | Sequence[str] | None = None) -> Target:
    """The RISC-V CPU of LLVM's name `model`, with further `options`."""
    described = f"-model={model} -mcpu={model} {_RISCV[model]}" if model in _RISCV else f"-model={model}"
    return _target(f"llvm -keys=arm_cpu,cpu -device=arm_cpu {described}", options)


def _target(described: str, options: str | Sequence[str] | None) -> Target:
    more = shlex.split(options) if isinstance(options, str) else options or ()
    return Target(" ".join([described, *more]))
