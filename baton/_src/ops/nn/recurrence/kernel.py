"""The kernel of nn.recurrence: one loop over the steps, in it a product and an update of all states, in turn.

    for t: for b, n: sums[b, n] = sum over k of states[t % 2, b, k] * weight[k, n]
           for b, j: cells[b, j] = ...; states[(t + 1) % 2, b, j] = ...; ys[t, b, j] = ...

States and sums are kept in the accumulating dtype. This shape is what the schedule `recurrence` looks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, load, loop, loops, store
from baton._src.ops.nn.recurrence.attributes import RecurrenceAttrs
from baton._src.te.computation import externs
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import DataType

Scalar = k.Scalar


def recurrence_kernel(
    inputs: tuple[k.Tensor, k.Tensor, k.Tensor] | tuple[k.Tensor, k.Tensor, k.Tensor, Sequence[k.Tensor]],
    a: RecurrenceAttrs,
    out: k.Results,
) -> tuple[k.Tensor, ...]:
    """The outputs of the operator, from one extern computation; see the module."""
    projected, weight, hidden, *others = inputs
    tensors = [projected, weight, hidden, *(others[0] if others else ())]
    batch, size = hidden.shape
    kept = k.sum_dtype(projected.dtype)
    state = (batch, size)
    shapes = [tuple(f.shape) for f in out.fields]
    scratch = [(2, *state), (batch, weight.shape[1])]
    if a.kind == "lstm":
        scratch.append(state)
    if a.has_candidate:
        scratch += [state, state, state]

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        return _Layer(a, ins, outs, len(shapes), kept).whole()

    dims = [tuple(k.index(d) for d in s) for s in (*shapes, *scratch)]
    dtypes = [projected.dtype] * len(shapes) + [kept] * len(scratch)
    return externs(dims, tensors, body, "recurrence", dtypes)[: len(shapes)]


class _Layer:
    """The statements, over the buffers of one layer."""

    def __init__(self, a: RecurrenceAttrs, ins: list[Buffer], outs: list[Buffer], count: int, kept: DataType) -> None:
        self.a, self.kept = a, kept
        self.projected, self.weight, self.hidden = ins[:3]
        self.extra: dict[str, Buffer] = dict(zip(a.extras, ins[3:]))
        self.outputs = outs[:count]
        self.states, self.sums, *rest = outs[count:]
        self.cells: Buffer | None = rest[0] if a.kind == "lstm" else None
        self.gru: list[Buffer] = rest if a.has_candidate else []
        """z, r * H, and the product of that."""
        self.steps = self.projected.shape[0]
        self.shape = self.hidden.shape
        self.size = self.hidden.shape[1]

    def whole(self) -> Stmt:
        """Start, steps, results."""
        zero, two = k.index(0), k.index(2)
        last = k.index(self.steps) % two

        def start(b: Scalar, j: Scalar) -> Stmt:
            first = [store(self.states, [zero, b, j], self.wide(self.hidden, b, j))]
            if self.cells is not None:
                first.append(store(self.cells, [b, j], self.wide(self.extra["cell"], b, j)))
            return both(*first)

        def finish(b: Scalar, j: Scalar) -> Stmt:
            found = [self.out(1, (b, j), load(self.states, last, b, j))]
            if self.cells is not None:
                found.append(self.out(2, (b, j), load(self.cells, b, j)))
            return both(*found)

        return both(loops(self.shape, start, "s"), loop(self.steps, self.step, "t"), loops(self.shape, finish, "f"))

    def wide(self, buffer: Buffer, *at: Scalar) -> Scalar:
        return k.cast(self.kept, load(buffer, *at))

    def out(self, number: int, at: k.Indices, value: Scalar) -> Stmt:
        buffer = self.outputs[number]
        return store(buffer, list(at), k.cast(buffer.dtype, value))

    def product(self, sums: Buffer, weight: Buffer, state: Callable[[Scalar, Scalar], Scalar]) -> Stmt:
        """sums = state @ weight"""

        def element(b: Scalar, n: Scalar) -> Stmt:
            def term(i: Scalar) -> Stmt:
                more = state(b, i) * self.wide(weight, i, n)
                return store(sums, [b, n], load(sums, b, n) + more)

            return both(store(sums, [b, n], k.const(0, self.kept)), loop(self.size, term, "k"))

        return loops(sums.shape, element, "n")

    def step(self, t: Scalar) -> Stmt:
        """One turn of the loop."""
        two = k.index(2)
        now, following = t % two, (t + k.index(1)) % two
        place = k.index(self.steps) - k.index(1) - t if self.a.reverse else t

        def state(b: Scalar, j: Scalar) -> Scalar:
            return load(self.states, now, b, j)

        parts = [self.product(self.sums, self.weight, state)]

        def first(b: Scalar, j: Scalar) -> Stmt:
            gate = _Gates(self, place, b, j)
            z, r = gate.act(0, gate.input(0) + gate.sum(0)), gate.act(0, gate.input(1) + gate.sum(1))
            return both(store(self.gru[0], [b, j], z), store(self.gru[1], [b, j], r * state(b, j)))

        if self.a.has_candidate:
            parts.append(loops(self.shape, first, "z"))
            parts.append(self.product(self.gru[2], self.extra["candidate"], lambda b, j: load(self.gru[1], b, j)))

        def update(b: Scalar, j: Scalar) -> Stmt:
            gate = _Gates(self, place, b, j)
            before, new = _NEW_STATE[self.a.kind](self, gate, b, j, state(b, j))
            return both(*before, *self.advance(gate, place, (b, j), following, state(b, j), new))

        return both(*parts, loops(self.shape, update, "u"))

    def advance(
        self, gate: _Gates, place: Scalar, at: k.Indices, following: Scalar, old: Scalar, new: Scalar
    ) -> list[Stmt]:
        """The new state and the step's output."""
        alive = gate.alive()
        state = load(self.states, following, *at)
        if alive is None:
            return [store(self.states, [following, *at], new), self.out(0, (place, *at), state)]
        shown = k.select(alive, state, k.const(0, self.kept))
        return [store(self.states, [following, *at], k.select(alive, new, old)), self.out(0, (place, *at), shown)]


