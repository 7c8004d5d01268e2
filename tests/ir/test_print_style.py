"""TVM's printing options: real, or refused."""

from __future__ import annotations

import pytest

import baton
from baton import relax, tir
from baton.error import DiagnosticError
from baton.script import ir as I
from baton.script import relax as R


@I.ir_module
class Module:
    @R.function
    def helper(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        return cls.helper(x)


def test_a_name_and_another_indentation_read_back() -> None:
    text = Module.script(name="Mine", indent_spaces=2)
    assert "\nclass Mine:\n  @R.function\n  def" in text
    assert "Module" not in text
    baton.ir.assert_structural_equal(baton.script.from_source(text), Module)
    assert "def other(" in Module["main"].script(name="other")


def test_the_standard_style_may_be_asked_for() -> None:
    assert Module.script(syntax_sugar=True, ir_prefix="I", show_object_address=False) == Module.script()


def test_languages_and_the_module_under_other_names_read_back() -> None:
    text = Module.script(ir_prefix="ir", relax_prefix="relax")
    assert "# from tvm.script import relax as relax\n" in text
    assert "@ir.ir_module" in text
    assert "R." not in text
    imports = "from tvm.script import ir, relax\n"
    baton.ir.assert_structural_equal(baton.script.from_source(imports + text), Module)
    renamed = Module.script(module_alias="here")
    assert "here = Module" in renamed
    assert "here.helper(x)" in renamed
    plain = Module.script(module_alias="")
    assert "cls" not in plain
    assert "Module.helper(x)" in plain
    for other in (renamed, plain):
        baton.ir.assert_structural_equal(baton.script.from_source(other), Module)


def test_literals_keep_their_letters() -> None:
    func = baton.script.from_source(
        '@T.prim_func\ndef main(a: T.Buffer((2,), "float32")):\n    T.func_attr({"note": "T.block in R."})\n'
        '    T.evaluate(T.call_extern("int32", "T.f", a.data))\n'
    )
    text = func.script(tir_prefix="tir")
    assert '"T.block in R."' in text
    assert '"T.f"' in text
    assert "tir.call_extern" in text


def test_names_of_the_program_are_no_prefixes() -> None:
    with pytest.raises(ValueError, match="x is the name of something in this program"):
        Module.script(relax_prefix="x")
    with pytest.raises(ValueError, match="is a name, not 'a b'"):
        Module.script(tir_prefix="a b")


def test_annotations_that_are_inferred_may_be_left_out() -> None:
    module = baton.script.from_source("""
@R.function
def main(x: R.Tensor((2,), "float32"), o: R.Object):
    y = R.exp(x)
    known: R.Tensor(ndim=1) = R.exp(y)
    cast = R.match_cast(o, R.Tensor((3,), "int8"))
    return (known, cast)
""")
    text = module.script(show_all_struct_info=False)
    assert "    y = R.exp(x)\n" in text
    assert "    known: R.Tensor(ndim=1) = R.exp(y)\n" in text
    assert "    cast = R.match_cast(" in text
    baton.ir.assert_structural_equal(baton.script.from_source(text), module)


def test_short_forms_of_tir_are_left_out() -> None:
    """Guards loops, axes, parameters and root blocks written out, which read back as the same kernel."""
    a = baton.te.placeholder((4, 8), name="A")
    kernel = baton.te.create_prim_func([a, baton.te.compute((4, 8), lambda i, j: a[i, j] + 1.0, name="B")])
    text = kernel.script(syntax_sugar=False)
    assert not any(word in text for word in ("T.grid", "remap", "T.Buffer", "# with"))
    assert 'with T.block("root"):' in text
    baton.ir.assert_structural_equal(baton.script.from_source(text), kernel)


def test_lines_are_numbered() -> None:
    lines = Module.script(print_line_numbers=True).split("\n")
    assert lines == [f"{n:>2} {line}".rstrip() for n, line in enumerate(Module.script().split("\n"), 1)]


def test_what_is_not_offered_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DiagnosticError, match="float_dtype") as error:
        Module.script(float_dtype="float32")
    assert isinstance(error.value, ValueError)
    with pytest.raises(TypeError, match="no printing option"):
        Module.script(colour="red")
    Module.show("light", False, name="Shown")
    assert "class Shown" in capsys.readouterr().out


def test_parts_of_programs_are_printed_with_what_they_use() -> None:
    """`verbose_expr=True`: definitions of free variables and buffers come first, sizes before what has them."""
    x, i = tir.Var("x", "int64"), tir.Var("i", "int32")
    a = relax.Var("a", relax.TensorStructInfo([1, x], "float32"))
    b = relax.Var("b", relax.TensorStructInfo([1, x], "float32"))
    free = 'x = T.int64()\na: R.Tensor((1, x), dtype="float32")\n'
    assert relax.op.exp(a).script(verbose_expr=True) == f"{free}R.exp(a)"
    bound = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(b, relax.op.exp(a))])], b)
    line = 'b: R.Tensor((1, x), dtype="float32") = R.exp(a)\nb'
    assert bound.script(verbose_expr=True) == free + line
    assert bound.script() == line
    assert a.struct_info.script(verbose_expr=True) == 'x = T.int64()\nR.Tensor((1, x), dtype="float32")'
    store = tir.BufferStore(tir.decl_buffer((x,), "int8", "A"), tir.const(1, "int8"), [i])
    said = 'x = T.int64()\nA = T.Buffer((x,), "int8")\ni = T.int32()\nA[i] = T.int8(1)'
    assert store.script(verbose_expr=True) == said
    loop = tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.Evaluate(i))
    assert loop.script(verbose_expr=True) == loop.script()
