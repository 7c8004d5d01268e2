"""Random programs of Relay's dialect qnn, and what they mean in whole numbers.

`quantised_program(seed)` chains operators over quantised tensors. Beside each expression stand its integers, computed
here with NumPy from the formulas of the dialect: a tensor stands for (q - zero_point) * scale, products are sums of
int32, other scales round halves up (UPWARD) or away from zero (TONEAREST), and results saturate. Most scales are short
binary fractions, so that halves come up and no formula may round on its way. What averages or computes functions in
float32 comes last and is given a step of room; everything else is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from baton import relay

QNN = relay.qnn.op
BYTES = ("int8", "uint8")
ROUNDINGS = ("None", "UPWARD", "TONEAREST")
COMPUTE_DTYPES = ("None", "int64", "float32", "float64")
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "exp": np.exp,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "abs": np.abs,
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}


@dataclass(frozen=True)
class Quantised:
    """An expression, its integers (int64, whatever dtype the program has), and what they stand for."""

    expr: Any
    values: Any
    scale: Any
    zero: Any
    dtype: str


@dataclass(frozen=True)
class Program:
    """A function without parameters beyond `arguments`, its value, and by how much a computed one may differ."""

    function: Any
    arguments: list[Any]
    value: Any
    room: int
    operators: tuple[str, ...]


def quantised_program(seed: int) -> Program:
    """A few operators on quantised tensors."""
    return _Maker(np.random.default_rng(seed)).program()


def rounded(value: Any, rounding: str) -> Any:
    """Floats to whole numbers, in their dtype: halves up, or away from zero."""
    if rounding == "TONEAREST":
        return np.trunc(value + np.copysign(0.5, value))
    return np.floor(value + 0.5)


def fixed_product(values: Any, factor: Any, rounding: str) -> Any:
    """Integers times factors of which 31 bits are kept, rounded without real numbers: -150 / 300 is less than -1/2,
    because the factor's 31 bits are more than 1 / 300."""
    fraction, exponent = np.frexp(factor)
    numbers, shifts = np.floor(fraction * 2.0**31 + 0.5).astype("int64"), 31 - exponent

    def one(value: int, number: int, shift: int) -> int:
        product = value * number
        half = 1 << (shift - 1)
        return -((half - product) >> shift) if product < 0 and rounding == "TONEAREST" else (product + half) >> shift

    exact = np.frompyfunc(lambda *v: one(*map(int, v)), 3, 1)
    return np.asarray(exact(values, numbers, shifts)).astype("int64")


def saturated(value: Any, dtype: str) -> Any:
    """The nearest number that the dtype holds, as int64."""
    bounds = np.iinfo(dtype)
    return np.clip(value, bounds.min, bounds.max).astype("int64")


