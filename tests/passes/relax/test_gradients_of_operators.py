"""Gradients of operators in the pass: where operands and result differ in dtype, and sizes are open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.gradient import Gradient
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, arrays, dim, program, same_values, tensor
from tests.passes.relax.test_gradient import check_gradient

PRODUCTS: dict[str, tuple[Any, Any, Any]] = {
    "matmul": (R.matmul, (2, 3), (3, 4)),
    "conv2d": (R.nn.conv2d, (1, 2, 5, 4), (3, 2, 3, 3)),
    "conv2d_transpose": (R.nn.conv2d_transpose, (1, 2, 3, 4), (2, 3, 3, 3)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_that_are_wider_than_their_operands(name: str) -> None:
    """The gradient of the result was multiplied by operands of another dtype: an error of the checker."""
    product, *shapes = PRODUCTS[name]

    def adjoint(dtype: str) -> Any:
        def build(b: Any, x: Any, w: Any) -> Any:
            return R.sum(b.emit(R.tanh(b.emit(product(x, w, out_dtype="float32")))))

        module = program([tensor(n, *s, dtype=dtype) for n, s in zip("xw", shapes)], build)
        given = [a.astype("float16").astype(dtype) for a in arrays(*shapes)]
        return evaluate(Gradient("main")(module), "main_adjoint", *given)[1]

    for narrow, wide in zip(adjoint("float16"), adjoint("float32")):
        assert narrow.dtype == np.float16
        np.testing.assert_allclose(narrow, wide, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("strides", "message"), [(1, None), (2, "a convolution with strides is known for known")])
def test_convolutions_of_images_of_open_size(strides: int, message: str | None) -> None:
    """Guards a TypeError of the pass; with strides the last elements that windows reach are only known by the size."""

    def build(b: Any, x: Any, w: Any) -> Any:
        return R.sum(b.emit(R.tanh(b.emit(R.nn.conv2d(x, w, strides=strides)))))

    n = dim()
    module = program([tensor("x", 1, 2, n, n), tensor("w", 3, 2, 2, 3)], build)
    if message is None:
        check_gradient(module, arrays((1, 2, 5, 5), (3, 2, 2, 3)))
        return
    with pytest.raises(DiagnosticError, match=message):
        Gradient("main")(module)


def test_largest_elements_of_an_image_share_the_gradient() -> None:
    """Each had all of it, so that images of zeros, as relu leaves, were moved by as many times too much."""
    definition = CATALOGUE.get("nn.global_max_pool2d")

    def build(b: Any, x: Any) -> Any:
        return R.sum(b.emit(RelaxMaker(definition, CATALOGUE)(x)))

    x = np.array([[[[1, 2], [2, 0]], [[0, 0], [0, 0]]]], "float32")
    _, (grad,) = evaluate(Gradient("main")(program([tensor("x", 1, 2, 2, 2)], build)), "main_adjoint", x)
    same_values(grad, np.array([[[[0, 0.5], [0.5, 0]], [[0.25, 0.25], [0.25, 0.25]]]], "float32"))


def test_softplus_is_linear_above_its_threshold() -> None:
    """The gradient was that of the bent part there, too."""

    def build(b: Any, x: Any) -> Any:
        return R.sum(b.emit(R.nn.softplus(x, beta=2.0, threshold=1.0)))

    x = np.array([-1, 0.25, 0.75, 3], "float32")
    _, (grad,) = evaluate(Gradient("main")(program([tensor("x", 4)], build)), "main_adjoint", x)
    same_values(grad, np.where(2 * x > 1, 1, 1 / (1 + np.exp(-2 * x))))


def test_means_of_more_elements_than_sixteen_bits_count() -> None:
    """The count was infinite, so that nothing moved."""

    def build(b: Any, x: Any) -> Any:
        return R.mean(x)

    module = program([tensor("x", 300, 300, dtype="float16")], build)
    _, (grad,) = evaluate(Gradient("main")(module), "main_adjoint", np.zeros((300, 300), "float16"))
    np.testing.assert_allclose(grad, 1 / 90_000, rtol=1e-2)


def test_gradients_in_64_bits_are_as_exact() -> None:
    """Factors as 2 / sqrt(pi) were written with 32 bits."""

    def build(b: Any, x: Any) -> Any:
        return R.sum(b.emit(R.erf(x)))

    x = np.array([-1.25, 0.5])
    _, (grad,) = evaluate(Gradient("main")(program([tensor("x", 2, dtype="float64")], build)), "main_adjoint", x)
    np.testing.assert_allclose(grad, 2 / np.sqrt(np.pi) * np.exp(-x * x), rtol=1e-14)


def test_powers_of_zero() -> None:
    """0 * 0**-1 and 0 * log(0) were no numbers, in both gradients; PyTorch's are 0."""

    def build(b: Any, x: Any, y: Any) -> Any:
        return R.sum(b.emit(R.power(x, y)))

    module = program([tensor("x", 4), tensor("y", 4)], build)
    given = np.array([0, 0, 0, 2], "float32"), np.array([0, 2, 1, 0], "float32")
    _, (to_x, to_y) = evaluate(Gradient("main")(module), "main_adjoint", *given)
    same_values(to_x, np.array([0, 0, 1, 0], "float32"))
    same_values(to_y, np.array([0, 0, 0, np.log(2)], "float32"))


