"""Gradients against finite differences: every operator that has one, evaluated through the references in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.samples import Arr
from baton._src.relax import nodes as relax
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import DiagnosticError
from tests.ops.relax_values import evaluate

_STEP = 1e-5
# Not smooth at many sampled points, or with operands that are no numbers to vary.
_SKIPPED = {"grad.no_grad", "cast_like", "astype", "wrap_param", "round"}


def _cases() -> list[Any]:
    found = []
    for definition in CATALOGUE:
        if isinstance(definition.gradient, NotApplicable) or definition.name in _SKIPPED or definition.samples is None:
            continue
        for number, sample in enumerate(definition.samples()):
            tensors = [a for a in sample.args if isinstance(a, Arr)]
            tensors += [a for arg in sample.args if isinstance(arg, tuple) for a in arg if isinstance(a, Arr)]
            if not tensors or tensors[0].dtype != "float32":
                continue
            if tensors[0].values is not None and np.isnan(np.asarray(tensors[0].values)).any():
                continue
            found.append(pytest.param(definition, sample, id=f"{definition.name}-{number}"))
    return found


@pytest.mark.parametrize(("definition", "sample"), _cases())
def test_gradient_is_the_slope(definition: OpDef[Any], sample: Any) -> None:
    """Guards the gradient facet: directional derivatives along random directions agree with finite differences."""
    rng = np.random.default_rng(3)
    values = [_value(a, rng, sample.dims) for a in sample.args]
    outputs = definition.reference(tuple(values), sample.attrs)
    first = outputs[0] if isinstance(outputs, tuple) else outputs
    seed = rng.uniform(0.5, 1.5, first.shape)
    try:
        grads = _gradients(definition, sample.attrs, values, outputs, seed)
    except DiagnosticError as error:
        if error.code != "op-gradient":
            raise
        pytest.skip("no gradient with these attributes")
    for place, value in _places(values):
        slope_there = _at(grads, place)
        if value.dtype != np.float64 or slope_there is None:
            continue
        direction = rng.uniform(-1, 1, value.shape)

        def loss(step: float, place: Any = place, value: Any = value, direction: Any = direction) -> float:
            found = definition.reference(_with(values, place, value + step * direction), sample.attrs)
            return float(np.sum((found[0] if isinstance(found, tuple) else found) * seed))

        slope = (loss(_STEP) - loss(-_STEP)) / (2 * _STEP)
        got = float(np.sum(slope_there * direction))
        assert got == pytest.approx(slope, rel=2e-4, abs=2e-5), f"operand {place}"


def _places(values: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The arrays among operands, those in tuples too, and where they are."""
    for position, value in enumerate(values):
        if isinstance(value, np.ndarray):
            yield (position,), value
        elif isinstance(value, tuple):
            yield from (((position, *inner), v) for inner, v in _places(value))


def _at(tree: Any, place: tuple[int, ...]) -> Any:
    for number in place:
        tree = None if tree is None else tree[number]
    return tree


def _with(values: Any, place: tuple[int, ...], new: Any) -> Any:
    first, *rest = place
    return tuple((_with(v, tuple(rest), new) if rest else new) if n == first else v for n, v in enumerate(values))


def _value(arg: Any, rng: np.random.Generator, dims: Any) -> Any:
    if isinstance(arg, Arr):
        found = arg.draw(rng, dims)
        return found.astype("float64") if found.dtype == np.float32 else found
    if hasattr(arg, "dims"):
        return tuple(dims[d] if isinstance(d, str) else d for d in arg.dims)
    if isinstance(arg, tuple):
        return tuple(_value(a, rng, dims) for a in arg)
    return dims[arg] if isinstance(arg, str) else arg


def _gradients(definition: OpDef[Any], attributes: Any, values: Any, outputs: Any, seed: Any) -> list[Any]:
    environment: dict[Any, Any] = {}

    def variable(name: str, value: Any) -> Any:
        if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
            info: Any = TupleStructInfo([TensorStructInfo(v.shape, v.dtype) for v in value])
        elif isinstance(value, tuple):
            info = ShapeStructInfo(value)
        elif isinstance(value, np.ndarray):
            info = TensorStructInfo(value.shape, value.dtype)
        else:
            return relax.PrimValue(value)
        found = relax.Var(name, info)
        environment[found] = value
        return found

    args = [variable(f"x{i}", v) for i, v in enumerate(values)]
    out = variable("y", outputs)
    grad = variable("g", seed)
    if isinstance(outputs, tuple):
        grad = relax.Tuple([grad, *(variable(f"z{i}", np.zeros_like(o)) for i, o in enumerate(outputs[1:]))])
    make = RelaxMaker(definition, CATALOGUE)
    found = definition.gradient(make, tuple(args), attributes, out, grad)
    return [None if e is None else evaluate(e, environment) for e in found]