class _Gates:
    """What the gates of hidden unit j of row b see at a step."""

    def __init__(self, layer: _Layer, place: Scalar, b: Scalar, j: Scalar) -> None:
        self.layer, self.place, self.b, self.j = layer, place, b, j

    def at(self, gate: int) -> Scalar:
        return k.index(self.layer.size) * k.index(gate) + self.j if gate else self.j

    def input(self, gate: int) -> Scalar:
        """The input's part, with the bias of the recurrent product unless that is multiplied (gru, gate h)."""
        layer = self.layer
        found = layer.wide(layer.projected, self.place, self.b, self.at(gate))
        kept_apart = layer.a.kind == "gru" and layer.a.linear_before_reset and gate == 2
        return found if kept_apart or "bias" not in layer.extra else found + self.bias(gate)

    def bias(self, gate: int) -> Scalar:
        return self.layer.wide(self.layer.extra["bias"], self.at(gate))

    def sum(self, gate: int) -> Scalar:
        """The state's part."""
        return load(self.layer.sums, self.b, self.at(gate))

    def peep(self, place: int, cell: Scalar) -> Scalar | None:
        weight = self.layer.extra.get("peephole")
        return None if weight is None else self.layer.wide(weight, self.at(place)) * cell

    def act(self, number: int, value: Scalar) -> Scalar:
        """Activation `number` of a clipped gate."""
        return self.raw(number, _clipped(value, self.layer.a.clip))

    def raw(self, number: int, value: Scalar) -> Scalar:
        a = self.layer.a
        alpha, beta = k.const(a.alphas[number], value.dtype), k.const(a.betas[number], value.dtype)
        return _ACTIVATIONS[a.activations[number]](value, alpha, beta)

    def alive(self) -> Scalar | None:
        """Whether the sequence reaches this step; None: all do."""
        lengths = self.layer.extra.get("lengths")
        return None if lengths is None else k.tir.LT(self.place, k.cast("int64", load(lengths, self.b)))


