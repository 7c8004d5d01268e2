"""Gradient: adjoints equal finite differences; what cannot be differentiated is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import te
from baton._src.driver.relax.build import relax_build
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.passes.relax.bindings.dissolve_marks import DissolveMarks
from baton._src.passes.relax.gradient import Gradient
from baton._src.passes.relax.te_gradients import register_te_gradient
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Constant, If, Tuple, TupleGetItem, Var
from baton._src.relax.well_formed import well_formed
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, arrays, dim, printing, program, same_values, tensor, weights
from tests.relax.build import module


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


def test_tensors_of_one_value_take_only_the_shape_of_another() -> None:
    """`zeros_like` and its kind were operators without a gradient; a fill value has one."""

    def build(b: Any, x: Any, fill: Any) -> Any:
        kept = b.emit(R.where(b.emit(R.greater(x, b.emit(R.zeros_like(x)))), x, b.emit(R.ones_like(x))))
        return R.sum(b.emit(R.multiply(kept, b.emit(R.full_like(x, fill)))))

    (x,) = arrays((5,))
    grads = check_gradient(program([tensor("x", 5), tensor("fill")], build), [x, np.array(3, "float32")])
    same_values(grads[0], np.where(x > 0, np.float32(3), np.float32(0)))
    same_values(grads[1], np.where(x > 0, x, np.float32(1)).sum())


def test_parameters_asked_for_and_parameters_not_used() -> None:
    def build(b: Any, x: Any, y: Any) -> Any:
        return R.sum(R.exp(x))

    module = program([tensor("x", 2), tensor("y", 3)], build)
    grads = check_gradient(module, arrays((2,), (3,)))
    assert not grads[1].any()
    only = check_gradient(module, arrays((2,), (3,)), require_grads=module["main"].params[0])
    assert len(only) == 1


def test_gradients_by_variables_that_are_computed() -> None:
    """They were refused, and the adjoint lost the function's attributes."""
    made = program([tensor("x", 3)], lambda b, x: R.sum(b.emit(R.multiply(b.emit(R.exp(x)), x))))
    made = made.with_function(made.get_global_var("main"), made["main"].with_attr("num_input", 1))
    function = made["main"]
    first = function.body.blocks[0].bindings[0].var
    after = Gradient("main", require_grads=[first, function.params[0]])(made)
    assert not well_formed(after)
    assert dict(after["main_adjoint"].attrs) == {"num_input": 1, "global_symbol": "main_adjoint"}
    (x,) = arrays((3,))
    _, grads = evaluate(after, "main_adjoint", x)
    same_values(grads[0], x)
    same_values(grads[1], np.exp(x) * (1 + x))


def test_sections_between_checkpoints_are_computed_again() -> None:
    """The marks were kept as operators that give their operand, and every value was kept."""
    found = module("""
@R.function
def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor((), "float32"):
    with R.dataflow():
        start = R.grad.start_checkpoint(x)
        a = R.sin(start)
        b = R.exp(a)
        end = R.grad.end_checkpoint(b)
        c = R.multiply(end, y)
        s = R.sum(R.multiply(c, c))
        R.output(s)
    return s
""")
    check_gradient(found, arrays((3,), (3,)))
    bound = {b.var.name_hint: b.value for b in Gradient("main")(found)["main_adjoint"].body.blocks[0].bindings}
    names = list(bound)
    assert not any(name in ("start", "end") for name in names)
    assert {n for n in names if n.endswith("_cp")} == {"a_cp", "b_cp"}  # c stays: what it is computed from is there
    backward = [bound[n] for n in names[names.index("s_adjoint") :]]
    assert {v.name_hint for value in backward for v in post_order(value) if isinstance(v, Var)}.isdisjoint({"a", "b"})


def sections_of_products(marked: bool) -> IRModule:
    """Three sections of four products and sines, which a compiler would keep all."""

    weight = Constant(weights(16, 16).data.data / 8)  # larger ones make much of rounding

    def build(b: Any, x: Any) -> Any:
        for _ in range(3):
            x = b.emit(R.grad.start_checkpoint(x)) if marked else x
            for _ in range(4):
                x = b.emit(R.matmul(b.emit(R.sin(x)), weight))
            x = b.emit(R.grad.end_checkpoint(x)) if marked else x
        return R.sum(x)

    return program([tensor("x", 16, 16)], build)


