"""What tests of the importer compare: outputs of PyTorch with those of a program in one of the languages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

import baton
from baton._src.frontends.graph_builder.relay_graph import RelayGraph
from baton._src.frontends.torch.importer import Importer
from baton._src.frontends.torch.programs.program import Program, read_program
from baton._src.frontends.torch.programs.tracing import export
from baton._src.frontends.torch.relax_graph import imported
from baton._src.frontends.torch.table import CONVERTERS
from baton._src.ir.module import IRModule
from baton._src.relax.interpreter import Interpreter
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.interpreter import Interpreter as RelayInterpreter
from baton._src.relay.nodes import Function, Tuple
from baton._src.values.convert import to_numpy


class Many(torch.nn.Module):
    """Many functions as one module: exporting takes longer than anything else here."""

    def __init__(self, cases: Sequence[Any]) -> None:
        super().__init__()
        self.cases = cases

    def forward(self, groups: Any) -> Any:
        found = []
        for (function, _), group in zip(self.cases, groups, strict=True):
            result = function(*group)
            found.append(tuple(result) if isinstance(result, (tuple, list)) else (result,))
        return tuple(found)


def exported_cases(cases: Sequence[Any]) -> tuple[Any, list[Any], list[Any]]:
    """(exported program, inputs, the outputs that PyTorch gives), flat."""
    groups = [tuple(arguments) for _, arguments in cases]
    module = Many(cases).eval()
    expected = [t for group in module(groups) for t in group]
    return export(module, (groups,)), [a for group in groups for a in group], expected


def relax_module(program: Program) -> IRModule:
    """A program that was read in Relax, its results as a tuple."""
    return imported(program, program.outputs)


def relay_module(program: Program) -> IRModule:
    """A program that was read in Relay: `from_pytorch` is the same walk from TorchScript."""
    language = RelayGraph()
    importer = Importer(program, language)
    outputs = importer.run([(n.name, n.name) for n in program.inputs])
    guarded = language.guarded([importer.builder.expr(v) for v in outputs])
    return IRModule({"main": Function(language.params, Tuple(guarded))})


def as_array(tensor: Any) -> Any:
    return np.asarray(tensor.detach().float() if tensor.dtype == torch.bfloat16 else tensor.detach())


def assert_same(got: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    """Values, shapes and dtypes."""
    assert len(got) == len(expected), what
    for place, (a, b) in enumerate(zip(got, expected, strict=True)):
        wanted = as_array(b)
        found = np.asarray(a)
        assert (found.shape, str(found.dtype)) == (wanted.shape, str(wanted.dtype)), f"{what}, output {place}"
        kind = 1e-2 if wanted.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(found, wanted, kind, kind, err_msg=f"{what}, output {place}")


def check(
    exported: Any, inputs: Sequence[Any], expected: Sequence[Any], what: str = "", level: int = 3, relay: bool = True
) -> None:
    """Relax, interpreted and compiled, and Relay, interpreted, give what PyTorch gives.

    `level`: how much is optimised when compiling. `relay`: whether Relay can say it.
    """
    arrays = [as_array(i) for i in inputs]
    program = read_program(exported, CONVERTERS)
    module = relax_module(program)
    found = [to_numpy(v) for v in Interpreter(module)["main"](*arrays)]
    assert_same(found, expected, f"{what}: Relax interpreted")
    if relay:
        typed = infer_type(relay_module(program))
        found = [to_numpy(v) for v in RelayInterpreter(typed).evaluate(typed["main"])(*arrays)]
        assert_same(found, expected, f"{what}: Relay interpreted")
    assert_same(baton.compile(module, opt_level=level)(*arrays), expected, f"{what}: Relax compiled")
