"""grad.recurrence_backward: the gradient of nn.recurrence towards everything it takes, backwards through the steps.

Operands: those of nn.recurrence, and the gradients of its results. Results: the gradients of its operands, in order;
of `lengths` zeros, as integers have none. The steps are run again first, since what the gates were is not among the
results. Left to NumPy, whose products of matrices are most of the work.

    new = step(old):    d old = (d step / d old) * d new,    d weight += oldᵀ @ d gates,    d projected[step] = d gates
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TupleInfo
from baton._src.ops.nn.recurrence.attributes import RecurrenceAttrs
from baton._src.ops.nn.recurrence.recurrence import ACTIVATIONS, RECURRENCE
from baton._src.ops.nn.recurrence.recurrence import infer as infer_recurrence
from baton._src.ops.operand_checks import check_info
from baton._src.ops.precision import wide
from baton._src.ops.samples import Arr, Sample
from baton._src.values.tensor import AnyArray

SLOPES: Mapping[str, Callable[[AnyArray, float, float], AnyArray]] = {
    "affine": lambda x, alpha, beta: np.full_like(x, alpha),
    "elu": lambda x, alpha, beta: np.where(x >= 0, 1, alpha * np.exp(np.minimum(x, 0))),
    "hardsigmoid": lambda x, alpha, beta: np.where(np.abs(alpha * x + beta - 0.5) < 0.5, alpha, 0),
    "leakyrelu": lambda x, alpha, beta: np.where(x >= 0, 1, alpha),
    "relu": lambda x, alpha, beta: np.where(x > 0, 1, 0),
    "scaledtanh": lambda x, alpha, beta: alpha * beta * (1 - np.tanh(beta * x) ** 2),
    "sigmoid": lambda x, alpha, beta: 1 / (2 + np.exp(-np.abs(x)) + np.exp(np.abs(x))),
    "softplus": lambda x, alpha, beta: 1 / (1 + np.exp(-x)),
    "softsign": lambda x, alpha, beta: 1 / (1 + np.abs(x)) ** 2,
    "tanh": lambda x, alpha, beta: 1 - np.tanh(x) ** 2,
    "thresholdedrelu": lambda x, alpha, beta: np.where(x > alpha, 1, 0),
}
"""The derivatives of the activations."""


def infer(call: OpCall[RecurrenceAttrs]) -> Info:
    """What the operands of nn.recurrence are; they, and the gradients of its results, must fit it."""
    others, grads = call.args[3:]
    if not isinstance(others, TupleInfo):
        call.fail(f"`others` must be a tuple of tensors, got {others}", code="op-argument")
    results = infer_recurrence(replace(call, args=call.args[:4]))
    assert isinstance(results, TupleInfo)
    if not isinstance(grads, TupleInfo) or len(grads.fields) != len(results.fields):
        call.fail(f"`grads` must be {len(results.fields)} tensors, one for each result", code="op-argument")
    for n, (grad, result) in enumerate(zip(grads.fields, results.fields)):
        check_info(call, f"grads[{n}]", grad, result)
    return TupleInfo((call.tensor(0), call.tensor(1), call.tensor(2), *others.fields))


def reference(inputs: Sequence[AnyArray], a: RecurrenceAttrs) -> tuple[AnyArray, ...]:
    """Forwards, keeping the states before each step; then backwards."""
    projected, weight, h, others, grads = inputs
    extra = dict(zip(a.extras, (wide(np.asarray(x)) for x in others)))
    run = _Backwards(wide(projected), wide(weight), extra, a)
    run.forwards(wide(h), extra.get("cell", wide(h)))
    to_h, to_c = run.backwards(*(wide(np.asarray(g)) for g in grads))
    found: list[AnyArray] = [run.to_projected, run.to_weight, to_h]
    for name, x in zip(a.extras, others):
        found.append(np.zeros_like(x) if name == "lengths" else to_c if name == "cell" else run.to_extra[name])
    given = (projected, weight, h, *others)
    return tuple(np.asarray(f).astype(x.dtype, copy=False) for f, x in zip(found, given))


class _Backwards:
    """One layer; gradients of what all steps share add up while it runs."""

    def __init__(self, projected: AnyArray, weight: AnyArray, extra: dict[str, AnyArray], a: RecurrenceAttrs) -> None:
        self.projected, self.weight, self.extra, self.a = projected, weight, extra, a
        order = list(range(len(projected)))
        self.order = order[::-1] if a.reverse else order
        self.bias = extra.get("bias", np.zeros(projected.shape[-1], projected.dtype))
        self.before: list[tuple[AnyArray, AnyArray]] = []
        """The states that each step, in order, began with."""
        self.to_projected = np.zeros_like(projected)
        self.to_weight = np.zeros_like(weight)
        self.to_extra = {n: np.zeros_like(x) for n, x in extra.items()}

    def alive(self, step: int) -> AnyArray | bool:
        """Which sequences reach a step, as a column."""
        return step < self.extra["lengths"][:, None] if "lengths" in self.extra else True

    def forwards(self, h: AnyArray, c: AnyArray) -> None:
        """Note the states before each step."""
        for step in self.order:
            self.before.append((h, c))
            new_h, new_c = _CELLS[self.a.kind](self, step, h, c, None)
            alive = self.alive(step)
            h = np.where(alive, new_h, h)
            c = np.where(alive, new_c, c)

    def backwards(self, to_ys: AnyArray, to_h: AnyArray, *to_cell: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The gradients of the first states, from those of the results."""
        to_c = to_cell[0] if to_cell else np.zeros_like(to_h)
        for step, (h, c) in zip(reversed(self.order), reversed(self.before)):
            alive = self.alive(step)
            inner = np.where(alive, to_h + to_ys[step], 0), np.where(alive, to_c, 0)
            old_h, old_c = _CELLS[self.a.kind](self, step, h, c, inner)
            to_h, to_c = np.where(alive, old_h, to_h), np.where(alive, old_c, to_c)
        return to_h, to_c

    def act(self, place: int, x: AnyArray) -> AnyArray:
        """Activation `place` of a clipped gate."""
        return self.raw(place, x if self.a.clip is None else np.clip(x, -self.a.clip, self.a.clip))

    def raw(self, place: int, x: AnyArray) -> AnyArray:
        a = self.a
        return ACTIVATIONS[a.activations[place]](x, a.alphas[place], a.betas[place])

    def slope(self, place: int, x: AnyArray) -> AnyArray:
        """The derivative of `act`."""
        if self.a.clip is None:
            return self.raw_slope(place, x)
        inside = np.abs(x) <= self.a.clip
        return np.where(inside, self.raw_slope(place, np.clip(x, -self.a.clip, self.a.clip)), 0)

    def raw_slope(self, place: int, x: AnyArray) -> AnyArray:
        a = self.a
        return SLOPES[a.activations[place]](x, a.alphas[place], a.betas[place])

    def add(self, name: str, piece: AnyArray) -> None:
        """Add to the gradient of an operand that only some layers have."""
        if name in self.to_extra:
            self.to_extra[name] += piece

    def through_product(self, h: AnyArray, to_sums: AnyArray) -> AnyArray:
        """The state's gradient through h @ weight, whose own is added."""
        self.to_weight += h.T @ to_sums
        return to_sums @ self.weight.T


