"""Kernels for this machine's CPU without some of its features, and for named CPUs with more or fewer: LLVM and the
schedules must take the same features to be there, or LLVM meets instructions that it cannot write and ends the process.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from llvmlite import binding

import baton as tvm
from baton import te
from baton._src.codegen.llvm.jit import Machine, initialize
from baton._src.codegen.llvm.module import compile_module, sources
from baton._src.ir.cpu import NAMED, host_cpu
from baton._src.ir.cpu_features import changed
from baton._src.ir.target import Target
from baton._src.runtime.native import library
from baton._src.runtime.native.object_bundle import ObjectBundle
from baton._src.support.diagnostics import DiagnosticError

ONLY_X86 = pytest.mark.skipif(host_cpu().arch != "x86_64", reason="features of x86")
TARGETS = [
    "llvm",
    "llvm -mcpu=native",
    "llvm -mcpu=generic",
    "llvm -mattr=+avx2",
    "llvm -mattr=-avx512f",
    "llvm -mattr=-avx512vl",
    "llvm -mattr=-avx512bw",
    "llvm -mattr=-f16c",
    "llvm -mattr=-avx",
    "llvm -mtriple=x86_64-linux-gnu",
    "llvm -mtriple=x86_64-linux-gnu -mattr=+avx2,+fma",
    "llvm -mcpu=x86-64 -mattr=+f16c",
    "llvm -mcpu=znver4 -mattr=-avx512f",
]


def powers(dtype: str) -> tuple[Any, list[Any]]:
    """exp of halves as floats, and what it takes and gives."""
    a = te.placeholder((67,), dtype, name="a")
    y = te.compute((67,), lambda i: te.exp(a[i].astype("float32")), name="y")
    given = np.linspace(-4, 4, 67).astype(dtype)
    return te.create_prim_func([a, y]), [given, np.exp(given.astype("float32"))]


def sums(left: str, right: str, total: str) -> tuple[Any, list[Any]]:
    """A product of matrices of two dtypes, with sums of a third one."""
    a, b = te.placeholder((9, 64), left, name="a"), te.placeholder((33, 64), right, name="b")
    k = te.reduce_axis((0, 64), name="k")
    y = te.compute((9, 33), lambda i, j: te.sum(a[i, k].astype(total) * b[j, k].astype(total), k), name="y")
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 100, (9, 64)).astype(left), rng.integers(-100, 100, (33, 64)).astype(right)
    return te.create_prim_func([a, b, y]), [x, w, x.astype(total) @ w.astype(total).T]


PROGRAMS = {
    "halves": powers("float16"),
    "floats": sums("float32", "float32", "float32"),
    "halves times halves": sums("float16", "float16", "float32"),
    "bytes": sums("uint8", "int8", "int32"),
}


@ONLY_X86
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_kernels(program: str, target: str) -> None:
    """Guards that what is compiled runs and is right; a fault of this kind is the end of the process."""
    if not host_cpu().features >= Target(target).features:
        pytest.skip("this CPU lacks what the target has")
    func, (*given, expected) = PROGRAMS[program]
    arrays = [tvm.nd.array(g) for g in given]
    found = tvm.nd.array(np.zeros_like(expected))
    tvm.build(func, target=target)(*arrays, found)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4)


def test_what_features_bring_along() -> None:
    """Guards the sets that schedules see: LLVM's rules."""
    assert changed({"sse2"}, ["+avx2"]) >= {"avx", "sse4.2", "avx2"}
    every = changed((), ["+avx512bf16", "+avx512vnni", "+avxvnni"])
    assert "avx512bw" in every
    assert changed(every, ["-avx512f"]) == changed((), ["+f16c", "+fma", "+avx2", "+avxvnni"])
    assert changed(every, ["-avx512f", "+avx512vl"]) >= {"avx512f", "avx512vl"}
    assert not changed(every, ["-sse"])


_X86 = "x86_64-linux-gnu"
_USED = re.compile("s?sse|avx|fma|f16c|bmi|lzcnt|popcnt|movbe|gfni|xop|tbm")
"""Features that LLVM uses without being asked for one of their instructions, which `avx512vp2intersect` is for."""


