"""AttachGlobalSymbol: names as symbols, with the module's prefix for kernels."""

from __future__ import annotations

import pytest

from baton._src.driver.tvm_names.scripts import from_source
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.relax.bindings.attach_global_symbol import AttachGlobalSymbol

TEXT = """
@I.ir_module
class Module:
    I.module_attrs({{"system_lib_prefix": "lib_"}})

    @T.prim_func(private={private})
    def {kernel}(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.block("b"):
                vi = T.axis.spatial(T.int64(2), i)
                b[vi] = a[vi]

    @R.function(private={private})
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        gv = R.call_tir(cls.{kernel}, (x,), out_sinfo=R.Tensor((2,), "float32"))
        return gv
"""


def load(private: bool, kernel: str) -> IRModule:
    found = from_source(TEXT.format(private=private, kernel=kernel))
    assert isinstance(found, IRModule)
    return found


@pytest.mark.parametrize("private", [True, False])
def test_kernels_are_called_by_the_prefix_and_their_name(private: bool) -> None:
    """Guards the prefix being ignored."""
    after = AttachGlobalSymbol()(load(private, "copy"))
    assert_structural_equal(after, load(False, "lib_copy"))
    assert AttachGlobalSymbol()(after) is after
