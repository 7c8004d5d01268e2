"""The metadata section as TVM writes it, and TVM's files of parameters: read as they are, refused where malformed."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.ir.structural_hash import structural_hash
from baton._src.values.tvm_format import LIST_MAGIC, TENSOR_MAGIC
from tests.relay.programs import error_of

CODES = {"i": 0, "u": 1, "f": 2}


def tensor_bytes(array: Any) -> bytes:
    """A tensor in TVM's layout, written down independently of the reader."""
    kind = CODES[array.dtype.kind]
    head = struct.pack("<QQiii", TENSOR_MAGIC, 0, 1, 0, array.ndim)
    dtype = struct.pack("<BBH", kind, array.dtype.itemsize * 8, 1)
    sizes = struct.pack(f"<{array.ndim}q", *array.shape) + struct.pack("<q", array.nbytes)
    return head + dtype + sizes + bytes(array.tobytes())


def params_bytes(params: dict[str, Any]) -> bytes:
    names = b"".join(struct.pack("<Q", len(n)) + n.encode() for n in params)
    count = struct.pack("<Q", len(params))
    return struct.pack("<QQ", LIST_MAGIC, 0) + count + names + count + b"".join(map(tensor_bytes, params.values()))


def section(*arrays: Any, **changes: Any) -> str:
    """What SaveJSON writes for constants: a table of nodes, tensors apart."""
    constants = [{"type_key": "relay.Constant", "attrs": {"data": str(i), "span": "0"}} for i in range(len(arrays))]
    content = {
        "root": 1,
        "nodes": [
            {"type_key": ""},
            {"type_key": "Map", "keys": ["relay.Constant", "tir.IntImm"], "data": [2, 3]},
            {"type_key": "Array", "data": [5 + i for i in range(len(arrays))]},
            {"type_key": "Array", "data": [4]},
            {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "7"}},
            *constants,
        ],
        "b64ndarrays": [base64.b64encode(tensor_bytes(a)).decode() for a in arrays],
        "attrs": {"tvm_version": "0.14.0"},
        **changes,
    }
    return "#[metadata]\n" + json.dumps(content, indent=2)


TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  add(multiply(%x, meta[relay.Constant][0]), cast(meta[relay.Constant][1], dtype="float32"))
}
"""


def test_constants_of_tvm() -> None:
    scale, shift = np.array([2, 3], "float32"), np.array([10, 20], "int64")
    module = relay.parse(TEXT + section(scale, shift))
    found = relay.create_executor("debug", module).evaluate()(np.ones(2, "float32"))
    assert found.numpy().tolist() == [12, 23]


def test_attributes_as_tvm_writes_them() -> None:
    """The record of arange repeats the operands, which are metadata where they are constants; flags may be 0 and 1."""
    bounds = ", ".join(f"{name}=meta[relay.Constant][{i}]" for i, name in enumerate(("start", "stop", "step")))
    text = f"""#[version = "0.0.5"]
def @main() {{
  mean(arange(0f, 6f, 2f, {bounds}, dtype="float32"), axis=[0], keepdims=1)
}}
"""
    module = relay.parse(text + section(*(np.float32(v) for v in (0, 6, 2))))
    assert relay.create_executor("debug", module).evaluate()().numpy().tolist() == [2]
    assert structural_equal(relay.parse(module.astext()), module)


def test_malformed_sections() -> None:
    """Each is a diagnostic that names the section."""
    one = np.array([2, 3], "float32")
    for changed in (
        section(one, one, b64ndarrays=[]),
        section(one, one, b64ndarrays=["AAAA", "AAAA"]),
        section(one, one, root=99),
        section(one, one, nodes=[{}, {}]),
        section(one, one, nodes=[]),
        section(one, one)[:-20],
    ):
        assert "metadata" in str(error_of(lambda text=TEXT + changed: relay.parse(text)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32", "int64", "float16"])
def test_parameters_of_tvm(dtype: str) -> None:
    params = {"w": np.arange(6).reshape(2, 3).astype(dtype), "b": np.array(5, dtype)}
    found = relay.load_param_dict(params_bytes(params))
    assert list(found) == ["w", "b"]
    for name, array in params.items():
        np.testing.assert_array_equal(found[name].numpy(), array)
        assert found[name].numpy().dtype == array.dtype


def test_malformed_parameters() -> None:
    whole = params_bytes({"w": np.ones(3, "float32")})
    for cut in (9, 20, 30, 60, len(whole) - 1):
        assert error_of(lambda cut=cut: relay.load_param_dict(whole[:cut])).code == "tvm-format"


def test_annotations_stand_in_place_of_types() -> None:
    """Guards astext(annotate=...): what the callback gives stands behind calls instead of the type."""
    x = relay.var("x", shape=(2,))
    function = relay.Function([x], relay.exp(x) + x)
    typed = relay.transform.InferType()(IRModule.from_expr(function))
    found = typed.astext(show_meta_data=False, annotate=lambda e: f" /* {e.op.name} */" if hasattr(e, "op") else "")
    assert "exp(%x) /* exp */;" in found
    assert "ty=" not in found


def test_inferred_types_count_as_written() -> None:
    """A result or variable without a type is, once it is inferred, the same as one with it (as in TVM)."""
    x, y, z = relay.var("x", shape=(2,)), relay.var("y"), relay.var("z", shape=(2,))
    bare = relay.Function([x], relay.Let(y, relay.exp(x), y))
    full = relay.Function([x], relay.Let(z, relay.exp(x), z), relay.TensorType((2,)))
    bare_module, full_module = IRModule.from_expr(bare), IRModule.from_expr(full)
    assert not structural_equal(bare_module, full_module)
    typed = relay.transform.InferType()(bare_module)
    assert structural_equal(typed, relay.transform.InferType()(full_module))
    assert structural_equal(typed, relay.transform.InferType()(IRModule.from_expr(bare)))
    assert structural_hash(typed) == structural_hash(relay.transform.InferType()(full_module))


def test_objects_given_beside_the_text() -> None:
    """`init_meta_table`: what `meta[key][i]` means where the text has no section of its own."""
    table = {"relay.Constant": [relay.const(np.float32([1, 2])), relay.const(np.float32([3, 4]))]}
    text = "def @main() { meta[relay.Constant][1] } def @other() { meta[relay.Constant][0] }"
    module = relay.parse(text, init_meta_table=table)
    assert module["main"].body.data.numpy().tolist() == [3, 4]
    assert module["other"].body.data.numpy().tolist() == [1, 2]
    with pytest.raises(baton.error.DiagnosticError, match="the section has 2"):
        relay.parse("def @main() { meta[relay.Constant][2] }", init_meta_table=table)
