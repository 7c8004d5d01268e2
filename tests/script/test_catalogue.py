"""Every operator's sampled calls are printed as `R.name(...)` and read back structurally equal: Relay's own operators
and attributes too, for modules that come from Relay hold them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from baton._src.ir.structural import assert_structural_equal
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.samples import Arr, Sample, Shape
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Call, Constant, PrimValue, ShapeExpr, Tuple, Var
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo
from baton._src.relax.text.printer import script
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.expr import literal
from tests.relax.build import load

DEFINITIONS = [d for d in CATALOGUE if d.samples is not None]


class _Arguments:
    """The operands of a sample as expressions: tensors become parameters, with symbolic dims where they are named."""

    def __init__(self) -> None:
        self.params: list[Var] = []
        self.dims: dict[str, TirVar] = {}

    def dim(self, dim: Any) -> Any:
        return self.dims.setdefault(dim, TirVar(dim, "int64")) if isinstance(dim, str) else dim

    def expr(self, value: Any) -> Any:
        match value:
            case Arr(values=None):
                info = TensorStructInfo([self.dim(d) for d in value.shape], value.dtype)
                self.params.append(Var(f"a{len(self.params)}", info))
                return self.params[-1]
            case Arr():
                return Constant(value.draw(np.random.default_rng(0), {}))
            case Shape():
                return ShapeExpr([self.dim(d) for d in value.dims])
            case tuple():
                return Tuple([self.expr(v) for v in value])
            case str():
                return PrimValue(self.dim(value))
            case float():
                return PrimValue(literal(value))
            case _:
                return PrimValue(value)


OF_RELAY = {"expand_dims"}
"""Operators whose samples have attributes as Relay writes them (one axis, not a list of one)."""


def _is_relax(definition: Any, sample: Sample) -> bool:
    """Whether a sample is a call of Relax: with its operands, and without Python functions as attributes."""
    inputs = [i for i in definition.inputs if "relax" in i.languages]
    if not sum(not i.optional for i in inputs) <= len(sample.args) <= len(inputs):
        return False
    return not any(callable(getattr(sample.attrs, f.name)) for f in dataclasses.fields(sample.attrs))


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
def test_calls_read_back(definition: Any) -> None:
    """Attributes that are left out are the defaults, and operands keep their places."""
    for sample in definition.samples()[:4]:
        assert isinstance(sample, Sample)
        if not _is_relax(definition, sample):
            continue
        arguments = _Arguments()
        args = [arguments.expr(a) for a in sample.args]
        if arguments.dims:  # every shape variable is brought in by some parameter
            arguments.params.append(Var("sizes", ShapeStructInfo(list(arguments.dims.values()))))
        attrs = sample.attrs if definition.attrs.names else None
        if definition.name in OF_RELAY:
            args, attrs = definition.relay_to_relax(args, attrs)
        builder = BlockBuilder()
        with builder.function("main", pure=definition.pure):
            result = builder.emit(Call(definition.relax_op, args, attrs and attrs.in_relax()))
            builder.emit_func_output(result, arguments.params)
        module = builder.get()
        assert_structural_equal(load(script(module, show_meta=True), check_well_formed=False), module)
