"""Utilities for every layer, independent of the IR.

Errors: `diagnostics` and the `spans` they point at, `suggestions`, `operator_errors`, `missing_name`, `damaged_files`.
Programs: `dataclass`, `trampoline` (recursion without Python's stack), `graphs`, `disjoint_sets`, `integer_division`,
`once`, `remembered`, `unlisted`, `lazy` packages, `options`. Python in scripts: `python_in_scripts`,
`python_operators`, `python_text`. Files: `cache_folder`, `file_digest`, `whole_file`, `shared_lines`,
`source_fingerprint`. The machine and its user: `processors`, `progress`.
"""
