"""MatMulNBits with constant weights: they stay what they are, and are read once for all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

import baton
from baton._src.ir.target import Target
from baton.relax.frontend.onnx import from_onnx
from tests.frontends.onnx.against_onnxruntime import assert_as_onnxruntime, in_both_languages, onnxruntime_outputs

RANDOM = np.random.default_rng(11)
OPERATOR = "nn.block_quantised_dense"


def layer(
    units: int, inputs: int, block: int, zeros: bool = False, bias: bool = False, dtype: str = "float32", bits: int = 4,
    given: tuple[str, ...] = ("x",), level: int = 0,
) -> Any:  # fmt: skip
    """Of any number of rows."""
    blocks = -(-inputs // block)
    packed = RANDOM.integers(0, 256, (units, blocks, block * bits // 8), "uint8")
    known = {"w": packed, "s": RANDOM.uniform(0.01, 0.1, units * blocks).astype(dtype)}
    if zeros:
        known["z"] = RANDOM.integers(0, 256, units * -(-blocks * bits // 8), "uint8")
    if bias:
        known["b"] = RANDOM.standard_normal(units).astype(dtype)
    names = ["x", "w", "s", *(("z",) if zeros else ("",) if bias else ()), *(("", "b") if bias else ())]
    node = helper.make_node(
        "MatMulNBits", names, ["y"], domain="com.microsoft", K=inputs, N=units, bits=bits, block_size=block,
        accuracy_level=level,
    )  # fmt: skip
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    shapes = {"x": (kind, ["m", inputs]), "w": (2, packed.shape)}
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(n, *shapes[n]) for n in given],
        [helper.make_tensor_value_info("y", kind, ["m", units])],
        [numpy_helper.from_array(v, n) for n, v in known.items() if n not in given],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), known


@pytest.mark.parametrize(("units", "inputs", "block"), [(64, 64, 32), (100, 256, 128), (5, 64, 16), (130, 512, 256)])
@pytest.mark.parametrize("zeros", [False, True])
def test_any_number_of_rows(units: int, inputs: int, block: int, zeros: bool) -> None:
    """Guards one row, less than a tile, several tiles and a rest; units that fill no panel."""
    model, _ = layer(units, inputs, block, zeros, bias=units == 100)
    assert OPERATOR in str(from_onnx(model))
    compiled = baton.compile(model)
    for rows in (0, 1, 2, 6, 13):
        feed = {"x": RANDOM.standard_normal((rows, inputs)).astype("float32")}
        expected = onnxruntime_outputs(model, feed) if rows else [np.zeros((0, units), "float32")]
        assert_as_onnxruntime(list(compiled.run(feed)), expected)
        for _, found in in_both_languages(model, feed) if rows == 2 else ():
            assert_as_onnxruntime(found, expected)


def test_halves() -> None:
    """Guards float16, whose sums are float32."""
    model, _ = layer(64, 128, 32, dtype="float16")
    assert OPERATOR in str(from_onnx(model))
    feed = {"x": RANDOM.standard_normal((3, 128)).astype("float16")}
    (found,), (expected,) = baton.compile(model).run(feed), onnxruntime_outputs(model, feed)
    np.testing.assert_allclose(found.astype("float32"), expected.astype("float32"), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(("bits", "inputs"), [(8, 64), (4, 72), (2, 104)])
def test_other_bits_and_blocks_that_are_not_full(bits: int, inputs: int) -> None:
    """Guards the places of numbers in words, and that nothing is read behind a row's last element."""
    model, _ = layer(20, inputs, 32, zeros=True, bits=bits)
    assert OPERATOR in str(from_onnx(model))
    compiled = baton.compile(model)
    for rows in (1, 7):
        feed = {"x": RANDOM.standard_normal((rows, inputs)).astype("float32")}
        assert_as_onnxruntime(list(compiled.run(feed)), onnxruntime_outputs(model, feed))


def test_zero_points_that_are_floats() -> None:
    """Guards that they are subtracted as they are, also where the data could be rounded."""
    model, known = layer(20, 64, 32, zeros=True, level=4)
    known["z"] = RANDOM.uniform(0, 15, (20, 2)).astype("float32")
    (place,) = (i for i, given in enumerate(model.graph.initializer) if given.name == "z")
    model.graph.initializer[place].CopyFrom(numpy_helper.from_array(known["z"], "z"))
    x = RANDOM.standard_normal((3, 64)).astype("float32")
    (found,) = baton.compile(model).run({"x": x})
    np.testing.assert_allclose(found, x @ written_out(known, 4).T, rtol=1e-4, atol=1e-4)


def test_weights_that_are_given() -> None:
    """Guards that they are written out."""
    model, known = layer(20, 64, 32, given=("x", "w"))
    assert OPERATOR not in str(from_onnx(model))
    feed = {"x": RANDOM.standard_normal((3, 64)).astype("float32"), "w": known["w"]}
    assert_as_onnxruntime(list(baton.compile(model).run(feed)), onnxruntime_outputs(model, feed))


