"""Names under which operators tell passes and code generation something about a block.

They are in a layer below both: the kernel compiler does not import operators.
"""

from __future__ import annotations

WINDOWS = "tir.windows"
"""The number of windows along axes of symbolic size. Zero windows are a fault, as they are an error for known sizes: a
window larger than the padded data is never intended.
"""

BUFFER_DIM_ALIGN = "buffer_dim_align"
"""How rows of buffers that the block writes are aligned, TVM's name: entries of [index, axis, factor, offset]."""
