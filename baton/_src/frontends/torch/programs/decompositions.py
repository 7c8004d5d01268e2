"""Decompositions, in terms of PyTorch itself, of operators that PyTorch does not decompose.

PyTorch applies these functions together with its own: they take PyTorch's tensors, see their strides, and call its
operators. If one returns `NotImplemented`, the operator is kept, and refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from baton._src.frontends.torch.complex.decompositions import decompositions_of_complex
from baton._src.frontends.torch.complex.matrices import (
    cholesky,
    factors_of,
    inverse_by_cholesky,
    log_determinant,
    pseudo_inverse,
    solution,
    solution_by_cholesky,
    solution_by_triangle,
)
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.bessel import (
    bessel,
    second_bessel,
    second_modified_bessel,
    spherical_bessel,
)
from baton._src.frontends.torch.programs.deformable import deformable_convolution
from baton._src.frontends.torch.programs.draws import DRAWS
from baton._src.frontends.torch.programs.fractional_pools import fractional_pool, fractional_pool_backward
from baton._src.frontends.torch.programs.functions import (
    digamma,
    fraction_and_exponent,
    greatest_divisor,
    in_bins,
    inverse_erf,
    least_multiple,
    log_gamma,
    modified_bessel,
    next_number,
)
from baton._src.frontends.torch.programs.gradients import (
    antialiased_backward,
    attention_backward,
    distances_backward,
    masked_scatter_backward,
    repeated_border_backward,
)
from baton._src.frontends.torch.programs.grids import grid_sampler_backward
from baton._src.frontends.torch.programs.incomplete_gamma import incomplete_gamma
from baton._src.frontends.torch.programs.orthogonal import FAMILIES, polynomial_of_degree
from baton._src.frontends.torch.programs.quantized import QUANTIZED, whole_product
from baton._src.frontends.torch.programs.region_pools import position_sensitive_pool
from baton._src.frontends.torch.programs.segments import (
    bin_edges,
    evenly_spaced,
    histogram,
    histogram_between,
    histogram_in_bins,
    histogram_of_rows,
    segment_reduce,
)
from baton._src.frontends.torch.programs.series import (
    erfc,
    hurwitz_zeta,
    in_float64,
    normal_quantile,
    polygamma,
    scaled_erfc,
)
from baton._src.frontends.torch.programs.whole_layers import (
    attention,
    distances_of_pairs,
    embedding_bag,
    embedding_bag_backward,
    encoder_layer,
    leaky_relu_between,
    margins_of_labels,
    pairwise_distances,
    sample_weights_backward,
    trilinear,
    weight_norm_backward,
)
from baton._src.frontends.torch.programs.whole_operators import (
    batches_added,
    diagonal_scatter,
    distance,
    index_reduce,
    log_running_sum,
    median_of_numbers,
    most_frequent,
    narrowed,
    nonzero_static,
    put,
    resized,
    running_extreme,
    strided,
    strided_written,
    times_power_of_two,
    whole_median_of_numbers,
    windows,
    within_norm,
)
from baton._src.frontends.torch.programs.windows import WINDOWS


def decompositions(supported: Collection[str], with_complex: bool = False) -> Any:
    """The decompositions, PyTorch's and ours, except of operators with a converter.

    `with_complex`: converters of most operators are for real tensors only; those of complex ones are decomposed.
    """
    torch = torch_library()
    table = torch.export.default_decompositions()
    everything = torch._decomp.decomposition_table
    for name in PYTORCH_HAS:
        table[_operator(name)] = everything[_operator(name)]
    for name, function in OURS.items():
        table[_operator(name)] = function
    if hasattr(torch.ops.quantized_decomposed, "quantize_per_tensor"):  # registered by the module that quantises
        for name, function in QUANTIZED.items():
            table[_operator(name)] = function
    if hasattr(torch.ops.torchvision, "deform_conv2d"):  # registered by torchvision
        table[torch.ops.torchvision.deform_conv2d.default] = deformable_convolution
        table[torch.ops.torchvision.ps_roi_pool.default] = position_sensitive_pool
    for operator in list(table):
        if str(operator) in supported:
            table.pop(operator)
    if with_complex:
        table.update(dict(decompositions_of_complex(supported, table)))
    return table


def _operator(name: str) -> Any:
    """The overload called `aten.add.Tensor`."""
    space, packet, overload = name.split(".")
    return getattr(getattr(getattr(torch_library().ops, space), packet), overload)


PYTORCH_HAS = (
    "aten._native_batch_norm_legit.no_stats",
    "aten._native_batch_norm_legit_functional.default",
    "aten._batch_norm_with_update_functional.default",
    "aten.native_batch_norm_backward.default",
    "aten.batch_norm_backward.default",
)
"""Operators that PyTorch can decompose, but keeps in its core set."""

OURS: dict[str, Callable[..., Any]] = {
    "aten._transformer_encoder_layer_fwd.default": encoder_layer,
    "aten._native_multi_head_attention.default": attention,
    "aten._embedding_bag.default": embedding_bag,
    "aten._embedding_bag_forward_only.default": embedding_bag,
    "aten._cdist_forward.default": pairwise_distances,
    "aten.masked_scatter_backward.default": masked_scatter_backward,
    "aten._cdist_backward.default": distances_backward,
    "aten._pdist_forward.default": distances_of_pairs,
    "aten.multilabel_margin_loss_forward.default": margins_of_labels,
    "aten.cummax.default": running_extreme("ge"),
    "aten.cummin.default": running_extreme("le"),
    "aten.logcumsumexp.default": log_running_sum,
    "aten.as_strided.default": strided,
    "aten.as_strided_scatter.default": strided_written,
    "aten._embedding_bag_backward.default": embedding_bag_backward,
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default": attention_backward,
    **{f"aten.replication_pad{n}d_backward.default": repeated_border_backward(n) for n in (1, 2, 3)},
    **{f"aten._upsample_{m}2d_aa_backward.default": antialiased_backward(m) for m in ("bilinear", "bicubic")},
    "aten._weight_norm_interface_backward.default": weight_norm_backward,
    "aten.rrelu_with_noise_functional.default": leaky_relu_between,
    "aten._embedding_bag_per_sample_weights_backward.default": sample_weights_backward,
    "aten._trilinear.default": trilinear,
    "aten.grid_sampler_2d_backward.default": grid_sampler_backward,
    "aten.addbmm.default": batches_added,
    "aten.dist.default": distance,
    "aten.diagonal_scatter.default": diagonal_scatter,
    "aten.narrow_copy.default": narrowed,
    "aten.unfold.default": windows,
    "aten.index_reduce.default": index_reduce,
    "aten.nanmedian.default": whole_median_of_numbers,
    "aten.nanmedian.dim": median_of_numbers,
    "aten.mode.default": most_frequent,
    "aten.lgamma.default": log_gamma,
    "aten.erfinv.default": inverse_erf,
    "aten.gcd.default": greatest_divisor,
    "aten.lcm.default": least_multiple,
    "aten.histc.default": in_bins,
    "aten.histogram.bin_ct": histogram,
    "aten.histogram.bins_tensor": histogram_between,
    "aten._histogramdd_bin_edges.default": bin_edges,
    "aten._histogramdd_from_bin_cts.default": histogram_in_bins,
    "aten._histogramdd_from_bin_tensors.default": histogram_of_rows,
    "aten.segment_reduce.default": segment_reduce,
    **{f"aten.linspace.{kind}": evenly_spaced for kind in ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")},
    "aten.resize.default": resized,
    "aten.embedding_renorm.default": within_norm,
    "aten.frexp.Tensor": fraction_and_exponent,
    "aten.digamma.default": digamma,
    "aten.i0.default": modified_bessel(0, scaled=False),
    "aten.special_i0e.default": modified_bessel(0, scaled=True),
    "aten.special_i1.default": modified_bessel(1, scaled=False),
    "aten.special_i1e.default": modified_bessel(1, scaled=True),
    "aten.special_modified_bessel_i0.default": modified_bessel(0, scaled=False),
    "aten.special_modified_bessel_i1.default": modified_bessel(1, scaled=False),
    "aten.special_bessel_j0.default": bessel(0),
    "aten.special_bessel_j1.default": bessel(1),
    "aten.special_bessel_y0.default": second_bessel(0),
    "aten.special_bessel_y1.default": second_bessel(1),
    "aten.special_modified_bessel_k0.default": second_modified_bessel(0, scaled=False),
    "aten.special_modified_bessel_k1.default": second_modified_bessel(1, scaled=False),
    "aten.special_scaled_modified_bessel_k0.default": second_modified_bessel(0, scaled=True),
    "aten.special_scaled_modified_bessel_k1.default": second_modified_bessel(1, scaled=True),
    "aten.special_spherical_bessel_j0.default": in_float64(spherical_bessel),
    "aten.erfc.default": in_float64(erfc),
    "aten.special_erfcx.default": in_float64(scaled_erfc),
    **{f"aten.special_{name}.n_scalar": polynomial_of_degree(name) for name in FAMILIES},
    "aten.special_ndtri.default": in_float64(normal_quantile),
    "aten.polygamma.default": polygamma,
    "aten.special_zeta.default": hurwitz_zeta,
    "aten.special_zeta.other_scalar": hurwitz_zeta,
    "aten.special_zeta.self_scalar": hurwitz_zeta,
    "aten.igamma.default": incomplete_gamma(upper=False),
    "aten.igammac.default": incomplete_gamma(upper=True),
    "aten.nextafter.default": next_number,
    "aten.as_strided_copy.default": strided,
    "aten.fractional_max_pool2d.default": fractional_pool(2),
    "aten.fractional_max_pool3d.default": fractional_pool(3),
    "aten.fractional_max_pool2d_backward.default": fractional_pool_backward(2),
    "aten.fractional_max_pool3d_backward.default": fractional_pool_backward(3),
    "aten.put.default": put,
    "aten.ldexp.Tensor": times_power_of_two,
    "aten.nonzero_static.default": nonzero_static,
    "aten._linalg_slogdet.default": log_determinant,
    "aten._linalg_solve_ex.default": solution,
    "aten.linalg_lu.default": factors_of,
    "aten.triangular_solve.default": solution_by_triangle,
    "aten.cholesky.default": cholesky,
    "aten.cholesky_solve.default": solution_by_cholesky,
    "aten.cholesky_inverse.default": inverse_by_cholesky,
    "aten.linalg_pinv.atol_rtol_tensor": pseudo_inverse,
    "aten._int_mm.default": whole_product,
    **WINDOWS,
    **DRAWS,
}
"""Operators that PyTorch does not decompose."""
