"""Small Relax programs and comparisons that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.ops.builders import RELAX
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Call, Constant, Function, StringImm, Var
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relax.well_formed import well_formed
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.passes import Pass
from tests.passes.relax.evaluate import evaluate
from tests.relax.build import module as module_of

R = RELAX


def tensor(name: str, *shape: Any, dtype: str = "float32") -> Var:
    """A parameter."""
    return Var(name, TensorStructInfo(list(shape), dtype))


def dim(name: str = "n") -> TirVar:
    return TirVar(name, "int64")


def const(*values: Any, dtype: str = "float32") -> Constant:
    """A constant: `const(1.0)` a scalar, `const([1, 2])` a vector."""
    return Constant(np.asarray(values[0], dtype))


def weights(*shape: int, seed: int = 0) -> Constant:
    """A constant of random numbers."""
    return Constant(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def program(
    params: list[Var], build: Callable[..., Any], *, dataflow: bool = True, pure: bool = True, **attrs: Any
) -> IRModule:
    """`main(params)`, whose bindings `build(builder, *params)` emits; it returns the result."""
    bb = BlockBuilder()
    with bb.function("main", params, attrs=attrs, pure=pure):
        if dataflow:
            with bb.dataflow():
                result = bb.emit_output(build(bb, *params))
        else:
            result = bb.emit(build(bb, *params))
        bb.emit_func_output(result)
    return bb.get()


def printing(*values: Any) -> Call:
    """A call with an effect."""
    return Call(special_op("print"), [StringImm(""), *values])


def bindings(module: IRModule, name: str = "main") -> list[Any]:
    """The bindings of a function's own body."""
    return [b for block in module[name].body.blocks for b in block.bindings]


def called(module: IRModule, name: str = "main") -> list[str]:
    """What its bindings call: operators without `relax.`, and the kernels behind call_tir."""
    found = []
    for binding in bindings(module, name):
        value = binding.value
        if isinstance(value, Call):
            op = getattr(value.op, "name", None) or value.op.name_hint
            found.append(value.args[0].name_hint if op == "relax.call_tir" else op.removeprefix("relax."))
        else:
            found.append(type(value).__name__)
    return found


def kernels(module: IRModule) -> list[str]:
    """The names of its PrimFuncs."""
    return [v.name_hint for v, f in module.functions.items() if not isinstance(f, Function)]


def check(
    step: Pass | Any, before: IRModule, *args: Any, expected: IRModule | None = None, rtol: float = 1e-5
) -> IRModule:
    """Run a pass; its result must be well-formed, compute the same for `args`, and equal `expected` if given."""
    assert not well_formed(before), [d.render() for d in well_formed(before)]
    after: IRModule = step(before)
    assert not well_formed(after), [d.render() for d in well_formed(after)]
    if expected is not None:
        assert_structural_equal(after, expected)
    if args:
        same_values(evaluate(after, "main", *args), evaluate(before, "main", *args), rtol)
    return after


def becomes(step: Pass | Any, before: str, after: str) -> None:
    """Run a pass on the functions of a text: what it makes of them is well-formed, and the functions of the other."""
    found = step(module_of(before))
    assert [d.render() for d in well_formed(found)] == []
    assert_structural_equal(found, module_of(after), map_free_vars=True)


def same_values(a: Any, b: Any, rtol: float = 1e-5) -> None:
    """Equal arrays, or tuples of them."""
    if isinstance(a, tuple):
        for x, y in zip(a, b, strict=True):
            same_values(x, y, rtol)
    else:
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-5)


def arrays(*shapes: tuple[int, ...], seed: int = 1) -> list[Any]:
    """Random arguments."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s).astype("float32") for s in shapes]
