"""Weights that are mostly zeros become block-sparse matrices.

names, shapes = process_dense(function, params, (16, 1), 0.8)    params now has %w.data, %w.indices and %w.indptr
DenseToSparse(names, shapes)
nn.dense(%x, %w)                    becomes     nn.sparse_dense(%x, (%w.data, %w.indices, %w.indptr))
nn.conv2d(%x, %w), 1 x 1 or 3 x 3   becomes     nn.sparse_conv2d(...)        (`Conv2dToSparse`)

The result is the same but for rounding: terms that are zero are left out. `convert_dense` and `convert_conv2d` do both
steps. A weight qualifies if it is used as a weight only, zeros are at least the share `sparsity_threshold` of it, and
blocks divide it. Source: facts relay-language §6 (the sparse operators).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call, shape_of
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.analysis import free_vars
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.expressions import parts, rewrite, walk
from baton._src.relay.nodes import Constant, Function, Var, var
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.tensor import AnyArray, NDArray, array

PARTS = ("data", "indices", "indptr")
"""What a block-sparse matrix consists of, as the parameter's name goes on: blocks, their columns, where rows begin."""


class SparseWeights(NamedTuple):
    """The weights that were taken apart: their names, and the shapes of their parts, one behind the other."""

    weight_name: list[str]
    weight_shape: list[list[int]]


