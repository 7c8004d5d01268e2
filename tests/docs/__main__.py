"""`make docs`: write every page that is generated. A new generator is one line in `GENERATORS`."""

from __future__ import annotations

import subprocess
import sys

# Each is a module run by itself, since some load the whole test suite.
GENERATORS = ("tests.conformance.report", "tests.docs.onnx_page", "tests.docs.torch_page")


def main() -> None:
    for module in GENERATORS:
        subprocess.run([sys.executable, "-m", module], check=True)


if __name__ == "__main__":
    main()
