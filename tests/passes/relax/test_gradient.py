"""Gradient: adjoints equal finite differences; what cannot be differentiated is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.passes.relax.gradient import Gradient
from baton._src.relax.check.well_formed import well_formed
from baton._src.relax.nodes import Constant, If, Tuple, TupleGetItem
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, arrays, dim, program, same_values, tensor


def check_gradient(module: IRModule, args: list[Any], **options: Any) -> Any:
    """The adjoint gives the result of `main`, and gradients that small steps confirm."""
    after = Gradient("main", **options)(module)
    assert not well_formed(after), [d.render() for d in well_formed(after)]
    result, grads = evaluate(after, "main_adjoint", *args)
    same_values(result, evaluate(module, "main", *args))
    for number, grad in enumerate(grads):
        place = (0,) * grad.ndim
        step = 1e-2
        values = []
        for sign in (1, -1):
            moved = [a.copy() for a in args]
            moved[number][place] += sign * step
            found = evaluate(module, "main", *moved)
            values.append(float(found[options.get("target_index", 0)] if isinstance(found, tuple) else found))
        np.testing.assert_allclose(grad[place], (values[0] - values[1]) / (2 * step), rtol=2e-2, atol=2e-2)
    return grads


@pytest.mark.rule("RELAX-PASS-23")
def test_the_gradient_of_a_square() -> None:
    def build(b: Any, x: Any) -> Any:
        return R.sum(b.emit(R.multiply(x, x)))

    (x,) = arrays((3,))
    (grad,) = check_gradient(program([tensor("x", 3)], build), [x])
    same_values(grad, 2 * x)


def test_tuples_several_users_and_symbolic_shapes() -> None:
    n = dim()

    def build(b: Any, x: Any, w: Any) -> Any:
        c = b.emit(R.matmul(x, w))
        parts = b.emit(R.split(c, [2], axis=1))
        first = b.emit(TupleGetItem(parts, 0))
        t = b.emit(R.concat((first, first, c), axis=1))
        return R.sum(b.emit(R.multiply(b.emit(R.tanh(t)), t)))

    check_gradient(program([tensor("x", n, 4), tensor("w", 4, 5)], build), arrays((3, 4), (4, 5)))


def test_parameters_asked_for_and_parameters_not_used() -> None:
    def build(b: Any, x: Any, y: Any) -> Any:
        return R.sum(R.exp(x))

    module = program([tensor("x", 2), tensor("y", 3)], build)
    grads = check_gradient(module, arrays((2,), (3,)))
    assert not grads[1].any()
    only = check_gradient(module, arrays((2,), (3,)), require_grads=module["main"].params[0])
    assert len(only) == 1


def test_a_field_of_a_tuple_as_target() -> None:
    def build(b: Any, x: Any) -> Any:
        return Tuple([b.emit(R.exp(x)), b.emit(R.sum(b.emit(R.sin(x))))])

    check_gradient(program([tensor("x", 3)], build), arrays((3,)), target_index=1)


@pytest.mark.rule("RELAX-PASS-23", rejects=True)
def test_only_scalars_and_straight_lines_have_gradients() -> None:
    with pytest.raises(DiagnosticError, match="floating scalar"):
        Gradient("main")(program([tensor("x", 3)], lambda b, x: R.exp(x)))

    def branch(b: Any, x: Any) -> Any:
        return If(Constant(np.array(True)), R.sum(x), R.max(x))

    with pytest.raises(DiagnosticError, match="control flow"):
        Gradient("main")(program([tensor("x", 3)], branch, dataflow=False))
    summed = program([tensor("x", 3)], lambda b, x: R.sum(x))
    with pytest.raises(DiagnosticError, match="no parameter"):
        Gradient("main", require_grads=[tensor("y", 3)])(summed)
    with pytest.raises(DiagnosticError, match="no field 1"):
        Gradient("main", target_index=1)(summed)
