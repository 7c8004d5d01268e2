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
    (
        f"@tensor_array_stack_float32_2(Cons({FIXED.format(1)}, Cons({FIXED.format(2)}, Nil)))",
        ("tensor_constructor_float32_any_2", [[1, 1], [2, 2]]),
    ),
    (
        f"@tensor_array_gather_float32_2(Cons({FIXED.format(1)}, Cons({FIXED.format(2)}, Nil)), {INDEX})",
        ("tensor_constructor_float32_any_2", [[2, 2]]),
    ),
    (f"@tensor_take_float32_2({FIXED.format(6)}, 1, 2)", ("tensor_constructor_float32_any", [6])),
    (
        f"@tensor_concatenate_float32_2({FIXED.format(1)}, {FIXED.format(2)})",
        ("tensor_constructor_float32_any", [1, 1, 2, 2]),
    ),
    (f"@tensor_expand_dims_float32_2({FIXED.format(6)})", ("tensor_constructor_float32_any_2", [[6, 6]])),
    (
        "@nth(@tensor_array_unstack_float32_2(Constant(4, (2,), float32)), 1)",
        ("tensor_constructor_float32_scalar", 4),
    ),
]


@pytest.mark.rule("RELAY-PRELUDE-4")
@pytest.mark.parametrize(("text", "wanted"), PROGRAMS)
def test_values(text: str, wanted: object) -> None:
    assert evaluate(text) == wanted


@pytest.mark.parametrize(("text", "wanted"), [PROGRAMS[0], PROGRAMS[3], *PROGRAMS[-6:]])
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
    """A tensor cut into pieces, and the pieces one behind the other: both of a type whose first axis is open."""
    module = tvm.IRModule()
    prelude = relay.Prelude(module)
    split, concat = (
        prelude.get_global_var_static(f"tensor_array_{part}", "float32", shape) for part in ("split", "concat")
    )
    array = prelude.get_global_var_static("tensor_array", "float32", (relay.Any(), 2))
    make = prelude.get_tensor_ctor_static("tensor_constructor", "float32", shape)
    v, n = relay.var("v", shape=shape), relay.var("n", shape=(relay.Any(),), dtype="int32")
    pieces = relay.Call(split, [relay.Call(array, [relay.const(2)]), make(v), n])
    module["main"] = relay.Function([v, n], relay.Tuple([pieces, relay.Call(concat, [pieces])]))
    whole = np.arange(8, dtype="float32").reshape(4, 2)[: 4 if shape != (2, 2) else 2]
    lengths = np.array([1, len(whole) - 1], "int32")
    found, joined = relay.create_executor(kind, module).evaluate()(whole, lengths)
    np.testing.assert_array_equal(joined.fields[0].numpy(), whole)
    np.testing.assert_array_equal(found.fields[0].fields[0].numpy(), whole[:1])


def test_arrays_of_several_shapes_share_what_they_have_in_common() -> None:
    """As TVM's StaticTensorArrayOps: each registered once, the empty constructor first."""
    prelude = Prelude()
    for shape in ((2, 3), (3,), (relay.Any(), 3), ()):
        ops = StaticTensorArrayOps(prelude, "int32", shape)
        ops.register()
        ops.register()
        kind, nil, make = prelude.mod.get_type(ops.get_name("tensor_t"))
        assert ops.get_type("tensor_t") is kind
        assert (ops.get_ctor("tensor_nil"), ops.get_ctor("tensor_constructor")) == (nil, make)
    taken = prelude.mod[prelude.get_global_var_static("tensor_take", "int32", (2, 3))]
    assert str(taken.ret_type) == "static_tensor_int32_any_3_t[]"
    assert error_of(lambda: prelude.get_global_var_static("tensor_take", "int32", ())).code == "module-missing"
