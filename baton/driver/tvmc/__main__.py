"""`python -m tvm.driver.tvmc`: the command line."""

from __future__ import annotations

from baton._src.driver.tvm_names.tvmc.commands.main import main
from baton._src.driver.wiring import wire

if __name__ == "__main__":
    wire()
    main()
