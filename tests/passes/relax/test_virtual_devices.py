"""RealizeVDevice and UpdateVDevice."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.global_info import VDevice
from baton._src.ir.module import IRModule
from baton._src.passes.relax.virtual_devices import RealizeVDevice, UpdateVDevice
from baton._src.relax.check.well_formed import well_formed
from baton._src.relax.nodes import Call
from baton._src.relax.special.devices import HintOnDeviceAttrs, ToVDeviceAttrs
from baton._src.relax.special_ops import special_op
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relax.programs import R, arrays, bindings, called, check, program, tensor

FIRST, SECOND = VDevice("llvm", 0, "global"), VDevice("llvm", 1, "global")


def hint(value: Any, index: int) -> Call:
    return Call(special_op("hint_on_device"), [value], HintOnDeviceAttrs(1, index, "global"))


def hinted(*indices: int) -> IRModule:
    """exp(x), its operand or its result hinted as said; then added to y."""

    def build(b: Any, x: Any, y: Any) -> Any:
        value = x
        for index in indices:
            value = b.emit(R.exp(b.emit(hint(value, index))))
        return R.add(value, y)

    made = program([tensor("x", 3), tensor("y", 3)], build)
    return IRModule(made.functions, global_infos={"vdevice": [FIRST, SECOND]})


@pytest.mark.rule("RELAX-PASS-25")
def test_hints_become_annotations_that_spread() -> None:
    after = check(RealizeVDevice(), hinted(1), *arrays((3,), (3,)))
    assert called(after) == ["Var", "exp", "add"]
    assert all(b.var.struct_info.vdevice == SECOND for b in bindings(after))
    assert [p.struct_info.vdevice for p in after["main"].params] == [SECOND, SECOND]


@pytest.mark.rule("RELAX-PASS-25", rejects=True)
def test_hints_that_contradict() -> None:
    with pytest.raises(DiagnosticError, match="is wanted on"):
        RealizeVDevice()(hinted(0, 1))
    with pytest.raises(DiagnosticError, match="does not list"):
        RealizeVDevice()(hinted(7))


def test_without_hints_nothing_changes() -> None:
    before = hinted()
    assert RealizeVDevice()(before) is before


@pytest.mark.rule("RELAX-PASS-25")
def test_a_device_is_put_in_anothers_place() -> None:
    third = VDevice("llvm", 2, "global")
    after = check(UpdateVDevice(third, 1), RealizeVDevice()(hinted(1)), *arrays((3,), (3,)))
    assert after.global_infos["vdevice"] == (FIRST, third)
    assert all(b.var.struct_info.vdevice == third for b in bindings(after))
    with pytest.raises(DiagnosticError, match="none at 5"):
        UpdateVDevice(third, 5)(after)


def test_copies_end_the_spreading() -> None:
    def build(b: Any, x: Any) -> Any:
        here = b.emit(R.exp(b.emit(hint(x, 0))))
        there = b.emit(Call(special_op("to_vdevice"), [here], ToVDeviceAttrs(SECOND)))
        return R.exp(there)

    made = program([tensor("x", 3)], build)
    after = RealizeVDevice()(IRModule(made.functions, global_infos={"vdevice": [FIRST, SECOND]}))
    assert not well_formed(after)
    assert [b.var.struct_info.vdevice for b in bindings(after)] == [FIRST, FIRST, SECOND, SECOND]
