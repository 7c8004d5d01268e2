"""Layers of rows of features, (batch, steps, features): products, attention, recurrences, norms, sums, moves."""

from __future__ import annotations

from typing import Any

from baton._src.relax.literals import const
from baton._src.relax.nodes import Expr, PrimValue, ShapeExpr, Tuple
from tests.relax.networks.in_bytes import product_of_bytes, quantised_product
from tests.relax.networks.network import Net, alike, dims, features_of
from tests.relax.networks.recurrences import recurrent

FEATURES = (1, 3, 4, 8, 12, 16, 17, 24, 32, 33, 64, 100)
OUTPUTS = (1, 2, 3, 7, 8, 9, 16, 17, 18, 26, 32, 33, 40, 64, 70, 128)
STEPS = (1, 2, 5, 7, 16, 17, 33, 40)
OTHER_STEPS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 20, 25, 33, 40)
ACTIVATIONS = ("nn.relu", "nn.gelu", "nn.silu", "tanh")


def rows(g: Net) -> Expr:
    """What the network is given."""
    batch = g.size("b", g.draw.choice([1, 2, 3]), (1, 2, 3, 5))
    return g.parameter(batch, g.size("s", g.draw.choice(STEPS), OTHER_STEPS), g.draw.choice(FEATURES))


def linear(g: Net, x: Expr) -> Expr:
    """By a weight that lies either way, with a bias and an activation perhaps."""
    features, outputs = features_of(x), g.draw.choice(OUTPUTS)
    if g.draw.random() < 0.6:
        y = g.emit("matmul", x, g.weight(features, outputs))
    else:
        y = g.emit("matmul", x, g.emit("permute_dims", g.weight(outputs, features), axes=None))
    if g.draw.random() < 0.6:
        y = g.emit("add", y, g.shift(outputs))
    return g.emit(g.draw.choice(ACTIVATIONS), y) if g.draw.random() < 0.4 else y


def gated(g: Net, x: Expr) -> Expr:
    """Two products of the same rows, one a factor of the other."""
    features, outputs = features_of(x), g.draw.choice([4, 16, 20, 33])
    gate = g.emit("nn.silu", g.emit("matmul", x, g.weight(features, outputs)))
    return g.emit("multiply", gate, g.emit("matmul", x, g.weight(features, outputs)))


def attention(g: Net, x: Expr) -> Expr:
    """Of a few heads, whose keys may be shared."""
    batch, steps, _ = dims(x)
    features, heads, width = features_of(x), g.draw.choice([1, 2, 3, 4]), g.draw.choice([4, 8, 16, 20])
    shared = g.draw.choice([k for k in (heads, heads, 1, 2) if heads % k == 0])

    def projected(count: int) -> Any:
        y = g.emit("matmul", x, g.weight(features, count * width))
        return g.emit("reshape", y, ShapeExpr([batch, steps, count, width]))

    attrs: dict[str, Any] = {"causal_mask": g.draw.choice([None, None, "TopLeft", "BottomRight"])}
    attrs |= {"scale": g.draw.choice([0.3, 1.0])} if g.draw.random() < 0.2 else {}
    attrs |= {"window_size": g.draw.choice([1, 2, 5])} if attrs["causal_mask"] and g.draw.random() < 0.3 else {}
    if g.draw.random() < 0.3:
        whole = (batch, heads, steps, steps)
        attrs["bias"] = g.parameter(*(g.draw.choice([d, 1]) for d in whole[g.draw.randint(0, 2) :]))
    y = g.emit("nn.attention", projected(heads), projected(shared), projected(shared), **attrs)
    return g.emit("reshape", y, ShapeExpr([batch, steps, heads * width]))


