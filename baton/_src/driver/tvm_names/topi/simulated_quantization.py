"""`tvm.topi.nn`: quantisation whose results stay floats, of a dtype that may be known only when running."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call
from baton._src.te.computation import compute
from baton._src.te.tensor import Tensor
from baton._src.tir.operators import cast


def simulated_quantize(
    data: Tensor, out_dtype: Any, output_scale: Any = None, output_zero_point: Any = None, axis: int = -1
) -> Any:
    """Quantised in floats; `out_dtype` is a number: 0 none, 1 int8, 2 uint8, 3 int32."""
    return call("qnn.simulated_quantize", data, _scalar(out_dtype), output_scale, output_zero_point, axis=axis)


def simulated_dequantize(
    data: Tensor, in_dtype: Any, input_scale: Any = None, input_zero_point: Any = None, axis: int = -1
) -> Any:
    """Dequantised in floats; `in_dtype` is a number: 0 none, else one that `simulated_quantize` takes."""
    return call("qnn.simulated_dequantize", data, _scalar(in_dtype), input_scale, input_zero_point, axis=axis)


def _scalar(number: Any) -> Any:
    """A number, a variable or a tensor as a tensor without axes."""
    return number if isinstance(number, Tensor) else compute((), lambda: cast("int32", number), "code")


SIMULATED_QUANTIZATION: Mapping[str, Callable[..., Any]] = {
    "nn.simulated_quantize": simulated_quantize,
    "nn.simulated_dequantize": simulated_dequantize,
}
"""By names below `topi`."""
