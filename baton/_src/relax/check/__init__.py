"""Checking Relax: relations between StructInfos, deduction, purity, scopes and well-formedness, one question a file.

Relations: `dims` (what is proved of dimensions), `compatibility` (and subtyping), `base_check`, `lub`, `erase`,
`shape_map`, `same_info`.

Programs: `deduce` (StructInfo of every expression, in a `context`; what has one before: `own_info`, `signatures`),
`purity`, `recursion`, `well_formed` and the criteria it lists: `normal_form`, `annotation_rules`, `scope_walk` with
`variable_scope`. Which `variables` a StructInfo has; what a run checks: `narrowed`, `assumed_sizes`, and what not:
`unread`. Violations are `findings`, or go to a `report`.
"""
