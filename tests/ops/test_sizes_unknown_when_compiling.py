"""Operators whose sizes, rank or dtype are unknown when compiling give, when run, what the interpreter gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.samples import Arr, Sample
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.nodes import Call, Var
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.tir.expr import Var as TirVar
from baton._src.values.tensor import array
from tests.ops.sampled_calls import SampledCall

NAMES = ["grad.nll_loss_backward", "layout_transform", "nn.nll_loss", "unravel_index", "nn.batch_norm", "concat"]


def _parameter(arg: Arr, name: str, said: str) -> Var:
    """A parameter for the sample's tensor, of which only so much is said."""
    rank = len(arg.shape)
    infos = {
        "variables": lambda: TensorStructInfo([TirVar(f"{name}_{i}", "int64") for i in range(rank)], arg.dtype),
        "rank": lambda: TensorStructInfo(None, arg.dtype, ndim=rank),
        "nothing": lambda: TensorStructInfo(None, None),
    }
    return Var(name, infos[said]())


def _samples() -> list[Any]:
    return [
        pytest.param(name, sample, id=f"{name}-{number}")
        for name in NAMES
        for number, sample in enumerate(CATALOGUE.get(name).samples())  # type: ignore[misc]
        if all(isinstance(a, Arr) and a.dtype != "float16" for a in sample.args)
    ]


@pytest.mark.rule("RELAX-OPSHAPE-16")
@pytest.mark.parametrize("said", ["variables", "rank", "nothing"])
@pytest.mark.parametrize(("name", "sample"), _samples())
def test_what_is_unknown_when_compiling_is_found_when_running(name: str, sample: Sample, said: str) -> None:
    """Guards lowering of operators about which too little is known: a correct program runs."""
    values = SampledCall(CATALOGUE.get(name), sample, symbolic=False).values
    params = [_parameter(arg, f"p{i}", said) for i, arg in enumerate(sample.args)]
    builder = BlockBuilder()
    with builder.function("main", params):
        call = Call(CATALOGUE.relax(name), params, sample.attrs if CATALOGUE.get(name).attrs.names else None)
        builder.emit_func_output(builder.emit(call))
    module = builder.get()
    wanted = Interpreter(module)["main"](*map(array, values))
    found = VirtualMachine(relax_build(module))["main"](*map(array, values))
    for a, b in zip(_parts(found), _parts(wanted), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def _parts(value: Any) -> list[np.ndarray[Any, Any]]:
    return [v.numpy() for v in value] if isinstance(value, tuple) else [value.numpy()]
