"""Layers of cells along the steps, with all that they may have."""

from __future__ import annotations

from typing import Any

from baton._src.relax.literals import const
from baton._src.relax.nodes import Expr, Tuple
from tests.relax.networks.network import Net, dims, features_of

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
USUAL = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh"), "rnn": ("tanh",)}
RARE = ("affine", "elu", "hardsigmoid", "leakyrelu", "relu", "scaledtanh", "sigmoid", "softplus", "softsign", "tanh")


def recurrent(g: Net, x: Expr) -> Expr:
    """An LSTM, a GRU or a plain cell."""
    batch, features = dims(x)[0], features_of(x)
    kind = g.draw.choice(["lstm", "gru", "rnn"])
    gates, hidden = GATES[kind], g.draw.choice([1, 3, 8, 16, 20, 33])
    projected = g.emit("matmul", g.emit("permute_dims", x, axes=[1, 0, 2]), g.weight(features, gates * hidden))
    attrs = {"kind": kind, **_activations(g, kind), "reverse": g.draw.random() < 0.3}
    attrs |= {"clip": 0.8} if g.draw.random() < 0.15 else {}
    attrs |= {"input_forget": g.draw.random() < 0.2} if kind == "lstm" else {}
    attrs |= {"linear_before_reset": g.draw.random() < 0.6} if kind == "gru" else {}
    others = {"cell": _state(g, batch, hidden)} if kind == "lstm" else {}
    is_apart = kind == "gru" and not attrs["linear_before_reset"]
    if is_apart:
        others["candidate"] = g.weight(hidden, hidden)
    if g.draw.random() < 0.3:
        others["bias"] = g.shift(gates * hidden)
    if kind == "lstm" and g.draw.random() < 0.2:
        others["peephole"] = g.shift(3 * hidden)
    if isinstance(batch, int) and g.draw.random() < 0.2:
        others["lengths"] = const(g.rng.integers(0, 4, batch).astype("int32"))
    weight = g.weight(hidden, (gates - is_apart) * hidden)
    given = (projected, weight, _state(g, batch, hidden), Tuple(list(others.values())))
    found = g.emit("nn.recurrence", *given, extras=tuple(others), **attrs)
    return g.emit("permute_dims", g.field(found, 0), axes=[1, 0, 2])


def _activations(g: Net, kind: str) -> dict[str, Any]:
    names = USUAL[kind]
    if g.draw.random() < 0.2:
        names = tuple(g.draw.choice(RARE) for _ in names)
    return {"activations": names, "alphas": (0.3,) * len(names), "betas": (0.5,) * len(names)}


def _state(g: Net, batch: Any, hidden: int) -> Expr:
    """Given by the caller where nobody knows how large it is."""
    return g.shift(batch, hidden) if isinstance(batch, int) else g.parameter(batch, hidden)
