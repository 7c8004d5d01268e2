"""The steps of a recurrent layer, one kernel for all of them: LSTM, GRU and plain RNN cells.

`projected` (steps, batch, gates * hidden) is what the input adds to the gates at each step, biases included: one
product for all steps, made outside. Each step adds `state @ weight` (hidden, gates * hidden) and updates the state:

    lstm  gates i, o, f, c:   C = f * C + i * c;  H = o * act(C)        rnn   H = act(gate)
    gru   gates z, r, h:      H = (1 - z) * h + z * H, where h sees r * H, or r * (H @ W) (`linear_before_reset`)

Results: all outputs (steps, batch, hidden), the last H and, for lstm, the last C. `others` holds what only some layers
have, named in order by the attribute `extras`: `cell` (batch, hidden), which lstm needs; `candidate` (hidden, hidden),
the weight of gate h, which gru needs unless `linear_before_reset`, `weight` then being that of z and r; `bias`
(gates * hidden) of the recurrent product; `peephole` (3 * hidden) for i, o, f; `lengths` (batch): steps beyond a
sequence's length leave its state alone and output zeros. Source: the ONNX operators LSTM, GRU and RNN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.nn.recurrence.attributes import RecurrenceAttrs
from baton._src.ops.nn.recurrence.kernel import recurrence_kernel
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.precision import wide
from baton._src.ops.samples import Arr, Sample, SampleDim
from baton._src.values.tensor import AnyArray

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
"""Gates by kind of cell."""
ACTIVATIONS: dict[str, Callable[[AnyArray, float, float], AnyArray]] = {
    "affine": lambda x, alpha, beta: alpha * x + beta,
    "elu": lambda x, alpha, beta: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "hardsigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "leakyrelu": lambda x, alpha, beta: np.where(x >= 0, x, alpha * x),
    "relu": lambda x, alpha, beta: np.maximum(x, 0),
    "scaledtanh": lambda x, alpha, beta: alpha * np.tanh(beta * x),
    "sigmoid": lambda x, alpha, beta: 1 / (1 + np.exp(-x)),
    "softplus": lambda x, alpha, beta: np.logaddexp(x, 0),
    "softsign": lambda x, alpha, beta: x / (1 + np.abs(x)),
    "tanh": lambda x, alpha, beta: np.tanh(x),
    "thresholdedrelu": lambda x, alpha, beta: np.where(x > alpha, x, 0),
}
"""What activations are called, and their meaning over NumPy."""
COUNTS = {"lstm": 3, "gru": 2, "rnn": 1}
"""How many activations a kind of cell has."""
EXTRAS = ("cell", "candidate", "bias", "peephole", "lengths")


def infer(call: OpCall[RecurrenceAttrs]) -> Info:
    """((steps, batch, hidden), (batch, hidden)), and (batch, hidden) again for lstm."""
    a = call.attrs
    _check_attributes(call)
    projected, weight, hidden = (call.tensor(i) for i in range(3))
    check_ranks(call, 3, 2, 2)
    shared = [x for n, x in zip(a.extras, _others(call)) if n != "lengths" and isinstance(x, TensorInfo)]
    same_dtype(call, [projected, weight, hidden, *shared])
    check_floats(call, 0, 1, 2)
    _check_lengths(call)
    dims = DimMath(call.prover)
    if projected.shape is not None and hidden.shape is not None:
        steps, batch = projected.shape[:2]
        size = hidden.shape[1]
        _check_shapes(call, dims)
        state = TensorInfo((batch, size), projected.dtype, vdevice=projected.vdevice)
        ys = TensorInfo((steps, batch, size), projected.dtype, vdevice=projected.vdevice)
    else:
        state = TensorInfo(None, projected.dtype, 2, projected.vdevice)
        ys = TensorInfo(None, projected.dtype, 3, projected.vdevice)
    return TupleInfo((ys, state, state) if a.kind == "lstm" else (ys, state))


def _others(call: OpCall[RecurrenceAttrs]) -> tuple[Info, ...]:
    found = call.args[3] if len(call.args) > 3 else None
    return found.fields if isinstance(found, TupleInfo) else ()


def _check_lengths(call: OpCall[RecurrenceAttrs]) -> None:
    lengths = dict(zip(call.attrs.extras, _others(call))).get("lengths")
    if isinstance(lengths, TensorInfo) and not lengths.dtype.is_void and not lengths.dtype.is_int:
        call.fail(f"lengths must hold integers, got {lengths.dtype}", code="op-dtype", help="astype first")


def _check_attributes(call: OpCall[RecurrenceAttrs]) -> None:
    a, others = call.attrs, _others(call)
    if a.kind not in GATES:
        call.fail(f"kind {a.kind!r} is not one of {', '.join(GATES)}", code="op-attribute")
    unknown = [n for n in a.activations if n not in ACTIVATIONS]
    if unknown or not len(a.activations) == len(a.alphas) == len(a.betas) == COUNTS[a.kind]:
        call.fail(
            f"{a.kind} has {COUNTS[a.kind]} activations, each with alpha and beta, got {a.activations}",
            code="op-attribute",
            help=f"activations: {', '.join(ACTIVATIONS)}",
        )
    if len(others) != len(a.extras) or any(n not in EXTRAS for n in a.extras) or len(set(a.extras)) != len(a.extras):
        call.fail(
            f"`others` must be the tensors that extras={a.extras} names, got {list(others)}",
            code="op-argument",
        )
    needed = {"cell": a.kind == "lstm", "candidate": a.has_candidate}
    for name, need in needed.items():
        if need is not (name in a.extras):
            call.fail(f"extras must {'' if need else 'not '}name {name!r} here", code="op-attribute")
    if "peephole" in a.extras and a.kind != "lstm":
        call.fail("only lstm has peepholes", code="op-attribute")


def _check_shapes(call: OpCall[RecurrenceAttrs], dims: DimMath) -> None:
    a = call.attrs
    projected, weight, hidden = (call.tensor(i) for i in range(3))
    assert projected.shape is not None
    assert hidden.shape is not None
    batch, size = hidden.shape
    gates = GATES[a.kind]
    own = gates - 1 if a.has_candidate else gates
    wide_of = {n: dims.product((n, size)) for n in (1, 3, own, gates)}
    shapes = {
        "cell": (batch, size),
        "candidate": (size, size),
        "bias": (wide_of[gates],),
        "peephole": (wide_of[3],),
        "lengths": (batch,),
    }
    given = [
        ("projected", projected, (projected.shape[0], batch, wide_of[gates])),
        ("weight", weight, (size, wide_of[own])),
        *((n, x, shapes[n]) for n, x in zip(a.extras, _others(call))),
    ]
    for name, x, wanted in given:
        shape = x.shape if isinstance(x, TensorInfo) else None
        if shape is None:
            continue
        if len(shape) != len(wanted) or any(dims.equal(f, w) is False for f, w in zip(shape, wanted)):
            call.fail(f"{name} must have shape {show_shape(wanted)}, got {show_shape(shape)}")


def reference(inputs: Sequence[AnyArray], a: RecurrenceAttrs) -> tuple[AnyArray, ...]:
    """Step by step, in the order of the formulas."""
    projected, weight, h, *others = inputs
    projected, weight, h = wide(projected), wide(weight), wide(h)
    extra = dict(zip(a.extras, (wide(np.asarray(x)) for x in (others[0] if others else ()))))
    c = extra.get("cell", h)  # only an LSTM looks at it
    ys = np.zeros((*projected.shape[:2], h.shape[1]), h.dtype)
    order = range(len(projected))
    for step in reversed(order) if a.reverse else order:
        new_h, new_c = _step(projected[step], weight, h, c, extra, a)
        alive = step < extra["lengths"][:, None] if "lengths" in extra else np.ones((len(h), 1), bool)
        ys[step] = np.where(alive, new_h, 0)
        h = np.where(alive, new_h, h)
        c = np.where(alive, new_c, c)
    found = (ys, h, c) if "cell" in extra else (ys, h)
    return tuple(x.astype(inputs[0].dtype) for x in found)


def _step(
    x: AnyArray, weight: AnyArray, h: AnyArray, c: AnyArray, extra: Mapping[str, AnyArray], a: RecurrenceAttrs
) -> tuple[AnyArray, AnyArray]:
    def act(place: int, value: AnyArray) -> AnyArray:
        bounded = value if a.clip is None else np.clip(value, -a.clip, a.clip)
        return raw(place, bounded)

    def raw(place: int, value: AnyArray) -> AnyArray:
        return ACTIVATIONS[a.activations[place]](value, a.alphas[place], a.betas[place]).astype(h.dtype)

    bias = extra.get("bias", np.zeros(x.shape[-1], x.dtype))
    if a.kind == "rnn":
        return act(0, x + h @ weight + bias), c
    if a.kind == "gru":
        size = h.shape[1]
        zx, rx, hx = np.split(x, 3, axis=1)
        zb, rb, hb = np.split(bias, 3)
        product = h @ weight
        z = act(0, zx + product[:, :size] + zb)
        r = act(0, rx + product[:, size : 2 * size] + rb)
        if a.linear_before_reset:
            new = act(1, hx + r * (product[:, 2 * size :] + hb))
        else:
            new = act(1, hx + (r * h) @ extra["candidate"] + hb)
        return (1 - z) * new + z * h, c
    i, o, f, g = np.split(x + h @ weight + bias, 4, axis=1)
    pi, po, pf = np.split(extra["peephole"], 3) if "peephole" in extra else (0, 0, 0)
    i = act(0, i + pi * c)
    f = 1 - i if a.input_forget else act(0, f + pf * c)
    new = f * c + i * act(1, g)
    new = new if a.cell_clip is None else np.clip(new, -a.cell_clip, a.cell_clip)
    return act(0, o + po * new) * raw(2, new), new


def gradient(b: CallMaker, args: Exprs, a: RecurrenceAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """[towards projected, weight, hidden, and the tuple of the others]"""
    count = 3 if a.kind == "lstm" else 2
    others = args[3] if len(args) > 3 else b.tuple()
    grads = b.tuple(*(b.item(grad, i) for i in range(count)))
    back = b.op("grad.recurrence_backward", *args[:3], others, grads, **dict(a.items()))
    found = [b.item(back, i) for i in range(3)]
    return [*found, b.tuple(*(b.item(back, 3 + i) for i in range(len(a.extras))))][: len(args)]


def _samples() -> tuple[Sample, ...]:
    def sample(
        kind: str, gates: int, own: int, *others: Arr, t: SampleDim = "n", b: SampleDim = 2, h: int = 5, **more: Any
    ) -> Sample:
        acts = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh"), "rnn": ("tanh",)}[kind]
        rest = {"activations": acts, "alphas": (0.0,) * len(acts), "betas": (0.0,) * len(acts), **more}
        tensors: tuple[Arr, ...] = (Arr((t, b, gates * h)), Arr((h, own * h), low=-1, high=1), Arr((b, h)))
        return Sample(
            (*tensors, others) if others else tensors, RecurrenceAttrs(kind=kind, **rest), rtol=2e-4, atol=1e-5
        )

    def many(kind: str, count: int, names: tuple[str, ...], **more: Any) -> dict[str, Any]:
        return {"activations": names, "alphas": (0.3,) * count, "betas": (0.6,) * count, **more}

    vector, square, length = Arr((15,)), Arr((5, 5), low=-1, high=1), Arr((2,), "int32", 0, 4)
    return (
        sample("lstm", 4, 4, Arr((2, 5))),
        sample("lstm", 4, 4, Arr((1, 40)), b=1, h=40, t=3),
        sample("lstm", 4, 4, Arr((2, 5)), vector, length, extras=("cell", "peephole", "lengths"), clip=1.5),
        sample(
            "lstm", 4, 4, Arr(("b", 5)), Arr((20,)), b="b", extras=("cell", "bias"), input_forget=True, reverse=True
        ),
        sample("lstm", 4, 4, Arr((2, 5)), t=4, cell_clip=0.4),
        sample("gru", 3, 2, square, extras=("candidate",)),
        sample("gru", 3, 2, square, vector, length, extras=("candidate", "bias", "lengths"), reverse=True),
        sample("gru", 3, 3, vector, extras=("bias",), linear_before_reset=True),
        sample("rnn", 1, 1, extras=()),
        sample("rnn", 1, 1, extras=(), b=7, h=3),
        sample("gru", 3, 2, square, **many("gru", 2, ("hardsigmoid", "softsign"), extras=("candidate",))),
        sample("lstm", 4, 4, Arr((2, 5)), **many("lstm", 3, ("affine", "leakyrelu", "scaledtanh"))),
        sample("lstm", 4, 4, Arr((2, 5)), **many("lstm", 3, ("relu", "elu", "softplus"))),
        sample("rnn", 1, 1, **many("rnn", 1, ("thresholdedrelu",), extras=())),
        *(_of_little(name, low) for name, low in (("softplus", -20.0), ("elu", -3e-4))),
    )


def _of_little(name: str, low: float) -> Sample:
    """An activation where it is next to nothing, to its last digits."""
    little = (Arr((1, 2, 3), low=low, high=low / 2), Arr((3, 3)), Arr((2, 3), low=0, high=0))
    cell = RecurrenceAttrs("rnn", (name,), (0.3,), (0.6,), extras=())
    return Sample(little, cell, rtol=1e-4, atol=0)


RECURRENCE = OpDef(
    "nn.recurrence",
    RecurrenceAttrs,
    inputs=(
        Input("projected", "what the input adds to the gates (steps, batch, gates * hidden)"),
        Input("weight", "of the recurrent product (hidden, gates * hidden)"),
        Input("hidden", "the state before the first step (batch, hidden)"),
        Input("others", "what `extras` names", kind="tensors", optional=True),
    ),
    infer=infer,
    compute=recurrence_kernel,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.OPAQUE,
    outputs=lambda a: 3 if a.kind == "lstm" else 2,
    samples=_samples,
)
