"""`topi.nn.lstm`: a recurrent layer as one `te.scan`, whose steps are scheduled as other stages are.

i, f = f_act(x Wᵢᵀ + h Whᵀ + p c);  g = g_act(..);  c' = f c + i g;  o = f_act(.. + p c');  h' = o h_act(c') projᵀ
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.scan import scans
from baton._src.te.tensor import Tensor
from baton._src.tir import operators
from baton._src.tir.builders.scalar_functions import sigmoid, tanh

Activation = Callable[[PrimExpr], PrimExpr]


def lstm(
    Xs: Tensor,
    Wi: Tensor,
    Wh: Tensor,
    Bi: Tensor | None = None,
    Bh: Tensor | None = None,
    h_init: Tensor | None = None,
    c_init: Tensor | None = None,
    proj: Tensor | None = None,
    p_i: Tensor | None = None,
    p_f: Tensor | None = None,
    p_o: Tensor | None = None,
    f_act: Activation = sigmoid,
    g_act: Activation = tanh,
    h_act: Activation = tanh,
    reverse: bool = False,
    weight_layout: str = "IFGO",
) -> tuple[Tensor, Tensor]:
    """(hidden states, cell states) of all steps; with `reverse` the first is that of the last input.

    Shapes: Xs (steps, batch, in), Wi (4 hidden, in), Wh (4 hidden, projected), biases (4 hidden,), h_init
    (batch, projected), c_init and peepholes (batch, hidden), proj (projected, hidden). `weight_layout` says which
    quarter of the weights is whose gate's.
    """
    if sorted(weight_layout) != sorted("IFGO"):
        raise fail("topi-lstm", f"weight_layout must be a permutation of IFGO, got {weight_layout!r}")
    steps, batch, _ = Xs.shape
    hidden = operators.floordiv(Wi.shape[0], 4)
    projected = hidden if proj is None else proj.shape[0]
    rows, dtype = operators.add(steps, 1), Xs.dtype  # the first row of a state is its start
    state = placeholder((rows, batch, projected), dtype, "h_state")
    cell = placeholder((rows, batch, hidden), dtype, "c_state")
    gates = _Gates(_from_inputs(Xs, Wi, Bi, Bh), _from_state(state, Wh), hidden, reverse, weight_layout)

    def before(t: Any, b: Any, j: Any) -> Any:
        return cell[t - 1, b, j]

    taken, kept = gates.gate("I", f_act, p_i, before), gates.gate("F", f_act, p_f, before)
    new = gates.gate("G", g_act, None, before)
    shape = (rows, batch, hidden)
    next_c = compute(shape, lambda t, b, j: kept[t, b, j] * cell[t - 1, b, j] + taken[t, b, j] * new[t, b, j], "next_c")
    shown = gates.gate("O", f_act, p_o, next_c)
    next_h = compute(shape, lambda t, b, j: shown[t, b, j] * h_act(next_c[t, b, j]), "next_h")
    if proj is not None:
        next_h = _projected(next_h, proj)
    starts = [_start(h_init, state, "h_init"), _start(c_init, cell, "c_init")]
    hs, cs = scans(starts, [next_h, next_c], [state, cell], name="lstm")
    return _without_start(hs, "hidden_states"), _without_start(cs, "cell_states")


@dataclass(frozen=True)
class _Gates:
    """What the gates of step `t` get: of input `t - 1`, or the one as far from the end, and of the state before."""

    of_inputs: Tensor
    of_state: Tensor
    hidden: PrimExpr
    reverse: bool
    layout: str

    def gate(self, letter: str, activation: Activation, peephole: Tensor | None, seen: Callable[..., Any]) -> Tensor:
        """A gate of all steps; `seen(t, b, j)` is the cell that its peephole sees."""
        rows, batch, _ = self.of_state.shape
        first = self.hidden * self.layout.index(letter)

        def element(t: Any, b: Any, j: Any) -> PrimExpr:
            step = rows - 1 - t if self.reverse else t - 1
            total = self.of_inputs[step, b, first + j] + self.of_state[t, b, first + j]
            return activation(total if peephole is None else total + peephole[b, j] * seen(t, b, j))

        made: Tensor = compute((rows, batch, self.hidden), element, f"{letter.lower()}_gate")
        return made


def _from_state(state: Tensor, weight: Tensor) -> Tensor:
    """What the gates get of the state one step before."""
    rows, batch, width = state.shape
    k = reduce_axis((0, width), "k")
    made: Tensor = compute(
        (rows, batch, weight.shape[0]),
        lambda t, b, j: reduction.sum(state[t - 1, b, k] * weight[j, k], axis=k),
        "h2h",
    )
    return made


def _from_inputs(xs: Tensor, weight: Tensor, *biases: Tensor | None) -> Tensor:
    """What the gates get of the inputs, of all steps at once, with the biases."""
    steps, batch, width = xs.shape
    k = reduce_axis((0, width), "k")
    shape = (steps, batch, weight.shape[0])
    found: Tensor = compute(shape, lambda t, b, j: reduction.sum(xs[t, b, k] * weight[j, k], axis=k), "x2h")
    for bias in biases:
        if bias is not None:
            found = _with_bias(found, bias)
    return found


def _with_bias(found: Tensor, bias: Tensor) -> Tensor:
    made: Tensor = compute(found.shape, lambda t, b, j: found[t, b, j] + bias[j], "x2h_bias")
    return made


def _projected(states: Tensor, proj: Tensor) -> Tensor:
    rows, batch, hidden = states.shape
    k = reduce_axis((0, hidden), "k")
    made: Tensor = compute(
        (rows, batch, proj.shape[0]), lambda t, b, j: reduction.sum(states[t, b, k] * proj[j, k], axis=k), "projected"
    )
    return made


def _start(given: Tensor | None, state: Tensor, name: str) -> Tensor:
    """The first row of a state."""
    zero = operators.const(0, state.dtype)
    made: Tensor = compute((1, *state.shape[1:]), lambda _, b, j: zero if given is None else given[b, j], name)
    return made


def _without_start(states: Tensor, name: str) -> Tensor:
    rows, *rest = states.shape
    shape = (operators.subtract(rows, 1), *rest)
    made: Tensor = compute(shape, lambda t, b, j: states[t + 1, b, j], name)
    return made


LSTM: Mapping[str, Any] = {"nn.lstm": lstm}
