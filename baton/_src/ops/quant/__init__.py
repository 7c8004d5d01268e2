"""Between real numbers and quantised integers, and arithmetic on these (Relay's dialect qnn).

`parameters` are scales and zero points; `rescaling`, `fixed_point` and `fixed_point_per_axis` multiply integers by
them. Conversions: `affine` quantize and dequantize, `requantize`, `round_to_range`; in floats, to a dtype known when
running or for calibration: `qnn_simulated`, `simulated`. Arithmetic: `qnn_arithmetic`, `qnn_products`, `qnn_functions`.
"""
