"""Every aten operator that is supported, and the function that converts it.

To add an operator:

1. Find its schema: `torch.ops.aten.NAME.OVERLOAD._schema`. The key is `aten.NAME.OVERLOAD`. Only overloads without
   side effects are wanted: PyTorch turns `relu_`, `out=` and writes into views into their pure forms before we look.
2. Write `def name(node: AtenNode, ...) -> Value` in the file of its subject: the schema's arguments in order, those
   behind its `*` by keyword, none left out (layout, device, pin_memory and memory_format are dropped). Tensors are
   `Value`s, numbers plain, symbolic sizes `PrimExpr`s, dtypes `DataType`s, absent tensors None. Several results are a
   tuple. `node.graph.call(op, ...)` writes operators of the catalogue for both languages; `node.dtype` is the dtype
   PyTorch gives the result, `node.promoted(...)` brings operands to their common one, `node.axis` counts from the
   front, `node.fail` refuses with a reason. The result is checked against PyTorch's shape and dtype.
3. Add it to the file's table, and a case to `tests/frontends/torch/cases/`; `python -m tests.docs` lists it.

PyTorch decomposes an operator without a converter if it is not in PyTorch's core set, so check first what
`exported.run_decompositions()` makes of it: often nothing is left to do.
"""

from __future__ import annotations

from baton._src.frontends.torch.complex.factors import FACTORS
from baton._src.frontends.torch.complex.fourier import FOURIER
from baton._src.frontends.torch.complex.paired import COMPLEX
from baton._src.frontends.torch.control import CONTROL
from baton._src.frontends.torch.layers.attention import ATTENTION
from baton._src.frontends.torch.layers.backward import BACKWARD
from baton._src.frontends.torch.layers.nn import NN
from baton._src.frontends.torch.layers.pooling import POOLING
from baton._src.frontends.torch.layers.recurrent import RECURRENT
from baton._src.frontends.torch.layers.regions import REGIONS
from baton._src.frontends.torch.layers.resize import RESIZE
from baton._src.frontends.torch.node import Converter
from baton._src.frontends.torch.operators.activation import ACTIVATION
from baton._src.frontends.torch.operators.bits import BITS
from baton._src.frontends.torch.operators.counting import COUNTING
from baton._src.frontends.torch.operators.creation import CREATION
from baton._src.frontends.torch.operators.elementwise import ELEMENTWISE
from baton._src.frontends.torch.operators.indexing import INDEXING
from baton._src.frontends.torch.operators.matrix import MATRIX
from baton._src.frontends.torch.operators.padding import PADDING
from baton._src.frontends.torch.operators.reduction import REDUCTION
from baton._src.frontends.torch.operators.shape import SHAPE
from baton._src.frontends.torch.operators.sorting import SORTING
from baton._src.frontends.torch.operators.special import SPECIAL
from baton._src.frontends.torch.operators.writing import WRITING
from baton._src.frontends.torch.sym_bools import SCALARS

CONVERTERS: dict[str, Converter] = {
    **ELEMENTWISE,
    **SPECIAL,
    **ACTIVATION,
    **MATRIX,
    **FACTORS,
    **SHAPE,
    **BITS,
    **REDUCTION,
    **CREATION,
    **NN,
    **POOLING,
    **BACKWARD,
    **COMPLEX,
    **FOURIER,
    **ATTENTION,
    **INDEXING,
    **COUNTING,
    **WRITING,
    **SORTING,
    **PADDING,
    **RESIZE,
    **REGIONS,
    **RECURRENT,
    **CONTROL,
    **SCALARS,
}

IGNORED = {
    "aten._assert_tensor_metadata.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
    "torch._check",
}
"""Operators that only inform PyTorch: sizes are checked when the compiled function is called."""
