"""NumPy references of operators (`tvm.topi.testing`)."""

from __future__ import annotations

from baton._src.driver.tvm_names.topi.testing import numpy_functions
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, {}, before=wire, more=numpy_functions)
