"""`relax.testing.lib_comparator`: the kernels that a VM runs, compared with those of another library.

    machine = relax.VirtualMachine(relax.build(mod, "llvm", exec_mode="bytecode"), tvm.cpu())
    machine.set_instrument(LibCompareVMInstrument(library, tvm.cpu()))

Each kernel that the library has, too, is run a second time, on copies. With `exec_mode="bytecode"` the VM calls every
kernel by itself; by default dataflow functions are one native call each, of which the library has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from baton._src.values.device import Device
from baton._src.values.tensor import NDArray, array


class LibCompareVMInstrument:
    """An instrument for `set_instrument` that compares a kernel's result, its last tensor, within `rtol` and `atol`.

    Subclasses override `compare`, or `skip_instrument`, which gives whether to leave a call alone.
    """

    def __init__(self, mod: Any, device: Device, verbose: bool = True, rtol: float = 1e-5, atol: float = 1e-5) -> None:
        self.mod, self.device, self.verbose = mod, device, verbose
        self.rtol, self.atol = rtol, atol
        self.counter = 0

    def compare(
        self, name: str, ref_args: Sequence[NDArray], new_args: Sequence[NDArray], ret_indices: Iterable[int]
    ) -> None:
        """Run the library's kernel on `new_args`, and compare what it wrote. Errors: `AssertionError` if it differs."""
        self._say(f"[{self.counter}] Validating {name} ...")
        self.mod.get_function(name, query_imports=True)(*new_args)
        for place in ret_indices:
            found, expected = new_args[place].numpy(), ref_args[place].numpy()
            np.testing.assert_allclose(found, expected, rtol=self.rtol, atol=self.atol, err_msg=name)
        self._say(f"[{self.counter}] Validating {name}, passed.")
        self.counter += 1

    def skip_instrument(self, func: Any, name: str, before_run: bool, ret_val: Any, *args: Any) -> bool:
        """Whether to leave this call alone."""
        return False

    def __call__(self, func: Any, name: str, before_run: bool, ret_val: Any, *args: Any) -> None:
        if before_run or name.startswith("vm.builtin.") or not all(isinstance(x, NDArray) for x in args):
            return
        if not self.mod.implements_function(name, True):
            self._say(f"Cannot find {name}, skip...")
            return
        if self.skip_instrument(func, name, before_run, ret_val, *args):
            return
        operands = [array(np.array(x.numpy())) for x in args[:-1]]
        result = array(np.zeros(args[-1].shape, args[-1].numpy().dtype))
        self.compare(name, args, [*operands, result], (len(args) - 1,))

    def _say(self, message: str) -> None:
        if self.verbose:
            print(message)
