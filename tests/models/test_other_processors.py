"""Models compiled for processors that are not this one: narrower x86 runs here, ARM is emitted, saved and refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import baton
from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.runtime.native.object_bundle import ObjectBundle
from bench.models.zoo import ZOO, example_inputs
from tests.grids import every_value
from tests.lower.kernel_schedules.test_rules import matmul
from tests.models.conftest import Judge
from tests.models.test_compiled import close

ARM = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"
MODELS = ["mobilenetv2", "conv", "bert_base_symbolic", "lstm", "mlp"]
ELF_MACHINE_AARCH64 = 183


@pytest.mark.parametrize(("name", "cpu"), every_value(MODELS, ["haswell", "x86-64"]))
def test_narrower_x86(name: str, cpu: str, judge: Judge) -> None:
    """Guards the schedules for AVX2 (16 registers of 8 floats) and for SSE2 (no fused multiply-add)."""
    model = ZOO[name].small_model()
    feed = example_inputs(model, ZOO[name].dims)
    compiled = baton.compile(model, target=f"llvm -mcpu={cpu}")
    for found, expected in zip(compiled.run(feed), judge(model, feed).values(), strict=True):
        close(np.asarray(found), expected)


@pytest.mark.parametrize(
    ("target", "used", "unknown"),
    [
        ("llvm -mcpu=znver4", "vfmadd", "\tfmla"),
        ("llvm -mcpu=haswell", "vfmadd", "%zmm"),
        ("llvm -mcpu=x86-64", "mulps", "%ymm"),
        (ARM, "\tfmla", "%xmm"),
    ],
)
def test_instructions(target: str, used: str, unknown: str) -> None:
    """Guards that a product uses the vectors of the processor asked for and nothing beyond them."""
    machine = Target(target)
    texts, _ = module_texts({"f": decide(matmul(64, 64, 64, False, bias=True), machine).func}, machine)
    code = assembly(texts["f"], Machine.of(machine))
    assert used in code
    assert unknown not in code


@pytest.mark.parametrize("name", MODELS)
def test_arm(name: str, tmp_path: Path) -> None:
    """Guards cross compilation: an artifact for NEON is made and saved; running it here is refused with a reason."""
    model = ZOO[name].small_model()
    compiled = baton.compile(model, target=ARM)
    compiled.save(tmp_path / "arm.baton")
    bundle = ObjectBundle.from_bytes(compiled.executable.object_code)
    assert bundle.triple == "aarch64-linux-gnu"
    assert {int.from_bytes(o[18:20], "little") for o in bundle.objects} == {ELF_MACHINE_AARCH64}
    with pytest.raises(baton.DiagnosticError, match="aarch64") as error:
        compiled.run(example_inputs(model, ZOO[name].dims))
    assert error.value.code == "object-target"
