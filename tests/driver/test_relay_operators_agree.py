"""Every operator of Relay, called in Relay with its samples: the interpreter and the machine agree.

What the catalogue's own tests leave out is the way from a Relay call to the Relax one: attributes that become operands,
defaults, and shapes that are not those of the result.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from baton._src.driver.relay.executors import create_executor
from baton._src.ir.module import IRModule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.samples import Arr, Sample, Shape, concrete
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Call, Function, Tuple, var
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import AnyDim
from tests.relay.programs import read_module

RELAX_ONLY = ("nn.layer_norm", "nn.group_norm", "nn.instance_norm", "nn.pad")
"""Their samples use attributes or operands that Relay's form does not have; they are called in test_relay_forms."""
NAMES = [
    d.name
    for d in CATALOGUE
    if d.relay_op is not None and d.samples is not None and d.name not in RELAX_ONLY and any(d.samples())
]


def relay_call(name: str, sample: Sample, is_open: bool = False) -> tuple[Function, list[Any]] | None:
    """The sample as a function of its tensors (with `is_open` of unknown dims), and their values; None where only Relax
    has the operands."""
    definition = CATALOGUE.get(name)
    rng = np.random.default_rng(0)
    params: list[Any] = []
    values: list[Any] = []

    def tensor(arr: Arr) -> Any:
        values.append(arr.draw(rng, sample.dims))
        shape = tuple(AnyDim() if is_open else d for d in values[-1].shape)
        params.append(var(f"x{len(params)}", shape=shape, dtype=str(values[-1].dtype)))
        return params[-1]

    args: list[Any] = []
    attrs = sample.attrs
    for operand, given in zip(definition.inputs, sample.args):
        in_relay = "relay" in operand.languages
        if isinstance(given, Arr) and in_relay:
            args.append(tensor(given))
        elif isinstance(given, tuple) and given and isinstance(given[0], Arr) and in_relay:
            args.append(Tuple([tensor(a) for a in given]))
        elif not in_relay:
            dims = tuple(concrete(d, sample.dims) for d in given.dims) if isinstance(given, Shape) else given
            attrs = attrs.with_attrs(**{operand.relay_name or operand.name: dims})
        else:
            return None
    assert definition.relay_op is not None
    return Function(params, Call(definition.relay_op, args, attrs if attrs.names else None)), values


def outcome(kind: str, function: Function, values: list[Any], is_open: bool) -> list[Any]:
    try:
        return leaves(create_executor(kind).evaluate(function)(*values))
    except DiagnosticError as error:
        if not is_open or error.code != "value-mismatch":
            raise
        return []


def leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple) else [value.numpy()]


@pytest.mark.parametrize("name", NAMES)
def test_samples(name: str) -> None:
    samples = CATALOGUE.get(name).samples
    assert samples is not None
    made = relay_call(name, next(iter(samples())))
    if made is None:
        pytest.skip("the sample's operands are Relax's")
    agree(*made)


def agree(function: Function, values: list[Any], is_open: bool = False, tolerance: float = 1e-3) -> None:
    """Both ways give the same; what does not fit the types that unknown dims got, both refuse."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, found = (outcome(kind, function, values, is_open) for kind in ("debug", "vm"))
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a.astype("float64"), b.astype("float64"), rtol=tolerance, atol=tolerance)


SYMBOLIC = ("strided_slice", "full")
"""Some of their samples have variables in attributes, which is Relax's way."""
OPEN = ["reshape", "image.resize1d", "squeeze", "concat", "nn.conv2d", "nn.avg_pool2d", "split", "take", "sum"]


@pytest.mark.parametrize(
    "name", [*OPEN, *(pytest.param(n, marks=pytest.mark.fuzz) for n in NAMES if n not in (*OPEN, *SYMBOLIC))]
)
def test_samples_of_unknown_dims(name: str) -> None:
    """Every sample, its dims known only when it runs; those that Relay cannot type then are refused in words."""
    samples = CATALOGUE.get(name).samples
    assert samples is not None
    for sample in samples():
        made = relay_call(name, sample, is_open=True) if sample.in_relay else None
        if made is None:
            continue
        try:
            infer_type(IRModule({"main": made[0]}))
        except DiagnosticError as error:
            assert error.code in ("op-shape", "op-axis", "op-attribute")  # noqa: PT017  some samples are typed
            continue
        agree(*made, is_open=True, tolerance=max(1e-3, sample.rtol, sample.atol))


@pytest.mark.parametrize(
    "text",
    [
        'image.resize2d(%x, size=[6, 8], layout="NCHW", method="nearest_neighbor")',
        "image.affine_grid(reshape(%x, newshape=[4, 2, 3]), target_shape=[4, 5])",
        "nn.pad(%x, 2f, pad_width=[[0, 0], [0, 0], [1, 0], [0, 1]])",
        'nn.layer_norm(%x, ones(shape=[4], dtype="float32"), zeros(shape=[4], dtype="float32"))',
        'nn.instance_norm(%x, ones(shape=[2], dtype="float32"), zeros(shape=[2], dtype="float32"))',
        'nn.group_norm(%x, ones(shape=[2], dtype="float32"), zeros(shape=[2], dtype="float32"), num_groups=2)',
    ],
)
def test_relay_forms(text: str) -> None:
    """Calls whose target shape is an attribute, or whose sample is written for Relax."""
    module = read_module(f"def @main(%x: Tensor[(1, 2, 3, 4), float32]) {{ {text} }}")
    data = np.random.default_rng(0).standard_normal((1, 2, 3, 4)).astype("float32")
    first, second = (create_executor(k, module).evaluate()(data).numpy() for k in ("debug", "vm"))
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-5)