def test_the_deviation_of_what_does_not_deviate() -> None:
    """Its gradient was no number."""

    def build(b: Any, x: Any) -> Any:
        return R.sum(b.emit(R.std(x, axis=[1])))

    x = np.array([[3, 3], [1, 3]], "float32")
    _, (grad,) = evaluate(Gradient("main")(program([tensor("x", 2, 2)], build)), "main_adjoint", x)
    same_values(grad, np.array([[0, 0], [-0.5, 0.5]], "float32"))


def test_nothing_is_pooled_to_nothing() -> None:
    """The longest of no windows was asked for."""

    def build(b: Any, x: Any) -> Any:
        return R.sum(b.emit(R.nn.adaptive_avg_pool2d(x, (0, 2))))

    x = np.ones((1, 1, 3, 3), "float32")
    _, (grad,) = evaluate(Gradient("main")(program([tensor("x", 1, 1, 3, 3)], build)), "main_adjoint", x)
    same_values(grad, np.zeros_like(x))


def test_transposed_convolutions_into_another_layout() -> None:
    """Their gradient was read in the layout of the data, whatever its own was."""

    def build(b: Any, x: Any, w: Any) -> Any:
        return R.sum(b.emit(R.nn.conv2d_transpose(x, w, out_layout="NHWC")))

    module = program([tensor("x", 1, 2, 3, 3), tensor("w", 2, 4, 2, 2)], build)
    with pytest.raises(DiagnosticError, match="for one group with channels first only"):
        Gradient("main")(module)


def test_new_elements_of_a_buffer_may_be_any_number() -> None:
    """What fell out was padded by their number, which had to be known."""
    definition = CATALOGUE.get("nn.fifo_buffer")

    def build(b: Any, x: Any, y: Any) -> Any:
        return R.sum(b.emit(R.tanh(b.emit(RelaxMaker(definition, CATALOGUE)(x, y, axis=1)))))

    module = program([tensor("x", 2, dim()), tensor("y", 2, 5)], build)
    to_x, to_y = check_gradient(module, arrays((2, 3), (2, 5)))
    assert (to_x.shape, to_y.shape) == ((2, 3), (2, 5))


@pytest.mark.parametrize(
    "operator",
    [
        lambda x: R.nn.adaptive_avg_pool2d(x, (2, 3)),
        lambda x: R.nn.pad(x, (0, 0, 0, 0, 1, 2, 0, 1), "reflect"),
        lambda x: R.image.resize2d(x, (3, 7), method="cubic"),
        lambda x: RelaxMaker(CATALOGUE.get("nn.adaptive_max_pool2d"), CATALOGUE)(x, output_size=(2, 3)),
        lambda x: RelaxMaker(CATALOGUE.get("nn.upsampling"), CATALOGUE)(x, scale_h=2.0, method="bilinear"),
    ],
    ids=["adaptive_avg_pool2d", "pad", "resize2d", "adaptive_max_pool2d", "upsampling"],
)
def test_axes_that_operators_leave_alone_may_have_any_size(operator: Any) -> None:
    """Batches of open size were refused, though only the extents of the other axes matter."""

    def build(b: Any, x: Any) -> Any:
        return R.sum(b.emit(R.tanh(b.emit(operator(x)))))

    check_gradient(program([tensor("x", dim(), 2, 5, 4)], build), arrays((3, 2, 5, 4)))