def cross_attention(g: Net, x: Expr) -> Expr:
    """Rows that look at rows of another input."""
    batch, steps, _ = dims(x)
    others, width = g.draw.choice(STEPS), g.draw.choice([4, 8, 20])
    seen = g.parameter(batch, g.draw.choice([1, others]), g.draw.choice([8, 16, 17]))
    seen = seen if dims(seen)[1] == others else g.emit("broadcast_to", seen, ShapeExpr([batch, others, dims(seen)[2]]))
    heads = [g.emit("matmul", given, g.weight(features_of(given), 2 * width)) for given in (x, seen, seen)]
    lengths = (steps, others, others)
    split = [g.emit("reshape", y, ShapeExpr([batch, n, 2, width])) for y, n in zip(heads, lengths)]
    y = g.emit("nn.attention", *split)
    return g.emit("reshape", y, ShapeExpr([batch, steps, 2 * width]))


def looked_at(g: Net, x: Expr) -> Expr:
    """Attention written out: rows that look at rows."""
    scores = g.emit("matmul", x, g.emit("permute_dims", x, axes=[0, 2, 1]))
    scores = g.emit("multiply", scores, g.number(features_of(x) ** -0.5))
    if g.draw.random() < 0.8:
        return g.emit("matmul", g.emit("nn.softmax", scores, axis=-1), x)
    return g.emit("tanh", g.emit("matmul", scores, x))


def batched(g: Net, x: Expr) -> Expr:
    """By another matrix for each of the batch, as a product or as a sum over named axes."""
    batch, steps, _ = dims(x)
    features, outputs = features_of(x), g.draw.choice(OUTPUTS)
    span = 1.7 / features**0.5
    y = g.parameter(g.draw.choice([batch, 1]), features, outputs, span=span)
    kind = g.draw.choice(["matmul", "turned", "einsum"])
    if kind == "matmul":
        return g.emit("matmul", x, y)
    if kind == "turned":
        left = g.parameter(batch, features, steps, span=span)
        return g.emit("matmul", g.emit("permute_dims", left, axes=[0, 2, 1]), g.emit("permute_dims", x, axes=[0, 2, 1]))
    named = g.draw.choice(["bsf,fo->bso", "bsf,of->sbo", "bsf,fo->bo", "sbf,fo->bso"])
    matrix = g.weight(outputs, features) if "of" in named else g.weight(features, outputs)
    found = g.emit("einsum", Tuple([x, matrix]), named)
    return found if len(dims(found)) == 3 else g.emit("tanh", g.emit("expand_dims", found, [1]))


def picked(g: Net, x: Expr) -> Expr:
    """The greatest of each row: which it is, and some of them."""
    features = features_of(x)
    kind = g.draw.choice(["one_hot", "topk", "gather", "scatter"])
    if kind == "topk":
        return g.emit("topk", x, k=g.draw.randint(1, features), axis=-1, ret_type="values")
    places = g.emit(g.draw.choice(["argmax", "argmin"]), x, axis=2, keepdims=kind != "one_hot")
    if kind == "one_hot":
        return g.emit("one_hot", places, PrimValue(g.draw.choice([1, 2])), PrimValue(0), features)
    if kind == "gather":
        return g.emit("concat", Tuple([g.emit("gather_elements", x, places, axis=2), x]), axis=2)
    updates = g.emit("tanh", g.emit("sum", x, axis=2, keepdims=True))
    return g.emit("scatter_elements", x, places, updates, axis=2, reduction=g.draw.choice(["update", "add", "max"]))


def softmax(g: Net, x: Expr) -> Expr:
    """Along any axis."""
    return g.emit(g.draw.choice(["nn.softmax", "nn.log_softmax"]), x, axis=g.draw.choice([-1, -1, 1, 0]))


def norm(g: Net, x: Expr) -> Expr:
    """Of each row, or of groups of features."""
    features = features_of(x)
    kind = g.draw.choice(["layer", "rms", "group"])
    if kind == "layer":
        return g.emit("nn.layer_norm", x, g.scale(features), g.shift(features), axes=[-1])
    if kind == "rms":
        return g.emit("nn.rms_norm", x, g.scale(features), axes=[-1])
    groups = g.draw.choice([k for k in (1, 2, 4, 8) if features % k == 0])
    y = g.emit("permute_dims", x, axes=[0, 2, 1])
    attrs = {"num_groups": groups, "channel_axis": 1, "axes": [2]}
    y = g.emit("nn.group_norm", y, g.scale(features), g.shift(features), **attrs)
    return g.emit("permute_dims", y, axes=[0, 2, 1])


