"""Constants of Relay text: `1`, `2f`, `True`, `Constant(0, (2, 3), float32)`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from baton._src.relay.check.elaboration import Elaboration
from baton._src.relay.nodes import Constant
from baton._src.relay.text.attribute_reader import MAX_LITERAL, AttributeReader
from baton._src.relay.text.cursor import Cursor
from baton._src.relay.text.lexer import Kind, Token
from baton._src.relay.text.type_reader import TypeReader
from baton._src.tir.expr import IntImm
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray


class ConstantReader:
    """Makes the constants that tokens stand for."""

    def __init__(
        self, cursor: Cursor, types: TypeReader, attributes: AttributeReader, elaboration: Elaboration
    ) -> None:
        self._cursor = cursor
        self._types = types
        self._attributes = attributes
        self._elaboration = elaboration

    def boolean(self, token: Token) -> Constant:
        """`True` or `False`."""
        value = np.asarray(token.text == "True")
        return Constant(NDArray(value), span=self._cursor.span_of(token))

    def literal(self, token: Token, negative: bool = False) -> Constant:
        """The number of a token; inference chooses its dtype where the text does not."""
        literal = self._attributes.number(token, negative)
        made = Constant(NDArray(literal.array()), span=self._cursor.span_of(token))
        if literal.is_open:
            self._elaboration.literals[made] = None
        return made

    def filled(self, token: Token) -> Any:
        """`Constant(value, shape, dtype)`: a tensor filled with a literal (contradictions B-06)."""
        cursor = self._cursor
        cursor.next()
        negative = cursor.accept("-")
        number = cursor.expect_kind(Kind.NUMBER, "that fills the constant")
        value = self._attributes.number(number, negative)
        cursor.expect(",", "between the value and the shape of a constant")
        shape = self._types.shape()
        cursor.expect(",", "between the shape and the dtype of a constant")
        name = cursor.token
        dtype = self._types.dtype()
        cursor.expect(")", "after the dtype of a constant")
        dims = tuple(int(d.value) for d in shape if isinstance(d, IntImm)) if isinstance(shape, tuple) else None
        if dims is None or len(dims) != len(shape) or math.prod(dims) > MAX_LITERAL:
            raise cursor.fault("the shape of a constant is made of numbers, and not too large", token)
        if not isinstance(dtype, DataType):
            raise cursor.fault(f"a constant has a particular dtype, {name.text} stands for any", name)
        if not _holds(dtype, value.value):
            raise cursor.fault(f"{value.value} does not fit {dtype}", number)
        filled = np.full(dims, value.value).astype(dtype.numpy)
        return Constant(NDArray(filled), span=cursor.span(token.start))


def _holds(dtype: DataType, number: float) -> bool:
    """Whether a number is one of the dtype; floats round it."""
    if dtype.is_float:
        return True
    low, high = dtype.int_range
    return low <= number <= high and number == int(number)
