"""Checking Relax: relations between StructInfos, deduction, purity, scopes and well-formedness, one question a file.

Relations: `dims` (what is proved of dimensions), `compatibility` (and subtyping), `base_check`, `lub`, `erase`,
`shape_map`.
Programs: `deduce` (StructInfo of every expression, in a `context`), `purity`, `recursion`, `well_formed` and the
criteria it lists.
"""
