"""Targets: strings and dicts, what the CPU offers, the current one, and mistakes in descriptions."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir import cpu
from baton._src.ir.cpu import has_bfloat16_dots, has_fast_bfloat16_dots, host_cpu
from baton._src.ir.target import Target, TargetKind
from baton._src.support.diagnostics import DiagnosticError


def test_plain_llvm_is_this_machine() -> None:
    target = Target("llvm")
    assert target.is_host
    assert target == Target.host()
    assert target.kind.name == "llvm"
    assert target.keys == ("cpu",)
    assert target.cpu == host_cpu()
    assert target.num_cores >= 1
    assert target.vector_bits in (128, 256, 512)


@pytest.mark.parametrize(
    ("mcpu", "bits", "registers"), [("skylake-avx512", 512, 32), ("haswell", 256, 16), ("cortex-a72", 128, 32)]
)
def test_named_cpus(mcpu: str, bits: int, registers: int) -> None:
    """AVX-512, AVX2 and NEON."""
    target = Target(f"llvm -mcpu={mcpu}")
    assert (target.vector_bits, target.cpu.vector_registers) == (bits, registers)
    assert target.lanes(32) == bits // 32
    assert not target.is_host


@pytest.mark.parametrize(
    ("vendor", "family", "model", "fast"),
    [
        ("GenuineIntel", "6", "143", False),
        ("GenuineIntel", "6", "207", False),
        ("GenuineIntel", "6", "173", False),
        ("GenuineIntel", "6", "85", True),
        ("AuthenticAMD", "25", "17", True),
        ("", "", "", True),
    ],
)
def test_fast_dot_products_of_bfloat16(
    vendor: str, family: str, model: str, fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards what is known of processors by their numbers: Sapphire and Emerald Rapids, Cooper Lake, Zen 4."""
    facts = {"vendor_id": vendor, "cpu family": family, "model": model}
    monkeypatch.setattr(cpu, "_host_facts", lambda: facts)
    monkeypatch.setattr(cpu, "host_features", lambda: frozenset({"avx512f", "avx512bf16"}))
    here = host_cpu.__wrapped__()
    assert has_fast_bfloat16_dots(here, 16) is fast
    assert has_bfloat16_dots(here.features, 16)


@pytest.mark.parametrize(
    ("name", "far"), [("Intel(R) Xeon(R) Processor", True), ("AMD EPYC", False), ("Intel(R) Core(TM) i7", False)]
)
def test_far_memory(name: str, far: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards where weights are prefetched to: on Intel's server CPUs not to the first-level cache."""
    monkeypatch.setattr(cpu, "_host_facts", lambda: {"vendor_id": "GenuineIntel" if far else "", "model name": name})
    assert host_cpu.__wrapped__().far_memory is far
    assert Target("llvm -mcpu=sapphirerapids").cpu.far_memory
    assert not Target("llvm -mcpu=znver5").cpu.far_memory


def test_strings_dicts_and_exports_agree() -> None:
    target = Target("llvm -mcpu=znver4 -num-cores 4 -mattr=+avx2,-avx512f", host="llvm")
    assert target.num_cores == 4
    assert target.mattr == ["+avx2", "-avx512f"]
    assert target.vector_bits == 256
    assert Target(target.export()) == target
    assert Target(str(target)) == Target(
        {"kind": "llvm", "mcpu": "znver4", "num-cores": 4, "mattr": ["+avx2", "-avx512f"]}
    )
    assert hash(Target(str(target))) == hash(Target(str(target)))


@pytest.mark.parametrize(
    ("given", "text", "short"),
    [
        ("llvm", "llvm -keys=cpu", "llvm"),
        (
            "llvm -num-cores=4 -mcpu=haswell",
            "llvm -keys=cpu -mcpu=haswell -num-cores=4",
            "llvm -mcpu=haswell -num-cores=4",
        ),
        ({"kind": "llvm", "keys": ["x", "cpu"]}, "llvm -keys=x,cpu", "llvm -keys=x,cpu"),
        ("ext_dev", "ext_dev", "ext_dev"),
    ],
)
def test_the_text_says_the_keys(given: Any, text: str, short: str) -> None:
    """As TVM prints targets; the short text leaves out what the kind says. Both are read as the target."""
    target = Target(given)
    assert (str(target), target.short_text()) == (text, short)
    assert Target(text) == Target(short) == target


def test_current_target_nests() -> None:
    assert Target.current() is None
    with Target("llvm") as outer, Target("llvm -mcpu=haswell") as inner:
        assert Target.current() is inner
        assert outer is not inner
    assert Target.current() is None
    with pytest.raises(DiagnosticError, match="no target was entered"):
        Target.current(allow_none=False)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("lvm", "did you mean 'llvm'"),
        ("llvm -mcp=x", "did you mean -mcpu"),
        ("", "empty"),
        ("llvm -num-cores=x", "number"),
        ('llvm -device="a', "cannot be read: No closing quotation"),
    ],
)
def test_mistakes_are_named(wrong: str, said: str) -> None:
    with pytest.raises(DiagnosticError, match=said):
        Target(wrong)


def test_options_of_a_kind() -> None:
    """What a target may be described with, and the types in TVM's words."""
    options = Target("llvm").kind.options
    assert (options["mcpu"], options["num-cores"], options["mattr"]) == ("runtime.String", "IntImm", "Array")
    assert TargetKind.options_from_name("llvm") == options
    with pytest.raises(DiagnosticError, match="no target 'lvm'"):
        TargetKind.options_from_name("lvm")


@pytest.mark.parametrize("wrong", ["", "llvm mcpu=x", "llvm -num-cores=many", {"mcpu": "haswell"}, 3, None])
def test_what_scripts_catch_as_value_errors(wrong: object) -> None:
    """As in TVM; a dict without a kind was taken for llvm."""
    with pytest.raises(ValueError, match="target"):
        Target(wrong)
