"""What all languages share: how nodes are declared, walked and compared; modules, types, operators, targets.

Nodes: `node` declares them, `traverse` and `visitor` walk and rewrite, `mentioned` finds functions; `structural` (with
`structural_fields`, `near_structural`), `structural_hash` and `structural_report` compare; `print_style` how they are
printed. Programs: `expr` (with Python's `operators`), `types`, `scalar_types`, `array`, `module`, `function_map`,
`global_names`, `global_info`. Operators: `op_def` what there is to say of one, `attrs`, `tensor_info`, `filled_columns`
what scripts add. Machines: `target`, `target_description`, `target_tags`, `cpu`, `cpu_features`.
"""
