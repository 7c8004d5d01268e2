"""How to draw a node of each group of operators that suits the values there are: `DRAWS`, for `random_graphs.grown`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from tests.frontends.onnx.random_graphs import SIZES, Draw, Drawn, Plan, Scope, Unsuited, grow

SMOOTH = (
    "Sigmoid", "Tanh", "Exp", "Erf", "Softplus", "Softsign", "Elu", "Selu", "Celu", "HardSigmoid", "HardSwish", "Mish",
    "Sin", "Cos", "Atan", "Asinh", "Gelu", "Sqrt", "Log", "Reciprocal", "Sinh", "ThresholdedRelu", "Tan",
)  # fmt: skip
EXACT = ("Abs", "Neg", "Relu", "Identity", "LeakyRelu", "Sign", "Floor", "Ceil", "Round")
REDUCTIONS = (
    "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
    "ReduceLogSumExp",
)  # fmt: skip


def smooth(s: Scope) -> Plan:
    return Plan(s.choice(SMOOTH), [s.pick()], exact=False)


def exact(s: Scope) -> Plan:
    op = s.choice(EXACT)
    return Plan(op, [s.pick(exact=op in ("Sign", "Floor", "Ceil", "Round"))], exact=op != "LeakyRelu")


def binary(s: Scope) -> Plan:
    """Operands of one dtype, or one and a tensor made to be broadcast with it."""
    x = s.pick("fi")
    op = s.choice(["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Mod"])
    if op in ("Div", "Mod") and s.chance(0.7):
        y = _broadcast_with(s, x, low=1)
    else:
        y = s.pick(x.dtype.kind) if s.chance(0.6) else _broadcast_with(s, x)
    if op == "Mod" and x.dtype.kind == "f":
        return Plan(op, [_only_exact(x), _only_exact(y)], {"fmod": 1})
    return Plan(op, [x, y] if s.chance(0.5) or op in ("Div", "Mod") else [y, x], exact=op not in ("Div", "Pow"))


def _only_exact(x: Drawn) -> Drawn:
    if not x.exact:
        raise Unsuited
    return x


def _broadcast_with(s: Scope, x: Drawn, low: int = -4) -> Drawn:
    rank = int(s.random.integers(x.rank + 1))
    dims = [x.least(a) if x.has_one_size(a) and s.chance(0.7) else 1 for a in range(x.rank)][rank:]
    if s.chance(0.1):
        dims = [1, *[1] * rank, *dims]
    return s.given(s.numbers(*dims, dtype=x.dtype, low=low))


def compare(s: Scope) -> Plan:
    x = s.pick("fi", exact=True)
    y = s.pick(x.dtype.kind, exact=True) if s.chance(0.5) else _broadcast_with(s, x)
    return Plan(s.choice(["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"]), [x, y])


def logic(s: Scope) -> Plan:
    op = s.choice(["And", "Or", "Xor", "Not"])
    return Plan(op, [s.pick("b")] if op == "Not" else [s.pick("b"), s.pick("b")])


def where(s: Scope) -> Plan:
    x = s.pick("fi")
    return Plan("Where", [s.pick("b"), x, s.pick(x.dtype.kind) if s.chance(0.6) else _broadcast_with(s, x)])


def clip(s: Scope) -> Plan:
    x = s.pick("fi")
    low, high = (s.given(np.array(v, x.dtype)) if s.chance(0.7) else None for v in (-1, 2))
    return Plan("Clip", [x, low, high] if high is not None else [x, low] if low is not None else [x])


def cast(s: Scope) -> Plan:
    to = s.choice([TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.INT32, TensorProto.DOUBLE])
    exact = to in (TensorProto.FLOAT, TensorProto.DOUBLE)
    return Plan("Cast", [s.pick("fib", exact=not exact)], {"to": to})


def reduction(s: Scope) -> Plan:
    """ReduceSum takes its axes as an operand, the others, up to opset 17, as an attribute."""
    op = "ReduceSum" if s.chance(0.3) else s.choice(REDUCTIONS)
    x = s.pick("f", ranks=(1, 2, 3, 4))
    count = int(s.random.integers(0, x.rank + 1))
    axes = s.random.permutation(x.rank)[:count] - x.rank * s.random.integers(0, 2, count)
    keep = {"keepdims": int(s.random.integers(2))}
    if op == "ReduceSum":
        keep["noop_with_empty_axes"] = int(s.chance(0.2))
        return Plan(op, [x, s.given(axes.astype("int64"))], keep)
    more = {"axes": [int(a) for a in axes]} if count else {}
    return Plan(op, [x], {**keep, **more}, exact=op in ("ReduceMax", "ReduceMin", "ReduceL1", "ReduceSumSquare"))


def arg_extreme(s: Scope) -> Plan:
    x = s.pick("fi", ranks=(1, 2, 3, 4), exact=True)
    axis, keep, last = (int(s.random.integers(low, high)) for low, high in ((-x.rank, x.rank), (0, 2), (0, 2)))
    attributes = {"axis": axis, "keepdims": keep, "select_last_index": last}
    return Plan(s.choice(["ArgMax", "ArgMin"]), [x], attributes)


def reshape(s: Scope) -> Plan:
    x = s.pick("fib", ranks=(1, 2, 3, 4))
    kind = int(s.random.integers(6))
    match kind:
        case 0:
            return Plan("Flatten", [x], {"axis": int(s.random.integers(-x.rank, x.rank + 1))})
        case 1:
            return Plan("Reshape", [x, s.given(np.array([-1]))])
        case 2:
            dims = [0] * x.rank
            dims[int(s.random.integers(x.rank))] = -1
            return Plan("Reshape", [x, s.given(np.array([*dims, 1]))])
        case 3:
            return Plan("Reshape", [x, s.given(np.array([-1, s.choice([1, 2, 4])]))])
        case 4:
            rank = x.rank + 1
            return Plan("Unsqueeze", [x, s.given(np.array([int(s.random.integers(-rank, rank))]))])
        case _:
            ones = [a for a in range(x.rank) if all(r.shape[a] == 1 for r in x.arrays)]
            return Plan("Squeeze", [x, s.given(np.array([s.choice(ones)]))])


def transpose(s: Scope) -> Plan:
    x = s.pick("fib", ranks=(2, 3, 4))
    return Plan("Transpose", [x], {"perm": [int(a) for a in s.random.permutation(x.rank)]})


def concat(s: Scope) -> Plan:
    x = s.pick("fi", ranks=(1, 2, 3))
    y = s.pick(x.dtype.kind, ranks=(x.rank,)) if s.chance(0.5) else x
    return Plan("Concat", [x, y, x][: int(s.random.integers(2, 4))], {"axis": int(s.random.integers(-x.rank, x.rank))})


def split(s: Scope) -> Plan:
    x = s.pick("f", ranks=(1, 2, 3))
    axis = int(s.random.integers(x.rank))
    least = x.least(axis)
    if s.chance(0.5) and x.has_one_size(axis) and least > 1:
        cut = int(s.random.integers(0, least))
        return Plan("Split", [x, s.given(np.array([cut, least - cut]))], {"axis": axis}, results=2)
    return Plan("Split", [x], {"axis": axis - x.rank, "num_outputs": 2}, results=2)


def cut(s: Scope) -> Plan:
    x = s.pick("fi", ranks=(1, 2, 3, 4))
    count = int(s.random.integers(1, x.rank + 1))
    axes = s.random.permutation(x.rank)[:count]
    steps = s.random.choice([1, 1, 1, 2, -1, -2], count)
    starts, ends = s.random.integers(-4, 4, count), s.random.integers(-7, 7, count)
    ends = np.where(s.random.random(count) < 0.3, np.iinfo(np.int64).max * np.sign(steps), ends)
    return Plan("Slice", [x, *(s.given(v.astype("int64")) for v in (starts, ends, axes, steps))])


def gather(s: Scope) -> Plan:
    x = s.pick("fib", ranks=(1, 2, 3))
    axis = int(s.random.integers(x.rank))
    least = x.least(axis)
    at = s.given(s.random.integers(-least, least, [(), (1,), (2,), (2, 3)][int(s.random.integers(4))]))
    return Plan("Gather", [x, at], {"axis": axis - x.rank * int(s.random.integers(2))})


def gather_elements(s: Scope) -> Plan:
    x = s.pick("fi", ranks=(1, 2, 3))
    axis = int(s.random.integers(x.rank))
    dims = [int(s.random.integers(1, x.least(a) + 1)) for a in range(x.rank)]
    dims[axis] = int(s.random.integers(1, 5))
    at = s.given(s.random.integers(-x.least(axis), x.least(axis), dims))
    if s.chance(0.5):
        return Plan("GatherElements", [x, at], {"axis": axis})
    at = s.given(np.argsort(s.random.random(dims), axis=axis).astype("int64") % x.least(axis))
    updates = s.given(s.numbers(*dims, dtype=x.dtype))
    return Plan("ScatterElements", [x, at, updates], {"axis": axis, "reduction": s.choice(["add", "max", "min"])})


def gather_nd(s: Scope) -> Plan:
    x = s.pick("f", ranks=(2, 3))
    at = np.stack([s.random.permutation(x.least(0))[:1], s.random.integers(-x.least(1), x.least(1), 1)], axis=-1)
    if s.chance(0.5):
        return Plan("GatherND", [x, s.given(at)])
    rest = [x.least(2)] if x.rank > 2 and x.has_one_size(2) else []
    return Plan("ScatterND", [x, s.given(at), s.given(s.numbers(1, *rest))], {"reduction": s.choice(["add", "none"])})


def pad(s: Scope) -> Plan:
    x = s.pick("f", ranks=(1, 2, 3, 4))
    mode = s.choice(["constant", "edge", "reflect"])
    widths = s.given(s.random.integers(0 if mode != "constant" else -1, 2, 2 * x.rank))
    fill = [s.given(np.float32(0.5))] if mode == "constant" and s.chance(0.5) else []
    return Plan("Pad", [x, widths, *fill], {"mode": mode})


def tile(s: Scope) -> Plan:
    x = s.pick("fi", ranks=(1, 2, 3))
    return Plan("Tile", [x, s.given(s.random.integers(1, 3, x.rank))])


def expand(s: Scope) -> Plan:
    x = s.pick("fi", ranks=(0, 1, 2, 3))
    return Plan("Expand", [x, s.given(np.array([2, *[1] * x.rank][int(s.random.integers(2)) :]))])


def shape(s: Scope) -> Plan:
    x = s.pick("fib", ranks=(1, 2, 3, 4))
    return Plan("Shape", [x], {"start": int(s.random.integers(-x.rank, x.rank))} if s.chance(0.5) else {})


def by_shape(s: Scope) -> Plan:
    """What takes a shape or a size that the graph computes."""
    sizes = s.pick("i", ranks=(1,))
    if len({len(a) for a in sizes.arrays}) > 1 or any((a < 0).any() or a.size > 4 for a in sizes.arrays):
        raise Unsuited
    x = s.pick("f", ranks=(0, 1, 2, 3, 4))
    op = s.choice(["Reshape", "Expand", "ConstantOfShape", "Tile", "Range", "TopK"])
    if op == "ConstantOfShape":
        return Plan(op, [sizes], {"value": helper.make_tensor("v", TensorProto.FLOAT, [1], [1.5])})
    if op == "Range":
        limit = s.pick("i", ranks=(0,))
        return Plan(op, [s.given(np.array(0)), limit, s.given(np.array(s.choice([1, 2])))])
    if op == "TopK":
        return Plan(op, [_only_exact(x), sizes], results=2)
    return Plan(op, [x, sizes])


def product(s: Scope) -> Plan:
    x = s.pick("f", ranks=(1, 2, 3, 4))
    if s.chance(0.3):
        return Plan("MatMul", [x, s.pick("f", ranks=(1, 2, 3, 4))], exact=False)
    columns = s.choice([1, 3])
    y = s.given(s.numbers(x.least(x.rank - 1), columns))
    if x.rank == 2 and s.chance(0.5):
        bias = [s.given(s.numbers(columns))] if s.chance(0.5) else []
        return Plan("Gemm", [x, y, *bias], {"alpha": 0.5, "beta": 2.0}, exact=False)
    return Plan("MatMul", [x, y], exact=False)


def einsum(s: Scope) -> Plan:
    x = s.pick("f", ranks=(2,))
    text = s.choice(["ij,ij->i", "ij,kj->ik", "ij,ij->", "ij,ij->ji"])
    return Plan("Einsum", [x, x], {"equation": text}, exact=False)


def convolution(s: Scope) -> Plan:
    x = s.pick("f", ranks=(3, 4))
    spatial, channels = x.rank - 2, x.least(1)
    size, stride, dilation = s.choice([1, 2, 3]), s.choice([1, 2]), s.choice([1, 1, 2])
    if min(x.least(a) for a in range(2, x.rank)) < size:  # onnxruntime counts a window in what is smaller than it
        raise Unsuited
    common = {"kernel_shape": [size] * spatial, "strides": [stride] * spatial}
    border: dict[str, Any] = s.choice(
        [{}, {"pads": [1] * 2 * spatial}, {"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}]
    )
    match s.choice(["Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"]):
        case "Conv":
            group = channels if s.chance(0.3) else 1
            kernel = s.given(s.numbers(2 * group, channels // group, *[size] * spatial))
            bias = [s.given(s.numbers(2 * group))] if s.chance(0.5) else []
            more = {"group": group, "dilations": [dilation] * spatial}
            return Plan("Conv", [x, kernel, *bias], {**common, **border, **more}, exact=False)
        case "ConvTranspose":
            kernel = s.given(s.numbers(channels, 2, *[size] * spatial))
            border = border if "pads" in border else {}
            return Plan("ConvTranspose", [x, kernel], {**common, **border}, exact=False)
        case "MaxPool":
            return Plan("MaxPool", [x], {**common, **border, "ceil_mode": int("pads" in border and s.chance(0.3))})
        case "AveragePool":
            inside = int(s.random.integers(2))
            return Plan("AveragePool", [x], {**common, **border, "count_include_pad": inside}, exact=False)
        case _:
            return Plan("LpPool", [x], {**common, **border, "p": 2}, exact=False)


def normalization(s: Scope) -> Plan:
    x = s.pick("f", ranks=(2, 3, 4))
    match s.choice(["Layer", "Batch", "Instance", "Softmax", "Global", "Lrn"]):
        case "Layer":
            axis = x.rank - 1
            if not x.has_one_size(axis):
                raise Unsuited
            scale = s.given(s.numbers(x.least(axis)))
            return Plan("LayerNormalization", [x, scale, s.given(s.numbers(x.least(axis)))], exact=False)
        case "Batch":
            parts = [s.given(s.numbers(x.least(1), low=1)) for _ in range(4)]
            return Plan("BatchNormalization", [x, *parts], exact=False)
        case "Instance":
            return Plan("InstanceNormalization", [x, *(s.given(s.numbers(x.least(1))) for _ in range(2))], exact=False)
        case "Softmax":
            op = s.choice(["Softmax", "LogSoftmax"])
            return Plan(op, [x], {"axis": int(s.random.integers(-x.rank, x.rank))}, exact=False)
        case "Global":
            return Plan(s.choice(["GlobalAveragePool", "GlobalMaxPool"]), [x], exact=False)
        case _:
            return Plan("LRN", [x], {"size": 3}, exact=False)


def sort(s: Scope) -> Plan:
    x = s.pick("fi", ranks=(1, 2, 3), exact=True)
    axis = int(s.random.integers(-x.rank, x.rank))
    k = s.given(np.array([int(s.random.integers(1, x.least(axis % x.rank) + 1))]))
    return Plan("TopK", [x, k], {"axis": axis, "largest": int(s.random.integers(2))}, results=2)


def cumulative(s: Scope) -> Plan:
    x = s.pick("fi", ranks=(1, 2, 3))
    attributes = {"exclusive": int(s.random.integers(2)), "reverse": int(s.random.integers(2))}
    return Plan("CumSum", [x, s.given(np.array(int(s.random.integers(-x.rank, x.rank))))], attributes)


def counted(s: Scope) -> Plan:
    """Results whose size the values decide."""
    op = s.choice(["NonZero", "Unique", "Compress"])
    if op == "Compress":
        x = s.pick("fi", ranks=(1, 2))
        keep = s.given(s.random.random(x.least(0)) < 0.6)
        return Plan(op, [x, keep], {"axis": 0})
    x = s.pick("fi", ranks=(1, 2), exact=True)
    if op == "Unique":
        return Plan(op, [x], {"sorted": int(s.random.integers(2))}, results=int(s.random.integers(1, 5)))
    return Plan(op, [x])


def one_hot(s: Scope) -> Plan:
    x = s.pick("i", ranks=(0, 1, 2))
    depth, values = s.given(np.array(5)), s.given(s.numbers(2))
    return Plan("OneHot", [x, depth, values], {"axis": int(s.random.integers(-x.rank - 1, x.rank + 1))})


def triangle(s: Scope) -> Plan:
    operands: list[Drawn | None] = [s.pick("fi", ranks=(2, 3))]
    if s.chance(0.5):
        operands.append(s.given(np.array(int(s.random.integers(-2, 3)))))
    return Plan("Trilu", operands, {"upper": int(s.random.integers(2))})


def resize(s: Scope) -> Plan:
    x = s.pick("f", ranks=(4,))
    scales = s.given(np.array([1, 1, s.choice([2, 0.5, 1.5]), s.choice([1, 2, 3])], "float32"))
    mode = s.choice(["nearest", "linear", "cubic"])
    where = s.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    nearest = s.choice(["floor", "ceil", "round_prefer_floor"])
    attributes = {"mode": mode, "coordinate_transformation_mode": where, "nearest_mode": nearest}
    return Plan("Resize", [x, None, scales], attributes, exact=mode == "nearest")


def blocks(s: Scope) -> Plan:
    x = s.pick("f", ranks=(4,))
    if s.chance(0.5):
        return Plan("DepthToSpace", [x], {"blocksize": 2, "mode": s.choice(["DCR", "CRD"])})
    return Plan("SpaceToDepth", [x], {"blocksize": 2})


def branch(s: Scope) -> Plan:
    """If, whose arms use what is around them."""
    condition = s.pick("b", ranks=(0,))
    rank = int(s.random.integers(1, 4))
    arms = [_body(s, [], lambda inner: [inner.pick("f", ranks=(rank,))]) for _ in range(2)]
    captured = tuple(s.values)
    attributes = {"then_branch": arms[0], "else_branch": arms[1]}
    return Plan("If", [condition], attributes, captured=captured, exact=False)


def loop(s: Scope) -> Plan:
    """A state is carried and a part of it collected; how often may be open."""
    state, trips = s.pick("f", ranks=(1, 2)), s.given(np.array(int(s.random.integers(1, 4))))
    if s.chance(0.3):
        trips = s.pick("i", ranks=(0,))
    i, go_on = Drawn("", (np.array(0),) * len(SIZES)), Drawn("", (np.array(True),) * len(SIZES))
    body = _body(s, [i, go_on, state], lambda inner: _loop_outputs(inner, state))
    return Plan("Loop", [trips, None, state], {"body": body}, results=2, captured=tuple(s.values), exact=False)


def _loop_outputs(inner: Scope, first: Drawn) -> list[Drawn]:
    last = inner.values[-1]
    state = last if last.dtype == first.dtype else _of_dtype(first, inner.pick("f"))
    return [next(v for v in inner.values if v.name.startswith("go")), state, inner.pick("f")]


def _of_dtype(first: Drawn, state: Drawn) -> Drawn:
    """A state as it is after a step: its shape may be another one, its dtype may not."""
    if state.dtype != first.dtype:
        raise Unsuited
    return state


def scan(s: Scope) -> Plan:
    sequence = s.pick("f", ranks=(2, 3))
    state = s.given(s.numbers(1))
    part = Drawn("", tuple(a[0] for a in sequence.arrays))
    body = _body(s, [state, part], lambda inner: [_of_dtype(state, inner.pick("f", ranks=(1,))), inner.pick("f")])
    attributes = {"body": body, "num_scan_inputs": 1}
    return Plan("Scan", [state, sequence], attributes, results=2, captured=tuple(s.values), exact=False)


def _body(s: Scope, parameters: list[Drawn], outputs: Any) -> Any:
    """A subgraph of a few nodes over its parameters and what is around it."""
    if s.depth > 1:
        raise Unsuited
    inner = Scope(s.random, list(s.values), count=s.count, depth=s.depth + 1)
    kinds = {0: "i", 1: "go"} if len(parameters) == 3 else {}
    own = [Drawn(s.name(kinds.get(k, "p")), p.arrays, exact=False) for k, p in enumerate(parameters)]
    inner.values += own
    grow(inner, DRAWS, int(s.random.integers(1, 4)))
    results = []
    for value in outputs(inner):
        name = s.name("r")
        inner.nodes.append(helper.make_node("Identity", [value.name], [name]))
        results.append(helper.make_value_info(name, helper.make_tensor_type_proto(_kind(value), None)))
    declared = [helper.make_value_info(v.name, helper.make_tensor_type_proto(_kind(v), None)) for v in own]
    weights = [helper.make_tensor(n, _type(a), a.shape, a.reshape(-1)) for n, a in inner.weights.items()]
    return helper.make_graph(inner.nodes, s.name("body"), declared, results, weights)


def _kind(value: Drawn) -> int:
    return _type(value.arrays[0])


def _type(array: Any) -> int:
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def size_arithmetic(op: str, s: Scope) -> Plan:
    """What exporters compute shapes with."""
    x = s.pick("i", ranks=(0, 1))
    if op == "ReduceProd":
        return Plan(op, [x], {"keepdims": int(s.random.integers(2))})
    y = s.given(np.array(int(s.random.integers(1, 4)), x.dtype))
    return Plan(op, [x, y])


DRAWS: tuple[Draw, ...] = (
    smooth, exact, binary, binary, compare, logic, where, clip, cast, reduction, arg_extreme, reshape, reshape,
    transpose, concat, split, cut, cut, gather, gather_elements, gather_nd, pad, tile, expand, shape, shape, by_shape,
    by_shape, product, einsum, convolution, convolution, normalization, sort, cumulative, counted, one_hot, triangle,
    resize, blocks, branch, branch, loop, scan, partial(size_arithmetic, "Add"), partial(size_arithmetic, "Mul"),
    partial(size_arithmetic, "Div"), partial(size_arithmetic, "Sub"), partial(size_arithmetic, "ReduceProd"),
)  # fmt: skip