def block_sparse(matrix: AnyArray, blocks: Sequence[int]) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The blocks of a matrix that are not zero, (count, rows, columns), their places in rows of blocks, and where the
    rows begin.
    """
    (rows, columns), (high, wide) = matrix.shape, blocks
    tiles = matrix.reshape(rows // high, high, columns // wide, wide).swapaxes(1, 2)
    filled = tiles.any(axis=(2, 3))
    begins = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    return np.ascontiguousarray(tiles[filled]), np.nonzero(filled)[1].astype("int32"), begins.astype("int32")


@dataclass(frozen=True)
class _Kind:
    """Which calls have such weights, and how a weight is a matrix (outputs, inputs)."""

    layout: str = ""
    kernel_size: int = 1

    def __post_init__(self) -> None:
        if self.layout and (self.layout, self.kernel_size) not in (("NHWC", 1), ("NCHW", 1), ("NHWC", 3)):
            message = f"no sparse kernels of {self.kernel_size} x {self.kernel_size} in layout {self.layout}"
            raise fail("op-attribute", message, help="1 x 1 in NHWC or NCHW, 3 x 3 in NHWC", kind=ValueError)

    def weight(self, node: Any) -> Any:
        """The weight of a call, if it is one that has a sparse counterpart; else None."""
        if not self.layout:
            is_dense = is_call(node, "nn.dense") and len(shape_of(node.args[0]) or ()) == 2
            return node.args[1] if is_dense and _keeps_dtype(node) else None
        if not is_call(node, "nn.conv2d"):
            return None
        a, size = node.attrs, self.kernel_size
        kernel = shape_of(node.args[1]) or ()
        sides = kernel[:2] if self.layout == "NHWC" else kernel[2:]
        is_plain = (
            a.data_layout == self.layout
            and a.kernel_layout == ("HWIO" if self.layout == "NHWC" else "OIHW")
            and a.out_layout in ("", self.layout)
            and {*a.strides, *a.dilation, a.groups} == {1}
            and {*a.padding} == {size // 2}
            and tuple(sides) == (size, size)
        )
        return node.args[1] if is_plain and _keeps_dtype(node) else None

    def matrix(self, weight: AnyArray) -> AnyArray:
        """The weight as (outputs, inputs); the inputs of a 3 x 3 kernel lie as (row, column, channel)."""
        if self.layout == "NHWC":
            return np.ascontiguousarray(weight.reshape(-1, weight.shape[-1]).T)
        return weight.reshape(weight.shape[0], -1)

    def call(self, build: Build, x: Any, sparse: Sequence[Any]) -> Any:
        """The counterpart of a call."""
        if not self.layout:
            return build.op("nn.sparse_dense", x, *sparse)
        return build.op("nn.sparse_conv2d", x, *sparse, layout=self.layout, kernel_size=(self.kernel_size,) * 2)


def _keeps_dtype(node: Any) -> bool:
    dtype = node.args[0].checked_type.dtype
    return bool(dtype.is_float and dtype == node.checked_type.dtype == node.args[1].checked_type.dtype)


def _is_sparse(matrix: AnyArray, blocks: Sequence[int], threshold: float) -> bool:
    divides = all(size and size % block == 0 for size, block in zip(matrix.shape, blocks))
    return bool(divides and 1 - np.count_nonzero(matrix) / matrix.size >= threshold)


def _process(
    kind: _Kind, expr: Any, params: MutableMapping[str, Any], blocks: Sequence[int], threshold: float
) -> SparseWeights:
    function = expr if isinstance(expr, Function) else Function(free_vars(expr), expr)
    order = walk(function if function.checked_type_ is not None else infer_expr(function))
    calls = [(node, kind.weight(node)) for node in order]
    weights = dict.fromkeys(w for _, w in calls if isinstance(w, Var) and w.name_hint in params)
    others = {part for node, weight in calls for part in _other_parts(node, weight)}
    found = SparseWeights([], [])
    for weight in (w for w in weights if w not in others):
        value = np.asarray(getattr(params[weight.name_hint], "data", params[weight.name_hint]))
        matrix = kind.matrix(value)
        if not _is_sparse(matrix, blocks, threshold):
            continue
        sparse = block_sparse(matrix, blocks)
        del params[weight.name_hint]
        params.update({f"{weight.name_hint}.{part}": array(value) for part, value in zip(PARTS, sparse)})
        found.weight_name.append(weight.name_hint)
        found.weight_shape.append([size for part in sparse for size in part.shape])
    return found


def _other_parts(node: Any, weight: Any) -> Iterable[Any]:
    """What a node uses, but for its weight."""
    if isinstance(node, Function):
        return (node.body,)
    return (node.args[0],) if weight is not None else parts(node)


def process_dense(
    expr: Any, params: MutableMapping[str, Any], block_size: Sequence[int], sparsity_threshold: float
) -> SparseWeights:
    """Take apart the weights of dense layers of `expr` that qualify, in `params` itself; which they were."""
    return _process(_Kind(), expr, params, block_size, sparsity_threshold)


def process_conv2d(
    expr: Any,
    params: MutableMapping[str, Any],
    block_size: Sequence[int],
    sparsity_threshold: float,
    layout: str,
    kernel_size: int,
    reg_task_input: bool = True,
) -> SparseWeights:
    """The same for convolutions of this layout ("NHWC" with kernels HWIO, "NCHW" with OIHW) with square kernels of this
    size. `reg_task_input` is about TVM's tuners and changes nothing.
    """
    return _process(_Kind(layout, kernel_size), expr, params, block_size, sparsity_threshold)


@dataclass(frozen=True)
class DenseToSparse(RelayFunctionPass):
    """The parameters `weight_name` become their parts, of shapes `weight_shape`, wherever they are weights of dense
    layers.
    """

    opt_level: ClassVar[int] = 4
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)
    weight_name: Sequence[str] = ()
    weight_shape: Sequence[Sequence[int]] = ()

    @property
    def kind(self) -> _Kind:
        """Which calls."""
        return _Kind()

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        shapes = dict(zip(map(str, self.weight_name), self.weight_shape))
        split = {p: _variables(p, shapes[p.name_hint]) for p in function.params if p.name_hint in shapes}
        if not split:
            return function
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            sparse = split.get(self.kind.weight(old))
            return None if sparse is None else self.kind.call(build, new.args[0], sparse)

        made = rewrite(function, rule)
        kept = set(free_vars(made.body))
        params = [v for p in made.params for v in (*(() if p in split and p not in kept else (p,)), *split.get(p, ()))]
        return made.with_fields(params=tuple(params))


def _variables(weight: Var, sizes: Sequence[int]) -> tuple[Var, ...]:
    shapes, dtypes = (sizes[:3], sizes[3:4], sizes[4:5]), (weight.checked_type.dtype, "int32", "int32")
    return tuple(
        var(f"{weight.name_hint}.{part}", shape=tuple(int(s) for s in shape), dtype=dtype)
        for part, shape, dtype in zip(PARTS, shapes, dtypes)
    )


@dataclass(frozen=True)
class Conv2dToSparse(DenseToSparse):
    """The same for convolutions of `layout` with square kernels of `kernel_size`."""

    layout: str = "NHWC"
    kernel_size: int = 1

    @property
    def kind(self) -> _Kind:
        return _Kind(self.layout, self.kernel_size)


@dataclass(frozen=True)
class Conv2dToSparse2(RelayFunctionPass):
    """The same for weights that are constants, which are looked at by the pass itself."""

    opt_level: ClassVar[int] = 5
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)
    layout: str
    kernel_size: int
    blocksize: Sequence[int]
    sparsity_threshold: float

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        build, kind = Build(), _Kind(self.layout, self.kernel_size)

        def rule(old: Any, new: Any) -> Any:
            weight = kind.weight(old)
            if not isinstance(weight, Constant):
                return None
            matrix = kind.matrix(np.asarray(weight.data.data))
            if not _is_sparse(matrix, self.blocksize, self.sparsity_threshold):
                return None
            sparse = [Constant(array(part)) for part in block_sparse(matrix, self.blocksize)]
            return kind.call(build, new.args[0], sparse)

        return rewrite(function, rule)


def convert_dense(
    func: Function, params: Mapping[str, Any], blocksize: Sequence[int], sparsity_threshold: float
) -> tuple[Function, dict[str, NDArray]]:
    """A function whose dense layers have sparse weights where these qualify, and the parameters for it."""
    changed = dict(params)
    names, shapes = process_dense(func, changed, blocksize, sparsity_threshold)
    return InferType()(DenseToSparse(names, shapes)(IRModule({"main": func})))["main"], changed


def convert_conv2d(
    func: Function,
    params: Mapping[str, Any],
    blocksize: Sequence[int],
    sparsity_threshold: float,
    layout: str = "NHWC",
    kernel_size: int = 1,
) -> tuple[Function, dict[str, NDArray]]:
    """The same for convolutions of this layout with square kernels of this size."""
    changed = dict(params)
    names, shapes = process_conv2d(func, changed, blocksize, sparsity_threshold, layout, kernel_size)
    made = Conv2dToSparse(names, shapes, layout, kernel_size)(IRModule({"main": func}))
    return InferType()(made)["main"], changed
