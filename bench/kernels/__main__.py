"""`python -m bench.kernels`: single kernels against the machine's limits; writes docs/kernels.md. Takes a minute.

python -m bench.kernels [--threads 1,2]
"""

from __future__ import annotations

import argparse

from bench.kernels.measure import write_page


def main() -> None:
    """Measure, write the page and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench.kernels", description="Measure single kernels.")
    parser.add_argument("--threads", default="1,2")
    print(write_page([int(t) for t in parser.parse_args().threads.split(",")]))


if __name__ == "__main__":
    main()
