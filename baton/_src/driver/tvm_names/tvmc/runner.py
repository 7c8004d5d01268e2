"""`tvmc.run`: a package is run on this machine or a server, and measured or profiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.driver.tvm_names.remote.errors import RPCError
from baton._src.driver.tvm_names.remote.session import connect, connect_tracker
from baton._src.driver.tvm_names.tvmc.errors import raising_tvmc, refuse
from baton._src.driver.tvm_names.tvmc.inputs import make_inputs_dict
from baton._src.driver.tvm_names.tvmc.package import TVMCPackage
from baton._src.driver.tvm_names.tvmc.result import TVMCResult
from baton._src.driver.wiring import wire
from baton._src.runtime.graph.graph_debug_executor import GraphModuleDebug
from baton._src.runtime.graph.graph_executor import GraphModule
from baton._src.values.device import CPU


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
    table of the kernels' times. With a `hostname`, that of a server or, with `rpc_key`, of a tracker, the package runs
    on a server. Raises `TVMCException`: devices other than the CPU, servers that do not answer,
    arrays that do not fit.
    """
    wire()
    if not isinstance(tvmc_package, TVMCPackage):
        raise refuse("This model doesn't seem to have been compiled yet.", "tvmc.compile gives what tvmc.run takes")
    _refuse_devices(device, options)
    for name, count in (("repeat", repeat), ("number", number)):
        if benchmark and count < 1:
            raise refuse(f"{name} is {count}", "it counts runs and must be 1 or more")
    made = _instance(tvmc_package, hostname, int(port), rpc_key)
    module = GraphModule(made)
    arrays = make_inputs_dict(*module.get_input_info(), inputs, fill_mode)
    for name, array in arrays.items():
        module.set_input(name, array)
    if profile:
        print(GraphModuleDebug(made).profile())
    times = None
    if benchmark:
        given = arrays if end_to_end else {}
        times = module.benchmark(CPU, "run", repeat, number, end_to_end=end_to_end, **given)
    module.run()
    outputs = range(module.get_num_outputs())
    return TVMCResult({f"output_{k}": module.get_output(k).numpy() for k in outputs}, times)


def _instance(package: TVMCPackage, hostname: str | None, port: int, rpc_key: str | None) -> Any:
    """An instance of the package's library: here, on a server, or on one of those that a tracker knows by a key."""
    if hostname is None:
        if rpc_key is not None:
            raise refuse("rpc_key is given without a tracker", "hostname and port say where it is")
        return package.factory().create()
    package.factory()  # what is no library of baton's is refused here
    try:
        session = connect(hostname, port) if rpc_key is None else connect_tracker(hostname, port).request(rpc_key)
    except RPCError as error:
        raise refuse(str(error), "start one: python -m tvm.exec.rpc_server, and rpc_tracker for a key") from error
    session.upload(package.lib_path)
    return session.load_module(package.lib_name)["default"](session.cpu())


def _refuse_devices(device: str, options: Any) -> None:
    if device != "cpu":
        raise refuse(f"baton compiles for CPUs; a package does not run on the device {device!r}", 'device="cpu"')
    if options:
        raise refuse("options are those of projects for bare devices", "leave out options")
