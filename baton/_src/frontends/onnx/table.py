"""Every ONNX operator that is supported, and the function that converts it."""

from __future__ import annotations

from baton._src.frontends.onnx.control.branches import BRANCHES
from baton._src.frontends.onnx.control.loops import LOOPS
from baton._src.frontends.onnx.control.scan import SCAN
from baton._src.frontends.onnx.control.sequences import SEQUENCES
from baton._src.frontends.onnx.image.affine_grid import AFFINE_GRID
from baton._src.frontends.onnx.image.detection import DETECTION
from baton._src.frontends.onnx.image.resize import RESIZE
from baton._src.frontends.onnx.learning.classical import CLASSICAL
from baton._src.frontends.onnx.learning.dictionaries import DICTIONARIES
from baton._src.frontends.onnx.learning.ngrams import NGRAMS
from baton._src.frontends.onnx.learning.optimizers import OPTIMIZERS
from baton._src.frontends.onnx.learning.support_vectors import SUPPORT_VECTORS
from baton._src.frontends.onnx.learning.trees import TREES
from baton._src.frontends.onnx.microsoft.attention import CONTRIB_ATTENTION
from baton._src.frontends.onnx.microsoft.blocks import CONTRIB_BLOCKS
from baton._src.frontends.onnx.microsoft.cached_attention import CONTRIB_CACHED
from baton._src.frontends.onnx.microsoft.chains import CONTRIB_CHAINS
from baton._src.frontends.onnx.microsoft.crops import CONTRIB_CROPS
from baton._src.frontends.onnx.microsoft.diffusion import CONTRIB_DIFFUSION
from baton._src.frontends.onnx.microsoft.experts import CONTRIB_EXPERTS
from baton._src.frontends.onnx.microsoft.fused import CONTRIB, simplified_layer_normalization
from baton._src.frontends.onnx.microsoft.gates import CONTRIB_GATES
from baton._src.frontends.onnx.microsoft.multi_head import CONTRIB_MULTI_HEAD
from baton._src.frontends.onnx.microsoft.projections import CONTRIB_PROJECTIONS
from baton._src.frontends.onnx.microsoft.quantized import CONTRIB_QUANTIZED
from baton._src.frontends.onnx.microsoft.relative_positions import CONTRIB_RELATIVE
from baton._src.frontends.onnx.microsoft.rotary import CONTRIB_ROTARY
from baton._src.frontends.onnx.microsoft.streams import CONTRIB_STREAMS
from baton._src.frontends.onnx.nn.convolution import CONVOLUTION
from baton._src.frontends.onnx.nn.normalization import NORMALIZATION
from baton._src.frontends.onnx.nn.places import PLACES
from baton._src.frontends.onnx.nn.pooling import POOLING
from baton._src.frontends.onnx.nn.quantization import QUANTIZATION
from baton._src.frontends.onnx.nn.recurrent import RECURRENT
from baton._src.frontends.onnx.nn.softmax import SOFTMAX
from baton._src.frontends.onnx.node import Converter
from baton._src.frontends.onnx.tensors.casts import CASTS
from baton._src.frontends.onnx.tensors.creation import CREATION
from baton._src.frontends.onnx.tensors.elementwise import ELEMENTWISE
from baton._src.frontends.onnx.tensors.experimental import EXPERIMENTAL
from baton._src.frontends.onnx.tensors.index import INDEX
from baton._src.frontends.onnx.tensors.matrix import MATRIX
from baton._src.frontends.onnx.tensors.parts import PARTS
from baton._src.frontends.onnx.tensors.randomness import RANDOMNESS
from baton._src.frontends.onnx.tensors.reduction import REDUCTION
from baton._src.frontends.onnx.tensors.shape import SHAPE
from baton._src.frontends.onnx.tensors.signal import SIGNAL
from baton._src.frontends.onnx.tensors.strings import STRINGS, TOKENS

CONVERTERS: dict[str, Converter] = {
    **CASTS,
    **ELEMENTWISE,
    **CONVOLUTION,
    **NORMALIZATION,
    **SOFTMAX,
    **MATRIX,
    **REDUCTION,
    **SHAPE,
    **PARTS,
    **CREATION,
    **INDEX,
    **RECURRENT,
    **BRANCHES,
    **LOOPS,
    **SCAN,
    **RESIZE,
    **AFFINE_GRID,
    **POOLING,
    **PLACES,
    **SIGNAL,
    **DETECTION,
    **RANDOMNESS,
    **SEQUENCES,
    **QUANTIZATION,
    **NGRAMS,
    **STRINGS,
    **EXPERIMENTAL,
    "SimplifiedLayerNormalization": simplified_layer_normalization,
}
"""Of ONNX's own domain."""

MICROSOFT: dict[str, Converter] = {
    **CONTRIB,
    **CONTRIB_ATTENTION,
    **CONTRIB_MULTI_HEAD,
    **CONTRIB_ROTARY,
    **CONTRIB_CACHED,
    **CONTRIB_BLOCKS,
    **CONTRIB_QUANTIZED,
    **CONTRIB_EXPERTS,
    **CONTRIB_GATES,
    **CONTRIB_STREAMS,
    **CONTRIB_DIFFUSION,
    **CONTRIB_CHAINS,
    **CONTRIB_CROPS,
    **CONTRIB_RELATIVE,
    **CONTRIB_PROJECTIONS,
    **TOKENS,
}
"""Of the domain `com.microsoft`."""

LEARNING: dict[str, Converter] = {**CLASSICAL, **DICTIONARIES, **SUPPORT_VECTORS, **TREES}
"""Of the domain `ai.onnx.ml`."""

DOMAINS: dict[str, dict[str, Converter]] = {
    "": CONVERTERS,
    "ai.onnx": CONVERTERS,
    "ai.onnx.ml": LEARNING,
    "ai.onnx.preview.training": OPTIMIZERS,
    "com.microsoft": MICROSOFT,
}
"""Domain -> operator -> converter."""
