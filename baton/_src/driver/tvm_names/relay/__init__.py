"""The parts of `tvm.relay` that are more than a re-export.

Building programs: `words`, `with_fields`, `loops`, `params`; importers: `importing`, `converters`. Operators that
scripts register: `operators`, `user_operators`, `strategies`, `pattern_tables`, `mixed_precision`. Analyses:
`features`, `counts`, `call_graph`, `annotated_regions`, `devices`, `spans`. Running: `backend`, `te_compiler`,
`profiler_vm`. Showing and testing: `viz`, `testing`, `to_python` (with `python_words`), `networks/`.
"""
