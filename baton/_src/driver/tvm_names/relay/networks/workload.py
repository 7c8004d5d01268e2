"""`relay.testing.create_workload`: a network's module and random parameters; and running passes over expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.relay.networks.initializers import xavier
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Function
from baton._src.transform.context import PassContext
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray, array


def create_workload(
    net: Function, initializer: Callable[[str, AnyArray], None] | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, NDArray]]:
    """A typed module with `net` as `main`, and values for every parameter but those named `data`, `src` and `x`.

    `initializer(name, array)` fills an array in place; without one, Xavier's numbers drawn from `seed`.
    """
    wire()
    module = infer_type(IRModule.from_expr(net))
    fill = initializer or partial(xavier, seed=seed)
    params: dict[str, NDArray] = {}
    for parameter in module["main"].params:
        name, found = parameter.name_hint, parameter.checked_type
        if name in ("data", "src", "x"):
            continue
        content = np.zeros(tuple(int(d) for d in found.shape), DataType(found.dtype).numpy)
        fill(name, content)
        params[name] = array(content)
    return module, params


def run_opt_pass(expr: Any, opt_pass: Any, import_prelude: bool = False) -> Any:
    """An expression (or function) after a pass; `opt_pass` may be several."""
    wire()
    module = infer_type(IRModule.from_expr(expr))
    with PassContext(opt_level=3):
        for step in opt_pass if isinstance(opt_pass, (list, tuple)) else [opt_pass]:
            module = step(module)
    entry = module["main"]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr: Any) -> Any:
    """An expression (or function) with its types."""
    wire()
    entry = infer_type(IRModule.from_expr(expr))["main"]
    return entry if isinstance(expr, Function) else entry.body