def along(vector: Any, axis: int, rank: int) -> Any:
    """A parameter of an axis beside a tensor of this rank."""
    return vector if np.ndim(vector) == 0 else vector.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def convolved(x: Any, w: Any, strides: Any, pads: Any, dilation: Any, groups: int) -> Any:
    """NCHW by OIHW, in int64. `pads`: top, left, bottom, right."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    reach = [(w.shape[2 + i] - 1) * dilation[i] + 1 for i in (0, 1)]
    size = [(x.shape[2 + i] - reach[i]) // strides[i] + 1 for i in (0, 1)]
    out = np.zeros((x.shape[0], w.shape[0], *size), "int64")
    inside, outside = w.shape[1], w.shape[0] // groups
    for o in range(w.shape[0]):
        part = x[:, o // outside * inside :][:, :inside]
        for i, j in np.ndindex(*size):
            y, z = i * strides[0], j * strides[1]
            window = part[:, :, y : y + reach[0] : dilation[0], z : z + reach[1] : dilation[1]]
            out[:, o, i, j] = (window * w[o]).sum((1, 2, 3))
    return out


def spread(x: Any, w: Any, strides: Any, pads: Any, more: Any) -> Any:
    """The transposed convolution of NCHW by IOHW, in int64."""
    height, width = ((x.shape[2 + i] - 1) * strides[i] + w.shape[2 + i] for i in (0, 1))
    out = np.zeros((x.shape[0], w.shape[1], height + more[0], width + more[1]), "int64")
    for i, j in np.ndindex(*x.shape[2:]):
        part = np.einsum("nc,cohw->nohw", x[:, :, i, j], w)
        out[:, :, i * strides[0] :, j * strides[1] :][:, :, : w.shape[2], : w.shape[3]] += part
    return out[:, :, pads[0] : out.shape[2] - pads[2], pads[1] : out.shape[3] - pads[3]]


class _Maker:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.params: list[Any] = []
        self.arguments: list[Any] = []
        self.operators: list[str] = []
        self.room = 0

    # ---- choices

    def pick(self, *options: Any) -> Any:
        return options[self.rng.integers(len(options))]

    def below(self, count: int) -> int:
        return int(self.rng.integers(count))

    def scale(self, *shape: int) -> Any:
        """A float32 of few bits mostly, else any."""
        exact = self.rng.integers(1, 16, shape) * 2.0 ** self.rng.integers(-6, 0, shape)
        return np.asarray(exact if self.below(4) else self.rng.uniform(0.01, 0.9, shape), "float32")

    def zero(self, dtype: str, *shape: int) -> Any:
        if dtype == "int32":
            return np.asarray(self.rng.integers(-300, 300, shape), "int32")
        bounds = np.iinfo(dtype)
        return np.asarray(self.rng.integers(bounds.min, bounds.max + 1, shape) * self.below(2), "int32")

    def const(self, value: Any, dtype: str | None = None) -> Any:
        return relay.const(np.asarray(value, dtype))

    def integers(self, dtype: str, *shape: int) -> Any:
        bounds = np.iinfo("int16" if dtype == "int32" else dtype)
        return self.rng.integers(bounds.min, bounds.max + 1, shape).astype(dtype)

    def operand(self, values: Any) -> Any:
        """A parameter of the program, or a constant."""
        if self.below(3) == 0:
            return relay.const(values)
        self.params.append(relay.var(f"x{len(self.params)}", shape=values.shape, dtype=str(values.dtype)))
        self.arguments.append(values)
        return self.params[-1]

    def given(self, *shape: int) -> Quantised:
        dtype = self.pick(*BYTES)
        values = self.integers(dtype, *shape)
        return Quantised(self.operand(values), values.astype("int64"), self.scale(), self.zero(dtype), dtype)

    # ---- programs

    def program(self) -> Program:
        shape = (1 + self.below(2), self.pick(2, 3, 4), 4 + self.below(3), 3 + self.below(4))
        q = self.quantized(shape) if self.below(3) == 0 else self.given(*shape)
        for _ in range(1 + self.below(4)):
            step = self.pick(
                self.requantize, self.arithmetic, self.concatenate, self.conv2d, self.transposed, self.rows
            )
            q = step(q)
            if self.below(4) == 0 and q.dtype == "int32":
                return self.finished(q.expr, q.values.astype("int32"))
            if q.dtype == "int32":
                q = self.requantize(q)
        last = self.pick(
            None, None, self.dequantize, self.function, self.leaky_relu, self.softmax, self.pool, self.simulated
        )
        return self.finished(q.expr, q.values.astype(q.dtype)) if last is None else last(q)

    def finished(self, expr: Any, value: Any) -> Program:
        return Program(relay.Function(self.params, expr), self.arguments, value, self.room, tuple(self.operators))

    # ---- operators that are exact

    def quantized(self, shape: tuple[int, ...]) -> Quantised:
        self.operators.append("quantize")
        dtype = self.pick(*BYTES, "int16", "uint16", "int32")
        scale, axis = 2.0 ** -self.below(4), self.below(4)
        zero = self.zero("int8" if dtype == "int32" else dtype)
        real = (self.rng.integers(-999, 999, shape) * scale / 2).astype("float32")
        real.reshape(-1)[: self.below(3)] = self.pick(1e30, -1e30, 1e9, -1e9)
        expr = QNN.quantize(self.operand(real), self.const(scale, "float32"), self.const(zero), axis, dtype)
        values = saturated(np.rint(real.astype("float64") / scale) + zero, dtype)
        q = Quantised(expr, values, np.float32(scale), zero, dtype)
        return q if dtype in BYTES else self.requantize(q)

    def requantize(self, q: Quantised) -> Quantised:
        self.operators.append("requantize")
        rank, axis = q.values.ndim, self.below(q.values.ndim)
        rounding, dtype = self.pick(*ROUNDINGS), self.pick(*BYTES, "int8", "int16" if self.below(3) == 0 else "uint8")
        compute = self.pick(*COMPUTE_DTYPES)
        scale, zero = q.scale, q.zero
        if np.ndim(scale) == 0 and self.below(3) == 0 and q.values.shape[axis] > 1:
            scale = self.scale(q.values.shape[axis])
            zero = self.zero(self.pick("int8", "int32"), q.values.shape[axis]) if self.below(2) else zero
        elif np.ndim(scale):
            axis = 1
        new_scale = np.float32(2.0 ** -self.below(6) * (300 if q.dtype == "int32" and self.below(2) else 1))
        new_zero = self.zero(dtype if dtype in BYTES else "int8")
        expr = QNN.requantize(
            q.expr, self.const(scale), self.const(zero), self.const(new_scale), self.const(new_zero),
            axis=axis - rank * self.below(2), rounding=rounding, compute_dtype=compute,
            out_dtype=dtype,
        )  # fmt: skip
        factor = along(scale, axis, rank).astype("float64") / np.float64(new_scale)
        zeros = along(zero, axis, rank)
        if compute == "int64":
            value = fixed_product(q.values - zeros, factor, rounding) + new_zero
        elif compute == "None":
            value = rounded((q.values - zeros) * factor, rounding) + new_zero
        else:  # moved to the zero point before it is rounded, all in this dtype
            whole = q.values.astype(compute) - zeros.astype(compute)
            value = rounded(whole * factor.astype(compute) + new_zero.astype(compute), rounding)
        return Quantised(expr, saturated(value, dtype), new_scale, new_zero, dtype)

    def bytes(self, q: Quantised) -> Quantised:
        while q.dtype not in BYTES:
            q = self.requantize(q)
        return q

    def arithmetic(self, q: Quantised) -> Quantised:
        name, rank = self.pick("add", "subtract", "mul"), q.values.ndim
        self.operators.append(name)
        shape = [n if self.below(2) else 1 for n in q.values.shape][self.below(rank) :]
        values = self.integers(q.dtype, *shape)
        other = Quantised(self.operand(values), values.astype("int64"), self.scale(), self.zero("int8"), q.dtype)
        left, right = (q, other) if self.below(2) else (other, q)
        scale, zero, axes, parameters = self.scale(), self.zero("int8"), {}, []
        reals = []
        for side, x in (("lhs", left), ("rhs", right)):
            s, z, rank, axis = x.scale, x.zero, x.values.ndim, self.below(x.values.ndim)
            if self.below(4) == 0:
                s, z = self.scale(x.values.shape[axis]), self.zero("int8", x.values.shape[axis])
            axes[f"{side}_axis"] = axis - rank * self.below(2)
            parameters += [self.const(s), self.const(z)]
            reals.append((x.values - along(z, axis, rank)) * along(s, axis, rank).astype("float64"))
        operation = {"add": np.add, "subtract": np.subtract, "mul": np.multiply}[name]
        expr = getattr(QNN, name)(left.expr, right.expr, *parameters, self.const(scale), self.const(zero), **axes)
        value = rounded(operation(*reals) / np.float64(scale), "UPWARD") + zero
        return Quantised(expr, saturated(value, q.dtype), scale, zero, q.dtype)

    def concatenate(self, q: Quantised) -> Quantised:
        self.operators.append("concatenate")
        axis, rank, parts = self.below(q.values.ndim), q.values.ndim, [q]
        for _ in range(self.below(3)):
            shape = tuple(1 + self.below(3) if i == axis else n for i, n in enumerate(q.values.shape))
            values = self.integers(q.dtype, *shape)
            parts.append(
                Quantised(self.operand(values), values.astype("int64"), self.scale(), self.zero("int8"), q.dtype)
            )
        scale, zero = np.float32(2.0 ** -self.below(5)), self.zero("int8")
        expr = QNN.concatenate(
            relay.Tuple([p.expr for p in parts]), relay.Tuple([self.const(p.scale) for p in parts]),
            relay.Tuple([self.const(p.zero) for p in parts]), self.const(scale), self.const(zero),
            axis=axis - rank * self.below(2),
        )  # fmt: skip
        values = [
            saturated(
                rounded((p.values - p.zero) * (np.float64(p.scale) / np.float64(scale)), "UPWARD") + zero, q.dtype
            )
            for p in parts
        ]
        return Quantised(expr, np.concatenate(values, axis), scale, zero, q.dtype)

    # ---- products

    def conv2d(self, q: Quantised) -> Quantised:
        q = self.bytes(q)
        if q.values.ndim != 4:
            return self.rows(q)
        self.operators.append("conv2d")
        channels, (height, width) = q.values.shape[1], q.values.shape[2:]
        groups = self.pick(1, 1, channels)
        outputs = groups * (1 + self.below(3))
        window = (min(height, 1 + self.below(3)), min(width, 1 + self.below(3)))
        dilation = tuple(1 + self.below(2) if (n + 1) // 2 >= k else 1 for n, k in zip((height, width), window))
        strides, pads = (1 + self.below(2), 1 + self.below(2)), [self.below(3) for _ in range(4)]
        dtype = self.pick(*BYTES)
        kernel, w_zero = self.integers(dtype, outputs, channels // groups, *window), self.zero(dtype)
        if groups == 1 and self.below(3) == 0:
            w_zero = self.zero(dtype, outputs)
        w_scale = self.scale(outputs) if self.below(2) else self.scale()
        sums = convolved(
            q.values - q.zero, kernel - along(w_zero, 0, 4).astype("int64"), strides, pads, dilation, groups
        )
        layout, kernel_layout = self.pick(("NCHW", "OIHW"), ("NHWC", "HWIO"))
        x = q.expr
        if layout == "NHWC":
            x = relay.transpose(x, [0, 2, 3, 1])
            kernel = kernel.transpose(2, 3, 1, 0)
            if groups > 1:
                # A depthwise kernel in HWIO has the multiplier where others have outputs.
                kernel, kernel_layout = kernel.transpose(0, 1, 3, 2).reshape(*window, channels, -1), "HWOI"
        expr = QNN.conv2d(
            x, self.operand(kernel), self.const(q.zero), self.const(w_zero), self.const(q.scale), self.const(w_scale),
            kernel_size=window, channels=outputs, strides=strides, padding=tuple(pads), dilation=dilation,
            groups=groups, data_layout=layout, kernel_layout=kernel_layout,
        )  # fmt: skip
        expr = relay.transpose(expr, [0, 3, 1, 2]) if layout == "NHWC" else expr
        return Quantised(expr, sums, np.float32(q.scale) * w_scale, np.int32(0), "int32")

    def transposed(self, q: Quantised) -> Quantised:
        q = self.bytes(q)
        if q.values.ndim != 4:
            return self.batches(q)
        self.operators.append("conv2d_transpose")
        dtype, strides, window = self.pick(*BYTES), (1 + self.below(2), 1 + self.below(2)), (2 + self.below(2), 3)
        pads, more = [self.below(2) for _ in range(4)], tuple(self.below(s) for s in strides)
        kernel = self.integers(dtype, q.values.shape[1], 1 + self.below(3), *window)
        w_zero, w_scale = self.zero(dtype), self.scale()
        expr = QNN.conv2d_transpose(
            q.expr, self.operand(kernel), self.const(q.zero), self.const(w_zero), self.const(q.scale),
            self.const(w_scale), strides=strides, padding=tuple(pads), output_padding=more,
            channels=kernel.shape[1], kernel_size=window,
        )  # fmt: skip
        sums = spread(q.values - q.zero, kernel.astype("int64") - w_zero, strides, pads, more)
        return Quantised(expr, sums, np.float32(q.scale * w_scale), np.int32(0), "int32")

    def rows(self, q: Quantised) -> Quantised:
        q = self.bytes(q)
        self.operators.append("dense")
        values, dtype, units = q.values.reshape(q.values.shape[0], -1), self.pick(*BYTES), 1 + self.below(4)
        weight = self.integers(dtype, units, values.shape[1])
        w_zero = self.zero(dtype, units) if self.below(3) == 0 else self.zero(dtype)
        w_scale = self.scale(units) if self.below(2) else self.scale()
        x = relay.reshape(q.expr, values.shape)
        parameters = (self.const(q.zero), self.const(w_zero), self.const(q.scale), self.const(w_scale))
        expr = QNN.dense(x, self.operand(weight), *parameters, units)
        sums = (values - q.zero) @ (weight - along(w_zero, 0, 2).astype("int64")).T
        return Quantised(expr, sums, np.float32(q.scale) * w_scale, np.int32(0), "int32")

    def batches(self, q: Quantised) -> Quantised:
        self.operators.append("batch_matmul")
        values = q.values.reshape(q.values.shape[0], 1, -1)
        other = self.given(values.shape[0], 1 + self.below(3), values.shape[2])
        parameters = (q.zero, other.zero, q.scale, other.scale)
        expr = QNN.batch_matmul(relay.reshape(q.expr, values.shape), other.expr, *map(self.const, parameters))
        sums = (values - q.zero) @ (other.values - other.zero).transpose(0, 2, 1)
        return Quantised(expr, sums, np.float32(q.scale * other.scale), np.int32(0), "int32")

    # ---- the last operator

    def dequantize(self, q: Quantised) -> Program:
        self.operators.append("dequantize")
        rank, axis, scale, zero = q.values.ndim, self.below(q.values.ndim), q.scale, q.zero
        if self.below(2):
            scale, zero = self.scale(q.values.shape[axis]), self.zero("int8", q.values.shape[axis])
        expr = QNN.dequantize(q.expr, self.const(scale), self.const(zero), axis - rank * self.below(2))
        whole = (q.values - along(zero, axis, rank)).astype("float32")
        return self.finished(expr, whole * along(scale, axis, rank))

    def parameters(self, q: Quantised) -> tuple[Any, Any, list[Any]]:
        scale, zero = self.scale(), self.zero(q.dtype)
        return scale, zero, [self.const(v) for v in (q.scale, q.zero, scale, zero)]

    def computed(self, q: Quantised, function: Callable[[Any], Any], make: Callable[[list[Any]], Any]) -> Program:
        """A function of the real numbers, rounded to even."""
        scale, zero, parameters = self.parameters(q)
        value = function((q.values - q.zero) * np.float64(q.scale)) / np.float64(scale)
        self.room = 1
        return self.finished(make(parameters), saturated(np.rint(value) + zero, q.dtype).astype(q.dtype))

    def function(self, q: Quantised) -> Program:
        q, name = self.bytes(q), self.pick(*FUNCTIONS)
        self.operators.append(name)
        return self.computed(q, FUNCTIONS[name], lambda p: getattr(QNN, name)(q.expr, *p))

    def leaky_relu(self, q: Quantised) -> Program:
        q, alpha = self.bytes(q), self.pick(0.1, 0.5)
        self.operators.append("leaky_relu")
        return self.computed(q, lambda x: np.where(x > 0, x, alpha * x), lambda p: QNN.leaky_relu(q.expr, alpha, *p))

    def softmax(self, q: Quantised) -> Program:
        q = self.bytes(q)
        self.operators.append("softmax")
        axis = self.below(q.values.ndim)

        def function(x: Any) -> Any:
            e = np.exp(x - x.max(axis, keepdims=True))
            return e / e.sum(axis, keepdims=True)

        return self.computed(q, function, lambda p: QNN.softmax(q.expr, *p, axis=axis - q.values.ndim * self.below(2)))

    def pool(self, q: Quantised) -> Program:
        q = self.bytes(q)
        if q.values.ndim != 4 or min(q.values.shape[2:]) < 2:
            return self.leaky_relu(q)
        self.operators.append("avg_pool2d")
        layout = self.pick("NCHW", "NHWC")
        x = relay.transpose(q.expr, [0, 2, 3, 1]) if layout == "NHWC" else q.expr

        def function(real: Any) -> Any:
            rows, columns = (n // 2 * 2 for n in real.shape[2:])
            mean = sum(real[:, :, i:rows:2, j:columns:2] for i in (0, 1) for j in (0, 1)) / 4
            return mean if layout == "NCHW" else mean.transpose(0, 2, 3, 1)

        return self.computed(
            q, function, lambda p: QNN.avg_pool2d(x, *p, (2, 2), (2, 2), (0, 0), (1, 1), layout=layout)
        )

    def simulated(self, q: Quantised) -> Program:
        self.operators.append("simulated_quantize")
        rank, axis, dtype = q.values.ndim, self.below(q.values.ndim), self.pick("int8", "uint8", "int32")
        shape = (q.values.shape[axis],) if self.below(2) else ()
        scale, zero = np.asarray(2.0 ** self.rng.integers(-4, 1, shape), "float32"), self.zero("int8", *shape)
        whole = relay.cast(q.expr, "float32")
        made = QNN.simulated_quantize(whole, self.const(scale), self.const(zero), axis, dtype)
        value = saturated(np.rint(q.values / along(scale, axis, rank)) + along(zero, axis, rank), dtype)
        if self.below(2):
            return self.finished(made, value.astype("float32"))
        self.operators.append("simulated_dequantize")
        real = (value - along(zero, axis, rank)) * along(scale, axis, rank)
        made = QNN.simulated_dequantize(made, self.const(scale), self.const(zero), axis, dtype)
        return self.finished(made, real.astype("float32"))
