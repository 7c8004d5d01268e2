"""`tvmc.run`: a package is run on this machine, and measured or profiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.driver.tvm_names.tvmc.errors import raising_tvmc, refuse
from baton._src.driver.tvm_names.tvmc.inputs import make_inputs_dict
from baton._src.driver.tvm_names.tvmc.package import TVMCPackage
from baton._src.driver.tvm_names.tvmc.result import TVMCResult
from baton._src.driver.wiring import wire
from baton._src.runtime.graph.graph_debug_executor import GraphModuleDebug
from baton._src.runtime.timing import BenchmarkResult, measure


@raising_tvmc
def run_module(
    tvmc_package: TVMCPackage,
    device: str = "cpu",
    hostname: str | None = None,
    port: int | str = 9090,
    rpc_key: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    fill_mode: str = "random",
    benchmark: bool = False,
    repeat: int = 10,
    number: int = 10,
    profile: bool = False,
    end_to_end: bool = False,
    options: Mapping[str, Any] | None = None,
) -> TVMCResult:
    """Run a package once, on `inputs` by name; those that are missing are filled with "zeros", "ones" or "random".

    `benchmark` measures `repeat` times `number` runs (with `end_to_end`, setting the inputs too), `profile` prints a
    table of the kernels' times. Raises `TVMCException`: devices other than the CPU, other machines (`hostname`,
    `rpc_key`), arrays that do not fit.
    """
    wire()
    if not isinstance(tvmc_package, TVMCPackage):
        raise refuse("This model doesn't seem to have been compiled yet.", "tvmc.compile gives what tvmc.run takes")
    _refuse_elsewhere(device, hostname, rpc_key, options)
    module = GraphModuleDebug(tvmc_package.factory().create())
    arrays = make_inputs_dict(*module.get_input_info(), inputs, fill_mode)
    for name, array in arrays.items():
        module.set_input(name, array)
    if profile:
        print(module.profile())
    times = _measured(module, arrays, repeat, number, end_to_end) if benchmark else None
    module.module.run()
    outputs = module.module.outputs or ()
    return TVMCResult({f"output_{k}": module.get_output(k).numpy() for k in range(len(outputs))}, times)


def _measured(
    module: GraphModuleDebug, arrays: Mapping[str, Any], repeat: int, number: int, end_to_end: bool
) -> BenchmarkResult:
    for name, count in (("repeat", repeat), ("number", number)):
        if count < 1:
            raise refuse(f"{name} is {count}", "it counts runs and must be 1 or more")

    def once() -> None:
        if end_to_end:
            for name, array in arrays.items():
                module.set_input(name, array)
        module.module.run()

    return measure(once, number, repeat)


def _refuse_elsewhere(device: str, hostname: str | None, rpc_key: str | None, options: Any) -> None:
    if device != "cpu":
        raise refuse(f"baton compiles for CPUs; a package does not run on the device {device!r}", 'device="cpu"')
    if hostname or rpc_key:
        raise refuse("programs run in the process that loaded them", "leave out hostname, port and rpc_key")
    if options:
        raise refuse("options are those of projects for bare devices", "leave out options")