def activated(g: Net, x: Expr) -> Expr:
    """Elementwise, of numbers that every function takes."""
    names = (*ACTIVATIONS, "exp", "sigmoid", "erf", "sin", "cos", "abs", "sqrt", "log", "atan")
    return g.emit(g.draw.choice(names), g.emit("clip", x, 0.01, 3))


def chain(g: Net, x: Expr) -> Expr:
    """Many elementwise operators, one behind the other."""
    operands = [x, g.shift(features_of(x)), g.number(0.7)]
    y = x
    for _ in range(g.draw.randint(2, 20)):
        y = g.emit(g.draw.choice(["add", "multiply", "maximum", "subtract"]), y, g.draw.choice(operands))
        y = g.emit("tanh", y) if g.draw.random() < 0.3 else y
    return g.emit("tanh", y)


def reduced(g: Net, x: Expr) -> Expr:
    """Less what the rows amount to."""
    name = g.draw.choice(["sum", "mean", "max", "min", "variance", "std"])
    y = g.emit(name, x, axis=g.draw.choice([-1, 1, 0, [0, 1], [1, 2]]), keepdims=True)
    return g.emit("tanh", g.emit("subtract", x, y))


def scanned(g: Net, x: Expr) -> Expr:
    """Running sums and products."""
    axis = g.draw.choice([0, 1, 2])
    if g.draw.random() < 0.25:
        return g.emit("cumprod", g.emit("tanh", x), axis=axis, exclusive=g.draw.random() < 0.3)
    return g.emit("tanh", g.emit("cumsum", x, axis=axis, exclusive=g.draw.random() < 0.2))


def turned(g: Net, x: Expr) -> Expr:
    """Axes in another order, the features being known in number."""
    y = g.emit("permute_dims", x, axes=g.draw.choice([[0, 2, 1], [1, 0, 2], [2, 1, 0], [2, 0, 1]]))
    features_of(y)
    return g.emit("nn.relu", y) if g.draw.random() < 0.5 else y


def moved(g: Net, x: Expr) -> Expr:
    """Features in another order, fewer or more of them."""
    features = features_of(x)
    kind = g.draw.choice(["slice", "take", "tile", "repeat", "flip", "concat"])
    if kind == "slice":
        first = g.draw.randrange(features)
        last = g.draw.randint(first + 1, features)
        return g.emit("strided_slice", x, [2], [first], [last], [g.draw.choice([1, 2, 3])])
    if kind == "take":
        places = g.rng.integers(0, features, g.draw.choice([1, 5, 16, 20]))
        return g.emit("take", x, const(places.astype("int64"), "int64"), axis=2)
    if kind == "tile":
        return g.emit("tile", x, [1, 1, 2])
    if kind == "repeat":
        return g.emit("repeat", x, 2, axis=2)
    if kind == "flip":
        return g.emit("flip", x, g.draw.choice([0, 1, 2]))
    return g.emit("concat", Tuple([x, g.emit("negative", x)]), axis=2)


def ordered(g: Net, x: Expr) -> Expr:
    """Sorted along an axis."""
    return g.emit("sort", x, axis=g.draw.choice([-1, 1]), descending=g.draw.random() < 0.5)


def chosen(g: Net, x: Expr) -> Expr:
    """Elements by their sign."""
    return g.emit("where", g.emit("greater", x, g.number(0)), x, g.emit("multiply", x, g.number(0.1)))


def residual(g: Net, x: Expr) -> Expr:
    """A layer, added to what it is given."""
    y = g.layer(x, ROWS)
    return g.emit("add", x, y) if alike(x, y) else y


def widened(g: Net, x: Expr) -> Expr:
    """In a wider dtype for a while."""
    return g.widened(x, ROWS)


ROWS = (
    *(linear,) * 4, quantised_product, product_of_bytes, gated, batched, *(attention,) * 2, cross_attention, looked_at,
    recurrent, *(softmax,) * 2, *(norm,) * 2, activated, chain, reduced, scanned, turned, *(moved,) * 2, ordered,
    chosen, picked, residual, widened,
)  # fmt: skip
