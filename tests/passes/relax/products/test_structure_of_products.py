"""What the rewrites of matrix products make, as TVM v0.19 documents it: weights, bounds of sizes, biases, batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.passes.relax.products.adjust_matmul_order import AdjustMatmulOrder
from baton._src.passes.relax.products.combine_parallel_matmul import CombineParallelMatmul
from baton._src.passes.relax.products.expand_matmul_of_sum import ExpandMatmulOfSum
from baton._src.passes.relax.products.reorder_take_after_matmul import ReorderTakeAfterMatmul
from baton._src.relax.interpreter import Interpreter
from tests.passes.relax.programs import becomes
from tests.relax.build import module
from tests.relax.machines import everywhere


def function(params: str, body: str, results: str, attrs: str = "") -> str:
    """A function of one dataflow block."""
    lines = [*(f"R.func_attr({attrs})" for _ in attrs[:1]), "with R.dataflow():"]
    lines += [f"    {line.strip()}" for line in body.strip().splitlines()] + [f"    R.output({results})"]
    text = "\n".join(f"    {line}" for line in [*lines, f"return ({results})"])
    return f"@R.function\ndef main({params}):\n{text}\n"


def tensors(**shapes: Any) -> str:
    return ", ".join(f'{name}: R.Tensor({shape}, "float32")' for name, shape in shapes.items())


LOW_RANK = tensors(x=("n", 64), a=(64, "r"), b=("r", 64))


@pytest.mark.rule("RELAX-PASS-19")
def test_open_ranks_have_bounds() -> None:
    """Without one, n * r * 128 multiplications are not known to be fewer than (n + r) * 4096."""
    right = function(LOW_RANK, "w = R.matmul(a, b)\ny = R.matmul(x, w)", "y")
    becomes(AdjustMatmulOrder(), right, right)
    bounded = '{"tir_var_upper_bound": {"r": 16}}'
    before = function(LOW_RANK, "w = R.matmul(a, b)\ny = R.matmul(x, w)", "y", bounded)
    after = function(LOW_RANK, "p = R.matmul(x, a)\ny = R.matmul(p, b)", "y", bounded)
    becomes(AdjustMatmulOrder(), before, after)


@pytest.mark.rule("RELAX-PASS-19")
def test_weights_are_multiplied_with_one_another() -> None:
    """However cheap the other order is: what is made ahead costs nothing."""
    params, attrs = tensors(x=("n", 64), a=(64, 4), b=(4, 64)), '{"num_input": 1}'
    before = function(params, "p = R.matmul(x, a)\ny = R.matmul(p, b)", "y", attrs)
    after = function(params, "w = R.matmul(a, b)\ny = R.matmul(x, w)", "y", attrs)
    becomes(AdjustMatmulOrder(), before, after)
    becomes(AdjustMatmulOrder(), after, after)


@pytest.mark.rule("RELAX-PASS-19")
def test_transposed_products_change_their_order() -> None:
    params = tensors(x=("n", 64), a=(64, 4), b=(4, 64))
    before = function(params, "w = R.matmul(a, b)\nt = R.permute_dims(w)\ny = R.matmul(x, t)", "y")
    after = function(
        params, "bt = R.permute_dims(b)\np = R.matmul(x, bt)\nat = R.permute_dims(a)\ny = R.matmul(p, at)", "y"
    )
    becomes(AdjustMatmulOrder(), before, after)


@pytest.mark.rule("RELAX-PASS-19")
@pytest.mark.parametrize(
    "shapes",
    [((3, 1, 2), (2, 3, 2, 5), (5, 4)), ((2,), (3, 2, 8), (8, 2)), ((8, 4), (4,), (8, 3)), ((2, 8), (8, 4), (4,))],
)
def test_batches_and_vectors_keep_their_meaning(shapes: Any) -> None:
    a, b, c = shapes
    before = module(function(tensors(a=a, b=b, c=c), "p = R.matmul(a, b)\ny = R.matmul(p, c)", "y"))
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s).astype("float32") for s in shapes]
    wanted = Interpreter(before)["main"](*args).numpy()
    np.testing.assert_allclose(Interpreter(AdjustMatmulOrder()(before))["main"](*args).numpy(), wanted, rtol=1e-4)


@pytest.mark.rule("RELAX-PASS-19")
def test_sums_are_multiplied_out_unless_they_are_spread_or_made_ahead() -> None:
    params = tensors(x=(2, 3), a=(3, 4), b=(3, 4), bias=(4,))
    before = function(params, "s = R.add(a, b)\ny = R.matmul(x, s)\nt = R.add(a, bias)\nz = R.matmul(x, t)", "y, z")
    after = function(
        params,
        """p = R.matmul(x, a)
        q = R.matmul(x, b)
        y = R.add(p, q)
        t = R.add(a, bias)
        z = R.matmul(x, t)""",
        "y, z",
    )
    becomes(ExpandMatmulOfSum(), before, after)
    ahead = function(params, "s = R.add(a, b)\ny = R.matmul(x, s)", "y", '{"num_input": 1}')
    becomes(ExpandMatmulOfSum(), ahead, ahead)
    turned = tensors(x=(2, 4), a=(3, 4), b=(3, 4))
    before = function(turned, "s = R.add(a, b)\nt = R.permute_dims(s)\ny = R.matmul(x, t)", "y")
    parts = "at = R.permute_dims(a)\np = R.matmul(x, at)\nbt = R.permute_dims(b)\nq = R.matmul(x, bt)\ny = R.add(p, q)"
    becomes(ExpandMatmulOfSum(), before, function(turned, parts, "y"))


@pytest.mark.rule("RELAX-PASS-19")
def test_factors_of_each_batch_are_taken_from_one_product() -> None:
    params = tensors(x=("batch", 1, 3), table=(7, 3, 5)) + ', i: R.Tensor(("batch",), "int64")'
    before = function(params, "w = R.take(table, i, axis=0)\ny = R.matmul(x, w)", "y")
    after = ReorderTakeAfterMatmul()(module(before))
    assert "R.einsum" in after["main"].script()
    rng = np.random.default_rng(0)
    x, table = (rng.standard_normal(s).astype("float32") for s in ((2, 1, 3), (7, 3, 5)))
    i = np.array([6, 1])
    np.testing.assert_allclose(everywhere(after, x, table, i).numpy(), x @ table[i], rtol=1e-4)


@pytest.mark.rule("RELAX-PASS-19")
def test_biases_and_activations_of_all_branches_are_joined() -> None:
    params = tensors(x=(2, 3), a=(3, 4), b=(3, 6), p=(4,), q=(6,))
    before = function(
        params,
        """y = R.matmul(x, a)
        yb = R.add(y, p)
        yr = R.nn.relu(yb)
        z = R.matmul(x, b)
        zb = R.add(z, q)
        zr = R.nn.relu(zb)""",
        "yr, zr",
    )
    after = function(
        params,
        """w = R.concat((a, b), axis=1)
        m = R.matmul(x, w, out_dtype="float32")
        bias = R.concat((p, q), axis=0)
        mb = R.add(m, bias)
        mr = R.nn.relu(mb)
        s = R.split(mr, [4], axis=1)
        yr = s[0]
        zr = s[1]""",
        "yr, zr",
    )
    becomes(CombineParallelMatmul(), before, after)
    seen: list[Any] = []

    def check(*given: Any) -> bool:
        seen.append([[v.name_hint for v in part] if isinstance(part, list) else part for part in given])
        return False

    becomes(CombineParallelMatmul(check), before, before)
    ((left, weights, biases, values),) = seen
    assert (left.name_hint, weights, biases) == ("x", ["a", "b"], ["p", "q"])
    assert [v.name_hint for v in values] == ["y", "yb", "yr", "z", "zb", "zr"]


@pytest.mark.rule("RELAX-PASS-19")
def test_what_only_some_branches_have_stays_behind_them() -> None:
    """The second sum has one element for all columns, so it is no bias that could stand beside another."""
    params = tensors(x=(2, 3), a=(3, 4), b=(3, "m"), p=(4,), q=(1,))
    before = function(params, "z = R.matmul(x, b)\ny = R.matmul(x, a)\nyb = R.add(y, p)\nzb = R.add(z, q)", "yb, zb")
    after = function(
        params,
        """w = R.concat((a, b), axis=1)
        m = R.matmul(x, w, out_dtype="float32")
        s = R.split(m, [4], axis=1)
        z = s[1]
        y = s[0]
        yb = R.add(y, p)
        zb = R.add(z, q)""",
        "yb, zb",
    )
    becomes(CombineParallelMatmul(), before, after)