def test_checkpoints_save_memory_when_compiled() -> None:
    """What is computed again was merged with what was computed before: the marks changed nothing."""
    (x,) = arrays((16, 16))
    arena, results = {}, []
    for marked in (False, True):
        adjoint = Gradient("main")(sections_of_products(marked))
        executable = relax_build(adjoint, Target("llvm"))
        arena[marked] = executable.natives["main_adjoint"].arena_bytes
        compiled = VirtualMachine(executable)["main_adjoint"](x)
        same_values(compiled[1][0].numpy(), evaluate(adjoint, "main_adjoint", x)[1][0])
        results.append(compiled[1][0].numpy())
    np.testing.assert_array_equal(*results)
    assert arena[True] < 0.6 * arena[False]


@pytest.mark.parametrize("shares", [True, False])
def test_dissolved_marks_are_their_operands_where_nobody_sees_it(shares: bool) -> None:
    """A result is a tensor of its own: writing it must not change the argument."""

    def build(b: Any, x: Any) -> Any:
        mark = b.emit(R.grad.end_checkpoint(b.emit(R.grad.start_checkpoint(x))))
        return R.exp(mark) if shares else mark

    after = DissolveMarks()(program([tensor("x", 3)], build))
    assert not well_formed(after)
    assert after.script().count("checkpoint") == (0 if shares else 1)


def test_products_of_transposed_matrices_leave_no_double_transposes() -> None:
    """The adjoint of `x @ w.T` transposed w twice, and the gradient of w after it was computed."""

    def build(b: Any, x: Any, w: Any) -> Any:
        return R.sum(b.emit(R.tanh(b.emit(R.matmul(x, b.emit(R.permute_dims(w, axes=[0, 2, 1])))))))

    made = program([tensor("x", 3, 4), tensor("w", 2, 5, 4)], build)
    check_gradient(made, arrays((3, 4), (2, 5, 4)))
    adjoint = Gradient("main", require_grads=made["main"].params[1])(made)["main_adjoint"]
    assert adjoint.script().count("permute_dims") == 2  # of w in the forward part, of the gradient in the other

    def vector(b: Any, v: Any, w: Any) -> Any:
        return R.sum(b.emit(R.sin(b.emit(R.permute_dims(b.emit(R.matmul(v, w)))))))

    check_gradient(program([tensor("v", 4), tensor("w", 4, 5)], vector), arrays((4,), (4, 5)))


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
    shown = program([tensor("x", 3)], lambda b, x: (b.emit(printing(x)), R.sum(x))[1], dataflow=False, pure=False)
    with pytest.raises(DiagnosticError, match="a call with effects"):
        Gradient("main")(shown)
    summed = program([tensor("x", 3)], lambda b, x: R.sum(x))
    with pytest.raises(DiagnosticError, match="no parameter"):
        Gradient("main", require_grads=[tensor("y", 3)])(summed)
    with pytest.raises(DiagnosticError, match="no field 1"):
        Gradient("main", target_index=1)(summed)
    taken = program([tensor("x", 3), tensor("i", 2, dtype="int64")], lambda b, x, i: R.sum(R.take(x, i, axis=0)))
    with pytest.raises(DiagnosticError, match="leave it out of require_grads"):
        Gradient("main", require_grads=list(taken["main"].params))(taken)


@pytest.mark.rule("RELAX-PASS-23")
def test_casts_hand_gradients_on() -> None:
    """What is cast is what the cast gives; a cast for checking only changes nothing."""
    found = module("""
@R.function
def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor("float32", ndim=2)) -> R.Tensor((), "float32"):
    m = T.int64()
    with R.dataflow():
        v = R.match_cast(w, R.Tensor((4, m), "float32"))
        o = R.matmul(x, v)
        R.match_cast(o, R.Tensor((3, m), "float32"))
        s = R.sum(R.multiply(o, o))
        R.output(s)
    return s
""")
    after = Gradient("main", require_grads=found["main"].params[0])(found)
    assert well_formed(after) == []
    x, w = arrays((3, 4), (4, 5))
    _, grads = evaluate(after, "main_adjoint", x, w)
    same_values(grads[0], 2 * (x @ w) @ w.T, 1e-4)


