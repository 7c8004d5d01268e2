"""Random networks by the default passes, or some of them, do what the interpreter does, and touch nothing else.

`make fuzz` draws others in each run; the seed stands in the failure, or is the last one printed.
"""

from __future__ import annotations

import random
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.module import CompileOptions
from baton._src.driver.relax.build import relax_build
from baton._src.driver.relax.optimize import optimize
from baton._src.ir.target import Target
from baton._src.passes.pipelines import default
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.text.printer import script
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.context import PassContext
from baton._src.values.tensor import array
from tests.at_length import seeds_at_length
from tests.guarded_memory import fenced_results, guarded, posix
from tests.relax.networks.network import Network, Sizes
from tests.relax.networks.random_network import random_network

TARGETS = [
    "llvm", "llvm -num-cores=2", "llvm -mcpu=x86-64", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v3 -num-cores=2",
]  # fmt: skip
"""Processors that a machine of today can pass for."""
OTHERS = ["llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"]
TOLERANCE = {"float64": 1e-9, "float32": 3e-4, "float16": 4e-2, "bfloat16": 0.25}
"""Of the largest value, and of each value."""
STEP = {"float64": 1e-13, "float32": 1e-6, "float16": 1e-2, "bfloat16": 1e-2}
"""A few roundings, as a part of a value."""
SHAKES = 12


def disabled_passes(draw: random.Random) -> list[str]:
    """Some that a program need not go through; for the most part none."""
    names = sorted({step.name for step in default()} - {"Normalize", "LambdaLift", "LegalizeOps"})
    return draw.sample(names, draw.randint(1, 8)) if draw.random() < 0.3 else []


def machines(network: Network, draw: random.Random) -> dict[str, VirtualMachine]:
    """The network, compiled; by the mode that it runs in."""
    target, checked = Target(draw.choice(TARGETS)), draw.random() < 0.4
    with PassContext(opt_level=3, disabled_pass=disabled_passes(draw)):
        module = optimize(network.module, target, "default", lambda name, module: None)
    options = CompileOptions(workers=1, checked=checked)

    def machine(mode: str) -> VirtualMachine:
        return VirtualMachine(relax_build(module, target, exec_mode=mode, pipeline=None, options=options))

    return {mode: machine(mode) for mode in ("bytecode", "compiled")}


def agrees(found: Any, wanted: Any, dtype: str) -> bool:
    """Up to rounding; shapes and dtypes exactly."""
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    near = TOLERANCE[dtype]
    found, wanted = found.astype("float64"), wanted.astype("float64")
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1e-3)
    return bool(np.allclose(found, wanted, rtol=near, atol=near * largest, equal_nan=True))


def hangs_on_rounding(network: Network, inputs: list[Any], wanted: Any) -> bool:
    """Whether inputs a few roundings away give something else: what is sorted, or nearly cancelled, may."""
    main, step = Interpreter(network.module)["main"], STEP[network.dtype]
    for seed in range(SHAKES):
        rng = np.random.default_rng(seed)
        shaken = [array((x * (1 + rng.uniform(-step, step, x.shape))).astype(x.dtype)) for x in inputs]
        if not agrees(main(*shaken).numpy(), wanted, network.dtype):
            return True
    return False


def result(main: Any, inputs: list[Any]) -> Any:
    """What `main` gives, or None if it refuses the sizes: windows larger than images."""
    try:
        return main(*map(array, inputs)).numpy().copy()
    except DiagnosticError:
        return None


def check_run(network: Network, built: dict[str, VirtualMachine], sizes: Sizes, draw: random.Random) -> None:
    """All ways give what the interpreter gives, on one thread and on two, whatever memory the inputs lie in."""
    inputs = network.inputs(sizes, draw.randrange(1000))
    wanted = result(Interpreter(network.module)["main"], [x.copy() for x in inputs])
    at_end = draw.random() < 0.7
    for mode, machine in built.items():
        with ExitStack() as stack:
            given = [stack.enter_context(guarded(x, at_end)) for x in inputs]
            stack.enter_context(thread_pool().limited(draw.choice([1, 2])))
            stack.enter_context(fenced_results())
            found = result(machine["main"], given)
        assert (found is None) == (wanted is None), f"only one way refuses {sizes}"
        if wanted is None:
            continue
        if not agrees(found, wanted, network.dtype) and not hangs_on_rounding(network, inputs, wanted):
            near = TOLERANCE[network.dtype]
            message = f"{mode} of {script(network.module)}"
            np.testing.assert_allclose(found, wanted, rtol=near, atol=near, err_msg=message)


def check(seed: int) -> None:
    network, draw = random_network(seed), random.Random(seed)
    with np.errstate(all="ignore"):
        built = machines(network, draw)
        for sizes in [network.sizes, *(network.other_sizes(draw) for _ in range(3 if network.choices else 0))]:
            try:
                check_run(network, built, sizes, draw)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, sizes {sizes}: {error}") from error


@posix
@pytest.mark.parametrize("seed", range(10))
def test_networks(seed: int) -> None:
    """Guards what rules of kernel_schedules, layouts and fusion make of shapes, dtypes and neighbours nobody chose."""
    check(seed)


@pytest.mark.parametrize("target", OTHERS)
def test_other_processors(target: str) -> None:
    """Guards that kernels of other vectors become machine code: NEON, and AVX-512 wherever this runs."""
    for seed in range(100, 103):
        executable = relax_build(random_network(seed).module, Target(target), options=CompileOptions(workers=1))
        assert executable.object_code, seed


@posix
@pytest.mark.fuzz
def test_many_networks() -> None:
    for seed in seeds_at_length(1500):
        print(seed, flush=True)
        check(seed)
