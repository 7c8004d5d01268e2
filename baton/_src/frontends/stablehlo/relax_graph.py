"""StableHLO to Relax: `from_stablehlo`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.frontends.graph_builder.relax_graph import RelaxGraph
from baton._src.frontends.stablehlo.control import BRANCHING
from baton._src.frontends.stablehlo.importer import Importer, operations
from baton._src.frontends.stablehlo.table import CONVERTERS
from baton._src.frontends.stablehlo.text import Region, read_functions
from baton._src.ir.module import IRModule
from baton._src.ir.tensor_info import TensorInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import AnyDim, Var
from baton._src.values.dtype import DataType


def from_stablehlo(stablehlo_module: Any, input_info: Sequence[tuple[Sequence[Any], str]] | None = None) -> IRModule:
    """Import a StableHLO module, its text or what prints as it, as a Relax module with the function `main`.

    The parameters are `arg0`, `arg1`, ...; several results are a tuple. Open sizes (`tensor<?x4xf32>`) are variables:
    `n0_1` is that of parameter 0 and axis 1. `input_info` may give shapes (numbers or variables) and dtypes of the
    parameters, in their order. Functions of the module are written out where they are called.

    Raises `DiagnosticError`: all unsupported operations at once (`stablehlo-unsupported-op`), what an operation says
    that is not supported (`stablehlo-unsupported`), text that cannot be read (`stablehlo-text`, `stablehlo-type`).
    """
    functions = read_functions(_text(stablehlo_module))
    names = {op.name for f in functions.values() for op in operations(f)}
    infos = _infos(functions["main"], input_info)
    with RelaxGraph(dataflow=not names & BRANCHING) as language:
        importer = Importer(functions, language, CONVERTERS)
        outputs = importer.run(infos)
        return language.finish([importer.graph.expr(v) for v in outputs], None)


def _text(module: Any) -> str:
    if isinstance(module, str):
        return module
    if hasattr(module, "as_text"):
        return str(module.as_text())
    if hasattr(module, "mlir_module"):
        return str(module.mlir_module())
    if hasattr(module, "operation"):
        return str(module)
    help = "jax.jit(f).lower(x).as_text() gives the text of a function"
    raise fail("stablehlo-text", f"a StableHLO module is needed, got a {type(module).__name__}", help=help)


def _infos(main: Region, given: Sequence[tuple[Sequence[Any], str]] | None) -> list[TensorInfo]:
    """The types of the parameters, with variables for open sizes."""
    types = main.types
    if given is not None and len(given) != len(types):
        raise fail("stablehlo-input", f"main has {len(types)} parameters, input_info {len(given)}")
    found = []
    for place, info in enumerate(types):
        if given is not None:
            info = TensorInfo(tuple(given[place][0]), DataType(given[place][1]))
        sizes = enumerate(info.shape or ())
        named = tuple(Var(f"n{place}_{axis}", "int64") if isinstance(d, AnyDim) else d for axis, d in sizes)
        found.append(TensorInfo(named, info.dtype))
    return found