def test_too_few_numbers() -> None:
    """Guards that weights of another size than the attributes tell are refused."""
    model, known = layer(20, 64, 32)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(known["w"][:19], "w"))
    with pytest.raises(baton.DiagnosticError, match="20 x 64 are needed"):
        from_onnx(model)


# --------------------------------------------------------------------------- data rounded to bytes


def written_out(known: dict[str, Any], bits: int) -> Any:
    """The weights as floats, (units, all blocks)."""

    def numbers(packed: Any) -> Any:
        return (packed[..., None] >> np.arange(0, 8, bits, dtype="uint8") & ((1 << bits) - 1)).reshape(units, -1)

    units, blocks, _ = known["w"].shape
    zeros = np.asarray(known.get("z", np.uint8(1 << (bits - 1))))
    zeros = (numbers(zeros)[:, :blocks] if zeros.dtype == "uint8" else zeros)[..., None] if zeros.ndim else zeros
    whole = numbers(known["w"]).reshape(units, blocks, -1) - zeros.astype("float32")
    return (whole * known["s"].reshape(units, blocks, 1)).reshape(units, -1)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(
    ("bits", "inputs", "block"), [(4, 128, 16), (4, 600, 128), (4, 1024, 512), (8, 320, 64), (2, 320, 64)]
)
def test_rounded_data(zeros: bool, bits: int, inputs: int, block: int) -> None:
    """Guards that an error is at most what half a step of each block's data makes of its weights."""
    model, known = layer(100, inputs, block, zeros, bias=True, bits=bits, level=4)
    assert "rounded=True" in str(from_onnx(model))
    compiled, weights = baton.compile(model), written_out(known, bits)
    for rows in (1, 2, 3, 4, 13):
        x = RANDOM.standard_normal((rows, inputs)).astype("float32")
        x[0, :block] *= 100
        blocks = np.pad(x, ((0, 0), (0, weights.shape[1] - inputs))).reshape(rows, -1, block)
        half_steps = np.repeat(np.abs(blocks).max(axis=2) / 254, block, axis=1)
        exact = blocks.reshape(rows, -1).astype("float64") @ weights.T + known["b"]
        (found,) = compiled.run({"x": x})
        most = half_steps @ np.abs(weights).T
        assert (np.abs(found - exact) <= 1.0001 * most + 1e-3).all()
        assert np.abs(found - exact).max() > 1e-4 * most.max()


@pytest.mark.parametrize("cpu", ["haswell", "nehalem"])
def test_narrower_vectors(cpu: str) -> None:
    """Guards tiles that fit fewer and narrower registers, and what multiplies bytes there."""
    target = Target(f"llvm -mcpu={cpu}")
    if not target.features <= Target("llvm").features:
        pytest.skip("this processor lacks features of the target")
    x = RANDOM.integers(-126, 127, (7, 96)).astype("float32")
    x[:, ::32] = 127
    for bits, level in ((4, 0), (4, 4), (8, 4)):
        model, known = layer(70, 96, 32, zeros=True, bits=bits, level=level)
        compiled, exact = baton.compile(model, target=target), x @ written_out(known, bits).T
        for rows in (1, 2, 7):
            np.testing.assert_allclose(compiled.run({"x": x[:rows]})[0], exact[:rows], rtol=1e-4, atol=0.5)


@pytest.mark.parametrize("zeros", [False, True])
def test_whole_steps(zeros: bool) -> None:
    """Guards that data which are whole steps already lose nothing, as in onnxruntime."""
    model, known = layer(64, 64, 32, zeros, level=4)
    x = RANDOM.integers(-126, 127, (5, 64)).astype("float32") * np.float32(0.25)
    x[:, ::32] = 127 * 0.25
    exact = x @ written_out(known, 4).T
    for found in (baton.compile(model).run({"x": x})[0], onnxruntime_outputs(model, {"x": x})[0]):
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-2)


def test_rounding_extremes() -> None:
    """Guards blocks of zeros, of subnormal numbers, and that numbers which are none stay none."""
    model, known = layer(64, 128, 32, level=4)
    x = np.zeros((4, 128), "float32")
    x[0, 5], x[1, 7] = 1e-42, 3e38
    x[2, 9], x[3, 40] = np.nan, np.inf
    (found,) = baton.compile(model).run({"x": x})
    weights = written_out(known, 4)
    np.testing.assert_allclose(found[0], 1e-42 * weights[:, 5], atol=3e-38)
    np.testing.assert_allclose(found[1], np.float64(3e38) * weights[:, 7], rtol=1e-4)
    assert np.isnan(found[2]).all()
    assert not np.isfinite(found[3]).any()
