"""Convolutions of bytes over blocked channels: words of four channels, exact sums, every access checked."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.cpu import has_byte_dot_instruction
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.layouts.block_channels import BlockChannels
from baton._src.passes.relax.layouts.channel_blocks import in_whole_words, pack_weight
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Constant, Var
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call
from tests.lower.kernel_schedules.only_kernel import only_kernel
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import called, check, const, program, tensor

R: Any = RELAX
STACK = re.compile(r"^\s*v\w+.*\(%rsp\).*$", re.MULTILINE)
WIDE, NARROW = Target("llvm -mcpu=znver4"), Target("llvm -mcpu=haswell -mattr=+avxvnni")

here = pytest.mark.skipif(
    not all(has_byte_dot_instruction(HOST.features, n) for n in (8, HOST.lanes(32))), reason="no VNNI here"
)


def convolution(data: Any, kernel: Any, **attrs: Any) -> tuple[Any, PrimFunc]:
    """(module, kernel) of a requantised convolution of bytes."""
    bb = BlockBuilder()
    x, w = Var("x", TensorStructInfo(list(data), "uint8")), Var("w", TensorStructInfo(list(kernel), "int8"))
    call_ = bb.normalize(R.nn.conv2d(x, w, out_dtype="int32", **attrs))
    shape = call_.struct_info.shape.values
    b = Var("b", TensorStructInfo([1, shape[1], 1, 1, shape[4]], "int32"))
    with bb.function("main", [x, w, b]):
        with bb.dataflow():
            y = bb.emit(R.astype(bb.emit(R.add(bb.emit(call_), b)), "float32"))
            result = bb.emit_output(R.quantize(y, const(700.0), const(9, dtype="uint8"), out_dtype="uint8"))
        bb.emit_func_output(result)
    module = bb.get()
    return module, only_kernel(module)


def blocks(inner: int, outer: int, **attrs: Any) -> dict[str, Any]:
    words = "" if inner == 4 else f"{inner // 4}i"
    kernel = f"OIHW{words}{outer}o4i"
    return {"data_layout": f"NCHW{inner}c", "kernel_layout": kernel, "out_layout": f"NCHW{outer}c", **attrs}


@here
@pytest.mark.parametrize(
    ("data", "kernel", "attrs"),
    [
        ((2, 2, 9, 17, 16), (3, 2, 3, 3, 4, 16, 4), blocks(16, 16, padding=1)),
        ((1, 1, 7, 7, 16), (2, 1, 3, 3, 4, 16, 4), blocks(16, 16, padding=1)),
        ((1, 2, 10, 11, 16), (2, 2, 3, 3, 4, 16, 4), blocks(16, 16, padding=1, strides=2)),
        ((1, 2, 7, 9, 16), (4, 2, 1, 1, 4, 16, 4), blocks(16, 16)),
        ((1, 3, 5, 29, 8), (1, 3, 3, 3, 2, 16, 4), blocks(8, 16, padding=(0, 1, 2, 1))),
        ((1, 1, 5, 30, 16), (3, 1, 3, 3, 4, 8, 4), blocks(16, 8, dilation=2, padding=2)),
        ((1, 4, 5, 9, 16), (4, 2, 3, 3, 4, 16, 4), blocks(16, 16, padding=1, groups=2)),
        ((1, 1, 15, 18, 4), (2, 1, 7, 7, 16, 4), blocks(4, 16, strides=2)),
        ((1, 5, 6, 6, 4), (1, 5, 1, 1, 16, 4), blocks(4, 16)),
        ((1, 3, 9, 20, 16), (3, 1, 3, 3, 16), {**blocks(16, 16, padding=1, groups=48), "kernel_layout": "OIHW16o"}),
        ((1, 2, 9, 9, 8), (2, 1, 5, 5, 8), {**blocks(8, 8, padding=2, groups=16), "kernel_layout": "OIHW8o"}),
    ],
)
def test_sums_are_exact(data: Any, kernel: Any, attrs: Any) -> None:
    """Borders, strides, dilation, one word of channels and several, depthwise: the same as the operators' sums."""
    module, func = convolution(data, kernel, **attrs)
    decision = decide(func, HOST)
    assert decision.rule == "conv_blocked", decision.declined
    rng = np.random.default_rng(0)
    low = {"uint8": (0, 256), "int8": (-128, 128), "int32": (-999, 999)}
    infos = [p.struct_info for p in module["main"].params]
    arguments = [
        rng.integers(*low[str(i.dtype)], [d.value for d in i.shape.values]).astype(str(i.dtype)) for i in infos
    ]
    expected = evaluate(module, "main", *arguments)
    found = np.full_like(expected, 77)
    assert call(build(decision.func, HOST, checked=True), decision.func, *arguments, found) is None
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("target", "block", "width", "window"),
    [(WIDE, 16, 14, 3), (WIDE, 16, 7, 3), (WIDE, 16, 28, 1), (NARROW, 8, 14, 3)],
)
def test_sums_stay_in_registers(target: Target, block: int, width: int, window: int) -> None:
    """Guards that loops over words use the instruction and nothing of them lies on the stack (a bias after may)."""
    attrs = blocks(block, block, padding=window // 2)
    kernel = (4, 4, window, window, block // 4, block, 4)
    _, func = convolution((1, 4, width, width, block), kernel, **attrs)
    decision = decide(func, target)
    assert decision.rule == "conv_blocked", decision.declined
    texts, _ = module_texts({"f": decision.func}, target)
    parts = assembly(texts["f"], Machine.of(target)).split(".LBB")
    loops = [part[: part.rfind("vpdpbusd")] for part in parts if "vpdpbusd" in part]
    assert loops
    assert STACK.findall("".join(loops)) == []


def test_without_the_instruction_bytes_stay_plain() -> None:
    """Guards that only processors which take words get them."""
    _, func = convolution((1, 2, 7, 9, 16), (4, 2, 1, 1, 4, 16, 4), **blocks(16, 16))
    assert decide(func, Target("llvm -mcpu=knl")).rule != "conv_blocked"


def test_weights_with_words_of_channels() -> None:
    """OIHW4i16o4i has i = 4 * word + byte; channels that are missing from a word are zeros."""
    weight = np.arange(16 * 32 * 2, dtype="int32").reshape(16, 32, 1, 2)
    packed = pack_weight(weight, "OIHW4i16o4i")
    assert packed.shape == (1, 2, 1, 2, 4, 16, 4)
    assert packed[0, 1, 0, 1, 2, 5, 3] == weight[5, 16 + 4 * 2 + 3, 0, 1]
    filled = pack_weight(in_whole_words(weight[:, :3], "OIHW16o4i"), "OIHW16o4i")
    assert filled[0, 0, 0, 1, 7, 2] == weight[7, 2, 0, 1]
    assert not filled[..., 3].any()


def test_a_quantised_chain_stays_in_blocks() -> None:
    """Image of 3 channels, convolution, requantised with a border, depthwise, scaled residual: moved once before."""

    def numbers(*shape: int, seed: int = 0) -> Constant:
        return Constant(np.random.default_rng(seed).integers(-99, 99, shape).astype("int8"))

    def conv(b: Any, x: Any, w: Constant, **attrs: Any) -> Any:
        return b.emit(R.astype(b.emit(R.nn.conv2d(x, w, out_dtype="int32", **attrs)), "float32"))

    def chain(b: Any, x: Any) -> Any:
        scale, zero = const(999.0), const(3, dtype="uint8")
        y = b.emit(R.quantize(conv(b, x, numbers(32, 3, 3, 3), padding=1), scale, zero, out_dtype="uint8"))
        wide = b.emit(R.nn.pad(y, [0, 0, 0, 0, 1, 1, 1, 1], pad_value=3.0))
        z = b.emit(R.quantize(conv(b, wide, numbers(32, 1, 3, 3, seed=1), groups=32), scale, zero, out_dtype="uint8"))
        u = conv(b, z, numbers(32, 32, 1, 1, seed=2))
        return b.emit(R.mean(b.emit(R.add(u, b.emit(R.dequantize(y, scale, zero)))), axis=[2, 3]))

    def blocked(module: Any) -> Any:
        with WIDE:
            return DeadCodeElimination()(BlockChannels()(module))

    image = np.random.default_rng(1).integers(0, 256, (1, 3, 6, 5)).astype("uint8")
    after = check(blocked, program([tensor("x", 1, 3, 6, 5, dtype="uint8")], chain), image, rtol=1e-3)
    assert called(after).count("permute_dims") == 1
    assert called(after).count("nn.pad") == 2  # the border, and the fourth channel of the image
