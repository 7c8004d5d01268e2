"""`tvm.ir.diagnostics`, `EnvFunc`, and values that `save_json` takes besides programs."""

from __future__ import annotations

import numpy as np
import pytest

import baton as tvm
from baton import relay, tir
from baton.ir.diagnostics import Diagnostic, DiagnosticContext, DiagnosticLevel, get_renderer, override_renderer


def test_a_script_sees_the_errors_of_texts_itself() -> None:
    """Test files of scripts collect them by their lines."""
    found: list[Diagnostic] = []
    override_renderer(lambda context: found.extend(context.diagnostics))
    try:
        with pytest.raises(tvm.DiagnosticError):
            tvm.script.from_source("@T.prim_func\ndef f(x: T.int32):\n    T.evaluate(y)\n")
        with pytest.raises(tvm.DiagnosticError):
            relay.parse("def @main(%x: int32) { %y }")
    finally:
        override_renderer(None)
    assert [d.span.line for d in found if d.span is not None] == [3, 1]


def test_findings_are_rendered_and_raised(capsys: pytest.CaptureFixture[str]) -> None:
    context = DiagnosticContext(tvm.IRModule(), get_renderer())
    context.emit(Diagnostic(DiagnosticLevel.WARNING, None, "strange"))
    context.render()
    context.emit(Diagnostic(DiagnosticLevel.ERROR, None, "wrong"))
    with pytest.raises(tvm.DiagnosticError, match="wrong"):
        context.render()
    assert "warning" in capsys.readouterr().err


def test_values_are_saved_too() -> None:
    tvm.register_func("test_reported.double", lambda x: 2 * x, override=True)
    x = tir.Var("x", "int32")
    values = (1, 1.5, "text", None, {"sum": x + 1, "type": relay.TensorType((2,), "int8")}, tvm.ir.Range(1, 4))
    found = tvm.ir.load_json(tvm.ir.save_json([*values, tvm.target.Target("llvm -mcpu=haswell")]))
    assert tvm.ir.structural_equal(found[:-1], values, map_free_vars=True)
    assert found[-1].mcpu == "haswell"
    tensors = tvm.ir.load_json(tvm.ir.save_json({"w": tvm.nd.array(np.arange(3, dtype="int16"))}))
    assert tensors["w"].numpy().tolist() == [0, 1, 2]
    assert tvm.ir.load_json(tvm.ir.save_json(tvm.ir.EnvFunc.get("test_reported.double")))(4) == 8
    with pytest.raises(tvm.DiagnosticError, match="a object cannot be saved"):
        tvm.ir.save_json([object()])
    with pytest.raises(tvm.DiagnosticError, match="not a program"):
        tvm.ir.load_json('{"format": "baton.ir", "kind": "value", "value": {"nothing": 1}}')
