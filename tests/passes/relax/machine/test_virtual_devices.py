"""RealizeVDevice and UpdateVDevice."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.global_info import VDevice
from baton._src.ir.module import IRModule
from baton._src.passes.relax.machine.virtual_devices import RealizeVDevice, UpdateVDevice
from baton._src.relax.nodes import Call
from baton._src.relax.special.devices import HintOnDeviceAttrs, ToVDeviceAttrs
from baton._src.relax.special_builders import to_vdevice
from baton._src.relax.special_ops import special_op
from baton._src.relax.well_formed import well_formed
from baton._src.script.markers import MODULE_ATTRS as module_attrs
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relax.programs import R, arrays, bindings, called, check, program, tensor
from tests.relax.build import load

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
    made = program([tensor("x", 3), tensor("y", 3)], lambda b, x, y: R.add(b.emit(hint(x, 0)), b.emit(hint(y, 1))))
    with pytest.raises(DiagnosticError, match="is wanted on"):
        RealizeVDevice()(IRModule(made.functions, global_infos={"vdevice": [FIRST, SECOND]}))
    with pytest.raises(DiagnosticError, match="not among the module's devices"):
        RealizeVDevice()(hinted(7))


@pytest.mark.rule("RELAX-PASS-25")
def test_a_hint_for_what_is_elsewhere_is_a_copy() -> None:
    """exp(x) is on the first device, and wanted on the second one: that was refused."""
    after = check(RealizeVDevice(), hinted(0, 1), *arrays((3,), (3,)))
    assert called(after) == ["Var", "exp", "to_vdevice", "exp", "add"]
    places = [b.var.struct_info.vdevice for b in bindings(after)]
    assert places == [FIRST, FIRST, SECOND, SECOND, SECOND]
    assert [p.struct_info.vdevice for p in after["main"].params] == [FIRST, SECOND]
    assert not well_formed(after)


@pytest.mark.rule("RELAX-PASS-25")
def test_hints_name_kinds_of_devices() -> None:
    """A module for a GPU is annotated here, too (and is no program that runs here)."""
    gpu = VDevice("cuda", 0, "global")
    wanted = Call(special_op("hint_on_device"), [tensor("x", 3)], HintOnDeviceAttrs(2, 0, "global"))
    made = program([tensor("x", 3)], lambda b, x: R.exp(b.emit(wanted.with_fields(args=(x,)))))
    after = RealizeVDevice()(IRModule(made.functions, global_infos={"vdevice": [FIRST, gpu]}))
    assert after["main"].params[0].struct_info.vdevice == gpu


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
    with pytest.raises(DiagnosticError, match="takes a device, got 'llvm'"):  # made modules that did not print
        UpdateVDevice("llvm", 0)  # type: ignore[arg-type]


@pytest.mark.rule("RELAX-PASS-25")
def test_copies_and_hints_follow_to_the_new_device() -> None:
    """Guards what operators say of devices: a copy went where nothing was any more, and its annotation contradicted."""

    def build(b: Any, x: Any) -> Any:
        return b.emit(R.exp(b.emit(hint(b.emit(to_vdevice(x, SECOND)), 1))))

    made = IRModule(program([tensor("x", 3)], build).functions, global_infos={"vdevice": [FIRST, SECOND]})
    third = VDevice("llvm", 2, "global")
    after = check(UpdateVDevice(third, 1), made)
    assert all(b.var.struct_info.vdevice == third for b in bindings(after))
    assert not well_formed(RealizeVDevice()(after))


def test_copies_end_the_spreading() -> None:
    def build(b: Any, x: Any) -> Any:
        here = b.emit(R.exp(b.emit(hint(x, 0))))
        there = b.emit(Call(special_op("to_vdevice"), [here], ToVDeviceAttrs(SECOND)))
        return R.exp(there)

    made = program([tensor("x", 3)], build)
    after = RealizeVDevice()(IRModule(made.functions, global_infos={"vdevice": [FIRST, SECOND]}))
    assert not well_formed(after)
    assert [b.var.struct_info.vdevice for b in bindings(after)] == [FIRST, FIRST, SECOND, SECOND]


@pytest.mark.rule("RELAX-PASS-25")
def test_devices_go_through_tuples_branches_and_results() -> None:
    """What is returned is annotated too, and names in a text are the module's devices."""
    found = load("""
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((3,), "float32", "llvm:1"), y: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")):
        t = (x, y)
        a = t[0]
        if c:
            r = R.exp(a)
        else:
            r = R.log(a)
        s = R.to_vdevice(r, "llvm:0")
        return (r, s)
""")
    assert found["main"].params[0].struct_info.vdevice == SECOND
    after = RealizeVDevice()(found)
    assert well_formed(after) == []
    assert [f.vdevice for f in after["main"].ret_struct_info.fields] == [SECOND, FIRST]
    with pytest.raises(DiagnosticError, match="no virtual device 'llvm:7'"):
        load('@R.function\ndef main(x: R.Tensor((3,))):\n    y = R.to_vdevice(x, "llvm:7")\n    return y\n')


@pytest.mark.rule("RELAX-PASS-25")
@pytest.mark.parametrize("name", ["llvm:1", "vdevice:1", "llvm:1:global", "llvm -mcpu=core2:0:global"])
def test_numbers_count_the_devices_of_a_kind(name: str) -> None:
    """As in TVM: `llvm:1` is the second device whose target is of that kind, whatever its options."""
    found = load(f"""
@I.ir_module
class Module:
    I.module_global_infos({{"vdevice": [I.vdevice("llvm"), I.vdevice("llvm -mcpu=core2")]}})

    @R.function
    def main(x: R.Tensor((3,), "float32", "{name}")):
        return x
""")
    assert found["main"].params[0].struct_info.vdevice == VDevice("llvm -mcpu=core2")


def test_builders_read_names_of_devices() -> None:
    assert to_vdevice(tensor("x", 3), "llvm:1:local").attrs.dst_vdevice == VDevice("llvm", 1, "local")
    with pytest.raises(DiagnosticError, match="is not the name of a device"):
        to_vdevice(tensor("x", 3), "llvm:one")


def test_words_of_a_module_are_python_in_its_class_only() -> None:
    """Python runs a class's body before the decorator reads it; anywhere else the words are refused."""

    class Body:
        module_attrs({"x": 1})

    with pytest.raises(DiagnosticError, match="module_attrs can only be used inside"):
        module_attrs({"x": 1})
