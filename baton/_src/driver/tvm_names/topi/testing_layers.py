"""NumPy references of whole layers by the names of `tvm.topi.testing`: attention, LSTM, batch norm, ..."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.topi.testing_places import reference
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray

_ACTIVATIONS: Mapping[str, Callable[[AnyArray], AnyArray]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


def batch_norm(
    x: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_var: Any,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    training: bool,
    momentum: float,
) -> list[Any]:
    """[normalised data, mean, variance]; `training` normalises by the data's own and moves the other two to them."""
    options = {"axis": axis, "epsilon": epsilon, "center": center, "scale": scale}
    operands = (x, gamma, beta, moving_mean, moving_var)
    return list(reference("nn.batch_norm", *operands, **options, training=training, momentum=momentum))


def pool_grad_nchw(
    a_np: Any,
    out_grad_np: Any,
    pool_size: Any,
    strides: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool,
    count_include_pad: bool = True,
) -> Any:
    """The gradient of a pooling over two axes with respect to its input."""
    options = {"pool_size": pool_size, "strides": strides, "padding": padding, "ceil_mode": ceil_mode}
    options |= {"count_include_pad": count_include_pad} if pool_type == "avg" else {}
    return reference(f"grad.{pool_type}_pool2d_backward", out_grad_np, a_np, **options)


def attention_python(
    q: Any,
    k: Any,
    v: Any,
    bias: Any,
    qk_scale: float | str,
    causal: str,
    window_size: int | None = None,
    layout: str = "BSNH",
) -> Any:
    """Attention in a layout of batch, sequence, heads (N) and their dims (H). Keys may have fewer heads than queries.

    `qk_scale`: "none" is one over the root of the dims. `causal`: "none", "TopLeft" or "BottomRight".
    """
    if causal not in ("none", "TopLeft", "BottomRight"):
        raise fail("topi", f"there is no mask {causal!r}", help="none, TopLeft or BottomRight", kind=ValueError)
    query, key, value = (x.transpose([layout.index(letter) for letter in "BSNH"]) for x in (q, k, v))
    key, value = (np.repeat(x, query.shape[2] // x.shape[2], axis=2) for x in (key, value))
    scale, mask = None if qk_scale == "none" else float(qk_scale), None if causal == "none" else causal
    name, more = ("nn.attention", ()) if bias is None else ("nn.attention_bias", (bias,))
    found = reference(name, query, key, value, *more, scale=scale, causal_mask=mask, window_size=window_size)
    return found.transpose(["BSNH".index(letter) for letter in layout])


def lstm_python(
    Xs: Any,
    Wi: Any,
    Wh: Any,
    Bi: Any = None,
    Bh: Any = None,
    h_init: Any = None,
    c_init: Any = None,
    proj: Any = None,
    p_i: Any = None,
    p_f: Any = None,
    p_o: Any = None,
    f_act: str = "sigmoid",
    g_act: str = "tanh",
    h_act: str = "tanh",
    reverse: bool = False,
    weight_layout: str = "IFGO",
) -> tuple[Any, Any]:
    """What `topi.nn.lstm` gives for these operands; activations by name."""
    gate, new, shown = (_ACTIVATIONS[name] for name in (f_act, g_act, h_act))
    batch, width = Xs.shape[1], Wi.shape[0] // 4
    hidden = np.zeros((batch, Wh.shape[1]), Xs.dtype) if h_init is None else h_init
    cell = np.zeros((batch, width), Xs.dtype) if c_init is None else c_init
    sees_cell = p_i is not None and p_f is not None
    found: list[tuple[AnyArray, AnyArray]] = []
    for x in Xs[::-1] if reverse else Xs:
        total = x @ Wi.T + hidden @ Wh.T + sum(bias for bias in (Bi, Bh) if bias is not None)
        parts = dict(zip(weight_layout, np.split(total, 4, axis=1)))
        kept = gate(parts["F"] + (p_f * cell if sees_cell else 0)) * cell
        cell = kept + gate(parts["I"] + (p_i * cell if sees_cell else 0)) * new(parts["G"])
        hidden = gate(parts["O"] + (0 if p_o is None else p_o * cell)) * shown(cell)
        hidden = hidden if proj is None else hidden @ proj.T
        found.append((hidden, cell))
    states, cells = zip(*found)
    return np.stack(states), np.stack(cells)


LAYERS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function for function in (batch_norm, pool_grad_nchw, attention_python, lstm_python)
}
"""By name."""
