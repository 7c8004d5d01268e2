"""Tensors and buffers in errors: `float32(4, n)`."""

from __future__ import annotations

from baton._src.te.tensor import Tensor
from baton._src.tir.buffer import Buffer
from baton._src.tir.text.printer import node_text


def shape_text(tensor: Tensor | Buffer) -> str:
    """The sizes, as TVMScript writes them."""
    return f"({', '.join(map(node_text, tensor.shape))})"


def kind_text(tensor: Tensor | Buffer) -> str:
    """The dtype and the sizes."""
    return f"{tensor.dtype}{shape_text(tensor)}"
