"""Sizes that an operator needs to be equal, that only a run tells, and that differ then: an error, never a kernel that
reads beyond a tensor. Sizes that are equal for certain cost nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.passes.relax.operators.check_sizes import CheckSizes

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main({params}) -> R.Tensor(dtype="float32"):
        {sizes}
        y = {value}
        return y
"""


def program(shapes: dict[str, tuple[Any, ...]], value: str) -> Any:
    """A function of tensors of these shapes, a word standing for an open size."""
    names = sorted({d for shape in shapes.values() for d in shape if isinstance(d, str)})
    params = ", ".join(f'{name}: R.Tensor({shape!r}, "float32")' for name, shape in shapes.items())
    sizes = "\n        ".join(f"{n} = T.int64()" for n in names)
    return baton.script.from_source(PROGRAM.format(params=params, sizes=sizes, value=value))


def filled(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def run(module: Any, *shapes: tuple[int, ...]) -> Any:
    model = baton.compile(module, num_threads=1)
    names = [p.name_hint for p in module["main"].params]
    return model.run({n: filled(*s) for n, s in zip(names, shapes, strict=True)})[0]


CASES = [
    (
        {"x": (1, 3, 1, "w"), "k": (3, 1, 3, 3)},
        "R.nn.conv2d_transpose(x, k, groups=3)",
        [(1, 3, 1, 0), (3, 1, 3, 3)],
        "conv2d_transpose: member 0 is 0",
    ),
    (
        {"x": ("m", "k"), "w": ("k2", "n")},
        "R.matmul(x, w)",
        [(2, 64), (3, 5)],
        "matmul: member 0 is 64 = k, expected 3",
    ),
    ({"x": ("m", "k"), "w": ("n", "k2")}, "R.linear(x, w)", [(2, 64), (5, 3)], "is 64 = k, expected 3 = k2"),
    ({"x": ("n", 4)}, "R.reshape(x, (7, 4))", [(3, 4)], "reshape: member 0 is 28 = 28, expected 12 = n"),
    ({"x": ("n", 2)}, "R.reshape(x, (7, -1))", [(13, 2)], r"expected 26 = n \* 2"),
    ({"x": ("n", 4)}, "R.squeeze(x, axis=0)", [(3, 4)], "squeeze: member 0 is 3 = n, expected 1"),
    ({"x": ("n", 4)}, "R.split(x, [2, 9], axis=0)[1]", [(3, 4)], "expected 9"),
    ({"x": ("n", 4)}, "R.broadcast_to(x, (7, 4))", [(3, 4)], "broadcast_to: member 0 is 3"),
    ({"x": ("n", 4)}, 'R.nn.pad(x, (1, 1, 0, 0), "edge")', [(0, 4)], "nn_pad: member 0 is 0"),
    ({"x": (1, "c", 6), "w": (2, "i", 3)}, "R.nn.conv1d(x, w)", [(1, 2, 6), (2, 3, 3)], "is 2 = c, expected 3 = i"),
]


@pytest.mark.parametrize(("shapes", "value", "given", "message"), CASES, ids=[c[1] for c in CASES])
def test_a_program_written_by_hand(shapes: Any, value: str, given: Any, message: str) -> None:
    with pytest.raises(baton.DiagnosticError, match=message):
        run(program(shapes, value), *given)


@pytest.mark.parametrize(("shapes", "value", "given", "message"), CASES, ids=[c[1] for c in CASES])
@pytest.mark.parametrize("step", ["LegalizeOps", "zero"])
def test_a_script_that_legalizes_itself(step: str, shapes: Any, value: str, given: Any, message: str) -> None:
    """Guards kernels made before the build: they trust their operands, so the checks are made with them."""
    prepare = baton.relax.get_pipeline(step) if step == "zero" else baton.relax.transform.LegalizeOps()
    vm = baton.relax.VirtualMachine(baton.relax.build(prepare(program(shapes, value)), "llvm"), baton.cpu())
    with pytest.raises(baton.DiagnosticError, match=message):
        vm["main"](*(baton.nd.array(filled(*s)) for s in given))


def test_what_fits_runs() -> None:
    product = program({"x": ("m", "k"), "w": ("k2", "n")}, "R.matmul(x, w)")
    np.testing.assert_array_equal(run(product, (2, 3), (3, 5)), filled(2, 3) @ filled(3, 5))
    repeated = program({"x": ("n", 4)}, "R.broadcast_to(x, (7, 4))")
    for rows in (1, 7):
        np.testing.assert_array_equal(run(repeated, (rows, 4)), np.broadcast_to(filled(rows, 4), (7, 4)))


def test_help_about_a_size_of_one_promises_no_broadcasting() -> None:
    """It said "declare it as 1" of products and norms, too, which then refuse 1 when they are compiled."""
    for shapes, value, given in (
        ({"x": ("m", "k"), "w": ("k2", "n")}, "R.matmul(x, w)", ((2, 3), (1, 5))),
        ({"x": ("n", "m"), "w": ("k",)}, "R.nn.layer_norm(x, w, w, axes=[-1])", ((2, 3), (1,))),
    ):
        with pytest.raises(
            baton.DiagnosticError, match="if the operator broadcasts at all, a size of 1 is broadcast only"
        ):
            run(program(shapes, value), *given)


def test_relay_that_leaves_sizes_open() -> None:
    x, w = (relay.var(n, shape=(relay.Any(), relay.Any()), dtype="float32") for n in "xw")
    module = baton.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    with pytest.raises(baton.DiagnosticError, match="sizes_of_nn_dense: member 0 is 64"):
        run(module, (2, 64), (5, 3))


def test_what_is_certain_or_was_checked_before_costs_nothing() -> None:
    certain = program({"x": ("n", 4, "k"), "w": ("k", "m")}, "R.reshape(R.matmul(x, w), (n * 2, -1, m))")
    assert CheckSizes()(certain).script().count("match_cast") == 0
    twice = program({"x": ("m", "k"), "w": ("i", "n")}, "R.add(R.matmul(x, w), R.matmul(R.exp(x), w))")
    assert CheckSizes()(twice).script().count("match_cast") == 1


CAST_OF_A_CONSTANT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), dtype="float32")) -> R.Tensor(("n", 2), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            c = R.match_cast(R.const([[1.0, 2.0]], "float32"), R.Tensor((n, 2), "float32"))
            y = R.add(c, x)
            R.output(y)
        return y
"""


def test_a_constant_that_is_cast_to_an_open_size() -> None:
    """The constant took the place of its cast, which nothing checked then: a 1 was repeated."""
    module = baton.script.from_source(CAST_OF_A_CONSTANT)
    assert run(module, (1, 2)).tolist() == [[1, 3]]
    with pytest.raises(baton.DiagnosticError, match="match_cast to c: dimension 0 is 1, expected 3"):
        run(module, (3, 2))