def llvms_features(name: str) -> set[str]:
    """Those of a CPU: LLVM puts a function in the place of its call if the caller's CPU has all features of it."""
    features = sorted(f for f in binding.get_host_cpu_features() if _USED.match(f) and f != "avx512vp2intersect")
    lines = [f'target triple = "{_X86}"', f'attributes #0 = {{ "target-cpu"="{name}" }}']
    for number, feature in enumerate(features, start=1):
        lines += [
            f'attributes #{number} = {{ "target-cpu"="x86-64" "target-features"="+{feature}" }}',
            f"define internal i32 @f{number}(i32 %x) #{number} {{ %y = add i32 %x, {number} ret i32 %y }}",
        ]
    calls = [f"%x{number} = call i32 @f{number}(i32 %x{number - 1})" for number in range(1, len(features) + 1)]
    lines.append(f"define i32 @all(i32 %x0) #0 {{ {' '.join(calls)} ret i32 %x{len(features)} }}")
    module = binding.parse_assembly("\n".join(lines))
    machine = binding.Target.from_triple(_X86).create_target_machine()
    builder = binding.create_pass_builder(machine, binding.PipelineTuningOptions(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    left = {int(number) for number in re.findall(r"call .*@f(\d+)", str(module))}
    return {feature for number, feature in enumerate(features, start=1) if number not in left}


@pytest.mark.parametrize("name", [name for name, cpu in NAMED.items() if cpu.arch == "x86_64"])
def test_what_named_cpus_have(name: str) -> None:
    """Guards loaders on lesser machines: code for Sapphire Rapids computed with halves as such and did not say so, and
    ended the process there.
    """
    initialize()
    assert llvms_features(name) == {f for f in NAMED[name].features if _USED.match(f)}


def test_a_triple_alone_means_any_of_its_machines() -> None:
    """Guards objects for other machines: not this machine's features, but the least of the architecture's."""
    assert Target("llvm -mtriple=x86_64-linux-gnu").features == Target("llvm -mcpu=x86-64").features
    assert "neon" in Target("llvm -mtriple=aarch64-linux-gnu").features


def test_a_generic_or_native_cpu_of_a_triple_is_the_least_of_it() -> None:
    """Guards `-mcpu=generic`, which was an x86 processor to schedules whatever the triple, and `native` of another
    machine, which LLVM does not know.
    """
    least = Target("llvm -mtriple=aarch64-linux-gnu")
    for name in ("generic", "native"):
        target = Target(f"llvm -mtriple=aarch64-linux-gnu -mcpu={name}")
        assert target.cpu == least.cpu
        assert Machine.of(target) == Machine.of(least)
    assert not Target("llvm -mtriple=riscv64-linux-gnu").features


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=cortex-a72", "cortex-a72 is a CPU of aarch64"),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=haswell", "haswell is a CPU of x86_64"),
    ],
)
def test_a_cpu_of_another_architecture_is_refused(target: str, said: str) -> None:
    """Guards the process: LLVM ended it."""
    with pytest.raises(DiagnosticError, match=said) as error:
        Machine.of(Target(target))
    assert error.value.code == "target-cpu"


@pytest.mark.parametrize("name", NAMED)
def test_objects_name_what_a_cpu_has(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards loaders on lesser machines: code for a named CPU said nothing of the features it needs, and ended the
    process there.
    """
    x, y = (te.placeholder((4,), "float32", name=n) for n in "xy")
    func = te.create_prim_func([x, y, te.compute((4,), lambda i: x[i] + y[i], name="z")])
    arch = NAMED[name].arch
    target = Target(f"llvm -mtriple={arch}-linux-gnu -mcpu={name}")
    bundle = ObjectBundle.from_bytes(compile_module({"f": func}, target))
    assert set(bundle.features) == NAMED[name].features
    monkeypatch.setattr(library, "host_features", lambda: NAMED[name].features - {bundle.features[0]})
    monkeypatch.setattr(library.llvm, "get_process_triple", lambda: f"{arch}-unknown-linux-gnu")
    with pytest.raises(DiagnosticError, match=f"this processor lacks {bundle.features[0]}"):
        library.load(bundle.to_bytes())


@pytest.mark.parametrize("target", ["int8", "uint8", "int32", "int64"])
def test_arm_converts_vectors_of_floats_by_itself(target: str) -> None:
    """Guards NEON's conversion, which saturates and makes 0 of NaN as casts are defined: neither was left to it."""
    x = te.placeholder((256,), "float32", name="x")
    func = te.create_prim_func([x, te.compute((256,), lambda i: x[i].astype(target), name="y")])
    (code,) = sources({"f": func}, Target("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"), "asm")
    assert "fcvtzs" in code
    assert not re.search(r"\tfcm|\tbi[cft]\t", code)
