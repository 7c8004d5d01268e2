"""`python -m bench.kernels`: time and percent of the machine's limit of single kernels. Takes half a minute."""

from __future__ import annotations

import argparse

from bench.kernels.measure import kernel_table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.kernels", description="Measure single kernels.")
    parser.add_argument("--threads", default="1,2")
    print(kernel_table([int(t) for t in parser.parse_args().threads.split(",")]))


if __name__ == "__main__":
    main()
