"""What is known of a call of Relax when less is known of its operands: less is said, never something else."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.op_def import OpCall, OpDef
from baton._src.ir.tensor_info import Info, ShapeInfo, TensorInfo, TupleInfo
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relax.check.compatibility import is_subtype
from baton._src.relax.check.dims import Answer
from baton._src.relax.info import from_info
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.values.dtype import VOID, DataType
from tests.ops.inferred import infer, t
from tests.ops.prover import PROVER
from tests.ops.sampled_calls import SampledCall

OPERATORS = [d for d in CATALOGUE if d.in_relax and d.samples is not None]
DEVICE = object()
ANALYZER = Analyzer()


def _without(info: Info, said: str) -> Info:
    """`info` that says nothing of: its dims (`dims`), its rank (`rank`), its dtype (`dtype`), anything (`all`)."""
    if isinstance(info, TupleInfo):
        return TupleInfo(tuple(_without(f, said) for f in info.fields))
    if isinstance(info, ShapeInfo) and said != "dtype":
        return ShapeInfo(None, info.ndim if said == "dims" else -1)
    if isinstance(info, TensorInfo):
        shape = info.shape if said == "dtype" else None
        dtype = VOID if said in ("dtype", "all") else info.dtype
        return TensorInfo(shape, dtype, info.ndim if said == "dims" else -1)
    return info


def _on_device(info: Info) -> Info:
    if isinstance(info, TupleInfo):
        return TupleInfo(tuple(_on_device(f) for f in info.fields))
    if not isinstance(info, TensorInfo):
        return info
    return TensorInfo(info.shape, info.dtype, vdevice=DEVICE)


@pytest.mark.parametrize("definition", OPERATORS, ids=lambda d: d.name)
def test_less_known_operands_give_a_supertype(definition: OpDef[Any]) -> None:
    """Guards every rule: one operand, or all, without dims, rank or dtype. Of a reshape by Relay's special values, of
    which -4 is no dim, the rank was wrong."""
    for sample in definition.samples() if definition.samples else ():
        call = SampledCall(definition, sample, symbolic=False)
        known = from_info(call.infer())
        everything = set(range(len(call.infos)))
        for said in ("dims", "rank", "dtype", "all"):
            for hidden in (everything, *({i} for i in everything)):
                infos = tuple(_without(x, said) if i in hidden else x for i, x in enumerate(call.infos))
                found = definition.infer(OpCall(definition, infos, sample.attrs, PROVER))
                assert is_subtype(known, from_info(found), ANALYZER) is Answer.YES, (said, hidden)


@pytest.mark.parametrize("definition", OPERATORS, ids=lambda d: d.name)
def test_results_are_on_the_device_of_the_operands(definition: OpDef[Any]) -> None:
    """Guards the device in every rule: full and meshgrid forgot it."""
    for sample in definition.samples() if definition.samples else ():
        call = SampledCall(definition, sample, symbolic=False)
        if not any(isinstance(i, (TensorInfo, TupleInfo)) for i in call.infos):
            continue
        infos = tuple(_on_device(i) for i in call.infos)
        found = definition.infer(OpCall(definition, infos, sample.attrs, PROVER))
        for result in found.fields if isinstance(found, TupleInfo) else (found,):
            assert not isinstance(result, TensorInfo) or result.vdevice is DEVICE


LABELS = t(2, dtype="int64")
HALF = "float16"


@pytest.mark.parametrize(
    ("name", "operands", "attributes"),
    [
        ("nn.batch_norm", (t(2, 3), t(3, dtype=HALF), t(3), t(3), t(3)), {}),
        ("nn.batch_norm", (t(2, 3), t(3), t(3), t(3), t(3, dtype="int32")), {}),
        ("nn.layer_norm", (t(2, 3), t(3), t(3, dtype=HALF)), {"axes": [-1]}),
        ("nn.rms_norm", (t(2, 3), t(3, dtype="int32")), {"axes": [-1]}),
        ("nn.group_norm", (t(2, 4, 3), t(4, dtype=HALF), t(4)), {"num_groups": 2, "channel_axis": 1, "axes": [2]}),
        ("nn.nll_loss", (t(2, 3), LABELS, t(3, dtype=HALF)), {}),
        ("grad.nll_loss_backward", (t(dtype=HALF), t(2, 3), LABELS), {}),
        ("grad.max_pool2d_backward", (t(1, 1, 2, 2, dtype="int32"), t(1, 1, 4, 4)), {"pool_size": 2, "strides": 2}),
        ("grad.take_backward", (t(2, dtype=HALF), t(3), LABELS), {"axis": 0}),
        ("multinomial_from_uniform", (t(2, 3, dtype="int32"), t(4, 1), t(4, 1, dtype="int64")), {}),
        ("quantize", (t(2), t(dtype="int32"), t(dtype="int8")), {}),
        ("image.grid_sample", (t(1, 1, 2, 2), t(1, 2, 2, 2, dtype="int32")), {}),
    ],
)
def test_operands_of_other_dtypes_are_refused(name: str, operands: Any, attributes: dict[str, Any]) -> None:
    """Guards what TVM refuses, too: weights, gradients and parameters that are not of the data's dtype."""
    with pytest.raises(DiagnosticError, match=r"error\[op-dtype\]"):
        infer(name, *operands, **attributes)


def test_dtypes_that_may_differ() -> None:
    """Guards against too much: unknown dtypes, and floats of other widths to draw with."""
    unknown = TensorInfo((3,))
    assert infer("nn.layer_norm", t(2, 3), unknown, t(3), axes=[-1]).dtype == DataType("float32")
    draws = (t(4, 1, dtype="float64"), t(4, 1, dtype="int64"))
    assert infer("multinomial_from_uniform", t(2, 3, dtype=HALF), *draws).shape == (4, 1)