def product(a: Any, b: Any, scale: float = 1.0) -> Any:
    return te.compute(a.shape, lambda i: a(i) * b(i) * scale, name="product")


def build_product(name: str) -> IRModule:
    """sum(2 a b), by a kernel whose gradient is called `name`."""
    builder = BlockBuilder()
    a = tensor("a", dim())
    b = tensor("b", a.struct_info.shape.values[0])
    with builder.function("main", [a, b]):
        with builder.dataflow():
            call = builder.call_te_with_grad(product, a, b, 2.0, te_grad_name=name, te_grad_kwargs={"scale": 2.0})
            result = builder.emit_output(R.sum(builder.emit(call)))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.rule("RELAX-PASS-23")
def test_kernels_with_a_gradient_of_their_own() -> None:
    @register_te_gradient("tests.product")
    def gradient(grad: Any, a: Any, b: Any, scale: float) -> list[Any]:
        return [product(grad, b, scale), product(grad, a, scale)]

    a, b = arrays((5,), (5,), seed=3)
    grads = check_gradient(build_product("tests.product"), [a, b])
    same_values(grads[0], 2 * b)
    assert "call_tir_with_grad" not in Gradient("main")(build_product("tests.product"))["main_adjoint"].script()
    register_te_gradient("tests.too_few", lambda grad, a, b, scale: [product(grad, b, scale)])
    with pytest.raises(DiagnosticError, match="gives 1 tensors for 2 operands"):
        Gradient("main")(build_product("tests.too_few"))
    with pytest.raises(DiagnosticError, match="no te gradient"):
        Gradient("main")(build_product("tests.unknown"))


@pytest.mark.parametrize(("name", "extent"), [("mean", 3), ("mean", None), ("variance", 4), ("variance", None)])
def test_adjoints_of_means_divide_by_numbers_where_the_dims_are_numbers(name: str, extent: int | None) -> None:
    """Ones are counted only where there is no number: they were made and summed for every mean."""

    def build(b: Any, x: Any) -> Any:
        return R.sum(b.emit(R.tanh(b.emit(R[name](x, axis=[1])))))

    made = program([tensor("x", 2, dim() if extent is None else extent)], build)
    check_gradient(made, arrays((2, extent or 3)))
    text = Gradient("main")(made)["main_adjoint"].script()
    assert (text.count("R.sum(") > 1) is (extent is None)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("axis", [None, [1]])
def test_elements_that_tie_share_the_gradient(name: str, axis: Any) -> None:
    """Each got all of it."""
    x = np.array([[1, 3, 3, 1], [1, 1, 1, 1]], "float32")

    def build(b: Any, x: Any) -> Any:
        return R.sum(b.emit(getattr(R, name)(x, axis)))

    after = Gradient("main")(program([tensor("x", 2, 4)], build))
    _, (grad,) = evaluate(after, "main_adjoint", x)
    best = getattr(x, name)(axis=axis and 1, keepdims=True)
    hits = (x == best).astype("float32")
    same_values(grad, hits / hits.sum(axis=axis and 1, keepdims=True))


def test_what_no_wanted_parameter_reaches_needs_no_rule() -> None:
    """The error was for every operator without a rule, also for one of another parameter."""

    def build(b: Any, x: Any, w: Any) -> Any:
        return R.sum(b.emit(R.multiply(x, b.emit(R.cumprod(w, axis=0)))))

    before = program([tensor("x", 3), tensor("w", 3)], build)
    x, w = arrays((3,), (3,))
    (grad,) = check_gradient(before, [x, w], require_grads=[before["main"].params[0]])
    same_values(grad, np.cumprod(w))
    with pytest.raises(DiagnosticError, match="cumprod has no gradient"):
        Gradient("main")(before)


def test_two_targets_of_one_function() -> None:
    """The second adjoint had the symbol of the first one, under another name."""

    def build(b: Any, x: Any) -> Any:
        return Tuple([b.emit(R.sum(x)), b.emit(R.sum(b.emit(R.multiply(x, x))))])

    (x,) = arrays((3,))
    after = Gradient("main", target_index=1)(Gradient("main")(program([tensor("x", 3)], build)))
    assert well_formed(after) == []
    for name, expected in (("main_adjoint", np.ones(3)), ("main_adjoint1", 2 * x)):
        _, (grad,) = evaluate(after, name, x)
        same_values(grad, expected)
