"""Decompose operators that have converters for real tensors only, if their tensors are complex.

This table is added for programs with complex tensors: operators are decomposed into functions of the parts, otherwise
by PyTorch. Operators without a decomposition are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from baton._src.frontends.torch.complex import functions as f
from baton._src.frontends.torch.complex import operators as o
from baton._src.frontends.torch.complex.fourier import FOURIER
from baton._src.frontends.torch.complex.matrices import determinant
from baton._src.frontends.torch.complex.paired import COMPLEX, PAIRED
from baton._src.frontends.torch.library import torch_library

Function = Callable[..., Any]


def is_complex(given: Any) -> bool:
    """Whether a complex tensor, number or dtype is among arguments."""
    torch = torch_library()
    if isinstance(given, (list, tuple)):
        return any(is_complex(g) for g in given)
    if isinstance(given, (torch.dtype, torch.Tensor)):
        return bool(given.is_complex if isinstance(given, torch.dtype) else given.is_complex())
    return isinstance(given, complex)


def has_complex(module: Any) -> bool:
    """Whether a graph, or a graph within it, has complex tensors."""
    torch = torch_library()
    graphs = [m.graph for m in module.modules() if isinstance(m, torch.fx.GraphModule)]
    values = (n.meta.get("val", n.meta.get("example_value")) for graph in graphs for n in graph.nodes)
    return any(is_complex(v) for v in values)


def decompositions_of_complex(supported: Collection[str], table: dict[Any, Function]) -> Iterator[tuple[Any, Function]]:
    """Operators, and how they are taken apart: what `table` has for real tensors, otherwise left whole."""
    torch = torch_library()
    everything, meant = dict(torch.export.default_decompositions()), (COMPLEX, PAIRED, FOURIER)
    for name in sorted({*supported, *IN_PARTS}):
        space, *path = name.split(".")
        if space != "aten" or (name not in IN_PARTS and any(name in known for known in meant)):
            continue
        operator = getattr(getattr(torch.ops.aten, path[0]), path[1])
        function = IN_PARTS.get(name) or everything.get(operator)
        if function is not None:
            yield operator, _for_complex(function, table.get(operator) if operator in table else None)


def _for_complex(function: Function, otherwise: Function | None) -> Function:
    def take_apart(*args: Any, **kwargs: Any) -> Any:
        if is_complex((*args, *kwargs.values())):
            return function(*args, **kwargs)
        return NotImplemented if otherwise is None else otherwise(*args, **kwargs)

    return take_apart


OF_ONE: dict[str, f.Function] = {
    "log": f.logarithm(), "log2": f.logarithm(2), "log10": f.logarithm(10), "log1p": f.logarithm_of_next,
    "exp": f.exponential, "expm1": f.exponential_less_one, "exp2": f.power_of_two,
    "sqrt": f.root, "rsqrt": f.reciprocal_root, "reciprocal": f.reciprocal,
    "sigmoid": f.sigmoid, "silu": f.silu, "sgn": f.sign, "sin": f.sine, "cos": f.cosine, "tan": f.tangent,
    "sinh": f.hyperbolic_sine, "cosh": f.hyperbolic_cosine, "tanh": f.hyperbolic_tangent,
    "asin": f.inverse_sine, "acos": f.inverse_cosine, "atan": f.inverse_tangent,
    "asinh": f.inverse_hyperbolic_sine, "acosh": f.inverse_hyperbolic_cosine, "atanh": f.inverse_hyperbolic_tangent,
}  # fmt: skip
"""Functions of one tensor, by the names that PyTorch gives them."""

IN_PARTS: dict[str, Function] = {
    **{f"aten.{name}.default": f.of_parts(function) for name, function in OF_ONE.items()},
    **{f"aten.{name}.default": o.looked_at(name, "logical_or") for name in ("isnan", "isinf")},
    "aten.isfinite.default": o.looked_at("isfinite", "logical_and"),
    **{f"aten.eq.{kind}": o.looked_at("eq", "logical_and") for kind in ("Tensor", "Scalar")},
    **{f"aten.ne.{kind}": o.looked_at("ne", "logical_or") for kind in ("Tensor", "Scalar")},
    **{f"aten.logical_{name}.default": o.as_truth(f"logical_{name}") for name in ("not", "and", "or", "xor")},
    **{f"aten.{name}.{kind}": o.as_truth(name) for name in ("any", "all") for kind in ("default", "dim", "dims")},
    "aten.nonzero.default": o.as_truth("nonzero"),
    **{f"aten.pow.{kind}": o.power for kind in ("Tensor_Tensor", "Tensor_Scalar", "Scalar")},
    "aten.convolution.default": o.convolved,
    "aten.addmm.default": o.product_added,
    "aten.addmv.default": o.product_added,
    "aten.dot.default": o.products("dot"),
    "aten.vdot.default": o.conjugate_product,
    "aten.prod.default": o.multiplied,
    "aten.prod.dim_int": o.multiplied,
    "aten.cumprod.default": o.running_product,
    "aten.var.correction": o.variance,
    "aten.var_mean.correction": o.mean_and_variance,
    "aten.linalg_vector_norm.default": o.norm,
    "aten.masked_select.default": o.selected,
    "aten.index.Tensor": o.looked_up,
    "aten.logsumexp.default": o.log_of_sum,
    "aten.index_add.default": o.added_at,
    "aten.scatter.value": o.one_number_scattered,
    "aten.nan_to_num.default": o.numbers_instead,
    "aten._linalg_det.default": determinant,
}
"""Operators that PyTorch does not decompose, or not into supported operators."""
