"""Questions about kernels.

Well-formed: `check`, `check_expressions`. What is read and written: `regions`, `loop_accesses`, `guarded_accesses`,
`outside_indices`, `certain_stores`, `written_buffers`, `buffer_scopes`. In which order: `iteration_conflicts`, with
`iteration_points`. Reductions: `reductions`, `empty_reductions`. Expressions: `same_value`, `vector_rows`.
"""
