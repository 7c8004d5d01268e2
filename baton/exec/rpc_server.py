"""`python -m tvm.exec.rpc_server`: serve sessions of other machines."""

from __future__ import annotations

from baton._src.driver.tvm_names.remote.commands import serve
from baton._src.driver.wiring import wire

if __name__ == "__main__":
    wire()
    serve()
