"""Tensor arrays of the Prelude: made, read, written, split, joined; interpreted and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relay
from baton._src.driver.relay.prelude import Prelude, StaticTensorArrayOps
from tests.relay.programs import error_of, plain, read

PRELUDE = Prelude()
PRELUDE.get_type("tensor_t", "float32")
StaticTensorArrayOps(PRELUDE, "float32", (2,)).register()

ROW = "tensor1_float32(Constant({}, (2,), float32))"
TWO = f"Cons({ROW.format(1)}, Cons({ROW.format(2)}, Nil))"
FIXED = "tensor_constructor_float32_2(Constant({}, (2,), float32))"
INDEX = "Constant(1, (1,), int32)"


def evaluate(text: str, kind: str = "debug") -> object:
    return plain(relay.create_executor(kind, PRELUDE.mod).evaluate(read(text, PRELUDE.mod)))


PROGRAMS = [
    (f"@tensor_array_stack_float32({TWO})", ("tensor2_float32", [[1, 1], [2, 2]])),
    (f"@tensor_array_concat_float32({TWO})", ("tensor1_float32", [1, 1, 2, 2])),
    (f"@tensor_array_read_float32({TWO}, 1)", ("tensor1_float32", [2, 2])),
    (
        f"@tensor_array_read_float32(@tensor_array_write_float32(@tensor_array_float32(2), 1, {ROW.format(5)}), 1)",
        ("tensor1_float32", [5, 5]),
    ),
    (f"@tensor_array_gather_float32({TWO}, {INDEX})", ("tensor2_float32", [[2, 2]])),
    (
        f"@tensor_array_stack_float32(@tensor_array_scatter_float32({TWO}, {INDEX}, Cons({ROW.format(7)}, Nil)))",
        ("tensor2_float32", [[1, 1], [7, 7]]),
    ),
    (
        "@tensor_array_stack_float32(@tensor_array_unstack_tensor2_float32(Constant(3, (2, 2), float32)))",
        ("tensor2_float32", [[3, 3], [3, 3]]),
    ),
    (
        f"@tensor_array_read_float32(@tensor_array_split_float32(@tensor_array_float32(2), {ROW.format(4)}, "
        "Constant(1, (2,), int32)), 1)",
        ("tensor1_float32", [4]),
    ),
    (f"@tensor_get_data_float32_2(@nth(Cons({FIXED.format(6)}, Nil), 0))", [6, 6]),
    (f"@tensor_array_stack_float32_2(Cons({FIXED.format(1)}, Cons({FIXED.format(2)}, Nil)))", [[1, 1], [2, 2]]),
]


@pytest.mark.rule("RELAY-PRELUDE-4")
@pytest.mark.parametrize(("text", "wanted"), PROGRAMS)
def test_values(text: str, wanted: object) -> None:
    assert evaluate(text) == wanted


@pytest.mark.parametrize(("text", "wanted"), [PROGRAMS[0], PROGRAMS[3], PROGRAMS[-1]])
def test_compiled(text: str, wanted: object) -> None:
    assert evaluate(text, "vm") == wanted


@pytest.mark.rule("RELAY-PRELUDE-4", rejects=True)
def test_reading_beyond_the_end() -> None:
    assert error_of(lambda: evaluate(f"@tensor_array_read_float32({TWO}, 5)")).code


def test_names() -> None:
    prelude = Prelude()
    assert prelude.get_global_var("tensor_array_read", "int64").name_hint == "tensor_array_read_int64"
    assert prelude.get_tensor_ctor("tensor2", "int64").name_hint == "tensor2_int64"
    assert prelude.get_ctor("List", "Cons").name_hint == "Cons"
    assert prelude.map.name_hint == "map"
    fixed = prelude.get_global_var_static("tensor_array_stack", "int8", (relay.Any(), 3))
    assert fixed.name_hint == "tensor_array_stack_int8_any_3"
    assert error_of(lambda: prelude.get_type("tensor_t", "complex64")).code == "api"


@pytest.mark.parametrize("shape", [(relay.Any(), 2), (2, 2)])
@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_static_arrays_split_and_concatenate(shape: Any, kind: str) -> None:
    """A tensor cut into pieces, and the pieces one behind the other."""
    module = tvm.IRModule()
    prelude = relay.Prelude(module)
    split, array, concat = (
        prelude.get_global_var_static(f"tensor_array{part}", "float32", shape) for part in ("_split", "", "_concat")
    )
    v, n = relay.var("v", shape=(relay.Any(), 2)), relay.var("n", shape=(relay.Any(),), dtype="int32")
    pieces = relay.Call(split, [relay.Call(array, [relay.const(2)]), v, n])
    module["main"] = relay.Function([v, n], relay.Tuple([pieces, relay.Call(concat, [pieces])]))
    whole = np.arange(8, dtype="float32").reshape(4, 2)
    found, joined = relay.create_executor(kind, module).evaluate()(whole, np.array([2, 2], "int32"))
    np.testing.assert_array_equal(joined.numpy(), whole)
    np.testing.assert_array_equal(found.fields[0].fields[0].numpy(), whole[:2])
