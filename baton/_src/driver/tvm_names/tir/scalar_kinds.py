"""Kinds of scalar expressions for which TVM has classes: constants, and effects of calls."""

from __future__ import annotations

from enum import IntEnum

from baton._src.driver.tvm_names.objects import Like
from baton._src.tir.expr import FloatImm, IntImm


class ConstExpr(metaclass=Like):
    """A literal number."""

    kinds = (IntImm, FloatImm)


class CallEffectKind(IntEnum):
    """The kind of side effect of a call."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    Opaque = 3
    SpecialCallArg = 4
    EmbedInfo = 5
    ControlJump = 6