States = tuple[AnyArray, AnyArray]
"""The state and the cell, or their gradients; only an LSTM looks at the cell."""


def _rnn(run: _Backwards, step: int, h: AnyArray, c: AnyArray, to: States | None) -> States:
    """The new states without `to`; with it, which is their gradients, those of the old states."""
    gate = run.projected[step] + h @ run.weight + run.bias
    if to is None:
        return run.act(0, gate), c
    to_h, to_c = to
    to_gate = to_h * run.slope(0, gate)
    run.to_projected[step] = to_gate
    run.add("bias", to_gate.sum(0))
    return run.through_product(h, to_gate), to_c


def _gru(run: _Backwards, step: int, h: AnyArray, c: AnyArray, to: States | None) -> States:
    size, product = h.shape[1], h @ run.weight
    zx, rx, nx = np.split(run.projected[step], 3, axis=1)
    zb, rb, nb = np.split(run.bias, 3)
    z_in, r_in = zx + product[:, :size] + zb, rx + product[:, size : 2 * size] + rb
    z, r = run.act(0, z_in), run.act(0, r_in)
    linear = run.a.linear_before_reset
    seen = product[:, 2 * size :] + nb if linear else r * h
    n_in = nx + r * seen if linear else nx + seen @ run.extra["candidate"] + nb
    new = run.act(1, n_in)
    if to is None:
        return (1 - z) * new + z * h, c
    to_h, to_c = to
    to_n = to_h * (1 - z) * run.slope(1, n_in)
    to_z = to_h * (h - new) * run.slope(0, z_in)
    to_seen = to_n * r if linear else to_n @ run.extra["candidate"].T
    to_r = (to_n * seen if linear else to_seen * h) * run.slope(0, r_in)
    run.to_projected[step] = np.concatenate((to_z, to_r, to_n), axis=1)
    run.add("bias", np.concatenate((to_z, to_r, to_seen if linear else to_n), axis=1).sum(0))
    if linear:
        return to_h * z + run.through_product(h, np.concatenate((to_z, to_r, to_seen), axis=1)), to_c
    run.add("candidate", seen.T @ to_n)
    return to_h * z + to_seen * r + run.through_product(h, np.concatenate((to_z, to_r), axis=1)), to_c