Found = tuple[list[Stmt], Scalar]
"""Statements to run first, then the new state."""


def _rnn(layer: _Layer, gate: _Gates, b: Scalar, j: Scalar, old: Scalar) -> Found:
    return [], gate.act(0, gate.input(0) + gate.sum(0))


def _gru(layer: _Layer, gate: _Gates, b: Scalar, j: Scalar, old: Scalar) -> Found:
    if layer.a.has_candidate:
        z = load(layer.gru[0], b, j)
        new = gate.act(1, gate.input(2) + load(layer.gru[2], b, j))
    else:
        z = gate.act(0, gate.input(0) + gate.sum(0))
        r = gate.act(0, gate.input(1) + gate.sum(1))
        product = gate.sum(2) + gate.bias(2) if "bias" in layer.extra else gate.sum(2)
        new = gate.act(1, gate.input(2) + r * product)
    return [], (k.const(1, layer.kept) - z) * new + z * old


def _lstm(layer: _Layer, gate: _Gates, b: Scalar, j: Scalar, old: Scalar) -> Found:
    assert layer.cells is not None
    cell = load(layer.cells, b, j)

    def total(number: int, peephole: int | None) -> Scalar:
        found = gate.input(number) + gate.sum(number)
        seen = None if peephole is None else gate.peep(peephole, cell)
        return found if seen is None else found + seen

    i = gate.act(0, total(0, 0))
    f = k.const(1, layer.kept) - i if layer.a.input_forget else gate.act(0, total(2, 2))
    new = _clipped(f * cell + i * gate.act(1, total(3, None)), layer.a.cell_clip)
    alive = gate.alive()
    # The cell is stored first; `cell` then stands for the new one, which is what the output gate sees.
    first = store(layer.cells, [b, j], new if alive is None else k.select(alive, new, cell))
    return [first], gate.act(0, total(1, 1)) * gate.raw(2, cell)


_NEW_STATE: dict[str, Callable[..., Found]] = {"lstm": _lstm, "gru": _gru, "rnn": _rnn}


def _clipped(x: Scalar, bound: float | None) -> Scalar:
    """`x` within [-bound, bound]; None: as it is."""
    if bound is None:
        return x
    return k.minimum(k.maximum(x, k.const(-bound, x.dtype)), k.const(bound, x.dtype))


def _zero(x: Scalar) -> Scalar:
    return k.const(0, x.dtype)


def _one(x: Scalar) -> Scalar:
    return k.const(1, x.dtype)


_ACTIVATIONS: dict[str, Callable[[Scalar, Scalar, Scalar], Scalar]] = {
    "affine": lambda x, alpha, beta: alpha * x + beta,
    "elu": lambda x, alpha, beta: k.select(k.tir.GE(x, _zero(x)), x, alpha * k.call("expm1", k.minimum(x, _zero(x)))),
    "hardsigmoid": lambda x, alpha, beta: k.minimum(k.maximum(alpha * x + beta, _zero(x)), _one(x)),
    "leakyrelu": lambda x, alpha, beta: k.select(k.tir.GE(x, _zero(x)), x, alpha * x),
    "relu": lambda x, alpha, beta: k.maximum(x, _zero(x)),
    "scaledtanh": lambda x, alpha, beta: alpha * k.tanh(beta * x),
    "sigmoid": lambda x, alpha, beta: k.sigmoid(x),
    "softplus": lambda x, alpha, beta: k.maximum(x, _zero(x)) + k.call("log1p", k.exp(_zero(x) - k.fabs(x))),
    "softsign": lambda x, alpha, beta: x / (_one(x) + k.fabs(x)),
    "tanh": lambda x, alpha, beta: k.tanh(x),
    "thresholdedrelu": lambda x, alpha, beta: k.select(k.tir.GT(x, alpha), x, _zero(x)),
}
