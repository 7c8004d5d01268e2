"""The gradient of a convolution towards its weight, as products of matrices: one group, two spatial axes.

    dw[o, c, r] = sum over n, s of grad[n, o, s] * x[n, c, s * stride + r * dilation - padding]

With places (n, s) as rows and channels last, what each place r of the kernel meets is a part of the data, and
dw[:, :, r] a product of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode
from baton._src.frontends.torch.operators.padding import pad
from baton._src.frontends.torch.operators.shape import cut

_WIDE = 64
"""From so many channels on, what all places of the kernel meet is written side by side, for one product: it reads the
gradient once. With fewer channels, rows are so short that copying takes longer than the products."""


def towards_weight(
    node: AtenNode, grad: Value, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int],
) -> Value:  # fmt: skip
    g, (_, outputs, *places), channels = node.graph, node.sizes(grad), node.sizes(x)[1]
    slopes = g.reshape(g.transpose(grad, (1, 0, 2, 3)), (outputs, -1))
    seen = pad(node, g.transpose(x, (0, 2, 3, 1)), (0, 0, padding[1], padding[1], padding[0], padding[0]))
    met = []
    for place in np.ndindex(*kernel):
        part = seen
        for axis, (at, count) in enumerate(zip(place, places)):
            begin = at * dilation[axis]
            part = cut(node, part, axis + 1, begin, begin + (count - 1) * stride[axis] + 1, stride[axis])
        met.append(g.reshape(part, (-1, channels)))
    if isinstance(channels, int) and channels >= _WIDE:
        found = g.call("matmul", slopes, g.call("concat", tuple(met), axis=1))
    else:
        found = g.call("stack", tuple(g.call("matmul", slopes, m) for m in met), axis=1)
    return g.transpose(g.reshape(found, (outputs, *kernel, channels)), (0, 3, 1, 2))
