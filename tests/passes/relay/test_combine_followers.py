"""What follows combined siblings in the same way is combined with them; what does not stays behind the cut."""

from __future__ import annotations

import pytest

from baton._src.passes.relay.operators.combine_parallel import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
)
from tests.passes.relay.test_before_after import check_same, main, names

IMAGE = "%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %v: Tensor[(2, 3, 3, 3), float32]"
BIASES = "%b: Tensor[(4), float32], %c: Tensor[(2), float32], %s: Tensor[(4, 1, 1), float32]"
THIRD = "%t: Tensor[(2, 1, 1), float32]"
PARAMS = f"{IMAGE}, {BIASES}, {THIRD}"


def branch(weight: str, bias: str, scale: str) -> str:
    return f"nn.relu(nn.bias_add(nn.conv2d(%x, {weight}), {bias}) * {scale}) * 2f"


@pytest.mark.rule("RELAY-PASS-25")
def test_biases_scales_and_activations() -> None:
    body = f"({branch('%w', '%b', '%s')}, {branch('%v', '%c', '%t')}, {branch('%w', '%b', '%s')})"
    before = main(PARAMS, body)
    after = CombineParallelConv2D()(before)
    found = names(after)
    for name in ("nn.conv2d", "nn.bias_add", "nn.relu"):
        assert found.count(name) == 1, name
    assert found.count("multiply") == 2
    assert found.count("strided_slice") == 3
    check_same(before, after)


def test_only_what_is_common() -> None:
    """Two of three are activated: the cut comes before."""
    calls = ["nn.bias_add(nn.conv2d(%x, %w), %b)", "nn.bias_add(nn.conv2d(%x, %v), %c)"]
    before = main(PARAMS, f"(nn.relu({calls[0]}), {calls[1]}, nn.relu({calls[1]}))")
    after = CombineParallelConv2D()(before)
    assert names(after).count("nn.bias_add") == 1
    assert names(after).count("nn.relu") == 2
    check_same(before, after)


def test_a_sibling_with_two_users_is_cut_at_once() -> None:
    before = main(PARAMS, "let %a = nn.conv2d(%x, %w); (nn.relu(%a), %a, nn.relu(nn.conv2d(%x, %v)),"
                  " nn.relu(nn.conv2d(%x, %v)))")  # fmt: skip
    after = CombineParallelConv2D(min_num_branches=2)(before)
    check_same(before, after)


def test_dense_and_batch_matmul() -> None:
    rows = (
        "%x: Tensor[(2, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(2, 8), float32],"
        " %p: Tensor[(4), float32], %q: Tensor[(2), float32]"
    )
    first, second = "nn.relu(nn.dense(%x, %a) + %p)", "nn.relu(nn.dense(%x, %b) + %q)"
    before = main(rows, f"({first}, {second}, {first})")
    after = CombineParallelDense(to_batch=False)(before)
    assert [names(after).count(n) for n in ("nn.dense", "add", "nn.relu")] == [1, 1, 1]
    check_same(before, after)
    before = main(rows, f"({first}, {first}, {first}, {second})")
    after = CombineParallelDense()(before)  # weights of one shape: a batched product
    assert [names(after).count(n) for n in ("nn.dense", "nn.batch_matmul", "add", "squeeze")] == [1, 1, 2, 3]
    check_same(before, after)
    batch = "%x: Tensor[(2, 3, 4), float32], %y: Tensor[(2, 5, 4), float32]"
    one = "tanh(nn.batch_matmul(%x, %y, transpose_b=True) * 3f)"
    before = main(batch, f"({one}, {one}, {one})")
    after = CombineParallelBatchMatmul()(before)
    assert [names(after).count(n) for n in ("nn.batch_matmul", "multiply", "tanh")] == [1, 1, 1]
    check_same(before, after)


ROWS = (
    "%x: Tensor[(3, 4), float32], %w: Tensor[(2, 4), float32], %v: Tensor[(2, 4), float32], %u: Tensor[(2, 4), float32]"
)


@pytest.mark.parametrize(
    ("after_each", "rest"),
    [
        ("trilu({}, 0, upper=True)", ""),  # which elements stay depends on where they stand
        ("broadcast_to({}, shape=[3, 2])", ""),
        ("{} + %{}", ", %w_: Tensor[(1, 2), float32], %v_: Tensor[(3, 2), float32], %u_: Tensor[(1, 2), float32]"),
    ],
)
def test_what_differs_together_from_each_stays_behind_the_cut(after_each: str, rest: str) -> None:
    """The combined operator would be another one, or none."""
    branches = ", ".join(after_each.format(f"nn.dense(%x, %{w})", f"{w}_") for w in "wvu")
    before = main(ROWS + rest, f"({branches})")
    for to_batch in (False, True):
        after = CombineParallelDense(to_batch=to_batch)(before)
        assert names(after).count(after_each.split("(")[0] if "(" in after_each else "add") == 3
        check_same(before, after)


def test_the_slope_of_each_channel_is_joined_though_there_is_one() -> None:
    weights = ", ".join(f"%{w}: Tensor[(1, 3, 1, 1), float32]" for w in "wvu")
    branches = ", ".join(f"nn.prelu(nn.conv2d(%x, %{w}), %a)" for w in "wvu")
    before = main(f"%x: Tensor[(1, 3, 4, 4), float32], %a: Tensor[(1), float32], {weights}", f"({branches})")
    after = CombineParallelConv2D()(before)
    assert names(after).count("nn.prelu") == 1
    check_same(before, after)


def test_dense_layers_of_more_axes_are_no_batch_of_matrices() -> None:
    before = main(ROWS.replace("(3, 4)", "(2, 3, 4)"), "(nn.dense(%x, %w), nn.dense(%x, %v), nn.dense(%x, %u))")
    after = CombineParallelDense()(before)
    assert names(after).count("nn.dense") == 3
    check_same(before, after)
