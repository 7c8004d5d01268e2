"""Digests stand for kernels in a cache on disk: equal for equal ones, different for anything that changes the code."""

from __future__ import annotations

import subprocess
import sys

from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.kernel_digest import kernel_digest
from baton._src.tir.prim_func import PrimFunc


def kernel(factor: object = 2.0, name: str = "A", dtype: str = "float32", size: int = 8) -> PrimFunc:
    a = placeholder((size,), dtype, name)
    return create_prim_func([a, compute((size,), lambda i: a[i] * factor, "B")])


def digest(function: PrimFunc, names: bool = False) -> str:
    found = kernel_digest(function, names)
    assert found is not None
    return found.name


def test_equal_kernels() -> None:
    """Guards sharing: objects, names and the public symbol do not matter; with `names` they do."""
    assert digest(kernel()) == digest(kernel(name="X"))
    assert digest(kernel().with_attr("global_symbol", "f")) == digest(kernel().with_attr("global_symbol", "g"))
    assert digest(kernel(), names=True) != digest(kernel(name="X"), names=True)


def test_different_kernels() -> None:
    """Guards soundness: constants, dtypes, sizes and attributes are part of it."""
    kernels = [kernel(), kernel(3.0), kernel(dtype="float64"), kernel(size=9), kernel().with_attr("grain", 1)]
    kernels += [kernel().with_attr("grain", value) for value in (True, 1.0, "1", (1,), [(1,)])]
    assert len({digest(k) for k in kernels}) == len(kernels)


def test_which_variable_matters() -> None:
    """Guards numbering: x - y is not y - x."""
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")

    def store(value: object) -> PrimFunc:
        return PrimFunc([x, y], st.Evaluate(value))

    assert digest(store(x - y)) != digest(store(y - x))
    assert digest(store(x - x)) != digest(store(x - y))


def test_sharing_does_not_matter() -> None:
    """Guards that only contents count: a part used twice equals two copies of it."""
    x = tir.Var("x", "int32")
    part = x * 3
    assert digest(PrimFunc([x], st.Evaluate(part + part))) == digest(PrimFunc([x], st.Evaluate(x * 3 + x * 3)))


def test_opaque_values_have_none() -> None:
    """Guards soundness: what has no content gets no digest."""
    assert kernel_digest(kernel().with_attr("hook", object())) is None


def test_the_same_in_every_process() -> None:
    """Guards keys on disk: nothing depends on addresses or on the seed of string hashes."""
    program = "from tests.tir.test_kernel_digest import digest, kernel; print(digest(kernel()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(kernel())
