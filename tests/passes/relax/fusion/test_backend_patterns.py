"""Patterns that external compilers have in common: what they match, and attention that is rewritten to the operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax
from baton.relax.backend import patterns
from baton.relax.dpl import rewrite_call
from baton.script import from_source
from baton.script import ir as I
from baton.script import relax as R

HEADER = """
@R.function
def main({params}):
    with R.dataflow():
{body}
        R.output(out)
    return out
"""


def function(params: str, *lines: str) -> Any:
    return from_source(HEADER.format(params=params, body="\n".join(f"        {line}" for line in lines)))


def composites(func: Any, found: tuple[Any, Any]) -> list[str]:
    """The names of what FuseOpsByPattern takes together."""
    module = tvm.IRModule({"main": func})
    fused = relax.transform.FuseOpsByPattern([("mine", *found)])(module)
    return [str(f.attrs["Composite"]) for f in fused.functions.values() if "Composite" in f.attrs]


TWO = 'x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 8), "float32"), b: R.Tensor((8,), "float32")'
IMAGE = (
    'x: R.Tensor((1, 2, 4, 4), "float32"), w: R.Tensor((2, 2, 1, 1), "float32"), b: R.Tensor((1, 2, 1, 1), "float32")'
)
HEADS = ", ".join(f'{n}: R.Tensor((2, 4, 2, 8), "float32")' for n in "qkv") + ', b: R.Tensor((2, 2, 4, 4), "float32")'
STACKED = 'x: R.Tensor((2, 4, 48), "float32")'
RESHAPED = [f"{n} = R.reshape({n}0, R.shape([2, 4, 2, 8]))" for n in "qkv"]
CASES: dict[str, tuple[Any, str, list[str]]] = {
    "matmul": (patterns.make_matmul_pattern(), TWO, ["out = R.matmul(x, w)"]),
    "matmul of a transposed, bias, activation": (
        patterns.make_matmul_pattern(True, "relax.nn.relu", True),
        TWO,
        ["t = R.permute_dims(w)", "m = R.matmul(x, t)", "a = R.add(m, b)", "out = R.nn.relu(a)"],
    ),
    "any operator": (
        patterns.make_fused_bias_activation_pattern("relax.nn.conv2d", activation="relax.nn.gelu"),
        IMAGE,
        ["c = R.nn.conv2d(x, w)", "out = R.nn.gelu(c)"],
    ),
    "conv2d and a residual on the left": (
        patterns.make_residual_block_pattern(patterns.make_conv2d_pattern(True), activation="relax.nn.relu"),
        IMAGE,
        ["c = R.nn.conv2d(x, w)", "a = R.add(c, b)", "r = R.add(x, a)", "out = R.nn.relu(r)"],
    ),
    "attention": (patterns.make_attention_pattern(), HEADS, ["out = R.nn.attention(q, k, v)"]),
    "attention with a bias": (patterns.make_attention_pattern(True), HEADS, ["out = R.nn.attention(q, k, v, b)"]),
    "attention of a split": (
        patterns.make_stacked_attention_pattern("split"),
        STACKED,
        [
            "parts = R.split(x, 3, axis=2)",
            *(f"{n}0 = parts[{i}]" for i, n in enumerate("qkv")),
            *RESHAPED,
            "out = R.nn.attention(q, k, v)",
        ],
    ),
    "attention of slices": (
        patterns.make_stacked_attention_pattern("strided_slice"),
        STACKED,
        [
            *(f"{n}0 = R.strided_slice(x, [2], [{16 * i}], [{16 * i + 16}])" for i, n in enumerate("qkv")),
            *RESHAPED,
            "out = R.nn.attention(q, k, v)",
        ],
    ),
    "layer norm": (
        patterns.make_layer_norm_pattern(),
        'x: R.Tensor((4, 8), "float32"), g: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32")',
        ["out = R.nn.layer_norm(x, g, b, axes=[-1])"],
    ),
    "scaled product": (
        patterns.make_matmul_multiply_pattern(),
        TWO + ', s: R.Tensor((1,), "float32"), t: R.Tensor((1,), "float32")',
        ["m = R.matmul(x, w)", "u = R.multiply(s, t)", "y = R.multiply(m, u)", 'out = R.astype(y, "float16")'],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_patterns_take_what_they_describe_together(name: str) -> None:
    found, params, lines = CASES[name]
    assert composites(function(params, *lines), found) == ["mine"]


def test_patterns_leave_what_they_do_not_describe() -> None:
    plain = function(TWO, "m = R.matmul(x, w)", "out = R.nn.gelu(m)")
    assert composites(plain, patterns.make_matmul_pattern(activation="relax.nn.relu")) == []
    with pytest.raises(NotImplementedError, match="start_op"):
        patterns.make_stacked_attention_pattern("slice")


def attention(
    layout: str, bias: str | None, *, scale_axis: int = -1, order: str = "[0, 2, 1, 3]", keys: str = "2, 5, 4, 8"
) -> Any:
    """Attention in products of three axes, with the sizes b = 2, s = 3, 5 keys, n = 4 heads (BSNH) or one."""
    tensor = "R.Tensor(({}), 'float32')"
    sizes = ("2, 3, 4, 8", keys) if layout == "BSNH" else ("2, 3, 8", "2, 5, 8")
    params = [f"{n}: {tensor.format(sizes[n != 'q'])}" for n in "qkv"]
    lines = ["q1, k1, v1 = q, k, v"]
    if layout == "BSNH":
        lines = [f"{n}0 = R.permute_dims({n}, {order if n == 'q' else '[0, 2, 1, 3]'})" for n in "qkv"]
        lines += [f"{n}1 = R.reshape({n}0, R.shape([8, {3 if n == 'q' else 5}, 8]))" for n in "qkv"]
    lines += [
        "k2 = R.permute_dims(k1, [0, 2, 1])",
        "m = R.matmul(q1, k2)",
        'scores = R.multiply(m, R.const(0.25, "float32"))',
    ]
    if bias:
        params.append(f"b: R.Tensor(({bias}), 'float32')")
        lines.append("biased = R.add(scores, b)")
    lines += [f"w = R.nn.softmax({'biased' if bias else 'scores'}, axis={scale_axis})"]
    if layout == "BSNH":
        lines += [
            "o = R.matmul(w, v1)",
            "o1 = R.reshape(o, R.shape([2, 4, 3, 8]))",
            "out = R.permute_dims(o1, [0, 2, 1, 3])",
        ]
    else:
        lines += ["out = R.matmul(w, v1)"]
    return function(", ".join(params), *lines)


def evaluated(func: Any, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shapes = [[int(d) for d in p.struct_info.shape] for p in func.params]
    given = [tvm.nd.array(rng.normal(size=s).astype("float32")) for s in shapes]
    machine = relax.VirtualMachine(relax.build(tvm.IRModule({"main": func}), "llvm"), tvm.cpu())
    return np.asarray(machine["main"](*given).numpy())


def operators(func: Any) -> list[str]:
    calls = [b.value for block in func.body.blocks for b in block.bindings]
    return [c.op.name for c in calls if isinstance(c, relax.Call)]


@pytest.mark.parametrize("bias", [None, "5,", "3, 5", "1, 3, 5", "8, 3, 5", "8, 1, 5"])
def test_attention_in_products_becomes_the_operator(bias: str | None) -> None:
    pattern, rewriter = patterns.make_attention_rewrite_pattern("BSNH", "BSNH", bias is not None, False)
    func = attention("BSNH", bias)
    found = rewrite_call(pattern, rewriter, func)
    assert operators(found) == (["relax.reshape", "relax.nn.attention_bias"] if bias else ["relax.nn.attention"])
    if bias in (None, "8, 1, 5"):
        np.testing.assert_allclose(evaluated(found, 0), evaluated(func, 0), rtol=1e-4, atol=1e-5)


def test_attention_of_one_head_becomes_the_operator() -> None:
    pattern, rewriter = patterns.make_attention_rewrite_pattern("BSH", "BSH", True, False)
    func = attention("BSH", "2, 3, 5")
    found = rewrite_call(pattern, rewriter, func)
    assert operators(found).count("relax.nn.attention_bias") == 1
    np.testing.assert_allclose(evaluated(found, 1), evaluated(func, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "odd", [{"scale_axis": 1}, {"order": "[2, 0, 1, 3]"}, {"keys": "2, 5, 8, 4"}, {"keys": "4, 5, 2, 8"}]
)
def test_what_is_no_attention_stays(odd: dict[str, Any]) -> None:
    pattern, rewriter = patterns.make_attention_rewrite_pattern("BSNH", "BSNH", False, False)
    func = attention("BSNH", None, **odd)
    tvm.ir.assert_structural_equal(rewrite_call(pattern, rewriter, func), func)


def test_a_backend_of_ones_own_gets_what_its_patterns_match() -> None:
    relax.backend.register_patterns(
        [("numpy_blas.matmul_relu", *patterns.make_matmul_pattern(activation="relax.nn.relu"))]
    )
    asked: list[str] = []

    @tvm.register_func("relax.ext.numpy_blas", override=True)
    def compile_functions(functions: Any, options: Any, constant_names: Any) -> list[Any]:
        asked.extend(f.attrs["global_symbol"] for f in functions)

        def run(x: Any, w: Any, out: Any) -> None:
            out.copyfrom(np.maximum(x.numpy() @ w.numpy(), options["floor"]))

        return [run for _ in functions]

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 8), "float32")) -> R.Tensor((4, 8), "float32"):
            with R.dataflow():
                y = R.nn.relu(R.matmul(x, w))
                z = R.exp(y)
                R.output(z)
            return z

    passes = tvm.transform.Sequential(
        [
            relax.transform.FuseOpsByPattern(relax.backend.get_patterns_with_prefix("numpy_blas")),
            relax.transform.MergeCompositeFunctions(),
            relax.transform.RunCodegen({"numpy_blas": {"floor": 0.0}}),
        ]
    )
    module = passes(Module)
    assert len(asked) == 1
    x, w = (np.random.default_rng(2).normal(size=s).astype("float32") for s in ((4, 8), (8, 8)))
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    found = machine["main"](tvm.nd.array(x), tvm.nd.array(w)).numpy()
    np.testing.assert_allclose(found, np.exp(np.maximum(x @ w, 0)), rtol=1e-5)
