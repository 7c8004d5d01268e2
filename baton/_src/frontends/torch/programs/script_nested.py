"""Nested tensors of TorchScript: sequences of unequal lengths, which PyTorch's transformers hold without what is padded
where no gradients are wanted. They stay padded here, beside a mask of what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.program import SOURCE
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

_PADDING = 1
"""What PyTorch calls a mask [sequence, place] of keys."""


@dataclass(frozen=True)
class Nested:
    """Sequences [sequence, place, ...], and where they have elements [sequence, place]."""

    padded: Any
    present: Any


def has_nested(given: Sequence[Any]) -> bool:
    return any(isinstance(g, Nested) for g in given)


def call(kind: str, given: Sequence[Any], line: str) -> Any:
    """What an operator gives that makes nested tensors, or is given some."""
    if kind not in OWN:
        help = "trace the model where gradients are on (outside torch.no_grad()), or import it from torch.export"
        raise fail("torch-script", f"{line}: {kind} of a nested tensor is not supported", help=help)
    with torch_library().fx.traceback.annotate({SOURCE: line}):
        return OWN[kind](*given)


def _nested(x: Any, present: Any, *_: Any) -> Nested:
    return Nested(x, present.to(torch_library().bool))


def _encoder_layer(sequences: Nested, *given: Any) -> Nested:
    """A layer of nested tensors has no mask of its own: what is not there is not seen."""
    layer, (*weights, _, _) = torch_library().ops.aten._transformer_encoder_layer_fwd.default, given
    found = layer(sequences.padded, *weights, sequences.present.logical_not(), _PADDING)
    return Nested(found, sequences.present)


def _padded(sequences: Nested, padding: float, size: Sequence[Any] | None = None) -> Any:
    """The sequences in the `size` of the tensor that they were made of."""
    found = sequences.padded
    if size is None:
        help = "name the size: to_padded_tensor(padding, output_size)"
        raise fail("torch-script", "padding nested tensors to the longest one of them is not supported", help=help)
    absent = sequences.present.logical_not().reshape(*sequences.present.shape, *[1] * (found.dim() - 2))
    return found.masked_fill(absent, padding).expand(size)


OWN: dict[str, Callable[..., Any]] = {
    "aten::_nested_tensor_from_mask": _nested, "aten::_transformer_encoder_layer_fwd": _encoder_layer,
    "aten::to_padded_tensor": _padded, "prim::is_nested": lambda x: isinstance(x, Nested),
}  # fmt: skip
"""Operators that know nested tensors."""

ASKED = frozenset(("aten::_nested_tensor_from_mask", "prim::is_nested"))
"""Those that are given other tensors, too."""
