"""Every ONNX operator that is supported, and the function that converts it."""

from __future__ import annotations

from baton._src.frontends.onnx.casts import CASTS
from baton._src.frontends.onnx.classical import CLASSICAL
from baton._src.frontends.onnx.contrib import CONTRIB, simplified_layer_normalization
from baton._src.frontends.onnx.contrib_attention import CONTRIB_ATTENTION
from baton._src.frontends.onnx.contrib_blocks import CONTRIB_BLOCKS
from baton._src.frontends.onnx.contrib_cached import CONTRIB_CACHED
from baton._src.frontends.onnx.contrib_quantized import CONTRIB_QUANTIZED
from baton._src.frontends.onnx.control import CONTROL
from baton._src.frontends.onnx.detection import DETECTION
from baton._src.frontends.onnx.elementwise import ELEMENTWISE
from baton._src.frontends.onnx.index import INDEX
from baton._src.frontends.onnx.matrix import MATRIX
from baton._src.frontends.onnx.nn import NN
from baton._src.frontends.onnx.node import Converter
from baton._src.frontends.onnx.pooling import POOLING
from baton._src.frontends.onnx.quantization import QUANTIZATION
from baton._src.frontends.onnx.randomness import RANDOMNESS
from baton._src.frontends.onnx.recurrent import RECURRENT
from baton._src.frontends.onnx.reduction import REDUCTION
from baton._src.frontends.onnx.resize import RESIZE
from baton._src.frontends.onnx.sequences import SEQUENCES
from baton._src.frontends.onnx.shape import SHAPE
from baton._src.frontends.onnx.signal import SIGNAL
from baton._src.frontends.onnx.trees import TREES

CONVERTERS: dict[str, Converter] = {
    **CASTS,
    **ELEMENTWISE,
    **NN,
    **MATRIX,
    **REDUCTION,
    **SHAPE,
    **INDEX,
    **RECURRENT,
    **CONTROL,
    **RESIZE,
    **POOLING,
    **SIGNAL,
    **DETECTION,
    **RANDOMNESS,
    **SEQUENCES,
    **QUANTIZATION,
    "SimplifiedLayerNormalization": simplified_layer_normalization,
}
"""Of ONNX's own domain."""

MICROSOFT: dict[str, Converter] = {
    **CONTRIB,
    **CONTRIB_ATTENTION,
    **CONTRIB_CACHED,
    **CONTRIB_BLOCKS,
    **CONTRIB_QUANTIZED,
}
"""Of the domain `com.microsoft`."""

LEARNING: dict[str, Converter] = {**CLASSICAL, **TREES}
"""Of the domain `ai.onnx.ml`."""

DOMAINS: dict[str, dict[str, Converter]] = {
    "": CONVERTERS,
    "ai.onnx": CONVERTERS,
    "ai.onnx.ml": LEARNING,
    "com.microsoft": MICROSOFT,
}
"""Domain -> operator -> converter."""
