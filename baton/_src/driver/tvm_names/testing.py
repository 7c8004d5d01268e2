"""`tvm.testing`: comparing arrays, and running a test file as a program."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.devices import device
from baton._src.values.device import Device
from baton._src.values.tensor import NDArray


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True) -> None:
    """Like `numpy.testing.assert_allclose`, for tensors too; the shapes must agree."""
    left, right = _array(actual), _array(desired)
    np.testing.assert_allclose(left.shape, right.shape)
    np.testing.assert_allclose(left, right, rtol=rtol, atol=atol, verbose=verbose)


def _array(value: Any) -> Any:
    return value.data if isinstance(value, NDArray) else np.asarray(value)


def main() -> None:
    """Run the tests of the calling file with pytest and exit with its status."""
    pytest = importlib.import_module("pytest")
    file = sys._getframe(1).f_globals["__file__"]
    sys.exit(pytest.main([file, *sys.argv[1:]]))


def parameter(*values: Any, ids: Any = None, by_dict: Any = None) -> Any:
    """A pytest fixture that takes each of `values`."""
    pytest = importlib.import_module("pytest")
    if by_dict is not None:
        ids, values = list(by_dict), tuple(by_dict.values())

    @pytest.fixture(params=values, ids=ids)  # type: ignore[untyped-decorator]
    def fixture(request: Any) -> Any:
        return request.param

    return fixture


def parameters(*value_sets: Any, ids: Any = None) -> list[Any]:
    """Several fixtures whose values go together: one tuple of values a combination."""
    return [parameter(*column, ids=ids) for column in zip(*value_sets, strict=True)]


def parametrize_targets(*args: Any) -> Any:
    """Run a test with `target` and `dev` for each target given; only CPU targets exist here."""
    pytest = importlib.import_module("pytest")
    if len(args) == 1 and callable(args[0]):
        return parametrize_targets("llvm")(args[0])
    from_names = [(t, device_of(t)) for t in (args or ("llvm",)) if device_enabled(t)]
    return pytest.mark.parametrize(("target", "dev"), from_names)


def device_of(target: Any) -> Device:
    """The device a target's programs run on."""
    return device(str(target))


def device_enabled(target: Any) -> bool:
    """Whether programs for `target` run on this machine."""
    return str(target).split()[0] in ("llvm", "c", "cpu")


def enabled_targets() -> list[tuple[str, Device]]:
    """The targets that run on this machine, with their devices."""
    return [("llvm", device_of("llvm"))]


def requires_llvm(*args: Any) -> Any:
    """A test that needs LLVM: always there."""
    return args[0] if args and callable(args[0]) else (lambda function: function)


def requires_gpu(*args: Any) -> Any:
    """A test that needs a GPU is skipped: none is supported."""
    pytest = importlib.import_module("pytest")
    mark: Callable[[Any], Any] = pytest.mark.skip(reason="baton compiles for CPUs")
    return mark(args[0]) if args else mark


uses_gpu = requires_gpu
