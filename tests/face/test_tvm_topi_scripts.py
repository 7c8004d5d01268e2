"""Programs over topi as scripts for TVM v0.19 write them: computations of te tensors, built, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, te, topi
from tests.face.topi_programs import numbers, run, tensor

N = topi.testing


def assigned(array: Any, where: Any, values: Any) -> Any:
    """NumPy's assignment, to a copy."""
    found = array.copy()
    found[where] = values
    return found


def in_pairs(images: Any) -> Any:
    """NCHW as NCHW2c."""
    n, c, h, w = images.shape
    return images.reshape(n, c // 2, 2, h, w).transpose(0, 1, 3, 4, 2)


X = (2, 4, 6, 5)
Image = numbers(*X)
Kernel = numbers(6, 4, 3, 3)
CASES: dict[str, tuple[Any, Any, list[Any]]] = {
    "conv2d_nchw": (
        lambda a, w: topi.nn.conv2d_nchw(a, w, 2, "SAME", 1),
        lambda a, w: N.conv2d_nchw_python(a, w, 2, "SAME"),
        [Image, Kernel],
    ),
    "conv2d_nhwc": (
        lambda a, w: topi.nn.conv2d_nhwc(a, w, (1, 1), (1, 1), dilation=1, out_dtype="float32"),
        lambda a, w: N.conv2d_nhwc_python(a, w, 1, 1),
        [numbers(1, 5, 6, 3), numbers(3, 3, 3, 2)],
    ),
    "conv2d": (
        lambda a, w: topi.nn.conv2d(a, w, 1, 0, 1),
        lambda a, w: N.conv2d_nchw_python(a, w, 1, 0),
        [Image, Kernel],
    ),
    "group_conv2d_nchw": (
        lambda a, w: topi.nn.group_conv2d_nchw(a, w, 1, 1, 1, 2),
        lambda a, w: N.conv2d_nchw_python(a, w, 1, 1, groups=2),
        [Image, numbers(6, 2, 3, 3)],
    ),
    "depthwise_conv2d_nchw": (
        lambda a, w: topi.nn.depthwise_conv2d_nchw(a, w, (1, 1), "VALID", (1, 1)),
        lambda a, w: N.depthwise_conv2d_python_nchw(a, w, 1, "VALID"),
        [Image, numbers(4, 2, 3, 3)],
    ),
    "depthwise_conv2d_nhwc": (
        lambda a, w: topi.nn.depthwise_conv2d_nhwc(a, w, 1, 1, 1),
        lambda a, w: N.depthwise_conv2d_python_nhwc(a, w, 1, 1),
        [numbers(1, 5, 5, 3), numbers(3, 3, 3, 2)],
    ),
    "conv2d_transpose_nchw": (
        lambda a, w: topi.nn.conv2d_transpose_nchw(a, w, (2, 2), (1, 1), "float32", (1, 1)),
        lambda a, w: N.conv2d_transpose_nchw_python(a, w, 2, 1, (1, 1)),
        [numbers(1, 3, 4, 4), numbers(3, 2, 3, 3)],
    ),
    "conv1d_ncw": (
        lambda a, w: topi.nn.conv1d_ncw(a, w, 1, 1),
        lambda a, w: N.conv1d_ncw_python(a, w, 1, 1),
        [numbers(1, 3, 7), numbers(2, 3, 3)],
    ),
    "conv3d_ncdhw": (
        lambda a, w: topi.nn.conv3d_ncdhw(a, w, 1, 0, 1, 1),
        lambda a, w: N.conv3d_ncdhw_python(a, w, 1, 0),
        [numbers(1, 2, 4, 4, 4), numbers(3, 2, 2, 2, 2)],
    ),
    "pool2d": (
        lambda a: topi.nn.pool2d(a, (2, 2), (2, 2), (1, 1), (0, 0, 1, 1), "avg", False, "NCHW", False),
        lambda a: N.poolnd_python(a, (2, 2), (2, 2), (1, 1), (0, 0), (1, 1), "avg", False),
        [Image],
    ),
    "global_pool": (lambda a: topi.nn.global_pool(a, "max"), lambda a: a.max((2, 3), keepdims=True), [Image]),
    "adaptive_pool": (
        lambda a: topi.nn.adaptive_pool(a, (3, 2), "avg"),
        lambda a: N.adaptive_pool(a, (3, 2), "avg"),
        [Image],
    ),
    "scale_shift_nchw": (
        topi.nn.scale_shift_nchw,
        lambda a, s, t: a * s[:, None, None] + t[:, None, None],
        [Image, numbers(4), numbers(4)],
    ),
    "flatten": (topi.nn.flatten, lambda a: a.reshape(2, -1), [Image]),
    "dense": (topi.nn.dense, lambda a, w, b: a @ w.T + b, [numbers(3, 4), numbers(5, 4), numbers(5)]),
    "batch_matmul": (topi.nn.batch_matmul, N.batch_matmul, [numbers(2, 3, 4), numbers(2, 5, 4)]),
    "softmax": (lambda a: topi.nn.softmax(a, axis=1), N.softmax_python, [numbers(3, 7)]),
    "pad": (
        lambda a: topi.nn.pad(a, (1, 0), (0, 2), 0.5),
        lambda a: np.pad(a, ((1, 0), (0, 2)), constant_values=0.5),
        [numbers(3, 4)],
    ),
    "dilate": (lambda a: topi.nn.dilate(a, (2, 1)), lambda a: N.dilate_python(a, (2, 1)), [numbers(3, 4)]),
    "lrn": (
        lambda a: topi.nn.lrn(a, 3, 1, 0.1, 0.75, 2),
        lambda a: N.lrn_python(a, 3, 1, 2, 0.1, 0.75),
        [Image],
    ),
    "layer_norm": (
        lambda a, g, b: topi.nn.layer_norm(a, g, b, axis=[1]),
        lambda a, g, b: N.layer_norm_python(a, g, b, axis=(1,)),
        [numbers(3, 4), numbers(4), numbers(4)],
    ),
    "upsampling": (
        lambda a: topi.nn.upsampling(a, 2, 2),
        lambda a: a.repeat(2, axis=2).repeat(2, axis=3),
        [Image],
    ),
    "resize2d": (
        lambda a: topi.image.resize2d(a, [0.0] * 4, (12, 10), "NCHW", "nearest_neighbor", "asymmetric"),
        lambda a: a.repeat(2, axis=2).repeat(2, axis=3),
        [Image],
    ),
    "roi_align_nchw": (
        lambda a, r: topi.vision.roi_align_nchw(a, r, (2, 2), 1.0, "avg", 2),
        lambda a, r: N.roi_align_nchw_python(a, r, (2, 2), 1.0, 2),
        [Image, np.float32([[0, 1, 1, 4, 4], [1, 0, 0, 3, 5]])],
    ),
    "strided_slice": (
        lambda a: topi.strided_slice(a, [0, 1], [2, 4], [1, 2]),
        lambda a: N.strided_slice_python(a, [0, 1], [2, 4], [1, 2]),
        [numbers(3, 5)],
    ),
    "gather": (
        lambda a, i: topi.gather(a, 1, i),
        lambda a, i: N.gather_python(a, 1, i),
        [numbers(3, 4), numbers(3, 2, dtype="int32")],
    ),
    "gather_nd": (topi.gather_nd, N.gather_nd_python, [numbers(3, 4), numbers(2, 5, dtype="int32")]),
    "take": (lambda a, i: topi.take(a, i, 0), lambda a, i: a[i], [numbers(3, 4), numbers(2, 2, dtype="int32")]),
    "strided_slice of sizes": (
        lambda a: topi.strided_slice(a, [-2, 0, -3], [2, -1, 2], slice_mode="size"),
        lambda a: N.strided_slice_python(a, [-2, 0, -3], [2, -1, 2], [], slice_mode="size"),
        [numbers(3, 4, 5)],
    ),
    "take of batches": (
        lambda a, i: topi.take(a, i, axis=1, batch_dims=1),
        lambda a, i: np.take_along_axis(a, i, axis=1),
        [numbers(3, 4), numbers(3, 2, dtype="int32")],
    ),
    "full of an expression": (
        lambda a: topi.add(a, topi.full((3,), "int32", tvm.tir.const(7, "int64"))),
        lambda a: a + np.int32(7),
        [numbers(3, dtype="int32")],
    ),
    "one_hot": (
        lambda i: topi.one_hot(i, 1, 0, 4, -1, "float32"),
        lambda i: N.one_hot(i, 1, 0, 4, -1, "float32"),
        [numbers(5, dtype="int32")],
    ),
    "tensordot": (lambda a, b: topi.tensordot(a, b, 2), np.tensordot, [numbers(2, 3, 4), numbers(3, 4, 5)]),
    "matmul": (lambda a, b: topi.matmul(a, b, True), lambda a, b: a.T @ b, [numbers(3, 2), numbers(3, 4)]),
    "concatenate": (
        lambda a, b: topi.concatenate((a, b), axis=1),
        lambda a, b: np.concatenate((a, b), axis=1),
        [numbers(2, 3), numbers(2, 2)],
    ),
    "expand_dims": (lambda a: topi.expand_dims(a, 1, 2), lambda a: a[:, None, None], [numbers(2, 3)]),
    "transpose": (topi.transpose, np.transpose, [numbers(2, 3, 4)]),
    "reshape": (lambda a: topi.reshape(a, (3, 4)), lambda a: a.reshape(3, 4), [numbers(2, 6)]),
    "clip": (lambda a: topi.clip(a, -0.2, 0.3), lambda a: np.clip(a, -0.2, 0.3), [numbers(9)]),
    "argmax": (lambda a: topi.argmax(a, axis=1), lambda a: a.argmax(1).astype("int32"), [numbers(3, 5)]),
    "full_like": (lambda a: topi.add(topi.full_like(a, 2), a), lambda a: a + 2, [numbers(3)]),
    "where": (topi.where, np.where, [numbers(4, dtype="int32"), numbers(4), -numbers(4)]),
    "elemwise_sum": (lambda a, b: topi.elemwise_sum([a, b, a]), lambda a, b: a + b + a, [numbers(4), numbers(4)]),
    "sort": (lambda a: topi.sort(a, axis=0, is_ascend=0), lambda a: -np.sort(-a, axis=0), [numbers(5, 2)]),
    "arange": (lambda a: topi.add(a, topi.arange(0, 6, 2)), lambda a: a + np.arange(0, 6, 2, "float32"), [numbers(3)]),
    "expand_like": (
        lambda a, b: topi.expand_like(a, b, [1]),
        lambda a, b: np.broadcast_to(a[:, None], b.shape),
        [numbers(3), numbers(3, 4)],
    ),
    "matrix_set_diag": (
        lambda a, d: topi.matrix_set_diag(a, d, 0, "LEFT_LEFT"),
        lambda a, d: np.where(np.eye(3, dtype=bool), d, a),
        [numbers(3, 3), numbers(3)],
    ),
    "adv_index": (
        lambda a, i, j: topi.adv_index(a, [i, j]),
        lambda a, i, j: a[i, j],
        [numbers(3, 4), numbers(2, dtype="int32"), numbers(2, dtype="int32")],
    ),
    "rcnn.roi_pool_nchw": (
        lambda a, r: topi.vision.rcnn.roi_pool_nchw(a, r, (2, 2), 1.0),
        lambda a, r: N.roi_pool_nchw_python(a, r, (2, 2), 1.0),
        [Image, np.float32([[0, 1, 1, 4, 4], [1, 0, 0, 3, 5]])],
    ),
    "log of integers": (topi.log, lambda a: np.log(a.astype("float32")), [1 + numbers(5, dtype="int32")]),
    "flip": (topi.flip, lambda a: a[::-1], [numbers(3, 4)]),
    "tile": (lambda x: topi.tile(a=x, reps=(2, 1)), lambda a: np.tile(a, (2, 1)), [numbers(2, 3)]),
    "repeat by its operand's name": (lambda x: topi.repeat(a=x, repeats=2, axis=1), lambda a: a.repeat(2, 1), [Image]),
    "strided_set": (
        topi.strided_set,
        lambda a, v, begin, end, strides: assigned(a, (slice(3, None, -2), slice(-4, -1)), v),
        [numbers(4, 5), numbers(2, 3), np.int32([3, -4]), np.int32([-5, -1]), np.int32([-2, 1])],
    ),
    "strided_set of leading axes": (
        topi.strided_set,
        lambda a, v, begin, end: assigned(a, slice(1, 3), v),
        [numbers(4, 5), numbers(2, 5), np.int32([1]), np.int32([3])],
    ),
    "depthwise_conv2d_NCHWc": (
        lambda a, w: topi.nn.depthwise_conv2d_NCHWc(a, w, (1, 1), (1, 1), (1, 1), "NCHW2c", "NCHW2c"),
        lambda a, w: in_pairs(
            N.depthwise_conv2d_python_nchw(
                a.transpose(0, 1, 4, 2, 3).reshape(1, 4, 4, 4), w.transpose(0, 5, 4, 1, 2, 3).reshape(4, 1, 3, 3), 1, 1
            )
        ),
        [numbers(1, 2, 4, 4, 2), numbers(2, 1, 3, 3, 1, 2)],
    ),
    "conv": (
        lambda a, w: topi.nn.conv(a, w, 1, 1, 1, 2, "NCHW"),
        lambda a, w: N.conv2d_nchw_python(a, w, 1, 1, groups=2),
        [Image, numbers(6, 2, 3, 3)],
    ),
    "pool_grad": (
        lambda g, a: topi.nn.pool_grad(g, a, (2, 2), (2, 2), (0, 0, 0, 0), "avg"),
        lambda g, a: g.repeat(2, 2).repeat(2, 3) / 4,
        [numbers(1, 2, 2, 2), numbers(1, 2, 4, 4)],
    ),
    "sum": (lambda a: topi.sum(a, (0, 2), True), lambda a: a.sum((0, 2), keepdims=True), [numbers(2, 3, 4)]),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_in_their_order_of_arguments(name: str) -> None:
    """Guards v0.19's names and orders, with topi.testing's functions (or NumPy's) as the meaning."""
    function, reference, arrays = CASES[name]
    inputs = [tensor(*a.shape, dtype=str(a.dtype)) for a in arrays]
    found, wanted = run(inputs, function(*inputs), *arrays), np.asarray(reference(*arrays))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert found.dtype == wanted.dtype


def test_bounds_that_are_variables() -> None:
    """Guards strided_slice from and to expressions: they had to be numbers."""
    x, n = tensor(10), te.var("n")
    found = topi.strided_slice(x, [n], [n + 2])
    assert [str(d) for d in topi.strided_slice(x, [2], [7]).shape] == ["5"]
    kernel = tvm.build(topi.generic.schedule_injective(found), [x, n, found], target="llvm")
    result = tvm.nd.empty((2,), "float32")
    kernel(tvm.nd.array(np.arange(10, dtype="float32")), 3, result)
    assert result.numpy().tolist() == [3, 4]


def test_functions_of_several_results() -> None:
    """Guards lists of results: parts, greatest elements with their places, parts of transforms."""
    a, data = tensor(3, 4), numbers(3, 4)
    for found, part in zip(run([a], topi.split(a, 2, axis=1), data), np.split(data, 2, axis=1), strict=True):
        np.testing.assert_array_equal(found, part)
    values, places = run([a], topi.topk(a, 2, axis=1, dtype="int32"), data)
    np.testing.assert_array_equal(places, np.argsort(-data, axis=1)[:, :2])
    np.testing.assert_array_equal(values, -np.sort(-data, axis=1)[:, :2])


def test_what_needs_the_elements_says_so() -> None:
    """Guards the error for operators without a kernel."""
    with pytest.raises(AttributeError, match=r"argwhere.*size depends on the elements"):
        _ = topi.argwhere
    with pytest.raises(tvm.TVMError, match="batch_dims"):
        topi.take(tensor(3, 4), tensor(2, dtype="int32"), 0, batch_dims=1)
    bounds = tensor(2, dtype="int32")
    with pytest.raises(tvm.TVMError, match="size of its result depends on the elements"):
        topi.strided_slice(tensor(3, 4), bounds, bounds)


def test_slices_whose_size_the_script_knows() -> None:
    """Guards bounds that are tensors or lists, and steps backwards."""
    data, begin, steps = tensor(4, 6), te.placeholder((2,), "int64", name="b"), te.placeholder((2,), "int64", name="s")
    cut = topi.dynamic_strided_slice(data, begin, [4, 0], steps, [2, 3])
    x = numbers(4, 6)
    found = run([data, begin, steps], cut, x, np.array([1, 5], "int64"), np.array([2, -2], "int64"))
    np.testing.assert_array_equal(found, x[1:4:2, 5:0:-2])
    fixed = topi.dynamic_strided_slice(data, [0, 3], [4, 6], [3, 1], (2, 3))
    np.testing.assert_array_equal(run([data], fixed, x), x[0:4:3, 3:6])
    with pytest.raises(tvm.TVMError, match="a bound of 1 numbers"):
        topi.dynamic_strided_slice(data, [0], [4], [1], (2, 3))
    with pytest.raises(tvm.TVMError, match="vectors of int32"):
        topi.strided_set(tensor(3, 4), tensor(1, 1), [0, 0], [1, 1])


def test_boxes() -> None:
    """Guards numbers as operands of topi.vision, and their defaults."""
    boxes = np.float32([[[0, 0.9, 0, 0, 2, 2], [0, 0.8, 0, 0, 2, 1.9], [0, 0.1, 4, 4, 5, 5]]])
    data = tensor(*boxes.shape)
    count, rows, places = topi.vision.get_valid_counts(data, 0.3)
    found = run([data], [count, rows, places], boxes)
    assert found[0].tolist() == [2]
    counts, indices = te.placeholder((1,), "int32", "n"), te.placeholder((1, 3), "int32", "i")
    chosen = topi.vision.non_max_suppression(data, counts, indices, iou_threshold=0.5, return_indices=False)
    kept = run([data, counts, indices], chosen, boxes, np.int32([3]), np.int32([[0, 1, 2]]))
    assert (kept[0, :, 1] > 0).tolist() == [True, False, True]


def lstm_of_numpy(x: Any, wi: Any, wh: Any, layout: str, **given: Any) -> tuple[Any, Any]:
    """Hidden and cell states, step by step."""
    hidden, batch = wi.shape[0] // 4, x.shape[1]
    proj = given.get("proj", np.eye(hidden, dtype="float32"))
    h, c = given.get("h_init", np.zeros((batch, len(proj)))), given.get("c_init", np.zeros((batch, hidden)))
    hs, cs = [], []
    for step in x[::-1] if given.get("reverse") else x:
        total = step @ wi.T + h @ wh.T + given.get("Bi", 0) + given.get("Bh", 0)
        gates = {letter: total[:, n * hidden : (n + 1) * hidden] for n, letter in enumerate(layout)}
        i, f = (1 / (1 + np.exp(-(gates[g] + given.get(p, 0) * c))) for g, p in (("I", "p_i"), ("F", "p_f")))
        c = f * c + i * np.tanh(gates["G"])
        h = (1 / (1 + np.exp(-(gates["O"] + given.get("p_o", 0) * c))) * np.tanh(c)) @ proj.T
        hs.append(h)
        cs.append(c)
    return np.array(hs), np.array(cs)


@pytest.mark.parametrize(
    ("layout", "names", "reverse"),
    [("IFGO", "", False), ("GOFI", "Bi Bh h_init c_init", True), ("IFGO", "proj p_i p_f p_o c_init", False)],
)
def test_a_recurrent_layer(layout: str, names: str, reverse: bool) -> None:
    """Guards gates in any order, biases, starts, peepholes that see the new cell, projection, and time reversed."""
    hidden, width = 3, 2 if "proj" in names else 3
    shapes = {"Bi": (12,), "Bh": (12,), "h_init": (2, width), "proj": (width, hidden)}
    given = {name: numbers(*shapes.get(name, (2, hidden))) for name in names.split()}
    arrays = [numbers(5, 2, 4), numbers(12, 4), numbers(12, width)]
    xs, wi, wh = (tensor(*a.shape) for a in arrays)
    more = {name: tensor(*a.shape) for name, a in given.items()}
    found = topi.nn.lstm(xs, wi, wh, **more, reverse=reverse, weight_layout=layout)
    expected = lstm_of_numpy(*arrays, layout, **given, reverse=reverse)
    states = run([xs, wi, wh, *more.values()], found, *arrays, *given.values())
    for one, other in zip(states, expected):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_gates_have_four_letters() -> None:
    with pytest.raises(tvm.error.DiagnosticError, match="permutation of IFGO"):
        topi.nn.lstm(tensor(5, 2, 4), tensor(12, 4), tensor(12, 3), weight_layout="IFG")


def test_kernels_are_named_after_the_function_of_topi_that_computes_them() -> None:
    """`emit_te` takes a function's own name, whichever way that function was made."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((1, 4, 6, 6), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((4, 4, 3, 3), "float32"))
    with builder.function("main", [x, w]):
        convolved = builder.emit_te(topi.nn.conv2d_nchw, x, w, 1, 1, 1)
        pooled = builder.emit_te(topi.nn.pool2d, convolved, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
        builder.emit_func_output(builder.emit_te(topi.nn.relu, pooled))
    names = {var.name_hint for var in builder.get().functions}
    assert names == {"main", "conv2d_nchw", "pool2d", "relu"}


def test_references_that_move_elements() -> None:
    """Guards names and orders of arguments of topi.testing by what is plain to see."""
    testing = topi.testing
    image = np.arange(16, dtype="float32").reshape(1, 4, 2, 2)
    resized = testing.resize2d_python(image, (2, 2), "NCHW", "nearest_neighbor", "asymmetric")
    assert resized[0, 0, :, 0].tolist() == [0, 0, 2, 2]
    blocks = testing.space_to_batch_nd_python(image, [2], [0], [0])
    assert blocks.shape == (2, 2, 2, 2)
    np.testing.assert_array_equal(testing.batch_to_space_nd_python(blocks, [2], [0], [0]), image)
    np.testing.assert_array_equal(testing.slice_axis_python(image, 1, 1, 3), image[:, 1:3])
    np.testing.assert_array_equal(testing.matrix_set_diag(image[0], np.zeros((4, 2), "float32"))[:, 0, 0], np.zeros(4))
    table = {"generic": "any", "cpu": "cpu"}
    assert testing.dispatch("llvm", table) == "cpu"
    assert testing.dispatch("cuda", table) == "any"


def test_words_that_tvm_takes() -> None:
    """Guards the order of a block's channels by the name in TVM's documentation, and a scan's default, given."""
    x = tensor(1, 8, 2, 3)
    data = numbers(1, 8, 2, 3)
    one, other = (run([x], topi.nn.depth_to_space(x, 2, mode=mode), data) for mode in ("CDR", "CRD"))
    np.testing.assert_array_equal(one, other)
    total = run([x], topi.cumsum(x, 1, None, None), data)
    np.testing.assert_allclose(total, np.cumsum(data, 1), rtol=1e-5)


def test_open_sizes() -> None:
    """Guards squeezed tensors of open size, and sizes that do not tell the result's: both were a TypeError."""
    n, m = te.var("n"), te.var("m")
    x = te.placeholder((1, n, 1), name="x")
    assert topi.squeeze(x).shape == (n,)
    with pytest.raises(tvm.TVMError, match="the sizes do not say the shape of the result"):
        topi.add(te.placeholder((n,)), te.placeholder((m,)))
    with pytest.raises(tvm.TVMError, match="the border SAME of a kernel of open size"):
        topi.nn.conv2d(te.placeholder((1, 1, 5, 5)), te.placeholder((1, 1, n, 3)), 1, "SAME", 1)
