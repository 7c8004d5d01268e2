"""The converter of each operation."""

from __future__ import annotations

from baton._src.frontends.stablehlo.control import CONTROL
from baton._src.frontends.stablehlo.elementwise import ELEMENTWISE
from baton._src.frontends.stablehlo.indexing import INDEXING
from baton._src.frontends.stablehlo.node import Converter
from baton._src.frontends.stablehlo.products import PRODUCTS
from baton._src.frontends.stablehlo.reductions import REDUCTIONS
from baton._src.frontends.stablehlo.shapes import SHAPES

CONVERTERS: dict[str, Converter] = {**ELEMENTWISE, **SHAPES, **REDUCTIONS, **PRODUCTS, **INDEXING, **CONTROL}
