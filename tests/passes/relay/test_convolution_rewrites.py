"""FoldExplicitPadding, FlattenAtrousConv and SplitArgs: the same values with fewer, or smaller, operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.passes.relay.fuse_ops import FuseOps
from baton._src.passes.relay.operators.flatten_atrous_conv import FlattenAtrousConv
from baton._src.passes.relay.operators.fold_explicit_padding import FoldExplicitPadding
from baton._src.passes.relay.operators.split_args import SplitArgs
from baton._src.relay.expressions import walk
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Function
from baton._src.support.diagnostics import DiagnosticError
from tests.relay.programs import plain, read_module

NCHW = "%x: Tensor[(1, 2, 5, 6), float32], %w: Tensor[(3, 2, 3, 3), float32]"
NHWC = "%x: Tensor[(1, 6, 8, 2), float32], %w: Tensor[(3, 3, 2, 3), float32]"
BLOCKED = (
    "nn.batch_to_space_nd(nn.conv2d("
    "nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[{p}, {p}], [{p}, {p}]]), %w, "
    'data_layout="NHWC", kernel_layout="HWIO"{more}), block_shape=[2, 2], crops=[[{c}, 0], [0, {c}]])'
)


def padded(widths: str, value: str = "0f") -> str:
    return f"nn.conv2d(nn.pad(%x, {value}, pad_width={widths}), %w, padding=[1, 0])"


def pooled(name: str, value: str, more: str = "") -> str:
    border = f"nn.pad(%x, {value}, pad_width=[[0, 0], [0, 0], [1, 2], [0, 1]])"
    return f"nn.{name}_pool2d({border}, pool_size=[3, 2], strides=[2, 1]{more})"


LOWEST = "-inff"
FIVE, LINK = "%x, %x, %x, %x, %x", ["annotation.stop_fusion", "concatenate"]
CASES = [
    ("RELAY-PASS-26", FoldExplicitPadding(), NCHW, pooled("avg", "0f"), ["nn.avg_pool2d"]),
    ("RELAY-PASS-26", FoldExplicitPadding(), NCHW, pooled("avg", "0f", ", padding=[1, 0]"), None),
    ("RELAY-PASS-26", FoldExplicitPadding(), NCHW, pooled("avg", "0f", ", ceil_mode=True"), None),
    ("RELAY-PASS-26", FoldExplicitPadding(), NCHW, pooled("avg", "1f"), None),
    ("RELAY-PASS-26", FoldExplicitPadding(), NCHW, pooled("avg", "0f", ", dilation=[2, 2]"), None),
    ("RELAY-PASS-26", FoldExplicitPadding(), NCHW, pooled("max", LOWEST), ["nn.max_pool2d"]),
    ("RELAY-PASS-26", FoldExplicitPadding(), NCHW, pooled("max", "0f"), None),
    ("RELAY-PASS-26", FoldExplicitPadding(), NCHW, pooled("max", LOWEST, ", padding=[2, 0]"), None),
    ("RELAY-PASS-26", FoldExplicitPadding(), NCHW, padded("[[0, 0], [0, 0], [1, 2], [0, 1]]"), ["nn.conv2d"]),
    ("RELAY-PASS-26", FoldExplicitPadding(), NCHW, padded("[[0, 0], [0, 0], [1, 2], [0, 1]]", "1f"), None),
    ("RELAY-PASS-26", FoldExplicitPadding(), NCHW, padded("[[1, 0], [0, 0], [1, 2], [0, 1]]"), None),
    ("RELAY-PASS-26", FlattenAtrousConv(), NHWC, BLOCKED.format(p=2, c=0, more=""), ["nn.conv2d"]),
    ("RELAY-PASS-26", FlattenAtrousConv(), NHWC, BLOCKED.format(p=2, c=1, more=", padding=[1, 1]"), ["nn.conv2d"]),
    ("RELAY-PASS-26", FlattenAtrousConv(), NHWC, BLOCKED.format(p=2, c=0, more=", strides=[2, 1]"), None),
    ("RELAY-PASS-33", SplitArgs(max_function_args=4), NCHW, f"concatenate(({FIVE}), axis=1)", LINK * 2),
    ("RELAY-PASS-33", SplitArgs(max_function_args=7), NCHW, f"concatenate(({FIVE}), axis=1)", None),
    ("RELAY-PASS-33", SplitArgs(max_function_args=6), NCHW, f"concatenate(({FIVE}), axis=1)", LINK),
    ("RELAY-PASS-33", SplitArgs(0), NCHW, "concatenate((%x, %x, %x), axis=1)", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("step", "params", "body", "left"), [pytest.param(*c[1:], marks=pytest.mark.rule(c[0])) for c in CASES]
)
def test_same_values(step: Any, params: str, body: str, left: list[str] | None) -> None:
    """`left` None: nothing changes."""
    module = read_module(f"def @main({params}) {{ {body} }}")
    made = step(module)
    called = [n.op.name for n in walk(made["main"]) if isinstance(n, Call)]
    assert left is None or called == left
    assert (made["main"] is module["main"]) == (left is None)
    rng = np.random.default_rng(0)
    shapes = [[int(d.value) for d in p.checked_type.shape] for p in module["main"].params]
    arguments = [rng.integers(-3, 4, shape).astype("float32") for shape in shapes]
    values = [plain(Interpreter(m).evaluate(m["main"])(*arguments)) for m in (module, made)]
    assert values[0] == values[1]


def test_kernels_of_few_arguments() -> None:
    """FuseOps put the links together again; the result counts, and what a tensor of unknown extents takes."""
    two = "%x: Tensor[(2, ?), float32], %y: Tensor[(2, 3), float32]"
    module = SplitArgs(6)(read_module(f"def @main({two}) {{ concatenate((%y, %y, %x), axis=0) }}"))
    assert [n.op.name for n in walk(module["main"]) if isinstance(n, Call)] == [*LINK, *LINK]
    five = read_module(f"def @main({NCHW}) {{ concatenate(({FIVE}), axis=1) }}")
    kernels = [
        n for n in walk(FuseOps(2)(SplitArgs(4)(five))["main"]) if isinstance(n, Call) and isinstance(n.op, Function)
    ]
    assert len(kernels) == 2
    with pytest.raises(DiagnosticError, match="the result of a concatenation alone"):
        SplitArgs(1)(five)
