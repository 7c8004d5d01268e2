"""The converter of each operator."""

from __future__ import annotations

from baton._src.frontends.tflite.control import CONTROL
from baton._src.frontends.tflite.detection import DETECTION
from baton._src.frontends.tflite.elementwise import ELEMENTWISE
from baton._src.frontends.tflite.indexing import INDEXING
from baton._src.frontends.tflite.node import Converter
from baton._src.frontends.tflite.pooling import POOLING
from baton._src.frontends.tflite.products import PRODUCTS
from baton._src.frontends.tflite.recurrent import RECURRENT
from baton._src.frontends.tflite.reductions import REDUCTIONS
from baton._src.frontends.tflite.shapes import SHAPES

CONVERTERS: dict[str, Converter] = {
    **ELEMENTWISE, **PRODUCTS, **POOLING, **SHAPES, **REDUCTIONS, **INDEXING, **RECURRENT, **DETECTION, **CONTROL,
}  # fmt: skip
