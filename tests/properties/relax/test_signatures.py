"""Functions that take and give nested tuples, shapes, numbers and functions do the same interpreted, compiled, and
after passes that change signatures.

`make fuzz` takes other ones.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from baton._src.codegen.llvm.module import CompileOptions
from baton._src.driver.relax.build import relax_build
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.text.printer import script
from baton._src.relax.well_formed import well_formed
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import Severity
from baton._src.values.tensor import NDArray
from tests.at_length import seeds_at_length
from tests.properties.relax.agreement import EVERY
from tests.properties.tir.agreement import SHAKES, agree
from tests.relax.build import load
from tests.relax.random_programs.signatures import Signed, signatures

OFTEN = (
    "ExpandTupleArguments", "RemoveUnusedOutputs", "RemoveUnusedParameters", "InlinePrivateFunctions", "LambdaLift",
    "CanonicalizeBindings", "DeadCodeElimination", "EliminateCommonSubexpr", "BundleModelParams", "default",
)  # fmt: skip


def leaves(value: Any) -> list[Any]:
    """Tensors as arrays; what is neither a tensor nor a tuple as it is."""
    if isinstance(value, NDArray):
        return [value.numpy()]
    if type(value) is tuple:
        return ["(", *(leaf for item in value for leaf in leaves(item)), ")"]
    return [value]


def interpreted(program: Signed, module: IRModule, shake: int = 0) -> list[Any]:
    return leaves(Interpreter(module)["main"](*program.arguments(shake)))


def same(found: list[Any], wanted: list[Any]) -> bool:
    """Equal but for roundings."""
    if [type(v) for v in found] != [type(v) for v in wanted]:
        return False
    return all(
        (a.shape, a.dtype) == (b.shape, b.dtype) and agree([a], [b]) if hasattr(a, "dtype") else a == b
        for a, b in zip(found, wanted)
    )


def check(seed: int) -> None:
    r, program = random.Random(seed), signatures(seed)
    wanted = interpreted(program, program.module)

    def require(found: list[Any], way: str, module: IRModule) -> None:
        if not same(found, wanted):
            shaken = [interpreted(program, program.module, n) for n in range(1, SHAKES + 1)]
            assert not all(same(s, wanted) for s in shaken), f"{way}: {found}\n{wanted}\n{script(module)}"

    module = program.module
    for name in [r.choice(OFTEN) if r.random() < 0.7 else r.choice(sorted(EVERY)) for _ in range(r.randint(0, 4))]:
        before, module = module, EVERY[name](module)
        faults = [f for f in well_formed(module) if f.severity is not Severity.WARNING]
        assert faults == [], f"{name}: {faults}\n{script(before)}"
        if "main" in {v.name_hint for v in module.functions} and name != "BundleModelParams":
            require(interpreted(program, module), name, before)
        else:
            module = before
    assert_structural_equal(load(script(module, show_meta=True)), module)
    for mode in ("bytecode", "compiled"):
        executable = relax_build(module, exec_mode=mode, options=CompileOptions(workers=1))
        require(leaves(VirtualMachine(executable)["main"](*program.arguments())), mode, module)


@pytest.mark.parametrize("seed", range(20))
def test_signatures(seed: int) -> None:
    """Guards parameters and results that are no tensors: the other generators have none."""
    check(seed)


@pytest.mark.fuzz
def test_many_signatures() -> None:
    """Others in each run; the seed stands in the failure."""
    for seed in seeds_at_length(2000):
        try:
            check(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
