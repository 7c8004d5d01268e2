"""Random networks with several results, called again and again with sizes that grow and shrink: what a call gave stays.

Memory that results share with later calls, with inputs or with each other shows here; so do inputs that are written.
`make fuzz` draws others in each run.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.module import CompileOptions
from baton._src.driver.relax.build import relax_build
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import rewrite
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.nodes import Constant
from baton._src.relax.text.printer import script
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import array
from tests.at_length import seeds_at_length
from tests.properties.relax.test_networks import STEP, TOLERANCE, agrees
from tests.relax.networks.network import Network
from tests.relax.networks.random_network import random_results

CALLS = 6
SHAKES = 24


def laid_out(values: Any, draw: random.Random) -> Any:
    """The same values, however they lie in memory: in order, every other one, columns first, backwards."""
    kind = draw.choice(["plain", "strided", "columns", "backwards"])
    if kind == "plain" or not values.ndim:
        return array(values)
    if kind == "strided":
        room = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
        room[..., ::2] = values
        return room[..., ::2]
    return np.asfortranarray(values) if kind == "columns" else values[::-1].copy()[::-1]


def results(main: Any, inputs: list[Any]) -> list[Any] | None:
    """What `main` gives, not copied; None if it refuses the sizes."""
    try:
        return [tensor.numpy() for tensor in main(*inputs)]
    except DiagnosticError:
        return None


def as_arrays(inputs: list[Any]) -> list[Any]:
    return [x if isinstance(x, np.ndarray) else x.numpy() for x in inputs]


def same(found: list[Any] | None, wanted: list[Any] | None, dtype: str) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return all(agrees(a, b, dtype) for a, b in zip(found, wanted, strict=True))


def hangs_on_rounding(network: Network, inputs: list[Any], wanted: list[Any] | None) -> bool:
    """Whether inputs and weights a few roundings away give something else: of what is quantised at once, inputs alone
    say nothing.
    """
    step = STEP[network.dtype]
    for seed in range(SHAKES):
        rng = np.random.default_rng(seed)
        main = Interpreter(with_shaken_constants(network.module, rng, step))["main"]
        shaken = [array((x * (1 + rng.uniform(-step, step, x.shape))).astype(x.dtype)) for x in inputs]
        if not same(results(main, shaken), wanted, network.dtype):
            return True
    return False


def with_shaken_constants(module: IRModule, rng: np.random.Generator, step: float) -> IRModule:
    def shaken(node: Any) -> Any:
        if not isinstance(node, Constant) or not node.data.dtype.is_float:
            return None
        values = node.data.numpy()
        near = values * (1 + rng.uniform(-step, step, values.shape))
        return node.with_fields(data=array(near.astype(values.dtype)))

    return module.with_functions({gv: rewrite(function, shaken) for gv, function in module.functions.items()})


def check(seed: int) -> None:
    network, draw = random_results(seed), random.Random(seed)
    mode = draw.choice(["bytecode", "compiled"])
    machine = VirtualMachine(relax_build(network.module, exec_mode=mode, options=CompileOptions(workers=1)))
    reference, kept = Interpreter(network.module)["main"], []
    for number in range(CALLS):
        sizes = network.small_sizes(draw) if number % 2 else network.other_sizes(draw)
        values = network.inputs(sizes, draw.randrange(1000))
        given = [laid_out(x, draw) for x in values]
        found = results(machine["main"], given)
        wanted = results(reference, [array(x.copy()) for x in values])
        kept.append((sizes, values, given, found, wanted))
    for sizes, values, given, found, wanted in kept:  # after all calls
        told = f"seed {seed}, {mode}, sizes {sizes}: {script(network.module)}"
        for before, after in zip(values, as_arrays(given), strict=True):
            np.testing.assert_array_equal(after, before, err_msg=f"an input was written, {told}")
        if not same(found, wanted, network.dtype) and not hangs_on_rounding(network, values, wanted):
            assert (found is None) == (wanted is None), f"only one way refuses, {told}"
            near = TOLERANCE[network.dtype]
            for a, b in zip(found or (), wanted or (), strict=True):
                np.testing.assert_allclose(a, b, rtol=near, atol=near, err_msg=told)
            raise AssertionError(told)


@pytest.mark.parametrize("seed", range(6))
def test_calls_in_a_row(seed: int) -> None:
    """Guards arenas that grow and shrink, updates in place, and results that are inputs or given twice."""
    with np.errstate(all="ignore"):
        check(seed)


@pytest.mark.fuzz
def test_many_calls_in_a_row() -> None:
    for seed in seeds_at_length(1500):
        print(seed, flush=True)
        with np.errstate(all="ignore"):
            check(seed)
