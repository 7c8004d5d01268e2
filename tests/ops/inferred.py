"""What is known of a call of an operator, whose operands are given as what is known of them."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import TensorInfo
from baton._src.ops.call_maker import make_attrs
from baton._src.ops.catalogue import CATALOGUE
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.dtype import DataType
from tests.ops.prover import PROVER


def t(*shape: Any, dtype: str = "float32") -> TensorInfo:
    """A tensor of known shape."""
    return TensorInfo(shape, DataType(dtype))


def infer(name: str, *args: Any, values: tuple[Any, ...] = (), **attributes: Any) -> Any:
    """What is known of a call."""
    definition = CATALOGUE.get(name)
    record = make_attrs(definition, attributes) or definition.attrs()
    return definition.infer(OpCall(definition, args, record, PROVER, values))


def rejects(message: str, name: str, *args: Any, **attributes: Any) -> None:
    """The call must be refused, saying `message`."""
    with pytest.raises(DiagnosticError, match=message):
        infer(name, *args, **attributes)
