"""Operators with attributes and operands that are seldom given: refused with a reason, or what they mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ops.builders import RELAY
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relax import nodes as relax
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relay import nodes as relay
from baton._src.te.computation import placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.values.dtype import DataType
from tests.ops.inferred import infer, rejects, t
from tests.ops.relax_values import evaluate


def computed(name: str, inputs: list[Any], out: Any, *values: Any, **attributes: Any) -> Any:
    """What the kernel of an operator gives, interpreted."""
    definition = CATALOGUE.get(name)
    made = definition.compute(inputs, definition.attrs(**attributes), out)
    found = np.zeros([int(d) for d in out.shape], out.dtype.numpy)
    run_prim_func(create_prim_func([*dict.fromkeys(inputs), made]), [*values, found])
    return found


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_what_64_bits_would_hold_is_not_quantised(dtype: str) -> None:
    """Numbers were cut at 2**40, or the kernel could not be made."""
    operands = (t(2, dtype="float64"), t(dtype="float64"), t(dtype="int32"))
    rejects("at most 32 bits", "quantize", *operands, out_dtype=dtype)
    assert infer("quantize", *operands, out_dtype="uint32").dtype == DataType("uint32")


def test_one_tensor_is_data_and_multiplier() -> None:
    """The multiplier, whose axes lie in another order, was read as the data is."""
    x = (np.array([[3, 5], [7, 9]]) << 26).astype("int32")
    both, none = placeholder((2, 2), "int32", "x"), placeholder((2, 2), "int32", "s")
    found = computed(
        "fixed_point_multiply_per_axis", [both, both, none, none], t(2, 2, dtype="int32"), x, x * 0, axes=(1, 0)
    )
    np.testing.assert_array_equal(found, (x.astype("int64") * x.T + (1 << 30)) >> 31)


def test_modes_that_there_are_none_of() -> None:
    """Every other word stood for CRD."""
    rejects("mode must be DCR or CRD", "nn.depth_to_space", t(1, 4, 2, 2), block_size=2, mode="dcr")


def test_parameters_that_distributions_do_not_have() -> None:
    """They were passed over in silence."""
    key = RELAY.random.threefry_key(0)
    drawn = RELAY.random.uniform(key, (2,), "float64", high=relay.Var("h")).astuple()
    assert [a.data.data.item() for a in drawn.args[1:2]] == [0.0]
    for wrong in ({"hi": 3}, {"mean": 0}):
        with pytest.raises(TypeError):
            RELAY.random.uniform(key, (2,), **wrong)
    with pytest.raises(TypeError):
        RELAY.random.normal(key, (2,), "float32", 0.0, 1.0, 2.0)


def test_codes_of_no_dtype_leave_data_alone() -> None:
    """The kernel took them for int32, the reference had no range for them."""
    definition = CATALOGUE.get("qnn.simulated_quantize")
    x = np.array([1.25, -5e9], "float32")
    given = (x, np.array(4, "int32"), np.float32(0.5), np.array(1, "int32"))
    names = [placeholder(np.shape(v), str(v.dtype), f"p{n}") for n, v in enumerate(given)]
    np.testing.assert_array_equal(definition.reference(given, definition.attrs()), x)
    np.testing.assert_array_equal(computed(definition.name, names, t(2), *map(np.asarray, given)), x)


def test_channels_that_the_kernel_does_not_have() -> None:
    """Guards what nn.conv2d always refused: transposed ones passed them over."""
    operands = (t(1, 4, 3, 3), t(4, 2, 3, 3))
    rejects("channels is 6, but the kernel has 4", "nn.conv2d_transpose", *operands, groups=2, channels=6)
    assert infer("nn.conv2d_transpose", *operands, groups=2, channels=4).shape == (1, 4, 5, 5)


def test_a_batch_of_one_is_its_own_mean() -> None:
    """x * scale - mean * scale, as the operator is written in others, was 1e-5 beside nothing."""
    definition = CATALOGUE.get("nn.batch_norm")
    given = [np.array([[0.3, -1.7]], "float32"), *np.array([[1, 2], [0.1, 0.2], [0, 0], [1, 1]], "float32")]
    args = tuple(relax.Var(f"p{n}", TensorStructInfo(v.shape, v.dtype)) for n, v in enumerate(given))
    out = infer("nn.batch_norm", *(t(*v.shape) for v in given), training=True)
    made = definition.decompose(RelaxMaker(definition, CATALOGUE), args, definition.attrs(training=True), out)
    found = evaluate(made, dict(zip(args, given)))
    np.testing.assert_array_equal(found[0], given[2][None])
