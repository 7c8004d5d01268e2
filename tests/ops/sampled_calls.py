"""Runs one sampled call of an operator every way there is: inference, NumPy, te through the TIR interpreter,
builders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from baton._src.ir.op_def import NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from baton._src.ops.samples import Arr, Sample, Shape, concrete
from baton._src.te.computation import placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import IntImm, Var, literal
from baton._src.values.dtype import DataType
from tests.ops.prover import PROVER


class SampledCall:
    """One sample with contents drawn; `symbolic`: named dims become variables."""

    def __init__(self, definition: OpDef[Any], sample: Sample, *, symbolic: bool, seed: int = 7) -> None:
        self.definition = definition
        self.sample = sample
        names = sample.dims
        self.variables = {name: Var(name, "int64") for name in names} if symbolic else {}
        self.environment = {v: names[n] for n, v in self.variables.items()}
        rng = np.random.default_rng(seed)
        self.values = tuple(self._value(a, rng) for a in sample.args)
        self.infos = tuple(self._info(a) for a in sample.args)

    def _value(self, arg: Any, rng: np.random.Generator) -> Any:
        if isinstance(arg, Arr):
            return arg.draw(rng, self.sample.dims)
        if isinstance(arg, Shape):
            return tuple(concrete(d, self.sample.dims) for d in arg.dims)
        if isinstance(arg, tuple):
            return tuple(self._value(a, rng) for a in arg)
        return self.sample.dims[arg] if isinstance(arg, str) else arg

    def dim(self, dim: Any) -> Any:
        if isinstance(dim, str):
            return self.variables.get(dim, self.sample.dims[dim])
        return dim

    def _info(self, arg: Any) -> Info:
        if isinstance(arg, Arr):
            return TensorInfo(tuple(self.dim(d) for d in arg.shape), DataType(arg.dtype))
        if isinstance(arg, Shape):
            return ShapeInfo(tuple(self.dim(d) for d in arg.dims))
        if isinstance(arg, tuple):
            return TupleInfo(tuple(self._info(a) for a in arg))
        return self._prim_info(arg)

    def _prim_info(self, arg: Any) -> PrimInfo:
        if isinstance(arg, str):
            return PrimInfo(DataType("int64"), self.dim(arg))
        kind = "bool" if isinstance(arg, bool) else "int64" if isinstance(arg, int) else "float64"
        return PrimInfo(DataType(kind), arg)

    def infer(self, values: bool = False) -> Info:
        known = self.values if values else ()
        return self.definition.infer(OpCall(self.definition, self.infos, self.sample.attrs, PROVER, known))

    def reference(self) -> Any:
        function = self.definition.reference
        assert not isinstance(function, NotApplicable), function
        return function(self.values, self.sample.attrs)

    def number(self, dim: Any) -> int:
        return dim if isinstance(dim, int) else int(evaluate(dim, self.environment))

    def check_declared(self, info: Info, actual: Any) -> None:
        """The declared type is the type of what the reference gives."""
        if isinstance(info, TupleInfo):
            assert isinstance(actual, (tuple, list)), type(actual)
            assert len(info.fields) == len(actual)
            for field, value in zip(info.fields, actual):
                self.check_declared(field, value)
            return
        if isinstance(info, ShapeInfo):
            assert info.values is None or tuple(self.number(v) for v in info.values) == tuple(actual)
            return
        assert isinstance(info, TensorInfo), info
        assert isinstance(actual, np.ndarray), type(actual)
        assert DataType(actual.dtype) == info.dtype
        assert info.ndim in (-1, actual.ndim)
        if info.shape is not None:
            assert tuple(self.number(d) for d in info.shape) == actual.shape

    def prim_func(self, out: Info) -> Any:
        """The te computation as a PrimFunc."""
        compute = self.definition.compute
        assert not isinstance(compute, NotApplicable)
        placed: list[Any] = []
        inputs = tuple(self._te_input(i, placed) for i in self.infos)
        found = compute(inputs, self.sample.attrs, out)
        outputs = list(found) if isinstance(found, (tuple, list)) else [found]
        used = {v for t in placed for v in t.shape if not isinstance(v, IntImm)}
        self.scalars = [v for v in self.variables.values() if v not in used]
        name = self.definition.name.replace(".", "_")
        return create_prim_func([*placed, *outputs, *self.scalars], name=name), outputs

    def _te_input(self, info: Info, placed: list[Any]) -> Any:
        if isinstance(info, TensorInfo):
            assert info.shape is not None
            tensor = placeholder([literal(d, DataType("int64")) for d in info.shape], info.dtype, f"p{len(placed)}")
            placed.append(tensor)
            return tensor
        if isinstance(info, TupleInfo):
            return tuple(self._te_input(f, placed) for f in info.fields)
        if isinstance(info, ShapeInfo):
            assert info.values is not None
            return info.values
        assert isinstance(info, PrimInfo)
        return info.value

    def run_compute(self, out: Info) -> list[np.ndarray[Any, Any]]:
        """What the te computation gives under the interpreter."""
        func, outputs = self.prim_func(out)
        fields = list(out.fields) if isinstance(out, TupleInfo) else [out]
        results = []
        for tensor, field in zip(outputs, fields, strict=True):
            assert isinstance(field, TensorInfo)
            assert tensor.dtype == field.dtype, f"compute gives {tensor.dtype}, declared {field.dtype}"
            assert field.shape is not None
            results.append(np.zeros(tuple(self.number(d) for d in field.shape), field.dtype.numpy))
        arguments = [np.ascontiguousarray(a) if a.ndim else a.copy() for a in arrays_of(self.values)]
        scalars = [self.environment[v] for v in self.scalars]
        run_prim_func(func, [*arguments, *results, *scalars])
        return results


def arrays_of(values: Any) -> list[Any]:
    """The arrays among operands, in order."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
            found += list(value)
    return found


def assert_close(actual: Any, wanted: Any, sample: Sample) -> None:
    """Equal up to the sample's tolerance (exactly, for integers and bools)."""
    assert actual.dtype == wanted.dtype
    assert actual.shape == wanted.shape
    if np.issubdtype(wanted.dtype, np.integer) or wanted.dtype == np.bool_:
        np.testing.assert_array_equal(actual, wanted)
        return
    a, w = (np.asarray(x).astype("float64") for x in (actual, wanted))
    np.testing.assert_allclose(a, w, rtol=sample.rtol, atol=sample.atol)


def attributes(sample: Sample, language: str) -> Mapping[str, Any]:
    """The sample's attributes that a language's builder takes."""
    import dataclasses

    found = {}
    for field in dataclasses.fields(sample.attrs):
        if language in field.metadata.get("languages", ("relay", "relax")):
            found[field.name] = getattr(sample.attrs, field.name)
    return found
