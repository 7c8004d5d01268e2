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
    one = "tanh(nn.batch_matmul(%x, %y) * 3f)"
    before = main(batch, f"({one}, {one}, {one})")
    after = CombineParallelBatchMatmul()(before)
    assert [names(after).count(n) for n in ("nn.batch_matmul", "multiply", "tanh")] == [1, 1, 1]
    check_same(before, after)