def _lstm(run: _Backwards, step: int, h: AnyArray, c: AnyArray, to: States | None) -> States:
    i_in, o_in, f_in, g_in = np.split(run.projected[step] + h @ run.weight + run.bias, 4, axis=1)
    pi, po, pf = np.split(run.extra["peephole"], 3) if "peephole" in run.extra else (0, 0, 0)
    coupled = run.a.input_forget
    i_in, f_in = i_in + pi * c, f_in + pf * c
    i, g = run.act(0, i_in), run.act(1, g_in)
    f = 1 - i if coupled else run.act(0, f_in)
    free = f * c + i * g
    bound = run.a.cell_clip
    new = free if bound is None else np.clip(free, -bound, bound)
    o_in = o_in + po * new
    o, shown = run.act(0, o_in), run.raw(2, new)
    if to is None:
        return o * shown, new
    to_h, to_c = to
    to_o = to_h * shown * run.slope(0, o_in)
    to_new = to_c + to_h * o * run.raw_slope(2, new) + to_o * po
    to_new = to_new if bound is None else np.where(np.abs(free) <= bound, to_new, 0)
    to_i = to_new * (g - c if coupled else g) * run.slope(0, i_in)
    to_f = np.zeros_like(to_i) if coupled else to_new * c * run.slope(0, f_in)
    to_g = to_new * i * run.slope(1, g_in)
    gates = np.concatenate((to_i, to_o, to_f, to_g), axis=1)
    run.to_projected[step] = gates
    run.add("bias", gates.sum(0))
    run.add("peephole", np.concatenate(((to_i * c).sum(0), (to_o * new).sum(0), (to_f * c).sum(0))))
    return run.through_product(h, gates), to_new * f + to_i * pi + to_f * pf


_CELLS: Mapping[str, Callable[[_Backwards, int, AnyArray, AnyArray, States | None], States]] = {
    "lstm": _lstm,
    "gru": _gru,
    "rnn": _rnn,
}


def _samples() -> tuple[Sample, ...]:
    """Those of nn.recurrence that have others, with gradients of their results."""
    found = []
    for sample in RECURRENCE.samples() if RECURRENCE.samples is not None else ():
        if len(sample.args) < 4:
            continue
        (steps, batch, _), (_, size) = sample.args[0].shape, sample.args[2].shape
        states = [Arr((batch, size))] * (2 if sample.attrs.kind == "lstm" else 1)
        grads = (Arr((steps, batch, size)), *states)
        found.append(Sample((*sample.args, grads), sample.attrs, rtol=2e-4, atol=1e-5))
    return tuple(found)


RECURRENCE_GRADIENT = OpDef(
    "grad.recurrence_backward",
    RecurrenceAttrs,
    inputs=(
        *(replace(i, optional=False) for i in RECURRENCE.inputs),
        Input("grads", "the gradients of the results of nn.recurrence", kind="tensors"),
    ),
    infer=infer,
    compute=NotApplicable("steps of products of matrices are left to NumPy"),
    reference=reference,
    gradient=NotApplicable("of second order"),
    fusion=Fusion.OPAQUE,
    outputs=lambda a: 3 + len(a.extras),
    samples=_samples,
)
