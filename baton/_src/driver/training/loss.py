"""Losses as Relax functions, made for the StructInfo of predictions and targets.

    CrossEntropyLoss(reduction="sum")(predictions, targets)        # a Function of (predictions, targets)

API as `tvm.relax.training.loss` v0.19.
"""

from __future__ import annotations

from typing import Any

from baton._src.driver.training.optimizer import wrong
from baton._src.ops.builders import RELAX
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.literals import const
from baton._src.relax.nodes import Function, Var
from baton._src.relax.struct_info import StructInfo

REDUCTIONS = ("mean", "sum", "none")
_op = RELAX.find


class Loss:
    """What all losses share. `num_backbone_outputs`: how many results of a network it takes, before the targets."""

    def __init__(self, loss_name: str, num_backbone_outputs: int, reduction: str = "mean") -> None:
        if reduction not in REDUCTIONS:
            raise wrong(f"{loss_name}: reduction must be one of {', '.join(REDUCTIONS)}, got {reduction!r}")
        self.loss_name = loss_name
        self.num_backbone_outputs = num_backbone_outputs
        self.reduction = reduction

    def __call__(self, *given: Any) -> Function:
        raise NotImplementedError

    def reduced(self, expr: Any) -> Any:
        """The values by element as the loss."""
        return expr if self.reduction == "none" else _op(self.reduction)(expr)

    def build(self, names: tuple[str, ...], given: tuple[Any, ...], made: Any) -> Function:
        """The function of parameters `names` (those with something given) that computes `made(*parameters)`."""
        params = [_as_var(name, info) for name, info in zip(names, given) if info is not None]
        builder = BlockBuilder()
        with builder.function(self.loss_name, params):
            with builder.dataflow():
                output = builder.emit_output(made(*params))
            builder.emit_func_output(output)
        function = builder.get()[self.loss_name]
        assert isinstance(function, Function)
        return function


def _as_var(name: str, given: Any) -> Var:
    if isinstance(given, Var):
        return Var(given.name_hint, given.struct_info)
    if not isinstance(given, StructInfo):
        raise wrong(f"{name} of a loss must be a StructInfo or a variable, got a {type(given).__name__}")
    return Var(name, given)


class L1Loss(Loss):
    """|predictions - targets|"""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__("l1_loss", 1, reduction)

    def __call__(self, predictions: Any, targets: Any) -> Function:
        return self.build(
            ("predictions", "targets"),
            (predictions, targets),
            lambda p, t: self.reduced(_op("abs")(_op("subtract")(p, t))),
        )


class MSELoss(Loss):
    """(predictions - targets)^2"""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__("mse_loss", 1, reduction)

    def __call__(self, predictions: Any, targets: Any) -> Function:
        def made(p: Any, t: Any) -> Any:
            gap = _op("subtract")(p, t)
            return self.reduced(_op("multiply")(gap, gap))

        return self.build(("predictions", "targets"), (predictions, targets), made)


class CrossEntropyLoss(Loss):
    """-log(softmax(predictions))[target], `predictions` (N, C, ...) or (C,). Targets `ignore_index` do not count."""

    def __init__(self, reduction: str = "mean", ignore_index: int = -100) -> None:
        super().__init__("cross_entropy_loss", 1, reduction)
        self.ignore_index = ignore_index

    def __call__(self, predictions: Any, targets: Any, weights: Any = None) -> Function:
        def made(p: Any, t: Any, *w: Any) -> Any:
            return _op("nn.nll_loss")(_log_softmax(p), t, *w, reduction=self.reduction, ignore_index=self.ignore_index)

        return self.build(("predictions", "targets", "weights"), (predictions, targets, weights), made)


class CategoricalCrossEntropyLoss(Loss):
    """-targets * log(softmax(predictions)), (N, C, ...) or (C,), `targets` one-hot or as probabilities.

    The mean is that of all elements. A class `ignore_index` does not count: of one-hot integers the losses are then
    those of `CrossEntropyLoss`, one an instance; else its probability is taken for 0.
    """

    def __init__(self, reduction: str = "mean", ignore_index: int = -100) -> None:
        super().__init__("categorical_cross_entropy_loss", 1, reduction)
        self.ignore_index = ignore_index

    def __call__(self, predictions: Any, targets: Any, weights: Any = None) -> Function:
        return self.build(("predictions", "targets", "weights"), (predictions, targets, weights), self._made)

    def _made(self, predictions: Any, targets: Any, *weights: Any) -> Any:
        info, logs = targets.struct_info, _log_softmax(predictions)
        axis = _classes_axis(predictions)
        if self.ignore_index >= 0 and not info.dtype.is_float:
            sizes = [d for n, d in enumerate(info.shape.values) if n != axis]
            labels = _op("reshape")(_op("argmax")(targets, axis=axis), sizes)
            return _op("nn.nll_loss")(logs, labels, *weights, reduction=self.reduction, ignore_index=self.ignore_index)
        dtype = str(predictions.struct_info.dtype)
        shares = targets if str(info.dtype) == dtype else _op("astype")(targets, dtype)
        each = _op("multiply")(_op("negative")(logs), shares)
        for factor in (*weights, *self._counting(predictions, axis)):
            later = list(range(1, predictions.struct_info.ndim - axis))
            each = _op("multiply")(each, _op("expand_dims")(factor, later) if later else factor)
        return self.reduced(each)

    def _counting(self, predictions: Any, axis: int) -> list[Any]:
        """1 for classes that count, 0 for the one that does not."""
        if self.ignore_index < 0:
            return []
        info = predictions.struct_info
        depth = getattr(info.shape.values[axis], "value", None)
        if depth is None:
            raise wrong("ignore_index needs a constant number of classes")
        return [const([float(n != self.ignore_index) for n in range(depth)], str(info.dtype))]


def _log_softmax(predictions: Any) -> Any:
    """Over the classes; without an axis where they are the last one, as TVM writes it."""
    axis = _classes_axis(predictions)
    last = axis == predictions.struct_info.ndim - 1
    return _op("nn.log_softmax")(predictions, **({} if last else {"axis": axis}))


def _classes_axis(predictions: Any) -> int:
    return 0 if predictions.struct_info.ndim == 1 else 1
