"""What a recurrent layer is told: the cell, its activations and the operands it has."""

from __future__ import annotations

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr


@attrs
class RecurrenceAttrs(Attrs):
    """The cell."""

    kind: str = attr("lstm", "lstm, gru or rnn")
    activations: tuple[str, ...] = attr(("sigmoid", "tanh", "tanh"), "names in ONNX's order, lower case")
    alphas: tuple[float, ...] = attr((0.0, 0.0, 0.0), "first parameter of each activation")
    betas: tuple[float, ...] = attr((0.0, 0.0, 0.0), "second parameter of each activation")
    clip: float | None = attr(None, "gates are clipped to [-clip, clip] before their activations")
    cell_clip: float | None = attr(None, "lstm: C is clipped to [-cell_clip, cell_clip]")
    input_forget: bool = attr(False, "lstm: f = 1 - i")
    linear_before_reset: bool = attr(False, "gru: r multiplies the product, not the state")
    reverse: bool = attr(False, "from the last step to the first")
    extras: tuple[str, ...] = attr(("cell",), "what `others` holds, in order")

    def __post_init__(self) -> None:
        for name, kind in (("activations", str), ("alphas", float), ("betas", float), ("extras", str)):
            set_attr(self, name, tuple(kind(v) for v in getattr(self, name)))
        for name in ("input_forget", "linear_before_reset", "reverse"):
            set_attr(self, name, bool(getattr(self, name)))
        for name in ("clip", "cell_clip"):
            bound = getattr(self, name)
            set_attr(self, name, None if bound is None else float(bound))

    @property
    def has_candidate(self) -> bool:
        """Whether gate h has a weight of its own, since its product waits for gate r."""
        return bool(self.kind == "gru" and not self.linear_before_reset)
