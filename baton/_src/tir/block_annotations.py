"""Names under which operators tell passes and code generation something about a block.

They lie below both: what compiles kernels takes no operator in.
"""

from __future__ import annotations

WINDOWS = "tir.windows"
"""How many windows there are along axes of open size. None at all is a fault, as it is an error where sizes are known:
nobody meant a window that is larger than the padded data.
"""

BUFFER_DIM_ALIGN = "buffer_dim_align"
"""How rows of buffers that the block writes are aligned, TVM's name: entries of [index, axis, factor, offset]."""
