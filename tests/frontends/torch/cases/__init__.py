"""Calls of PyTorch's operators to compare with: by family, a function and the arrays it is applied to.

`python -m tests.docs` says which operators of the table no case reaches.
"""

from __future__ import annotations

from tests.frontends.torch.cases.elementwise import ACTIVATIONS, BINARY, SPECIALS, UNARY
from tests.frontends.torch.cases.functions import FUNCTIONS, QUANTISED
from tests.frontends.torch.cases.indexed import INDICES, MASKS, WITHOUT_AXES, WRITES
from tests.frontends.torch.cases.inputs import Case
from tests.frontends.torch.cases.layers import ATTENTIONS, LAYERS, POOLS, RECURRENCES, RESIZES
from tests.frontends.torch.cases.taken_apart import COMPLEX, MORE_IN_TERMS_OF_PYTORCH, WHOLE_IN_PYTORCH
from tests.frontends.torch.cases.tensors import BORDERS, CREATION, MATRICES, ORDERS, REDUCTIONS, SHAPES

FAMILIES: dict[str, list[Case]] = {
    "unary": UNARY,
    "binary": BINARY,
    "activations": ACTIVATIONS,
    "matrices": MATRICES,
    "shapes": SHAPES,
    "reductions": REDUCTIONS,
    "creation": CREATION,
    "layers": LAYERS,
    "pools": POOLS,
    "attentions": ATTENTIONS,
    "indices": INDICES,
    "writes": WRITES,
    "orders": ORDERS,
    "borders": BORDERS,
    "resizes": RESIZES,
    "recurrences": RECURRENCES,
    "whole in PyTorch": WHOLE_IN_PYTORCH,
    "special numbers": SPECIALS,
    "without axes": WITHOUT_AXES,
    "masks": MASKS,
    "complex": COMPLEX,
    "functions": FUNCTIONS,
    "quantised": QUANTISED,
    "more in terms of PyTorch": MORE_IN_TERMS_OF_PYTORCH,
}
