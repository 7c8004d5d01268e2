"""How many of ONNX's own node tests pass, written to score.tsv: python -m tests.frontends.onnx.score (minutes).

A row an operator: cases that pass, cases there are; the row `*` is the whole suite, which also has every case whose
operator is expanded into others. Of cases with random results only dtypes and shapes are compared.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

from baton import BatonError
from baton.frontend.onnx import backend
from tests.frontends.onnx.node_cases import as_array, assert_outputs

TABLE = Path(__file__).with_name("score.tsv")
RANDOM = ("test_bernoulli", "test_random", "test_training_dropout_default", "test_training_dropout_mask")


def passes(case: Any) -> bool:
    """Whether the case gives the expected outputs. A refusal is a failure like any other."""
    try:
        program = backend.prepare(case.model, num_threads=1)
        for inputs, outputs in case.data_sets:
            found = program.run([as_array(i) for i in inputs])
            if case.name.startswith(RANDOM) or case.name == "test_training_dropout":
                shapes = [(f.dtype, f.shape) for f in found]
                assert shapes == [(as_array(o).dtype, as_array(o).shape) for o in outputs]
            else:
                assert_outputs(case, found, outputs)
    except (AssertionError, BatonError, ValueError, TypeError, AttributeError):
        return False
    return True


def operator_of(case: Any) -> str:
    """The operator a case is about, its domain before it where it is not ONNX's own."""
    node = case.model.graph.node[-1]
    return f"{node.domain}.{node.op_type}" if node.domain else str(node.op_type)


def main() -> None:
    warnings.simplefilter("ignore")
    passed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for case in load_model_tests(kind="node"):
        names = ["*"] if "_expanded" in case.name else ["*", operator_of(case)]
        good = passes(case)
        for name in names:
            total[name] += 1
            passed[name] += good
    lines = [f"{name}\t{passed[name]}\t{total[name]}" for name in sorted(total)]
    temporary = TABLE.with_suffix(".partial")
    temporary.write_text(f"onnx {onnx.__version__}\tpassed\tcases\n" + "\n".join(lines) + "\n", encoding="utf-8")
    os.replace(temporary, TABLE)
    print(f"{passed['*']} of {total['*']} ({np.round(100 * passed['*'] / total['*'], 1)} %)")


if __name__ == "__main__":
    main()
