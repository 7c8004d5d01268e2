"""ToMixedPrecision where values are tuples, variables and results of calls, and what nothing is known of."""

from __future__ import annotations

import numpy as np
import pytest

from baton import relay
from baton._src.ir.module import IRModule
from baton._src.relay.check.show import show_type
from baton._src.relay.nodes import Call
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.context import PassContext
from baton.relay.testing import TempOpAttr
from tests.relay.programs import plain, read_module

IMAGE = "%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]"
CONV = "nn.conv2d(%x, %w, padding=[1, 1])"
KEEP = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}


def dtypes(module: IRModule) -> dict[str, str]:
    """The dtype of every operator's (last) call; of the first field, where it gives several."""
    found: dict[str, str] = {}

    def visit(node: object) -> None:
        if isinstance(node, Call):
            type_ = node.checked_type
            found[str(node.op.name)] = str(getattr(type_, "fields", (type_,))[0].dtype)

    relay.analysis.post_order_visit(module["main"], visit)
    return found


def same_within(before: IRModule, after: IRModule) -> None:
    draw = np.random.default_rng(0)
    shapes = [tuple(int(d) for d in p.checked_type.shape) for p in before["main"].params]
    args = [draw.random(shape, "float32") for shape in shapes]
    values = [plain(relay.create_executor("debug", m).evaluate()(*args)) for m in (before, after)]
    first, second = (v if isinstance(v, tuple) else (v,) for v in values)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(np.float32(other), one, rtol=2e-2, atol=2e-2)


@pytest.mark.rule("RELAY-PASS-31")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # A tuple of narrow values: its fields were taken for float32, and the sum had two dtypes.
        (f"split({CONV}, indices_or_sections=2, axis=1).0 + 1.5f", {"split": "float16", "add": "float16"}),
        (f"split({CONV}, indices_or_sections=2, axis=1).0 + sum(%x)", {"split": "float16", "add": "float32"}),
        (f"concatenate(({CONV}, {CONV}))", {"concatenate": "float16"}),
        (f"concatenate(({CONV}, exp(%x)))", {"concatenate": "float32"}),
        # What is a variable or a constant is cast as easily as not.
        (f"nn.relu(nn.bias_add({CONV}, %b))", {"nn.bias_add": "float16", "nn.relu": "float16"}),
        ("nn.relu(%x)", {"nn.relu": "float16"}),
        (f"nn.max_pool2d({CONV}, pool_size=[2, 2])", {"nn.max_pool2d": "float16"}),
        (f"let %y = {CONV}; nn.relu(%y)", {"nn.relu": "float16"}),
        (f"let %y = exp({CONV}); nn.relu(log(%y))", {"exp": "float32", "nn.relu": "float32"}),
        (f"if (True) {{ {CONV} }} else {{ %x }}", {"nn.conv2d": "float16", "cast": "float32"}),
    ],
)
def test_what_follows(body: str, expected: dict[str, str]) -> None:
    before = read_module(f"def @main({IMAGE}, %b: Tensor[(4), float32]) {{ {body} }}")
    after = relay.transform.ToMixedPrecision()(before)
    found = dtypes(after)
    assert {name: found[name] for name in expected} == expected
    same_within(before, after)


@pytest.mark.parametrize("body", [f"split({CONV}, indices_or_sections=2, axis=1)", f"({CONV}, (%x, {CONV}))"])
def test_results_keep_their_types(body: str) -> None:
    before = read_module(f"def @main({IMAGE}) {{ {body} }}")
    with PassContext(config=KEEP):
        after = relay.transform.ToMixedPrecision()(before)
    kept = [show_type(m["main"].checked_type.ret_type) for m in (before, after)]
    assert kept[0] == kept[1]


def test_a_variable_that_nothing_reads_has_the_type_of_its_value() -> None:
    """Its annotation said float32 of a float16 convolution, which was a type error behind the pass."""
    before = read_module(f"def @main({IMAGE}) {{ let %y: Tensor[(1, 4, 8, 8), float32] = {CONV}; %x }}")
    same_within(before, relay.transform.ToMixedPrecision()(before))


def test_functions_that_are_called_keep_their_types() -> None:
    """Their callers would add float16 to float32."""
    before = read_module(f"def @f({IMAGE}) {{ {CONV} }} def @main({IMAGE}) {{ @f(%x, %w) + exp(%x) }}")
    after = relay.transform.ToMixedPrecision()(before)
    assert "float16" in after["f"].astext()
    same_within(before, after)


def test_operators_that_nothing_is_known_of() -> None:
    module = read_module(f"def @main({IMAGE}) {{ topk({CONV}).0 }}")
    with pytest.warns(UserWarning, match=r"compute topk \(1 times\): float32"):
        after = relay.transform.ToMixedPrecision("float16", missing_op_mode=1)(module)
    assert dtypes(after)["topk"] == "float32"
    with pytest.raises(DiagnosticError, match="no rule says in which precision to compute topk"):
        relay.transform.ToMixedPrecision("float16", missing_op_mode=0)(module)
    with pytest.raises(DiagnosticError, match="missing_op_mode is 3"):
        relay.transform.ToMixedPrecision("float16", 3)(module)
    rules = relay.transform.mixed_precision
    with TempOpAttr("topk", "FTVMMixedPrecisionConversionType", rules.generic_follow_op):
        assert dtypes(relay.transform.ToMixedPrecision("float16", 0)(module))["topk"] == "float16"
    assert "nn.conv2d" in rules.DEFAULT_ALWAYS_LIST
    assert (rules.MIXED_PRECISION_ALWAYS, rules.MIXED_PRECISION_FOLLOW, rules.MIXED_PRECISION_NEVER) == (0, 1, 2)


@pytest.mark.rule("RELAY-PASS-31")
def test_operators_on_integers_keep_their_scales() -> None:
    """Guards quantised parts: quantize had to give float16, and scales lost their precision."""
    module = read_module(
        "def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(4, 4), float32]) {"
        " %0 = qnn.quantize(nn.dense(%x, %w), 0.001f, 3);"
        " nn.dense(qnn.dequantize(%0, 0.001f, 3), %w) }"
    )
    for mode in (0, 1, 2):
        found = dtypes(relay.transform.ToMixedPrecision("float16", mode)(module))
        assert found == {**found, "qnn.quantize": "int8", "qnn.dequantize": "float32", "nn.dense": "float16"}
